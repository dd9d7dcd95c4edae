//! Counts and latency of each request, where a run sends several different ones.
//!
//! Of a request that is never sent it is mostly not decided which one it would have been; those are counted together, so
//! that the requests of the list and those add up to all requests of the window.

use crate::tally::earlier;
use crate::{Exchange, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// The requests of a window, by their place in the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// Each request; the last one stands for all from place [`Requested::MOST`] on.
    pub each: Vec<RequestTally>,
    /// Errors of which no byte was sent; they belong to no request.
    pub unsent: u64,
}

/// Counts and latency of one request, over those of the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestTally {
    /// Path and query, after the method unless that is GET.
    pub request: String,
    /// Those that ended ok.
    pub ok: u64,
    /// Those that were sent and did not end ok.
    pub errors: u64,
    /// Latency of the ok and censored ones: response time in an open loop, service time in a closed one.
    pub latency: Histogram,
    /// The smallest age at which one of those was censored.
    pub censored_from: Option<Nanos>,
}

impl Requested {
    /// Requests that have figures of their own; those further down the list share one row. A histogram takes up to 216 KiB
    /// on each thread.
    pub const MOST: usize = 256;
    /// What that row is called.
    pub const OTHERS: &str = "(all others)";

    /// Counts one that ended, by its place in the list.
    pub(crate) fn observe(
        &mut self,
        place: u32,
        exchange: &Exchange,
        outcome: Outcome,
        is_open: bool,
    ) {
        let place = (place as usize).min(Self::MOST);
        if self.each.len() <= place {
            self.each.resize_with(place + 1, RequestTally::default);
        }
        let one = &mut self.each[place];
        let (latency, age) = match is_open {
            true => (exchange.response(), exchange.response()),
            false => (exchange.service(), exchange.age()),
        };
        match outcome {
            Outcome::Ok => {
                one.ok = one.ok.saturating_add(1);
                one.latency.record(latency.as_nanos());
            }
            Outcome::Fault(fault) => {
                one.errors = one.errors.saturating_add(1);
                if fault.kind.is_censored() {
                    one.latency.record(age.as_nanos());
                    one.censored_from = earlier(one.censored_from, Some(age));
                }
            }
        }
    }

    /// Names the requests, in the order of the list, where any were sent.
    pub fn name(&mut self, labels: &[String]) {
        let others = Self::OTHERS.to_owned();
        let labels = labels.iter().take(Self::MOST).chain([&others]);
        for (one, label) in self.each.iter_mut().zip(labels) {
            one.request.clone_from(label);
        }
    }

    /// Whether the requests and those that were not sent are all of a window with `ok` and `errors`.
    pub(crate) fn adds_up(&self, ok: u64, errors: u64) -> bool {
        let sum = |of: fn(&RequestTally) -> u64| {
            let mut each = self.each.iter();
            each.try_fold(0u64, |sum, one| sum.checked_add(of(one)))
        };
        let failed = sum(|one| one.errors).and_then(|sum| sum.checked_add(self.unsent));
        sum(|one| one.ok) == Some(ok) && failed == Some(errors)
    }

    /// Adds another's counts.
    pub(crate) fn merge(&mut self, other: &Requested) {
        self.unsent = self.unsent.saturating_add(other.unsent);
        if self.each.len() < other.each.len() {
            self.each
                .resize_with(other.each.len(), RequestTally::default);
        }
        for (mine, theirs) in self.each.iter_mut().zip(&other.each) {
            if mine.request.is_empty() {
                mine.request.clone_from(&theirs.request);
            }
            mine.ok = mine.ok.saturating_add(theirs.ok);
            mine.errors = mine.errors.saturating_add(theirs.errors);
            mine.latency.merge(&theirs.latency);
            mine.censored_from = earlier(mine.censored_from, theirs.censored_from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blame, Fault, Kind, Step, Summary, Tally};
    use units::{Instant, Percentile};

    fn exchange(micros: u64) -> Exchange {
        let scheduled = Instant::from_nanos(1_000);
        Exchange {
            scheduled,
            sent: scheduled,
            first: scheduled,
            done: scheduled + Nanos::from_micros(micros),
        }
    }

    /// Three requests of which the first ended ok twice, the second timed out, and one beyond the limit ended ok.
    fn tally() -> Tally {
        let mut tally = Tally {
            scheduled: 5,
            requested: Some(Box::default()),
            ..Tally::default()
        };
        let fault = Outcome::Fault(Fault {
            kind: Kind::Timeout,
            step: Step::Head,
            blame: Blame::Server,
        });
        let beyond = Requested::MOST as u32 + 7;
        for (place, micros, outcome) in [
            (0, 10, Outcome::Ok),
            (0, 20, Outcome::Ok),
            (1, 500, fault),
            (beyond, 30, Outcome::Ok),
        ] {
            let exchange = exchange(micros);
            tally.observe(&exchange, outcome, 0);
            tally.observe_request(place, &exchange, outcome);
        }
        tally.observe_never_sent(1, Nanos::from_micros(9), Blame::Server);
        let labels: Vec<String> = (0..300).map(|place| format!("/{place}")).collect();
        tally.requested.as_mut().unwrap().name(&labels);
        tally
    }

    #[test]
    fn requests_have_counts_and_latencies_of_their_own_up_to_a_limit() {
        let mut whole = tally();
        whole.merge(&tally());
        let figures = Summary::with(&[], &whole, &Percentile::DEFAULT).by_request;
        let shown: Vec<(&str, u64, u64, Option<f64>)> = figures
            .iter()
            .map(|one| (one.request.as_str(), one.ok, one.errors, one.latency_us.max))
            .collect();
        assert_eq!(
            shown,
            [
                ("/0", 4, 0, Some(20.0)),
                ("/1", 0, 2, Some(500.0)),
                (Requested::OTHERS, 2, 0, Some(30.0)),
            ]
        );
        assert!(!figures[1].latency_us.at_least.is_empty());
    }

    #[test]
    fn requests_and_what_was_never_sent_are_all_there_were() {
        assert!(tally().conserved());
        let spoil: [fn(&mut Requested); 3] = [
            |requested| requested.each[0].ok += 1,
            |requested| requested.each[1].errors -= 1,
            |requested| requested.unsent += 1,
        ];
        for spoil in spoil {
            let mut tally = tally();
            spoil(tally.requested.as_mut().unwrap());
            assert!(!tally.conserved(), "{:?}", tally.requested);
        }
    }
}

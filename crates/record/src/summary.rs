//! What follows from the rounds of a point: the figures that scripts rely on.
//!
//! Every name here is part of the record's contract. A figure that the samples do not carry is null, never a number.

use crate::{
    Censored, CoordinatedOmission, Kind, Latency, PerRequest, Round, Settling, Spread, Tally,
};
use plan::{Load, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use units::{Nanos, Percentile};

/// The figures of one point over all its rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Exchanges that were scheduled in the windows, and those carried over into them: `ok` + `errors.total`.
    pub requests: u64,
    /// Those that ended well.
    pub ok: u64,
    /// Those that did not.
    pub errors: Errors,
    /// Those of `errors` that were cut off before their end was known.
    pub censored: u64,
    /// Sum of the windows, in seconds.
    pub duration_s: f64,
    /// Ok endings inside the windows per second, whenever they were scheduled.
    pub rps: Spread,
    /// Latency of ok and censored exchanges, in microseconds: response time in an open loop, service time in a closed one.
    pub latency_us: Latency,
    /// What an open loop knows beside its response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenFigures>,
    /// Stalls that a closed loop did not see, and the percentiles that they make too small.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "omission")]
    pub coordinated_omission: Option<CoordinatedOmission>,
    /// What a request cost the server, where it was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request: Option<PerRequest>,
    /// Each request by itself, where several different ones are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_request: Vec<RequestFigures>,
    /// The server's first response, first second of load and way to its steady state, where these were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Box<Settling>>,
    /// Raw bytes of responses.
    pub bytes_received: u64,
    /// Raw bytes of requests.
    pub bytes_sent: u64,
}

/// Service time, the send delay and its parts, of an open loop; each in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenFigures {
    /// From sent to done, of the exchanges that were sent and are ok or censored.
    pub service_us: Latency,
    /// From scheduled to sent, of the ok exchanges.
    #[serde(alias = "lateness_us")]
    pub send_delay_us: Latency,
    /// How long after the intended start no connection was free, of the exchanges that were sent.
    pub queued_us: Latency,
    /// While a connection was opened for it, likewise.
    pub connecting_us: Latency,
    /// What the generator itself took until it sent, likewise.
    pub generator_late_us: Latency,
    /// The connections, where those arrive by the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "visits")]
    pub sessions: Option<SessionFigures>,
}

/// What became of connections that arrive by a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFigures {
    /// Connections that arrived in the windows.
    #[serde(alias = "due")]
    pub scheduled: u64,
    /// Connections that were established inside the windows, whenever they were scheduled.
    pub opened: u64,
    /// `opened` over the sum of the windows.
    pub per_second: f64,
    /// Those of `scheduled` that were over before all their exchanges were scheduled: closed by the server, ended by a fault, or
    /// never opened because the connect failed.
    #[serde(alias = "ended_early")]
    pub aborted: u64,
    /// The exchanges that those did not come to ask.
    #[serde(alias = "forgone")]
    pub skipped: u64,
    /// From arrival until closed, of those of `scheduled` that asked all they were to ask.
    pub time_us: Latency,
}

/// Offered load: exchanges that were to be sent, of which `scheduled` were scheduled; `arrived` connections stand for theirs.
pub(crate) fn offered_load(
    scheduled: u64,
    arrived: Option<u64>,
    load: &Load,
    protocol: &Protocol,
) -> u64 {
    let each = load.exchanges_per_arrival(protocol);
    arrived.map_or(scheduled, |arrived| arrived.saturating_mul(each))
}

impl SessionFigures {
    fn of(tally: &Tally, duration_s: f64, list: &[Percentile]) -> Option<SessionFigures> {
        let sessions = tally.sessions()?;
        let opened = tally.connects.in_window;
        Some(SessionFigures {
            scheduled: sessions.scheduled,
            opened,
            per_second: per_second(opened, duration_s),
            aborted: sessions.aborted,
            skipped: sessions.skipped,
            time_us: Latency::from(&sessions.time, None, list),
        })
    }
}

impl OpenFigures {
    fn of(tally: &Tally, duration_s: f64, list: &[Percentile]) -> Option<OpenFigures> {
        let open = tally.open.as_ref()?;
        Some(OpenFigures {
            service_us: Latency::from(
                &tally.service,
                Censored::of(&tally.service, tally.ok, tally.censored_from),
                list,
            ),
            send_delay_us: Latency::from(&tally.send_delay, None, list),
            queued_us: Latency::from(&open.queued, None, list),
            connecting_us: Latency::from(&open.connecting, None, list),
            generator_late_us: Latency::from(&open.generator_late, None, list),
            sessions: SessionFigures::of(tally, duration_s, list),
        })
    }
}

/// Figures of one request over all rounds of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFigures {
    /// Path and query, after the method unless that is GET.
    pub request: String,
    /// Those that were sent: `ok` + `errors`.
    pub requests: u64,
    /// Those that ended ok.
    pub ok: u64,
    /// Those that did not.
    pub errors: u64,
    /// Latency of the ok and censored ones, in microseconds.
    pub latency_us: Latency,
}

impl RequestFigures {
    /// Returns the figures of each request of the list that was sent.
    fn of(tally: &Tally, list: &[Percentile]) -> Vec<RequestFigures> {
        let all = tally.requested.iter().flat_map(|requested| &requested.each);
        let all = all.map(|one| RequestFigures {
            request: one.request.clone(),
            requests: one.ok.saturating_add(one.errors),
            ok: one.ok,
            errors: one.errors,
            latency_us: Latency::from(
                &one.latency,
                Censored::of(&one.latency, one.ok, one.censored_from),
                list,
            ),
        });
        all.filter(|figures| figures.requests > 0).collect()
    }
}

/// Exchanges that did not end well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// All of them.
    pub total: u64,
    /// By kind.
    #[serde(flatten)]
    pub by_kind: BTreeMap<String, u64>,
}

fn per_second(count: u64, secs: f64) -> f64 {
    share(count as f64, secs)
}

/// `part` of `whole`; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Round {
    /// Ok endings inside the window per second; 0 when the window never was open.
    pub fn rps(&self) -> f64 {
        per_second(self.tally.ok_in_window, self.window.span().as_secs_f64())
    }
}

impl Summary {
    /// Exchanges that were asked for a second, also those that a connection did not live to ask; none in a closed loop,
    /// and of no time.
    pub fn rps_offered(&self, load: &Load, protocol: &Protocol) -> Option<f64> {
        let sessions = self.open.as_ref().and_then(|open| open.sessions.as_ref());
        let arrived = sessions.map(|sessions| sessions.scheduled);
        let asked = offered_load(self.scheduled(), arrived, load, protocol) as f64;
        (load.is_open() && self.duration_s > 0.0).then(|| asked / self.duration_s)
    }

    /// Those of `requests` that were sent before a window and had no response by its end.
    pub fn carried_over(&self) -> u64 {
        let by_kind = &self.errors.by_kind;
        by_kind.get(Kind::CarriedOver.name()).copied().unwrap_or(0)
    }

    /// Those of `requests` that were scheduled in the windows.
    pub fn scheduled(&self) -> u64 {
        self.requests.saturating_sub(self.carried_over())
    }

    /// Returns the figures of `rounds`, with the usual percentiles; none when no round was measured.
    pub fn of(rounds: &[Round]) -> Option<Summary> {
        let tally = Summary::tally(rounds)?;
        Some(Summary::with(rounds, &tally, &Percentile::DEFAULT))
    }

    /// Returns the figures of `rounds`, of which `tally` is the sum, with these percentiles of latency.
    pub fn with(rounds: &[Round], tally: &Tally, list: &[Percentile]) -> Summary {
        let spans = rounds.iter().map(|round| round.window.span());
        let duration_s: f64 = spans.map(Nanos::as_secs_f64).sum();
        let complete = rounds.iter().filter(|round| !round.partial);
        let rates: Vec<f64> = complete.map(Round::rps).collect();
        let by_kind = tally.faults.by_kind().into_iter();
        Summary {
            requests: tally.requests(),
            ok: tally.ok,
            errors: Errors {
                total: tally.errors(),
                by_kind: by_kind
                    .map(|(kind, n)| (kind.name().to_owned(), n))
                    .collect(),
            },
            censored: tally.censored(),
            duration_s,
            rps: Spread::of(per_second(tally.ok_in_window, duration_s), &rates),
            latency_us: Latency::with(tally, list),
            open: OpenFigures::of(tally, duration_s, list),
            coordinated_omission: CoordinatedOmission::with(tally, list),
            per_request: PerRequest::of(rounds),
            by_request: RequestFigures::of(tally, list),
            settling: rounds.iter().find_map(|round| round.settling.clone()),
            bytes_received: tally.bytes_received,
            bytes_sent: tally.bytes_sent,
        }
    }

    /// Returns the rounds' tallies added up; none when no round was measured. Connections open at a time are the one thing
    /// that does not add up: of these it keeps the fewest at the start and the most at the peak.
    pub fn tally(rounds: &[Round]) -> Option<Cow<'_, Tally>> {
        if let [only] = rounds {
            return Some(Cow::Borrowed(&only.tally));
        }
        let connects = || rounds.iter().map(|round| &round.tally.connects);
        let mut sum = Tally::default();
        rounds.iter().for_each(|round| sum.merge(&round.tally));
        sum.connects.open_at_start = connects().map(|each| each.open_at_start).min()?;
        sum.connects.open_peak = connects().map(|each| each.open_peak).max()?;
        Some(Cow::Owned(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use units::{Instant, Nanos};

    fn round(secs: u64, ok_in_window: u64) -> Round {
        let start = Instant::from_nanos(7);
        let window = Window {
            start,
            end: start + Nanos::from_secs(secs),
        };
        let tally = Tally {
            ok_in_window,
            ..Tally::default()
        };
        Round {
            window,
            tally,
            ..Round::default()
        }
    }

    fn rps(rounds: &[Round]) -> Spread {
        Summary::of(rounds).unwrap().rps
    }

    fn near(value: Option<f64>, wanted: f64) {
        let value = value.expect("there is a figure");
        assert!(
            (value / wanted - 1.0).abs() < 1e-4,
            "{value} is not {wanted}"
        );
    }

    #[test]
    fn three_rounds_give_the_figures_computed_by_hand() {
        let rps = rps(&[round(2, 100), round(2, 200), round(2, 500)]);
        assert_eq!((rps.mean, rps.rounds), (800.0 / 6.0, 3));
        assert_eq!(
            (rps.min, rps.median, rps.max),
            (Some(50.0), Some(100.0), Some(250.0))
        );
        // Logarithms of 50, 100 and 250; t for two degrees of freedom is 4.302653.
        let logarithms = [50_f64.ln(), 100_f64.ln(), 250_f64.ln()];
        let mean = logarithms.iter().sum::<f64>() / 3.0;
        let squares: f64 = logarithms.iter().map(|each| (each - mean).powi(2)).sum();
        let factor = (4.302_653 * (squares / 2.0 / 3.0).sqrt()).exp();
        near(rps.geometric_mean, mean.exp());
        near(rps.low, mean.exp() / factor);
        near(rps.high, mean.exp() * factor);
    }

    #[test]
    fn rounds_of_unequal_length_weigh_by_their_length_in_the_mean_only() {
        let rps = rps(&[round(1, 100), round(3, 900)]);
        assert_eq!((rps.mean, rps.median), (250.0, Some(200.0)));
    }

    #[test]
    fn there_is_no_interval_over_one_round_or_with_a_round_of_zero() {
        for rounds in [
            vec![round(1, 9)],
            vec![round(1, 9), round(1, 0), round(1, 9)],
        ] {
            let rps = rps(&rounds);
            assert_eq!((rps.low, rps.high), (None, None));
            assert!(rps.median.is_some());
        }
    }

    #[test]
    fn a_partial_round_counts_but_is_no_repetition() {
        let partial = Round {
            partial: true,
            ..round(1, 10)
        };
        let rps = rps(&[round(1, 100), round(1, 100), partial.clone()]);
        assert_eq!((rps.mean, rps.rounds, rps.min), (70.0, 2, Some(100.0)));
        let alone = tests::rps(&[partial]);
        assert_eq!((alone.mean, alone.rounds), (10.0, 0));
        assert_eq!((alone.min, alone.median, alone.max), (None, None, None));
    }

    #[test]
    fn no_rounds_give_no_summary_and_a_window_that_never_opened_no_rate() {
        assert_eq!(Summary::of(&[]), None);
        let summary = Summary::of(&[round(0, 5)]).unwrap();
        assert_eq!((summary.duration_s, summary.rps.mean), (0.0, 0.0));
    }

    #[test]
    fn concurrency_does_not_add_up_over_rounds() {
        let mut rounds = [round(1, 1), round(1, 1)];
        for (round, (start, peak)) in rounds.iter_mut().zip([(10, 12), (8, 11)]) {
            let connects = &mut round.tally.connects;
            (
                connects.open_at_start,
                connects.open_peak,
                connects.attempted,
            ) = (start, peak, 12);
        }
        let connects = Summary::tally(&rounds).unwrap().connects.clone();
        assert_eq!(
            (
                connects.open_at_start,
                connects.open_peak,
                connects.attempted
            ),
            (8, 12, 24)
        );
    }
}

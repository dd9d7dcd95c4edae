//! What a thread accumulates; merges by addition.

use crate::{Answers, Blame, Exchange, Fault, Faults, Kind, Outcome, Series, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// Counts and distributions of the exchanges that were due in the window (and, where it says so, of others).
///
/// Conservation: `due` = `started` + `never_sent`, and `started` = `ok` + ended faults + censored ones. A censored
/// exchange is in `faults` too, under a kind that [`Kind::is_censored`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Exchanges that were due in the window.
    pub due: u64,
    /// Those of `due` of which no byte was sent and no connect was tried for.
    pub never_sent: u64,
    /// Those of `due` that were sent, or failed while their connection was being opened.
    pub started: u64,
    /// Those of `started` that ended well.
    pub ok: u64,
    /// Those of `due` that did not, by fault.
    pub faults: Faults,
    /// What ended connections while no exchange was open on them, in any phase: no exchange can be charged with it.
    pub strays: Faults,
    /// Exchanges of any phase that ended well inside the window: what requests per second are made of.
    pub ok_in_window: u64,
    /// Statuses of those of `started` that got a complete response.
    pub statuses: Statuses,
    /// Raw bytes of the responses to `started`: heads, framing and bodies.
    pub bytes_received: u64,
    /// Raw bytes of the requests of `started` that the kernel took.
    pub bytes_sent: u64,
    /// Service time (done - sent) of the `ok` exchanges, and of the censored ones at the age at which they were cut off.
    pub service: Histogram,
    /// The smallest age at which an exchange was censored; percentiles above it are lower bounds.
    pub censored_from: Option<Nanos>,
    /// First byte - sent, of the `ok` exchanges.
    pub first_byte: Histogram,
    /// Sent - due, of the `ok` exchanges: queueing, connecting, and the generator's own doing.
    pub lateness: Histogram,
    /// Service time of complete responses with status 4xx that were not expected.
    pub service_4xx: Histogram,
    /// Service time of complete responses with status 5xx that were not expected.
    pub service_5xx: Histogram,
    /// Connections opened in any phase of the round.
    pub connects: Connects,
    /// Endings over the window in bins of 100 ms.
    pub series: Series,
    /// What was answered to each listed request that is no template: the bodies' likeness.
    pub answers: Answers,
}

impl Tally {
    /// Counts one ended exchange that was due in the window: `started`, its outcome, and what distributions it enters.
    /// `due` itself is counted when it becomes due. `status` is that of a complete response; 0 where none came.
    #[inline]
    pub fn observe(&mut self, exchange: &Exchange, outcome: Outcome, status: u16) {
        self.started += 1;
        match outcome {
            Outcome::Ok => {
                self.ok += 1;
                self.statuses.add(status, 1);
                self.service.record(exchange.service().as_nanos());
                self.first_byte.record(exchange.to_first_byte().as_nanos());
                self.lateness.record(exchange.lateness().as_nanos());
            }
            Outcome::Fault(fault) => self.observe_fault(exchange, fault, status),
        }
    }

    #[cold]
    fn observe_fault(&mut self, exchange: &Exchange, fault: Fault, status: u16) {
        self.faults.add(fault, 1);
        if status != 0 {
            self.statuses.add(status, 1);
        }
        match fault.kind {
            Kind::Status4xx => self.service_4xx.record(exchange.service().as_nanos()),
            Kind::Status5xx => self.service_5xx.record(exchange.service().as_nanos()),
            kind if kind.is_censored() => self.censor(1, exchange.age()),
            _ => {}
        }
    }

    /// Counts `count` exchanges that were due in the window and of which nothing was ever sent, given up at `age`;
    /// `blame` is whose doing it was that no connection could take them.
    pub fn observe_never_sent(&mut self, count: u64, age: Nanos, blame: Blame) {
        plus(&mut self.never_sent, count);
        let fault = Fault {
            step: Step::Queue,
            kind: Kind::NeverSent,
            blame,
        };
        self.faults.add(fault, count);
        if count > 0 {
            self.censor(count, age);
        }
    }

    fn censor(&mut self, count: u64, age: Nanos) {
        self.service.record_n(age.as_nanos(), count);
        self.censored_from = Some(self.censored_from.map_or(age, |known| known.min(age)));
    }

    /// All faults: those that ended and those that were cut off.
    pub fn errors(&self) -> u64 {
        self.faults.total()
    }

    /// Exchanges that were cut off before their end was known, `never_sent` among them.
    pub fn censored(&self) -> u64 {
        self.faults.count(|fault| fault.kind.is_censored())
    }

    /// Whether every exchange that was due is accounted for exactly once.
    pub fn conserved(&self) -> bool {
        let sum = |a: u64, b: u64| a.checked_add(b); // a count read from a file may be anything
        sum(self.started, self.never_sent) == Some(self.due)
            && sum(self.ok, self.faults.total()) == Some(self.due)
            && self.never_sent == self.faults.count(|fault| fault.kind == Kind::NeverSent)
            && sum(self.ok, self.censored()) == Some(self.service.count())
    }

    /// Adds another thread's tally. ([`crate::Summary::tally`] adds rounds, in which connections do not add up.)
    pub fn merge(&mut self, other: &Tally) {
        plus(&mut self.due, other.due);
        plus(&mut self.never_sent, other.never_sent);
        plus(&mut self.started, other.started);
        plus(&mut self.ok, other.ok);
        self.faults.merge(&other.faults);
        self.strays.merge(&other.strays);
        plus(&mut self.ok_in_window, other.ok_in_window);
        self.statuses.merge(&other.statuses);
        plus(&mut self.bytes_received, other.bytes_received);
        plus(&mut self.bytes_sent, other.bytes_sent);
        self.service.merge(&other.service);
        self.censored_from = match (self.censored_from, other.censored_from) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.first_byte.merge(&other.first_byte);
        self.lateness.merge(&other.lateness);
        self.service_4xx.merge(&other.service_4xx);
        self.service_5xx.merge(&other.service_5xx);
        self.connects.merge(&other.connects);
        self.series.merge(&other.series);
        self.answers.merge(&other.answers);
    }
}

/// Adds counts; stops at the top, because what was read from a file may be anything.
fn plus(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// Counts by status; few different ones ever occur, and nearly always the first, so it is a list.
/// Two are equal when they hold the same counts, in whatever order they came.
#[derive(Debug, Clone, Default, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Statuses(Vec<(u16, u64)>);

impl PartialEq for Statuses {
    fn eq(&self, other: &Statuses) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Statuses {
    /// Counts `count` more of `status`.
    #[inline]
    pub fn add(&mut self, status: u16, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, known)) => plus(known, count),
            None if count > 0 => self.0.push((status, count)),
            None => {}
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Statuses) {
        other
            .0
            .iter()
            .for_each(|&(status, count)| self.add(status, count));
    }

    /// Statuses and their counts, most frequent first.
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut counts = self.0.clone();
        counts.sort_by_key(|&(status, count)| (std::cmp::Reverse(count), status));
        counts
    }

    /// All responses together.
    pub fn total(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// The connections of a round, in every phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connects {
    /// Connects that were tried.
    pub attempted: u64,
    /// Those of `attempted` that succeeded.
    pub established: u64,
    /// Those of `attempted` that failed, by fault. (Those of exchanges in the window are in the tally's `faults` too.)
    pub failed: Faults,
    /// Those of `established` that were opened inside the window.
    pub in_window: u64,
    /// From the start of the connect to the connection usable.
    pub time: Histogram,
    /// Connections open when the window opened; over several rounds the fewest.
    pub open_at_start: u64,
    /// The most that were open at a time, summed over threads: what concurrency was really achieved. Over several
    /// rounds the most.
    pub open_peak: u64,
}

impl Connects {
    fn merge(&mut self, other: &Connects) {
        plus(&mut self.attempted, other.attempted);
        plus(&mut self.established, other.established);
        self.failed.merge(&other.failed);
        plus(&mut self.in_window, other.in_window);
        self.time.merge(&other.time);
        plus(&mut self.open_at_start, other.open_at_start);
        plus(&mut self.open_peak, other.open_peak);
    }
}

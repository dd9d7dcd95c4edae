//! What a thread accumulates; merges by addition.

use crate::{Exchange, Fault, Faults, Outcome, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// Counts and distributions of the exchanges that were due in the window (and, where it says so, of others).
///
/// Conservation: `due` = `started` + `never_sent`, and `started` = `ok` + ended faults + censored ones. A censored
/// exchange is in `faults` too, under a kind that [`crate::Kind::is_censored`].
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
    pub answers: Vec<Answer>,
}

impl Tally {
    /// Counts one ended exchange that was due in the window: `started`, its outcome, and what distributions it enters.
    /// `due` itself is counted when it becomes due.
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
        let service = exchange.service();
        match fault.kind {
            crate::Kind::Status4xx => self.service_4xx.record(service.as_nanos()),
            crate::Kind::Status5xx => self.service_5xx.record(service.as_nanos()),
            kind if kind.is_censored() => self.censor(service),
            _ => {}
        }
    }

    /// Counts one exchange that was due in the window and of which nothing was ever sent, given up at `age`.
    pub fn observe_never_sent(&mut self, age: Nanos) {
        self.never_sent += 1;
        let fault =
            Fault { step: crate::Step::Queue, kind: crate::Kind::NeverSent, blame: crate::Blame::Server };
        self.faults.add(fault, 1);
        self.censor(age);
    }

    fn censor(&mut self, age: Nanos) {
        self.service.record(age.as_nanos());
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
        self.due == self.started + self.never_sent
            && self.started + self.never_sent == self.ok + self.faults.total()
            && self.never_sent == self.faults.count(|fault| fault.kind == crate::Kind::NeverSent)
            && self.service.count() == self.ok + self.censored()
    }

    /// Adds another thread's or round's tally.
    pub fn merge(&mut self, other: &Tally) {
        self.due += other.due;
        self.never_sent += other.never_sent;
        self.started += other.started;
        self.ok += other.ok;
        self.faults.merge(&other.faults);
        self.ok_in_window += other.ok_in_window;
        self.statuses.merge(&other.statuses);
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
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
        merge_answers(&mut self.answers, &other.answers);
    }
}

/// Counts by status; few different ones ever occur, and nearly always the first, so it is a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Statuses(Vec<(u16, u64)>);

impl Statuses {
    /// Counts `count` more of `status`.
    #[inline]
    pub fn add(&mut self, status: u16, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, known)) => *known += count,
            None => self.0.push((status, count)),
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Statuses) {
        other.0.iter().for_each(|&(status, count)| self.add(status, count));
    }

    /// Statuses and their counts, most frequent first.
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut counts = self.0.clone();
        counts.sort_by_key(|&(status, count)| (std::cmp::Reverse(count), status));
        counts
    }

    /// All responses together.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
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
    /// Connections open when the window opened.
    pub open_at_start: u64,
    /// The most that were open at a time, summed over threads: what concurrency was really achieved.
    pub open_peak: u64,
}

impl Connects {
    fn merge(&mut self, other: &Connects) {
        self.attempted += other.attempted;
        self.established += other.established;
        self.failed.merge(&other.failed);
        self.in_window += other.in_window;
        self.time.merge(&other.time);
        self.open_at_start += other.open_at_start;
        self.open_peak += other.open_peak;
    }
}

/// What was answered to one listed request: whether it was always the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The request, by its place in the plan's list.
    pub request: u32,
    /// Body length of the first ok answer.
    pub length: u64,
    /// CRC-32 of the first body of which it was taken; taken of the first on each connection and of a sample.
    pub crc: Option<u32>,
    /// Ok answers.
    pub count: u64,
    /// Those of `count` whose length was another than `length`.
    pub length_differs: u64,
    /// Ok answers of the same length of which a CRC was taken.
    pub crc_taken: u64,
    /// Those of `crc_taken` whose CRC was another than `crc`.
    pub crc_differs: u64,
}

fn merge_answers(into: &mut Vec<Answer>, from: &[Answer]) {
    for answer in from {
        match into.iter_mut().find(|known| known.request == answer.request) {
            Some(known) => known.merge(answer),
            None => into.push(answer.clone()),
        }
    }
}

impl Answer {
    fn merge(&mut self, other: &Answer) {
        // Counts of "differs" are against each side's own first answer: where those are unlike, all of one side differ
        // from the other's, whichever were alike among themselves.
        if self.length == other.length {
            self.length_differs += other.length_differs;
            match (self.crc, other.crc) {
                (Some(mine), Some(theirs)) if mine != theirs => self.crc_differs += other.crc_taken,
                _ => self.crc_differs += other.crc_differs,
            }
            self.crc_taken += other.crc_taken;
            self.crc = self.crc.or(other.crc);
        } else {
            self.length_differs += other.count - other.length_differs;
        }
        self.count += other.count;
    }
}

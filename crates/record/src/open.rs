//! What an open loop has beside: times from when exchanges were due, and whose doing it was that they were sent later.

use crate::{Exchange, Growth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// Times of exchanges that a schedule made due in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTimes {
    /// Response time (done - due) of the `ok` exchanges, and of all censored ones, never sent or not, at their age.
    pub response: Histogram,
    /// The smallest age since its due at which an exchange was censored; percentiles above it are lower bounds.
    pub censored_from: Option<Nanos>,
    /// Of the exchanges that were sent: how long of the time since due no connection was free.
    pub queued: Histogram,
    /// Of the exchanges that were sent: how long their connection took to be opened; 0 where it was there.
    pub connecting: Histogram,
    /// Of the exchanges that were sent: the rest of the time from due to sent, which is the generator's own doing.
    pub generator_late: Histogram,
    /// Response times by when exchanges were due.
    pub growth: Growth,
    /// What became of the connections, where those arrive by the schedule, and not exchanges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "sessions", alias = "visits")]
    pub visits: Option<Visits>,
}

/// The connections that a schedule made due in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visits {
    /// Connections that arrived in the window.
    #[serde(rename = "scheduled", alias = "due")]
    pub due: u64,
    /// Those of `due` that were over while exchanges of theirs were still to become due: the server closed them, a fault
    /// ended them, or they could not be opened.
    #[serde(rename = "aborted", alias = "ended_early")]
    pub ended_early: u64,
    /// The exchanges that those did not come to ask; they were never due.
    #[serde(rename = "skipped", alias = "forgone")]
    pub forgone: u64,
    /// Of those of `due` that asked all they were to ask: from arrival until closed. The rest is `ended_early`, cut off by
    /// the end of the load, or was never opened.
    pub time: Histogram,
}

impl Visits {
    fn merge(&mut self, other: &Visits) {
        self.due = self.due.saturating_add(other.due);
        self.ended_early = self.ended_early.saturating_add(other.ended_early);
        self.forgone = self.forgone.saturating_add(other.forgone);
        self.time.merge(&other.time);
    }
}

/// What an exchange waited for between due and sent: the parts add up to its lateness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// For a connection to be free: the time in which none was.
    pub queued: Nanos,
    /// For a connection to be opened.
    pub connecting: Nanos,
}

impl OpenTimes {
    /// Counts what an exchange that has just been sent, `lateness` after its due, has waited for.
    #[inline]
    pub fn observe_sent(&mut self, lateness: Nanos, waits: Waits) {
        let own = lateness.saturating_sub(waits.queued + waits.connecting);
        self.queued.record(waits.queued.as_nanos());
        self.connecting.record(waits.connecting.as_nanos());
        self.generator_late.record(own.as_nanos());
    }

    /// Counts an exchange that ended well. (Apart, so that a closed loop pays one comparison for it.)
    #[inline(never)]
    pub(crate) fn observe_ok(&mut self, exchange: &Exchange) {
        let response = exchange.response();
        self.response.record(response.as_nanos());
        self.growth.add(exchange.due, response);
    }

    /// Counts an exchange that was cut off at `age` since it was due.
    pub(crate) fn censor(&mut self, age: Nanos) {
        self.response.record(age.as_nanos());
        self.censored_from = Some(self.censored_from.map_or(age, |known| known.min(age)));
    }

    /// Adds another thread's.
    pub(crate) fn merge(&mut self, other: &OpenTimes) {
        self.response.merge(&other.response);
        self.censored_from = match (self.censored_from, other.censored_from) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.queued.merge(&other.queued);
        self.connecting.merge(&other.connecting);
        self.generator_late.merge(&other.generator_late);
        self.growth.merge(&other.growth);
        if let Some(visits) = &other.visits {
            self.visits.get_or_insert_default().merge(visits);
        }
    }
}

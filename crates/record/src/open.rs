//! What an open loop has beside: times from when exchanges were scheduled, and whose doing it was that they were sent later.

use crate::tally::earlier;
use crate::{Exchange, Growth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// Times of exchanges that were scheduled in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTimes {
    /// Response time (done - scheduled) of the `ok` exchanges, and of all censored ones, never sent or not, at their age.
    pub response: Histogram,
    /// The smallest age since its intended start at which an exchange was censored; percentiles above it are lower bounds.
    pub censored_from: Option<Nanos>,
    /// Of the exchanges that were sent: how long of the time since their intended start no connection was free.
    pub queued: Histogram,
    /// Of the exchanges that were sent: how long their connection took to be opened; 0 where it was there.
    pub connecting: Histogram,
    /// Of the exchanges that were sent: the rest of the send delay, which is the generator's own doing.
    pub generator_late: Histogram,
    /// Response times by when exchanges were scheduled.
    pub growth: Growth,
    /// What became of the connections, where those arrive by the schedule, and not exchanges.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "visits")]
    pub sessions: Option<Sessions>,
}

/// The connections that were scheduled in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// Connections that arrived in the window.
    #[serde(alias = "due")]
    pub scheduled: u64,
    /// Those of `scheduled` that were over while exchanges of theirs were still to be scheduled: the server closed them, a fault
    /// ended them, or they could not be opened.
    #[serde(alias = "ended_early")]
    pub aborted: u64,
    /// The exchanges that those did not send; they were never scheduled.
    #[serde(alias = "forgone")]
    pub skipped: u64,
    /// Of those of `scheduled` that sent all their requests: from arrival until closed. The rest is `aborted`, cut off by
    /// the end of the load, or was never opened.
    pub time: Histogram,
}

impl Sessions {
    fn merge(&mut self, other: &Sessions) {
        self.scheduled = self.scheduled.saturating_add(other.scheduled);
        self.aborted = self.aborted.saturating_add(other.aborted);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.time.merge(&other.time);
    }
}

/// What an exchange waited for between its intended start and its sending: the parts add up to its send delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// For a connection to be free: the time in which none was.
    pub queued: Nanos,
    /// For a connection to be opened.
    pub connecting: Nanos,
}

impl OpenTimes {
    /// Counts what an exchange that has just been sent, `send_delay` after its intended start, has waited for.
    #[inline]
    pub fn observe_sent(&mut self, send_delay: Nanos, waits: Waits) {
        let own = send_delay.saturating_sub(waits.queued + waits.connecting);
        self.queued.record(waits.queued.as_nanos());
        self.connecting.record(waits.connecting.as_nanos());
        self.generator_late.record(own.as_nanos());
    }

    /// Counts an exchange that ended well. (Apart, so that a closed loop pays one comparison for it.)
    #[inline(never)]
    pub(crate) fn observe_ok(&mut self, exchange: &Exchange) -> usize {
        let response = exchange.response();
        self.growth.add(exchange.scheduled, response);
        self.response.record_class(response.as_nanos())
    }

    /// Counts an exchange that was cut off at `age` since it was scheduled.
    pub(crate) fn censor(&mut self, age: Nanos) {
        self.response.record(age.as_nanos());
        self.censored_from = earlier(self.censored_from, Some(age));
    }

    /// Adds another thread's.
    pub(crate) fn merge(&mut self, other: &OpenTimes) {
        self.response.merge(&other.response);
        self.censored_from = earlier(self.censored_from, other.censored_from);
        self.queued.merge(&other.queued);
        self.connecting.merge(&other.connecting);
        self.generator_late.merge(&other.generator_late);
        self.growth.merge(&other.growth);
        if let Some(sessions) = &other.sessions {
            self.sessions.get_or_insert_default().merge(sessions);
        }
    }
}

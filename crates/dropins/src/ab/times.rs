//! The four times of ab, as distributions over its requests.

use record::Tally;
use stats::Histogram;

/// Connect, processing, waiting and total, in nanoseconds.
pub(super) struct Times {
    /// Of each request: of one on a connection that was open already it is 0. With the handshake, where there is one.
    pub(super) connect: Histogram,
    /// From the request to the last byte of its response.
    pub(super) processing: Histogram,
    /// From the request to the first byte.
    pub(super) waiting: Histogram,
    /// Connect and processing of each request together.
    pub(super) total: Histogram,
}

impl Times {
    pub(super) fn of(tally: &Tally) -> Times {
        let connects = &tally.connects;
        let mut connect = match &connects.handshakes {
            None => connects.time.clone(),
            Some(handshakes) => handshakes.with_connect.clone(),
        };
        let kept = tally.ok.saturating_sub(connect.count());
        connect.record_n(0, kept);
        let mut total = tally.service.since(&connects.first.service);
        total.merge(&connects.first.response);
        Times {
            connect,
            processing: tally.service.clone(),
            waiting: tally.first_byte.clone(),
            total,
        }
    }

    /// Each with its name in the table, and in the sentences below it.
    pub(super) fn rows(&self) -> [(&'static str, &'static str, &Histogram); 4] {
        [
            ("Connect:", "the initial connection time", &self.connect),
            ("Processing:", "the processing time", &self.processing),
            ("Waiting:", "the waiting time", &self.waiting),
            ("Total:", "the total time", &self.total),
        ]
    }
}

/// Whole milliseconds, rounded.
pub(super) fn millis(nanos: f64) -> u64 {
    (nanos / 1e6).round() as u64
}

/// The time that so many percent of the requests took at most.
pub(super) fn at_percent(times: &Histogram, percent: u32) -> f64 {
    times.quantile(f64::from(percent) / 100.0).unwrap_or(0) as f64
}

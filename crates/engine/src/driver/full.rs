//! When no connection was free in an open loop although a request was waiting for one.
//!
//! A request's wait for a connection is the part of its delay in which none was free, as far as its thread knew. The rest
//! is connecting, and the generator's own: a thread that was paused finds requests that are long since due, and free
//! connections for them. The spans are kept and not each request's wait, because what waits is not stored either.

use std::collections::VecDeque;
use units::{Instant, Nanos};

/// Ended spans that are kept at most. Of more, the two with the shortest time between them become one: what was between
/// counts as waiting then.
const KEPT: usize = 16;

/// The spans in which no connection was free, as far back as requests wait.
#[derive(Debug, Default)]
pub(crate) struct FullSpans {
    ended: VecDeque<(Instant, Instant)>,
    /// Start of the present span.
    since: Option<Instant>,
}

impl FullSpans {
    /// A request waits at `at`, and no connection is free, nor may one be opened.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.since.get_or_insert(at);
    }

    /// A connection is free at `at`, or may be opened.
    #[inline]
    pub(crate) fn end(&mut self, at: Instant) {
        if let Some(since) = self.since.take() {
            self.keep(since, at);
        }
    }

    #[cold]
    fn keep(&mut self, since: Instant, until: Instant) {
        self.ended.push_back((since, until));
        if self.ended.len() > KEPT {
            let between = |at: &usize| self.ended[at + 1].0 - self.ended[*at].1;
            let at = (0..KEPT).min_by_key(between).unwrap_or(0);
            self.ended[at].1 = self.ended[at + 1].1;
            self.ended.remove(at + 1);
        }
    }

    /// Returns for how long of `[scheduled, now]` no connection was free. Each `scheduled` is at or after that of the call before.
    #[inline]
    pub(crate) fn within(&mut self, scheduled: Instant, now: Instant) -> Nanos {
        match self.since.is_none() && self.ended.is_empty() {
            true => Nanos::ZERO,
            false => self.sum(scheduled, now),
        }
    }

    #[cold]
    fn sum(&mut self, scheduled: Instant, now: Instant) -> Nanos {
        while self
            .ended
            .front()
            .is_some_and(|(_, until)| *until <= scheduled)
        {
            self.ended.pop_front();
        }
        let present = self.since.map(|since| (since, now));
        let spans = self.ended.iter().copied().chain(present);
        spans
            .map(|(since, until)| until - since.max(scheduled))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn within(full: &mut FullSpans, scheduled: u64, now: u64) -> u64 {
        full.within(at(scheduled), at(now)).as_nanos()
    }

    #[test]
    fn a_wait_is_what_of_it_no_connection_was_free_for() {
        let mut full = FullSpans::default();
        assert_eq!(within(&mut full, 5, 100), 0);
        full.begin(at(10));
        full.begin(at(12)); // it is the same span
        assert_eq!(within(&mut full, 5, 20), 10);
        assert_eq!(within(&mut full, 15, 20), 5);
        full.end(at(20));
        full.end(at(25)); // it had ended
        full.begin(at(30));
        assert_eq!(within(&mut full, 15, 34), 5 + 4);
        assert_eq!(within(&mut full, 20, 34), 4);
        assert_eq!(within(&mut full, 32, 34), 2);
        full.end(at(40));
        assert_eq!(within(&mut full, 40, 90), 0);
    }

    #[test]
    fn of_many_spans_those_that_lie_closest_are_joined() {
        let mut full = FullSpans::default();
        for number in 0..100 {
            full.begin(at(100 * number));
            full.end(at(100 * number + if number == 50 { 99 } else { 40 }));
        }
        assert_eq!(full.ended.len(), KEPT);
        // The one nanosecond after span 50 was the shortest time between two, so that it is joined first.
        assert!(full.ended.iter().all(|(_, until)| *until != at(5_099)));
        assert_eq!(full.ended.back(), Some(&(at(9_900), at(9_940))));
        let waited = within(&mut full, 0, 10_000);
        assert!((100 * 40 + 59..=9_940).contains(&waited), "{waited}");
    }
}

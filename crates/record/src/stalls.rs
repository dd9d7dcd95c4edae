//! Spans in which nothing ended although exchanges were in flight: what a closed loop asked nothing in.
//!
//! Which of them are long is only known at the end, when the median service time is, so the record keeps all that might
//! be and no verdict; [`crate::CoordinatedOmission`] is that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::Nanos;

/// The stalls between endings that the threads of a closed loop noted inside their windows.
///
/// A stall is the span between two endings on one thread, as far as the exchange that ended it was in flight; at the
/// window's edges, as far as it lies inside. What the thread itself did not run, waiting for a CPU or paused, is
/// taken off.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// The windows of all threads together.
    pub time: Nanos,
    /// Lengths of the stalls that are longer than [`Stalls::SHORTEST`].
    pub length: Histogram,
    /// The same stalls, each as often as exchanges can be in flight on its thread: its connections times the depth of
    /// their pipelines. So many samples a stall can have at the most.
    pub caught: Histogram,
    /// What was taken off stalls because the thread had to wait for a CPU, or was paused.
    pub own_wait: Nanos,
}

impl Stalls {
    /// No shorter stall is noted: a scheduler's ordinary turns are that long.
    pub const SHORTEST: Nanos = Nanos::from_millis(1);

    /// Notes a stall of `length` on a thread on which `capacity` exchanges can be in flight, `own_wait` of which the
    /// thread spent waiting for a CPU.
    pub fn add(&mut self, length: Nanos, own_wait: Nanos, capacity: u64) {
        let own_wait = own_wait.min(length);
        self.own_wait += own_wait;
        let left = length.saturating_sub(own_wait);
        if left > Stalls::SHORTEST {
            self.length.record(left.as_nanos());
            self.caught.record_n(left.as_nanos(), capacity);
        }
    }

    /// Adds another thread's or round's.
    pub(crate) fn merge(&mut self, other: &Stalls) {
        self.time += other.time;
        self.length.merge(&other.length);
        self.caught.merge(&other.caught);
        self.own_wait += other.own_wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);
    const NS: Nanos = Nanos::from_nanos(1);

    #[test]
    fn only_what_is_longer_than_the_shortest_is_kept_and_own_waits_are_taken_off_before() {
        let cases = [
            (MS, Nanos::ZERO, 0, Nanos::ZERO),
            (MS + NS, Nanos::ZERO, 1, Nanos::ZERO),
            (MS * 5, MS * 4, 0, MS * 4),
            (
                MS * 5,
                (MS * 4).saturating_sub(NS),
                1,
                (MS * 4).saturating_sub(NS),
            ),
            (MS * 5, MS * 9, 0, MS * 5),
        ];
        for (length, wait, kept, own) in cases {
            let mut stalls = Stalls::default();
            stalls.add(length, wait, 7);
            assert_eq!(
                (stalls.length.count(), stalls.caught.count()),
                (kept, kept * 7)
            );
            assert_eq!(stalls.own_wait, own, "{length:?} {wait:?}");
        }
    }

    #[test]
    fn merging_is_adding() {
        let stalls = |ms: u64, capacity| {
            let mut stalls = Stalls {
                time: MS * 1_000,
                ..Stalls::default()
            };
            stalls.add(MS * ms, MS, capacity);
            stalls
        };
        let mut sum = stalls(10, 2);
        sum.merge(&stalls(20, 3));
        assert_eq!((sum.time, sum.own_wait), (MS * 2_000, MS * 2));
        assert_eq!((sum.length.count(), sum.caught.count()), (2, 5));
        assert_eq!(sum.length.sum(), 28_000_000);
    }
}

//! Arrival processes: when the requests of an open loop are scheduled.
//!
//! A process is an iterator of scheduled instants, as offsets from the start of the load. It knows no sockets, no clock and
//! no backlog, so that the *intended* start can be compared with the *actual* one. (A token bucket would be shorter, but it
//! forgets the intended start.)
//!
//! Arrival `k` of the whole load is scheduled at the same instant whatever the number of threads, and belongs to thread
//! `k mod threads`: each thread computes the whole schedule and takes its own arrivals. A scheduled arrival that waits needs
//! no memory, since it can be computed again from its number; so a backlog cannot overflow.
//!
//! ```
//! use plan::{Arrivals, Pacing};
//! use units::Nanos;
//!
//! let rate = "0.5".parse().unwrap();
//! let due: Vec<Nanos> = Pacing::new(Arrivals::Constant, rate, 1, 0, 1).take(3).collect();
//! assert_eq!(due, [0, 2, 4].map(Nanos::from_secs));
//! ```

use crate::Arrivals;
use crate::arrivals::Instants;
use units::{Nanos, Rate};

/// One thread's share of a schedule: the offsets at which its requests are scheduled, ascending, without an end.
#[derive(Debug)]
pub struct Pacing {
    instants: Box<dyn Instants>,
    /// Arrivals of other threads before the next of this one's.
    skip: usize,
    /// Arrivals of other threads between two of this one's.
    stride: usize,
}

impl Pacing {
    /// Returns the share of thread `thread` of `threads` in the arrivals of `rate`; a random process draws from `seed`.
    ///
    /// # Panics
    /// There are no threads.
    pub fn new(arrivals: Arrivals, rate: Rate, seed: u64, thread: u32, threads: u32) -> Pacing {
        assert!(threads > 0, "there is at least one thread");
        Pacing {
            instants: arrivals.process().instants(rate, seed),
            skip: thread as usize,
            stride: threads as usize - 1,
        }
    }
}

impl Iterator for Pacing {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let skip = std::mem::replace(&mut self.skip, self.stride);
        self.instants.nth(skip)
    }
}

/// The stretches of a round that have a schedule each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// A warm-up that is drained before the window opens.
    Apart = 0,
    /// The window, and the warm-up that leads into it where a duration ends it.
    Window = 1,
}

impl Stretch {
    /// The seed of this stretch of round `round`, in a plan with seed `seed`: no two have a schedule in common.
    pub fn seed(self, seed: u64, round: u32) -> u64 {
        crate::template::draw(!seed, u64::from(round) * 2 + self as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROCESSES: [Arrivals; 6] = [
        Arrivals::Constant,
        Arrivals::Poisson,
        Arrivals::Bursts {
            within: Nanos::from_micros(70),
            every: Nanos::from_millis(1),
        },
        Arrivals::OnOff {
            on: Nanos::from_millis(3),
            off: Nanos::from_millis(7),
        },
        ramp(true),
        ramp(false),
    ];

    const fn ramp(even: bool) -> Arrivals {
        Arrivals::Ramp {
            from: Rate::per_second(0),
            to: Rate::per_second(300),
            after: Nanos::from_millis(5),
            over: Nanos::from_millis(900),
            even,
        }
    }

    fn rate(millionths: u64) -> Rate {
        let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
        text.parse().unwrap()
    }

    fn whole(arrivals: Arrivals, rate: Rate, seed: u64) -> Pacing {
        Pacing::new(arrivals, rate, seed, 0, 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_arrival_is_due_before_the_one_before_it(parts in 1u64..1_000_000_000_000_000, seed: u64) {
            for process in PROCESSES {
                let due: Vec<Nanos> = whole(process, rate(parts), seed).take(2_000).collect();
                prop_assert!(due.is_sorted(), "{process}");
            }
        }

        #[test]
        fn threads_share_out_the_same_schedule_however_many_they_are(
            parts in 1_000u64..1_000_000_000_000,
            seed: u64,
            threads in 2u32..17,
        ) {
            for process in PROCESSES {
                let due: Vec<Nanos> = whole(process, rate(parts), seed).take(1_000).collect();
                let mut shares: Vec<Pacing> = (0..threads)
                    .map(|thread| Pacing::new(process, rate(parts), seed, thread, threads))
                    .collect();
                let many = shares.len();
                for (number, due) in due.iter().enumerate() {
                    prop_assert_eq!(shares[number % many].next(), Some(*due), "{} {}", process, number);
                }
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_schedule_again(parts in 1u64..1_000_000_000_000, seed: u64) {
            for process in PROCESSES {
                let once: Vec<Nanos> = whole(process, rate(parts), seed).take(500).collect();
                let again: Vec<Nanos> = whole(process, rate(parts), seed).take(500).collect();
                prop_assert_eq!(once, again);
            }
        }

        /// Within four standard deviations of what chance allows; for even spacing there is no chance. Of a process that
        /// repeats itself the last period may be in it in part.
        #[test]
        fn in_the_long_run_the_rate_is_the_one_that_was_asked_for(
            parts in 100_000u64..1_000_000_000_000,
            seed: u64,
        ) {
            const NUMBER: usize = 40_000;
            // A ramp goes on at its last rate.
            let is_ramp = |process: &Arrivals| matches!(process, Arrivals::Ramp { .. });
            for process in PROCESSES.into_iter().filter(|process| !is_ramp(process)) {
                let last = whole(process, rate(parts), seed).nth(NUMBER - 1).unwrap();
                let chance = (4.0 * (process.dispersion() * NUMBER as f64).sqrt()).max(1.0);
                let part = process.period().map_or(0.0, |period| rate(parts).number_in(period));
                let off = (NUMBER as f64 - rate(parts).number_in(last)).abs();
                prop_assert!(off <= 1.01 * chance + part, "{} {}", process, off);
            }
        }
    }
}

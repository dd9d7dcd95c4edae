//! When weigh meant to send what: computed again from rate, law and seed, and numbered as its ids are.

use super::case::Case;
use plan::{Pacing, Stretch};
use record::Window;
use units::{Instant, Nanos};

/// Load before the window: connections are there by then, but the first answers pay for cold caches on both sides.
pub const WARM_UP: Nanos = Nanos::from_millis(500);

/// What was due in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The number of the first that was due in the window: so many were sent before it, the probe included.
    pub first: u64,
    /// When each was due, from the first on.
    pub due: Vec<Instant>,
}

impl Schedule {
    /// Of the only round of `case` with `seed`, which was measured in `window`, by one thread. The warm-up leads into
    /// the window, so that both are one stretch and the ids count through.
    pub fn of(case: &Case, seed: u64, window: Window) -> Schedule {
        let rate = case.rate.to_string();
        let rate = rate.parse().expect("the cases have sound rates");
        let seed = Stretch::Window.seed(seed, 0);
        let origin = Instant::from_nanos(window.start.as_nanos() - WARM_UP.as_nanos());
        let mut all = Pacing::new(case.arrivals, rate, seed, 0, 1).map(|offset| origin + offset);
        let mut first = 1; // the probe has the number 0
        let mut due = Vec::new();
        while let Some(at) = all.next().filter(|at| *at < window.end) {
            match at < window.start {
                true => first += 1,
                false => due.push(at),
            }
        }
        Schedule { first, due }
    }

    /// How many requests were sent, from the probe on.
    pub fn all(&self) -> u64 {
        self.first + self.due.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Nanos::from_millis(millis)
    }

    #[test]
    fn what_is_due_before_the_window_counts_its_numbers() {
        let case = CASES.iter().find(|case| case.name == "even-1k").unwrap();
        let window = Window {
            start: at(2_000),
            end: at(2_004),
        };
        let schedule = Schedule::of(case, 7, window);
        assert_eq!(schedule.first, 501);
        assert_eq!(schedule.due, [2_000, 2_001, 2_002, 2_003].map(at));
        assert_eq!(schedule.all(), 505);
    }

    #[test]
    fn chance_follows_from_the_seed() {
        let case = CASES.iter().find(|case| case.name == "random-1k").unwrap();
        let window = Window {
            start: at(1_000),
            end: at(2_000),
        };
        let one = Schedule::of(case, 1, window);
        assert_eq!(one, Schedule::of(case, 1, window));
        assert_ne!(one, Schedule::of(case, 2, window));
        assert!((850..1150).contains(&one.due.len()));
    }
}

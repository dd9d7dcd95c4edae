//! Evenly spaced: arrival `k` is scheduled at `k / rate`, to the nanosecond below.
//!
//! Every instant is computed from its number and not from the one before it, so that no rounding adds up. Even spacing
//! flatters a server (nothing ever comes in a bunch) and can fall into step with its timers; it is for questions that ask
//! for it.

use super::{Instants, Process};
use crate::Arrivals;
use units::{Nanos, Rate};

/// The process.
pub(crate) struct Constant;

impl Process for Constant {
    fn written(&self) -> String {
        "constant".to_owned()
    }

    fn words(&self) -> String {
        "evenly spaced".to_owned()
    }

    fn steady(&self) -> Arrivals {
        Arrivals::Constant
    }

    fn dispersion(&self) -> f64 {
        0.0
    }

    fn instants(&self, rate: Rate, _: u64) -> Box<dyn Instants> {
        Box::new(Even::new(rate))
    }
}

/// The instants of an even rate.
#[derive(Debug, Clone)]
pub(super) struct Even {
    rate: Rate,
    next: u64,
}

impl Even {
    pub(super) fn new(rate: Rate) -> Even {
        Even { rate, next: 0 }
    }
}

impl Iterator for Even {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.nth(0)
    }

    fn nth(&mut self, skip: usize) -> Option<Nanos> {
        let number = self.next.saturating_add(skip as u64);
        self.next = number.saturating_add(1);
        Some(self.rate.time_of(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_millionth_arrival_is_where_it_belongs() {
        let cases: &[(&str, u64)] = &[
            ("0.5", 2_000_000_000_000_000),
            ("3", 333_333_333_333_333),
            ("30k", 33_333_333_333),
            ("0.3", 3_333_333_333_333_333),
        ];
        for (rate, wanted) in cases {
            let due = Even::new(rate.parse().unwrap()).nth(1_000_000);
            assert_eq!(due.map(Nanos::as_nanos), Some(*wanted), "{rate}");
        }
    }

    #[test]
    fn a_second_holds_as_many_as_the_rate_says() {
        for rate in [1_u64, 3, 7, 1_000, 29_999] {
            let before = |due: &Nanos| *due < Nanos::from_secs(5);
            let count = Even::new(Rate::per_second(rate)).take_while(before).count();
            assert_eq!(count as u64, 5 * rate);
        }
    }
}

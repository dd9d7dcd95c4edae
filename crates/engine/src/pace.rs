//! What may become due: as long as a window lasts, or until a number is used up.
//!
//! A closed loop has no schedule: an exchange is due when capacity becomes free for it. In an open loop the schedule says
//! when. In both the pace only says whether that moment still counts, and whether it falls into the window.

use units::Instant;

/// One thread's share of what is to become due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// From this moment on nothing becomes due.
    pause: Instant,
    /// What is due from this moment on belongs to the window.
    start: Instant,
    /// How many exchanges of the window may still become due.
    remaining: u64,
}

impl Pace {
    /// Nothing becomes due.
    pub(crate) fn closed() -> Pace {
        Pace {
            pause: Instant::ZERO,
            start: Instant::NEVER,
            remaining: 0,
        }
    }

    /// Load that is not measured, until `pause`.
    pub(crate) fn warmup(pause: Instant) -> Pace {
        Pace {
            pause,
            start: Instant::NEVER,
            remaining: 0,
        }
    }

    /// Load until `end`; what is due in `[start, end)` is measured.
    pub(crate) fn span(start: Instant, end: Instant) -> Pace {
        Pace {
            pause: end,
            start,
            remaining: u64::MAX,
        }
    }

    /// Exactly `number` measured exchanges from `start` on.
    pub(crate) fn number(start: Instant, number: u64) -> Pace {
        Pace {
            pause: Instant::NEVER,
            start,
            remaining: number,
        }
    }

    /// Asks whether an exchange may be due at `at`: none if not, else whether it belongs to the window.
    #[inline]
    pub(crate) fn take(&mut self, at: Instant) -> Option<bool> {
        if at >= self.pause {
            return None;
        }
        if at < self.start {
            return Some(false);
        }
        self.remaining = self.remaining.checked_sub(1)?;
        Some(true)
    }

    /// Whether an exchange may be due at `at`, without taking it.
    pub(crate) fn allows(&self, at: Instant) -> bool {
        at < self.pause && (at < self.start || self.remaining > 0)
    }

    /// Whether a number of exchanges is not used up yet.
    pub(crate) fn is_left(&self) -> bool {
        self.remaining > 0
    }

    /// Ends the pace and returns how many exchanges of a number were never due.
    pub(crate) fn give_up(&mut self) -> u64 {
        let left = if self.pause == Instant::NEVER {
            self.remaining
        } else {
            0
        };
        *self = Pace::closed();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_span_measures_what_is_due_inside_it() {
        let mut pace = Pace::span(at(10), at(20));
        let cases = [
            (9, Some(false)),
            (10, Some(true)),
            (19, Some(true)),
            (20, None),
        ];
        for (moment, wanted) in cases {
            assert_eq!(pace.allows(at(moment)), wanted.is_some(), "{moment}");
            assert_eq!(pace.take(at(moment)), wanted, "{moment}");
        }
    }

    #[test]
    fn a_number_is_used_up_exactly() {
        let mut pace = Pace::number(at(10), 3);
        assert!(pace.allows(at(9)) && pace.allows(at(11)));
        assert_eq!((0..9).filter(|_| pace.take(at(11)).is_some()).count(), 3);
        assert!(pace.allows(at(9)) && !pace.allows(at(11)));
        assert_eq!(pace.give_up(), 0);
    }

    #[test]
    fn giving_up_returns_what_was_never_due() {
        let mut pace = Pace::number(at(0), 5);
        pace.take(at(1));
        assert_eq!(pace.give_up(), 4);
        assert_eq!(pace.take(at(2)), None);
        assert_eq!(Pace::span(at(0), at(9)).give_up(), 0);
    }
}

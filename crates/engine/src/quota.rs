//! What may become due: as long as a window lasts, or until a number is used up.
//!
//! A closed loop has no schedule: an exchange is due when capacity becomes free for it. In an open loop the schedule says
//! when. In both the quota only says whether that moment still counts, and whether it falls into the window.

use units::Instant;

/// One thread's share of what is to become due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    /// From this moment on nothing becomes due.
    pause: Instant,
    /// What is due from this moment on belongs to the window.
    start: Instant,
    /// How many exchanges of the window may still become due.
    remaining: u64,
    /// Those of `remaining` that connections which have arrived are still to ask.
    promised: u64,
}

impl Quota {
    /// Nothing becomes due.
    pub(crate) fn closed() -> Quota {
        Quota {
            pause: Instant::ZERO,
            start: Instant::NEVER,
            remaining: 0,
            promised: 0,
        }
    }

    /// Load that is not measured, until `pause`.
    pub(crate) fn warmup(pause: Instant) -> Quota {
        Quota {
            pause,
            ..Quota::closed()
        }
    }

    /// Load until `end`; what is scheduled in `[start, end)` is measured.
    pub(crate) fn span(start: Instant, end: Instant) -> Quota {
        Quota {
            pause: end,
            start,
            remaining: u64::MAX,
            ..Quota::closed()
        }
    }

    /// Exactly `number` measured exchanges from `start` on.
    pub(crate) fn number(start: Instant, number: u64) -> Quota {
        Quota {
            pause: Instant::NEVER,
            start,
            remaining: number,
            ..Quota::closed()
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

    /// One that was taken is not sent after all.
    pub(crate) fn give_back(&mut self, belongs: bool) {
        self.remaining = self.remaining.saturating_add(u64::from(belongs));
    }

    /// Asks whether an arrival that stands for `each` exchanges may be due at `at`: none if not, else whether its first
    /// exchange belongs to the window, and how many more are promised to it.
    pub(crate) fn take_arrival(&mut self, at: Instant, each: u64) -> Option<(bool, u64)> {
        if !self.allows(at) {
            return None;
        }
        let belongs = self.take(at)?;
        let rest = match belongs {
            true => (self.remaining - self.promised).min(each - 1),
            false => each - 1,
        };
        if belongs {
            self.promised += rest;
        }
        Some((belongs, rest))
    }

    /// Asks whether one that was promised may be due at `at`: none if not, else whether it belongs to the window.
    pub(crate) fn take_promised(&mut self, at: Instant) -> Option<bool> {
        let belongs = self.take(at)?;
        self.promised = self.promised.saturating_sub(u64::from(belongs));
        Some(belongs)
    }

    /// So many that were promised will not be sent by the sessions they were promised to.
    pub(crate) fn release(&mut self, number: u64) {
        self.promised = self.promised.saturating_sub(number);
    }

    /// Whether all that may be due at `at` is promised: should it be released, others may have it.
    pub(crate) fn is_promised(&self, at: Instant) -> bool {
        at < self.pause && self.promised > 0
    }

    /// Whether the load goes on at `at`.
    pub(crate) fn goes_on(&self, at: Instant) -> bool {
        at < self.pause
    }

    /// Whether an arrival may be due at `at`, without taking it.
    pub(crate) fn allows(&self, at: Instant) -> bool {
        at < self.pause && (at < self.start || self.remaining > self.promised)
    }

    /// Whether a number of exchanges is not used up yet.
    pub(crate) fn is_left(&self) -> bool {
        self.remaining > 0
    }

    /// Ends the quota and returns how many exchanges of a number were never due.
    pub(crate) fn give_up(&mut self) -> u64 {
        let left = match self.pause {
            Instant::NEVER => self.remaining,
            _ => 0,
        };
        *self = Quota::closed();
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
        let mut quota = Quota::span(at(10), at(20));
        let cases = [
            (9, Some(false)),
            (10, Some(true)),
            (19, Some(true)),
            (20, None),
        ];
        for (moment, wanted) in cases {
            assert_eq!(quota.allows(at(moment)), wanted.is_some(), "{moment}");
            assert_eq!(quota.take(at(moment)), wanted, "{moment}");
        }
    }

    #[test]
    fn a_number_is_used_up_exactly() {
        let mut quota = Quota::number(at(10), 3);
        assert!(quota.allows(at(9)) && quota.allows(at(11)));
        assert_eq!((0..9).filter(|_| quota.take(at(11)).is_some()).count(), 3);
        assert!(quota.allows(at(9)) && !quota.allows(at(11)));
        assert_eq!(quota.give_up(), 0);
    }

    #[test]
    fn what_is_promised_to_one_arrival_is_not_for_another_until_it_is_released() {
        let mut quota = Quota::number(at(0), 25);
        let taken: Vec<_> = (0..4).map(|_| quota.take_arrival(at(1), 10)).collect();
        assert_eq!(
            taken,
            [Some((true, 9)), Some((true, 9)), Some((true, 4)), None]
        );
        assert!(quota.is_promised(at(1)) && !quota.allows(at(1)));
        assert_eq!(quota.take_promised(at(2)), Some(true));
        quota.release(8);
        assert_eq!(quota.take_arrival(at(3), 10), Some((true, 7)));
        let left = (0..99).filter(|_| quota.take_promised(at(4)).is_some());
        assert_eq!(left.count(), 20);
        assert!(!quota.is_left() && !quota.is_promised(at(5)));
    }

    #[test]
    fn what_is_promised_is_not_due_after_the_pause() {
        let mut quota = Quota::span(at(10), at(20));
        assert_eq!(quota.take_arrival(at(9), 3), Some((false, 2)));
        assert_eq!(quota.take_arrival(at(19), 3), Some((true, 2)));
        assert_eq!(quota.take_promised(at(19)), Some(true));
        assert_eq!(quota.take_promised(at(20)), None);
        assert!(!quota.goes_on(at(20)) && !quota.is_promised(at(20)));
    }

    #[test]
    fn giving_up_returns_what_was_never_due() {
        let mut quota = Quota::number(at(0), 5);
        quota.take(at(1));
        assert_eq!(quota.give_up(), 4);
        assert_eq!(quota.take(at(2)), None);
        assert_eq!(Quota::span(at(0), at(9)).give_up(), 0);
    }
}

//! Which connections hold how much back, and which of them is the heaviest.
//!
//! What a worker holds back for all connections together has a limit. When it is reached the heaviest connection has to
//! go, and not the one that comes next: a client that asks for much and reads nothing then pays for itself. A holder
//! weighs its bytes times the time since its client last took any, so that clients that read, and clients that have just
//! sent a request, are light beside those that do not.
//!
//! Weights grow all the time, each at its own speed, so holders are not kept in their order. They are kept by the power
//! of two of their size, the oldest first: the oldest of each class are the only ones to compare, and the one that is
//! found weighs at least half of the heaviest. Nothing is kept of a connection whose answers are taken at once, nor of one
//! that is only sent a file, of which nothing is in memory.

use crate::slots::Held;
use kernel::Token;
use std::collections::BTreeSet;
use units::Instant;

/// Powers of two that sizes are told apart by; larger ones are all in the last.
const CLASSES: usize = 32;

/// A connection that holds something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    /// When its client last took something.
    since: Instant,
    /// Which connection it is.
    pub(super) token: Token,
    /// Bytes that it holds back.
    size: usize,
}

impl Holder {
    pub(super) fn of(token: Token, held: &Held) -> Holder {
        Holder {
            since: held.since,
            token,
            size: held.size(),
        }
    }

    fn class(&self) -> usize {
        (self.size.max(1).ilog2() as usize).min(CLASSES - 1)
    }

    /// In bytes times nanoseconds; of clients that have just taken something, the larger is the heavier.
    fn weight(&self, now: Instant) -> (u128, usize) {
        let age = (now - self.since).as_nanos();
        (u128::from(age) * self.size as u128, self.size)
    }
}

/// All of them, and the sum of what they hold.
#[derive(Debug, Default)]
pub(super) struct Holders {
    classes: [BTreeSet<Holder>; CLASSES],
    sum: usize,
}

impl Holders {
    /// Bytes held back for all connections.
    pub(super) fn sum(&self) -> usize {
        self.sum
    }

    /// Adds a connection that is not among them.
    pub(super) fn add(&mut self, holder: Holder) {
        if holder.size > 0 && self.classes[holder.class()].insert(holder) {
            self.sum += holder.size;
        }
    }

    /// Removes a connection, as it was added.
    pub(super) fn remove(&mut self, holder: Holder) {
        if holder.size > 0 {
            let was_there = self.classes[holder.class()].remove(&holder);
            assert!(was_there, "{holder:?} is removed as it was added");
            self.sum -= holder.size;
        }
    }

    /// The connection that is to be cut first.
    pub(super) fn heaviest(&self, now: Instant) -> Option<Holder> {
        let oldest = self.classes.iter().filter_map(BTreeSet::first);
        oldest.max_by_key(|holder| holder.weight(now)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn the_heaviest_holds_much_for_long() {
        let at = |millis| Instant::ZERO + Nanos::from_millis(millis);
        let mut holders = Holders::default();
        // (bytes, since when, token)
        let all = [
            (100, 9_000, 1),
            (100, 8_001, 2),
            (120, 9_000, 3),
            (300, 10_000, 4),
            (200, 10_000, 5),
            (0, 0, 6),
            (20, 0, 7),
            (10, 0, 8),
        ];
        for (size, since, token) in all {
            let (since, token) = (at(since), Token(token));
            holders.add(Holder { since, token, size });
        }
        assert_eq!(holders.sum(), 850);
        let mut gone = Vec::new();
        while let Some(heaviest) = holders.heaviest(at(10_000)) {
            gone.push(heaviest.token.0);
            holders.remove(heaviest);
        }
        // Byte-milliseconds: 200,000; 199,900; 100,000 before its neighbour with 120,000; 100,000; then sizes alone.
        assert_eq!(gone, [7, 2, 1, 3, 8, 4, 5]);
        assert_eq!(holders.sum(), 0);
    }
}

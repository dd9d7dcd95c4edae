//! How much a server puts up with: how many connections, how large, how slow.
//!
//! Values and the arithmetic of deadlines, nothing else: no clock, no connections. The defaults are such that a load
//! generator on the same machine never meets one of them, and that a client that holds connections by doing nothing
//! has to open them again and again.

use units::{Instant, Nanos};

/// How long, how slow, how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, over all workers. One more is answered 503 and closed.
    pub connections: u32,
    /// Of those, from one address (IPv6: one /64); zero for as many as there are.
    pub connections_per_address: u32,
    /// From the accept to the first byte.
    pub first_request: Nanos,
    /// From a request's first byte to the end of its head.
    pub head: Nanos,
    /// While a body comes.
    pub body: Pace,
    /// While a response is taken.
    pub send: Pace,
    /// Between the end of a response and the first byte of the next request.
    pub keepalive: Nanos,
    /// What is under way when the server stops.
    pub drain: Nanos,
    /// The largest head of a request.
    pub head_bytes: usize,
    /// The largest body of a request.
    pub body_bytes: u64,
}

/// How slowly bytes may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long nothing at all may move; also how long the average is not looked at.
    pub patience: Nanos,
    /// Bytes a second, on average since the beginning, when `patience` is not counted; zero for any.
    pub speed: u64,
}

impl Pace {
    /// When it is too slow, if nothing more moves: what began at `since` has moved `bytes`, the last of them at `last`.
    pub(crate) fn deadline(&self, since: Instant, last: Instant, bytes: u64) -> Instant {
        let silent = last + self.patience;
        if self.speed == 0 {
            return silent;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.speed);
        let earned = Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        silent.min(since + self.patience + earned)
    }
}

/// The most connections that a default asks for.
const CONNECTIONS: u32 = 100_000;

impl Default for Limits {
    /// See [`Limits::within`], with an unlimited number of descriptors.
    fn default() -> Limits {
        Limits::within(u64::MAX)
    }
}

impl Limits {
    /// The defaults for a process that may have `descriptors` descriptors for connections.
    ///
    /// An address may have three quarters of all places, so that one alone cannot keep all others out.
    pub fn within(descriptors: u64) -> Limits {
        let connections = u32::try_from(descriptors).map_or(CONNECTIONS, |it| it.min(CONNECTIONS));
        Limits {
            connections: connections.max(1),
            connections_per_address: Limits::share(connections),
            first_request: Nanos::from_secs(60),
            head: Nanos::from_secs(15),
            body: Pace {
                patience: Nanos::from_secs(20),
                speed: 500,
            },
            send: Pace {
                patience: Nanos::from_secs(30),
                speed: 1000,
            },
            keepalive: Nanos::from_secs(75),
            drain: Nanos::from_secs(5),
            head_bytes: 16 * 1024,
            body_bytes: 64 * 1024 * 1024,
        }
    }

    /// How long a client that has heard our last word may go on sending before it is closed. Closed at once it would be
    /// reset, and might lose that word before reading it (RFC 9112 §9.6).
    pub(crate) const LINGER: Nanos = Nanos::from_secs(1);

    /// What one address may have of `connections`, unless it is said otherwise.
    pub fn share(connections: u32) -> u32 {
        (connections / 4).saturating_mul(3).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_slow_follows_from_what_has_moved_and_when() {
        let pace = Pace {
            patience: Nanos::from_secs(10),
            speed: 1000,
        };
        let at = |secs| Instant::ZERO + Nanos::from_secs(secs);
        // (since, last moved, bytes) -> too slow at
        let cases = [
            // Nothing has moved: after its patience.
            ((100, 100, 0), 110),
            // Each second beyond has to be earned by a thousand bytes.
            ((100, 105, 2000), 112),
            // Ever so much earned: silence alone counts.
            ((100, 105, 1_000_000), 115),
            ((100, 130, 25_000), 135),
            // One byte now and then earns nothing.
            ((100, 109, 9), 110),
        ];
        for ((since, last, bytes), wanted) in cases {
            let deadline = pace.deadline(at(since), at(last), bytes);
            assert_eq!(deadline.as_nanos() / 1_000_000_000, wanted, "{bytes}");
        }
        let patient = Pace { speed: 0, ..pace };
        assert_eq!(patient.deadline(at(100), at(500), 1), at(510));
    }

    #[test]
    fn nothing_overflows_however_much_has_moved() {
        let pace = Pace {
            patience: Nanos::from_secs(1),
            speed: 1,
        };
        let now = Instant::ZERO + Nanos::from_secs(5);
        assert_eq!(
            pace.deadline(now, now, u64::MAX),
            now + pace.patience,
            "what was earned is as good as for ever"
        );
    }

    #[test]
    fn the_defaults_fit_what_the_process_may_open() {
        let few = Limits::within(1000);
        assert_eq!((few.connections, few.connections_per_address), (1000, 750));
        let many = Limits::within(u64::MAX);
        assert_eq!(
            (many.connections, many.connections_per_address),
            (100_000, 75_000)
        );
        let none = Limits::within(0);
        assert_eq!((none.connections, none.connections_per_address), (1, 1));
    }
}

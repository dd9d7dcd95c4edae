//! The stamps of one exchange.

use units::{Instant, Nanos};

/// One request and its response, as four moments on the monotonic clock.
///
/// *scheduled*: its intended start: in an open loop by its schedule; in a closed loop, when capacity became free for it.
/// *sent*: just before the system call that carried its first byte. *first*, *done*: just after the receive that brought its
/// first and its last byte. A stamp that never came is [`Instant::ZERO`]; for an exchange that was cut off, *done* is when it was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Its intended start.
    pub scheduled: Instant,
    /// When it was sent.
    pub sent: Instant,
    /// When its first byte came back.
    pub first: Instant,
    /// When it was over.
    pub done: Instant,
}

impl Exchange {
    /// Returns an exchange that is scheduled and not yet sent.
    pub fn scheduled(scheduled: Instant) -> Exchange {
        Exchange {
            scheduled,
            sent: Instant::ZERO,
            first: Instant::ZERO,
            done: Instant::ZERO,
        }
    }

    /// Whether its first byte was handed to the kernel.
    pub fn is_sent(&self) -> bool {
        self.sent != Instant::ZERO
    }

    /// done - sent.
    pub fn service(&self) -> Nanos {
        self.done - self.sent
    }

    /// done - scheduled.
    pub fn response(&self) -> Nanos {
        self.done - self.scheduled
    }

    /// How long it had been under way when it was over: from its sending, or from its intended start if it was never sent.
    pub fn age(&self) -> Nanos {
        self.done
            - if self.is_sent() {
                self.sent
            } else {
                self.scheduled
            }
    }

    /// sent - scheduled.
    pub fn send_delay(&self) -> Nanos {
        self.sent - self.scheduled
    }

    /// first - sent.
    pub fn to_first_byte(&self) -> Nanos {
        self.first - self.sent
    }
}

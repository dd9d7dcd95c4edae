//! The stamps of one exchange.

use units::{Instant, Nanos};

/// One request and its response, as four moments on the monotonic clock.
///
/// *due*: in an open loop, when its schedule says; in a closed loop, when capacity became free for it. *sent*: just before the system call that carried its
/// first byte. *first*, *done*: just after the receive that brought its first and its last byte. A stamp that never
/// came is [`Instant::ZERO`]; for an exchange that was cut off, *done* is when it was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When it was due.
    pub due: Instant,
    /// When it was sent.
    pub sent: Instant,
    /// When its first byte came back.
    pub first: Instant,
    /// When it was over.
    pub done: Instant,
}

impl Exchange {
    /// An exchange that is due and not yet sent.
    pub fn due(due: Instant) -> Exchange {
        Exchange {
            due,
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

    /// done - due.
    pub fn response(&self) -> Nanos {
        self.done - self.due
    }

    /// How long it had been under way when it was over: from its sending, or from its due if it was never sent.
    pub fn age(&self) -> Nanos {
        self.done - if self.is_sent() { self.sent } else { self.due }
    }

    /// sent - due.
    pub fn lateness(&self) -> Nanos {
        self.sent - self.due
    }

    /// first - sent.
    pub fn to_first_byte(&self) -> Nanos {
        self.first - self.sent
    }
}

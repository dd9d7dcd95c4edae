//! What is still to happen in a simulated world, in its order.

use crate::{Address, Errno};
use std::cmp::Ordering;
use std::net::SocketAddr;
use units::Instant;

/// Something that happens to a connection; the connection's number comes first.
pub(super) enum Action {
    /// To the ring.
    Answer(u64, Result<(), Errno>),
    Arrive(u64, Vec<u8>),
    ArriveEnd(u64),
    Reset(u64),
    Freed(u64),
    /// An injected reset: the ring's end dies, and the peer is told.
    Break(u64),
    /// To the peer.
    Deliver(u64, Vec<u8>),
    DeliverEnd(u64),
    Closed(u64),
    Timer(u64, u64),
    Open(u64, Address, SocketAddr),
}

/// When it happens; of two at the same time the one that was scheduled first comes first.
pub(super) struct Scheduled {
    pub(super) at: Instant,
    pub(super) order: u64,
    pub(super) action: Action,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl Action {
    /// How many it holds.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Action::Arrive(_, bytes) | Action::Deliver(_, bytes) => bytes.len(),
            _ => 0,
        }
    }
}

//! The other end of every connection of a simulated ring.

use super::World;
use crate::Errno;
use units::{Instant, Nanos};

/// What the peer says to a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectAnswer {
    /// Accepts after this time.
    Accept(Nanos),
    /// Refuses after this time.
    Refuse(Nanos, Errno),
    /// Says nothing: the connect hangs until it is closed.
    Never,
}

/// The other end of a simulated ring's connections: told what the owner of the ring does, it answers through the
/// [`World`]. `conn` is a number that no other connection ever has.
pub trait Peer {
    /// The ring connects.
    fn connect(&mut self, at: Instant, conn: u64, world: &mut World) -> ConnectAnswer {
        let _ = (at, conn, world);
        ConnectAnswer::Accept(Nanos::ZERO)
    }

    /// Bytes from the ring have come.
    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World);

    /// A timer set with [`World::timer`] has run out.
    fn timer(&mut self, at: Instant, conn: u64, tag: u64, world: &mut World) {
        let _ = (at, conn, tag, world);
    }

    /// A connection opened with [`World::open`] is up (it may send before the ring accepts it), or was refused.
    fn opened(&mut self, at: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        let _ = (at, conn, answer, world);
    }

    /// The ring has ended its sending side; it still receives.
    fn ended(&mut self, at: Instant, conn: u64, world: &mut World) {
        let _ = (at, conn, world);
    }

    /// The connection is gone: closed or reset by the ring, or by an injected fault (not by the peer itself).
    fn closed(&mut self, at: Instant, conn: u64, world: &mut World) {
        let _ = (at, conn, world);
    }
}

/// A peer that sends back what it gets, and ends when the ring ends.
#[derive(Debug, Clone, Copy)]
pub struct Echo {
    /// How long it takes for it.
    pub after: Nanos,
}

impl Peer for Echo {
    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        world.send(conn, at + self.after, bytes.to_vec());
    }

    fn ended(&mut self, at: Instant, conn: u64, world: &mut World) {
        world.end(conn, at + self.after);
    }
}

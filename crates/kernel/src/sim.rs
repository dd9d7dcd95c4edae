//! The ring without a kernel: sockets in memory, time that passes only in waits.
//!
//! A [`Sim`] plays the kernel for the owner of a ring and hands the other end of every connection to a [`Peer`], which
//! answers through the [`World`]. Everything follows from the seed, so what once went wrong goes wrong again. The
//! [`Faults`] are the rare things of real networks made common: short writes, single bytes, resets.
//!
//! It knows no bandwidth and no losses: bytes are late or not at all, as the peer says. (A model of TCP would be a
//! second thing to be wrong; the invariants of [`Ring`] are what the owners rely on.)
//!
//! ```
//! use kernel::sim::{Echo, Sim};
//! use kernel::{ConnectOptions, Event, Ring, Token};
//! use units::Nanos;
//!
//! let mut ring = Sim::new(7, Echo { after: Nanos::from_millis(3) });
//! let start = ring.now();
//! ring.connect(Token(0), &"192.0.2.1:80".parse().unwrap(), &ConnectOptions::default()).unwrap();
//! ring.wait(None);
//! assert_eq!(ring.next().unwrap().event, Event::Connected);
//! ring.send(Token(0), &[std::io::IoSlice::new(b"ping")]).unwrap();
//! ring.wait(None);
//! assert_eq!(ring.next().unwrap().event, Event::Received);
//! assert_eq!(ring.received(), b"ping");
//! assert_eq!(ring.now() - start, Nanos::from_millis(3));
//! ```

// In reading order: the other end,
mod peer;
// what goes wrong between,
mod faults;
// chance,
mod random;
// one connection,
mod link;
// what is still to happen,
mod action;
// and what both ends share.
mod world;

pub use faults::{Faults, Options, Reads};
pub use peer::{ConnectAnswer, Echo, Peer};
pub use world::World;

use crate::files::File;
use crate::{Accepted, Address, Closing, Completion, ConnectOptions, Errno, Event, ListenOptions};
use crate::{Ring, ServerRing, Token, ring};
use action::Action;
use std::io::IoSlice;
use units::{Instant, Nanos};

/// Bytes that one `Received` carries at most, as on epoll.
const BUFFER: usize = 64 * 1024;
/// What may happen within one wait before it is called endless.
const ACTIONS: u32 = 10_000_000;

/// A ring in memory and in virtual time, with `P` at the other end of every connection.
pub struct Sim<P> {
    peer: P,
    world: World,
    /// By token: the number of what it names; zero for nothing.
    table: Vec<u64>,
    received: Vec<u8>,
    /// When the last of it came, with stamps.
    received_at: Option<Instant>,
}

impl<P: Peer> Sim<P> {
    /// A ring without faults, at one second past the origin.
    pub fn new(seed: u64, peer: P) -> Sim<P> {
        Sim::with(seed, peer, Options::default())
    }

    /// A ring with the given faults and delays.
    pub fn with(seed: u64, peer: P, options: Options) -> Sim<P> {
        Sim {
            peer,
            world: World::new(seed, options),
            table: Vec::new(),
            received: Vec::with_capacity(BUFFER),
            received_at: None,
        }
    }

    /// The other end, to look at what it has seen.
    pub fn peer(&self) -> &P {
        &self.peer
    }

    /// The other end, to tell it something.
    pub fn peer_mut(&mut self) -> &mut P {
        &mut self.peer
    }

    /// The world, to set things going before the first wait: timers, incoming connections.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    fn vacant(&mut self, token: Token) -> Result<&mut u64, Errno> {
        ring::vacant(&mut self.table, token, 0, |id| *id == 0)
    }

    fn id(&self, token: Token) -> u64 {
        self.table.get(token.0 as usize).copied().unwrap_or(0)
    }

    fn perform(&mut self, action: Action) {
        let (peer, world) = (&mut self.peer, &mut self.world);
        let at = world.now();
        match action {
            Action::Deliver(conn, bytes) => {
                if world.delivered(conn, bytes.len()) {
                    peer.receive(at, conn, &bytes, world);
                }
            }
            Action::DeliverEnd(conn) => {
                if world.has_peer(conn) {
                    peer.ended(at, conn, world);
                }
            }
            Action::Closed(conn) => {
                world.forget(conn);
                peer.closed(at, conn, world);
            }
            Action::Timer(conn, tag) => peer.timer(at, conn, tag, world),
            Action::Open(conn, address, from) => {
                let answer = world.enter(conn, &address, from);
                peer.opened(at, conn, answer, world);
            }
            arrival => world.arrive(arrival),
        }
    }
}

/// What a measured loop calls is never inlined, so that instructions of the simulation can be told from the loop's own.
impl<P: Peer> Ring for Sim<P> {
    #[inline(never)]
    fn now(&self) -> Instant {
        self.world.spend();
        self.world.now()
    }

    fn is_virtual(&self) -> bool {
        true
    }

    #[inline(never)]
    fn connect(
        &mut self,
        token: Token,
        to: &Address,
        _options: &ConnectOptions,
    ) -> Result<(), Errno> {
        self.vacant(token)?;
        self.world.spend();
        if let Some(error) = self.world.injected_connect_error() {
            return Err(error);
        }
        let conn = self.world.begin(token, to);
        *self.vacant(token)? = conn;
        let at = self.world.now();
        let answer = self.peer.connect(at, conn, &mut self.world);
        self.world.schedule_answer(conn, answer);
        Ok(())
    }

    #[inline(never)]
    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        self.world.spend();
        let given = slices.iter().map(|slice| slice.len()).sum();
        self.world.take(self.id(token), slices, given)
    }

    fn shutdown(&mut self, token: Token) {
        self.world.shutdown(self.id(token));
    }

    #[inline(never)]
    fn close(&mut self, token: Token, how: Closing) {
        if let Some(id) = self.table.get_mut(token.0 as usize) {
            let id = std::mem::take(id);
            self.world.close(id, how);
        }
    }

    #[inline(never)]
    fn wait(&mut self, timeout: Option<Nanos>) {
        if self.world.has_ready() {
            return;
        }
        let begin = self.world.now();
        let deadline = timeout.map_or(Instant::NEVER, |span| begin + span);
        let mut actions = 0;
        while let Some(action) = self.world.due(deadline) {
            self.perform(action);
            actions += 1;
            assert!(actions < ACTIONS, "the peer keeps itself busy for ever");
        }
        if !self.world.has_ready() {
            assert!(deadline != Instant::NEVER, "nothing will ever happen");
            self.world.pass_to(deadline);
        }
        while let Some(end) = self.world.stopped() {
            while let Some(action) = self.world.due_by(end) {
                self.perform(action);
            }
            self.world.pass_to(end);
        }
        self.world.wake(begin, timeout);
    }

    #[inline(never)]
    fn next(&mut self) -> Option<Completion> {
        self.received.clear();
        self.received_at = None;
        let (token, event, came) = self.world.next(&mut self.received)?;
        self.received_at = came;
        if event == Event::Received {
            self.world.spend();
        }
        Some(Completion { token, event })
    }

    #[inline(never)]
    fn received(&mut self) -> &mut [u8] {
        &mut self.received
    }
}

impl<P: Peer> ServerRing for Sim<P> {
    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno> {
        self.vacant(token)?;
        let (id, at) = self.world.listen(token, at, options)?;
        *self.vacant(token)? = id;
        Ok(at)
    }

    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno> {
        self.vacant(token)?;
        self.world.spend();
        let Some((conn, accepted)) = self.world.accept(self.id(listener), token)? else {
            return Ok(None);
        };
        *self.vacant(token)? = conn;
        Ok(Some(accepted))
    }

    /// Reads no more of the file than can be under way, so a file that is cut short is noticed when its end comes up.
    fn send_file(
        &mut self,
        token: Token,
        file: &File,
        offset: u64,
        count: usize,
    ) -> Result<usize, Errno> {
        self.world.spend();
        let conn = self.id(token);
        let mut bytes = vec![0; count.min(self.world.window())];
        file.fill(offset, &mut bytes)
            .inspect_err(|_| self.world.give_up(conn))?;
        self.world.take(conn, &[IoSlice::new(&bytes)], count)
    }

    fn unacknowledged(&self, token: Token) -> usize {
        self.world.flying(self.id(token))
    }

    fn widen(&mut self, token: Token) {
        self.world.widen(self.id(token));
    }

    fn pause(&mut self, token: Token) {
        self.world.pause(self.id(token), true);
    }

    fn resume(&mut self, token: Token) {
        self.world.pause(self.id(token), false);
    }

    #[inline(never)]
    fn received_at(&self) -> Option<Instant> {
        self.received_at
    }
}

#[cfg(test)]
mod tests;

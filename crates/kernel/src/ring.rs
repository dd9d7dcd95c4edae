//! The ring: the one way in which threads talk to the kernel, shaped for completions.
//!
//! A thread submits (connect, send, shutdown, close), then waits, then takes completions one by one. On epoll a
//! submission does its system call at once and the ring makes completions out of readiness; io_uring fits the same
//! shape natively; `sim` plays both the kernel and the peers in memory and in virtual time. Which one runs is a type
//! parameter of the loop, so that nothing is dispatched per exchange.
//!
//! The rules that every ring keeps (the *ring laws*, one test suite for all):
//!
//! 1. A [`Token`] names at most one socket at a time; after `close` the token is free at once, and no completion of
//!    the old socket is ever delivered to the new one.
//! 2. `connect` ends in exactly one of `Connected` or `Failed`, unless the token is closed before.
//! 3. Bytes arrive in order, none twice, none lost; `Received` is never empty, and `Ended` comes once, after the last.
//! 4. A `send` that took less than it was given is followed by exactly one `Writable` once more can be taken; one that
//!    took everything is not.
//! 5. After `Failed` nothing more comes for the token; the owner closes it.
//! 6. `wait` returns no later than its timeout says (plus the kernel's own lateness), and at once when completions
//!    are pending.

use crate::{Address, Errno};
use std::io::IoSlice;
use std::net::IpAddr;
use units::{Instant, Nanos};

/// The owner's name for one socket of a ring: a small index, reused after `close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// What happened to a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The connect that was submitted has succeeded.
    Connected,
    /// Bytes have come; they are in [`Ring::received`] until the next call of [`Ring::next`].
    Received,
    /// The peer has ended its side in good order; nothing more will come. Sending may still be possible.
    Ended,
    /// The rest of a short send can be tried again.
    Writable,
    /// A listening socket has connections waiting: call [`Ring::accept`] until it says there are none.
    Incoming,
    /// The socket is dead.
    Failed(Errno),
}

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Whose.
    pub token: Token,
    /// What.
    pub event: Event,
}

/// How a socket is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Bind to this address first (`IP_BIND_ADDRESS_NO_PORT`, so that ports are only unique per four-tuple).
    pub source: Option<IpAddr>,
    /// Set TCP_NODELAY: wanted when more than one segment may be under way.
    pub nodelay: bool,
}

/// How a socket is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// As the peer would expect: FIN after what is still to be sent.
    Orderly,
    /// At once, with RST (`SO_LINGER` 0): what is under way is thrown away, and no TIME_WAIT is left behind.
    Reset,
}

/// The kernel's interface as one thread sees it. See the module's text for the laws.
pub trait Ring {
    /// The clock: CLOCK_MONOTONIC, or virtual time.
    fn now(&self) -> Instant;

    /// Starts to connect `token`, which must be free.
    ///
    /// # Errors
    /// What socket, bind or connect said at once (EMFILE, EADDRNOTAVAIL, ENETUNREACH, ...); the token stays free.
    fn connect(
        &mut self,
        token: Token,
        to: &Address,
        options: &ConnectOptions,
    ) -> Result<(), Errno>;

    /// Makes `token` a listening socket and tells where it listens (port 0 asks for any).
    ///
    /// # Errors
    /// What socket, bind or listen said.
    fn listen(&mut self, token: Token, at: &Address) -> Result<Address, Errno>;

    /// Takes one waiting connection of `listener` as `token`, which must be free. `Ok(false)`: none is waiting.
    ///
    /// # Errors
    /// What accept said (EMFILE, ENFILE, ENOBUFS, ...), other than "none" and "already gone again".
    fn accept(&mut self, listener: Token, token: Token) -> Result<bool, Errno>;

    /// Sends what it can of `slices` without waiting and returns how many bytes were taken. Less than all: the rest
    /// is the owner's to send again after `Writable`.
    ///
    /// # Errors
    /// The socket is dead (ECONNRESET, EPIPE, ...); the owner closes it.
    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno>;

    /// Ends the sending side of `token`.
    fn shutdown(&mut self, token: Token);

    /// Closes `token` and frees it.
    fn close(&mut self, token: Token, how: Closing);

    /// Waits until something has happened, for at most `timeout` (none: for ever).
    fn wait(&mut self, timeout: Option<Nanos>);

    /// The next completion of those that the last `wait` found.
    fn next(&mut self) -> Option<Completion>;

    /// The bytes of the `Received` that `next` returned last.
    fn received(&self) -> &[u8];
}

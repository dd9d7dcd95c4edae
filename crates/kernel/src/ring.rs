//! The ring: the one way in which threads talk to the kernel, shaped for completions.
//!
//! A thread submits (connect, send, shutdown, close), then waits, then takes completions one by one. On epoll a
//! submission does its system call at once and the ring makes completions out of readiness; io_uring fits the same
//! shape natively; `sim` plays both the kernel and the peers in memory and in virtual time. Which one runs is a type
//! parameter of the loop, so that nothing is dispatched per exchange.
//!
//! [`Ring`] is what a client needs; [`ServerRing`] adds what servers need, which io_uring's ring does not have.
//!
//! The rules that every ring keeps (the *ring invariants*, one test suite for all; 7 to 10 are those of servers):
//!
//! 1. A [`Token`] names at most one socket at a time; after `close` the token is free at once, and no completion of
//!    the old socket is ever delivered to the new one.
//! 2. `connect` ends in exactly one of `Connected` or `Failed`, unless the token is closed before.
//! 3. Bytes arrive in order, none twice, none lost; `Received` is never empty, and `Ended` comes once, after the last.
//! 4. A `send` that took less than it was given is followed by exactly one `Writable` once more can be taken; one that
//!    took everything is not.
//! 5. After `Failed` nothing more comes for the token; the owner closes it.
//! 6. `wait` returns no later than its timeout says (plus the kernel's own lateness), and at once when completions
//!    are pending. With no time at all it asks and does not sleep: asked again and again it finds all that comes.
//! 7. Between `pause` and `resume` no `Received` and no `Ended` comes; afterwards all that came meanwhile does, in
//!    order, the end too, without the peer having to do anything more.
//! 8. `send_file` keeps invariant 4 as `send` does, and what it takes is what the file holds.
//! 9. `accept` takes or tells why not; a connection that could not be taken goes on waiting, and is taken when `accept`
//!    is called again, although no second `Incoming` tells of it.
//! 10. With stamps, [`ServerRing::received_at`] lies between the peer's sending and the owner's reading.

use crate::files::File;
use crate::{Address, Errno};
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
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
    /// A listening socket has connections waiting: call [`ServerRing::accept`] until it says there are none.
    Incoming,
    /// The socket is dead.
    Failed(Errno),
}

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The socket that it happened to.
    pub token: Token,
    /// What happened.
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

/// How a socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted; the kernel lowers it to net.core.somaxconn.
    pub backlog: u32,
    /// Every connection accepted here says when the kernel received its bytes: see [`ServerRing::received_at`].
    pub stamps: bool,
    /// What the kernel takes at most of what is sent on a connection accepted here, and holds while its peer does not
    /// acknowledge it: about so many bytes, until [`ServerRing::widen`]. None: as much as it sees fit, which it may measure by
    /// the network rather than by what the peer reads. Nothing for Unix-domain sockets, whose buffers are small.
    pub send_buffer: Option<u32>,
    /// Permissions of a Unix-domain socket's file, such as 0o660: connecting needs the right to write. It never has more,
    /// not even for a moment. None: what the process's umask leaves of 0o777.
    pub mode: Option<u32>,
}

impl Default for ListenOptions {
    /// A backlog of 4096, which is somaxconn's default: fewer would refuse a load that opens its connections at once.
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: 4096,
            stamps: false,
            send_buffer: None,
            mode: None,
        }
    }
}

/// A connection that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The peer's address; none for a Unix-domain socket.
    pub peer: Option<SocketAddr>,
}

/// How a socket is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// As the peer would expect: FIN after what is still to be sent.
    Orderly,
    /// At once, with RST (`SO_LINGER` 0): what is under way is thrown away, and no TIME_WAIT is left behind.
    Reset,
}

/// Tokens are indices of a table; larger ones are refused rather than allocated for.
pub(crate) const TOKENS: u32 = 1 << 20;

/// The entry of a ring's `table` for a token that is to be used, which must be `free`; EMFILE beyond the table's limit.
pub(crate) fn vacant<T: Clone>(
    table: &mut Vec<T>,
    token: Token,
    free: T,
    is_free: impl Fn(&T) -> bool,
) -> Result<&mut T, Errno> {
    if token.0 >= TOKENS {
        return Err(Errno::EMFILE);
    }
    let index = token.0 as usize;
    if index >= table.len() {
        table.resize(index + 1, free);
    }
    assert!(is_free(&table[index]), "{token:?} is in use");
    Ok(&mut table[index])
}

/// The kernel's interface as one thread sees it. See the module's text for the invariants.
pub trait Ring {
    /// The clock: CLOCK_MONOTONIC, or virtual time.
    fn now(&self) -> Instant;

    /// Whether that time is virtual, so that what the machine does meanwhile takes none of it.
    fn is_virtual(&self) -> bool {
        false
    }

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

    /// Sends what it can of `slices`, of which there are at most 1024 (UIO_MAXIOV), without waiting and returns how many
    /// bytes were taken. Less than all: the rest is the owner's to send again after `Writable`.
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

    /// The bytes of the `Received` that `next` returned last; they may be written over.
    fn received(&mut self) -> &mut [u8];
}

/// What a server needs besides: to accept, to send files, to pause, to know when bytes came.
pub trait ServerRing: Ring {
    /// Whether peers say a last word before they end, which is not among the bytes that the owner gets. One that is unread when the socket
    /// is closed resets the connection.
    const HAS_LAST_WORD: bool = false;

    /// Makes `token` a listening socket and tells where it listens (port 0 asks for any).
    ///
    /// # Errors
    /// What socket, bind or listen said.
    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno>;

    /// Takes one waiting connection of `listener` as `token`, which must be free. None: no connection waits.
    ///
    /// # Errors
    /// What accept said (EMFILE, ENFILE, ENOBUFS, ...), other than "none" and "already gone again". The connection goes on
    /// waiting; no further `Incoming` tells of it, so the owner tries again later. (EMFILE may be said where no connection
    /// waits, too: the kernel looks for a descriptor first.)
    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno>;

    /// Sends what it can of `count` bytes of `file` from `offset` on, as [`Ring::send`] does.
    ///
    /// # Errors
    /// As for `send`, or what reading said (EIO, ...); ENODATA when the file ends before that. Some of the bytes may
    /// have been sent: whatever it is, the owner closes.
    fn send_file(
        &mut self,
        token: Token,
        file: &File,
        offset: u64,
        count: usize,
    ) -> Result<usize, Errno>;

    /// How much of what was sent the peer has not acknowledged: it lies in the kernel, and takes its memory. Zero where
    /// that is not known. Costs a system call: for slow connections, not for every exchange.
    fn unacknowledged(&self, _token: Token) -> usize {
        0
    }

    /// Lifts the limit of [`ListenOptions::send_buffer`] from a connection whose peer reads what it is sent. Costs a
    /// system call. Nothing where there is no such limit.
    fn widen(&mut self, _token: Token) {}

    /// Stops reading from `token`: what comes waits in the kernel, and so the peer in the end. `Writable` still comes;
    /// `Failed` may. Nothing for a socket that is not connected, or whose peer has ended.
    fn pause(&mut self, token: Token);

    /// Reads on from `token`. Nothing for one that is not paused.
    fn resume(&mut self, token: Token);

    /// When the kernel received the last of the bytes of [`Ring::received`], on the clock of [`Ring::now`]: they may have
    /// waited for their reader since. None without [`ListenOptions::stamps`], and where the kernel made none (it makes none for
    /// Unix-domain sockets).
    fn received_at(&self) -> Option<Instant>;

    /// Whether `token` is in the middle of something that its owner has not heard of yet, such as a handshake.
    fn is_amid(&self, _token: Token) -> bool {
        false
    }

    /// Whether so much was sent on `token` that its owner should end it in good order soon, as it cannot go on for ever.
    fn is_spent(&self, _token: Token) -> bool {
        false
    }

    /// Connections closed before they could carry anything, as a handshake on them was not complete; 0 where there are none.
    fn unfinished_handshakes(&self) -> u64 {
        0
    }

    /// The listening sockets, by their tokens; none where there are no descriptors.
    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
}

//! The ring on epoll: completions made out of readiness.
//!
//! What one exchange costs here is what every figure carries, so a socket is registered once, edge-triggered, for
//! everything, and never touched by epoll_ctl again; a send does its system call at once; a receive that did not
//! fill the buffer has drained the socket, so the second receive that would only say EAGAIN is never made. (Waiting
//! for EPOLLOUT only when it is wanted, the usual way, costs two epoll_ctl per exchange.)
//!
//! ```text
//! connect -> Connecting -+-> Connected: Open --> Received* --> Ended
//!                        |              | ^ ^-- Writable, after a short send
//!                        |        pause v | resume
//!                        |             Paused --something came--> Withheld --resume--> Open, carried
//!                        +-> Failed: Dead <-- any of them
//! listen  -> Listening ----> Incoming*
//! ```
//!
//! Edges are reported once, so each rule about them is load-bearing:
//! - A peer's end or error is an edge that may lie *before* the receive that came up short; where the event shows
//!   RDHUP, HUP or ERR, receiving goes on until the end is read.
//! - EPOLLOUT means something only while connecting and after a short send, and then only in an event that was
//!   gathered after that send.
//! - A socket that fills the buffer again and again is put behind the others (`carried`), and the next wait does not
//!   sleep.
//! - An edge that comes while a socket is paused is remembered (`Withheld`), and resuming puts the socket into
//!   `carried`. Pausing touches nothing in the kernel, so that it costs nothing.
//!
//! That a socket is paused, or has stamps, is a state, so that sockets that are neither cost no check.

mod waiting;

use crate::errno::Errno;
use crate::files::File;
use crate::stamps::WallClock;
use crate::{Accepted, Address, Closing, Completion, ConnectOptions, Event, ListenOptions, Ring};
use crate::{ServerRing, Token, clock, ring, socket};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use units::{Instant, Nanos};

/// Bytes that one `Received` carries at most.
const BUFFER: usize = 64 * 1024;
/// Events that one wait takes at most.
const EVENTS: usize = 1024;
/// Full buffers in a row for one socket before the others have their turn.
const FULL_READS: u8 = 8;

const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;
/// The peer has ended its side, or the socket is dead.
const HUNG: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
/// The socket may have an error pending.
const BROKEN: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
const INTEREST: u32 = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;

/// A ring on Linux's epoll. One per thread: it makes that thread's timed waits exact when it first waits.
pub struct Epoll {
    epoll: OwnedFd,
    /// Indexed by token.
    sockets: Vec<Socket>,
    /// What the last wait gathered; `events[..gathered]`, of which `seen` were begun.
    events: Box<[libc::epoll_event]>,
    gathered: usize,
    seen: usize,
    /// The event that `next` is in the middle of.
    turn: Option<Turn>,
    /// Sockets that were put behind the others: for this wait, and for the next one. Each at most once per socket.
    resumed: Vec<Tag>,
    carried: Vec<Tag>,
    buffer: Box<[u8]>,
    received: usize,
    /// When the kernel received it; zero when it did not say.
    stamp: Instant,
    wall: WallClock,
    /// The number of the last wait; never zero. See [`Socket::short`].
    waits: u32,
    first: bool,
    /// Whether the kernel has epoll_pwait2; found out once.
    exact: bool,
    /// Socket files of its listeners, which go when those do.
    socket_files: Vec<(Token, PathBuf)>,
}

/// One entry of the table: 16 bytes, so that four share a cache line.
#[derive(Clone, Copy)]
struct Socket {
    fd: RawFd,
    /// Counts the owners of this token; events of earlier ones are thrown away.
    generation: u32,
    /// The wait after which a send came up short; zero when none did.
    short: u32,
    state: State,
    /// Is in `carried` or `resumed`.
    carried: bool,
    /// An event has shown the end, which is still to be read.
    hung: bool,
    /// Is `Stamped` when it is open; of a listener: what it accepts is.
    stamps: bool,
}

const _: () = assert!(size_of::<Socket>() == 16);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Connecting,
    Open,
    /// Open, and the kernel says of bytes when it received them.
    Stamped,
    /// Not read from.
    Paused,
    /// Not read from, and something has come meanwhile.
    Withheld,
    /// The peer has ended its side.
    Ended,
    Listening,
    Dead,
}

impl Socket {
    const FREE: Socket = Socket {
        fd: -1,
        generation: 0,
        short: 0,
        state: State::Free,
        carried: false,
        hung: false,
        stamps: false,
    };

    /// What it is while it is read from.
    fn reading(&self) -> State {
        match self.stamps {
            true => State::Stamped,
            false => State::Open,
        }
    }
}

/// A token with the generation it had, as epoll carries it.
#[derive(Clone, Copy)]
struct Tag(u64);

impl Tag {
    fn new(token: Token, generation: u32) -> Tag {
        Tag(u64::from(generation) << 32 | u64::from(token.0))
    }

    fn token(self) -> Token {
        Token(self.0 as u32)
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// An event that is being worked off.
#[derive(Clone, Copy)]
struct Turn {
    tag: Tag,
    flags: u32,
    full_reads: u8,
}

impl Epoll {
    /// A ring without sockets.
    ///
    /// # Errors
    /// EMFILE, ENFILE or ENOMEM.
    pub fn new() -> Result<Epoll, Errno> {
        // SAFETY: takes no memory of ours.
        let fd = Errno::check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Epoll {
            // SAFETY: the descriptor is new, so nothing else owns it.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            sockets: Vec::new(),
            events: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS].into_boxed_slice(),
            gathered: 0,
            seen: 0,
            turn: None,
            resumed: Vec::new(),
            carried: Vec::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            received: 0,
            stamp: Instant::ZERO,
            wall: WallClock::default(),
            waits: 1,
            first: true,
            exact: true,
            socket_files: Vec::new(),
        })
    }

    fn vacant(&mut self, token: Token) -> Result<&mut Socket, Errno> {
        let is_free = |socket: &Socket| socket.state == State::Free;
        ring::vacant(&mut self.sockets, token, Socket::FREE, is_free)
    }

    /// Gives `fd` to `token` and registers it, once and for everything.
    fn settle(&mut self, token: Token, fd: RawFd, state: State) -> Result<(), Errno> {
        let generation = self.sockets[token.0 as usize].generation;
        let mut event = libc::epoll_event {
            events: INTEREST,
            u64: Tag::new(token, generation).0,
        };
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: `event` outlives the call.
        let added = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
        Errno::check(added).inspect_err(|_| socket::close(fd))?;
        let socket = &mut self.sockets[token.0 as usize];
        (socket.fd, socket.state) = (fd, state);
        Ok(())
    }

    /// Removes the socket file of `token`, if it is a listener with one.
    fn remove_socket_file(&mut self, token: Token) {
        if let Some(index) = self.socket_files.iter().position(|file| file.0 == token) {
            let (_, path) = self.socket_files.swap_remove(index);
            let _ = std::fs::remove_file(path); // gone already is as good
        }
    }

    fn at(&mut self, token: Token) -> &mut Socket {
        &mut self.sockets[token.0 as usize]
    }

    fn fd(&self, token: Token) -> RawFd {
        self.sockets
            .get(token.0 as usize)
            .map_or(-1, |socket| socket.fd)
    }

    /// What is to be worked off next, of what the last wait found.
    #[inline]
    fn upcoming(&mut self) -> Option<Turn> {
        if self.seen < self.gathered {
            let event = self.events[self.seen];
            self.seen += 1;
            return Some(Turn {
                tag: Tag(event.u64),
                flags: event.events,
                full_reads: 0,
            });
        }
        let tag = self.resumed.pop()?;
        Some(Turn {
            tag,
            flags: IN,
            full_reads: 0,
        })
    }

    /// One step of an event's work; leaves in `turn` what remains of it.
    #[inline]
    fn step(&mut self, turn: Turn) -> Option<Event> {
        let socket = self.sockets.get_mut(turn.tag.token().0 as usize)?;
        if socket.generation != turn.tag.generation() {
            return None;
        }
        socket.hung |= turn.flags & HUNG != 0;
        match socket.state {
            State::Open => self.step_open::<false>(turn),
            State::Stamped => self.step_open::<true>(turn),
            State::Connecting => self.step_connecting(turn),
            State::Listening => Some(Event::Incoming),
            State::Ended => self.step_unread(turn),
            State::Paused | State::Withheld => self.step_paused(turn),
            State::Free | State::Dead => None,
        }
    }

    fn step_connecting(&mut self, mut turn: Turn) -> Option<Event> {
        if turn.flags & (OUT | BROKEN) == 0 {
            return None;
        }
        let token = turn.tag.token();
        if turn.flags & BROKEN != 0
            && let Some(error) = socket::pending_error(self.fd(token))
        {
            return Some(self.fail(token, error));
        }
        self.at(token).state = State::Open;
        turn.flags &= !OUT;
        self.turn = (turn.flags & (IN | HUNG) != 0).then_some(turn);
        Some(Event::Connected)
    }

    #[inline]
    fn step_open<const STAMPED: bool>(&mut self, mut turn: Turn) -> Option<Event> {
        let waits = self.waits;
        let socket = self.at(turn.tag.token());
        let freed = turn.flags & (OUT | BROKEN) == OUT && socket.short != 0;
        if freed && socket.short != waits {
            socket.short = 0;
            turn.flags &= !OUT;
            self.turn = Some(turn);
            return Some(Event::Writable);
        }
        // Whatever the owner sends from now on, this event was gathered before it.
        turn.flags &= !OUT;
        if turn.flags == 0 {
            return None;
        }
        self.receive::<STAMPED>(turn)
    }

    #[inline]
    fn receive<const STAMPED: bool>(&mut self, mut turn: Turn) -> Option<Event> {
        let token = turn.tag.token();
        let Socket { fd, hung, .. } = *self.at(token);
        let answer = match STAMPED {
            true => self.receive_stamped(fd),
            false => socket::receive(fd, &mut self.buffer),
        };
        match answer {
            Ok(0) => {
                self.at(token).state = State::Ended;
                self.turn = Some(turn);
                Some(Event::Ended)
            }
            Ok(length) => {
                self.received = length;
                if length == self.buffer.len() {
                    turn.full_reads += 1;
                    self.go_on_or_carry(turn);
                } else if hung {
                    self.turn = Some(turn);
                }
                Some(Event::Received)
            }
            Err(Errno::EAGAIN) => None,
            Err(error) => Some(self.fail(token, error)),
        }
    }

    fn receive_stamped(&mut self, fd: RawFd) -> Result<usize, Errno> {
        let (length, stamp) = socket::receive_stamped(fd, &mut self.buffer)?;
        if let Some(stamp) = stamp {
            self.stamp = self.wall.instant(stamp);
        }
        Ok(length)
    }

    fn go_on_or_carry(&mut self, turn: Turn) {
        if turn.full_reads < FULL_READS {
            self.turn = Some(turn);
        } else {
            self.carry(turn.tag);
        }
    }

    /// Puts a socket that may have something to read behind the others.
    fn carry(&mut self, tag: Tag) {
        let socket = self.at(tag.token());
        if !std::mem::replace(&mut socket.carried, true) {
            self.carried.push(tag);
        }
    }

    fn step_paused(&mut self, turn: Turn) -> Option<Event> {
        if turn.flags & (IN | HUNG) != 0 {
            self.at(turn.tag.token()).state = State::Withheld;
        }
        self.step_unread(turn)
    }

    /// Where nothing is read only a freed send buffer and death are news.
    fn step_unread(&mut self, turn: Turn) -> Option<Event> {
        let waits = self.waits;
        let token = turn.tag.token();
        if turn.flags & BROKEN != 0
            && let Some(error) = socket::pending_error(self.fd(token))
        {
            return Some(self.fail(token, error));
        }
        let socket = self.at(token);
        let freed = turn.flags & OUT != 0 && socket.short != 0 && socket.short != waits;
        freed.then(|| {
            socket.short = 0;
            Event::Writable
        })
    }

    fn fail(&mut self, token: Token, error: Errno) -> Event {
        self.at(token).state = State::Dead;
        Event::Failed(error)
    }

    /// Remembers what a send has come to.
    #[inline]
    fn sent(
        &mut self,
        token: Token,
        given: usize,
        answer: Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let waits = self.waits;
        match answer {
            Ok(taken) if taken == given => {}
            Ok(_) => self.at(token).short = waits,
            Err(_) => {
                if let Some(socket) = self.sockets.get_mut(token.0 as usize) {
                    socket.state = State::Dead;
                }
            }
        }
        answer
    }
}

impl Ring for Epoll {
    #[inline]
    fn now(&self) -> Instant {
        clock::now()
    }

    fn connect(
        &mut self,
        token: Token,
        to: &Address,
        options: &ConnectOptions,
    ) -> Result<(), Errno> {
        self.vacant(token)?;
        // Connected before it is registered: epoll would report an unconnected socket as hung up.
        let fd = socket::connect(to, options)?;
        self.settle(token, fd, State::Connecting)
    }

    #[inline]
    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let answer = socket::send(self.fd(token), slices);
        let given: usize = slices.iter().map(|slice| slice.len()).sum();
        self.sent(token, given, answer)
    }

    fn shutdown(&mut self, token: Token) {
        socket::shutdown(self.fd(token));
    }

    fn close(&mut self, token: Token, how: Closing) {
        let Some(socket) = self.sockets.get_mut(token.0 as usize) else {
            return;
        };
        if socket.state == State::Free {
            return;
        }
        let fd = socket.fd;
        if socket.state == State::Listening {
            // Other processes may have a copy of it, which listens no more either.
            socket::shutdown_both(fd);
        }
        *socket = Socket {
            generation: socket.generation.wrapping_add(1),
            ..Socket::FREE
        };
        if how == Closing::Reset {
            socket::abort_on_close(fd);
        }
        self.remove_socket_file(token);
        socket::close(fd);
    }

    fn wait(&mut self, timeout: Option<Nanos>) {
        if self.turn.is_some() || self.seen < self.gathered || !self.resumed.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.first, false) {
            clock::tighten_waits();
        }
        let timeout = if self.carried.is_empty() {
            timeout
        } else {
            Some(Nanos::ZERO)
        };
        self.gathered = self.gather(timeout);
        self.seen = 0;
        self.waits = self.waits.wrapping_add(1).max(1);
        std::mem::swap(&mut self.carried, &mut self.resumed);
        for tag in &self.resumed {
            let socket = &mut self.sockets[tag.token().0 as usize];
            if socket.generation == tag.generation() {
                socket.carried = false;
            }
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Completion> {
        self.received = 0;
        self.stamp = Instant::ZERO;
        loop {
            let turn = match self.turn.take() {
                Some(turn) => turn,
                None => self.upcoming()?,
            };
            if let Some(event) = self.step(turn) {
                let token = turn.tag.token();
                return Some(Completion { token, event });
            }
        }
    }

    #[inline]
    fn received(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.received]
    }
}

impl ServerRing for Epoll {
    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno> {
        self.vacant(token)?;
        let (fd, at) = socket::listen(at, options)?;
        if let Address::Unix(path) = &at {
            self.socket_files.push((token, path.clone()));
        }
        self.settle(token, fd, State::Listening)
            .inspect_err(|_| self.remove_socket_file(token))?;
        self.at(token).stamps = options.stamps;
        Ok(at)
    }

    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno> {
        self.vacant(token)?;
        let Some((fd, peer)) = socket::accept(self.fd(listener))? else {
            return Ok(None);
        };
        let stamps = self.at(listener).stamps;
        self.settle(token, fd, State::Open)?;
        let socket = self.at(token);
        socket.stamps = stamps;
        socket.state = socket.reading();
        Ok(Some(Accepted { peer }))
    }

    fn send_file(
        &mut self,
        token: Token,
        file: &File,
        offset: u64,
        count: usize,
    ) -> Result<usize, Errno> {
        let answer = socket::send_file(self.fd(token), file, offset, count);
        self.sent(token, count, answer)
    }

    fn unacknowledged(&self, token: Token) -> usize {
        socket::unacknowledged(self.fd(token))
    }

    fn widen(&mut self, token: Token) {
        socket::widen(self.fd(token));
    }

    fn pause(&mut self, token: Token) {
        if let Some(socket) = self.sockets.get_mut(token.0 as usize)
            && matches!(socket.state, State::Open | State::Stamped)
        {
            socket.state = State::Paused;
        }
    }

    fn resume(&mut self, token: Token) {
        let Some(socket) = self.sockets.get_mut(token.0 as usize) else {
            return;
        };
        let (before, tag) = (socket.state, Tag::new(token, socket.generation));
        if matches!(before, State::Paused | State::Withheld) {
            socket.state = socket.reading();
        }
        if before == State::Withheld {
            self.carry(tag);
        }
    }

    fn received_at(&self) -> Option<Instant> {
        (self.stamp != Instant::ZERO).then_some(self.stamp)
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        let listening = self
            .sockets
            .iter()
            .filter(|socket| socket.state == State::Listening);
        // SAFETY: a listening socket stays open until it is closed through the ring, which is borrowed as long.
        listening
            .map(|socket| unsafe { BorrowedFd::borrow_raw(socket.fd) })
            .collect()
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        for index in 0..self.sockets.len() {
            self.close(Token(index as u32), Closing::Orderly);
        }
    }
}

#[cfg(test)]
mod tests;

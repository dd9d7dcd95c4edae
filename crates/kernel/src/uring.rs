//! The ring on io_uring: the kernel makes the completions itself.
//!
//! A batch is one system call: `wait` hands over everything that was asked for since the last one, and comes back with
//! what has happened. A socket's receive is asked for once and goes on until the end (multishot), into buffers that
//! all sockets share. It is no readiness ring in disguise; only where a plain call is rare and its answer wanted at once
//! (shutdown), it is made. It connects and does not listen: it is for the load generator, servers run on epoll.
//!
//! Operations outlive the call that asked for them, and from that follows what is different here:
//! - The kernel reads what is sent when it gets to it, so bytes are copied into a buffer of the ring's, a piece at a
//!   time, and *taken* means copied. Only one send of a socket is under way, because two could overtake one another.
//!   Whatever is taken meanwhile is gathered into one piece for the next.
//! - A completion for each send would end the wait that was meant for the answer. So a send is first tried as one
//!   that does not wait and says nothing when it succeeds; having heard nothing by the end of the call that took it is
//!   success. One that did not go out whole says so, and the rest of it is sent with waiting and a completion.
//! - A send that fails is told by `Failed`, but behind what the peer sent before: the socket is shut down on our
//!   side, and its receive is let run to the end.
//! - Operations hold the socket open, whatever `close` says. So closing cancels them, then closes the descriptor, in
//!   that order and both by operations: the descriptor stays taken until everything asked for before has reached the
//!   right socket. A place in the table ([`link::Link`]) is not reused until the last completion has come; completions
//!   of cancellations, for which no caller waits, carry the place's generation.
//! - Orderly closing sends what was taken first. What the kernel would do with an orphan, the ring does: bytes from
//!   the peer reset it, and a peer that acknowledges nothing is given up after [`LINGER`].
//!
//! What is in memory is bounded by [`RECEIVE`] for all sockets, and two pieces for each that has unsent bytes.

mod buffers;
mod link;
mod name;
mod queue;
mod receiving;
mod sending;

use crate::errno::Errno;
use crate::{Address, Closing, Completion, ConnectOptions, Event, Ring, Token};
use crate::{clock, ring, socket};
use buffers::{Buffers, Lent, Size};
use io_uring::{cqueue, opcode, squeue, types};
use link::{Link, Operation, Phase, Spare};
use name::Name;
use queue::Queue;
use socket2::SockAddr;
use std::io::IoSlice;
use std::time::Duration;
use units::{Instant, Nanos};

/// What all sockets receive into. Fewer and larger is cheaper than 256 of 16 KiB: by about a tenth for bodies of 64 KiB, and costs
/// no more for small ones.
const RECEIVE: Size = Size {
    count: 64,
    length: 64 * 1024,
};
/// Completions that one wait takes at most.
const EVENTS: usize = 1024;
/// How long a closed socket may wait for its peer to acknowledge what was sent.
const LINGER: Duration = Duration::from_secs(60);
/// How often, and how long each time, the end waits for cancelled operations.
const FAREWELLS: (u32, Nanos) = (100, Nanos::from_millis(10));

const BROKEN: u32 = (libc::POLLERR | libc::POLLHUP) as u32;
const NONE: u32 = u32::MAX;

/// A ring on Linux's io_uring, of version 6.0 at least. One per thread: it belongs to the thread that first waits.
pub struct Uring {
    // Dropped before the memory that its operations use.
    queue: Queue,
    buffers: Buffers,
    links: Vec<Link>,
    free: Vec<u32>,
    /// Indexed by token: the token's link, or [`NONE`].
    tokens: Vec<u32>,
    /// Links that have something to send; some may be others by now, or have sent it.
    dirty: Vec<u32>,
    /// Links whose quiet sends the last system calls took.
    quiet: Vec<u32>,
    spare: Spare,
    /// Addresses of connects that the kernel has not seen yet. Its memory never moves.
    addresses: Vec<SockAddr>,
    /// What the last wait found, `seen` of which were begun.
    events: Vec<cqueue::Entry>,
    seen: usize,
    /// What [`Ring::received`] shows.
    lent: Option<Lent>,
}

impl Uring {
    /// A ring without sockets.
    ///
    /// # Errors
    /// ENOSYS where the kernel has no io_uring or one that is too old (before 6.0), EPERM where it is switched off or
    /// a container forbids it: then [`crate::Epoll`] is the ring to use. EMFILE, ENFILE, ENOMEM as for any ring.
    pub fn new() -> Result<Uring, Errno> {
        Uring::with(RECEIVE)
    }

    fn with(receive: Size) -> Result<Uring, Errno> {
        let queue = Queue::new()?;
        let buffers = Buffers::new(&queue.submitter(), receive)?;
        Ok(Uring {
            queue,
            buffers,
            links: Vec::new(),
            free: Vec::new(),
            tokens: Vec::new(),
            dirty: Vec::new(),
            quiet: Vec::new(),
            spare: Spare::default(),
            addresses: Vec::with_capacity(queue::SUBMISSIONS as usize),
            events: Vec::with_capacity(EVENTS),
            seen: 0,
            lent: None,
        })
    }

    fn vacant(&mut self, token: Token) -> Result<(), Errno> {
        ring::vacant(&mut self.tokens, token, NONE, |index| *index == NONE).map(drop)
    }

    /// Gives `fd` to `token`.
    fn settle(&mut self, token: Token, fd: i32, phase: Phase) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.links.push(Link::free());
            self.links.len() as u32 - 1
        });
        let link = self.at(index);
        (link.fd, link.token, link.phase) = (fd, Some(token), phase);
        self.tokens[token.0 as usize] = index;
        index
    }

    #[inline]
    fn at(&mut self, index: u32) -> &mut Link {
        &mut self.links[index as usize]
    }

    #[inline]
    fn find(&self, token: Token) -> Option<u32> {
        let index = *self.tokens.get(token.0 as usize)?;
        (index != NONE).then_some(index)
    }

    /// Asks the kernel for `operation` on a link that has none of the kind under way.
    ///
    /// # Safety
    /// As for [`Queue::push`].
    #[inline]
    unsafe fn begin(&mut self, index: u32, operation: Operation, entry: squeue::Entry) {
        let link = self.at(index);
        debug_assert!(!link.has(operation));
        link.set(operation, true);
        let name = Name::new(operation, link.generation, index);
        // SAFETY: the caller promises it.
        unsafe { self.queue.push(entry.user_data(name.0)) };
    }

    /// Has the kernel tell of the death of a socket that receives no more.
    fn begin_poll(&mut self, index: u32) {
        let fd = types::Fd(self.at(index).fd);
        let entry = opcode::PollAdd::new(fd, BROKEN).build();
        // SAFETY: it uses no memory of ours.
        unsafe { self.begin(index, Operation::Poll, entry) };
    }

    fn begin_connect(&mut self, index: u32, to: SockAddr) {
        if self.addresses.len() == self.addresses.capacity() {
            // The kernel copies an address when it takes the operation.
            self.queue.submit();
            self.addresses.clear();
        }
        self.addresses.push(to);
        let (fd, to) = (types::Fd(self.at(index).fd), self.addresses.last());
        let to = to.expect("it was just pushed");
        let entry = opcode::Connect::new(fd, to.as_ptr().cast(), to.len()).build();
        // SAFETY: the address stays where it is until the operation is with the kernel: the list does not grow.
        unsafe { self.begin(index, Operation::Connect, entry) };
    }

    /// One completion's work.
    #[inline]
    fn step(&mut self, event: &cqueue::Entry) -> Option<Completion> {
        let name = Name(event.user_data());
        let operation = name.operation()?;
        let index = name.index();
        if name.is_cancelling() {
            self.cancelled(name, event.result());
            return None;
        }
        let link = self.at(index);
        debug_assert!(name.is_of(link.generation), "it outlived its link");
        let token = link.token;
        link.set(operation, cqueue::more(event.flags()));
        let what = match operation {
            Operation::Receive => self.received_some(index, event),
            Operation::Send => self.sent(index, event.result()),
            Operation::Connect => self.connected(index, event.result()),
            Operation::Poll => self.polled(index),
        };
        self.free_if_done(index);
        // A link without an owner has no token to tell it for.
        let (token, event) = (token?, what?);
        Some(Completion { token, event })
    }

    fn connected(&mut self, index: u32, result: i32) -> Option<Event> {
        if self.at(index).phase != Phase::Connecting {
            return None;
        }
        if result < 0 {
            return Some(self.fail(index, Errno(-result)));
        }
        self.at(index).phase = Phase::Open;
        self.begin_receive(index);
        self.send_gathered(index, false);
        Some(Event::Connected)
    }

    fn polled(&mut self, index: u32) -> Option<Event> {
        let link = self.at(index);
        if link.phase != Phase::Ended {
            return None;
        }
        let error = socket::pending_error(link.fd)?;
        Some(self.fail(index, error))
    }

    fn fail(&mut self, index: u32, error: Errno) -> Event {
        self.at(index).phase = Phase::Dead;
        Event::Failed(error)
    }

    /// Ends what is under way and closes the descriptor.
    fn leave(&mut self, index: u32) {
        let link = self.at(index);
        link.phase = Phase::Leaving;
        link.gathering.clear();
        let fd = link.fd;
        for operation in Operation::ALL {
            self.cancel(index, operation);
        }
        let close = opcode::Close::new(types::Fd(fd)).build();
        // SAFETY: it uses no memory of ours, and nothing else closes this descriptor.
        unsafe { self.queue.push(close.flags(squeue::Flags::SKIP_SUCCESS)) };
    }

    fn cancel(&mut self, index: u32, operation: Operation) {
        let link = self.at(index);
        // A quiet send is over as soon as the kernel has it.
        if !link.has(operation) || operation == Operation::Send && link.quiet {
            return;
        }
        let name = Name::new(operation, link.generation, index);
        let entry = opcode::AsyncCancel::new(name.0)
            .build()
            .user_data(name.cancelling().0)
            .flags(squeue::Flags::SKIP_SUCCESS);
        // SAFETY: it uses no memory of ours.
        unsafe { self.queue.push(entry) };
    }

    /// A cancellation that has failed: between two turns of a multishot receive the kernel does not find it, and then
    /// it has to be cancelled again.
    fn cancelled(&mut self, name: Name, result: i32) {
        let link = self.at(name.index());
        let late = name.is_of(link.generation) && link.phase == Phase::Leaving;
        if let Some(operation) = name.operation()
            && late
            && Errno(-result) == Errno::ENOENT
        {
            self.cancel(name.index(), operation);
        }
    }

    #[inline]
    fn free_if_done(&mut self, index: u32) {
        let link = self.at(index);
        if link.phase == Phase::Leaving && link.is_idle() {
            link.reset();
            self.free.push(index);
        }
    }

    /// Hands over what was asked for, waits, and takes what has come.
    #[inline]
    fn gather(&mut self, timeout: Option<Nanos>) {
        self.conclude();
        self.flush();
        self.events.clear();
        self.seen = 0;
        // Completions that found no room last time come before any waiting; but the call is made, because only in it
        // does the kernel get to work that it has put off, and of that cancellations may wait.
        self.queue.collect(&mut self.events);
        let timeout = match self.events.is_empty() {
            true => timeout,
            false => Some(Nanos::ZERO),
        };
        self.queue.enter(timeout);
        self.queue.collect(&mut self.events);
        if self.queue.is_empty() {
            self.addresses.clear();
        }
    }
}

impl Ring for Uring {
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
        let (fd, raw) = match socket::unconnected(to, options) {
            Err(Errno::EMFILE) => {
                self.queue.submit(); // sockets that were closed may still have their descriptors
                socket::unconnected(to, options)?
            }
            other => other?,
        };
        let index = self.settle(token, fd, Phase::Connecting);
        self.begin_connect(index, raw);
        Ok(())
    }

    #[inline]
    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let index = self.sender(token)?;
        let given: usize = slices.iter().map(|slice| slice.len()).sum();
        let link = &mut self.links[index as usize];
        let taken = self.spare.fill(&mut link.gathering, slices);
        self.took(index, given, taken);
        Ok(taken)
    }

    fn shutdown(&mut self, token: Token) {
        let Some(index) = self.find(token) else {
            return;
        };
        self.at(index).ends = true;
        self.sent_all(index);
    }

    fn close(&mut self, token: Token, how: Closing) {
        let Some(index) = self.find(token) else {
            return;
        };
        self.tokens[token.0 as usize] = NONE;
        let link = self.at(index);
        link.token = None;
        let lingers = link.sends() && link.owes();
        match how {
            Closing::Orderly if lingers && link.broken.is_none() => {
                link.phase = Phase::Lingering;
                socket::give_up_after(link.fd, LINGER);
                return;
            }
            Closing::Orderly => {}
            Closing::Reset => socket::abort_on_close(link.fd),
        }
        self.leave(index);
        self.free_if_done(index);
    }

    fn wait(&mut self, timeout: Option<Nanos>) {
        if self.seen == self.events.len() {
            self.gather(timeout);
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Completion> {
        if let Some(lent) = self.lent.take() {
            self.buffers.give_back(lent.name);
        }
        while self.seen < self.events.len() {
            let event = self.events[self.seen].clone();
            self.seen += 1;
            if let Some(completion) = self.step(&event) {
                return Some(completion);
            }
        }
        None
    }

    #[inline]
    fn received(&mut self) -> &mut [u8] {
        match self.lent {
            Some(lent) => self.buffers.bytes(lent),
            None => &mut [],
        }
    }
}

impl Drop for Uring {
    /// Closes everything, and waits for the kernel to be done with our memory. Bytes that were taken are handed to
    /// the kernel as far as it takes them at once.
    fn drop(&mut self) {
        self.flush();
        self.queue.submit();
        for index in 0..self.tokens.len() {
            self.close(Token(index as u32), Closing::Orderly);
        }
        for _ in 0..FAREWELLS.0 {
            for index in 0..self.links.len() as u32 {
                if self.at(index).phase == Phase::Lingering && self.queue.is_empty() {
                    self.leave(index);
                }
            }
            if self.links.iter().all(|link| link.phase == Phase::Free) && self.queue.is_empty() {
                return;
            }
            self.wait(Some(FAREWELLS.1));
            while self.next().is_some() {}
        }
        // The kernel may be using it still: in another thread than the ring's no operation can be ended.
        self.buffers.abandon();
        for link in &mut self.links {
            std::mem::forget(std::mem::take(&mut link.sending));
        }
    }
}

#[cfg(test)]
mod tests;

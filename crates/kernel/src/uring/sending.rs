//! Sending: what was taken becomes operations, and their ends make room for more.
//!
//! A separate file only because it is a story of its own; its state is the ring's.

use super::Uring;
use super::link::{Operation, Phase};
use crate::{Errno, Event, Token, socket};
use io_uring::{opcode, squeue, types};

impl Uring {
    /// The link of a token that bytes can be taken for.
    #[inline]
    pub(super) fn sender(&mut self, token: Token) -> Result<u32, Errno> {
        let index = self.find(token).ok_or(Errno::EBADF)?;
        let link = self.at(index);
        match link.broken {
            None if link.phase == Phase::Dead => Err(Errno::EPIPE),
            None => Ok(index),
            Some(error) => {
                link.phase = Phase::Dead;
                Err(error)
            }
        }
    }

    /// Remembers that something was taken, or less than was given.
    #[inline]
    pub(super) fn took(&mut self, index: u32, given: usize, taken: usize) {
        let link = self.at(index);
        link.short |= taken < given;
        // The first of those that are gathered for the next operation.
        if taken > 0 && link.gathering.len() == taken {
            self.dirty.push(index);
        }
    }

    /// Makes what was taken into operations.
    #[inline]
    pub(super) fn flush(&mut self) {
        while let Some(index) = self.dirty.pop() {
            self.send_gathered(index, true);
        }
    }

    /// The quiet sends that have said nothing until now have succeeded: a call that takes one also says how it failed.
    #[inline]
    pub(super) fn conclude(&mut self) {
        if self.quiet.is_empty() || !self.queue.is_settled() {
            return;
        }
        // Those that begin meanwhile go behind.
        let before = self.quiet.len();
        for place in 0..before {
            let index = self.quiet[place];
            let link = &mut self.links[index as usize];
            if std::mem::take(&mut link.quiet) {
                link.set(Operation::Send, false);
                self.spare.empty(&mut link.sending);
                self.send_gathered(index, true);
                self.sent_all(index);
                self.free_if_done(index);
            }
        }
        self.quiet.drain(..before);
    }

    /// Sends what was gathered, if nothing is being sent. Quiet sends must be followed by a system call before
    /// anything else is done, and are not for links that wait for their end.
    #[inline]
    pub(super) fn send_gathered(&mut self, index: u32, quiet: bool) {
        let link = self.at(index);
        if !link.can_send() {
            return;
        }
        std::mem::swap(&mut link.sending, &mut link.gathering);
        link.sent = 0;
        // After its end a socket has no receive that would tell of its death.
        let watch = link.phase == Phase::Ended && !link.has(Operation::Poll);
        let quiet = quiet && !link.short && !link.ends;
        self.begin_send(index, quiet);
        if watch {
            self.begin_poll(index);
        }
    }

    /// Sends what is left of the piece.
    #[inline]
    pub(super) fn begin_send(&mut self, index: u32, quiet: bool) {
        let link = &mut self.links[index as usize];
        link.quiet = quiet;
        let rest = &link.sending[link.sent..];
        // Asked for all of it, the kernel takes a part for a failure, which is never quiet.
        let whole = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let send = opcode::Send::new(types::Fd(link.fd), rest.as_ptr(), rest.len() as u32);
        let entry = if quiet {
            self.quiet.push(index);
            let now = send.flags(whole | libc::MSG_DONTWAIT).build();
            now.flags(squeue::Flags::SKIP_SUCCESS)
        } else {
            send.flags(whole).build()
        };
        // SAFETY: nothing touches `sending` while a send is under way, and its memory stays when the link moves.
        unsafe { self.begin(index, Operation::Send, entry) };
    }

    #[inline]
    pub(super) fn sent(&mut self, index: u32, result: i32) -> Option<Event> {
        let interrupted = matches!(Errno(-result), Errno::EINTR | Errno::EAGAIN);
        let link = self.at(index);
        link.quiet = false;
        if !link.sends() {
            return None;
        }
        if result < 0 && !interrupted {
            return self.send_failed(index, Errno(-result));
        }
        link.sent += result.max(0) as usize;
        if link.sent < link.sending.len() {
            self.begin_send(index, false);
            return None;
        }
        self.spare.empty(&mut self.links[index as usize].sending);
        self.send_gathered(index, false);
        self.sent_all(index);
        let link = self.at(index);
        (link.phase != Phase::Leaving && std::mem::take(&mut link.short)).then_some(Event::Writable)
    }

    /// Does what was to be done when everything is sent, if everything is sent.
    #[inline]
    pub(super) fn sent_all(&mut self, index: u32) {
        let link = self.at(index);
        if link.owes() {
            return;
        }
        if link.phase == Phase::Lingering {
            self.leave(index);
        } else if std::mem::take(&mut link.ends) {
            socket::shutdown(link.fd);
        }
    }

    pub(super) fn send_failed(&mut self, index: u32, error: Errno) -> Option<Event> {
        let link = self.at(index);
        link.gathering.clear();
        if link.phase == Phase::Lingering {
            self.leave(index);
            return None;
        }
        if link.has(Operation::Receive) {
            link.broken = Some(error);
            socket::shutdown_both(link.fd);
            return None;
        }
        Some(self.fail(index, error))
    }
}

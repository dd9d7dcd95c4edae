//! Receiving: one operation that goes on until the end, and what its completions mean.
//!
//! A separate file only because it is a story of its own; its state is the ring's.

use super::Uring;
use super::buffers::{self, Lent};
use super::link::{Operation, Phase};
use crate::{Errno, Event, socket};
use io_uring::{cqueue, opcode, types};

impl Uring {
    #[inline]
    pub(super) fn begin_receive(&mut self, index: u32) {
        let fd = types::Fd(self.at(index).fd);
        let entry = opcode::RecvMulti::new(fd, buffers::GROUP).build();
        // SAFETY: it receives into the ring's buffers, which outlive it.
        unsafe { self.begin(index, Operation::Receive, entry) };
    }

    /// Begins to receive, unless it is being done.
    fn receive_again(&mut self, index: u32) {
        if !self.at(index).has(Operation::Receive) {
            self.begin_receive(index);
        }
    }

    #[inline]
    pub(super) fn received_some(&mut self, index: u32, event: &cqueue::Entry) -> Option<Event> {
        let result = event.result();
        let phase = self.at(index).phase;
        if let Some(name) = cqueue::buffer_select(event.flags()) {
            if result > 0 && phase == Phase::Open {
                let length = result as u32;
                self.lent = Some(Lent { name, length });
                self.receive_again(index);
                return Some(Event::Received);
            }
            self.buffers.give_back(name);
        }
        match phase {
            Phase::Open => self.received_no_more(index, result),
            Phase::Lingering => self.received_too_late(index, result),
            _ => None,
        }
    }

    fn received_no_more(&mut self, index: u32, result: i32) -> Option<Event> {
        if came_up_short(result) {
            self.receive_again(index);
            return None;
        }
        match self.at(index).broken {
            Some(error) => Some(self.fail(index, error)),
            None if result < 0 => Some(self.fail(index, Errno(-result))),
            None => {
                self.at(index).phase = Phase::Ended;
                Some(Event::Ended)
            }
        }
    }

    /// What a kernel does with an orphan's input: the end is no matter, bytes are answered by a reset.
    fn received_too_late(&mut self, index: u32, result: i32) -> Option<Event> {
        if came_up_short(result) {
            return self.received_no_more(index, result);
        }
        if result != 0 {
            socket::abort_on_close(self.at(index).fd);
            self.leave(index);
        }
        None
    }
}

/// Whether a receive stopped for a reason that is none of the socket's, such as that the kernel had no buffer at hand.
fn came_up_short(result: i32) -> bool {
    matches!(
        Errno(-result),
        Errno::ENOBUFS | Errno::EINTR | Errno::EAGAIN | Errno::ECANCELED
    )
}

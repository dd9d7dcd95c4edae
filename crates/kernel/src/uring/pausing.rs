//! Pausing: a receive that goes on by itself is ended, and what it brings until that takes effect is kept.
//!
//! Cancelling is an operation too, and so late: completions with bytes may have been made, or be made, before it is
//! seen to. They are copied, since the buffers belong to all sockets; how many there can be of them is bounded by the
//! pool, because only what has come before the next system call can still come. Once resumed, what was kept is told
//! first, piece by piece, before any other completion.

use super::Uring;
use super::buffers::Lent;
use super::link::{Operation, Phase};
use super::receiving::came_up_short;
use crate::{Completion, Event, Token};

impl Uring {
    pub(super) fn pause_link(&mut self, token: Token) {
        let Some(index) = self.find(token) else {
            return;
        };
        if self.at(index).phase == Phase::Open {
            self.at(index).phase = Phase::Paused;
            self.cancel(index, Operation::Receive);
        }
    }

    pub(super) fn resume_link(&mut self, token: Token) {
        let Some(index) = self.find(token) else {
            return;
        };
        let link = self.at(index);
        if link.phase != Phase::Paused {
            return;
        }
        link.phase = Phase::Open;
        let place = (index, link.generation);
        match link.withheld {
            Some(_) => self.resumed.push(place),
            None => self.receive_again(index),
        }
    }

    /// Keeps what has come for a paused socket.
    pub(super) fn withhold(&mut self, index: u32, lent: Lent) {
        let bytes = self.buffers.bytes(lent).to_vec();
        let withheld = self.links[index as usize].withheld.get_or_insert_default();
        withheld.push_back((bytes, self.stamp));
    }

    /// What a paused socket's receive has come to, besides bytes. The end is not kept: the next receive finds it again.
    pub(super) fn received_while_paused(&mut self, index: u32, result: i32) -> Option<Event> {
        let link = self.at(index);
        if link.has(Operation::Receive) {
            return None;
        }
        match link.broken {
            Some(error) => Some(self.fail(index, error)),
            None if result < 0 && !came_up_short(result) => self.received_no_more(index, result),
            None => None,
        }
    }

    /// The next of what was kept for sockets that have been resumed since.
    pub(super) fn next_withheld(&mut self) -> Option<Completion> {
        self.late.clear();
        while let Some(&(index, generation)) = self.resumed.last() {
            if let Some(completion) = self.release(index, generation) {
                return Some(completion);
            }
            self.resumed.pop();
        }
        None
    }

    fn release(&mut self, index: u32, generation: u32) -> Option<Completion> {
        let link = &mut self.links[index as usize];
        if link.generation != generation || link.phase != Phase::Open {
            // Closed, failed, or paused again.
            return None;
        }
        let token = link.token?;
        let Some(piece) = link.withheld.as_mut()?.pop_front() else {
            link.withheld = None;
            self.receive_again(index);
            return None;
        };
        (self.late, self.stamp) = piece;
        let event = Event::Received;
        Some(Completion { token, event })
    }
}

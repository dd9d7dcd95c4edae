//! Requests that were pipelined behind a response that closed their connection: the server has not answered them, and
//! says that it will not (RFC 9112 §9.6), so they go to a new connection, in their order and with the stamps they have.
//!
//! What was not sent yet is sent then. What was sent already is sent again, once, if its method is idempotent (RFC 9110
//! §9.2.2): the server may have acted on it all the same. A closed loop alone has pipelines.

use super::Thread;
use crate::recorder::Cut;
use crate::slot::State;
use kernel::Ring;
use std::collections::VecDeque;
use wire::{Connection, Ending, ExchangeId, Opening, Step, Violation};

/// An exchange that waits for another connection.
#[derive(Debug)]
pub(super) struct Resend<'p> {
    id: ExchangeId,
    request: Opening<'p>,
}

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// Decides what becomes of the exchanges that the slot's connection has left behind; it is about to be closed.
    #[cold]
    pub(super) fn keep_unanswered(&mut self, index: u32) {
        let behind = std::mem::take(&mut self.recorder.behind);
        let connection = &mut self.slots[index as usize].connection;
        let requests = connection.take_unanswered(behind.len());
        debug_assert_eq!(requests.len(), behind.len(), "each has its request");
        for ((id, ending), request) in behind.into_iter().zip(requests) {
            let flight = &mut self.exchanges[id];
            let is_sent = flight.exchange.is_sent();
            // Not twice.
            let may_be_sent = !is_sent || flight.sent_before == 0 && request.method.is_idempotent();
            if !may_be_sent {
                self.give_up(id, ending, Cut::Behind);
                continue;
            }
            if is_sent {
                self.recorder.note_resent(flight);
            }
            flight.sent_before += ending.sent;
            let waiting = self.resends.entry(index).or_default();
            waiting.push_back(Resend { id, request });
        }
    }

    /// Connects a closed slot that has something to send again; false where it has not.
    pub(super) fn connect_again(&mut self, index: u32) -> bool {
        let has_some = self.resends.contains_key(&index);
        if has_some && self.slots[index as usize].state == State::Closed {
            self.connect(index);
        }
        has_some
    }

    /// Opens what is to be sent again on the slot's connection, as far as there is room.
    #[cold]
    pub(super) fn reopen(&mut self, index: u32) {
        let Some(mut waiting) = self.resends.remove(&index) else {
            return;
        };
        let slot = &mut self.slots[index as usize];
        while slot.has_room(self.exchanges_per_connection)
            && let Some(Resend { id, request }) = waiting.pop_front()
        {
            slot.opened += 1;
            slot.connection.open(id, request);
        }
        if !waiting.is_empty() {
            self.resends.insert(index, waiting);
        }
    }

    /// Gives up what was to be sent again on the slot, by `cut`.
    #[cold]
    pub(super) fn drop_resends(&mut self, index: u32, cut: Cut) {
        let waiting: VecDeque<_> = self.resends.remove(&index).unwrap_or_default();
        for Resend { id, .. } in waiting {
            // Nothing of it was sent again.
            let ending = Ending {
                result: Err(Violation::Abandoned),
                bytes: 0,
                sent: 0,
                step: Step::Send,
            };
            self.give_up(id, ending, cut);
        }
    }

    /// Writes down an exchange that no connection has, after an `ending` on the last that had, and forgets it.
    fn give_up(&mut self, id: ExchangeId, ending: Ending, cut: Cut) {
        self.under_way -= 1;
        let flight = &mut self.exchanges[id];
        self.recorder.cut_off(flight, ending, cut, self.clock);
        self.exchanges.close(id);
    }
}

//! What happens for every exchange: received, judged, the next one opened and sent. This is the path that every
//! nanosecond is counted on; nothing here allocates, formats or makes a system call beyond one receive and one send.

use super::{BATCH, Thread};
use crate::exchanges::Flight;
use crate::job::{Prepared, RequestIndex};
use crate::recorder::{Cut, Delivered};
use crate::script::Pause;
use crate::slot::{Pending, Slot, State, count_sent};
use crate::verdict;
use kernel::{Errno, Ring, Token};
use record::Blame;
use std::cmp::Reverse;
use std::io::IoSlice;
use units::Instant;
use wire::{Connection, Opening, Source, Violation};

/// Whether nothing is under way on the slot's connection, and nothing can be.
fn slot_is_over<'p, C: Connection<'p>>(slot: &Slot<C>) -> bool {
    slot.connection.closing() && slot.connection.is_idle()
}

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    #[inline]
    pub(super) fn receive(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        if C::HAS_HANDSHAKE && matches!(self.slots[index as usize].state, State::Handshaking(_)) {
            return self.shake_hands(index, at);
        }
        let bytes = self.ring.received();
        let slot = &mut self.slots[index as usize];
        let Delivered {
            result,
            ended,
            broken,
        } = slot.deliver(
            &mut self.exchanges,
            &mut self.recorder,
            at,
            None,
            |connection, arrival| connection.receive(bytes, arrival),
        );
        self.under_way -= ended;
        if let Err(violation) = result {
            return self.violated(index, violation, broken);
        }
        match ended {
            0 if C::HAS_HANDSHAKE && slot_is_over(&self.slots[index as usize]) => self.ended(index),
            0 => self.flush(index), // the connection may owe the server something
            _ => self.proceed(index, at),
        }
    }

    /// Exchanges have ended at `at`: what comes next on this slot?
    #[inline]
    fn proceed(&mut self, index: u32, at: Instant) {
        let slot = &self.slots[index as usize];
        if slot.is_spent(self.exchanges_per_connection) {
            if !slot.connection.is_idle() {
                return self.flush(index);
            }
            let is_ended = u64::from(slot.connection.closing());
            self.recorder.tally.connects.ended_by_response += is_ended;
            self.leave(index, Cut::Behind);
        }
        self.offer(index, at);
    }

    #[cold]
    fn violated(&mut self, index: u32, violation: Violation, broken: bool) {
        if !broken && matches!(violation, Violation::BadRecord | Violation::Alert) {
            // The server ended an idle connection, if not in good order.
            self.recorder.tally.connects.lost_idle += 1;
        } else if !broken {
            // No exchange was ended by it, so that none can be charged with it; but it is not to go unseen.
            self.recorder
                .tally
                .strays
                .add(verdict::violation(violation, record::Step::Head), 1);
        }
        self.leave(index, Cut::Behind);
        self.offer(index, self.clock);
    }

    /// A slot may have room since `at`: it gets what is due, or waits for it.
    #[inline]
    pub(super) fn offer(&mut self, index: u32, at: Instant) {
        match self.driver.is_closed() {
            true => self.assign(index, at),
            false => self.offer_freed(index, at),
        }
    }

    /// Opens on `index` what is due at `at`, as far as there is room, and sends it. Where nothing is, the slot waits. (Always
    /// inlined: a call would be felt in a closed loop, and what is asked of the driver goes away there.)
    #[inline(always)]
    pub(super) fn assign(&mut self, index: u32, at: Instant) {
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Open if slot.connection.takes_one() => self.assign_one(index, at),
            State::Open => {
                let mut has_idled = false;
                while !has_idled
                    && self.slots[index as usize].has_room(self.exchanges_per_connection)
                {
                    match self.take(index, true, at) {
                        Some(pending) => has_idled = !self.open_exchange(index, pending),
                        None => has_idled = true,
                    }
                }
                self.flush(index);
                if has_idled {
                    self.park(index);
                }
            }
            State::Closed if slot.pending.is_none() => {
                if !self.resends.is_empty() && self.connect_again(index) {
                    return;
                }
                let Some(pending) = self.take(index, false, at) else {
                    return self.park(index);
                };
                self.recorder.note_arrival(pending.belongs);
                self.slots[index as usize].pending = Some(pending);
                self.connect(index);
            }
            State::Closed | State::Connecting(_) | State::Handshaking(_) | State::Backoff(_) => {}
        }
    }

    /// The straight line through opening and flushing, where nothing is under way: a request whose bytes are there goes
    /// to the kernel without being queued.
    #[inline(always)]
    fn assign_one(&mut self, index: u32, at: Instant) {
        if self.slots[index as usize].opened >= self.exchanges_per_connection {
            return;
        }
        let Some(pending) = self.take(index, true, at) else {
            return self.park(index);
        };
        let Some(bodyless) = self.request_source.next_prepared(|it| it.body.is_empty()) else {
            if self.open_exchange(index, pending) {
                self.flush(index);
            }
            return;
        };
        let sent_at = self.ring.now();
        self.clock = sent_at;
        let slot = &mut self.slots[index as usize];
        let head = slot.connection.head_of(&bodyless.head);
        let answer = self.ring.send(Token(index), &[IoSlice::new(head)]);
        if answer != Ok(head.len()) {
            self.open_prepared(index, pending, bodyless);
            self.note_send(index, head.len(), answer, sent_at);
            return;
        }
        slot.opened += 1;
        let mut flight = Flight::new(pending, bodyless.request_index);
        flight.exchange.sent = sent_at;
        let id = self.exchanges.open(flight);
        let length = head.len() as u64;
        slot.connection.open_sent(id, length, bodyless.method);
        count_sent(&mut self.recorder.sent, pending.belongs);
    }

    /// Takes what is due at `at` on a slot, with an open connection or without one.
    #[inline]
    fn take(&mut self, index: u32, is_open: bool, at: Instant) -> Option<Pending> {
        let pending = self.driver.due(index, is_open, at, &mut self.quota)?;
        self.under_way += 1;
        self.recorder.tally.scheduled += u64::from(pending.belongs);
        Some(pending)
    }

    /// Opens what is due; false where it is not asked for now.
    #[inline]
    pub(super) fn open_exchange(&mut self, index: u32, pending: Pending) -> bool {
        match self.request_source.next_prepared(|_| true) {
            Some(next) => {
                self.open_prepared(index, pending, next);
                true
            }
            None => self.open_made(index, pending),
        }
    }

    #[inline(always)]
    fn open_prepared(&mut self, index: u32, pending: Pending, request: &'p Prepared) {
        let connection = &self.slots[index as usize].connection;
        let opening = Opening {
            head: Source::Shared(connection.head_of(&request.head)),
            body: Source::Shared(&request.body),
            method: request.method,
        };
        self.open_with(index, pending, opening, request.request_index);
    }

    /// The same for a request whose bytes must be made. (Apart, because what may be either is carried through memory.)
    #[cold]
    fn open_made(&mut self, index: u32, pending: Pending) -> bool {
        self.request_source.tell(self.recorder.told.drain(..));
        if let Some(pause) = self.request_source.pause(index, self.clock) {
            self.give_back(pending);
            if let Pause::Until(until) = pause {
                self.retries.push(Reverse((until, index)));
                self.alarm = self.alarm.min(until);
            }
            return false;
        }
        let Some(made) = self.request_source.next_made() else {
            self.run_dry(pending);
            return false;
        };
        let connection = &mut self.slots[index as usize].connection;
        let mut head = connection.spare();
        connection.encode(&made.asked(), &mut head);
        let (method, which) = (made.method(), made.request_index);
        let opening = Opening {
            head: Source::Own(head),
            body: made.body,
            method,
        };
        self.open_with(index, pending, opening, which);
        true
    }

    /// What was due in a closed loop is not any more.
    fn give_back(&mut self, pending: Pending) {
        self.under_way -= 1;
        self.recorder.tally.scheduled -= u64::from(pending.belongs);
        self.quota.give_back(pending.belongs);
    }

    /// Always inlined: what is known of `opening` where this is called makes most of it go away.
    #[inline(always)]
    fn open_with(
        &mut self,
        index: u32,
        pending: Pending,
        opening: Opening<'p>,
        which: RequestIndex,
    ) {
        let slot = &mut self.slots[index as usize];
        let id = self.exchanges.open(Flight::new(pending, which));
        slot.opened += 1;
        slot.connection.open(id, opening);
    }

    /// There is nothing to ask any more: what is due is never sent, and nothing more becomes due.
    #[cold]
    fn run_dry(&mut self, pending: Pending) {
        self.end_if_failed();
        if self.request_source.is_scripted() && self.driver.is_closed() {
            // The script has stopped the thread.
            self.give_back(pending);
            self.quota.give_up();
            return;
        }
        self.under_way -= 1;
        let never = self.quota.give_up();
        self.recorder.tally.scheduled += never;
        let count = never + u64::from(pending.belongs);
        let age = self.clock - pending.scheduled;
        self.recorder
            .tally
            .observe_never_sent(count, age, Blame::Generator);
    }

    /// A script that has failed ends the round.
    fn end_if_failed(&self) {
        let script = self.job.script.as_ref();
        if script.is_some_and(|script| script.failure().is_some()) {
            self.barrier.fail();
        }
    }

    /// Sends what the slot's connection has to send, as far as the kernel takes it.
    #[inline]
    pub(super) fn flush(&mut self, index: u32) {
        match self.slots[index as usize].connection.has_several() {
            false => self.flush_by::<2>(index),
            true => self.flush_by::<BATCH>(index),
        }
    }

    /// Sends with at most `SLICES` slices at a time: two are one request, and clearing more would cost what a system
    /// call's bookkeeping costs.
    #[inline]
    fn flush_by<const SLICES: usize>(&mut self, index: u32) {
        loop {
            let slot = &mut self.slots[index as usize];
            if !slot.connection.has_outgoing() || slot.blocked {
                return;
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = slot.connection.outgoing(&mut slices);
            let offered: usize = slices[..filled].iter().map(|slice| slice.len()).sum();
            let sent_at = self.ring.now();
            self.clock = sent_at;
            let answer = self.ring.send(Token(index), &slices[..filled]);
            if !self.note_send(index, offered, answer, sent_at) {
                return;
            }
        }
    }

    /// Writes down what became of `offered` bytes of the connection's queue; false when the connection failed by it.
    #[inline]
    fn note_send(
        &mut self,
        index: u32,
        offered: usize,
        answer: Result<usize, Errno>,
        at: Instant,
    ) -> bool {
        let slot = &mut self.slots[index as usize];
        match answer {
            Ok(taken) => {
                let (exchanges, total) = (&mut self.exchanges, &mut self.recorder.sent);
                slot.connection.sent(taken, |id| {
                    let flight = &mut exchanges[id];
                    if !flight.exchange.is_sent() {
                        flight.exchange.sent = at;
                        count_sent(total, flight.belongs);
                    }
                });
                slot.blocked = taken < offered;
                true
            }
            Err(errno) => {
                // The request that would have been next was tried, and failed.
                if let Some(id) = slot.connection.next_to_begin() {
                    self.exchanges[id].exchange.sent = at;
                }
                self.failed(index, errno);
                false
            }
        }
    }
}

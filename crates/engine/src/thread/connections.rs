//! What happens to connections: opened, usable, failed, ended by either side, cut off at the end.

use super::Thread;
use crate::recorder::Cut;
use crate::slot::State;
use crate::verdict;
use kernel::{Closing, ConnectOptions, Errno, Ring, Token};
use record::{Blame, Step};
use std::cmp::Reverse;
use std::io::IoSlice;
use units::{Instant, Nanos};
use wire::{Connection, Violation};

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    pub(super) fn connect(&mut self, index: u32) {
        let now = self.ring.now();
        self.clock = now;
        let mut options = ConnectOptions {
            source: self.local_addresses.next(),
            nodelay: self.job.nodelay,
        };
        self.recorder.tally.connects.attempted += 1;
        self.driver.connecting(index);
        let mut result = self
            .ring
            .connect(Token(index), &self.job.endpoint, &options);
        if result == Err(Errno::EADDRNOTAVAIL) && self.local_addresses.advance() {
            options.source = self.local_addresses.next();
            result = self
                .ring
                .connect(Token(index), &self.job.endpoint, &options);
        }
        match result {
            Ok(()) => {
                self.slots[index as usize].state = State::Connecting(now);
                self.connecting += 1;
            }
            Err(errno) => self.connect_failed(index, verdict::connect(errno, self.is_local())),
        }
    }

    pub(super) fn is_local(&self) -> bool {
        self.job.endpoint.is_local()
    }

    pub(super) fn connected(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        let slot = &mut self.slots[index as usize];
        let State::Connecting(since) = slot.state else {
            return;
        };
        let took = at - since;
        self.recorder.tally.connects.time.record(took.as_nanos());
        if let Err(violation) = slot.connection.begin() {
            return self.handshake_failed(index, verdict::violation(violation, Step::Handshake));
        }
        if slot.connection.is_ready() {
            return self.established(index, at, took);
        }
        slot.state = State::Handshaking(at);
        self.connected_after.insert(index, took);
        self.flush(index);
    }

    /// The connection is usable at `at`, `took` after its connect began.
    fn established(&mut self, index: u32, at: Instant, took: Nanos) {
        self.connecting -= 1;
        self.open += 1;
        self.driver.freed(index, at, took);
        let connects = &mut self.recorder.tally.connects;
        let slot = &mut self.slots[index as usize];
        connects.established += 1;
        connects.in_window += u64::from(at >= self.recorder.start && at < self.recorder.end);
        connects.open_peak = connects.open_peak.max(self.open);
        slot.opened_at();
        if !self.resends.is_empty() {
            self.reopen(index);
        }
        let slot = &mut self.slots[index as usize];
        if let Some(pending) = slot.pending.take() {
            self.open_exchange(index, pending);
        }
        self.offer(index, at);
    }

    /// Bytes have come at `at` to a connection whose handshake is under way.
    #[cold]
    pub(super) fn shake_hands(&mut self, index: u32, at: Instant) {
        let State::Handshaking(since) = self.slots[index as usize].state else {
            return;
        };
        let bytes = self.ring.received();
        let delivered = self.slots[index as usize].deliver(
            &mut self.exchanges,
            &mut self.recorder,
            at,
            None,
            |connection, sink| connection.receive(bytes, sink),
        );
        if let Err(violation) = delivered.result {
            self.say_goodbye(index);
            let fault = verdict::violation(violation, Step::Handshake);
            return self.handshake_failed(index, fault);
        }
        self.flush(index);
        let slot = &self.slots[index as usize];
        // Sending may have failed, and with it the handshake.
        if !matches!(slot.state, State::Handshaking(_)) || !slot.connection.is_ready() {
            return;
        }
        // With all that it took here: keys, and whether the certificate holds.
        let over = self.ring.now();
        self.clock = over;
        let connect = self.connected_after.remove(&index).unwrap_or_default();
        if let Some(handshake) = slot.connection.handshake() {
            let took = (over - since).as_nanos();
            let handshakes = &mut self.recorder.tally.connects.handshakes;
            let handshakes = handshakes.get_or_insert_default();
            let time = match handshake.is_resumed {
                true => &mut handshakes.resumed,
                false => &mut handshakes.full,
            };
            time.record(took);
            handshakes.with_connect.record(connect.as_nanos() + took);
            handshakes.note(handshake.version, handshake.cipher, handshake.key_exchange);
        }
        self.established(index, over, connect + (over - since));
    }

    /// Sends what a connection still has to say before its socket is closed, as far as the kernel takes it.
    fn say_goodbye(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if !slot.blocked && slot.connection.has_outgoing() {
            let mut slices = [IoSlice::new(&[]); 2];
            let filled = slot.connection.outgoing(&mut slices);
            let _ = self.ring.send(Token(index), &slices[..filled]); // it is closed in any case
        }
    }

    /// A handshake has failed: with it the connect.
    #[cold]
    pub(super) fn handshake_failed(&mut self, index: u32, fault: record::Fault) {
        self.ring.close(Token(index), Closing::Reset);
        self.slots[index as usize].vacate();
        self.connecting -= 1;
        self.connect_failed(index, fault);
    }

    /// A connect has failed: it takes the exchange that waited for it along, and the slot waits before the next.
    #[cold]
    pub(super) fn connect_failed(&mut self, index: u32, fault: record::Fault) {
        self.recorder.tally.connects.failed.add(fault, 1);
        let slot = &mut self.slots[index as usize];
        let retry = slot.failed_at(self.clock);
        if let Some(pending) = slot.pending.take() {
            self.under_way -= 1;
            self.end_session(index, None);
            if pending.belongs {
                self.recorder
                    .close_unsent(pending.scheduled, fault, self.clock);
            }
        }
        self.drop_resends(index, Cut::Behind);
        self.retries.push(Reverse((retry, index)));
        self.alarm = self.alarm.min(retry);
    }

    /// The peer has ended its side.
    pub(super) fn ended(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        let slot = &mut self.slots[index as usize];
        if let State::Handshaking(_) = slot.state {
            let fault = verdict::violation(Violation::ClosedInHandshake, Step::Handshake);
            return self.handshake_failed(index, fault);
        }
        self.note_end(index);
        let slot = &mut self.slots[index as usize];
        // What was wrong, if anything, is written down with the exchanges; an idle connection may always be ended.
        let delivered = slot.deliver(
            &mut self.exchanges,
            &mut self.recorder,
            at,
            None,
            |connection, arrival| connection.end(arrival),
        );
        self.under_way -= delivered.ended;
        let connects = &mut self.recorder.tally.connects;
        connects.ended_by_response += u64::from(delivered.ended > 0);
        self.leave(index, Cut::Behind);
        self.offer(index, at);
    }

    /// The kernel says that the socket is dead.
    #[cold]
    pub(super) fn failed(&mut self, index: u32, errno: Errno) {
        self.clock = self.ring.now();
        match self.slots[index as usize].state {
            State::Connecting(_) => {
                self.ring.close(Token(index), Closing::Reset);
                self.connecting -= 1;
                self.connect_failed(index, verdict::connect(errno, self.is_local()));
            }
            State::Handshaking(_) => {
                self.handshake_failed(index, verdict::socket(errno, Step::Handshake));
            }
            State::Open => {
                self.note_end(index);
                self.leave(index, Cut::Dead(errno));
                self.offer(index, self.clock);
            }
            State::Closed | State::Backoff(_) => {}
        }
    }

    /// The peer ends the connection: counted where nothing was under way on it, as no exchange then tells of it, and where
    /// no response had begun on it.
    fn note_end(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let has_begun = |id| self.exchanges[id].exchange.first != Instant::ZERO;
        let is_unserved = slot.is_fresh && !slot.connection.in_turn().any(has_begun);
        let connects = &mut self.recorder.tally.connects;
        connects.lost_idle += u64::from(slot.connection.is_idle());
        connects.unserved += u64::from(is_unserved);
    }

    /// Closes an open slot's socket. What is still in flight is written down as `cut` says.
    pub(super) fn leave(&mut self, index: u32, cut: Cut) {
        if !self.recorder.behind.is_empty() {
            self.keep_unanswered(index);
        }
        let slot = &mut self.slots[index as usize];
        let keeps_ports = matches!(cut, Cut::Stop) && !self.local_addresses.moves_on();
        let how = match slot.connection.is_idle() && !keeps_ports {
            true => Closing::Orderly,
            // Off IPv4 loopback a port that is closed in order is gone for a minute, and with it the next round's
            // connection.
            false => Closing::Reset,
        };
        if !slot.connection.is_idle() {
            let delivered = slot.deliver(
                &mut self.exchanges,
                &mut self.recorder,
                self.clock,
                Some(cut),
                |connection, arrival| {
                    connection.abandon(arrival, Violation::Abandoned);
                    Ok(())
                },
            );
            self.under_way -= delivered.ended;
        }
        if C::HAS_HANDSHAKE && matches!(how, Closing::Orderly) && !matches!(cut, Cut::Dead(_)) {
            slot.connection.close();
            self.say_goodbye(index);
        }
        self.ring.close(Token(index), how);
        self.slots[index as usize].vacate();
        self.end_session(index, Some(cut));
        self.open -= 1;
    }

    /// Ends everything: what is in flight is unfinished, what has no connection was never sent, for which an interrupt is
    /// not the server's fault.
    pub(super) fn cut_all(&mut self, cut: Cut) {
        let blame = match self.barrier.stopped() {
            true => Blame::Generator,
            false => Blame::Server,
        };
        for index in 0..self.slots.len() as u32 {
            let state = self.slots[index as usize].state;
            match state {
                State::Open => self.leave(index, cut),
                State::Connecting(_) | State::Handshaking(_) => {
                    self.ring.close(Token(index), Closing::Reset);
                    self.connecting -= 1;
                    self.slots[index as usize].vacate();
                }
                State::Closed | State::Backoff(_) => {}
            }
            self.drop_resends(index, cut);
            if let Some(pending) = self.slots[index as usize].pending.take() {
                self.under_way -= 1;
                if pending.belongs {
                    let age = self.clock - pending.scheduled;
                    let tally = &mut self.recorder.tally;
                    tally.observe_given_up(1, age, state.step(), blame);
                }
            }
        }
    }
}

//! What is seen to now and then, when the alarm says so: timeouts, retries, the window's edges, observers.

use super::Thread;
use crate::recorder::Cut;
use crate::slot::State;
use crate::verdict;
use kernel::{Closing, Errno, Ring, Token};
use plan::Connect;
use std::cmp::Reverse;
use units::Instant;
use wire::{Connection, ExchangeId, Scope};

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// Sees to everything that is not a completion, and sets the alarm anew.
    #[cold]
    pub(super) fn tend(&mut self) {
        let now = self.ring.now();
        self.clock = now;
        let edge = self.accounts.tend(now);
        let look = self.recorder.tend(now);
        if now >= self.next_sweep {
            self.sweep(now);
            self.next_sweep = now + self.sweep_every;
            self.publish();
        }
        while let Some(&Reverse((retry, index))) = self.retries.peek() {
            if retry > now {
                break;
            }
            self.retries.pop();
            self.retry(index, now);
        }
        self.note_open(now);
        let retry = self.retries.peek();
        let retry = retry.map_or(Instant::NEVER, |&Reverse((retry, _))| retry);
        self.alarm = self.next_sweep.min(edge).min(retry).min(look);
        self.recorder.watchdog.expect(self.alarm);
    }

    /// Writes down how many connections are open, once the window is, and ends the pauses after failed connects: a pause
    /// may be longer than the window, which would then hold no attempt, and no error of a server that refuses them.
    pub(super) fn note_open(&mut self, now: Instant) {
        if now < self.recorder.start || self.is_open_noted {
            return;
        }
        self.is_open_noted = true;
        self.recorder.tally.connects.open_at_start = self.open;
        for Reverse((until, index)) in std::mem::take(&mut self.retries) {
            let slot = &mut self.slots[index as usize];
            if matches!(slot.state, State::Open) {
                self.retries.push(Reverse((until, index))); // a pause that a script wants
                continue;
            }
            slot.forget_failures();
            self.retry(index, now);
        }
    }

    fn retry(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Backoff(_) => {}
            State::Open => return self.offer(index, now),
            State::Closed | State::Connecting(_) | State::Handshaking(_) => return,
        }
        slot.state = State::Closed;
        let before_load = self.recorder.start == Instant::NEVER;
        if before_load && self.job.plan.connect == Connect::Eager {
            self.connect(index);
        } else {
            self.offer(index, now);
        }
    }

    /// Cuts off what has waited too long.
    fn sweep(&mut self, now: Instant) {
        let limits = self.job.plan.timeouts;
        for index in 0..self.slots.len() as u32 {
            let slot = &self.slots[index as usize];
            match slot.state {
                State::Connecting(since) if now - since >= limits.connect => {
                    self.ring.close(Token(index), Closing::Reset);
                    self.connecting -= 1;
                    let fault = verdict::connect(Errno::ETIMEDOUT, self.is_local());
                    self.connect_failed(index, fault);
                }
                State::Handshaking(since) if now - since >= limits.connect => {
                    self.handshake_failed(index, verdict::handshake_timeout(self.is_local()));
                }
                State::Open => {
                    while let Some(late) = self.late(index, now) {
                        self.time_out(index, late, now);
                    }
                }
                _ => {}
            }
        }
    }

    /// An exchange on this slot that has waited too long for its own response.
    fn late(&self, index: u32, now: Instant) -> Option<ExchangeId> {
        let slot = &self.slots[index as usize];
        let free = self.driver.free_since(index);
        let is_late = |id: &ExchangeId| {
            now - self.exchanges[*id].since().max(free) >= self.job.plan.timeouts.exchange
        };
        slot.connection.in_turn().find(is_late)
    }

    /// Gives up an exchange that has waited too long. Whether that ends its connection is the protocol's to say.
    #[cold]
    fn time_out(&mut self, index: u32, late: ExchangeId, now: Instant) {
        let mut scope = Scope::Connection;
        let delivered = self.slots[index as usize].deliver(
            &mut self.exchanges,
            &mut self.recorder,
            now,
            Some(Cut::Timeout),
            |connection, sink| {
                scope = connection.cancel(late, sink);
                Ok(())
            },
        );
        self.under_way -= delivered.ended;
        match scope {
            Scope::Exchange => self.flush(index),
            Scope::Connection => self.leave(index, Cut::Timeout),
        }
        self.offer(index, now);
    }

    pub(super) fn publish(&self) {
        self.barrier.publish(self.index, &self.recorder.tally);
    }
}

//! What an open loop does otherwise: a schedule says when exchanges are due, and a free slot is looked for.
//!
//! An idle connection is taken, the last used first; a vacant slot is connected where there is none; and where none may
//! be opened, what is due waits, first come first served, still counted from its due.

use super::{CONNECTS_AT_ONCE, Thread};
use crate::schedule::Schedule;
use crate::slot::{Pending, State};
use kernel::Ring;
use plan::{Load, Plan, Stretch};
use record::{Awake, Blame};
use units::{Instant, Nanos};

impl Schedule {
    /// The schedule that `plan` has for a thread of `threads` with so many `slots`; none in a closed loop.
    pub(super) fn of(plan: &Plan, slots: u32, threads: u32) -> Option<Box<Schedule>> {
        match plan.load {
            Load::Closed { .. } => None,
            Load::Open { rate, arrivals, .. } => {
                let most = (CONNECTS_AT_ONCE / threads).max(1);
                Some(Box::new(Schedule::new(rate, arrivals, slots, most)))
            }
        }
    }
}

impl<'p, R: Ring> Thread<'p, R> {
    /// The load begins at `at`: in a closed loop everywhere at once, in an open one as its schedule says.
    pub(super) fn begin(&mut self, at: Instant, stretch: Stretch) {
        self.is_watchful = self.schedule.is_some() || self.accounts.awake == Awake::Always;
        let Some(schedule) = &mut self.schedule else {
            return self.offer_all(at);
        };
        let seed = stretch.seed(self.job.plan.seed, self.round);
        schedule.begin(at, seed, self.index, self.threads);
        self.release();
    }

    /// Assigns what has become due since, and says when the next exchange does: never where the first of those that are
    /// due already waits for a slot, which only a completion or the alarm can bring.
    #[inline(never)] // a closed loop is to carry nothing of it
    pub(super) fn catch_up(&mut self) -> Instant {
        self.clock = self.ring.now();
        self.release();
        match &self.schedule {
            Some(schedule) if schedule.head > self.clock => schedule.head,
            _ => Instant::NEVER,
        }
    }

    /// Assigns what is due by now, as far as there are slots for it.
    #[inline(never)]
    pub(super) fn release(&mut self) {
        while let Some(schedule) = &mut self.schedule {
            if schedule.head > self.clock {
                return;
            }
            let may_connect = self.connecting < schedule.most_connecting;
            let free = match schedule.idle.pop() {
                None if may_connect => schedule.vacant.pop(),
                idle => idle,
            };
            let Some(index) = free else { return };
            self.offer_scheduled(index);
        }
    }

    /// A slot may have become free at `at`, or its connection usable.
    #[inline(never)]
    pub(super) fn offer_freed(&mut self, index: u32, at: Instant) {
        let slot = &self.slots[index as usize];
        let is_free = matches!(slot.state, State::Open | State::Closed) && slot.flights.is_empty();
        if let Some(schedule) = self.schedule.as_mut().filter(|_| is_free) {
            schedule.free(index, at, Nanos::ZERO);
        }
        self.offer_scheduled(index);
    }

    /// A slot that may be free: it gets what is due, or lies down to wait for it.
    fn offer_scheduled(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let takes_one = slot.connection.takes_one();
        match slot.state {
            State::Open if slot.has_room(self.exchanges_per_connection) => {
                match self.take_scheduled(index) {
                    Some(due) if takes_one => self.ask(index, due),
                    Some(due) => {
                        self.open_exchange(index, due);
                        self.flush(index);
                    }
                    None => self.lie_down(index),
                }
            }
            State::Open => self.flush(index),
            State::Closed if slot.pending.is_none() => match self.take_scheduled(index) {
                Some(due) => {
                    self.slots[index as usize].pending = Some(due);
                    self.connect(index);
                }
                None => self.lie_down(index),
            },
            State::Closed | State::Connecting(_) | State::Backoff(_) => {}
        }
        self.note_waits(index);
    }

    /// Nothing is due for this slot.
    fn lie_down(&mut self, index: u32) {
        let is_open = self.slots[index as usize].state == State::Open;
        if let Some(schedule) = &mut self.schedule {
            match is_open {
                true => schedule.idle.push(index),
                false => schedule.vacant.push(index),
            }
        }
    }

    /// The first exchange that is due by now and was not assigned.
    fn take_scheduled(&mut self, index: u32) -> Option<Pending> {
        let schedule = self.schedule.as_mut()?;
        let due = schedule.head;
        if due > self.clock {
            return None;
        }
        let Some(belongs) = self.pace.take(due) else {
            schedule.end();
            return None;
        };
        schedule.assign(index, due);
        schedule.pass();
        self.under_way += 1;
        self.books.tally.due += u64::from(belongs);
        Some(Pending { due, belongs })
    }

    /// Writes down what the exchange on this slot has waited for, once its first byte is sent.
    #[inline(never)]
    pub(super) fn note_waits(&mut self, index: u32) {
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        let flight = self.slots[index as usize].flights.front();
        let Some(flight) = flight.filter(|flight| flight.exchange.is_sent()) else {
            return;
        };
        let Some(waits) = schedule.waits(index) else {
            return;
        };
        schedule.asked = flight.exchange.sent;
        if flight.belongs
            && let Some(open) = &mut self.books.tally.open
        {
            open.observe_sent(flight.exchange.lateness(), waits);
        }
    }

    /// Whether something is due that was not assigned.
    pub(super) fn has_backlog(&self) -> bool {
        let head = self.schedule.as_ref().map(|schedule| schedule.head);
        head.is_some_and(|head| head <= self.clock && self.pace.allows(head))
    }

    /// Gives up what was due before `limit` and was not assigned: it is never sent. Nothing more becomes due.
    pub(super) fn abandon_backlog(&mut self, limit: Instant, blame: Blame) {
        let Some(mut schedule) = self.schedule.take() else {
            return;
        };
        while schedule.head < limit {
            let Some(belongs) = self.pace.take(schedule.head) else {
                break;
            };
            if belongs {
                self.books.never_sent(schedule.head, self.clock, blame);
            }
            schedule.pass();
        }
        schedule.end();
        self.schedule = Some(schedule);
    }

    /// Sends what was due when the window closed, for at most `patience`.
    pub(super) fn drain_backlog(&mut self, patience: Nanos) {
        let limit = self.clock + patience;
        while self.has_backlog() && self.clock < limit && !self.gate.stopped() {
            self.turn(limit);
        }
        let blame = match self.gate.stopped() {
            true => Blame::Generator,
            // Every connection was busy, or none could be had.
            false => Blame::Server,
        };
        self.abandon_backlog(self.clock, blame);
    }
}

//! What a thread does for what is due by a schedule: gives it a slot, sends it, or gives it up.

use super::Thread;
use crate::driver::Next;
use crate::recorder::Cut;
use crate::slot::State;
use kernel::Ring;
use plan::Stretch;
use record::{Blame, BusyPoll};
use units::{Instant, Nanos};
use wire::Connection;

/// A thread that was paused for more than one part in so many of the window left its backlog behind by itself.
const PAUSED_MOST: u64 = 10;

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// The load begins at `at`: in a closed loop everywhere at once, in an open one as its schedule says.
    pub(super) fn begin(&mut self, at: Instant, stretch: Stretch) {
        let is_closed = self.driver.is_closed();
        self.is_watchful = !is_closed || self.accounts.busy_poll == BusyPoll::Always;
        if is_closed {
            return self.offer_all(at);
        }
        let seed = stretch.seed(self.job.plan.seed, self.round);
        self.driver.begin(at, seed, self.index, self.threads);
        self.release();
    }

    /// Assigns what has become due since, and says until when to wait for answers: until the next exchange is due, not at
    /// all where more is than may be sent at once; and where the first of those that are due already waits for a slot, until a
    /// completion or the alarm brings one.
    #[inline(never)] // a closed loop is to carry nothing of it
    pub(super) fn catch_up(&mut self) -> Instant {
        self.clock = self.ring.now();
        self.driver.renew_allowance();
        if self.release() {
            return self.clock;
        }
        match self.driver.head() {
            head if head > self.clock => head,
            _ => Instant::NEVER,
        }
    }

    /// Assigns what is due by now, as far as there are slots for it and answers are not to be asked for first; whether
    /// they are.
    #[inline(never)]
    pub(super) fn release(&mut self) -> bool {
        loop {
            match self.driver.next(self.clock, self.connecting) {
                Next::Wait => return false,
                Next::AskFirst => return true,
                Next::Slot(index) => self.assign_scheduled(index),
            }
        }
    }

    /// Assigns what has become due while an answer was seen to.
    #[inline(never)]
    pub(super) fn release_after_answer(&mut self) {
        self.driver.note_answer();
        self.release();
    }

    /// A slot may have become free at `at`, or its connection usable.
    #[inline(never)]
    pub(super) fn offer_freed(&mut self, index: u32, at: Instant) {
        let slot = &self.slots[index as usize];
        let is_free =
            matches!(slot.state, State::Open | State::Closed) && slot.connection.is_idle();
        if is_free {
            self.driver.freed(index, at, Nanos::ZERO);
        }
        self.assign_scheduled(index);
    }

    /// A slot that may be free gets what is due by now, or waits for it.
    fn assign_scheduled(&mut self, index: u32) {
        self.assign(index, self.clock);
        self.note_waits(index);
    }

    /// Nothing is due for this slot.
    #[inline(never)]
    pub(super) fn park(&mut self, index: u32) {
        let is_open = self.slots[index as usize].state == State::Open;
        if self.driver.park(index, is_open, self.clock) {
            self.leave(index, Cut::Behind);
            self.offer_freed(index, self.clock);
        }
    }

    /// The connection on this slot is closed, by `cut`, or could not be opened: if it was a session, that is over, and what
    /// it did not ask is for others.
    #[inline(never)] // a closed loop is to carry nothing of it
    pub(super) fn end_session(&mut self, index: u32, cut: Option<Cut>) {
        let Some(session) = self.driver.lost(index) else {
            return;
        };
        self.quota.release(session.left);
        let ended = matches!(cut, Some(Cut::Behind | Cut::Dead(_) | Cut::Timeout));
        let is_early = session.left > 0 && self.quota.goes_on(self.clock);
        if session.belongs
            && let Some(sessions) = self.recorder.sessions()
        {
            if session.left == 0 && ended {
                sessions
                    .time
                    .record((self.clock - session.scheduled).as_nanos());
            } else if is_early {
                sessions.aborted += 1;
                sessions.skipped += session.left;
            }
        }
    }

    /// Writes down what the exchange on this slot has waited for, once its first byte is sent.
    #[inline(never)]
    pub(super) fn note_waits(&mut self, index: u32) {
        let mut in_turn = self.slots[index as usize].connection.in_turn();
        let flight = in_turn.next().map(|id| &self.exchanges[id]);
        let Some(flight) = flight.filter(|flight| flight.exchange.is_sent()) else {
            return;
        };
        let Some(waits) = self.driver.waits(index, flight.exchange.sent) else {
            return;
        };
        if flight.belongs
            && let Some(open) = &mut self.recorder.tally.open
        {
            open.observe_sent(flight.exchange.send_delay(), waits);
        }
    }

    /// Whether something is due that was not assigned.
    pub(super) fn has_backlog(&self) -> bool {
        self.driver.has_backlog(self.clock, &self.quota)
    }

    /// Gives up what was due before `limit` and was not assigned: it is never sent. Nothing more becomes due.
    pub(super) fn abandon_backlog(&mut self, limit: Instant, blame: Blame) {
        while let Some((scheduled, belongs)) = self.driver.abandon(limit, &mut self.quota) {
            self.recorder.note_arrival(belongs);
            if belongs {
                self.recorder.never_sent(scheduled, self.clock, blame);
            }
        }
    }

    /// Sends what was due when the window closed, for at most `patience`.
    pub(super) fn drain_backlog(&mut self, patience: Nanos) {
        let limit = self.clock + patience;
        while self.has_backlog() && self.clock < limit && !self.barrier.stopped() {
            self.turn(limit);
        }
        let blame = match self.barrier.stopped() || self.was_the_limit() {
            true => Blame::Generator,
            // Every connection was busy, or none could be had.
            false => Blame::Server,
        };
        self.abandon_backlog(self.clock, blame);
    }

    /// Whether this thread itself was what could not keep up in the window: it had no CPU time left (in virtual time its
    /// work takes none), or was paused for a good part of it.
    fn was_the_limit(&self) -> bool {
        let window = self.recorder.end - self.recorder.start;
        let was_paused = self.recorder.watchdog.paused().total * PAUSED_MOST > window;
        was_paused || !self.ring.is_virtual() && self.accounts.was_busy()
    }
}

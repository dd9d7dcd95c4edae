//! What an open loop does otherwise: a schedule says when exchanges are due, and a free slot is looked for.
//!
//! An idle connection is taken, the last used first; a vacant slot is connected where there is none; and where none may
//! be opened, what is due waits, first come first served, still counted from its due.
//!
//! Where connections arrive, each gets a vacant slot and is connected, asks its exchanges one after the other, each due
//! when the one before it is over, and is closed.

use super::Thread;
use crate::recorder::Cut;
use crate::schedule::Session;
use crate::slot::{Pending, State};
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
        self.is_watchful = self.schedule.is_some() || self.accounts.busy_poll == BusyPoll::Always;
        let Some(schedule) = &mut self.schedule else {
            return self.offer_all(at);
        };
        let seed = stretch.seed(self.job.plan.seed, self.round);
        schedule.begin(at, seed, self.index, self.threads);
        self.release();
    }

    /// Assigns what has become due since, and says until when to wait for answers: until the next exchange is due, not at
    /// all where more is than may be sent at once; and where the first of those that are due already waits for a slot, until a
    /// completion or the alarm brings one.
    #[inline(never)] // a closed loop is to carry nothing of it
    pub(super) fn catch_up(&mut self) -> Instant {
        self.clock = self.ring.now();
        if let Some(schedule) = &mut self.schedule {
            schedule.renew_allowance();
        }
        if self.release() {
            return self.clock;
        }
        match &self.schedule {
            Some(schedule) if schedule.head > self.clock => schedule.head,
            _ => Instant::NEVER,
        }
    }

    /// Assigns what is due by now, as far as there are slots for it and answers are not to be asked for first; whether
    /// they are.
    #[inline(never)]
    pub(super) fn release(&mut self) -> bool {
        while let Some(schedule) = &mut self.schedule {
            if schedule.head > self.clock {
                return false;
            }
            let may_connect = self.connecting < schedule.most_connecting;
            let may_open = may_connect && !schedule.vacant.is_empty();
            if schedule.idle.is_empty() && !may_open {
                schedule.full.begin(self.clock);
                return false;
            }
            schedule.full.end(self.clock);
            if !schedule.is_allowed() {
                return true;
            }
            let free = schedule.idle.pop().or_else(|| schedule.vacant.pop());
            let Some(index) = free else { return false };
            self.offer_scheduled(index);
        }
        false
    }

    /// Assigns what has become due while an answer was seen to.
    #[inline(never)]
    pub(super) fn release_after_answer(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.note_answer();
        }
        self.release();
    }

    /// A slot may have become free at `at`, or its connection usable.
    #[inline(never)]
    pub(super) fn offer_freed(&mut self, index: u32, at: Instant) {
        let slot = &self.slots[index as usize];
        let is_free =
            matches!(slot.state, State::Open | State::Closed) && slot.connection.is_idle();
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
                match self.take_for_open(index) {
                    Some(pending) if takes_one => self.send_scheduled(index, pending),
                    Some(pending) => {
                        self.open_exchange(index, pending);
                        self.flush(index);
                    }
                    None => {
                        self.flush(index);
                        self.park(index);
                    }
                }
            }
            State::Open => self.flush(index),
            State::Closed if slot.pending.is_none() => match self.take_scheduled(index) {
                Some(pending) => {
                    self.slots[index as usize].pending = Some(pending);
                    self.connect(index);
                }
                None => self.park(index),
            },
            State::Closed | State::Connecting(_) | State::Handshaking(_) | State::Backoff(_) => {}
        }
        self.note_waits(index);
    }

    /// Nothing is due for this slot.
    fn park(&mut self, index: u32) {
        let is_open = self.slots[index as usize].state == State::Open;
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        schedule.full.end(self.clock);
        match is_open {
            true if schedule.is_of_sessions() => {
                self.leave(index, Cut::Behind);
                self.offer_freed(index, self.clock);
            }
            true => schedule.idle.push(index),
            false => schedule.vacant.push(index),
        }
    }

    /// What is due for a slot with a connection: the session's next exchange; or the first that waits for any.
    fn take_for_open(&mut self, index: u32) -> Option<Pending> {
        match self.schedule.as_ref()?.is_of_sessions() {
            true => self.take_promised(index),
            false => self.take_scheduled(index),
        }
    }

    /// The first that is due by now and was not assigned, if one may be before answers are asked for: an exchange, or the
    /// first of a session.
    fn take_scheduled(&mut self, index: u32) -> Option<Pending> {
        let schedule = self.schedule.as_mut()?;
        while schedule.head <= self.clock && schedule.is_allowed() {
            let scheduled = schedule.head;
            match self.quota.take_arrival(scheduled, schedule.each) {
                Some((belongs, left)) => {
                    schedule.note_assigned();
                    let queued = schedule.full.within(scheduled, self.clock);
                    schedule.assign(index, queued);
                    if let Some(session) = schedule.session(index) {
                        *session = Some(Session {
                            scheduled,
                            belongs,
                            left,
                        });
                    }
                    schedule.pass();
                    self.recorder.note_arrival(belongs);
                    return Some(self.begun(scheduled, belongs));
                }
                // There is nothing left for it to ask, unless a session ends early.
                None if self.quota.is_promised(scheduled) => schedule.pass(),
                None => schedule.end(),
            }
        }
        None
    }

    /// The next exchange of the session on this slot, due since the one before it was over.
    fn take_promised(&mut self, index: u32) -> Option<Pending> {
        let schedule = self.schedule.as_mut()?;
        let scheduled = schedule.free_since(index);
        let session = schedule.session(index)?.as_mut();
        let session = session.filter(|session| session.left > 0)?;
        let belongs = self.quota.take_promised(scheduled)?;
        session.left -= 1;
        schedule.assign(index, Nanos::ZERO);
        Some(self.begun(scheduled, belongs))
    }

    fn begun(&mut self, scheduled: Instant, belongs: bool) -> Pending {
        self.under_way += 1;
        self.recorder.tally.scheduled += u64::from(belongs);
        Pending { scheduled, belongs }
    }

    /// The connection on this slot is closed, by `cut`, or could not be opened: if it was a session, that is over, and what
    /// it did not ask is for others.
    #[inline(never)] // a closed loop is to carry nothing of it
    pub(super) fn end_session(&mut self, index: u32, cut: Option<Cut>) {
        let schedule = self.schedule.as_mut();
        let session = schedule.and_then(|schedule| schedule.session(index)?.take());
        let Some(session) = session else { return };
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
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        let mut in_turn = self.slots[index as usize].connection.in_turn();
        let flight = in_turn.next().map(|id| &self.exchanges[id]);
        let Some(flight) = flight.filter(|flight| flight.exchange.is_sent()) else {
            return;
        };
        let Some(waits) = schedule.waits(index) else {
            return;
        };
        schedule.last_sent = flight.exchange.sent;
        if flight.belongs
            && let Some(open) = &mut self.recorder.tally.open
        {
            open.observe_sent(flight.exchange.send_delay(), waits);
        }
    }

    /// Whether something is due that was not assigned.
    pub(super) fn has_backlog(&self) -> bool {
        let head = self.schedule.as_ref().map(|schedule| schedule.head);
        head.is_some_and(|head| head <= self.clock && self.quota.allows(head))
    }

    /// Gives up what was due before `limit` and was not assigned: it is never sent. Nothing more becomes due.
    pub(super) fn abandon_backlog(&mut self, limit: Instant, blame: Blame) {
        let Some(mut schedule) = self.schedule.take() else {
            return;
        };
        while schedule.head < limit {
            let Some((belongs, _)) = self.quota.take_arrival(schedule.head, 1) else {
                break;
            };
            self.recorder.note_arrival(belongs);
            if belongs {
                self.recorder.never_sent(schedule.head, self.clock, blame);
            }
            schedule.pass();
        }
        schedule.end();
        self.schedule = Some(schedule);
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

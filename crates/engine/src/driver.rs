//! What drives a thread's load: when something is due, and on which of its slots.
//!
//! A closed loop has something due wherever and whenever there is room. In an open loop a schedule says when, and a free slot is
//! looked for: for a request, or for a connection that asks several of them, a session. The thread asks for what is due and
//! tells what becomes of its slots; it need not know which of the three it is, but where a closed loop is to cost nothing more.

// When what arrives is due, and the slots that are free for it,
mod schedule;
// which lie one upon the other;
mod stack;
// since when there were none;
mod full;
// and connections that arrive.
mod sessions;

use crate::quota::Quota;
use crate::slot::Pending;
use crate::thread::CONNECTS_AT_ONCE;
use plan::{Load, Plan};
use record::Waits;
use schedule::Schedule;
use sessions::Sessions;
use units::{Instant, Nanos};

/// What drives one thread.
#[derive(Debug)]
pub(crate) enum Driver {
    /// An exchange is due whenever a slot has room for it.
    Closed,
    /// Exchanges arrive.
    Open(Box<Schedule>),
    /// Connections arrive, and ask their exchanges one after the other.
    Sessions(Box<Sessions>),
}

/// What may be done about arrivals that are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: none is due, or there is no slot for it.
    Wait,
    /// This slot, which was free, is for the first of them.
    Slot(u32),
    /// There are slots, but answers are to be asked for before.
    AskFirst,
}

/// What has arrived and was given to a slot: an exchange, or a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// When it was due.
    pub(crate) scheduled: Instant,
    /// Whether that was in the window.
    pub(crate) belongs: bool,
    /// Exchanges that it is still to ask, beside the first.
    pub(crate) left: u64,
}

impl Arrival {
    /// Its first exchange.
    fn first(self) -> Pending {
        Pending {
            scheduled: self.scheduled,
            belongs: self.belongs,
        }
    }
}

impl Driver {
    /// Returns what `plan` has for a thread of `threads` with so many `slots`, all of them vacant. By a schedule nothing is due
    /// before [`Driver::begin`].
    pub(crate) fn of(plan: &Plan, slots: u32, threads: u32) -> Driver {
        let Load::Open { rate, arrivals, .. } = plan.load else {
            return Driver::Closed;
        };
        if !plan.load.is_of_connections() {
            let most_connecting = (CONNECTS_AT_ONCE / threads).max(1);
            let schedule = Schedule::new(rate, arrivals, slots, most_connecting);
            return Driver::Open(Box::new(schedule));
        }
        // A rate of connections says by itself how many connect at a time.
        let schedule = Schedule::new(rate, arrivals, slots, u32::MAX);
        let each = plan.load.exchanges_per_arrival(&plan.protocol);
        Driver::Sessions(Box::new(Sessions::new(schedule, each, slots)))
    }

    /// Whether it is a closed loop.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Driver::Closed)
    }

    fn schedule(&self) -> Option<&Schedule> {
        match self {
            Driver::Closed => None,
            Driver::Open(schedule) => Some(schedule),
            Driver::Sessions(sessions) => Some(&sessions.schedule),
        }
    }

    #[inline]
    fn schedule_mut(&mut self) -> Option<&mut Schedule> {
        match self {
            Driver::Closed => None,
            Driver::Open(schedule) => Some(schedule),
            Driver::Sessions(sessions) => Some(&mut sessions.schedule),
        }
    }

    /// Arrivals begin anew at `origin`, those that follow from `seed`.
    pub(crate) fn begin(&mut self, origin: Instant, seed: u64, thread: u32, threads: u32) {
        if let Some(schedule) = self.schedule_mut() {
            schedule.begin(origin, seed, thread, threads);
        }
    }

    /// When the first arrival that no slot has was or is due; `NEVER` when there is none, as in a closed loop.
    pub(crate) fn head(&self) -> Instant {
        self.schedule()
            .map_or(Instant::NEVER, |schedule| schedule.head)
    }

    /// Whether something is due by `now` that no slot has.
    pub(crate) fn has_backlog(&self, now: Instant, quota: &Quota) -> bool {
        let head = self.head();
        head <= now && quota.allows(head)
    }

    /// What may be done at `now`, while so many slots are `connecting`, about what is due.
    pub(crate) fn next(&mut self, now: Instant, connecting: u32) -> Next {
        self.schedule_mut()
            .map_or(Next::Wait, |schedule| schedule.next(now, connecting))
    }

    /// What is due at `now` on a slot with an open connection that has room, or without one. The slot has it then.
    #[inline]
    pub(crate) fn due(
        &mut self,
        slot: u32,
        is_open: bool,
        now: Instant,
        quota: &mut Quota,
    ) -> Option<Pending> {
        match self {
            Driver::Closed => Some(Pending {
                belongs: quota.take(now)?,
                scheduled: now,
            }),
            Driver::Open(schedule) => schedule.take(slot, 1, now, quota).map(Arrival::first),
            Driver::Sessions(sessions) if is_open => sessions.go_on(slot, quota),
            Driver::Sessions(sessions) => sessions.take(slot, now, quota),
        }
    }

    /// A slot has room since `at`; its connection, if that is new, was opened in `connecting`.
    pub(crate) fn freed(&mut self, slot: u32, at: Instant, connecting: Nanos) {
        if let Some(schedule) = self.schedule_mut() {
            schedule.freed(slot, at, connecting);
        }
    }

    /// Since when the slot has had room: before that no exchange on it waits for the server.
    pub(crate) fn free_since(&self, slot: u32) -> Instant {
        self.schedule()
            .map_or(Instant::ZERO, |schedule| schedule.free_since(slot))
    }

    /// A slot for which nothing was due at `now`, with an open connection or without one, is kept for what will be. Says
    /// whether its connection is to be closed before.
    pub(crate) fn park(&mut self, slot: u32, is_open: bool, now: Instant) -> bool {
        match self {
            Driver::Closed => false,
            Driver::Open(schedule) => {
                schedule.park(slot, is_open, now);
                false
            }
            Driver::Sessions(sessions) => sessions.park(slot, is_open, now),
        }
    }

    /// A slot begins to connect.
    pub(crate) fn connecting(&mut self, slot: u32) {
        if let Some(schedule) = self.schedule_mut() {
            schedule.vacant.remove(slot);
        }
    }

    /// The connection of a slot is gone, and with it what had arrived there, if that was a connection.
    #[inline]
    pub(crate) fn lost(&mut self, slot: u32) -> Option<Arrival> {
        self.schedule_mut()?.idle.remove(slot);
        match self {
            Driver::Closed | Driver::Open(_) => None,
            Driver::Sessions(sessions) => sessions.end(slot),
        }
    }

    /// What the exchange on this slot, sent at `sent`, has waited for; told once, and never in a closed loop.
    pub(crate) fn waits(&mut self, slot: u32, sent: Instant) -> Option<Waits> {
        self.schedule_mut()?.waits(slot, sent)
    }

    /// Whether an exchange that had arrived was sent less than `span` ago.
    pub(crate) fn has_sent_within(&self, span: Nanos, now: Instant) -> bool {
        self.schedule()
            .is_some_and(|schedule| now - schedule.last_sent < span)
    }

    /// The kernel is about to be asked for answers.
    pub(crate) fn renew_allowance(&mut self) {
        if let Some(schedule) = self.schedule_mut() {
            schedule.renew_allowance();
        }
    }

    /// It had one.
    pub(crate) fn note_answer(&mut self) {
        if let Some(schedule) = self.schedule_mut() {
            schedule.note_answer();
        }
    }

    /// Gives up the first arrival that no slot has, if it was due before `limit`: its due, and whether that was in the window.
    /// Once there is none, nothing more arrives.
    pub(crate) fn abandon(&mut self, limit: Instant, quota: &mut Quota) -> Option<(Instant, bool)> {
        self.schedule_mut()?.abandon(limit, quota)
    }
}

//! What an open loop's thread has beside a closed one's: when its exchanges are due, and which slots are free for them.
//!
//! What is due and waits is not stored: the schedule stands at the first exchange that was not assigned, and all that
//! are due by now and not before it are the backlog. So a backlog of any length costs nothing.
//!
//! What arrives is an exchange, or a connection that is to ask several of them one after the other: a session. A session has
//! a slot to itself from its arrival on, so that it never finds an idle connection and leaves none.

use crate::full::FullSpans;
use crate::stack::Stack;
use crate::thread::CONNECTS_AT_ONCE;
use plan::{Arrivals, Load, Pacing, Plan};
use record::Waits;
use units::{Instant, Nanos, Rate};

/// One thread's schedule, and its free slots.
#[derive(Debug)]
pub(crate) struct Schedule {
    rate: Rate,
    arrivals: Arrivals,
    origin: Instant,
    pacing: Option<Pacing>,
    /// When the first exchange that was not assigned yet is due; `NEVER` when there are no more.
    pub(crate) head: Instant,
    /// Open connections with nothing under way.
    pub(crate) idle: Stack,
    /// Slots without a connection.
    pub(crate) vacant: Stack,
    /// When neither had a slot for what was due.
    pub(crate) full: FullSpans,
    places: Vec<Place>,
    /// The session on each slot; empty where exchanges arrive.
    sessions: Vec<Option<Session>>,
    /// Exchanges that an arrival stands for.
    pub(crate) each: u64,
    /// When an exchange was sent last.
    pub(crate) last_sent: Instant,
    /// The most connects that may be under way at a time.
    pub(crate) most_connecting: u32,
    /// What may still be assigned before the kernel is asked whether answers have come, in answers.
    allowance: u32,
}

/// So many arrivals are assigned at most before the kernel is asked again, and one more after every so many answers that
/// it had. After a moment in which a thread was kept from its CPU a hundred may be due, and the first of them are
/// answered, and want their stamp, long before the last are sent: what is late already is better sent a little later than
/// answers stamped late. (One for each answer would keep up the number of those that wait for their stamp.)
const BURST: u32 = 4;

/// What an open loop notes of a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Since when it has been free, or its connection usable.
    free: Instant,
    /// What the exchange on it has waited for.
    waits: Waits,
    /// Whether that is still to be written down.
    is_open: bool,
}

/// A connection that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    /// When it was due.
    pub(crate) scheduled: Instant,
    /// Whether that was in the window.
    pub(crate) belongs: bool,
    /// Exchanges that it is still to ask.
    pub(crate) left: u64,
}

impl Schedule {
    /// Returns the schedule that `plan` has for a thread of `threads` with so many `slots`, all of them vacant; none in a
    /// closed loop. Nothing is scheduled before [`Schedule::begin`].
    pub(crate) fn of(plan: &Plan, slots: u32, threads: u32) -> Option<Box<Schedule>> {
        let Load::Open { rate, arrivals, .. } = plan.load else {
            return None;
        };
        let of_sessions = plan.load.is_of_connections();
        let mut vacant = Stack::new(slots);
        (0..slots).rev().for_each(|slot| vacant.push(slot));
        Some(Box::new(Schedule {
            rate,
            arrivals,
            origin: Instant::ZERO,
            pacing: None,
            head: Instant::NEVER,
            idle: Stack::new(slots),
            vacant,
            full: FullSpans::default(),
            last_sent: Instant::ZERO,
            places: vec![Place::default(); slots as usize],
            sessions: vec![None; if of_sessions { slots as usize } else { 0 }],
            each: match of_sessions {
                true => plan.load.exchanges_per_arrival(&plan.protocol),
                false => 1,
            },
            // A rate of connections says by itself how many connect at a time.
            most_connecting: match of_sessions {
                true => u32::MAX,
                false => (CONNECTS_AT_ONCE / threads).max(1),
            },
            allowance: BURST * BURST,
        }))
    }

    /// The kernel is about to be asked for answers.
    pub(crate) fn renew_allowance(&mut self) {
        self.allowance = BURST * BURST;
    }

    /// It had one.
    #[inline]
    pub(crate) fn note_answer(&mut self) {
        self.allowance += 1;
    }

    /// Whether one more may be assigned before the kernel is asked.
    #[inline]
    pub(crate) fn is_allowed(&self) -> bool {
        self.allowance >= BURST
    }

    /// One more is.
    pub(crate) fn note_assigned(&mut self) {
        self.allowance = self.allowance.saturating_sub(BURST);
    }

    /// Begins anew at `origin`, with the arrivals that follow from `seed`.
    pub(crate) fn begin(&mut self, origin: Instant, seed: u64, thread: u32, threads: u32) {
        self.origin = origin;
        self.pacing = Some(Pacing::new(self.arrivals, self.rate, seed, thread, threads));
        self.pass();
    }

    /// Goes on to the next exchange.
    pub(crate) fn pass(&mut self) {
        let next = self.pacing.as_mut().and_then(Iterator::next);
        self.head = next.map_or(Instant::NEVER, |offset| self.origin + offset);
    }

    /// Nothing more is due.
    pub(crate) fn end(&mut self) {
        self.pacing = None;
        self.head = Instant::NEVER;
    }

    /// The next exchange on this slot has waited for one for as long as `queued`.
    pub(crate) fn assign(&mut self, slot: u32, queued: Nanos) {
        let place = &mut self.places[slot as usize];
        place.waits = Waits {
            queued,
            connecting: Nanos::ZERO,
        };
        place.is_open = true;
    }

    /// Whether connections arrive, and not exchanges.
    pub(crate) fn is_of_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Place of the session on this slot; none where requests arrive.
    pub(crate) fn session(&mut self, slot: u32) -> Option<&mut Option<Session>> {
        self.sessions.get_mut(slot as usize)
    }

    /// The slot has become free, or usable, at `at`, its connection after `connecting`.
    pub(crate) fn free(&mut self, slot: u32, at: Instant, connecting: Nanos) {
        let place = &mut self.places[slot as usize];
        place.free = at;
        place.waits.connecting = connecting;
    }

    /// Since when the slot has been free, or its connection usable: before that no exchange on it waits for the server.
    pub(crate) fn free_since(&self, slot: u32) -> Instant {
        self.places[slot as usize].free
    }

    /// What the exchange on this slot has waited for; told once.
    pub(crate) fn waits(&mut self, slot: u32) -> Option<Waits> {
        let place = &mut self.places[slot as usize];
        std::mem::take(&mut place.is_open).then_some(place.waits)
    }
}

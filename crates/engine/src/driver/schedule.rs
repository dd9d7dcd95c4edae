//! When what arrives at an open loop's thread is due, and which slots are free for it.
//!
//! What is due and waits is not stored: the schedule stands at the first arrival that was not assigned, and all that
//! are due by now and not before it are the backlog. So a backlog of any length costs nothing.

use super::full::FullSpans;
use super::stack::Stack;
use super::{Arrival, Next};
use crate::quota::Quota;
use plan::{Arrivals, Pacing};
use record::Waits;
use units::{Instant, Nanos, Rate};

/// One thread's schedule, and its free slots.
#[derive(Debug)]
pub(crate) struct Schedule {
    rate: Rate,
    arrivals: Arrivals,
    origin: Instant,
    pacing: Option<Pacing>,
    /// When the first arrival that was not assigned yet is due; `NEVER` when there are no more.
    pub(super) head: Instant,
    /// Open connections with nothing under way.
    pub(super) idle: Stack,
    /// Slots without a connection.
    pub(super) vacant: Stack,
    /// When neither had a slot for what was due.
    pub(super) full: FullSpans,
    places: Vec<Place>,
    /// When an exchange was sent last.
    pub(super) last_sent: Instant,
    /// The most connects that may be under way at a time.
    most_connecting: u32,
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

impl Schedule {
    /// Arrivals at `rate` for so many `slots`, all of them vacant, of which so many may be connecting at a time. Nothing is
    /// scheduled before [`Schedule::begin`].
    pub(super) fn new(
        rate: Rate,
        arrivals: Arrivals,
        slots: u32,
        most_connecting: u32,
    ) -> Schedule {
        let mut vacant = Stack::new(slots);
        (0..slots).rev().for_each(|slot| vacant.push(slot));
        Schedule {
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
            most_connecting,
            allowance: BURST * BURST,
        }
    }

    /// The kernel is about to be asked for answers.
    pub(super) fn renew_allowance(&mut self) {
        self.allowance = BURST * BURST;
    }

    /// It had one.
    #[inline]
    pub(super) fn note_answer(&mut self) {
        self.allowance += 1;
    }

    /// Whether one more may be assigned before the kernel is asked.
    #[inline]
    fn is_allowed(&self) -> bool {
        self.allowance >= BURST
    }

    /// Begins anew at `origin`, with the arrivals that follow from `seed`.
    pub(super) fn begin(&mut self, origin: Instant, seed: u64, thread: u32, threads: u32) {
        self.origin = origin;
        self.pacing = Some(Pacing::new(self.arrivals, self.rate, seed, thread, threads));
        self.head = Instant::ZERO;
        self.pass();
    }

    /// Goes on to the next arrival.
    fn pass(&mut self) {
        let next = self.pacing.as_mut().and_then(Iterator::next);
        let next = next.map_or(Instant::NEVER, |offset| self.origin + offset);
        debug_assert!(next >= self.head, "arrivals are in their order");
        self.head = next;
    }

    /// Nothing more is due.
    fn end(&mut self) {
        self.pacing = None;
        self.head = Instant::NEVER;
    }

    /// What may be done at `now` about what is due: an idle connection takes it, the last used first; a vacant slot where there
    /// is none and one more may be `connecting`; else it waits, first come first served, still counted from its due.
    pub(super) fn next(&mut self, now: Instant, connecting: u32) -> Next {
        if self.head > now {
            return Next::Wait;
        }
        let may_open = connecting < self.most_connecting && !self.vacant.is_empty();
        if self.idle.is_empty() && !may_open {
            self.full.begin(now);
            return Next::Wait;
        }
        self.full.end(now);
        if !self.is_allowed() {
            return Next::AskFirst;
        }
        let free = self.idle.pop().or_else(|| self.vacant.pop());
        free.map_or(Next::Wait, Next::Slot)
    }

    /// Gives a slot the first arrival that is due by `now` and was not assigned, if one may be before answers are asked for. It
    /// stands for `each` so many exchanges.
    pub(super) fn take(
        &mut self,
        slot: u32,
        each: u64,
        now: Instant,
        quota: &mut Quota,
    ) -> Option<Arrival> {
        while self.head <= now && self.is_allowed() {
            let scheduled = self.head;
            match quota.take_arrival(scheduled, each) {
                Some((belongs, left)) => {
                    self.allowance = self.allowance.saturating_sub(BURST);
                    let queued = self.full.within(scheduled, now);
                    self.assign(slot, queued);
                    self.pass();
                    return Some(Arrival {
                        scheduled,
                        belongs,
                        left,
                    });
                }
                // There is nothing left for it to ask, unless a session ends early.
                None if quota.is_promised(scheduled) => self.pass(),
                None => self.end(),
            }
        }
        None
    }

    /// Gives up the first that was not assigned, if it was due before `limit`; once there is none, nothing more is due.
    pub(super) fn abandon(&mut self, limit: Instant, quota: &mut Quota) -> Option<(Instant, bool)> {
        let scheduled = self.head;
        let taken = match scheduled < limit {
            true => quota.take_arrival(scheduled, 1),
            false => None,
        };
        match taken {
            Some((belongs, _)) => {
                self.pass();
                Some((scheduled, belongs))
            }
            None => {
                self.end();
                None
            }
        }
    }

    /// The next exchange on this slot has waited for one for as long as `queued`.
    pub(super) fn assign(&mut self, slot: u32, queued: Nanos) {
        let place = &mut self.places[slot as usize];
        place.waits = Waits {
            queued,
            connecting: Nanos::ZERO,
        };
        place.is_open = true;
    }

    /// Keeps a slot for which nothing was due at `now`.
    pub(super) fn park(&mut self, slot: u32, is_open: bool, now: Instant) {
        self.full.end(now);
        match is_open {
            true => self.idle.push(slot),
            false => self.vacant.push(slot),
        }
    }

    /// The slot has become free, or usable, at `at`, its connection after `connecting`.
    pub(super) fn freed(&mut self, slot: u32, at: Instant, connecting: Nanos) {
        let place = &mut self.places[slot as usize];
        place.free = at;
        place.waits.connecting = connecting;
    }

    /// Since when the slot has been free, or its connection usable: before that no exchange on it waits for the server.
    pub(super) fn free_since(&self, slot: u32) -> Instant {
        self.places[slot as usize].free
    }

    /// What the exchange on this slot, sent at `sent`, has waited for; told once.
    pub(super) fn waits(&mut self, slot: u32, sent: Instant) -> Option<Waits> {
        let place = &mut self.places[slot as usize];
        if !std::mem::take(&mut place.is_open) {
            return None;
        }
        self.last_sent = sent;
        Some(place.waits)
    }
}

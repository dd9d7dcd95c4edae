//! Connections that arrive: each has a slot to itself from its arrival on, so that it never finds an idle connection and leaves
//! none, and asks its exchanges one after the other, each due when the one before it is over.

use super::Arrival;
use super::schedule::Schedule;
use crate::quota::Quota;
use crate::slot::Pending;
use units::{Instant, Nanos};

/// One thread's connections that arrive, and have arrived.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// When they are due.
    pub(super) schedule: Schedule,
    /// Exchanges that each is to ask.
    each: u64,
    /// The one on each slot.
    on: Vec<Option<Arrival>>,
}

impl Sessions {
    /// Those that `schedule` has, with `each` so many exchanges, on so many `slots`.
    pub(super) fn new(schedule: Schedule, each: u64, slots: u32) -> Sessions {
        Sessions {
            schedule,
            each,
            on: vec![None; slots as usize],
        }
    }

    /// The first exchange of the first connection that was due by `now` and is not here yet: it gets this slot.
    pub(super) fn take(&mut self, slot: u32, now: Instant, quota: &mut Quota) -> Option<Pending> {
        let arrival = self.schedule.take(slot, self.each, now, quota)?;
        debug_assert!(self.on[slot as usize].is_none(), "two on one slot");
        self.on[slot as usize] = Some(arrival);
        Some(arrival.first())
    }

    /// The next exchange of the one on this slot, due since the one before it was over.
    pub(super) fn go_on(&mut self, slot: u32, quota: &mut Quota) -> Option<Pending> {
        let scheduled = self.schedule.free_since(slot);
        let session = self.on[slot as usize].as_mut();
        let session = session.filter(|session| session.left > 0)?;
        let belongs = quota.take_promised(scheduled)?;
        session.left -= 1;
        self.schedule.assign(slot, Nanos::ZERO);
        Some(Pending { scheduled, belongs })
    }

    /// It has asked all, and its connection is to be closed; or a slot without one waits for the next.
    pub(super) fn park(&mut self, slot: u32, is_open: bool, now: Instant) -> bool {
        match is_open {
            true => self.schedule.full.end(now),
            false => self.schedule.park(slot, false, now),
        }
        is_open
    }

    /// The connection on this slot is gone.
    pub(super) fn end(&mut self, slot: u32) -> Option<Arrival> {
        self.on[slot as usize].take()
    }
}

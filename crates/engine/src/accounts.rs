//! Where a thread's time goes: read when the window opens and when it closes, so that an exchange pays nothing for it.

use kernel::accounts::{ThreadAccounts as Reading, ThreadMeter};
use record::{Awake, ThreadAccounts, Turns};
use std::rc::Rc;
use units::{Instant, Nanos};

/// A thread's accounts of one round.
#[derive(Debug)]
pub(crate) struct Accounts {
    index: u32,
    meter: Rc<ThreadMeter>,
    start: Instant,
    end: Instant,
    opening: Option<(Instant, Reading, Turns)>,
    closing: Option<(Instant, Reading, Turns)>,
    /// Turns since the thread began.
    pub(crate) turns: Turns,
}

impl Accounts {
    /// The accounts of thread `index`, to be used on that thread alone.
    pub(crate) fn new(index: u32) -> Accounts {
        Accounts {
            index,
            meter: Rc::new(ThreadMeter::new()),
            start: Instant::NEVER,
            end: Instant::NEVER,
            opening: None,
            closing: None,
            turns: Turns::default(),
        }
    }

    /// What it reads, for whoever wants to know more of the same thread.
    pub(crate) fn meter(&self) -> Rc<ThreadMeter> {
        self.meter.clone()
    }

    /// The window is known now.
    pub(crate) fn window(&mut self, start: Instant, end: Instant) {
        (self.start, self.end) = (start, end);
    }

    /// The window ends earlier than planned.
    pub(crate) fn cut(&mut self, end: Instant) {
        self.end = self.end.min(end);
    }

    /// Takes a reading if an edge of the window has been reached; returns the next edge.
    pub(crate) fn tend(&mut self, now: Instant) -> Instant {
        if now < self.start {
            return self.start;
        }
        if self.opening.is_none() {
            self.opening = Some((now, self.meter.read(), self.turns));
        }
        if now < self.end {
            return self.end;
        }
        self.close(now);
        Instant::NEVER
    }

    /// Takes the last reading, unless it was taken.
    pub(crate) fn close(&mut self, now: Instant) {
        if self.opening.is_some() && self.closing.is_none() {
            self.closing = Some((now, self.meter.read(), self.turns));
        }
    }

    /// What lies between the readings.
    pub(crate) fn finish(self) -> ThreadAccounts {
        let (Some((from, opening, before)), Some((to, closing, after))) =
            (self.opening, self.closing)
        else {
            return ThreadAccounts {
                thread: self.index,
                ..ThreadAccounts::default()
            };
        };
        let spent = closing.minus(&opening);
        ThreadAccounts {
            thread: self.index,
            cpu_pinned: None,
            spun: Nanos::ZERO,
            awake: Awake::Never,
            wall: to - from,
            user: spent.user,
            system: spent.system,
            cpu: spent.cpu,
            run_queue_wait: spent.run_queue_wait,
            turns: Turns {
                waits: after.waits - before.waits,
                completions: after.completions - before.completions,
            },
        }
    }
}

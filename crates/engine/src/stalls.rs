//! Notes the spans in which nothing ended although exchanges were in flight: what a closed loop asks nothing in.
//!
//! An ending pays one comparison. What is rare is here: how much of a span the exchange that ended it was in flight, how
//! much of it lies inside the window, and how much of it this thread itself did not run. An open loop, whose schedule asks
//! on meanwhile, notes nothing.

use record::Stalls;
use units::{Instant, Nanos};

/// What one thread notes of its stalls.
#[derive(Debug)]
pub(crate) struct StallDetector {
    /// From this span between two endings on, it is looked at; never in an open loop.
    pub(crate) from: Nanos,
    /// Exchanges that can be in flight on this thread.
    capacity: u64,
    /// Exchanges of the window after which nothing is left to be asked.
    pub(crate) number: u64,
    stalls: Option<Box<Stalls>>,
    /// How long this thread had not run when something had just ended. Delays before a gap that are younger are taken for
    /// part of it: at most those since the watchdog's last look.
    reading: Nanos,
}

impl StallDetector {
    /// What a thread notes of a closed loop on which `capacity` exchanges can be in flight; of an open one, without a
    /// `capacity`: nothing.
    pub(crate) fn new(capacity: Option<u64>) -> StallDetector {
        StallDetector {
            from: capacity.map_or(Instant::NEVER - Instant::ZERO, |_| Stalls::SHORTEST),
            capacity: capacity.unwrap_or(0),
            number: u64::MAX,
            stalls: capacity.map(|_| Box::default()),
            reading: Nanos::ZERO,
        }
    }

    /// Nothing ended between `last` and `done`, when the exchange did that was sent at `sent`; `scheduled` were
    /// scheduled so far, and the thread did not run for `own` since it began.
    #[cold]
    pub(crate) fn note(
        &mut self,
        last: Instant,
        sent: Instant,
        done: Instant,
        scheduled: u64,
        own: Nanos,
    ) {
        let own_delay = own.saturating_sub(self.reading);
        self.reading = own;
        let length = done - last.max(sent);
        if let Some(stalls) = &mut self.stalls
            && length > Stalls::SHORTEST
            && scheduled < self.number
        {
            stalls.add(length, own_delay, self.capacity);
        }
    }

    /// The thread did not run for `own` since it began: what later stalls are counted from.
    pub(crate) fn read(&mut self, own: Nanos) {
        self.reading = own;
    }

    /// The same, unless a gap may have begun since `last`.
    pub(crate) fn tend(&mut self, own: Nanos, last: Instant, now: Instant) {
        if now - last < self.from {
            self.read(own);
        }
    }

    /// What was noted, over a window of `time`.
    pub(crate) fn finish(&mut self, time: Nanos) -> Option<Box<Stalls>> {
        let mut stalls = self.stalls.take()?;
        stalls.time = time;
        Some(stalls)
    }
}

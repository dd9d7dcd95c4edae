//! Notes the spans in which nothing ended although exchanges were in flight: what a closed loop asks nothing in.
//!
//! An ending pays one comparison. What is rare is here: how much of a span the exchange that ended it was in flight, how
//! much of it lies inside the window, and how much of it this thread itself spent waiting for a CPU. An open loop, whose
//! schedule asks on meanwhile, notes nothing.

use kernel::accounts::ThreadMeter;
use record::Gaps;
use std::rc::Rc;
use units::{Instant, Nanos};

/// How old the reading may be that a gap's own wait is counted from. Waits before the gap that are younger are taken for
/// part of it, so it is to be short beside gaps that matter; and a reading costs a microsecond.
const READING_EVERY: Nanos = Nanos::from_millis(10);

/// What one thread notes of its gaps.
#[derive(Debug)]
pub(crate) struct GapWatch {
    /// From this span between two endings on, it is looked at; never in an open loop.
    pub(crate) from: Nanos,
    /// Exchanges that can be in flight on this thread.
    capacity: u64,
    /// Exchanges of the window after which nothing is left to be asked.
    pub(crate) number: u64,
    gaps: Option<Box<Gaps>>,
    /// How long this thread has waited for a CPU; none in virtual time.
    meter: Option<Rc<ThreadMeter>>,
    /// What the meter said when something had just ended.
    reading: Nanos,
}

impl GapWatch {
    /// What a thread of a closed loop notes on which `capacity` exchanges can be in flight.
    pub(crate) fn closed(capacity: u64, meter: Option<Rc<ThreadMeter>>) -> GapWatch {
        GapWatch {
            from: Gaps::SHORTEST,
            capacity,
            gaps: Some(Box::default()),
            meter,
            ..GapWatch::open()
        }
    }

    /// What a thread of an open loop notes: nothing.
    pub(crate) fn open() -> GapWatch {
        GapWatch {
            from: Instant::NEVER - Instant::ZERO,
            capacity: 0,
            number: u64::MAX,
            gaps: None,
            meter: None,
            reading: Nanos::ZERO,
        }
    }

    /// Nothing ended between `last` and `done`, when the exchange did that was sent at `sent`; `due` were due so far.
    #[cold]
    pub(crate) fn note(&mut self, last: Instant, sent: Instant, done: Instant, due: u64) {
        let waited = self.waited();
        let length = done - last.max(sent);
        if let Some(gaps) = &mut self.gaps
            && length > Gaps::SHORTEST
            && due < self.number
        {
            gaps.add(length, waited, self.capacity);
        }
    }

    /// How long this thread waited for a CPU since the last reading.
    fn waited(&mut self) -> Nanos {
        let before = self.reading;
        self.read();
        self.reading.saturating_sub(before)
    }

    /// Takes the reading that later gaps are counted from.
    pub(crate) fn read(&mut self) {
        let meter = self.meter.as_ref();
        self.reading = meter
            .and_then(|meter| meter.run_queue_wait())
            .unwrap_or_default();
    }

    /// Takes a reading, unless a gap may have begun since `last`; returns when the next is due.
    pub(crate) fn tend(&mut self, last: Instant, now: Instant) -> Instant {
        if self.meter.is_none() {
            return Instant::NEVER;
        }
        if now - last < self.from {
            self.read();
        }
        now + READING_EVERY
    }

    /// What was noted, over a window of `time`.
    pub(crate) fn finish(&mut self, time: Nanos) -> Option<Box<Gaps>> {
        let mut gaps = self.gaps.take()?;
        gaps.time = time;
        Some(gaps)
    }
}

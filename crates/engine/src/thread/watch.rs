//! How a thread waits that is not to sleep through what comes next.
//!
//! From sleep a thread wakes late, by what the kernel takes for a timer, or an answer, to become a running thread. So for
//! the last stretch before an exchange is due it asks the kernel again and again instead, and for as long after one was
//! sent, because a fast server's answer comes then; but not while something that is due waits for a connection, when nothing
//! can be in time any more, and a server beside it may need the CPU. What that took for nothing is written down: it is no work.

use super::Thread;
use kernel::Ring;
use record::BusyPoll;
use units::{Instant, Nanos};
use wire::Connection;

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// Catches up with the schedule, and says until when this turn may sleep: not at all where that is over.
    #[inline(never)] // a closed loop that may sleep is to carry nothing of it
    pub(super) fn watch(&mut self, until: Instant) -> Instant {
        let scheduled = self.catch_up();
        let sleep = match self.accounts.busy_poll {
            BusyPoll::Never => Instant::NEVER,
            BusyPoll::Always => Instant::ZERO,
            // What is due waits for a slot: no due can be met, and the server is to have the CPU.
            BusyPoll::Near(_) if self.driver.head() <= self.clock => Instant::NEVER,
            BusyPoll::Near(stretch) if self.expects_answer(stretch) => Instant::ZERO,
            BusyPoll::Near(stretch) => before(scheduled, stretch),
        };
        self.is_polling = sleep <= self.clock;
        until.min(scheduled).min(sleep)
    }

    /// Until when a thread may sleep for which the load begins at `start`.
    pub(super) fn wake_by(&self, start: Instant) -> Instant {
        match self.accounts.busy_poll {
            BusyPoll::Never => start,
            BusyPoll::Near(stretch) => before(start, stretch),
            BusyPoll::Always => self.clock,
        }
    }

    /// Whether an answer is awaited, and something was sent less than `stretch` ago.
    fn expects_answer(&self, stretch: Nanos) -> bool {
        self.under_way > 0 && self.driver.has_sent_within(stretch, self.clock)
    }

    /// The wait has brought nothing: the clock is read, and what was spun is not charged as work.
    #[inline]
    pub(super) fn note_nothing(&mut self) {
        let now = self.ring.now();
        if self.is_polling {
            self.accounts.spun += now - self.clock;
            self.accounts.turns.waits -= 1;
        }
        self.clock = now;
    }
}

/// `scheduled - span`, or `NEVER` if nothing is scheduled.
fn before(scheduled: Instant, span: Nanos) -> Instant {
    match scheduled {
        Instant::NEVER => scheduled,
        scheduled => Instant::from_nanos(scheduled.as_nanos().saturating_sub(span.as_nanos())),
    }
}

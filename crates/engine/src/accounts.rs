//! Where a thread's time goes: read when the window opens and when it closes, so that an exchange pays nothing for it.

use kernel::accounts::{ThreadAccounts as Reading, ThreadMeter};
use record::{BusyPoll, Round, ThreadAccounts, Turns};
use std::rc::Rc;
use units::{Instant, Nanos};

/// A thread that is busy for more of the window than this is taken for one that could not do more (as in "who was the
/// limit").
const BUSY_FROM: f64 = 0.85;

/// A thread's accounts of one round.
#[derive(Debug)]
pub(crate) struct Accounts {
    index: u32,
    meter: Rc<ThreadMeter>,
    start: Instant,
    end: Instant,
    opening: Option<Mark>,
    closing: Option<Mark>,
    /// Turns since the thread began.
    pub(crate) turns: Turns,
    /// Time spent awake for nothing, on purpose, since the thread began.
    pub(crate) spun: Nanos,
    /// When the thread is to wait awake.
    pub(crate) busy_poll: BusyPoll,
}

/// What the accounts were at one moment.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Instant,
    reading: Reading,
    turns: Turns,
    spun: Nanos,
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
            spun: Nanos::ZERO,
            busy_poll: BusyPoll::Never,
        }
    }

    /// Returns the thread's CPU meter, which the watchdog shares.
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
            self.opening = Some(self.mark(now));
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
            self.closing = Some(self.mark(now));
        }
    }

    fn mark(&self, at: Instant) -> Mark {
        Mark {
            at,
            reading: self.meter.read(),
            turns: self.turns,
            spun: self.spun,
        }
    }

    /// Whether the thread was at work, or waited for a CPU, nearly all through the window that is closed now: then it was
    /// this thread that could not do more.
    pub(crate) fn was_busy(&self) -> bool {
        let spent = self.spent();
        spent.wall >= Round::SHARES_FROM && spent.wanted() > BUSY_FROM
    }

    /// Returns what lies between the readings.
    pub(crate) fn spent(&self) -> ThreadAccounts {
        let mut accounts = ThreadAccounts {
            thread: self.index,
            busy_poll: self.busy_poll,
            ..ThreadAccounts::default()
        };
        if let (Some(opening), Some(closing)) = (self.opening, self.closing) {
            let spent = closing.reading.minus(&opening.reading);
            accounts.wall = closing.at - opening.at;
            accounts.user = spent.user;
            accounts.system = spent.system;
            accounts.cpu = spent.cpu;
            accounts.run_queue_wait = spent.run_queue_wait;
            accounts.busy_polled = closing.spun.saturating_sub(opening.spun);
            accounts.turns = Turns {
                waits: closing.turns.waits - opening.turns.waits,
                completions: closing.turns.completions - opening.turns.completions,
            };
        }
        accounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    #[test]
    fn busy_is_who_worked_or_waited_for_a_cpu_nearly_all_the_time() {
        // window, CPU, wait for a CPU and spinning in ms
        for (wall, cpu, waited, spun, wanted) in [
            (100, 86, 0, 0, true),
            (100, 85, 0, 0, false),
            (100, 40, 50, 0, true),
            (100, 99, 0, 90, false),
            (9, 9, 0, 0, false), // too short for shares of time
        ] {
            let mut accounts = Accounts::new(0);
            assert!(!accounts.was_busy(), "its window is not over");
            let mark = |at: u64, cpu: u64, waited: u64, spun: u64| Mark {
                at: Instant::ZERO + MS * at,
                reading: Reading {
                    cpu: MS * cpu,
                    run_queue_wait: Some(MS * waited),
                    ..Reading::default()
                },
                turns: Turns::default(),
                spun: MS * spun,
            };
            accounts.opening = Some(mark(7, 3, 2, 1));
            accounts.closing = Some(mark(7 + wall, 3 + cpu, 2 + waited, 1 + spun));
            assert_eq!(accounts.was_busy(), wanted, "{wall} {cpu} {waited} {spun}");
        }
    }
}

//! Between the drain and the end: connections stay open until the observer has looked.
//!
//! A server's memory while its connections are open can be read only while they are, and not in the window, which that
//! would disturb. So each thread says that it has drained and waits; the observer, who takes no part in the round, looks
//! once all have, and lets them go. It waits on a condition and not at the barrier, because a thread has nothing
//! else to do here, and because there may be no observer: then it does not wait.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use units::Nanos;

/// How long a thread keeps its connections open for the observer: reading the memory of a large server takes some tenths
/// of a second, and a round must end whatever the observer does.
const MOST: Nanos = Nanos::from_secs(2);

/// How often a waiting thread looks whether it is to leave.
const POLL: Duration = Duration::from_millis(10);

/// Where drained threads wait with their connections open.
#[derive(Debug, Default)]
pub(crate) struct HoldOpen {
    is_watched: AtomicBool,
    drained: AtomicU32,
    open: AtomicU64,
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl HoldOpen {
    /// The observer will look, and say so with [`HoldOpen::release`].
    pub(crate) fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// One thread has drained, with `open` connections.
    pub(crate) fn drained(&self, open: u64) {
        self.open.fetch_add(open, Ordering::Relaxed);
        self.drained.fetch_add(1, Ordering::AcqRel);
    }

    /// How many connections are open, once all of `threads` have drained.
    pub(crate) fn open(&self, threads: u32) -> Option<u64> {
        let all = self.drained.load(Ordering::Acquire) == threads;
        all.then(|| self.open.load(Ordering::Relaxed))
    }

    /// Waits until the observer has looked, `stopped` says that every thread is to leave, or it has been long enough.
    pub(crate) fn wait(&self, stopped: impl Fn() -> bool) {
        if !self.is_watched.load(Ordering::Relaxed) {
            return;
        }
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = kernel::clock::now() + MOST;
        while !*is_over && !stopped() && kernel::clock::now() < deadline {
            let waited = self.changed.wait_timeout(is_over, POLL);
            (is_over, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the waiting go.
    pub(crate) fn release(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_waits_without_an_observer() {
        let hold_open = HoldOpen::default();
        hold_open.drained(3);
        hold_open.wait(|| panic!("it looked around"));
        assert_eq!((hold_open.open(1), hold_open.open(2)), (Some(3), None));
    }

    #[test]
    fn drained_threads_wait_until_the_observer_has_looked_at_all_connections() {
        let hold_open = HoldOpen::default();
        hold_open.watch();
        let is_released = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let live = |open| {
                hold_open.drained(open);
                hold_open.wait(|| false);
                is_released.load(Ordering::Relaxed)
            };
            let threads = [3, 4].map(|open| scope.spawn(move || live(open)));
            while hold_open.open(2).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(hold_open.open(2), Some(7));
            is_released.store(true, Ordering::Relaxed);
            hold_open.release();
            let waited = threads.map(|thread| thread.join().unwrap());
            assert_eq!(waited, [true, true]);
        });
    }

    #[test]
    fn a_thread_that_is_to_leave_does_not_wait() {
        let hold_open = HoldOpen::default();
        hold_open.watch();
        hold_open.wait(|| true);
    }
}

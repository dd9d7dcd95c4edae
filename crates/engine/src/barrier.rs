//! Where threads that otherwise share nothing meet: one start, one window, one end for all.
//!
//! A barrier point opens when the last thread has arrived, at a moment shortly after, so that all of them pass it together.
//! Inside a window threads only read `stopped`, a line of memory that is not written.

use crate::hold_open::HoldOpen;
use crate::round::Part;
use record::Tally;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::{Instant, Nanos};

/// How long after the last arrival a barrier point opens: enough for threads that poll once a millisecond to see it.
const NOTICE: Nanos = Nanos::from_millis(3);

/// What all threads wait for before they go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyncPoint {
    /// Connections are up (or have been tried): the load begins.
    Ready,
    /// The warm-up's last exchange has ended: exactly N become due now.
    Settled,
}

impl SyncPoint {
    /// Every barrier point, in the order in which threads come to them.
    pub const ALL: [SyncPoint; 2] = [SyncPoint::Ready, SyncPoint::Settled];
}

/// When the points open, where that is decided outside: for several processes that carry out one round, at once.
#[derive(Debug, Default)]
pub struct StartSignal {
    /// In nanoseconds; 0 while it is not decided.
    opens: [AtomicU64; 2],
}

impl StartSignal {
    /// Opens `sync_point` at `at`, on the monotonic clock: a few milliseconds ahead, so that every thread sees it before.
    pub fn open(&self, sync_point: SyncPoint, at: Instant) {
        self.opens[sync_point as usize].store(at.as_nanos(), Ordering::Release);
    }

    fn opened(&self, sync_point: SyncPoint) -> Option<Instant> {
        match self.opens[sync_point as usize].load(Ordering::Acquire) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }
}

/// The meeting place of one round's threads.
#[derive(Debug)]
pub struct Barrier<'a> {
    threads: u32,
    arrived: [AtomicU32; 2],
    /// When the points open, as far as the threads of this process say.
    opened: StartSignal,
    failed: AtomicBool,
    cut: AtomicU64,
    stop: &'a AtomicBool,
    window: [AtomicU64; 2],
    left: AtomicU32,
    ended: AtomicU32,
    pub(crate) hold_open: HoldOpen,
    pulses: Vec<Pulse>,
    /// The thread that looks on, to be woken when there is something to see.
    observer: std::thread::Thread,
    /// Where further processes take part: when barrier points open for all of them.
    start_signal: Option<&'a StartSignal>,
}

/// What one thread lets others see while it works; alone on its cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Pulse {
    ok: AtomicU64,
    errors: AtomicU64,
    scheduled: AtomicU64,
    /// Whether the observer wants the latencies so far, and they are not there yet.
    wants_latency: AtomicBool,
    /// The latencies so far when they were last asked for, packed.
    latency: Mutex<Histogram>,
}

/// How far a round has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Exchanges of the window that ended well.
    pub ok: u64,
    /// Those that did not.
    pub errors: u64,
    /// Those that became due.
    pub scheduled: u64,
    /// When the window opened; none before.
    pub window_start: Option<Instant>,
    /// p50 and p99 of what ended in the last second, where the observer wants them and the samples carry them.
    pub last_second: [Option<Nanos>; 2],
}

impl<'a> Barrier<'a> {
    /// A barrier for `threads` threads, watched by the calling one; when `stop` becomes true they leave early.
    pub fn new(threads: u32, stop: &'a AtomicBool) -> Barrier<'a> {
        Barrier {
            threads,
            arrived: Default::default(),
            opened: StartSignal::default(),
            failed: AtomicBool::new(false),
            cut: AtomicU64::new(u64::MAX),
            stop,
            window: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            left: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            hold_open: HoldOpen::default(),
            pulses: (0..threads).map(|_| Pulse::default()).collect(),
            observer: std::thread::current(),
            start_signal: None,
        }
    }

    /// A barrier for all of a round's `threads`, or for those of a part of it, of which further processes have the others:
    /// its sync points open when the part's signal says. Connections are held open for the observer at its end.
    ///
    /// # Panics
    /// There is no thread for the part.
    pub(crate) fn of_part(
        threads: u32,
        part: Option<(Part, &'a StartSignal)>,
        stop: &'a AtomicBool,
    ) -> Barrier<'a> {
        let mut barrier = Barrier::new(threads, stop);
        barrier.hold_open.watch();
        if let Some((part, start_signal)) = part {
            barrier.threads = plan::share(u64::from(threads), part.index, part.of) as u32;
            barrier.start_signal = Some(start_signal);
            assert!(barrier.threads > 0, "there is no thread for this process");
        }
        barrier
    }

    /// One thread has come as far as `sync_point`; called once a thread and barrier point.
    pub(crate) fn arrive(&self, sync_point: SyncPoint, now: Instant) {
        if self.arrived[sync_point as usize].fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.opened.open(sync_point, now + NOTICE);
            self.observer.unpark();
        }
    }

    /// When `sync_point` opens; none while threads are missing, here or in another process.
    pub(crate) fn opened(&self, sync_point: SyncPoint) -> Option<Instant> {
        let here = self.opened.opened(sync_point)?;
        match self.start_signal {
            Some(everywhere) => everywhere.opened(sync_point),
            None => Some(here),
        }
    }

    /// Whether every thread of this process has come as far as `sync_point`.
    pub(crate) fn all_arrived(&self, sync_point: SyncPoint) -> bool {
        self.opened.opened(sync_point).is_some()
    }

    /// Whether every thread is to leave: an interrupt, or another thread's panic.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// The moment at which a stopped round ends, the same for all threads: the first to ask decides.
    pub(crate) fn cut(&self, now: Instant) -> Instant {
        let first = self.cut.compare_exchange(
            u64::MAX,
            now.as_nanos(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        Instant::from_nanos(first.err().unwrap_or(now.as_nanos()))
    }

    /// Tells the observers when the window opens and, where it is known beforehand, when it closes.
    pub(crate) fn announce(&self, start: Instant, end: Instant) {
        self.window[1].store(end.as_nanos(), Ordering::Relaxed);
        self.window[0].store(start.as_nanos(), Ordering::Release);
        self.observer.unpark();
    }

    /// When the window opens and closes, as announced; `NEVER` while unknown.
    pub(crate) fn window(&self) -> (Instant, Instant) {
        let start = self.window[0].load(Ordering::Acquire);
        let end = self.window[1].load(Ordering::Relaxed);
        (Instant::from_nanos(start), Instant::from_nanos(end))
    }

    /// Shows observers what a thread has counted so far. Its latencies are copied only on request, once a second on a
    /// terminal. That takes a thread 7 us where they fill 1,658 buckets, 31 us where they fill 7,638 (a 2-core virtual
    /// machine, mean of 100 copies).
    pub(crate) fn publish(&self, thread: u32, tally: &Tally) {
        let pulse = &self.pulses[thread as usize];
        pulse.ok.store(tally.ok, Ordering::Relaxed);
        pulse.errors.store(tally.errors(), Ordering::Relaxed);
        pulse.scheduled.store(tally.scheduled, Ordering::Relaxed);
        if pulse.wants_latency.load(Ordering::Relaxed) {
            *locked(&pulse.latency) = tally.latency().packed();
            pulse.wants_latency.store(false, Ordering::Relaxed);
        }
    }

    /// Asks every thread for its latencies so far.
    pub(crate) fn ask_latency(&self) {
        let pulses = self.pulses.iter();
        pulses.for_each(|pulse| pulse.wants_latency.store(true, Ordering::Relaxed));
    }

    /// Returns the latencies that the threads have shown last.
    pub(crate) fn latency(&self) -> Histogram {
        let mut all = Histogram::new();
        let pulses = self.pulses.iter();
        pulses.for_each(|pulse| all.merge(&locked(&pulse.latency)));
        all
    }

    /// All threads' counts so far.
    pub(crate) fn progress(&self) -> Progress {
        let (start, _) = self.window();
        let mut progress = Progress {
            window_start: (start != Instant::NEVER).then_some(start),
            ..Progress::default()
        };
        for pulse in &self.pulses {
            progress.ok += pulse.ok.load(Ordering::Relaxed);
            progress.errors += pulse.errors.load(Ordering::Relaxed);
            progress.scheduled += pulse.scheduled.load(Ordering::Relaxed);
        }
        progress
    }

    /// Ends the round for every thread: it cannot be measured.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        self.observer.unpark();
    }

    /// A thread's window is over (its drain may go on).
    pub(crate) fn leave(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
        self.observer.unpark();
    }

    /// A thread has drained, with `open` connections; it waits until the observer, if there is one, has looked.
    pub(crate) fn drained(&self, open: u64) {
        self.hold_open.drained(open);
        self.observer.unpark();
        self.hold_open.wait(|| self.stopped());
    }

    /// How many connections are open, once every thread has drained.
    pub(crate) fn open_connections(&self) -> Option<u64> {
        self.hold_open.open(self.threads)
    }

    /// A thread has nothing more to do but to hand over its result.
    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
        self.observer.unpark();
    }

    /// Whether every thread has come to its end, or one of them to grief.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) == self.threads || self.failed.load(Ordering::Relaxed)
    }

    /// Whether every thread's window is over.
    pub(crate) fn all_left(&self) -> bool {
        self.left.load(Ordering::Acquire) == self.threads
    }

    /// Lets every thread go should the holder's thread panic: its tally is lost, so the round is void.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// A thread that panicked has spoilt the round, not what others read.
fn locked(latency: &Mutex<Histogram>) -> MutexGuard<'_, Histogram> {
    latency.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`Barrier::guard`].
pub(crate) struct Guard<'a>(&'a Barrier<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Blame;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_stage_opens_shortly_after_the_last_thread_has_come() {
        let stop = AtomicBool::new(false);
        let barrier = Barrier::new(2, &stop);
        barrier.arrive(SyncPoint::Ready, at(10));
        assert_eq!(barrier.opened(SyncPoint::Ready), None);
        barrier.arrive(SyncPoint::Ready, at(20));
        assert_eq!(barrier.opened(SyncPoint::Ready), Some(at(20) + NOTICE));
        assert_eq!(barrier.opened(SyncPoint::Settled), None);
    }

    #[test]
    fn where_another_process_takes_part_a_stage_opens_when_that_is_said_and_not_before_its_own_threads_have_come()
     {
        let stop = AtomicBool::new(false);
        let start_signal = StartSignal::default();
        let barrier = Barrier::of_part(3, Some((Part { index: 0, of: 3 }, &start_signal)), &stop);
        for sync_point in SyncPoint::ALL {
            barrier.arrive(sync_point, at(10));
            assert!(barrier.all_arrived(sync_point));
            assert_eq!(barrier.opened(sync_point), None);
            start_signal.open(sync_point, at(7_000_000));
            assert_eq!(barrier.opened(sync_point), Some(at(7_000_000)));
        }
        let early = Barrier::of_part(3, Some((Part { index: 0, of: 2 }, &start_signal)), &stop);
        early.arrive(SyncPoint::Ready, at(10));
        assert_eq!(early.opened(SyncPoint::Ready), None);
    }

    #[test]
    fn counts_of_the_threads_that_are_here_are_added_whatever_their_numbers() {
        let stop = AtomicBool::new(false);
        let start_signal = StartSignal::default();
        let barrier = Barrier::of_part(4, Some((Part { index: 0, of: 2 }, &start_signal)), &stop);
        let tally = |ok, errors, scheduled| {
            let mut tally = Tally {
                ok,
                scheduled,
                ..Tally::default()
            };
            tally.observe_never_sent(errors, Nanos::ZERO, Blame::Server);
            tally
        };
        barrier.publish(1, &tally(5, 1, 7));
        barrier.publish(3, &tally(4, 0, 4));
        let progress = barrier.progress();
        assert_eq!(
            (progress.ok, progress.errors, progress.scheduled),
            (9, 1, 11)
        );
        barrier.end();
        assert!(!barrier.is_over());
        barrier.end();
        assert!(barrier.is_over());
    }
}

//! The clocks: CLOCK_MONOTONIC for every stamp, CLOCK_REALTIME only to tell people when a run was.

use std::num::NonZeroU64;
use std::time::Duration;
use units::{Instant, Nanos};

/// Readings over which [`reading_cost`] takes its median: some 0.1 ms with a good clock source.
const READINGS: usize = 4096;
/// Readings of which [`suspended`] takes the best: an interrupt or another thread comes between few of them.
const SUSPENSION_READINGS: u32 = 16;

/// CLOCK_MONOTONIC now. Through the vDSO this is no system call, unless the clock source is a slow one.
#[inline]
pub fn now() -> Instant {
    Instant::from_nanos(read(libc::CLOCK_MONOTONIC).unwrap_or(0))
}

/// The time since 1970-01-01 UTC.
pub fn realtime() -> Duration {
    Duration::from_nanos(read(libc::CLOCK_REALTIME).unwrap_or(0))
}

/// How long the machine has been up, with the time in which it was suspended: what processes' starts are counted from.
pub fn since_boot() -> Nanos {
    Nanos::from_nanos(read(libc::CLOCK_BOOTTIME).unwrap_or(0))
}

/// How long this machine has been suspended since its start: what CLOCK_BOOTTIME, which goes on meanwhile, is ahead of
/// CLOCK_MONOTONIC, which stands still. Of some readings the one that was least disturbed: right to about 0.1 us, which
/// is what two such times differ by when nothing has happened between them.
pub fn suspended() -> Nanos {
    let readings = (0..SUSPENSION_READINGS).map(|_| suspension());
    let (_, ahead) = readings.min().unwrap_or_default();
    ahead
}

/// How long a reading of both clocks took, and how far apart they were.
fn suspension() -> (Nanos, Nanos) {
    let before = now();
    let boot = since_boot();
    let after = now();
    let middle = before + (after - before) / 2;
    (
        after - before,
        Instant::from_nanos(boot.as_nanos()) - middle,
    )
}

/// What one reading of [`now`] costs: the median over a few thousand pairs of neighbouring readings. About 20 ns
/// through the vDSO; several hundred where the clock source (hpet, acpi_pm) makes each reading a system call.
pub fn reading_cost() -> Nanos {
    let mut costs: Vec<Nanos> = (0..READINGS).map(|_| batch_cost()).collect();
    costs.sort_unstable();
    costs[READINGS / 2]
}

/// The mean of eight readings in a row, so that a coarse clock does not read as a free one.
fn batch_cost() -> Nanos {
    let start = now();
    let mut last = start;
    for _ in 0..8 {
        last = std::hint::black_box(now());
    }
    (last - start) / 8
}

/// Asks the kernel to end the calling thread's timed waits as exactly as it can: the default slack is 50 us.
pub(crate) fn tighten_waits() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// So many nanoseconds as system calls take them.
pub(crate) fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    }
}

/// Sleeps until `deadline`, as exactly as the kernel wakes a thread: some microseconds late on a machine with nothing
/// else to do. Not at all when that is over.
pub fn sleep_until(deadline: Instant) {
    tighten_waits();
    let time = timespec(deadline.as_nanos());
    let until = libc::TIMER_ABSTIME;
    // SAFETY: the time outlives the call, and with a deadline no rest is written, hence null.
    let sleep = || unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, until, &time, std::ptr::null_mut())
    };
    // It returns the error, and leaves errno alone.
    while sleep() == libc::EINTR {}
}

/// Nanoseconds of `clock`; none when there is no such clock (any more).
#[inline]
pub(crate) fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call and is what the call fills.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoll, Ring, Uring};

    #[test]
    fn the_clock_never_runs_backwards() {
        let mut last = now();
        for _ in 0..1000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn a_reading_costs_something_but_not_a_millisecond() {
        let cost = reading_cost();
        assert!(
            cost > Nanos::ZERO && cost < Nanos::from_millis(1),
            "{cost:?}"
        );
    }

    #[test]
    fn a_machine_that_was_not_suspended_meanwhile_reads_the_same_again() {
        let (first, later) = (suspended(), suspended());
        let apart = later.as_nanos().abs_diff(first.as_nanos());
        assert!(apart < 100_000, "{first:?}, then {later:?}");
    }

    #[test]
    fn sleeping_ends_after_its_deadline_and_has_no_slack() {
        let slept = || {
            sleep_until(Instant::ZERO);
            for _ in 0..20 {
                let deadline = now() + Nanos::from_micros(200);
                sleep_until(deadline);
                assert!(now() >= deadline, "it ended too early");
            }
            slack()
        };
        // The default slack alone would make each of them 50 us late.
        assert_eq!(std::thread::spawn(slept).join().unwrap(), 1);
    }

    /// The calling thread's timer slack in nanoseconds.
    fn slack() -> libc::c_int {
        // SAFETY: PR_GET_TIMERSLACK takes nothing and touches no memory of ours.
        unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }
    }

    #[test]
    fn who_waits_on_a_ring_has_no_slack_on_any() {
        let after = |ring: fn() -> Option<Box<dyn Ring>>| {
            let wait = move || ring().map(|mut ring| ring.wait(Some(Nanos::ZERO)));
            let waited = std::thread::spawn(move || wait().map(|()| slack()));
            waited.join().unwrap()
        };
        let epoll = after(|| Some(Box::new(Epoll::new().unwrap())));
        assert_eq!(epoll, Some(1));
        let uring = after(|| Some(Box::new(Uring::new().ok()?)));
        assert!(matches!(uring, Some(1) | None), "{uring:?}");
    }

    #[test]
    fn real_time_is_after_the_year_2020() {
        assert!(realtime().as_secs() > 1_577_836_800);
    }
}

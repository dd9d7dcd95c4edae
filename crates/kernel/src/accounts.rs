//! What threads and processes have cost, in the kernel's own figures.
//!
//! It reads and subtracts; what share of a window that was, and what the bottleneck was, is for `audit` to say.

use crate::clock;
use std::fs::File;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use units::Nanos;

/// What one thread has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadAccounts {
    /// CPU time, exact (CLOCK_THREAD_CPUTIME_ID).
    pub cpu: Nanos,
    /// The part of it spent in our code. The kernel divides the exact sum by where its ticks fell, so over less than
    /// a second this is an estimate.
    pub user: Nanos,
    /// The part of it spent in the kernel; with `user` about equal to `cpu`.
    pub system: Nanos,
    /// Time ready to run and not running, because others had the CPU. None where the kernel does not tell.
    pub run_queue_wait: Option<Nanos>,
}

impl ThreadAccounts {
    /// What was added since `earlier`.
    pub fn minus(&self, earlier: &ThreadAccounts) -> ThreadAccounts {
        let waits = self.run_queue_wait.zip(earlier.run_queue_wait);
        ThreadAccounts {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            run_queue_wait: waits.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Reads the accounts of the thread that made it: three system calls each time. It cannot be sent to another thread,
/// whose accounts it would mix with those of the first.
#[derive(Debug)]
pub struct ThreadMeter {
    schedstat: Option<File>,
    here: PhantomData<*const ()>,
}

impl ThreadMeter {
    /// A meter for the calling thread.
    pub fn new() -> ThreadMeter {
        ThreadMeter {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            here: PhantomData,
        }
    }

    /// The thread's accounts now.
    pub fn read(&self) -> ThreadAccounts {
        let usage = usage(libc::RUSAGE_THREAD);
        ThreadAccounts {
            cpu: thread_cpu(),
            user: span(usage.ru_utime),
            system: span(usage.ru_stime),
            run_queue_wait: self.run_queue_wait(),
        }
    }

    /// How long the thread has been ready to run and did not, as in its accounts, in one system call.
    pub fn run_queue_wait(&self) -> Option<Nanos> {
        let mut text = [0; 96]; // the second of schedstat's three numbers
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        let wait = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(Nanos::from_nanos(wait))
    }
}

impl Default for ThreadMeter {
    fn default() -> ThreadMeter {
        ThreadMeter::new()
    }
}

/// The CPU time of all threads of process `pid`, living or ended; none when there is no such process.
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0)?;
    let mut clock_id: libc::clockid_t = 0;
    // SAFETY: `clock_id` outlives the call and is what the call fills.
    let result = unsafe { libc::clock_getcpuclockid(pid, &mut clock_id) };
    if result != 0 {
        return None;
    }
    clock::read(clock_id).map(Nanos::from_nanos)
}

/// CPU time of processes, divided by the kernel as in [`ThreadAccounts::user`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// In code of its own.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
}

impl Usage {
    pub(crate) fn of(usage: &libc::rusage) -> Usage {
        Usage {
            user: span(usage.ru_utime),
            system: span(usage.ru_stime),
        }
    }

    /// Both together.
    pub fn cpu(self) -> Nanos {
        self.user + self.system
    }

    /// Adds another's.
    pub fn add(&mut self, other: Usage) {
        self.user += other.user;
        self.system += other.system;
    }
}

/// What this process has taken so far, and what its children had that it has waited for.
pub fn own_and_children() -> (Usage, Usage) {
    let of = |whose| Usage::of(&usage(whose));
    (of(libc::RUSAGE_SELF), of(libc::RUSAGE_CHILDREN))
}

/// The CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    Nanos::from_nanos(clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0))
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain old data; all zeroes is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call. It cannot fail with the values of `whose` that are used here.
    unsafe { libc::getrusage(whose, &mut usage) };
    usage
}

/// A timeval as a span.
fn span(time: libc::timeval) -> Nanos {
    Nanos::from_secs(time.tv_sec as u64) + Nanos::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spends some CPU time of the calling thread.
    fn burn(span: Nanos) {
        let start = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap();
        while clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap() - start < span.as_nanos() {}
    }

    #[test]
    fn a_thread_is_charged_what_it_burnt_and_no_other() {
        let meter = ThreadMeter::new();
        let before = meter.read();
        std::thread::spawn(|| burn(Nanos::from_millis(60)))
            .join()
            .unwrap();
        let idle = meter.read().minus(&before);
        assert!(idle.cpu < Nanos::from_millis(30), "{idle:?}");

        let before = meter.read();
        burn(Nanos::from_millis(20));
        let busy = meter.read().minus(&before);
        assert!(busy.cpu >= Nanos::from_millis(20), "{busy:?}");
        assert!(
            busy.user + busy.system >= Nanos::from_millis(10),
            "{busy:?}"
        );
    }

    #[test]
    fn a_process_is_charged_for_all_its_threads() {
        let before = process_cpu(std::process::id()).unwrap();
        std::thread::spawn(|| burn(Nanos::from_millis(20)))
            .join()
            .unwrap();
        let spent = process_cpu(std::process::id())
            .unwrap()
            .saturating_sub(before);
        assert!(spent >= Nanos::from_millis(20), "{spent:?}");
    }

    #[test]
    fn a_process_that_is_not_has_no_accounts() {
        assert_eq!(process_cpu(0), None);
        assert_eq!(process_cpu(u32::MAX), None);
    }

    #[test]
    fn run_queue_wait_grows_when_two_threads_share_a_cpu() {
        let cpu = crate::affinity::allowed()[0];
        let contend = move || {
            crate::affinity::pin(cpu).unwrap();
            let meter = ThreadMeter::new();
            let before = meter.read();
            burn(Nanos::from_millis(60));
            meter.read().minus(&before).run_queue_wait
        };
        let threads = [0, 1].map(|_| std::thread::spawn(contend));
        let waits = threads.map(|thread| thread.join().unwrap());
        // Without schedstat in the kernel there is nothing to see.
        if let [Some(one), Some(other)] = waits {
            assert!(one + other > Nanos::from_millis(5), "{one:?} {other:?}");
        }
    }
}

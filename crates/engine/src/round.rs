//! One round on real threads: started together, watched while they work, added up at the end.

use crate::barrier::{Barrier, Progress, StartSignal, SyncPoint};
use crate::job::Job;
use crate::thread::{Thread, ThreadResult};
use kernel::{Epoll, Errno, Ring, Uring};
use plan::RingKind;
use record::{Round, Window};
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use thiserror::Error;
use units::{Instant, Nanos};
use wire::{Connection, Visitor};

/// A generator thread's stack: its buffers are on the heap, so that many threads stay cheap.
const STACK: usize = 256 * 1024;

/// How often observers are told how far the round has come.
const TICK: Nanos = Nanos::from_millis(100);

/// Why there was no round: a sentence that names what to do.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RoundError(pub String);

/// Looks on while a round is measured, from a thread that takes no part in it.
pub trait Observer {
    /// Every thread of this process has come as far as `sync_point`.
    fn arrived(&mut self, _: SyncPoint) {}
    /// The window has just opened.
    fn opened(&mut self) {}
    /// The window has just closed.
    fn closed(&mut self) {}
    /// Every thread has drained; `open` connections are still open, and stay so until this returns, or for two seconds.
    /// Not called of a round that is stopped before.
    fn drained(&mut self, _open: u64) {}
    /// Ten times a second: how far it has come.
    fn tick(&mut self, _: Progress) {}
    /// Returns whether it wants the percentiles of the last second.
    fn wants_latency(&self) -> bool {
        false
    }
}

/// An observer that does not look.
#[derive(Debug)]
pub struct Silent;

impl Observer for Silent {}

/// Which repetition a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rep {
    /// Its number, from which its schedule follows.
    pub index: u32,
    /// The first `{seq}` that no earlier round has used.
    pub seq: u64,
}

/// Which of several processes that carry out one round together this one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// Carries out round `rep` of `job`, and returns it with the first `{seq}` that it has not used. When `stop` becomes true
/// the round is cut short and marked.
///
/// Where several processes do it together, `part` says which this one is, and by which signal its sync points open, after
/// [`Observer::arrived`]. Of the plan's threads it lives every `of`-th, from number `index` on. What is shared out over
/// threads (connections, schedule, numbers, lines of files) is so shared out over processes, and together they do what one
/// process with all the threads would do.
///
/// # Errors
/// See [`RoundError`]. Whatever the server does is no error but data.
///
/// # Panics
/// When a thread's counts do not balance: that is our own bug, and the round is void. And when there is no thread for this
/// part.
pub fn round(
    job: &Job,
    rep: Rep,
    part: Option<(Part, &StartSignal)>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), RoundError> {
    let threads = job.plan.threads();
    let setup = |error: String| {
        RoundError(format!(
            "{threads} generator threads could not be set up: {error}; use fewer with --threads"
        ))
    };
    let (first, step) = part.map_or((0, 1), |(part, _)| (part.index, part.of));
    let barrier = Barrier::of_part(threads, part, stop);
    let (suspended, begun) = (kernel::clock::suspended(), kernel::clock::now());
    let results = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for thread in (first..threads).step_by(step as usize) {
            match spawn(scope, job, &barrier, thread, rep) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    barrier.fail();
                    return Err(setup(error.to_string()));
                }
            }
        }
        watch(&barrier, observer);
        let results: Result<Vec<ThreadResult>, Errno> = handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect();
        results.map_err(|errno| match job.plan.ring {
            RingKind::Epoll => setup(errno.to_string()),
            RingKind::IoUring => RoundError(format!(
                "there is no io_uring here: {errno}; use --ring epoll"
            )),
        })
    })?;
    let next = results.iter().map(|result| result.seq).max();
    let next = next.unwrap_or(rep.seq);
    let mut round = assemble(rep.index, results);
    if let Some(requested) = &mut round.tally.requested {
        requested.name(&job.labels);
    }
    round.script = job.script_output(&round).map_err(RoundError)?;
    round.suspended = beyond_noise(kernel::clock::suspended().saturating_sub(suspended));
    round.took = kernel::clock::now() - begun;
    Ok((round, next))
}

/// What two readings of the time in which the machine was suspended may differ by though nothing has happened: each is
/// right to about 0.1 us, and to some microseconds where a hypervisor took the CPU away in the middle of every attempt. No
/// machine sleeps and wakes in so short a time.
const SUSPENSION_NOISE: Nanos = Nanos::from_micros(100);

/// Returns for how long the machine was suspended by two readings that are so far apart. That is noted of a round and not of
/// each exchange: which of them it fell into cannot be told, because the clock stood still meanwhile.
fn beyond_noise(suspended: Nanos) -> Nanos {
    match suspended > SUSPENSION_NOISE {
        true => suspended,
        false => Nanos::ZERO,
    }
}

fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    job: &'env Job,
    barrier: &'env Barrier<'env>,
    thread: u32,
    rep: Rep,
) -> std::io::Result<ScopedJoinHandle<'scope, Result<ThreadResult, Errno>>> {
    let work = move || match job.plan.ring {
        RingKind::Epoll => live(Epoll::new, job, barrier, thread, rep),
        RingKind::IoUring => live(Uring::new, job, barrier, thread, rep),
    };
    Builder::new()
        .name(format!("weigh-{thread}"))
        .stack_size(STACK)
        .spawn_scoped(scope, work)
}

/// Lives one thread on a ring of its own.
fn live<R: Ring>(
    ring: impl FnOnce() -> Result<R, Errno>,
    job: &Job,
    barrier: &Barrier<'_>,
    thread: u32,
    rep: Rep,
) -> Result<ThreadResult, Errno> {
    // Where that is not allowed, a shared table only costs more.
    let _ = kernel::descriptors::own();
    let ring = ring().inspect_err(|_| {
        barrier.fail();
        barrier.end();
    })?;
    let pinned = job.plan.pin.then(|| pin(thread)).flatten();
    let mut result = job.stack.choose(Life {
        ring,
        job,
        barrier,
        thread,
        rep,
    });
    result.accounts.cpu_pinned = pinned;
    barrier.end();
    Ok(result)
}

/// The life of a thread, with whatever connections.
struct Life<'p, R> {
    ring: R,
    job: &'p Job,
    barrier: &'p Barrier<'p>,
    thread: u32,
    rep: Rep,
}

impl<'p, R: Ring> Visitor<'p> for Life<'p, R> {
    type Output = ThreadResult;

    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> ThreadResult {
        let Rep { index, seq } = self.rep;
        let thread =
            Thread::<R, C>::over(shared, self.ring, self.job, self.barrier, self.thread, seq);
        thread.in_round(index, self.job.busy_poll).run()
    }
}

/// Holds the calling thread on one of the CPUs this process may use.
fn pin(index: u32) -> Option<u32> {
    let allowed = kernel::affinity::allowed();
    let cpu = *allowed.get(index as usize % allowed.len().max(1))?;
    kernel::affinity::pin(cpu).ok().map(|()| cpu)
}

/// Tells the observer what happens until every thread has ended.
fn watch(barrier: &Barrier<'_>, observer: &mut dyn Observer) {
    let (mut opened, mut closed, mut drained) = (false, false, false);
    let mut sync_points = SyncPoint::ALL.into_iter().peekable();
    let mut recent = Recent::default();
    while !barrier.is_over() {
        if let Some(sync_point) = sync_points.next_if(|sync_point| barrier.all_arrived(*sync_point))
        {
            observer.arrived(sync_point);
        }
        let now = kernel::clock::now();
        let (start, end) = barrier.window();
        if !opened && now >= start {
            opened = true;
            observer.opened();
        }
        if opened && !closed && (now >= end || barrier.all_left()) {
            closed = true;
            observer.closed();
        }
        if let Some(open) = barrier.open_connections().filter(|_| !drained) {
            drained = true;
            observer.drained(open);
            barrier.hold_open.release();
        }
        let last_second = match observer.wants_latency() {
            true => recent.look(barrier, now),
            false => [None; 2],
        };
        observer.tick(Progress {
            last_second,
            ..barrier.progress()
        });
        let edge = if opened { end } else { start };
        let nap = if edge > now {
            (edge - now).min(TICK)
        } else {
            TICK
        };
        std::thread::park_timeout(nap.to_std()); // threads that arrive somewhere wake us before
    }
    if opened && !closed {
        observer.closed();
    }
}

/// Percentiles of the last second, once a second.
#[derive(Debug, Default)]
struct Recent {
    /// When the threads were last asked for their latencies.
    requested: Instant,
    /// What they had shown a second before.
    before: Histogram,
    shown: [Option<Nanos>; 2],
}

impl Recent {
    const EVERY: Nanos = Nanos::from_millis(1_000);

    /// Returns p50 and p99 of the last second that is known.
    fn look(&mut self, barrier: &Barrier<'_>, now: Instant) -> [Option<Nanos>; 2] {
        if now - self.requested >= Self::EVERY {
            let latency = barrier.latency();
            let last = latency.since(&self.before);
            let carried = |p| last.quantile_if_carried(p).map(Nanos::from_nanos);
            self.shown = [0.5, 0.99].map(carried);
            (self.requested, self.before) = (now, latency);
            barrier.ask_latency();
        }
        self.shown
    }
}

/// Adds up what the threads of one round counted.
pub fn assemble(index: u32, results: Vec<ThreadResult>) -> Round {
    let mut round = Round {
        index,
        ..Round::default()
    };
    let (mut start, mut end) = (Instant::NEVER, Instant::ZERO);
    for result in results {
        start = start.min(result.start);
        end = end.max(result.end);
        round.tally.merge(&result.tally);
        round.sent_total.merge(&result.sent);
        round.partial |= result.partial;
        round.threads.push(result.accounts);
    }
    round.tally.pack();
    if start < Instant::NEVER {
        round.window = Window { start, end };
    }
    round
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Tally;

    #[test]
    fn what_the_clock_of_sleep_has_gained_is_noted_and_its_noise_is_not() {
        let noise = SUSPENSION_NOISE.as_nanos();
        for (gained, wanted) in [(0, 0), (noise, 0), (noise + 1, noise + 1)] {
            assert_eq!(beyond_noise(Nanos::from_nanos(gained)).as_nanos(), wanted);
        }
    }

    #[test]
    fn percentiles_of_the_last_second_are_of_what_has_ended_on_all_threads_since_the_look_before() {
        let stop = AtomicBool::new(false);
        let barrier = Barrier::new(2, &stop);
        let at = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
        let mut tallies = [Tally::default(), Tally::default()];
        let mut recent = Recent::default();
        let mut look = |secs, tallies: &[Tally]| {
            let shown = recent.look(&barrier, at(secs));
            for (thread, tally) in tallies.iter().enumerate() {
                barrier.publish(thread as u32, tally);
            }
            shown.map(|nanos| nanos.map(|nanos| nanos.as_nanos() / 10_000))
        };
        tallies[0].service.record_n(1_000_000, 5_000);
        tallies[1].service.record_n(3_000_000, 1_000);
        assert_eq!(look(5, &tallies), [None; 2], "threads are asked");
        assert_eq!(look(6, &tallies), [Some(100), Some(300)]);
        tallies[1].service.record_n(9_000_000, 2_000);
        assert_eq!(look(6, &tallies), [Some(100), Some(300)], "too early");
        assert_eq!(look(7, &tallies), [None; 2], "nothing ended meanwhile");
        assert_eq!(look(8, &tallies), [Some(900), Some(900)]);
    }
}

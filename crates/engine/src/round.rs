//! One round on real threads: started together, watched while they work, added up at the end.

use crate::gate::{Gate, Progress, Rendezvous, Stage};
use crate::job::Job;
use crate::suspension::Suspension;
use crate::thread::{Ledger, Thread};
use kernel::{Epoll, Errno, Ring, Uring};
use plan::RingKind;
use record::{Round, SentTotal, Window};
use stats::Histogram;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use thiserror::Error;
use units::{Instant, Nanos};

/// A generator thread's stack: its buffers are on the heap, so that many threads stay cheap.
const STACK: usize = 256 * 1024;

/// How often onlookers are told how far the round has come.
const TICK: Nanos = Nanos::from_millis(100);

/// Why there was no round.
#[derive(Debug, Error)]
pub enum RoundError {
    /// The kernel gave no ring or thread.
    #[error("{threads} generator threads could not be set up: {error}; use fewer with --threads")]
    Setup {
        /// Threads that were wanted.
        threads: u32,
        /// What the kernel said.
        error: String,
    },
    /// The kernel gave no ring of the kind that was asked for.
    #[error("there is no io_uring here: {errno}; use --ring epoll")]
    NoUring {
        /// What it said.
        errno: Errno,
    },
}

/// Looks on while a round is measured, from a thread that takes no part in it.
pub trait Observer {
    /// Every thread of this process has come as far as `stage`.
    fn arrived(&mut self, _: Stage) {}
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

/// Carries out round `index` of `job`. `seq` is the first `{seq}` no earlier round has used; the next one's is returned.
/// When `stop` becomes true the round is cut short and marked.
///
/// # Errors
/// See [`RoundError`]. Whatever the server does is no error but data.
///
/// # Panics
/// When a thread's books do not balance: that is our own bug, and the round is void.
pub fn round(
    job: &Job,
    index: u32,
    seq: u64,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), RoundError> {
    let gate = Gate::new(job.plan().threads(), stop);
    gate.expect_look();
    on_threads(job, &gate, 0, 1, Rep { index, seq }, observer)
}

/// Which of several processes that carry out one round together this one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// As [`round`], for one of several processes that do it together: of the plan's threads it lives every `part.of`-th,
/// from number `part.index` on. What is shared out over threads (connections, schedule, numbers, lines of files) is so
/// shared out over processes, and together they do what one process with all the threads would do. Stages open when
/// `rendezvous` says, after [`Observer::arrived`].
///
/// # Errors
/// As of [`round`].
///
/// # Panics
/// As of [`round`]; and when there is no thread for this part.
pub fn round_in_part(
    job: &Job,
    part: Part,
    rep: Rep,
    rendezvous: &Rendezvous,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), RoundError> {
    let threads = job.plan().threads();
    let here = plan::share(u64::from(threads), part.index, part.of) as u32;
    assert!(here > 0, "there is no thread for this process");
    let gate = Gate::new(threads, stop).shared(here, rendezvous);
    on_threads(job, &gate, part.index, part.of, rep, observer)
}

/// Which repetition a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rep {
    /// Its number, from which its schedule follows.
    pub index: u32,
    /// The first `{seq}` that no earlier round has used.
    pub seq: u64,
}

/// Carries a round out on every `step`-th of the plan's threads, from number `first` on.
fn on_threads(
    job: &Job,
    gate: &Gate<'_>,
    first: u32,
    step: u32,
    Rep { index, seq }: Rep,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), RoundError> {
    let threads = job.plan().threads();
    let setup = |error: String| RoundError::Setup { threads, error };
    let suspension = Suspension::begin(kernel::clock::suspended);
    let begun = kernel::clock::now();
    let ledgers = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for thread in (first..threads).step_by(step as usize) {
            let place = Place {
                round: index,
                thread,
                seq,
            };
            match spawn(scope, job, gate, place) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    gate.fail();
                    return Err(setup(error.to_string()));
                }
            }
        }
        watch(gate, observer);
        let ledgers: Result<Vec<Ledger>, Errno> = handles.into_iter().map(join).collect();
        ledgers.map_err(|errno| match job.plan().ring {
            RingKind::Epoll => setup(errno.to_string()),
            RingKind::IoUring => RoundError::NoUring { errno },
        })
    })?;
    let next = ledgers.iter().map(|ledger| ledger.seq).max().unwrap_or(seq);
    let mut round = assemble(index, ledgers);
    if let Some(requested) = &mut round.tally.requested {
        requested.name(&job.labels);
    }
    round.suspended = suspension.end();
    round.took = kernel::clock::now() - begun;
    Ok((round, next))
}

fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    job: &'env Job,
    gate: &'env Gate<'env>,
    place: Place,
) -> std::io::Result<ScopedJoinHandle<'scope, Result<Ledger, Errno>>> {
    let work = move || match job.plan().ring {
        RingKind::Epoll => live(Epoll::new, job, gate, place),
        RingKind::IoUring => live(Uring::new, job, gate, place),
    };
    Builder::new()
        .name(format!("weigh-{}", place.thread))
        .stack_size(STACK)
        .spawn_scoped(scope, work)
}

/// Which thread of which round.
#[derive(Debug, Clone, Copy)]
struct Place {
    round: u32,
    thread: u32,
    /// The first `{seq}` that no earlier round has used.
    seq: u64,
}

/// Lives one thread on a ring of its own.
fn live<R: Ring>(
    ring: impl FnOnce() -> Result<R, Errno>,
    job: &Job,
    gate: &Gate<'_>,
    place: Place,
) -> Result<Ledger, Errno> {
    let Place { round, thread, seq } = place;
    // Where that is not allowed, a shared table only costs more.
    let _ = kernel::descriptors::own();
    let ring = ring().inspect_err(|_| {
        gate.fail();
        gate.end();
    })?;
    let pinned = job.plan().pin.then(|| pin(thread)).flatten();
    let thread = Thread::new(ring, job, gate, thread, seq);
    let mut ledger = thread.in_round(round).awake(job.awake).run();
    ledger.accounts.cpu_pinned = pinned;
    gate.end();
    Ok(ledger)
}

/// Holds the calling thread on one of the CPUs this process may use.
fn pin(index: u32) -> Option<u32> {
    let allowed = kernel::affinity::allowed();
    let cpu = *allowed.get(index as usize % allowed.len().max(1))?;
    kernel::affinity::pin(cpu).ok().map(|()| cpu)
}

fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Tells the observer what happens until every thread has ended.
fn watch(gate: &Gate<'_>, observer: &mut dyn Observer) {
    let (mut opened, mut closed, mut drained) = (false, false, false);
    let mut stages = Stage::ALL.into_iter().peekable();
    let mut recent = Recent::default();
    while !gate.is_over() {
        if let Some(stage) = stages.next_if(|stage| gate.all_arrived(*stage)) {
            observer.arrived(stage);
        }
        let now = kernel::clock::now();
        let (start, end) = gate.window();
        if !opened && now >= start {
            opened = true;
            observer.opened();
        }
        if opened && !closed && (now >= end || gate.all_left()) {
            closed = true;
            observer.closed();
        }
        if let Some(open) = gate.open_connections().filter(|_| !drained) {
            drained = true;
            observer.drained(open);
            gate.release();
        }
        let last_second = match observer.wants_latency() {
            true => recent.look(gate, now),
            false => [None; 2],
        };
        observer.tick(Progress {
            last_second,
            ..gate.progress()
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
    /// When the threads were asked last.
    asked: Instant,
    /// What they had shown a second before.
    before: Histogram,
    shown: [Option<Nanos>; 2],
}

impl Recent {
    const EVERY: Nanos = Nanos::from_millis(1_000);

    /// Returns p50 and p99 of the last second that is known.
    fn look(&mut self, gate: &Gate<'_>, now: Instant) -> [Option<Nanos>; 2] {
        if now - self.asked >= Self::EVERY {
            let latency = gate.latency();
            let last = latency.since(&self.before);
            let carried = |p| last.quantile_if_carried(p).map(Nanos::from_nanos);
            self.shown = [0.5, 0.99].map(carried);
            (self.asked, self.before) = (now, latency);
            gate.ask_latency();
        }
        self.shown
    }
}

/// Adds up what the threads of one round counted.
pub fn assemble(index: u32, ledgers: Vec<Ledger>) -> Round {
    let mut round = Round {
        index,
        ..Round::default()
    };
    let mut window = Window {
        start: Instant::NEVER,
        end: Instant::ZERO,
    };
    for ledger in ledgers {
        window.start = window.start.min(ledger.start);
        window.end = window.end.max(ledger.end);
        round.tally.merge(&ledger.tally);
        let mut sent: SentTotal = round.sent_total;
        sent.merge(&ledger.sent);
        round.sent_total = sent;
        round.partial |= ledger.partial;
        round.threads.push(ledger.accounts);
    }
    round.tally.pack();
    round.window = match window.start {
        Instant::NEVER => Window::default(),
        _ => window,
    };
    round
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Tally;

    #[test]
    fn percentiles_of_the_last_second_are_of_what_has_ended_on_all_threads_since_the_look_before() {
        let stop = AtomicBool::new(false);
        let gate = Gate::new(2, &stop);
        let at = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
        let mut tallies = [Tally::default(), Tally::default()];
        let mut recent = Recent::default();
        let mut look = |secs, tallies: &[Tally]| {
            let shown = recent.look(&gate, at(secs));
            for (thread, tally) in tallies.iter().enumerate() {
                gate.publish(thread as u32, tally);
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

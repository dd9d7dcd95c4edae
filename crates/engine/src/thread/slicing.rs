//! Load in short slices, for servers that are loaded in turn: connections stay open between them, counts begin anew in each.

use super::Thread;
use crate::barrier::Barrier;
use crate::job::Job;
use crate::quota::Quota;
use crate::recorder::{Cut, Recorder};
use crate::stalls::StallDetector;
use crate::watchdog::Watchdog;
use kernel::Ring;
use kernel::accounts::thread_cpu;
use plan::{Connect, Stretch};
use record::{Blame, Handshakes, Slice, Tally};
use units::{Instant, Nanos};
use wire::{Connection, Visitor};

/// How long a slice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SliceLength {
    /// New requests are sent for so long, at least;
    pub least: Nanos,
    /// and until so many have ended, of each thread its share,
    pub requests: u64,
    /// but not longer than this.
    pub most: Nanos,
}

/// One thread's part of a load that goes on slice by slice, with whatever connections.
pub trait Lane {
    /// Opens its connections, where the plan wants them before the load: those that can be opened.
    fn open(&mut self);

    /// Loads the server for its share of a slice and follows what was sent to its end, each request for as long as it may take. The
    /// connections stay open. `number` is the slice's, from which an open loop's arrivals follow. The server's CPU time is for the
    /// caller to read, before and after.
    ///
    /// # Panics
    /// When the counts do not balance, which is a bug of ours.
    fn slice(&mut self, length: SliceLength, number: u32) -> SliceShare;
}

/// Thread `index` of a load that goes on slice by slice, its connections not open yet.
pub fn lane<'p, R: Ring + 'p>(
    ring: R,
    job: &'p Job,
    barrier: &'p Barrier<'p>,
    index: u32,
) -> Box<dyn Lane + 'p> {
    job.stack.choose(Opener {
        ring,
        job,
        barrier,
        index,
    })
}

struct Opener<'p, R> {
    ring: R,
    job: &'p Job,
    barrier: &'p Barrier<'p>,
    index: u32,
}

impl<'p, R: Ring + 'p> Visitor<'p> for Opener<'p, R> {
    type Output = Box<dyn Lane + 'p>;

    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> Box<dyn Lane + 'p> {
        let thread = Thread::<R, C>::over(shared, self.ring, self.job, self.barrier, self.index, 0);
        Box::new(thread.in_round(0, self.job.busy_poll))
    }
}

impl<'p, R: Ring, C: Connection<'p>> Lane for Thread<'p, R, C> {
    fn open(&mut self) {
        if self.job.plan.connect == Connect::Eager {
            self.connect_all();
        }
    }

    fn slice(&mut self, length: SliceLength, number: u32) -> SliceShare {
        self.begin_anew(number);
        let cpu = thread_cpu();
        let start = self.clock;
        self.open_window(start, Instant::NEVER);
        let (least, most) = (start + length.least, start + length.most);
        self.quota = match self.driver.is_closed() {
            true => Quota::span(start, Instant::NEVER),
            false => Quota::span(start, least),
        };
        self.begin(start, Stretch::Window);
        let share = length.requests.div_ceil(self.job.plan.threads().into());
        let wanted = self.recorder.responses + share;
        let goes_on = |thread: &Self| {
            thread.clock < least || thread.recorder.responses < wanted && thread.clock < most
        };
        while goes_on(self) && !self.interrupted() {
            self.turn(if self.clock < least { least } else { most });
        }
        let end = self.clock;
        self.recorder.cut_window(end);
        self.follow();
        let cpu = thread_cpu().saturating_sub(cpu);
        let tally = self.recorder.finish(end);
        assert!(tally.conserved(), "exchanges do not add up: {tally:?}");
        SliceShare {
            tally,
            window: end - start,
            cpu,
        }
    }
}

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// A new account; what happened to idle connections since the last slice is seen to before. Only handshakes since then are kept:
    /// those of the first connections are in no slice.
    fn begin_anew(&mut self, number: u32) {
        self.clock = self.ring.now();
        self.turn(self.clock);
        let is_open = self.job.plan.load.is_open();
        let capacity = self.slots.len() as u64 * u64::from(self.job.plan.protocol.pipeline);
        let stalls = StallDetector::new((!is_open).then_some(capacity));
        let watchdog = Watchdog::new((!self.ring.is_virtual()).then(|| self.accounts.meter()));
        let handshakes = self.recorder.tally.connects.handshakes.take();
        self.recorder = Recorder::new(self.job, stalls, watchdog);
        self.recorder.tally.connects.handshakes = handshakes;
        self.round = number;
        self.is_open_noted = false;
        self.clock = self.ring.now();
    }

    /// Sends nothing new, and follows what is in flight.
    fn follow(&mut self) {
        let patience = self.job.plan.timeouts.exchange;
        self.drain_backlog(patience);
        self.quota.give_up();
        let limit = self.clock + patience + self.sweep_every;
        while self.under_way > 0 && self.clock < limit && !self.interrupted() {
            self.turn(limit);
        }
        if self.under_way > 0 {
            self.abandon_backlog(self.clock, Blame::Server);
            self.cut_all(Cut::Stop);
        }
    }
}

/// What one thread did in a slice.
#[derive(Debug)]
pub struct SliceShare {
    tally: Tally,
    /// How long it sent new requests.
    window: Nanos,
    /// CPU time that it took.
    cpu: Nanos,
}

impl SliceShare {
    /// Takes in what another thread did in the same slice. All threads are told to begin at about the same time: the longest of
    /// their windows is that of the slice. (Where a slice goes on for its number of requests, those that have theirs earlier wait, so
    /// that requests/s of very slow servers is a little less than it could be.)
    pub fn merge(&mut self, other: &SliceShare) {
        self.tally.merge(&other.tally);
        self.window = self.window.max(other.window);
        self.cpu += other.cpu;
    }

    /// The handshakes since the slice before, those of the first connections too; none without https.
    pub fn handshakes(&self) -> Option<&Handshakes> {
        self.tally.connects.handshakes.as_ref()
    }

    /// What the slice is known for, when the shares of all threads are in this one.
    pub fn slice(&self) -> Slice {
        slice_of(&self.tally, self.window, self.cpu)
    }
}

/// What a slice is known for: the counts of `tally`, in a window of `window`, for which the generator took `cpu`.
fn slice_of(tally: &Tally, window: Nanos, cpu: Nanos) -> Slice {
    let latency = tally.latency();
    let percentile = |p| latency.quantile_if_carried(p).map(Nanos::from_nanos);
    let first = tally.bodies.iter().next();
    let body = first.and_then(|(_, bodies)| bodies.bodies.usual());
    let fault = tally.faults.sorted().into_iter().next();
    Slice {
        ok: tally.ok,
        errors: tally.errors(),
        in_window: tally.ok_in_window,
        window,
        server_cpu: None,
        generator_cpu: cpu,
        // Of a slice of few requests the median is an uncertain one, as the interval over many of them shows.
        latency: [
            latency.quantile(0.5).map(Nanos::from_nanos),
            percentile(0.9),
            percentile(0.99),
        ],
        received: tally.bytes_received,
        connects: tally.connects.established,
        body: body.map(|(body, _)| body),
        error: fault.map(|count| count.fault.kind.sentence().to_owned()),
        lower_bound: false,
    }
}

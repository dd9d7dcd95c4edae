//! A generator process: it takes commands from the campaign, measures a round or its share of one and hands it over.
//!
//! ```text
//!   campaign                          generator
//!   Assignment     ------------->     makes the plan ready, opens its connections
//!                  <-------------     Arrived(ready)
//!   Open(ready)    ------------->     (once all have said so) the load begins in all at that instant
//!                  <-------------     Opened, Progress ..., Closed: what an observer sees of the window
//!                  <-------------     Drained: its connections are still open
//!   Release        ------------->     (once the server's memory was read) it may close them
//!                  <-------------     Done, with the round; or Failed, with the reason
//! ```
//!
//! Each message is one line of JSON. One that measures alone opens its points itself. With a number of requests and a
//! warm-up there is a second meeting before the window. When the campaign says Stop the round is cut short and handed over;
//! when its line ends, so that no process is there to hand anything over to, the generator is to end at once.
//!
//! One that loads several servers in turn opens its connections to all of them, says so, and then measures a slice whenever it
//! is told to, until its line ends:
//!
//! ```text
//!   Lanes          ------------->     makes the plans ready, opens all connections
//!                  <-------------     Open
//!   Slice          ------------->     loads one server
//!                  <-------------     Slice
//! ```

use engine::{
    Barrier, Job, Observer, Part, Progress, Rep, SliceLength, SliceShare, StartSignal, SyncPoint,
};
use kernel::{Epoll, Errno, Ring, Uring, affinity};
use plan::{Endpoint, Plan, RingKind};
use record::{BusyPoll, Handshakes, Round, Slice};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use thiserror::Error;
use units::{Instant, Nanos};

/// The longest message: a plan with every body in it, or a round with every histogram filled and some to spare.
pub(crate) const LONGEST: u64 = 1 << 28;

/// How long it waits for what is read while its connections are open.
const HELD_OPEN: Nanos = Nanos::from_secs(2);

/// What a generator is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The plan for all of them.
    pub(crate) plan: Plan,
    /// The address that the campaign uses.
    pub(crate) endpoint: Endpoint,
    /// How its threads wait: of two generators, as those of the one that they are compared with.
    pub(crate) busy_poll: BusyPoll,
    /// The round.
    pub(crate) rep: Rep,
    /// Which of the generators it is.
    pub(crate) part: Part,
    /// Whether its progress is to have the percentiles of the last second.
    pub(crate) wants_latency: bool,
}

/// What a generator is told first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// To measure a round.
    Round(Box<Assignment>),
    /// To load several servers in turn.
    Lanes(Lanes),
}

/// Several servers that are loaded in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lanes {
    /// Each server under each load.
    pub(crate) lanes: Vec<Lane>,
    /// The CPUs to run on; none where it may run on all.
    pub(crate) cpus: Option<Vec<u32>>,
}

/// One server under one load, of several that are loaded in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lane {
    /// Its target, requests and load.
    pub(crate) plan: Plan,
    /// The address.
    pub(crate) endpoint: Endpoint,
}

/// A slice to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SliceOrder {
    /// Which lane.
    pub(crate) lane: usize,
    /// How long.
    pub(crate) length: SliceLength,
    /// The slice's number, from which an open loop's arrivals follow.
    pub(crate) number: u32,
}

/// A command to a generator, after its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Command {
    /// A slice is to be measured.
    Slice(SliceOrder),
    /// The point opens at that instant.
    Open(SyncPoint, Instant),
    /// Connections need not be held open any longer.
    Release,
    /// The round is to be cut short.
    Stop,
}

/// What a generator says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// Its connections are open, those of servers that take any.
    Open,
    /// What a slice measured, and the TLS handshakes since the one before.
    Slice(Box<Slice>, Option<Box<Handshakes>>),
    /// All of its threads have come to the point.
    Arrived(SyncPoint),
    /// Its window has just opened.
    Opened,
    /// Its window has just closed.
    Closed,
    /// All of its threads have drained, with so many connections open.
    Drained(u64),
    /// How far it has come.
    Progress(Progress),
    /// What it measured, and the first `{seq}` that it did not use.
    Done(Box<Round>, u64),
    /// Why it measured nothing.
    Failed(String),
}

/// Why a generator could do nothing.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// The input holds no assignment.
    #[error("this command is for weigh itself, which tells it what to do: {0}")]
    NoAssignment(io::Error),
    /// No thread to listen with.
    #[error("no thread could be started: {0}")]
    NoThread(io::Error),
}

/// Carries out the commands of a campaign on `input`, and writes events to `output`. `stop` ends the round early;
/// `abandoned` is called, from another thread, when the campaign is gone.
///
/// # Errors
/// There was no assignment. Later errors are events for the campaign.
pub fn generate(
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    stop: &'static AtomicBool,
    abandoned: impl FnOnce() + Send + 'static,
) -> Result<(), GenerateError> {
    let mut input = BufReader::new(input);
    let order: Order = next(&mut input).map_err(GenerateError::NoAssignment)?;
    let start_signal = Arc::new(StartSignal::default());
    let signal = Arc::clone(&start_signal);
    let (release, released) = channel();
    let (asks_slice, slices) = channel();
    let listen = move || {
        while let Ok(command) = next(&mut input) {
            match command {
                Command::Open(point, at) => signal.open(point, at),
                Command::Release => {
                    let _ = release.send(()); // it has ended
                }
                Command::Slice(order) => {
                    let _ = asks_slice.send(order);
                }
                Command::Stop => stop.store(true, Ordering::Relaxed),
            }
        }
        abandoned();
    };
    let thread = std::thread::Builder::new().name("weigh-commands".to_owned());
    thread.spawn(listen).map_err(GenerateError::NoThread)?;
    let mut writer = EventWriter {
        output,
        wants_latency: matches!(&order, Order::Round(assignment) if assignment.wants_latency),
        released,
    };
    match order {
        Order::Round(assignment) => {
            let event = measure(*assignment, &start_signal, stop, &mut writer);
            writer.write(&event);
        }
        Order::Lanes(lanes) => {
            if let Err(why) = in_turn(lanes, &slices, stop, &mut writer) {
                writer.write(&Event::Failed(why));
            }
        }
    }
    Ok(())
}

/// Loads several servers in turn, as `slices` say.
fn in_turn(
    Lanes { lanes, cpus }: Lanes,
    slices: &Receiver<SliceOrder>,
    stop: &AtomicBool,
    writer: &mut EventWriter<'_>,
) -> Result<(), String> {
    if let Some(cpus) = cpus {
        let allowed = affinity::allow(&cpus);
        allowed.map_err(|errno| format!("the generator may not run on CPUs {cpus:?}: {errno}"))?;
    }
    let jobs = lanes
        .into_iter()
        .map(|lane| Job::new(lane.plan, lane.endpoint));
    let jobs: Result<Vec<Job>, _> = jobs.collect();
    let jobs = jobs.map_err(|error| error.to_string())?;
    match jobs.first().map(|job| job.plan.ring) {
        Some(RingKind::IoUring) => on_ring(Uring::new, &jobs, slices, stop, writer),
        _ => on_ring(Epoll::new, &jobs, slices, stop, writer),
    }
    .map_err(|errno| format!("the kernel gives no ring for a load: {errno}"))
}

/// As [`in_turn`], each lane on a ring of its own in each thread.
fn on_ring<R: Ring>(
    ring: fn() -> Result<R, Errno>,
    jobs: &[Job],
    slices: &Receiver<SliceOrder>,
    stop: &AtomicBool,
    writer: &mut EventWriter<'_>,
) -> Result<(), Errno> {
    let threads = jobs.iter().map(|job| job.plan.threads());
    let threads = threads.max().unwrap_or(1);
    let barriers = jobs
        .iter()
        .map(|job| Barrier::new(job.plan.threads(), stop));
    let barriers: Vec<Barrier<'_>> = barriers.collect();
    let lanes = |index| ThreadLanes::new(ring, jobs, &barriers, index);
    std::thread::scope(|scope| {
        // This thread is the first of them.
        let helpers = (1..threads).map(|index| {
            let (ask, orders) = channel();
            let (tell, shares) = channel();
            scope.spawn(move || {
                if let Err(errno) = lanes(index).and_then(|lanes| lanes.serve(&orders, &tell)) {
                    let _ = tell.send(Err(errno)); // where it is not heard, all is over
                }
            });
            (ask, shares)
        });
        let helpers: Vec<(Sender<SliceOrder>, Receiver<Shared>)> = helpers.collect();
        let next = |shares: &Receiver<Shared>| shares.recv().unwrap_or(Err(Errno::EINVAL));
        let mut first = lanes(0)?;
        for (_, shares) in &helpers {
            next(shares)?;
        }
        writer.write(&Event::Open);
        while let Ok(order) = slices.recv() {
            for (ask, _) in &helpers {
                let _ = ask.send(order); // one that has ended is missed below
            }
            let mut whole = first.share(order);
            for (_, shares) in &helpers {
                if let (Some(whole), Some(other)) = (&mut whole, next(shares)?) {
                    whole.merge(&other);
                }
            }
            let Some(whole) = whole else { break };
            let handshakes = whole.handshakes().cloned().map(Box::new);
            writer.write(&Event::Slice(Box::new(whole.slice()), handshakes));
        }
        Ok(())
    })
}

/// What comes from a further thread: that its connections are open (none), and then its share of each slice, if it has one.
type Shared = Result<Option<SliceShare>, Errno>;

/// A thread's part in each of the lanes; none in one that has fewer connections than there are threads.
struct ThreadLanes<'a>(Vec<Option<Box<dyn engine::Lane + 'a>>>);

impl<'a> ThreadLanes<'a> {
    /// That of thread `index`, with its connections open.
    fn new<R: Ring + 'a>(
        ring: fn() -> Result<R, Errno>,
        jobs: &'a [Job],
        barriers: &'a [Barrier<'a>],
        index: u32,
    ) -> Result<ThreadLanes<'a>, Errno> {
        let of = |(job, barrier): (&'a Job, &'a Barrier<'a>)| {
            if index >= job.plan.threads() {
                return Ok(None);
            }
            let mut lane = engine::lane(ring()?, job, barrier, index);
            lane.open();
            Ok(Some(lane))
        };
        let lanes: Result<Vec<_>, Errno> = jobs.iter().zip(barriers).map(of).collect();
        Ok(ThreadLanes(lanes?))
    }

    /// Its share of a slice.
    fn share(&mut self, order: SliceOrder) -> Option<SliceShare> {
        let lane = self.0.get_mut(order.lane)?.as_mut()?;
        Some(lane.slice(order.length, order.number))
    }

    /// Does its share of each slice that is asked for, until none is any more.
    fn serve(mut self, orders: &Receiver<SliceOrder>, tell: &Sender<Shared>) -> Result<(), Errno> {
        let _ = tell.send(Ok(None)); // where it is not heard, no order comes
        for order in orders {
            let _ = tell.send(Ok(self.share(order)));
        }
        Ok(())
    }
}

/// The next line of JSON.
fn next<T: for<'a> Deserialize<'a>>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    input.take(LONGEST + 1).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).map_err(io::Error::from)
}

fn measure(
    assignment: Assignment,
    start_signal: &StartSignal,
    stop: &AtomicBool,
    writer: &mut EventWriter<'_>,
) -> Event {
    let Assignment {
        plan,
        endpoint,
        busy_poll,
        rep,
        part,
        wants_latency: _,
    } = assignment;
    let mut job = match Job::new(plan, endpoint) {
        Ok(job) => job,
        Err(error) => return Event::Failed(error.to_string()),
    };
    job.busy_poll = busy_poll;
    let part = (part.of > 1).then_some((part, start_signal));
    match engine::round(&job, rep, part, stop, writer) {
        Ok((round, seq)) => Event::Done(Box::new(round), seq),
        Err(error) => Event::Failed(error.to_string()),
    }
}

/// Tells the campaign what an observer sees.
struct EventWriter<'a> {
    output: &'a mut dyn Write,
    wants_latency: bool,
    /// Where it is said that connections need not be held open any longer.
    released: Receiver<()>,
}

impl EventWriter<'_> {
    /// A campaign that is gone does not read it; the listening thread finds that out.
    fn write(&mut self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("an event is plain JSON");
        line.push(b'\n');
        let _ = self.output.write_all(&line);
        let _ = self.output.flush();
    }
}

impl Observer for EventWriter<'_> {
    fn arrived(&mut self, point: SyncPoint) {
        self.write(&Event::Arrived(point));
    }

    fn opened(&mut self) {
        self.write(&Event::Opened);
    }

    fn closed(&mut self) {
        self.write(&Event::Closed);
    }

    fn drained(&mut self, open: u64) {
        self.write(&Event::Drained(open));
        let _ = self.released.recv_timeout(HELD_OPEN.to_std()); // threads do not wait longer either
    }

    fn wants_latency(&self) -> bool {
        self.wants_latency
    }

    fn tick(&mut self, progress: Progress) {
        self.write(&Event::Progress(progress));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_line_that_says_the_same_when_it_is_read() {
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        plan.load = plan::Load::Open {
            rate: "0.123457".parse().unwrap(),
            of: plan::Arriving::Exchanges,
            arrivals: plan::Arrivals::Poisson,
            connections: 3,
        };
        plan.two_generators = true;
        let assignment = Assignment {
            endpoint: plan.target.endpoints[0].clone(),
            plan,
            busy_poll: BusyPoll::Near(Nanos::from_micros(100)),
            rep: Rep {
                index: 3,
                seq: u64::MAX,
            },
            part: Part { index: 1, of: 2 },
            wants_latency: true,
        };
        let lane = Lane {
            plan: assignment.plan.clone(),
            endpoint: assignment.endpoint.clone(),
        };
        let lanes = Order::Lanes(Lanes {
            lanes: vec![lane],
            cpus: Some(vec![1, 3]),
        });
        for order in [Order::Round(Box::new(assignment)), lanes] {
            let line = serde_json::to_string(&order).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(next::<Order>(&mut line.as_bytes()).unwrap(), order);
        }
        let round = record::example::errors().points[0].rounds[0].clone();
        for event in [
            Event::Arrived(SyncPoint::Settled),
            Event::Done(Box::new(round), 7),
            Event::Failed("two\nlines".into()),
        ] {
            let mut line = Vec::new();
            let mut writer = EventWriter {
                output: &mut line,
                wants_latency: false,
                released: channel().1,
            };
            writer.write(&event);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(next::<Event>(&mut &line[..]).unwrap(), event);
        }
    }

    #[test]
    fn without_an_order_that_it_understands_it_does_nothing() {
        static STOP: AtomicBool = AtomicBool::new(false);
        for input in ["", "hello\n", "{}\n"] {
            let mut output = Vec::new();
            let result = generate(input.as_bytes(), &mut output, &STOP, || ());
            assert!(
                matches!(result, Err(GenerateError::NoAssignment(_))),
                "{input}"
            );
            assert_eq!(output, b"");
        }
    }
}

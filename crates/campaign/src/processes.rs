//! A round by generator processes, each started for this round alone: one with the whole load, or two with half of it each
//! that open their windows together.
//!
//! One for each round, because the start of a process is a source of variance as large as others (where its memory and its
//! threads come to lie): rounds of one process would agree more than measurements do. Two processes and not only more threads,
//! because what a process's threads share (its address space, its descriptors, the allocator, a mistake of ours) may be the
//! limit too. They talk with the campaign in lines, see `generator`.

use crate::generator::{Assignment, Command, Event, LONGEST, Lanes, Order, SliceOrder};
use crate::planned_rounds::Generators;
use engine::{Job, Observer, Part, Progress, Rep};
use kernel::process::{Message, Piped};
use record::{Handshakes, Round, Slice};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use units::Nanos;

/// How far ahead a common start lies: enough for a line to be written, read, and noticed by threads that check once a
/// millisecond, on a busy machine.
const LEAD: Nanos = Nanos::from_millis(50);
/// How often an interrupt is checked for.
const POLL: Nanos = Nanos::from_millis(50);
/// How long a generator, which reports its progress ten times a second, may be silent.
const SILENCE: Nanos = Nanos::from_secs(20);
/// How long a generator may take to end once it has handed over its round.
const GRACE: Nanos = Nanos::from_secs(1);

/// Measures repetition `rep` of the load of `job` by new processes, each started by `command`; returns the round, and the
/// first `{seq}` that was not used.
///
/// # Errors
/// Why there was no round: a sentence.
pub(crate) fn round(
    command: &[OsString],
    by: Generators,
    job: &Job,
    rep: Rep,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), String> {
    let (sender, messages) = channel();
    let mut helpers = Vec::new();
    let (number, plan) = match by {
        Generators::One => (1, job.plan.clone()),
        Generators::Two => (2, job.plan.for_two_generators()),
    };
    for part in 0..number {
        let helper = Piped::start(command, LONGEST, part, sender.clone());
        let failed = |error| format!("a generator process could not be started: {error}");
        helpers.push(helper.map_err(failed)?);
    }
    for (part, helper) in helpers.iter().enumerate() {
        helper.send(line(&Order::Round(Box::new(Assignment {
            plan: plan.clone(),
            endpoint: job.endpoint.clone(),
            busy_poll: job.busy_poll,
            rep,
            part: Part {
                index: part as u32,
                of: number as u32,
            },
            wants_latency: observer.wants_latency(),
        }))));
    }
    Processes::new(helpers, messages).follow(stop, observer)
}

fn line(message: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are plain JSON")
}

/// Generators at work on one round.
struct Processes {
    helpers: Vec<Piped>,
    messages: Receiver<(usize, Message)>,
    each: Vec<Share>,
    is_stopping: bool,
    /// How often one of them has come to a point, has opened its window, has closed it, and has drained.
    arrived: usize,
    opened: usize,
    closed: usize,
    drained: usize,
    /// The connections of those that have drained.
    open: u64,
}

/// What is known of one of them.
#[derive(Debug, Default)]
struct Share {
    /// How long nothing has come of it, by waits that were not longer than asked for: while we were stopped ourselves, that
    /// says nothing.
    silence: Nanos,
    progress: Progress,
    done: Option<(Box<Round>, u64)>,
}

impl Processes {
    fn new(helpers: Vec<Piped>, messages: Receiver<(usize, Message)>) -> Processes {
        Processes {
            each: helpers.iter().map(|_| Share::default()).collect(),
            helpers,
            messages,
            is_stopping: false,
            arrived: 0,
            opened: 0,
            closed: 0,
            drained: 0,
            open: 0,
        }
    }

    /// Follows them until each has handed over its share.
    fn follow(
        mut self,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(Round, u64), String> {
        while self.each.iter().any(|share| share.done.is_none()) {
            if stop.load(Ordering::Relaxed) && !self.is_stopping {
                self.is_stopping = true;
                self.send_all(&Command::Stop);
            }
            match self.messages.recv_timeout(POLL.to_std()) {
                Ok((part, Some(line))) => self.handle(part, &line, observer)?,
                Ok((part, None)) => self.ended(part)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    for share in &mut self.each {
                        share.silence += POLL;
                    }
                }
            }
            let is_silent = |share: &Share| share.done.is_none() && share.silence > SILENCE;
            if self.each.iter().any(is_silent) {
                let silence = units::span(SILENCE);
                return Err(format!("a generator process said nothing for {silence}"));
            }
        }
        for helper in &mut self.helpers {
            let _ = helper.end(GRACE); // it has handed over all that it had
        }
        let shares = self.each.into_iter().filter_map(|share| share.done);
        let sum = shares.reduce(|(mut sum, first), (share, other)| {
            sum.merge(&share);
            (sum, first.max(other))
        });
        let (round, seq) = sum.expect("each has handed over its share");
        Ok((*round, seq))
    }

    fn send_all(&self, command: &Command) {
        self.helpers
            .iter()
            .for_each(|helper| helper.send(line(command)));
    }

    /// One of them has ended, which is well only when it has handed over its share.
    fn ended(&mut self, part: usize) -> Result<(), String> {
        if self.each[part].done.is_some() {
            return Ok(());
        }
        let status = match self.helpers[part].end(GRACE) {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        Err(format!(
            "a generator process ended ({status}) before it had handed over its round"
        ))
    }

    fn handle(
        &mut self,
        part: usize,
        line: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let unknown = |error| format!("a generator process sent an unknown message: {error}");
        let event: Event = serde_json::from_slice(line).map_err(unknown)?;
        let number = self.each.len();
        let share = &mut self.each[part];
        share.silence = Nanos::ZERO;
        match event {
            // Each says so once, and goes on only when the point has opened for all.
            Event::Arrived(point) => {
                self.arrived += 1;
                if self.arrived.is_multiple_of(number) {
                    self.send_all(&Command::Open(point, kernel::clock::now() + LEAD));
                }
            }
            Event::Opened => {
                self.opened += 1;
                if self.opened == 1 {
                    observer.opened();
                }
            }
            Event::Closed => {
                self.closed += 1;
                if self.closed == number {
                    observer.closed();
                }
            }
            Event::Drained(open) => {
                self.open += open;
                self.drained += 1;
                if self.drained == number {
                    observer.drained(self.open);
                    self.send_all(&Command::Release);
                }
            }
            Event::Progress(progress) => {
                share.progress = progress;
                observer.tick(self.progress());
            }
            Event::Done(round, seq) => share.done = Some((round, seq)),
            Event::Failed(why) => return Err(why),
            Event::Open | Event::Slice(..) => {} // of one that loads servers in turn
        }
        Ok(())
    }

    /// How far all have come. Percentiles of the last second cannot be added up: of two there are none.
    fn progress(&self) -> Progress {
        let all = self.each.iter().map(|share| share.progress);
        let sum = all.reduce(|sum, progress| Progress {
            ok: sum.ok + progress.ok,
            errors: sum.errors + progress.errors,
            scheduled: sum.scheduled + progress.scheduled,
            window_start: sum
                .window_start
                .into_iter()
                .chain(progress.window_start)
                .min(),
            last_second: [None; 2],
        });
        sum.unwrap_or_default()
    }
}

/// A generator process that loads several servers in turn, each over connections that it keeps for its whole life.
#[derive(Debug)]
pub(crate) struct Slicer {
    helper: Piped,
    messages: Receiver<((), Message)>,
}

impl Slicer {
    /// Starts one by `command`, with connections to the server of each lane; none when `stop` became true.
    ///
    /// # Errors
    /// Why there is none: a sentence.
    pub(crate) fn start(
        command: &[OsString],
        lanes: Lanes,
        stop: &AtomicBool,
    ) -> Result<Option<Slicer>, String> {
        let each = lanes.lanes.iter();
        let patience = each.map(|lane| lane.plan.timeouts.connect * 4).sum();
        let (sender, messages) = channel();
        let helper = Piped::start(command, LONGEST, (), sender)
            .map_err(|error| format!("a generator process could not be started: {error}"))?;
        helper.send(line(&Order::Lanes(lanes)));
        let mut slicer = Slicer { helper, messages };
        Ok(match slicer.next(patience, stop)? {
            Some(Event::Open) => Some(slicer),
            Some(event) => {
                return Err(format!(
                    "a generator process sent {event:?} instead of its connections"
                ));
            }
            None => None,
        })
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.helper.id()
    }

    /// Has a slice measured, each of whose requests may take as long as `timeout`; with the TLS handshakes since the one before. None
    /// when `stop` became true.
    ///
    /// # Errors
    /// Why there is none, after which no other can be measured.
    pub(crate) fn slice(
        &mut self,
        order: SliceOrder,
        timeout: Nanos,
        stop: &AtomicBool,
    ) -> Result<Option<(Slice, Option<Handshakes>)>, String> {
        self.helper.send(line(&Command::Slice(order)));
        match self.next(order.length.most + timeout * 3, stop)? {
            Some(Event::Slice(slice, handshakes)) => {
                Ok(Some((*slice, handshakes.map(|handshakes| *handshakes))))
            }
            Some(event) => Err(format!(
                "a generator process sent {event:?} instead of a slice"
            )),
            None => Ok(None),
        }
    }

    /// What it says next; none when `stop` becomes true before.
    fn next(&mut self, patience: Nanos, stop: &AtomicBool) -> Result<Option<Event>, String> {
        let mut silence = Nanos::ZERO;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            match self.messages.recv_timeout(POLL.to_std()) {
                Ok(((), Some(line))) => {
                    let event = serde_json::from_slice(&line).map_err(|error| {
                        format!("a generator process sent an unknown message: {error}")
                    })?;
                    return match event {
                        Event::Failed(why) => Err(why),
                        event => Ok(Some(event)),
                    };
                }
                Ok(((), None)) => {
                    let how = self.helper.end(GRACE);
                    let how =
                        how.map_or_else(|error| error.to_string(), |status| status.to_string());
                    return Err(format!(
                        "the generator process ended ({how}) before it was told to"
                    ));
                }
                Err(_) => silence += POLL,
            }
            if silence > patience + SILENCE {
                let silence = units::span(silence);
                return Err(format!("a generator process said nothing for {silence}"));
            }
        }
    }
}

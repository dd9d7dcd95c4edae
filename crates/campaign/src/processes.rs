//! A round by two generators: two processes of this program, half the load each, that open their windows together.
//!
//! Processes and not only more threads, because what a process's threads share (its address space, its descriptors, the
//! allocator, a mistake of ours) may be the limit too. Both talk with the campaign in lines, see `generator`.

use crate::generator::{Assignment, Command, Event, LONGEST};
use engine::{Job, Observer, Part, Progress, Rep};
use kernel::process::{Message, Piped};
use record::Round;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use units::{Instant, Nanos};

/// How many generators there are.
const GENERATORS: usize = 2;
/// How far ahead a common start lies: enough for a line to be written, read, and noticed by threads that check once a
/// millisecond, on a busy machine.
const LEAD: Nanos = Nanos::from_millis(50);
/// How often an interrupt is checked for.
const POLL: Duration = Duration::from_millis(50);
/// How long a generator, which reports its progress ten times a second, may be silent.
const SILENCE: Nanos = Nanos::from_secs(20);
/// How long a generator may take to end once it has handed over its round.
const GRACE: Nanos = Nanos::from_secs(1);

/// Measures repetition `rep` of the load of `job` by two generators, each started by `command`; returns the round, and the
/// first `{seq}` that was not used.
///
/// # Errors
/// Why there was no round: a sentence.
pub(crate) fn round(
    command: &[OsString],
    job: &Job,
    rep: Rep,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Round, u64), String> {
    let (sender, messages) = channel();
    let mut helpers = Vec::new();
    for part in 0..GENERATORS {
        let helper = Piped::start(command, LONGEST, part, sender.clone());
        let failed = |error| format!("a generator process could not be started: {error}");
        helpers.push(helper.map_err(failed)?);
    }
    let plan = job.plan.for_two_generators();
    for (part, helper) in helpers.iter().enumerate() {
        helper.send(line(&Assignment {
            plan: plan.clone(),
            endpoint: job.endpoint.clone(),
            busy_poll: job.busy_poll,
            rep,
            part: Part {
                index: part as u32,
                of: GENERATORS as u32,
            },
        }));
    }
    Pair::new(helpers, messages).follow(stop, observer)
}

fn line(message: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are plain JSON")
}

/// Two generators at work on one round.
struct Pair {
    helpers: Vec<Piped>,
    messages: Receiver<(usize, Message)>,
    each: [Half; GENERATORS],
    is_stopping: bool,
    /// How often one of them has come to a point, has opened its window, and has closed it.
    arrived: usize,
    opened: usize,
    closed: usize,
}

/// What is known of one of them.
#[derive(Debug, Default)]
struct Half {
    last_message: Instant,
    progress: Progress,
    done: Option<(Box<Round>, u64)>,
}

impl Pair {
    fn new(helpers: Vec<Piped>, messages: Receiver<(usize, Message)>) -> Pair {
        let now = kernel::clock::now();
        let half = || Half {
            last_message: now,
            ..Half::default()
        };
        Pair {
            helpers,
            messages,
            each: [half(), half()],
            is_stopping: false,
            arrived: 0,
            opened: 0,
            closed: 0,
        }
    }

    /// Follows both until each has handed over its half.
    fn follow(
        mut self,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<(Round, u64), String> {
        while self.each.iter().any(|half| half.done.is_none()) {
            if stop.load(Ordering::Relaxed) && !self.is_stopping {
                self.is_stopping = true;
                self.send_all(&Command::Stop);
            }
            match self.messages.recv_timeout(POLL) {
                Ok((part, Some(line))) => self.handle(part, &line, observer)?,
                Ok((part, None)) => self.ended(part)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            let now = kernel::clock::now();
            let is_silent = |half: &Half| half.done.is_none() && now - half.last_message > SILENCE;
            if self.each.iter().any(is_silent) {
                let silence = units::span(SILENCE);
                return Err(format!("a generator process said nothing for {silence}"));
            }
        }
        for helper in &mut self.helpers {
            let _ = helper.end(GRACE); // it has handed over all that it had
        }
        let halves = self.each.into_iter().filter_map(|half| half.done);
        let sum = halves.reduce(|(mut sum, first), (half, other)| {
            sum.merge(&half);
            (sum, first.max(other))
        });
        let (round, seq) = sum.expect("there are two halves");
        Ok((*round, seq))
    }

    fn send_all(&self, command: &Command) {
        self.helpers
            .iter()
            .for_each(|helper| helper.send(line(command)));
    }

    /// One of them has ended, which is well only when it has handed over its half.
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
        let half = &mut self.each[part];
        half.last_message = kernel::clock::now();
        match event {
            // Each says so once, and goes on only when the point has opened for both.
            Event::Arrived(point) => {
                self.arrived += 1;
                if self.arrived.is_multiple_of(GENERATORS) {
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
                if self.closed == GENERATORS {
                    observer.closed();
                }
            }
            Event::Progress(progress) => {
                half.progress = progress;
                observer.tick(self.progress());
            }
            Event::Done(round, seq) => half.done = Some((round, seq)),
            Event::Failed(why) => return Err(why),
        }
        Ok(())
    }

    /// How far both have come.
    fn progress(&self) -> Progress {
        let mut both = Progress::default();
        for Half { progress, .. } in &self.each {
            both.ok += progress.ok;
            both.errors += progress.errors;
            both.scheduled += progress.scheduled;
            let starts = [both.window_start, progress.window_start];
            both.window_start = starts.into_iter().flatten().min();
        }
        both
    }
}

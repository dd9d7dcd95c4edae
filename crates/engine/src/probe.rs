//! A request or a few before the load: is the server there, at which of its addresses, and does it respond as expected?
//!
//! It runs on the same ring and the same wire as the load, one connection at a time, and keeps what a load throws
//! away: the bytes of both sides.

use crate::job::{Job, JobError};
use crate::verdict;
use kernel::{Closing, ConnectOptions, Errno, Event, Ring, Token};
use plan::{Endpoint, Expect, Plan};
use std::fmt;
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use units::{Instant, Nanos};
use wire::{Connection, Ending, ExchangeId, Head, Opening, Sink, Source, Usual, Violation};

/// The most of a body that is kept to be shown.
const BODY_SHOWN: usize = 64 * 1024;

/// How often a wait looks whether it is to stop.
const POLL: Nanos = Nanos::from_millis(50);

/// How many of the plan's requests are probed.
pub const PROBED: usize = 20;

const SOCKET: Token = Token(0);

/// Why there was no exchange at all.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The plan could not be made ready.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The user did not wait any longer.
    #[error("interrupted before the server responded")]
    Interrupted,
    /// None of the target's addresses accepted a connection.
    #[error("{authority} cannot be reached: {}; is the server running?", list(.failed))]
    Unreachable {
        /// The target.
        authority: String,
        /// Every address that was tried, and what it said.
        failed: Vec<(Endpoint, String)>,
    },
}

fn list(failed: &[(Endpoint, String)]) -> String {
    let each = failed.iter();
    let each: Vec<String> = each.map(|(at, why)| format!("{why} at {at}")).collect();
    each.join(", ")
}

/// Both sides of one exchange.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The request's head.
    pub request_head: Vec<u8>,
    /// The request's body.
    pub request_body: Vec<u8>,
    /// The response's head; empty when none came.
    pub response_head: Vec<u8>,
    /// The response's body, framing removed; at most 64 KiB of it.
    pub response_body: Vec<u8>,
    /// Length of the whole body.
    pub body_length: u64,
    /// The response's status; 0 when none came.
    pub status: u16,
    /// What was wrong, if anything.
    pub fault: Option<String>,
    /// From the start of the connect to the end of the response.
    pub took: Nanos,
    /// Why the load would count this response as an error, if it would.
    pub unexpected: Option<Unexpected>,
}

/// A response that the plan does not expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unexpected {
    /// A complete response with this status.
    Status(u16),
    /// A complete response with another body than the one in this file.
    Body(String),
    /// No complete, well-formed response: this happened instead.
    Failed(String),
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexpected::Status(status) => write!(f, "status {status}"),
            Unexpected::Body(path) => write!(f, "the body is not that of --expect @{path}"),
            Unexpected::Failed(why) => f.write_str(why),
        }
    }
}

/// Keeps an exchange, and compares its body with the expected one.
struct Transcript<'a> {
    shown: Shown,
    expected: Option<&'a [u8]>,
    differs: bool,
    /// How it ended, once it has.
    result: Option<Result<(), Violation>>,
}

impl Transcript<'_> {
    /// Notes what was wrong even where it ended no exchange: bytes behind the response.
    fn note(&mut self, received: Result<(), Violation>) {
        if let Err(violation) = received {
            let sentence = || verdict::kind(violation).sentence().to_owned();
            self.shown.fault.get_or_insert_with(sentence);
        }
    }

    /// Compares the exchange, which is over, with what the plan expects.
    fn finish(mut self, expect: &Expect) -> Shown {
        let whole = |expected: &[u8]| expected.len() as u64 == self.shown.body_length;
        let differs = self.differs || !self.expected.is_none_or(whole);
        let shown = &mut self.shown;
        shown.unexpected = if self.result != Some(Ok(())) {
            Some(Unexpected::Failed(shown.fault.clone().unwrap_or_default()))
        } else if !expect.holds(shown.status) {
            Some(Unexpected::Status(shown.status))
        } else {
            let body = expect.body.as_ref().filter(|_| differs);
            body.map(|body| Unexpected::Body(body.path.display().to_string()))
        };
        self.shown
    }
}

impl Sink for Transcript<'_> {
    fn first(&mut self, _: ExchangeId) {}

    fn head(&mut self, _: ExchangeId, head: &Head<'_>) {
        self.shown.response_head = head.raw.to_vec();
        self.shown.status = head.status;
    }

    fn body(&mut self, _: ExchangeId, bytes: &[u8]) {
        let shown = &mut self.shown;
        if let Some(expected) = self.expected {
            let from = shown.body_length as usize;
            self.differs |= expected.get(from..from + bytes.len()) != Some(bytes);
        }
        let room = BODY_SHOWN - shown.response_body.len();
        let kept = &bytes[..bytes.len().min(room)];
        shown.response_body.extend_from_slice(kept);
        shown.body_length += bytes.len() as u64;
    }

    fn done(&mut self, _: ExchangeId, ending: Ending) {
        self.result = Some(ending.result);
        self.note(ending.result);
    }

    fn unanswered(&mut self, id: ExchangeId, ending: Ending) {
        self.done(id, ending);
    }
}

/// Sends the plan's first requests, at most `most`, one after the other and each on a connection of its own, with `{seq}`
/// from `seq` on, to the first of the target's addresses that accepts a connection. Takes at most about twice as long as
/// one exchange may. The [`Shown`] are those that were sent, at least one.
///
/// # Errors
/// [`ProbeError`]; a server that was reached but responded badly is no error, it is what [`Shown`] shows.
pub fn probe<R: Ring>(
    ring: &mut R,
    plan: &Plan,
    seq: u64,
    most: usize,
    stop: &AtomicBool,
) -> Result<(record::Probe, Vec<Shown>), ProbeError> {
    let mut failed = Vec::new();
    for endpoint in &plan.target.endpoints {
        let job = Job::new(plan.clone(), endpoint.clone())?;
        let mut prober = Prober {
            ring: &mut *ring,
            job: &job,
            stop,
        };
        let begun = prober.ring.now();
        match prober.connect() {
            Ok(()) => {
                let shown = prober.exchanges(begun, job.first_requests(seq, most));
                return match shown.is_empty() {
                    true => Err(JobError::NoRequest.into()),
                    false => Ok((summary(plan, endpoint, failed, &shown), shown)),
                };
            }
            Err(why) => failed.push((endpoint.clone(), why)),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ProbeError::Interrupted);
        }
    }
    let authority = plan.target.authority.clone();
    Err(ProbeError::Unreachable { authority, failed })
}

/// What probes one address, a connection at a time.
struct Prober<'a, R> {
    ring: &'a mut R,
    job: &'a Job,
    /// When it becomes true nothing more is waited for.
    stop: &'a AtomicBool,
}

impl<R: Ring> Prober<'_, R> {
    /// Sends `requests`, the first on the connection whose opening was begun at `begun`, and closes it at once after each, so that its port is
    /// there for the load. A connection that cannot be opened any more ends it.
    fn exchanges(&mut self, mut begun: Instant, requests: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<Shown> {
        let limit = self.ring.now() + self.job.plan.timeouts.exchange * 2;
        let mut shown = Vec::new();
        for (head, body) in requests {
            let is_over = self.ring.now() >= limit || self.stop.load(Ordering::Relaxed);
            begun = if shown.is_empty() {
                begun
            } else {
                self.ring.now()
            };
            if !shown.is_empty() && (is_over || self.connect().is_err()) {
                return shown;
            }
            let mut one = self.exchange(head, body);
            one.took = self.ring.now() - begun;
            shown.push(one);
            self.ring.close(SOCKET, Closing::Reset);
        }
        shown
    }

    /// Opens the connection, or says why it could not be.
    fn connect(&mut self) -> Result<(), String> {
        let options = ConnectOptions {
            source: self.job.plan.sources.first().copied(),
            nodelay: self.job.nodelay,
        };
        let local = self.job.endpoint.is_local();
        let sentence = |errno: Errno| match verdict::connect(errno, local).kind {
            _ if errno == Errno::ENOENT => "there is no such socket".to_owned(),
            record::Kind::ConnectOther => errno.to_string(),
            kind => kind.sentence().to_owned(),
        };
        let opened = self.ring.connect(SOCKET, &self.job.endpoint, &options);
        opened.map_err(sentence)?;
        let deadline = self.ring.now() + self.job.plan.timeouts.connect;
        let errno = loop {
            match self.event(deadline) {
                Some(Event::Connected) => return Ok(()),
                Some(Event::Failed(errno)) => break errno,
                Some(_) => {}
                None => break Errno::ETIMEDOUT,
            }
        };
        self.ring.close(SOCKET, Closing::Reset);
        Err(sentence(errno))
    }

    /// What happens next; none when `deadline` has passed, or waiting is to stop.
    fn event(&mut self, deadline: Instant) -> Option<Event> {
        loop {
            if let Some(completion) = self.ring.next() {
                return Some(completion.event);
            }
            let left = deadline - self.ring.now();
            if left == Nanos::ZERO || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            self.ring.wait(Some(left.min(POLL)));
        }
    }

    /// One exchange on the open connection.
    fn exchange(&mut self, head: Vec<u8>, body: Vec<u8>) -> Shown {
        let timeout = self.job.plan.timeouts.exchange;
        let mut transcript = Transcript {
            shown: Shown {
                request_head: head.clone(),
                request_body: body.clone(),
                ..Shown::default()
            },
            expected: self.job.expected.as_deref(),
            differs: false,
            result: None,
        };
        let mut connection = Usual::sharing(1, &Default::default());
        let opening = Opening {
            is_head: head.starts_with(b"HEAD "),
            head: Source::Own(head),
            body: Source::Own(body),
        };
        connection.open(ExchangeId(0), opening);
        let deadline = self.ring.now() + timeout;
        let mut result = self.send(&mut connection);
        loop {
            // What is there already is looked at even when it is over: there may be bytes behind the response.
            let is_over = result.is_err() || transcript.result.is_some();
            match self.event(if is_over { Instant::ZERO } else { deadline }) {
                None if is_over => break,
                None => {
                    let limit = units::span(timeout);
                    result = Err(format!("no complete response within {limit}"));
                }
                Some(Event::Received) => {
                    let received = connection.receive(self.ring.received(), &mut transcript);
                    transcript.note(received);
                }
                Some(Event::Ended) => drop(connection.end(&mut transcript)),
                Some(Event::Writable) => result = self.send(&mut connection),
                Some(Event::Failed(errno)) => result = Err(errno.to_string()),
                Some(Event::Connected | Event::Incoming) => {}
            }
        }
        if let Err(why) = result
            && transcript.result.is_none()
        {
            transcript.shown.fault = Some(why);
            connection.abandon(&mut transcript, Violation::Abandoned);
        }
        transcript.finish(&self.job.plan.expect)
    }

    /// Sends what the kernel takes.
    fn send(&mut self, connection: &mut Usual<'_>) -> Result<(), String> {
        while connection.has_outgoing() {
            let mut slices = [IoSlice::new(&[]); 2];
            let filled = connection.outgoing(&mut slices);
            let offered: usize = slices[..filled].iter().map(|slice| slice.len()).sum();
            let sent = self.ring.send(SOCKET, &slices[..filled]);
            let taken = sent.map_err(|errno| errno.to_string())?;
            connection.sent(taken, |_| {});
            if taken < offered {
                break;
            }
        }
        Ok(())
    }
}

fn summary(
    plan: &Plan,
    endpoint: &Endpoint,
    failed: Vec<(Endpoint, String)>,
    shown: &[Shown],
) -> record::Probe {
    let text = |bytes: &[u8]| plan.secrets().head(&String::from_utf8_lossy(bytes));
    let first = shown.first().cloned().unwrap_or_default();
    let unexpected = || shown.iter().filter_map(|each| each.unexpected.as_ref());
    record::Probe {
        endpoint: endpoint.clone(),
        link: None,
        failed,
        request_head: text(&first.request_head),
        response_head: (!first.response_head.is_empty()).then(|| text(&first.response_head)),
        took: (first.status != 0).then_some(first.took),
        status: (first.status != 0).then_some(first.status),
        body_length: first.body_length,
        fault: first.fault,
        requests: shown.len() as u64,
        errors: unexpected().count() as u64,
        error: unexpected().next().map(Unexpected::to_string),
    }
}

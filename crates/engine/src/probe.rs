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
use wire::{Connection, Ending, ExchangeId, Head, Opening, Sink, Source, Violation};

/// The most of a body that is kept to be shown.
const BODY_SHOWN: usize = 64 * 1024;

/// How often it is seen whether anybody still wants to wait.
const GLANCE: Nanos = Nanos::from_millis(50);

/// How many of the plan's requests are probed.
pub const PROBED: usize = 20;

const SOCKET: Token = Token(0);

/// Why there was no exchange at all.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The plan could not be made ready.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Somebody lost patience.
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
    let each: Vec<String> = failed
        .iter()
        .map(|(endpoint, why)| format!("{why} at {endpoint}"))
        .collect();
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
    /// Why the load would count this response as an error, if it would.
    pub unexpected: Option<Unexpected>,
    over: bool,
    /// Whether the response was complete and well-formed.
    complete: bool,
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

impl Shown {
    /// Compares the exchange, which is over, with what the plan expects.
    fn judge(&mut self, expect: &Expect, differs: bool) {
        let path = expect
            .body
            .as_ref()
            .map(|body| body.path.display().to_string());
        self.unexpected = match path {
            _ if !self.complete => {
                let why = self.fault.clone().unwrap_or_default();
                Some(Unexpected::Failed(why))
            }
            _ if !expect.holds(self.status) => Some(Unexpected::Status(self.status)),
            Some(path) if differs => Some(Unexpected::Body(path)),
            _ => None,
        };
    }

    /// Notes what was wrong even where it ended no exchange: bytes behind the answer.
    fn note(&mut self, received: Result<(), Violation>) {
        if let Err(violation) = received
            && self.fault.is_none()
        {
            self.fault = Some(verdict::kind(violation).sentence().to_owned());
        }
    }
}

/// Keeps an exchange, and compares its body with the expected one.
struct Transcript<'a> {
    shown: Shown,
    expected: Option<&'a [u8]>,
    differs: bool,
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
        shown
            .response_body
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        shown.body_length += bytes.len() as u64;
    }

    fn done(&mut self, _: ExchangeId, ending: Ending) {
        self.shown.over = true;
        self.shown.complete = ending.result.is_ok();
        let whole = |expected: &[u8]| expected.len() as u64 == self.shown.body_length;
        self.differs |= !self.expected.is_none_or(whole);
        self.shown.note(ending.result);
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
        match connect(ring, &job, stop) {
            Ok(()) => {
                let shown = exchanges(ring, &job, job.first_requests(seq, most), stop);
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
    Err(ProbeError::Unreachable {
        authority: plan.target.authority.clone(),
        failed,
    })
}

/// Sends `requests`, the first on the connection that is open, and closes it at once after each, so that its port is there
/// for the load. A connection that cannot be opened any more ends it.
fn exchanges<R: Ring>(
    ring: &mut R,
    job: &Job,
    requests: Vec<(Vec<u8>, Vec<u8>)>,
    stop: &AtomicBool,
) -> Vec<Shown> {
    let limit = ring.now() + job.plan.timeouts.exchange * 2;
    let mut shown = Vec::new();
    for (head, body) in requests {
        let is_over = ring.now() >= limit || stop.load(Ordering::Relaxed);
        if !shown.is_empty() && (is_over || connect(ring, job, stop).is_err()) {
            return shown;
        }
        shown.push(exchange(ring, job, head, body, stop));
        ring.close(SOCKET, Closing::Reset);
    }
    shown
}

/// Opens the connection, or says why it could not be.
fn connect<R: Ring>(ring: &mut R, job: &Job, stop: &AtomicBool) -> Result<(), String> {
    let options = ConnectOptions {
        source: job.plan.sources.first().copied(),
        nodelay: job.nodelay,
    };
    let local = job.endpoint.is_local();
    let sentence = |errno: Errno| match verdict::connect(errno, local).kind {
        _ if errno == Errno::ENOENT => "there is no such socket".to_owned(),
        record::Kind::ConnectOther => errno.to_string(),
        kind => kind.sentence().to_owned(),
    };
    ring.connect(SOCKET, &job.endpoint, &options)
        .map_err(sentence)?;
    let deadline = ring.now() + job.plan.timeouts.connect;
    while let Some(patience) = left(ring, deadline, stop) {
        ring.wait(Some(patience));
        while let Some(completion) = ring.next() {
            match completion.event {
                Event::Connected => return Ok(()),
                Event::Failed(errno) => {
                    ring.close(SOCKET, Closing::Reset);
                    return Err(sentence(errno));
                }
                _ => {}
            }
        }
    }
    ring.close(SOCKET, Closing::Reset);
    Err(sentence(Errno::ETIMEDOUT))
}

/// How long to wait at a time; none when `deadline` has passed, or the run was interrupted.
fn left<R: Ring>(ring: &R, deadline: Instant, stop: &AtomicBool) -> Option<Nanos> {
    let left = deadline - ring.now();
    (left > Nanos::ZERO && !stop.load(Ordering::Relaxed)).then_some(left.min(GLANCE))
}

/// One exchange on the open connection.
fn exchange<R: Ring>(
    ring: &mut R,
    job: &Job,
    head: Vec<u8>,
    body: Vec<u8>,
    stop: &AtomicBool,
) -> Shown {
    let mut transcript = Transcript {
        shown: Shown {
            request_head: head.clone(),
            request_body: body.clone(),
            ..Shown::default()
        },
        expected: job.expected.as_deref(),
        differs: false,
    };
    let mut connection = Connection::http1(1);
    connection.open(Opening {
        id: ExchangeId(0),
        is_head: head.starts_with(b"HEAD "),
        head: Source::Own(head),
        body: Source::Own(body),
    });
    let deadline = ring.now() + job.plan.timeouts.exchange;
    let mut result = send(ring, &mut connection);
    while result.is_ok() && !transcript.shown.over {
        let Some(patience) = left(ring, deadline, stop) else {
            result = Err(format!(
                "no complete response within {}",
                units::span(job.plan.timeouts.exchange)
            ));
            break;
        };
        ring.wait(Some(patience));
        while let Some(completion) = ring.next() {
            match completion.event {
                Event::Received => {
                    let received = connection.receive(ring.received(), &mut transcript);
                    transcript.shown.note(received);
                }
                Event::Ended => drop(connection.end(&mut transcript)),
                Event::Writable => result = send(ring, &mut connection),
                Event::Failed(errno) => result = Err(errno.to_string()),
                Event::Connected | Event::Incoming => {}
            }
        }
    }
    if let Err(why) = result
        && !transcript.shown.over
    {
        transcript.shown.fault = Some(why);
        connection.abandon(&mut transcript, Violation::Abandoned);
    }
    let Transcript {
        mut shown, differs, ..
    } = transcript;
    shown.judge(&job.plan.expect, differs);
    shown
}

/// Sends what the kernel takes.
fn send<R: Ring>(ring: &mut R, connection: &mut Connection<'_>) -> Result<(), String> {
    while connection.has_outgoing() {
        let mut slices = [IoSlice::new(&[]); 2];
        let filled = connection.outgoing(&mut slices);
        let offered: usize = slices[..filled].iter().map(|slice| slice.len()).sum();
        let taken = ring
            .send(SOCKET, &slices[..filled])
            .map_err(|errno: Errno| errno.to_string())?;
        connection.sent(taken);
        if taken < offered {
            break;
        }
    }
    Ok(())
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
        failed,
        request_head: text(&first.request_head),
        response_head: (!first.response_head.is_empty()).then(|| text(&first.response_head)),
        status: (first.status != 0).then_some(first.status),
        body_length: first.body_length,
        fault: first.fault,
        requests: shown.len() as u64,
        errors: unexpected().count() as u64,
        error: unexpected().next().map(Unexpected::to_string),
    }
}

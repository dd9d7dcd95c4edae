//! One exchange before the load: is the server there, at which of its addresses, and what does it say?
//!
//! It runs on the same ring and the same wire as the load, one connection at a time, and keeps what a load throws
//! away: the bytes of both sides.

use crate::job::{Job, JobError};
use crate::verdict;
use kernel::{Closing, ConnectOptions, Errno, Event, Ring, Token};
use plan::{Endpoint, Plan};
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use units::{Instant, Nanos};
use wire::{Connection, Ending, ExchangeId, Head, Opening, Sink, Source, Violation};

/// The most of a body that is kept to be shown.
const BODY_SHOWN: usize = 64 * 1024;

/// How often it is seen whether anybody still wants to wait.
const GLANCE: Nanos = Nanos::from_millis(50);

const SOCKET: Token = Token(0);

/// Why there was no exchange at all.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The plan could not be made ready.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Somebody lost patience.
    #[error("interrupted before the server answered")]
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
    over: bool,
}

impl Shown {
    /// Notes what was wrong even where it ended no exchange: bytes behind the answer.
    fn note(&mut self, received: Result<(), Violation>) {
        if let Err(violation) = received
            && self.fault.is_none()
        {
            self.fault = Some(violation.to_string());
        }
    }
}

impl Sink for Shown {
    fn first(&mut self, _: ExchangeId) {}

    fn head(&mut self, _: ExchangeId, head: &Head<'_>) {
        self.response_head = head.raw.to_vec();
        self.status = head.status;
    }

    fn body(&mut self, _: ExchangeId, bytes: &[u8]) {
        let room = BODY_SHOWN - self.response_body.len();
        self.response_body
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.body_length += bytes.len() as u64;
    }

    fn done(&mut self, _: ExchangeId, ending: Ending) {
        self.over = true;
        if let Err(violation) = ending.result
            && self.fault.is_none()
        {
            self.fault = Some(violation.to_string());
        }
    }
}

/// Asks the plan's first request once, at the first of the target's addresses that accepts a connection.
///
/// # Errors
/// [`ProbeError`]; a server that was reached but answered badly is no error, it is what [`Shown`] shows.
pub fn probe<R: Ring>(
    ring: &mut R,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<(record::Probe, Shown), ProbeError> {
    let mut failed = Vec::new();
    for endpoint in &plan.target.endpoints {
        let job = Job::new(plan.clone(), endpoint.clone())?;
        match connect(ring, &job, stop) {
            Ok(()) => {
                let (head, body) = job.first_request().ok_or(JobError::NoRequest)?;
                let shown = exchange(ring, &job, head, body, stop);
                // At once, so that its port is there for the load.
                ring.close(SOCKET, Closing::Reset);
                let asked = asked(plan, endpoint)?;
                return Ok((summary(endpoint, failed, &asked, &shown), shown));
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

/// The request's head as it may be published.
fn asked(plan: &Plan, endpoint: &Endpoint) -> Result<Vec<u8>, ProbeError> {
    let job = Job::new(plan.published(), endpoint.clone())?;
    Ok(job.first_request().ok_or(JobError::NoRequest)?.0)
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
    ring.connect(SOCKET, &job.address, &options)
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

/// How long to wait at a time; none when `deadline` has passed, or nobody wants to wait any more.
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
    let mut shown = Shown {
        request_head: head.clone(),
        request_body: body.clone(),
        ..Shown::default()
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
    while result.is_ok() && !shown.over {
        let Some(patience) = left(ring, deadline, stop) else {
            result = Err(format!(
                "no complete answer within {}",
                units::span(job.plan.timeouts.exchange)
            ));
            break;
        };
        ring.wait(Some(patience));
        while let Some(completion) = ring.next() {
            match completion.event {
                Event::Received => {
                    let received = connection.receive(ring.received(), &mut shown);
                    shown.note(received);
                }
                Event::Ended => drop(connection.end(&mut shown)),
                Event::Writable => result = send(ring, &mut connection),
                Event::Failed(errno) => result = Err(errno.to_string()),
                Event::Connected | Event::Incoming => {}
            }
        }
    }
    if let Err(why) = result
        && !shown.over
    {
        shown.fault = Some(why);
        connection.abandon(&mut shown, Violation::Abandoned);
    }
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
    endpoint: &Endpoint,
    failed: Vec<(Endpoint, String)>,
    asked: &[u8],
    shown: &Shown,
) -> record::Probe {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    record::Probe {
        endpoint: endpoint.clone(),
        failed,
        request_head: text(asked),
        response_head: (!shown.response_head.is_empty()).then(|| text(&shown.response_head)),
        status: (shown.status != 0).then_some(shown.status),
        body_length: shown.body_length,
        fault: shown.fault.clone(),
    }
}

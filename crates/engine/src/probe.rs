//! A request or a few before the load: is the server there, at which of its addresses, and does it respond as expected?
//!
//! It runs on the same ring and the same wire as the load, one connection at a time, and keeps what a load throws
//! away: the bytes of both sides.

use crate::job::{Job, JobError};
use crate::request_source::FirstRequest;
use crate::verdict;
use kernel::{Closing, ConnectOptions, Errno, Event, Ring, Token};
use plan::url::ENCRYPTED;
use plan::{Endpoint, Expect, Plan};
use record::Encryption;
use std::fmt;
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use units::{Instant, Nanos};
use wire::{
    Connection, Ending, ExchangeId, Handshake, Head, Opening, Sink, Source, Violation, Visitor,
    client_certificate, is_encrypted,
};

/// The most of a body that is kept to be shown.
const BODY_SHOWN: usize = 64 * 1024;

/// How many of the first bytes that come are kept.
const FIRST: usize = 16;

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
    /// A connection was accepted, and could not be secured.
    #[error("{authority} cannot be asked: {why}")]
    Handshake {
        /// The target.
        authority: String,
        /// What has failed, and what may help.
        why: String,
        /// Whether it would fail again, however long one waits.
        is_final: bool,
    },
    /// None of the target's addresses accepted a connection.
    #[error("{authority} cannot be reached: {}; is the server running?", list(.failed))]
    Unreachable {
        /// The target.
        authority: String,
        /// Every address that was tried, and what it said.
        failed: Vec<(Endpoint, String)>,
    },
}

/// Why a connection could not be secured.
struct Unsecured {
    why: String,
    /// Whether it would fail again, however long one waits.
    is_final: bool,
}

impl From<String> for Unsecured {
    /// What may pass.
    fn from(why: String) -> Unsecured {
        Unsecured {
            why,
            is_final: false,
        }
    }
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
    /// What its connection's handshake agreed on, where there was one.
    pub handshake: Option<Handshake>,
    /// The kind of the key of the server's certificate, where one was shown.
    pub certificate_key: Option<String>,
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
    /// The first bytes that came.
    first_bytes: Vec<u8>,
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
        if let Some(why) = advice(shown, &self.first_bytes, expect) {
            shown.fault = Some(why.clone());
            shown.unexpected = Some(Unexpected::Failed(why));
            return self.shown;
        }
        // Some servers close the connections of clients that speak no TLS, without a word.
        let is_shut = self.result == Some(Err(Violation::ClosedBeforeResponse));
        if let Some(fault) = &mut shown.fault
            && is_shut
            && shown.handshake.is_none()
            && self.first_bytes.is_empty()
        {
            *fault += &format!("; if it takes only https here, write {ENCRYPTED}://");
        }
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

/// What is to be changed about the request, where the response says so.
fn advice(shown: &Shown, first_bytes: &[u8], expect: &Expect) -> Option<String> {
    let body = match shown.status {
        400 => &shown.response_body[..],
        _ => &[],
    };
    match shown.handshake {
        Some(_) if expect.holds(shown.status) => None,
        Some(_) => client_certificate(body).map(str::to_owned),
        None if is_encrypted(first_bytes, body) => Some(format!(
            "the server wants encrypted requests here; write {ENCRYPTED}://"
        )),
        None => None,
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

/// Hears of no exchange, where there is none.
struct Nothing;

impl Sink for Nothing {
    fn first(&mut self, _: ExchangeId) {}
    fn head(&mut self, _: ExchangeId, _: &Head<'_>) {}
    fn body(&mut self, _: ExchangeId, _: &[u8]) {}
    fn done(&mut self, _: ExchangeId, _: Ending) {}
    fn unanswered(&mut self, _: ExchangeId, _: Ending) {}
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
                let requests = job.first_requests(seq, most);
                let exchanges = Exchanges {
                    prober,
                    begun,
                    requests,
                };
                let shown = job.stack.choose(exchanges);
                if shown.is_err() && stop.load(Ordering::Relaxed) {
                    return Err(ProbeError::Interrupted);
                }
                let shown = shown.map_err(|unsecured| ProbeError::Handshake {
                    authority: plan.target.authority.clone(),
                    why: unsecured.why,
                    is_final: unsecured.is_final,
                })?;
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

/// The exchanges of a probe, over whatever connections.
struct Exchanges<'a, R> {
    prober: Prober<'a, R>,
    begun: Instant,
    requests: Vec<FirstRequest>,
}

impl<'a, R: Ring> Visitor<'a> for Exchanges<'_, R> {
    type Output = Result<Vec<Shown>, Unsecured>;

    fn visit<C: Connection<'a> + 'a>(mut self, shared: C::Shared) -> Self::Output {
        self.prober
            .exchanges::<C>(&shared, self.begun, self.requests)
    }
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
    ///
    /// # Errors
    /// The first could not be secured.
    fn exchanges<'c, C: Connection<'c>>(
        &mut self,
        shared: &C::Shared,
        mut begun: Instant,
        requests: Vec<FirstRequest>,
    ) -> Result<Vec<Shown>, Unsecured> {
        let limit = self.ring.now() + self.job.plan.timeouts.exchange * 2;
        let mut shown = Vec::new();
        for request in requests {
            let is_over = self.ring.now() >= limit || self.stop.load(Ordering::Relaxed);
            begun = if shown.is_empty() {
                begun
            } else {
                self.ring.now()
            };
            if !shown.is_empty() && (is_over || self.connect().is_err()) {
                break;
            }
            let mut connection = C::sharing(1, shared);
            let ready = self.shake_hands(&mut connection);
            if let Err(why) = ready {
                self.ring.close(SOCKET, Closing::Reset);
                match shown.is_empty() {
                    true => return Err(why),
                    false => break,
                }
            }
            let mut one = self.exchange(connection, request);
            one.took = self.ring.now() - begun;
            shown.push(one);
            self.ring.close(SOCKET, Closing::Reset);
        }
        Ok(shown)
    }

    /// The handshake, where there is one.
    fn shake_hands<'c, C: Connection<'c>>(&mut self, connection: &mut C) -> Result<(), Unsecured> {
        let sentence = |connection: &C, violation| {
            let sentence = || verdict::kind(violation).sentence().to_owned();
            Unsecured {
                why: connection.complaint().unwrap_or_else(sentence),
                is_final: connection.is_final(),
            }
        };
        let begun = connection.begin();
        begun.map_err(|violation| sentence(connection, violation))?;
        let limit = self.job.plan.timeouts.connect;
        let deadline = self.ring.now() + limit;
        self.send(connection)?;
        while !connection.is_ready() {
            match self.event(deadline) {
                None => {
                    let limit = units::span(limit);
                    return Err(format!("the handshake was not over within {limit}").into());
                }
                Some(Event::Received) => {
                    let received = connection.receive(self.ring.received(), &mut Nothing);
                    let sent = self.send(connection);
                    received.map_err(|violation| sentence(connection, violation))?;
                    sent?;
                }
                Some(Event::Ended) => {
                    return Err(sentence(connection, Violation::ClosedInHandshake));
                }
                Some(Event::Writable) => self.send(connection)?,
                Some(Event::Failed(errno)) => {
                    return Err(format!("{errno} in the handshake").into());
                }
                Some(Event::Connected | Event::Incoming) => {}
            }
        }
        Ok(())
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
    fn exchange<'c, C: Connection<'c>>(
        &mut self,
        mut connection: C,
        request: FirstRequest,
    ) -> Shown {
        let timeout = self.job.plan.timeouts.exchange;
        let head = connection.head_of(&request.head).to_vec();
        let mut transcript = Transcript {
            shown: Shown {
                request_head: head.clone(),
                request_body: request.body.clone(),
                handshake: connection.handshake(),
                certificate_key: connection.certificate_key(),
                ..Shown::default()
            },
            expected: self.job.expected.as_deref(),
            differs: false,
            result: None,
            first_bytes: Vec::new(),
        };
        let opening = Opening {
            head: Source::Own(head),
            body: Source::Own(request.body),
            method: request.method,
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
                    let bytes = self.ring.received();
                    if transcript.first_bytes.is_empty() {
                        transcript.first_bytes = bytes[..bytes.len().min(FIRST)].to_vec();
                    }
                    let received = connection.receive(bytes, &mut transcript);
                    transcript.note(received);
                    if transcript.result.is_none() {
                        result = self.send(&mut connection);
                    }
                }
                Some(Event::Ended) => drop(connection.end(&mut transcript)),
                Some(Event::Writable) => result = self.send(&mut connection),
                Some(Event::Failed(errno)) => result = Err(errno.to_string()),
                Some(Event::Connected | Event::Incoming) => {}
            }
        }
        if let (Some(complaint), Some(Err(_)) | None) = (connection.complaint(), transcript.result)
        {
            transcript.shown.fault = Some(complaint);
        }
        if let Err(why) = result
            && transcript.result.is_none()
        {
            transcript.shown.fault.get_or_insert(why);
            connection.abandon(&mut transcript, Violation::Abandoned);
        }
        transcript.finish(&self.job.plan.expect)
    }

    /// Sends what the kernel takes.
    fn send<'c, C: Connection<'c>>(&mut self, connection: &mut C) -> Result<(), String> {
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
        encryption: first.handshake.map(|handshake| Encryption {
            version: handshake.version.to_owned(),
            cipher: handshake.cipher.to_owned(),
            key_exchange: handshake.key_exchange.map(str::to_owned),
            certificate_key: first.certificate_key.clone(),
        }),
        took: (first.status != 0).then_some(first.took),
        status: (first.status != 0).then_some(first.status),
        body_length: first.body_length,
        fault: first.fault,
        requests: shown.len() as u64,
        errors: unexpected().count() as u64,
        error: unexpected().next().map(Unexpected::to_string),
    }
}

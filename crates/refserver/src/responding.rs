//! From requests to the bytes of their responses.
//!
//! A response is chosen when a request's head is there and appended when the request is complete, so that the responses
//! of a pipeline stand in its order and go out with one system call. Bodies are skipped.
//!
//! Reading breaks off where more would be unfair or unwise: behind a response whose body is a large file, which has to
//! go out before the next one may, and when so much is to be sent already that the client should take it first.

use crate::admin::SharedCounters;
use crate::counts::Counts;
use crate::files::{Appended, Chosen, Library, What};
use crate::log::{Draft, Log};
use crate::prebuilt::{Form, PrebuiltResponses};
use crate::resources::{self, FixedResponse};
use crate::sending::Sending;
use crate::slots::Slot;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use units::Instant;
use wire::http1::{CONTINUE, Refusal, RequestCache, RequestHead, ServerSink};

/// Responses that are made before the client has to take some: two or three dozen large ones, hundreds of small ones.
const OUT_LIMIT: usize = 64 * 1024;

/// What a worker serves.
pub(crate) enum Site {
    /// What is in the program.
    BuiltIn,
    /// The files of a folder, and what is in the program where no file has its name.
    Files(Box<Library>),
    /// The operator's pages.
    Admin(Arc<SharedCounters>),
}

/// Everything that responses are made of, and what becomes of them: one for all connections of a worker.
pub(crate) struct ResponseContext {
    pub(crate) site: Site,
    pub(crate) prebuilt: PrebuiltResponses,
    pub(crate) counts: Counts,
    /// Responses of the connection that is being served; empty in between.
    pub(crate) out: Vec<u8>,
    pub(crate) log: Option<Log>,
    /// What the log will say of the request that is being read.
    pub(crate) draft: Draft,
    /// The next response is the last on its connection: the server stops, or the connection cannot go on for long.
    pub(crate) is_ending: bool,
    /// When this turn began.
    pub(crate) now: Instant,
}

/// How far a connection is in reading requests and responding to them.
#[derive(Default)]
pub(crate) struct Reading {
    /// The response to the request that is being read.
    pub(crate) chosen: Chosen,
    /// What the log will say of it, kept here from one piece of its body to the next.
    pub(crate) draft: Option<Box<Draft>>,
    /// Its body is being read.
    pub(crate) is_in_body: bool,
    /// It has its response although its body is still being read, which is thrown away.
    pub(crate) is_early: bool,
    /// It is complete, and has no response yet: only where that is to be the last.
    is_pending: bool,
    /// A response was made since this was last reset.
    pub(crate) is_responded: bool,
    /// The response that was made last is the last one.
    pub(crate) is_last: bool,
    /// The client may be sending still when its last response is sent.
    pub(crate) lingers: bool,
}

impl Reading {
    /// Ends reading with a last response that is made already or is about to be.
    pub(crate) fn end(&mut self) {
        (self.is_last, self.lingers, self.is_in_body) = (true, true, false);
    }
}

/// Reads what a connection has sent, appends the responses to the context's `out` and counts them. After a refusal or a
/// last request that does nothing any more. Returns how much of `input` was read (the rest is to be given again when all
/// responses are sent), and what is to be sent behind them.
#[inline]
pub(crate) fn read(
    slot: &mut Slot,
    requests: &mut RequestCache,
    context: &mut ResponseContext,
    input: &[u8],
) -> (usize, Option<Sending>) {
    let reading = &mut slot.reading;
    if let Some(draft) = reading.draft.take() {
        context.draft = *draft;
    }
    let mut listener = Listener {
        context,
        reading,
        peer: slot.peer,
        file: None,
    };
    match slot.http.receive(requests, input, &mut listener) {
        Ok(used) => {
            listener.settle(used == input.len());
            (used, listener.file)
        }
        Err(refusal) => {
            // A client that was told already that its body is not wanted has had its last response, whatever it sends.
            if !reading.is_early && !reading.is_last {
                context.refuse(refusal, slot.peer);
            }
            reading.end();
            (input.len(), None)
        }
    }
}

impl ResponseContext {
    /// Appends the response to a request that is not served, and counts it.
    pub(crate) fn refuse(&mut self, refusal: Refusal, peer: Option<IpAddr>) {
        self.counts.refused += 1;
        self.turn_away(refusal, peer);
    }

    /// As [`ResponseContext::refuse`], for a client that has sent no request yet.
    pub(crate) fn turn_away(&mut self, refusal: Refusal, peer: Option<IpAddr>) {
        self.counts.count_response(refusal.status);
        self.prebuilt.refuse(refusal, &mut self.out);
        let length = match refusal.is_head {
            true => 0,
            false => refusal.reason.len() as u64 + 1,
        };
        self.note(peer, (refusal.status, length), refusal.reason);
    }

    /// Writes a line of the log, of the request that `draft` describes.
    #[inline]
    fn note(&mut self, peer: Option<IpAddr>, outcome: (u16, u64), reason: &str) {
        if let Some(log) = &mut self.log {
            let is_kept = log.line(&self.draft, peer, outcome, reason);
            self.counts.log_lines_lost += u64::from(!is_kept);
        }
    }

    /// The end of a file that was sent, whole or not.
    pub(crate) fn note_sent(&mut self, mut sending: Sending, peer: Option<IpAddr>) {
        if let Some(draft) = sending.draft.take() {
            self.draft = *draft;
            self.note(peer, sending.outcome(), "");
        }
    }

    #[inline]
    fn choose(&mut self, head: &RequestHead<'_>) -> Chosen {
        let built_in = || match resources::choose(head.method, head.path) {
            place if place == FixedResponse::Missing as usize => missing(head),
            place => What::Ready(place),
        };
        let what = match &mut self.site {
            Site::BuiltIn => built_in(),
            Site::Files(library) => library.find(head, self.now).unwrap_or_else(built_in),
            Site::Admin(counters) => counters.respond(head),
        };
        Chosen {
            what,
            form: Form::new(head.version, head.keepalive),
            is_head: head.method == "HEAD",
        }
    }

    /// Appends a response, and says what of it comes behind.
    #[inline]
    fn append(&mut self, chosen: &Chosen, peer: Option<IpAddr>) -> Option<Sending> {
        let out = &mut self.out;
        let appended = match (&chosen.what, &mut self.site) {
            (What::Ready(resource), _) => {
                let outcome = chosen.append_ready(*resource, &self.prebuilt, out);
                self.counts.count_response(outcome.0);
                self.note(peer, outcome, "");
                return None;
            }
            (_, Site::Files(library)) => library.append(chosen, &self.prebuilt, out),
            _ => chosen
                .append(&self.prebuilt, out)
                .expect("only files can change"),
        };
        let Appended {
            status,
            length,
            part,
        } = appended;
        self.counts.count_response(status);
        let Some(part) = part else {
            self.note(peer, (status, length), "");
            return None;
        };
        let mut sending = Sending::new(part, status);
        if self.log.is_some() {
            sending.draft = Some(Box::new(std::mem::take(&mut self.draft)));
        }
        Some(sending)
    }
}

/// The response to a request for what is not among the ready ones.
#[cold]
fn missing(head: &RequestHead<'_>) -> What {
    let is_read = head.method == "GET" || head.method == "HEAD";
    let length = resources::filled(head.path).filter(|_| is_read);
    length.map_or(FixedResponse::Missing.into(), What::Filled)
}

/// What listens to a connection while its bytes are read.
struct Listener<'a> {
    context: &'a mut ResponseContext,
    reading: &'a mut Reading,
    peer: Option<IpAddr>,
    file: Option<Sending>,
}

impl Listener<'_> {
    /// What is left to do when the wire has read as much as it would.
    #[inline]
    fn settle(&mut self, is_all: bool) {
        if self.reading.is_pending {
            self.reading.is_pending = false;
            if is_all {
                self.reading.chosen.form = Form::Close;
                (self.reading.is_last, self.reading.lingers) = (true, true);
            }
            self.respond();
        }
        if self.reading.is_in_body && self.context.log.is_some() {
            let draft = std::mem::take(&mut self.context.draft);
            self.reading.draft = Some(Box::new(draft));
        }
    }

    #[inline]
    fn respond(&mut self) {
        self.file = self.context.append(&self.reading.chosen, self.peer);
        self.reading.is_responded = true;
    }

    /// A request with a body: a client that waits to hear whether the body is wanted is told. If the request cannot be
    /// served, the response says so at once. The body is then read to its end and thrown away, within the usual limits, and
    /// the connection kept. A client that waited is told instead that the connection ends: whether it sends the body all
    /// the same is its own choice (RFC 9110 §10.1.1).
    #[cold]
    fn begin_body(&mut self, is_waiting: bool) {
        self.reading.is_in_body = true;
        if self.reading.chosen.status() < 400 {
            if is_waiting {
                self.context.out.extend_from_slice(CONTINUE);
                self.context.counts.responses_1xx += 1;
            }
            return;
        }
        let is_last = is_waiting || self.context.is_ending;
        if is_last {
            self.reading.chosen.form = Form::Close;
        }
        self.context.counts.requests += 1;
        self.respond();
        if is_last {
            self.reading.end();
        } else {
            self.reading.is_early = true;
        }
    }

    /// A body is complete. Says whether its request got a response before that.
    #[cold]
    fn end_body(&mut self) -> bool {
        self.reading.is_in_body = false;
        std::mem::take(&mut self.reading.is_early)
    }
}

impl ServerSink for Listener<'_> {
    #[inline]
    fn request(&mut self, head: &RequestHead<'_>) {
        if self.reading.is_last {
            return;
        }
        if self.context.log.is_some() {
            self.context.draft.note(head);
        }
        self.reading.chosen = self.context.choose(head);
        if head.chunked || head.content_length.is_some_and(|length| length > 0) {
            self.begin_body(head.expects_continue);
        }
    }

    #[inline]
    fn body(&mut self, _: &[u8]) {}

    #[inline]
    fn complete(&mut self) -> ControlFlow<()> {
        if self.reading.is_last {
            return ControlFlow::Break(());
        }
        let is_responded = self.reading.is_in_body && self.end_body();
        if !is_responded {
            self.context.counts.requests += 1;
            if self.context.is_ending {
                self.reading.is_pending = true;
                return ControlFlow::Break(());
            }
            self.respond();
        }
        if self.file.is_some() || self.context.out.len() >= OUT_LIMIT {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn refused(&mut self, line: &[u8]) {
        if self.context.log.is_some() {
            self.context.draft.note_refused(line);
        }
    }
}

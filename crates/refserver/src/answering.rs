//! From requests to the bytes of their answers.
//!
//! An answer is chosen when a request's head is there and appended when the request is complete, so that the answers
//! of a pipeline stand in its order and go out with one system call. Bodies are skipped.
//!
//! Reading breaks off where more would be unfair or unwise: behind an answer whose body is a large file, which has to
//! go out before the next one may, and when so much is to be sent already that the client should take it first.

use crate::admin::{Page, SharedCounters};
use crate::counts::Counts;
use crate::files::{Found, Library};
use crate::log::{Draft, Ending, Log};
use crate::prebuilt::{Form, PrebuiltResponses, ResponseKey};
use crate::resources::{self, FixedResponse};
use crate::sending::Sending;
use crate::slots::Slot;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use units::Instant;
use wire::http1::{CONTINUE, Refusal, RequestCache, RequestHead, ServerSink};

/// Answers that are made before the client has to take some: two or three dozen large ones, hundreds of small ones.
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

/// Everything that answers are made of, and what becomes of them: one for all connections of a worker.
pub(crate) struct ResponseContext {
    pub(crate) site: Site,
    pub(crate) prebuilt: PrebuiltResponses,
    pub(crate) counts: Counts,
    /// Answers of the connection that is being looked at; empty in between.
    pub(crate) out: Vec<u8>,
    pub(crate) log: Option<Log>,
    /// What the log will say of the request that is being read.
    pub(crate) draft: Draft,
    /// The server stops: what is answered now is the last on its connection.
    pub(crate) is_draining: bool,
    /// When this turn began.
    pub(crate) now: Instant,
}

/// The answer to a request, chosen and not yet made.
pub(crate) enum Chosen {
    /// One that lies ready.
    Ready(ResponseKey),
    /// One from the folder.
    Found(Found, Form),
    /// One that is written when it is asked for.
    Page(Page, Form, bool),
}

impl Default for Chosen {
    /// For a connection on which nothing was asked yet.
    fn default() -> Chosen {
        Chosen::Ready(ResponseKey {
            resource: 0,
            form: Form::Close,
            is_head: false,
        })
    }
}

impl Chosen {
    fn status(&self) -> u16 {
        match self {
            Chosen::Ready(answer) => answer.status(),
            Chosen::Found(found, _) => found.status(),
            Chosen::Page(..) => 200,
        }
    }

    /// The connection is closed after it.
    fn close(&mut self) {
        match self {
            Chosen::Ready(answer) => answer.form = Form::Close,
            Chosen::Found(_, form) | Chosen::Page(_, form, _) => *form = Form::Close,
        }
    }
}

/// Where a connection is in reading and answering.
#[derive(Default)]
pub(crate) struct Reading {
    /// The answer to the request that is being read.
    pub(crate) chosen: Chosen,
    /// What the log will say of it, kept here from one piece of its body to the next.
    pub(crate) draft: Option<Box<Draft>>,
    /// Its body is being read.
    pub(crate) is_in_body: bool,
    /// It was answered although its body is still being read, which is thrown away.
    pub(crate) is_early: bool,
    /// It is complete, and not yet answered: only while the server stops.
    is_pending: bool,
    /// A request was answered since this was last taken down.
    pub(crate) is_answered: bool,
    /// The answer that was made last is the last one.
    pub(crate) is_last: bool,
    /// The client may be sending still when its last answer goes out.
    pub(crate) lingers: bool,
}

impl Reading {
    /// Ends reading with a last word that is said already or is about to be.
    pub(crate) fn end(&mut self) {
        (self.is_last, self.lingers, self.is_in_body) = (true, true, false);
    }
}

/// What came of a piece of input.
pub(crate) struct Read {
    /// How much of it was read; the rest is to be given again when all answers have gone out.
    pub(crate) used: usize,
    /// What goes out behind the answers that were appended.
    pub(crate) file: Option<Sending>,
}

/// Reads what a connection has sent, appends the answers to the context's `out` and counts them. After a refusal or a last
/// request that does nothing any more.
#[inline]
pub(crate) fn read(
    slot: &mut Slot,
    requests: &mut RequestCache,
    context: &mut ResponseContext,
    input: &[u8],
) -> Read {
    let reading = &mut slot.reading;
    if let Some(draft) = reading.draft.take() {
        context.draft = *draft;
    }
    let mut answering = Answering {
        context,
        reading,
        peer: slot.peer,
        file: None,
    };
    match slot.http.receive(requests, input, &mut answering) {
        Ok(used) => {
            answering.settle(used == input.len());
            let file = answering.file;
            Read { used, file }
        }
        Err(refusal) => {
            // A client that was told already that its body is not wanted has had its last response, whatever it sends.
            if !reading.is_early && !reading.is_last {
                context.refuse(refusal, slot.peer);
            }
            reading.end();
            Read {
                used: input.len(),
                file: None,
            }
        }
    }
}

impl ResponseContext {
    /// Appends the answer to a request that is not served, and counts it.
    pub(crate) fn refuse(&mut self, refusal: Refusal, peer: Option<IpAddr>) {
        self.counts.refused += 1;
        self.turn_away(refusal, peer);
    }

    /// As [`ResponseContext::refuse`], for a client that has sent no request yet.
    pub(crate) fn turn_away(&mut self, refusal: Refusal, peer: Option<IpAddr>) {
        self.counts.count_response(refusal.status);
        self.prebuilt.refuse(refusal, &mut self.out);
        let length = refusal.reason.len() as u64 + 1;
        let ending = Ending {
            status: refusal.status,
            bytes: if refusal.is_head { 0 } else { length },
            reason: refusal.reason,
        };
        self.note(peer, ending);
    }

    /// Writes a line of the log, of the request that `draft` tells of.
    #[inline]
    pub(crate) fn note(&mut self, peer: Option<IpAddr>, ending: Ending) {
        if let Some(log) = &mut self.log {
            self.counts.log_lines_lost += u64::from(!log.line(&self.draft, peer, ending));
        }
    }

    /// The end of a file that was sent, whole or not.
    pub(crate) fn note_sent(&mut self, mut sending: Sending, peer: Option<IpAddr>) {
        if let Some(draft) = sending.draft.take() {
            self.draft = *draft;
            self.note(peer, sending.ending());
        }
    }

    #[inline]
    fn choose(&mut self, asked: &RequestHead<'_>) -> Chosen {
        let form = Form::new(asked.version, asked.keepalive);
        match &mut self.site {
            Site::BuiltIn => {}
            Site::Files(library) => {
                let found = library.find(asked, self.now);
                if !found.is_missing() {
                    return Chosen::Found(found, form);
                }
            }
            Site::Admin(_) => return choose_page(asked, form),
        }
        let is_head = asked.method == "HEAD";
        Chosen::Ready(ResponseKey {
            resource: resources::choose(asked.method, asked.path),
            form,
            is_head,
        })
    }

    /// Appends an answer, and says what of it comes behind.
    #[inline]
    fn append(&mut self, chosen: &Chosen, peer: Option<IpAddr>) -> Option<Sending> {
        let (status, length, part) = match chosen {
            Chosen::Ready(answer) => {
                self.out.extend_from_slice(self.prebuilt.bytes(*answer));
                (answer.status(), answer.length(), None)
            }
            Chosen::Found(found, form) => {
                let Site::Files(library) = &mut self.site else {
                    unreachable!("only a folder's worker finds files");
                };
                let appended = library.append(found, *form, &self.prebuilt, &mut self.out);
                (appended.status, appended.length, appended.part)
            }
            Chosen::Page(page, form, is_head) => {
                (200, self.append_page(*page, *form, *is_head), None)
            }
        };
        self.counts.count_response(status);
        let Some(part) = part else {
            self.note(peer, Ending::of(status, length));
            return None;
        };
        let mut sending = Sending::new(part, status);
        if self.log.is_some() {
            sending.draft = Some(Box::new(std::mem::take(&mut self.draft)));
        }
        Some(sending)
    }

    fn append_page(&mut self, page: Page, form: Form, is_head: bool) -> u64 {
        let Site::Admin(counters) = &self.site else {
            unreachable!("only the operator's worker has pages");
        };
        let text = counters.text(page);
        let headers = [
            ("Content-Type", page.content_type()),
            ("Cache-Control", "no-store"),
        ];
        let length = Some(text.len() as u64);
        form.encode(200, self.prebuilt.date(), length, &headers, &mut self.out);
        if is_head {
            return 0;
        }
        self.out.extend_from_slice(text.as_bytes());
        text.len() as u64
    }
}

fn choose_page(asked: &RequestHead<'_>, form: Form) -> Chosen {
    let is_head = asked.method == "HEAD";
    match Page::find(asked.path) {
        Some(page) if is_head || asked.method == "GET" => Chosen::Page(page, form, is_head),
        found => Chosen::Ready(ResponseKey {
            resource: match found {
                Some(_) => resources::choose(asked.method, asked.path),
                None => FixedResponse::Missing as usize,
            },
            form,
            is_head,
        }),
    }
}

/// What listens to a connection while its bytes are read.
struct Answering<'a> {
    context: &'a mut ResponseContext,
    reading: &'a mut Reading,
    peer: Option<IpAddr>,
    file: Option<Sending>,
}

impl Answering<'_> {
    /// What is left to do when the wire has read as much as it would.
    #[inline]
    fn settle(&mut self, is_all: bool) {
        if self.reading.is_pending {
            self.reading.is_pending = false;
            if is_all {
                self.reading.chosen.close();
                (self.reading.is_last, self.reading.lingers) = (true, true);
            }
            self.answer();
        }
        if self.reading.is_in_body && self.context.log.is_some() {
            let draft = std::mem::take(&mut self.context.draft);
            self.reading.draft = Some(Box::new(draft));
        }
    }

    #[inline]
    fn answer(&mut self) {
        self.file = self.context.append(&self.reading.chosen, self.peer);
        self.reading.is_answered = true;
    }

    /// A request with a body: a client that waits to hear whether the body is wanted is told. If what it asks cannot be
    /// done, the response says so at once. The body is then read to its end and thrown away, within the usual limits, and
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
        let is_last = is_waiting || self.context.is_draining;
        if is_last {
            self.reading.chosen.close();
        }
        self.context.counts.requests += 1;
        self.answer();
        if is_last {
            self.reading.end();
        } else {
            self.reading.is_early = true;
        }
    }

    /// A body is complete. Says whether its request was answered before that.
    #[cold]
    fn end_body(&mut self) -> bool {
        self.reading.is_in_body = false;
        std::mem::take(&mut self.reading.is_early)
    }
}

impl ServerSink for Answering<'_> {
    #[inline]
    fn request(&mut self, asked: &RequestHead<'_>) {
        if self.reading.is_last {
            return;
        }
        if self.context.log.is_some() {
            self.context.draft.note(asked);
        }
        self.reading.chosen = self.context.choose(asked);
        if asked.chunked || asked.content_length.is_some_and(|length| length > 0) {
            self.begin_body(asked.expects_continue);
        }
    }

    #[inline]
    fn body(&mut self, _: &[u8]) {}

    #[inline]
    fn complete(&mut self) -> ControlFlow<()> {
        if self.reading.is_last {
            return ControlFlow::Break(());
        }
        let is_answered = self.reading.is_in_body && self.end_body();
        if !is_answered {
            self.context.counts.requests += 1;
            if self.context.is_draining {
                self.reading.is_pending = true;
                return ControlFlow::Break(());
            }
            self.answer();
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

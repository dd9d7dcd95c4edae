//! The client role of HTTP/1.x.
//!
//! Requests go out in the order in which they were opened, responses are matched to them in the same order:
//!
//! ```text
//!            open                        first byte                  head complete
//! (capacity) ----> waiting for its turn -----------> Head ---------------------------> Length | Chunked | UntilClose
//!                                                    ^  |1xx (at most 32), again Head        |         |        |
//!                                                    `--'            no body |     last byte |  last   |        | end
//!                                                                            v               v  line   v        v
//!                              next exchange, unless the response closes <---------------- done Ok ------------'
//!
//! any state --violation, end too early--> Dead: the front exchange is done with it, those behind it as Abandoned
//! any state --abandon-------------------> Dead: all are done with the owner's reason
//! response says close, done Ok ---------> those behind it are unanswered, nothing can be opened any more
//! 101, done Ok -------------------------> Dead: what follows is not HTTP
//! Dead --reset--> as new. What still comes to a dead connection is swallowed.
//! ```
//!
//! Decisions where the RFC leaves room: Content-Length beside Transfer-Encoding is a violation (RFC 9112 §6.3,
//! 3: "ought to be handled as an error"), and so are coded bodies from HTTP/1.0 servers. A response may come
//! before its request is completely sent; the rest of the request is sent all the same, unless the response
//! closes the connection. It may not come before the request's first byte.
//!
//! Cost: a response that comes whole is neither copied nor buffered. One exchange, opened, sent and answered
//! with 100 bytes under nginx's head of 237, is 262 instructions when the head is the last one again, 580 when
//! its Date has changed, 2,620 when it must be read (callgrind's counts; `examples/cost.rs` repeats them). Only
//! a head that comes in pieces is buffered and, with each piece, parsed again from its start: with a limit of
//! 64 KiB that is cheaper than a resumable parser in the case that matters.

use super::chunked::{Chunked, Decoded, front};
use super::head_cache::HeadCache;
use super::outbox::Outbox;
use super::request::Dialect;
use super::status::{self, Facts, Framing, HEAD_LIMIT};
use crate::{
    Connection, Encoded, Ending, ExchangeId, Head, InlineDeque, Method, Opening, Request, Scope,
    Sink, Step, Violation,
};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Interim responses before a final one.
const INTERIM_LIMIT: u32 = 32;

#[derive(Debug, Clone, Copy)]
enum Phase {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Dead,
}

/// An exchange that is opened and not done.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    id: ExchangeId,
    /// Bytes of its request.
    length: u64,
    is_head: bool,
}

/// What is known of the response that is being read.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    /// A byte of it has come.
    seen: bool,
    /// Interim responses so far.
    interim: u32,
    /// Raw bytes so far, without an incomplete head.
    bytes: u64,
}

/// The client side of one HTTP/1.x connection.
///
/// What every exchange touches comes first and lies together.
#[derive(Debug)]
#[repr(C)]
pub struct Client<'p> {
    /// The exchanges that are opened and not done. Like the outbox it is a suffix of what was opened; either may be the longer one.
    awaited: InlineDeque<Awaited>,
    phase: Phase,
    progress: Progress,
    pipeline: u32,
    /// How many of `awaited` have had a byte sent.
    begun: u32,
    /// How many requests were withdrawn from the end of the queue: the server will not respond to them here.
    withdrawn: u32,
    /// Bytes of the first of them that the socket had taken.
    withdrawn_sent: u64,
    closing: bool,
    heads: HeadCache,
    /// An incomplete head.
    partial: Vec<u8>,
    outbox: Outbox<'p>,
    dialect: Dialect,
}

/// What the connections of one thread share: how they ask, and the heads that any of them has read.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    dialect: Dialect,
    heads: HeadCache,
}

impl Shared {
    /// Returns what connections share that ask so; no head was read yet.
    pub fn new(dialect: Dialect) -> Shared {
        Shared {
            dialect,
            heads: HeadCache::default(),
        }
    }
}

impl<'p> Client<'p> {
    /// Returns a new HTTP/1.x connection on which at most `pipeline` exchanges (at least one) may be open at a time.
    pub fn http1(pipeline: u32) -> Self {
        Client::http1_sharing(pipeline, &Shared::default())
    }

    /// Returns the same for a thread's connections, which recognise heads that any of them has read.
    fn http1_sharing(pipeline: u32, shared: &Shared) -> Self {
        assert!(pipeline > 0, "a connection carries at least one exchange");
        Client {
            awaited: InlineDeque::default(),
            phase: Phase::Head,
            progress: Progress::default(),
            pipeline,
            begun: 0,
            withdrawn: 0,
            withdrawn_sent: 0,
            closing: false,
            heads: shared.heads.clone(),
            dialect: shared.dialect,
            partial: Vec::new(),
            outbox: match pipeline {
                1 => Outbox::default(),
                _ => Outbox::keeping(),
            },
        }
    }

    /// As [`Connection::receive`]; the bytes stay as they are.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn receive(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.receive_whole(input, sink) {
            return Ok(());
        }
        self.receive_pieces(input, sink)
    }

    /// The straight line through [`Client::receive_pieces`] for what happens nearly always: one exchange is open, and
    /// all of its response comes at once, under the head that was read last. Says whether that was so.
    #[inline]
    fn receive_whole(&mut self, input: &[u8], sink: &mut impl Sink) -> bool {
        let is_fresh =
            matches!(self.phase, Phase::Head) && !self.progress.seen && self.partial.is_empty();
        let only = self.awaited.only().filter(|only| !only.is_head);
        let Some(Awaited {
            id, length: sent, ..
        }) = only.copied().filter(|_| is_fresh && self.begun > 0)
        else {
            return false;
        };
        if !self.outbox.is_empty() {
            return false;
        }
        let Some((facts, length)) = self.heads.recall_last(input) else {
            return false;
        };
        let (raw, body) = input.split_at(length);
        if facts.plain() != Some(body.len() as u64) {
            return false;
        }
        sink.first(id);
        let head = Head {
            status: facts.status,
            raw,
            keepalive: true,
        };
        sink.head(id, &head);
        if !body.is_empty() {
            sink.body(id, body);
        }
        // What the long way would leave behind, too: nothing of the response, and one exchange less.
        self.progress = Progress::default();
        self.begun = 0;
        self.awaited.drop_front();
        let ending = Ending {
            result: Ok(()),
            bytes: input.len() as u64,
            sent,
            step: Step::Body,
        };
        sink.done(id, ending);
        true
    }

    #[inline(never)]
    fn receive_pieces(&mut self, mut input: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        while !input.is_empty() {
            let used = match self.phase {
                Phase::Head => self.receive_head(input, sink),
                Phase::Length(left) => Ok(self.receive_length(left, input, sink)),
                Phase::Chunked(chunked) => self.receive_chunked(chunked, input, sink),
                Phase::UntilClose => {
                    self.body(input, sink);
                    return Ok(());
                }
                Phase::Dead => return Ok(()),
            };
            match used {
                Ok(used) => input = &input[used..],
                Err(violation) => return Err(self.fail(violation, input.len(), sink)),
            }
        }
        Ok(())
    }

    /// Reads a head, or what there is of it.
    #[inline]
    fn receive_head(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<usize, Violation> {
        let of = self.responding().ok_or(Violation::UnexpectedBytes)?;
        if !self.progress.seen {
            self.progress.seen = true;
            sink.first(of.id);
        }
        if !self.partial.is_empty() {
            return self.receive_rest_of_head(of, input, sink);
        }
        if let Some((facts, length)) = self.heads.recall(input) {
            self.respond(of, &facts, &input[..length], sink)?;
            return Ok(length);
        }
        let Some(parsed) = status::parse(input)? else {
            self.partial.extend_from_slice(input);
            return Ok(input.len());
        };
        if !parsed.facts.is_interim() {
            self.heads.learn(input, &parsed);
        }
        self.respond(of, &parsed.facts, &input[..parsed.length], sink)?;
        Ok(parsed.length)
    }

    #[cold]
    fn receive_rest_of_head(
        &mut self,
        of: Awaited,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<usize, Violation> {
        let before = self.partial.len();
        let room = HEAD_LIMIT - before;
        self.partial
            .extend_from_slice(&input[..input.len().min(room)]);
        let parsed = match status::parse(&self.partial) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Ok(input.len()),
            Err(violation) => {
                self.partial.truncate(before); // the rest is counted with the input
                return Err(violation);
            }
        };
        let mut head = std::mem::take(&mut self.partial);
        let responded = self.respond(of, &parsed.facts, &head[..parsed.length], sink);
        head.truncate(if responded.is_ok() { 0 } else { before });
        self.partial = head;
        responded.map(|()| parsed.length - before)
    }

    /// The exchange whose response is read, or comes next.
    #[inline]
    fn responding(&self) -> Option<Awaited> {
        self.awaited.front().copied().filter(|_| self.begun > 0)
    }

    /// A head is complete: skips an interim one, announces a final one and turns to its body.
    #[inline]
    fn respond(
        &mut self,
        of: Awaited,
        facts: &Facts,
        raw: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        if facts.is_interim() {
            self.progress.interim += 1;
            if self.progress.interim > INTERIM_LIMIT {
                return Err(Violation::TooManyInterim);
            }
            self.progress.bytes += raw.len() as u64;
            return Ok(());
        }
        self.progress.bytes += raw.len() as u64;
        let framing = facts.framing(of.is_head);
        let keepalive = facts.keepalive && facts.status != 101 && framing != Framing::UntilClose;
        if !keepalive {
            self.close_after_this();
        }
        let head = Head {
            status: facts.status,
            raw,
            keepalive,
        };
        sink.head(of.id, &head);
        match framing {
            Framing::Length(0) => self.complete(sink),
            Framing::Length(length) => self.phase = Phase::Length(length),
            Framing::Chunked => self.phase = Phase::Chunked(Chunked::new()),
            Framing::UntilClose => self.phase = Phase::UntilClose,
        }
        if facts.status == 101 {
            self.die();
        }
        Ok(())
    }

    #[inline]
    fn receive_length(&mut self, left: u64, input: &[u8], sink: &mut impl Sink) -> usize {
        let body = front(input, left);
        self.body(body, sink);
        match left - body.len() as u64 {
            0 => self.complete(sink),
            left => self.phase = Phase::Length(left),
        }
        body.len()
    }

    fn receive_chunked(
        &mut self,
        mut chunked: Chunked,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<usize, Violation> {
        let id = self.awaited.front().map(|front| front.id);
        let Decoded { used, over } = chunked.decode(input, |bytes| {
            id.into_iter().for_each(|id| sink.body(id, bytes))
        });
        self.phase = Phase::Chunked(chunked);
        let over = over?;
        self.progress.bytes += used as u64;
        if over {
            self.complete(sink);
        }
        Ok(used)
    }

    #[inline]
    fn body(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        self.progress.bytes += bytes.len() as u64;
        if let Some(front) = self.awaited.front() {
            sink.body(front.id, bytes);
        }
    }

    /// The front exchange's response is complete.
    #[inline]
    fn complete(&mut self, sink: &mut impl Sink) {
        self.finish(Ok(()), sink);
        self.phase = Phase::Head;
        if self.closing {
            while let Some((id, ending)) = self.pop(Err(Violation::Abandoned)) {
                sink.unanswered(id, ending);
            }
            self.outbox.truncate(0);
        }
    }

    /// The front exchange is done.
    #[inline]
    fn finish(&mut self, result: Result<(), Violation>, sink: &mut impl Sink) {
        if let Some((id, ending)) = self.pop(result) {
            sink.done(id, ending);
        }
    }

    /// Takes the front exchange away, with what came of it.
    #[inline]
    fn pop(&mut self, result: Result<(), Violation>) -> Option<(ExchangeId, Ending)> {
        let sent = self.sent_of_front();
        let progress = std::mem::take(&mut self.progress);
        self.begun = self.begun.saturating_sub(1);
        let front = self.awaited.pop_front()?;
        let ending = Ending {
            result,
            bytes: progress.bytes,
            sent,
            step: match result {
                Ok(()) => Step::Body,
                Err(_) if !progress.seen && sent < front.length => Step::Send,
                Err(_) => self.step(progress),
            },
        };
        Some((front.id, ending))
    }

    /// Bytes of the front exchange's request that the socket has taken.
    #[inline]
    fn sent_of_front(&self) -> u64 {
        let length = self.awaited.front().map_or(0, |front| front.length);
        let queued = self.outbox.len() + self.withdrawn as usize;
        // With those that were withdrawn, the queue too is a suffix of what was opened: so many in it are before the front one.
        match queued.checked_sub(self.awaited.len()) {
            None => length,
            Some(0) if self.outbox.is_empty() => self.withdrawn_sent,
            Some(0) => self.outbox.offset(),
            Some(_) => 0,
        }
    }

    /// All open exchanges are done.
    fn finish_all(&mut self, front: Violation, behind: Violation, sink: &mut impl Sink) {
        let mut reason = front;
        while !self.awaited.is_empty() {
            self.finish(Err(reason), sink);
            self.phase = Phase::Head;
            reason = behind;
        }
        self.outbox.truncate(0);
    }

    /// How far a response had come of which so much is known.
    #[inline]
    fn step(&self, progress: Progress) -> Step {
        match self.phase {
            Phase::Head | Phase::Dead if !progress.seen => Step::Wait,
            Phase::Head | Phase::Dead => Step::Head,
            Phase::Length(_) | Phase::Chunked(_) | Phase::UntilClose => Step::Body,
        }
    }

    /// The response that is being read is the last one: requests behind it need not be sent any more.
    fn close_after_this(&mut self) {
        self.closing = true;
        let keep = (self.outbox.len() + 1).saturating_sub(self.awaited.len());
        self.withdrawn = self.outbox.len().saturating_sub(keep) as u32;
        // What is sent of the front one is of one that is withdrawn only where all are.
        self.withdrawn_sent = if keep == 0 { self.outbox.offset() } else { 0 };
        self.outbox.withdraw(keep);
        self.outbox.forget(self.awaited.len());
    }

    /// The response that is being read is refused, and with it the `rest` of the input, which is counted as part of it.
    #[cold]
    fn fail(&mut self, violation: Violation, rest: usize, sink: &mut impl Sink) -> Violation {
        self.progress.bytes += (self.partial.len() + rest) as u64;
        self.finish_all(violation, Violation::Abandoned, sink);
        self.die();
        violation
    }

    fn die(&mut self) {
        self.phase = Phase::Dead;
        self.closing = true;
        self.partial.clear();
        self.outbox.truncate(0);
    }
}

impl<'p> Connection<'p> for Client<'p> {
    type Shared = Shared;

    fn sharing(most: u32, shared: &Shared) -> Self {
        Client::http1_sharing(most, shared)
    }

    fn reset(&mut self) {
        assert!(
            self.awaited.is_empty(),
            "a connection is reset when all its exchanges are done"
        );
        self.outbox.truncate(0);
        self.outbox.take_kept();
        self.begun = 0;
        self.withdrawn = 0;
        self.phase = Phase::Head;
        self.progress = Progress::default();
        self.partial.clear();
        self.closing = false;
    }

    #[inline]
    fn capacity(&self) -> u32 {
        if self.closing {
            0
        } else if self.awaited.is_empty() && self.outbox.is_empty() {
            self.pipeline
        } else {
            self.pipeline - self.awaited.len().max(self.outbox.len()) as u32
        }
    }

    #[inline]
    fn head_of<'e>(&self, encoded: &'e Encoded) -> &'e [u8] {
        &encoded.http1
    }

    fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.dialect.encode(request, out);
    }

    // Always inlined: where the request is a shared one, that is known to the caller.
    #[inline(always)]
    fn open(&mut self, id: ExchangeId, opening: Opening<'p>) {
        assert!(
            self.capacity() > 0,
            "an exchange is opened where there is capacity"
        );
        assert!(!opening.head.bytes().is_empty(), "a request has a head");
        self.awaited.push_back(Awaited {
            id,
            length: opening.len() as u64,
            is_head: opening.method == Method::Head,
        });
        self.outbox.push(opening);
    }

    #[inline]
    fn takes_one(&self) -> bool {
        self.pipeline == 1 && !self.closing && self.awaited.is_empty() && self.outbox.is_empty()
    }

    // Always inlined: it is a handful of stores.
    #[inline(always)]
    fn open_sent(&mut self, id: ExchangeId, length: u64, method: Method) {
        assert!(
            self.takes_one(),
            "an exchange is opened where there is capacity"
        );
        self.awaited.push_back(Awaited {
            id,
            length,
            is_head: method == Method::Head,
        });
        self.begun = 1;
    }

    #[inline]
    fn outgoing<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        self.outbox.slices(slices)
    }

    #[inline]
    fn sent(&mut self, bytes: usize, mut begun: impl FnMut(ExchangeId)) {
        let number = self.outbox.sent(bytes);
        match self.awaited.only() {
            Some(only) if self.begun == 0 && number == 1 => begun(only.id),
            _ => {
                let behind = self.awaited.iter().skip(self.begun as usize);
                behind.take(number as usize).for_each(|it| begun(it.id));
            }
        }
        self.begun += number;
        if !self.closing {
            self.outbox.forget(self.awaited.len());
        }
    }

    fn take_unanswered(&mut self, number: usize) -> VecDeque<Opening<'p>> {
        self.outbox.forget(number);
        self.outbox.take_kept()
    }

    #[inline]
    fn has_outgoing(&self) -> bool {
        !self.outbox.is_empty()
    }

    #[inline]
    fn closing(&self) -> bool {
        self.closing
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.awaited.len() as u32
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.awaited.is_empty()
    }

    #[inline]
    fn has_several(&self) -> bool {
        !self.awaited.is_single()
    }

    #[inline]
    fn in_turn(&self) -> impl Iterator<Item = ExchangeId> {
        self.awaited.front().map(|front| front.id).into_iter()
    }

    fn next_to_begin(&self) -> Option<ExchangeId> {
        let next = self.awaited.iter().nth(self.begun as usize)?;
        (self.outbox.is_at_start() && self.withdrawn == 0).then_some(next.id)
    }

    fn spare(&mut self) -> Vec<u8> {
        self.outbox.spare()
    }

    #[inline]
    fn receive(&mut self, input: &mut [u8], sink: &mut impl Sink) -> Result<(), Violation> {
        Client::receive(self, input, sink)
    }

    fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation> {
        match self.phase {
            Phase::UntilClose => self.complete(sink),
            Phase::Head if self.awaited.is_empty() => {}
            Phase::Head if self.progress.seen => {
                return Err(self.fail(Violation::ClosedInHead, 0, sink));
            }
            Phase::Head => return Err(self.fail(Violation::ClosedBeforeResponse, 0, sink)),
            Phase::Length(_) | Phase::Chunked(_) => {
                return Err(self.fail(Violation::ClosedInBody, 0, sink));
            }
            Phase::Dead => {}
        }
        self.die();
        Ok(())
    }

    fn abandon(&mut self, sink: &mut impl Sink, reason: Violation) {
        self.progress.bytes += self.partial.len() as u64;
        self.finish_all(reason, reason, sink);
        self.die();
    }

    fn cancel(&mut self, _: ExchangeId, _: &mut impl Sink) -> Scope {
        Scope::Connection // responses come in the order of requests
    }
}

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
//! response says close, done Ok ---------> those behind it are done as Abandoned, nothing can be opened any more
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
use super::outbox::{Message, Outbox};
use super::status::{self, Facts, Framing, HEAD_LIMIT};
use crate::{Ending, Head, InlineDeque, Opening, Sink, Step, Violation};
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
    /// Of each exchange that is opened and not done, whether it is a HEAD. Like the outbox it is a suffix of what was
    /// opened; either may be the longer one.
    awaited: InlineDeque<bool>,
    phase: Phase,
    progress: Progress,
    pipeline: u32,
    /// How many of `awaited` have had a byte sent.
    begun: u32,
    closing: bool,
    heads: HeadCache,
    /// An incomplete head.
    partial: Vec<u8>,
    outbox: Outbox<'p>,
}

impl<'p> Client<'p> {
    /// Returns a new HTTP/1.x connection on which at most `pipeline` exchanges (at least one) may be open at a time.
    pub fn http1(pipeline: u32) -> Self {
        Client::http1_sharing(pipeline, &HeadCache::default())
    }

    /// Returns the same, recognising heads that any of the connections has read that share `heads`.
    pub fn http1_sharing(pipeline: u32, heads: &HeadCache) -> Self {
        assert!(pipeline > 0, "a connection carries at least one exchange");
        Client {
            awaited: InlineDeque::default(),
            phase: Phase::Head,
            progress: Progress::default(),
            pipeline,
            begun: 0,
            closing: false,
            heads: heads.clone(),
            partial: Vec::new(),
            outbox: match pipeline {
                1 => Outbox::default(),
                _ => Outbox::keeping(),
            },
        }
    }

    /// As new, buffers kept: for the next connection in the same slot.
    ///
    /// # Panics
    /// An exchange is still open: [`Client::abandon`] comes first, or it would never be done.
    pub fn reset(&mut self) {
        assert!(
            self.awaited.is_empty(),
            "a connection is reset when all its exchanges are done"
        );
        self.outbox.truncate(0);
        self.outbox.take_kept();
        self.begun = 0;
        self.phase = Phase::Head;
        self.progress = Progress::default();
        self.partial.clear();
        self.closing = false;
    }

    /// How many exchanges may be opened now; zero once the connection is going to close.
    #[inline]
    pub fn capacity(&self) -> u32 {
        if self.closing {
            0
        } else if self.awaited.is_empty() && self.outbox.is_empty() {
            self.pipeline
        } else {
            self.pipeline - self.awaited.len().max(self.outbox.len()) as u32
        }
    }

    /// Opens an exchange: queues its request.
    ///
    /// # Panics
    /// There is no capacity, or the head is empty.
    // Always inlined: where the request is a shared one, that is known to the caller.
    #[inline(always)]
    pub fn open(&mut self, opening: Opening<'p>) {
        assert!(
            self.capacity() > 0,
            "an exchange is opened where there is capacity"
        );
        assert!(!opening.head.bytes().is_empty(), "a request has a head");
        self.awaited.push_back(opening.is_head);
        self.outbox.push(opening.head, opening.body);
    }

    /// Whether nothing is open and nothing is left to be sent, and exactly one exchange may be opened: its request then
    /// may go to the socket without being queued, see [`Client::open_sent`].
    #[inline]
    pub fn takes_one(&self) -> bool {
        self.pipeline == 1 && !self.closing && self.awaited.is_empty() && self.outbox.is_empty()
    }

    /// Opens an exchange whose request the socket has taken already, all of it; `is_head` as in [`Opening`].
    ///
    /// # Panics
    /// [`Client::takes_one`] is not true.
    // Always inlined: it is a handful of stores.
    #[inline(always)]
    pub fn open_sent(&mut self, is_head: bool) {
        assert!(
            self.takes_one(),
            "an exchange is opened where there is capacity"
        );
        self.awaited.push_back(is_head);
        self.begun = 1;
    }

    /// Fills `slices` from the front with what is to be sent, and returns how many it filled. Two slices hold one
    /// request; with fewer slices than parts the rest is offered next time.
    #[inline]
    pub fn outgoing<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.outbox.slices(slices)
    }

    /// The socket has taken the first `bytes` bytes of what [`Client::outgoing`] offered.
    ///
    /// # Panics
    /// It was not offered as many.
    #[inline]
    pub fn sent(&mut self, bytes: usize) {
        self.begun += self.outbox.sent(bytes);
        if !self.closing {
            self.outbox.forget(self.awaited.len());
        }
    }

    /// The requests of the last `number` exchanges that were opened, the oldest first: those that were done as
    /// [`Violation::Abandoned`] because the response before them was complete and closes the connection. They may be sent
    /// again on another one. Only a connection with pipelining has any.
    pub fn take_unanswered(&mut self, number: usize) -> VecDeque<Message<'p>> {
        self.outbox.forget(number);
        self.outbox.take_kept()
    }

    /// Whether something is left to be sent.
    #[inline]
    pub fn has_outgoing(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// No exchange can be opened any more: the socket is to be closed as soon as none is in flight.
    #[inline]
    pub fn closing(&self) -> bool {
        self.closing
    }

    /// How many exchanges are opened and not done.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.awaited.len() as u32
    }

    /// An empty buffer for the next [`Source::Own`](crate::Source::Own), with the capacity of one that was sent, if there is one.
    pub fn spare(&mut self) -> Vec<u8> {
        self.outbox.spare()
    }

    /// Bytes have come. All of them are consumed; an incomplete head is kept, at most 64 KiB of it.
    ///
    /// # Errors
    /// What the peer did wrong. The connection is dead: every exchange that was open is done, the one that was
    /// being answered with this violation, those behind it as [`Violation::Abandoned`]. When nothing was open
    /// (bytes beyond the last response) the violation ends no exchange, and the error is all that tells of it.
    #[inline]
    pub fn receive(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.receive_whole(input, sink) {
            return Ok(());
        }
        self.receive_pieces(input, sink)
    }

    /// The straight line through [`Client::receive_pieces`] for what happens nearly always: one exchange is open, and
    /// all of its response comes at once, under a head that was read before. Says whether that was so.
    #[inline]
    fn receive_whole(&mut self, input: &[u8], sink: &mut impl Sink) -> bool {
        let is_fresh =
            matches!(self.phase, Phase::Head) && !self.progress.seen && self.partial.is_empty();
        if !is_fresh || self.begun == 0 || self.awaited.only() != Some(&false) {
            return false;
        }
        let Some((facts, length)) = self.heads.recall(input) else {
            return false;
        };
        let (raw, body) = input.split_at(length);
        if facts.plain() != Some(body.len() as u64) {
            return false;
        }
        sink.first();
        let head = Head {
            status: facts.status,
            raw,
            keepalive: true,
        };
        sink.head(&head);
        if !body.is_empty() {
            sink.body(body);
        }
        // What the long way would leave behind, too: nothing of the response, and one exchange less.
        self.progress = Progress::default();
        self.begun = 0;
        self.awaited.drop_front();
        let ending = Ending {
            result: Ok(()),
            bytes: input.len() as u64,
            step: Step::Body,
        };
        sink.done(ending);
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

    /// The peer has ended its side in good order. Completes a body that lasts until then.
    ///
    /// # Errors
    /// An exchange was waiting or incomplete; as with [`Client::receive`] all are done.
    pub fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation> {
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

    /// The owner closes the socket (a timeout, a reset, the end of a phase): all that is still open is done as
    /// `reason`.
    pub fn abandon(&mut self, sink: &mut impl Sink, reason: Violation) {
        self.progress.bytes += self.partial.len() as u64;
        self.finish_all(reason, reason, sink);
        self.die();
    }

    /// Reads a head, or what there is of it.
    #[inline]
    fn receive_head(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<usize, Violation> {
        let is_head = self.responding().ok_or(Violation::UnexpectedBytes)?;
        if !self.progress.seen {
            self.progress.seen = true;
            sink.first();
        }
        if !self.partial.is_empty() {
            return self.receive_rest_of_head(is_head, input, sink);
        }
        if let Some((facts, length)) = self.heads.recall(input) {
            self.respond(is_head, &facts, &input[..length], sink)?;
            return Ok(length);
        }
        let Some(parsed) = status::parse(input)? else {
            self.partial.extend_from_slice(input);
            return Ok(input.len());
        };
        if !parsed.facts.is_interim() {
            self.heads.learn(input, &parsed);
        }
        self.respond(is_head, &parsed.facts, &input[..parsed.length], sink)?;
        Ok(parsed.length)
    }

    #[cold]
    fn receive_rest_of_head(
        &mut self,
        is_head: bool,
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
        let responded = self.respond(is_head, &parsed.facts, &head[..parsed.length], sink);
        head.truncate(if responded.is_ok() { 0 } else { before });
        self.partial = head;
        responded.map(|()| parsed.length - before)
    }

    /// Whether the exchange whose response is read, or comes next, is a HEAD; none if there is no such exchange.
    #[inline]
    fn responding(&self) -> Option<bool> {
        self.awaited.front().copied().filter(|_| self.begun > 0)
    }

    /// A head is complete: skips an interim one, announces a final one and turns to its body.
    #[inline]
    fn respond(
        &mut self,
        is_head: bool,
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
        let framing = facts.framing(is_head);
        let keepalive = facts.keepalive && facts.status != 101 && framing != Framing::UntilClose;
        if !keepalive {
            self.close_after_this();
        }
        let head = Head {
            status: facts.status,
            raw,
            keepalive,
        };
        sink.head(&head);
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
        let Decoded { used, over } = chunked.decode(input, |bytes| sink.body(bytes));
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
        sink.body(bytes);
    }

    /// The front exchange's response is complete.
    #[inline]
    fn complete(&mut self, sink: &mut impl Sink) {
        self.finish(Ok(()), sink);
        self.phase = Phase::Head;
        if self.closing {
            self.finish_all(Violation::Abandoned, Violation::Abandoned, sink);
        }
    }

    /// The front exchange is done.
    #[inline]
    fn finish(&mut self, result: Result<(), Violation>, sink: &mut impl Sink) {
        let ending = Ending {
            result,
            bytes: self.progress.bytes,
            step: match result {
                Ok(()) => Step::Body,
                Err(_) => self.step(),
            },
        };
        self.progress = Progress::default();
        self.begun = self.begun.saturating_sub(1);
        if self.awaited.pop_front().is_some() {
            sink.done(ending);
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

    #[inline]
    fn step(&self) -> Step {
        match self.phase {
            Phase::Head | Phase::Dead if !self.progress.seen => Step::Wait,
            Phase::Head | Phase::Dead => Step::Head,
            Phase::Length(_) | Phase::Chunked(_) | Phase::UntilClose => Step::Body,
        }
    }

    /// The response that is being read is the last one: requests behind it need not be sent any more.
    fn close_after_this(&mut self) {
        self.closing = true;
        let keep = (self.outbox.len() + 1).saturating_sub(self.awaited.len());
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

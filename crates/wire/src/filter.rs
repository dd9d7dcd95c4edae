//! What may lie between a socket and a protocol: it has a handshake of its own, and turns the socket's bytes into the protocol's and back.
//!
//! A protocol above a filter is the same code as one that has the socket for itself: [`Filtered`] is a connection of it. The protocol's
//! requests are sealed a record at a time, and only when all that was sealed before is with the socket, so that what a record holds is
//! told as sent when the socket has taken the whole record: of a part of one the peer can read nothing.

use crate::{
    Connection, Encoded, Ending, ExchangeId, Handshake, Head, Method, Opening, Request, Scope,
    Sink, Violation,
};
use std::collections::VecDeque;
use std::io::IoSlice;

/// The most of a protocol's bytes that are sealed at a time: what one record of TLS holds (RFC 8446 §5.1).
pub const RECORD: usize = 16 * 1024;

/// What lies between, on the client's side or the server's. It owns no socket.
pub trait Filter: std::fmt::Debug {
    /// What the filters of one thread share.
    type Shared;

    /// Returns one for a connection that is not open yet.
    fn new(shared: &Self::Shared) -> Self;

    /// The socket is connected, or was accepted: appends what is sent first to `out`. Everything before is forgotten.
    ///
    /// # Errors
    /// It cannot begin.
    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), Violation>;

    /// Whether the handshake is over, and the protocol's bytes may be sealed.
    fn is_ready(&self) -> bool;

    /// Whether the handshake is under way, or a part has come of what can only be read whole.
    fn is_amid(&self) -> bool;

    /// What the handshake agreed on, once it is over.
    fn handshake(&self) -> Option<Handshake>;

    /// The kind of the key of the peer's certificate, as [`Connection::certificate_key`] says.
    fn certificate_key(&self) -> Option<String> {
        None
    }

    /// Why it has failed, as a sentence's part, if it knows more than the [`Violation`] says.
    fn complaint(&self) -> Option<String>;

    /// Whether it has failed in a way that does not pass, however long one waits: the certificate is not accepted, or the peer does not
    /// speak TLS.
    fn is_final(&self) -> bool {
        false
    }

    /// Bytes have come from the socket: all are consumed. `read` is given the protocol's bytes; what is to be sent in turn is appended to
    /// `out`.
    ///
    /// # Errors
    /// What the peer did wrong, or what `read` said. The connection is dead.
    fn receive(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation>;

    /// Appends `plain`, at most [`RECORD`] bytes of the protocol's, to `out` as the socket is to have it.
    ///
    /// # Errors
    /// It cannot be sealed: the connection is dead.
    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Violation>;

    /// Whether the peer has said that nothing more comes.
    fn is_ended(&self) -> bool;

    /// Whether so much was sealed that the connection should be replaced by another one soon.
    fn is_spent(&self) -> bool;

    /// The owner is about to close the socket in good order: appends what tells the peer so to `out`.
    fn close(&mut self, out: &mut Vec<u8>);

    /// The peer has ended its side of the socket.
    ///
    /// # Errors
    /// It did so in the middle of something, or without saying before that nothing more would come.
    fn end(&mut self) -> Result<(), Violation>;
}

/// Bytes of the protocol's in what waits for the socket.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// Where it ends in the outbox.
    end: usize,
    /// How many bytes of the protocol's it holds.
    plain: usize,
}

/// A protocol's connection above a filter.
#[derive(Debug)]
pub struct Filtered<C, F> {
    inner: C,
    filter: F,
    /// What is to be sent, of which the socket has taken the first `taken` bytes.
    outbox: Vec<u8>,
    taken: usize,
    records: VecDeque<Record>,
    /// The parts of a request, joined for one record.
    joined: Vec<u8>,
    /// The filter has failed: nothing is sealed or opened any more.
    is_dead: bool,
    is_ended: bool,
}

impl<'p, C: Connection<'p>, F: Filter> Filtered<C, F> {
    /// Seals what the protocol has to send, one record of it.
    fn seal(&mut self) -> Result<(), Violation> {
        let mut slices = [IoSlice::new(&[]); 16];
        let filled = self.inner.outgoing(&mut slices);
        let slices = &slices[..filled];
        let plain = match slices {
            [only] => &only[..only.len().min(RECORD)],
            several => {
                self.joined.clear();
                for slice in several {
                    let room = RECORD - self.joined.len();
                    self.joined
                        .extend_from_slice(&slice[..slice.len().min(room)]);
                }
                &self.joined[..]
            }
        };
        let length = plain.len();
        self.filter.seal(plain, &mut self.outbox)?;
        self.records.push_back(Record {
            end: self.outbox.len(),
            plain: length,
        });
        Ok(())
    }

    fn waits_for_socket(&self) -> bool {
        self.taken < self.outbox.len()
    }

    /// The filter has failed: whatever was open is done as `why`.
    fn fail(&mut self, sink: &mut impl Sink, why: Violation) -> Violation {
        self.is_dead = true;
        self.inner.abandon(sink, why);
        why
    }
}

impl<'p, C: Connection<'p>, F: Filter> Connection<'p> for Filtered<C, F> {
    type Shared = (C::Shared, F::Shared);
    const HAS_HANDSHAKE: bool = true;

    fn sharing(most: u32, (inner, filter): &Self::Shared) -> Self {
        Filtered {
            inner: C::sharing(most, inner),
            filter: F::new(filter),
            outbox: Vec::new(),
            taken: 0,
            records: VecDeque::new(),
            joined: Vec::new(),
            is_dead: false,
            is_ended: false,
        }
    }

    fn begin(&mut self) -> Result<(), Violation> {
        self.outbox.clear();
        self.taken = 0;
        self.filter.begin(&mut self.outbox)
    }

    fn is_ready(&self) -> bool {
        self.filter.is_ready()
    }

    fn handshake(&self) -> Option<Handshake> {
        self.filter.handshake()
    }

    fn certificate_key(&self) -> Option<String> {
        self.filter.certificate_key()
    }

    fn complaint(&self) -> Option<String> {
        self.filter.complaint()
    }

    fn is_final(&self) -> bool {
        self.filter.is_final()
    }

    fn close(&mut self) {
        if !self.is_dead && self.filter.is_ready() {
            self.filter.close(&mut self.outbox);
        }
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.outbox.clear();
        self.taken = 0;
        self.records.clear();
        self.is_dead = false;
        self.is_ended = false;
    }

    fn capacity(&self) -> u32 {
        match self.closing() || !self.filter.is_ready() {
            true => 0,
            false => self.inner.capacity(),
        }
    }

    fn head_of<'e>(&self, encoded: &'e Encoded) -> &'e [u8] {
        self.inner.head_of(encoded)
    }

    fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.inner.encode(request, out);
    }

    fn open(&mut self, id: ExchangeId, opening: Opening<'p>) {
        assert!(
            self.capacity() > 0,
            "an exchange is opened where there is capacity"
        );
        self.inner.open(id, opening);
    }

    /// Never: what the socket takes is not the request itself.
    fn takes_one(&self) -> bool {
        false
    }

    fn open_sent(&mut self, _: ExchangeId, _: u64, _: Method) {
        panic!("an exchange is opened sent where the connection takes one");
    }

    fn outgoing<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        if !self.waits_for_socket() {
            self.outbox.clear();
            self.taken = 0;
            debug_assert!(self.records.is_empty(), "what was sent was told");
            let is_open = !self.is_dead && self.filter.is_ready();
            if is_open && self.inner.has_outgoing() && self.seal().is_err() {
                self.is_dead = true;
            }
        }
        let rest = &self.outbox[self.taken..];
        if rest.is_empty() {
            return 0;
        }
        slices[0] = IoSlice::new(rest);
        1
    }

    fn sent(&mut self, bytes: usize, mut begun: impl FnMut(ExchangeId)) {
        self.taken += bytes;
        assert!(
            self.taken <= self.outbox.len(),
            "it was not offered as many"
        );
        while let Some(record) = self.records.front()
            && record.end <= self.taken
        {
            self.inner.sent(record.plain, &mut begun);
            self.records.pop_front();
        }
    }

    fn take_unanswered(&mut self, number: usize) -> VecDeque<Opening<'p>> {
        self.inner.take_unanswered(number)
    }

    fn has_outgoing(&self) -> bool {
        let may_seal = !self.is_dead && self.filter.is_ready();
        self.waits_for_socket() || may_seal && self.inner.has_outgoing()
    }

    fn closing(&self) -> bool {
        self.is_dead || self.is_ended || self.filter.is_spent() || self.inner.closing()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    fn has_several(&self) -> bool {
        self.inner.has_several()
    }

    fn in_turn(&self) -> impl Iterator<Item = ExchangeId> {
        self.inner.in_turn()
    }

    fn next_to_begin(&self) -> Option<ExchangeId> {
        self.inner.next_to_begin()
    }

    fn spare(&mut self) -> Vec<u8> {
        self.inner.spare()
    }

    fn receive(&mut self, input: &mut [u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.is_dead {
            return Ok(());
        }
        let mut is_inner = false;
        let inner = &mut self.inner;
        let mut read = |plain: &mut [u8]| {
            let read = inner.receive(plain, sink);
            is_inner |= read.is_err();
            read
        };
        let received = self.filter.receive(input, &mut self.outbox, &mut read);
        match received {
            Err(violation) if !is_inner => Err(self.fail(sink, violation)),
            // Some peers wait for our end before they close the socket: theirs is final without it.
            Ok(()) if self.filter.is_ended() && !self.is_ended => self.end(sink),
            received => received,
        }
    }

    fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation> {
        self.is_ended = true;
        match self.filter.end() {
            Err(why) if !self.filter.is_ready() => Err(why),
            // What ends by the end of the connection has ended where the peer says that it does, or anybody else has cut it.
            Err(why) => {
                self.inner.end(&mut Cut { sink, why })?;
                Err(why)
            }
            Ok(()) => self.inner.end(sink),
        }
    }

    fn abandon(&mut self, sink: &mut impl Sink, reason: Violation) {
        self.inner.abandon(sink, reason);
    }

    fn cancel(&mut self, id: ExchangeId, sink: &mut impl Sink) -> Scope {
        self.inner.cancel(id, sink)
    }
}

/// Tells whatever is done as complete as ended by `why`.
struct Cut<'a, S> {
    sink: &'a mut S,
    why: Violation,
}

impl<S: Sink> Sink for Cut<'_, S> {
    fn first(&mut self, id: ExchangeId) {
        self.sink.first(id);
    }

    fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        self.sink.head(id, head);
    }

    fn body(&mut self, id: ExchangeId, bytes: &[u8]) {
        self.sink.body(id, bytes);
    }

    fn done(&mut self, id: ExchangeId, ending: Ending) {
        let result = ending.result.and(Err(self.why));
        self.sink.done(id, Ending { result, ..ending });
    }

    fn unanswered(&mut self, id: ExchangeId, ending: Ending) {
        self.sink.unanswered(id, ending);
    }
}

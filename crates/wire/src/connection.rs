//! What the client side of a connection is told, and what it tells its [`Sink`]; the same for every protocol.
//!
//! A connection owns no socket and reads no clock: its caller takes the stamps, in the [`Sink`]'s methods.

use crate::{Encoded, Method, Request, Step, Violation};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes to be sent: the plan's own, or made for this one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<'p> {
    /// Encoded once, borrowed by every exchange that sends it.
    Shared(&'p [u8]),
    /// A rendered template; once sent (with pipelining: once it need not be sent again), the buffer can be had again from
    /// [`Connection::spare`](crate::Connection::spare).
    Own(Vec<u8>),
}

impl Source<'_> {
    /// Nothing to send: the body of most requests.
    pub const EMPTY: Source<'static> = Source::Shared(&[]);

    /// The bytes themselves.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Source::Shared(bytes) => bytes,
            Source::Own(bytes) => bytes,
        }
    }
}

/// The name of an exchange, which its owner gives it when it is opened: an index of a table of the owner's, free again when the exchange
/// is done. Nothing follows from its value, neither an order nor a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u32);

/// A request to be sent, and what must be known of it to read its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening<'p> {
    /// The head as its connection encodes it, by [`Connection::head_of`] or [`Connection::encode`]; not empty.
    pub head: Source<'p>,
    /// The body, or [`Source::EMPTY`].
    pub body: Source<'p>,
    /// What is known of its method.
    pub method: Method,
}

/// What the final response's head says, as far as the connection had to find out anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The status code, 100 to 999.
    pub status: u16,
    /// The head's bytes, status line to blank line.
    pub raw: &'a [u8],
    /// The connection stays open after this response.
    pub keepalive: bool,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Complete and well-formed, or the first thing that was wrong.
    pub result: Result<(), Violation>,
    /// The raw bytes of the response: interim heads, head, framing, body, trailers. Of a response that broke a
    /// rule, everything that came until it was refused, to the end of the input that did: how much that is depends
    /// on how the bytes were split.
    pub bytes: u64,
    /// How many bytes of the request the socket had taken.
    pub sent: u64,
    /// How far the response had come; [`Step::Body`] when it is complete.
    pub step: Step,
}

/// Where a connection tells what happened to its exchanges.
///
/// For each opened exchange: at most one `first`, then at most one `head`, then any number of `body`, then exactly one `done` or
/// `unanswered`; afterwards its name is free. What is told of different exchanges may come in any order.
pub trait Sink {
    /// The first byte of the response has come (of an interim one, if there is one).
    fn first(&mut self, id: ExchangeId);
    /// The final response's head is complete.
    fn head(&mut self, id: ExchangeId, head: &Head<'_>);
    /// Bytes of the body, framing removed; never empty.
    fn body(&mut self, id: ExchangeId, bytes: &[u8]);
    /// The exchange is over.
    fn done(&mut self, id: ExchangeId, ending: Ending);
    /// The server says that it will not respond, because it closes the connection before: the connection is done with the exchange,
    /// which may be sent again on another one.
    fn unanswered(&mut self, id: ExchangeId, ending: Ending);
}

/// What the end of an exchange comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The exchange alone: the others on its connection go on.
    Exchange,
    /// The connection, which its owner closes, and with it all that is open on it.
    Connection,
}

/// What a handshake agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handshake {
    /// The version, as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by its IANA name.
    pub cipher: &'static str,
    /// The group of the key exchange, as `X25519`; none where no new key was exchanged.
    pub key_exchange: Option<&'static str>,
    /// It went on from an earlier connection's, without a certificate.
    pub is_resumed: bool,
}

/// The client's side of one connection, whatever its protocol. It owns no socket and reads no clock.
pub trait Connection<'p>: std::fmt::Debug {
    /// What connections of one thread share.
    type Shared;

    /// Whether there is a handshake before the first exchange.
    const HAS_HANDSHAKE: bool = false;

    /// The socket is connected: what begins the handshake, where there is one, is to be sent.
    ///
    /// # Errors
    /// It cannot begin.
    fn begin(&mut self) -> Result<(), Violation> {
        Ok(())
    }

    /// Whether the handshake is over, or there is none.
    fn is_ready(&self) -> bool {
        true
    }

    /// What the handshake agreed on, once it is over; none where there is none.
    fn handshake(&self) -> Option<Handshake> {
        None
    }

    /// The kind of the key of the peer's certificate, as `RSA 2048` or `P-256`; none before the handshake's end, where it cannot be told, and
    /// where no certificate was shown.
    fn certificate_key(&self) -> Option<String> {
        None
    }

    /// Why it has failed, as a part of a sentence, where more is known than the [`Violation`] says.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Whether it has failed in a way that does not pass, however long one waits.
    fn is_final(&self) -> bool {
        false
    }

    /// The owner is about to close the socket in good order: what tells the peer so, if anything does, is to be sent.
    fn close(&mut self) {}

    /// Returns a new connection on which at most `most` exchanges (at least one) may be open at a time.
    fn sharing(most: u32, shared: &Self::Shared) -> Self;

    /// As new, buffers kept: for the next connection in the same slot.
    ///
    /// # Panics
    /// An exchange is still open: [`Connection::abandon`] comes first, or it would never be done.
    fn reset(&mut self);

    /// How many exchanges may be opened now; zero once the connection is going to close.
    fn capacity(&self) -> u32;

    /// The head of `encoded` as it goes out on this connection.
    fn head_of<'e>(&self, encoded: &'e Encoded) -> &'e [u8];

    /// Appends the head of `request` to `out` as it goes out on this connection: for one that is made for a single exchange.
    fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>);

    /// Opens an exchange, called `id`: queues its request.
    ///
    /// # Panics
    /// There is no capacity, or the head is empty.
    fn open(&mut self, id: ExchangeId, opening: Opening<'p>);

    /// Whether nothing is open and nothing is left to be sent, and exactly one exchange may be opened: its request then
    /// may go to the socket without being queued, see [`Connection::open_sent`].
    fn takes_one(&self) -> bool;

    /// Opens an exchange whose request the socket has taken already, all of it: `length` bytes.
    ///
    /// # Panics
    /// [`Connection::takes_one`] is not true.
    fn open_sent(&mut self, id: ExchangeId, length: u64, method: Method);

    /// Fills `slices` from the front with what is to be sent, and returns how many it filled. Two slices hold one
    /// request; with fewer slices than parts the rest is offered next time.
    fn outgoing<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize;

    /// The socket has taken the first `bytes` bytes of what [`Connection::outgoing`] offered; `begun` is called for each exchange of which
    /// the first byte was among them.
    ///
    /// # Panics
    /// It was not offered as many.
    fn sent(&mut self, bytes: usize, begun: impl FnMut(ExchangeId));

    /// The requests of the last `number` exchanges that were opened, the oldest first: those that were told as
    /// [`Sink::unanswered`]. Only a connection with pipelining has any.
    fn take_unanswered(&mut self, number: usize) -> VecDeque<Opening<'p>>;

    /// Whether something is left to be sent.
    fn has_outgoing(&self) -> bool;

    /// No exchange can be opened any more: the socket is to be closed as soon as none is in flight.
    fn closing(&self) -> bool;

    /// How many exchanges are opened and not done.
    fn in_flight(&self) -> u32;

    /// Whether any exchange is opened and not done.
    fn is_idle(&self) -> bool;

    /// Whether more than one exchange is opened and not done.
    fn has_several(&self) -> bool;

    /// The exchanges that wait for no other on this connection: all of one that interleaves them, else the oldest.
    fn in_turn(&self) -> impl Iterator<Item = ExchangeId>;

    /// The exchange whose first byte is to be sent next; none where the rest of another is.
    fn next_to_begin(&self) -> Option<ExchangeId>;

    /// An empty buffer for the next [`Source::Own`](crate::Source::Own), with the capacity of one that was sent, if there is one.
    fn spare(&mut self) -> Vec<u8>;

    /// Bytes have come, which it may write over. All of them are consumed; of what is incomplete no more is kept than the protocol allows.
    ///
    /// # Errors
    /// What the peer did wrong. The connection is dead: every exchange that was open is done, the one that was
    /// being answered with this violation, the others as [`Violation::Abandoned`]. When nothing was open
    /// (bytes beyond the last response) the violation ends no exchange, and the error is all that tells of it.
    fn receive(&mut self, input: &mut [u8], sink: &mut impl Sink) -> Result<(), Violation>;

    /// The peer has ended its side in good order. Completes a body that lasts until then.
    ///
    /// # Errors
    /// An exchange was waiting or incomplete; as with [`Connection::receive`] all are done.
    fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation>;

    /// The owner closes the socket (a timeout, a reset, the end of a phase): all that is still open is done as
    /// `reason`.
    fn abandon(&mut self, sink: &mut impl Sink, reason: Violation);

    /// Gives up `id`, which is open: its owner waits for it no longer. Where that ends this exchange alone, it is told as done.
    fn cancel(&mut self, id: ExchangeId, sink: &mut impl Sink) -> Scope;
}

//! What the client side of a connection is told, and what it tells its [`Sink`]; the same for every protocol.
//!
//! A connection owns no socket and reads no clock: its caller takes the stamps, in the [`Sink`]'s methods.

use crate::{Step, Violation};

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
    /// The encoded head, blank line included; not empty.
    pub head: Source<'p>,
    /// The body, or [`Source::EMPTY`].
    pub body: Source<'p>,
    /// The method is HEAD: its answer has no body, whatever it says.
    pub is_head: bool,
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

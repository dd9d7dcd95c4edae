//! The client side of one connection, whatever the protocol, and the words in which it speaks.
//!
//! [`Connection`] is a closed enum and not a trait object, so that the plain path of an exchange is one inlined
//! piece of code. It owns no socket and reads no clock: stamps are taken by whoever calls it, in the [`Sink`]'s
//! methods.

use crate::http1::{Client, HeadCache, Message};
use crate::{Step, Version, Violation};
use std::collections::VecDeque;
use std::io::IoSlice;

/// The owner's name for an exchange on its connection; wraps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeId(pub u32);

/// Bytes to be sent: the plan's own, or made for this one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<'p> {
    /// Encoded once, borrowed by every exchange that sends it.
    Shared(&'p [u8]),
    /// A rendered template; once sent (with pipelining: once it need not be sent again), the buffer can be had again from
    /// [`Connection::spare`].
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

/// A request to be sent, and what must be known of it to read its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening<'p> {
    /// How the [`Sink`] is told of it.
    pub id: ExchangeId,
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
    /// The version the server answered with.
    pub version: Version,
    /// The head's bytes, status line to blank line.
    pub raw: &'a [u8],
    /// The Content-Length, where there is one (to HEAD it tells of a body that does not come).
    pub content_length: Option<u64>,
    /// The body comes in chunks.
    pub chunked: bool,
    /// The connection stays open after this response.
    pub keepalive: bool,
}

impl<'a> Head<'a> {
    /// The value of the first header line called `name`, whatever its case. Walks the raw bytes: not for every
    /// exchange.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.raw
            .split(|&byte| byte == b'\n')
            .skip(1)
            .find_map(|line| {
                let colon = line.iter().position(|&byte| byte == b':')?;
                let (key, value) = (&line[..colon], &line[colon + 1..]);
                key.eq_ignore_ascii_case(name.as_bytes())
                    .then(|| value.trim_ascii())
            })
    }
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
    /// How far the response had come; [`Step::Body`] when it is complete.
    pub step: Step,
}

/// What became of the bytes that a socket took: exchanges counted in the order in which they were opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Exchanges whose first byte was among them.
    pub begun: u32,
    /// Exchanges whose last byte was among them.
    pub completed: u32,
}

/// Where a connection tells what happened to its exchanges.
///
/// For each opened exchange: at most one `first`, then at most one `head`, then any number of `body`, then
/// exactly one `done`; exchanges are done in the order in which they were opened.
pub trait Sink {
    /// The first byte that answers `id` has come (of an interim response, if there is one).
    fn first(&mut self, id: ExchangeId);
    /// The final response's head is complete.
    fn head(&mut self, id: ExchangeId, head: &Head<'_>);
    /// Bytes of the body, framing removed; never empty.
    fn body(&mut self, id: ExchangeId, bytes: &[u8]);
    /// The exchange is over.
    fn done(&mut self, id: ExchangeId, ending: Ending);
}

/// The client side of one connection.
#[derive(Debug)]
pub enum Connection<'p> {
    /// HTTP/1.0 and HTTP/1.1.
    Http1(Client<'p>),
}

impl<'p> Connection<'p> {
    /// A new HTTP/1.x connection on which at most `pipeline` exchanges (at least one) may be open at a time.
    pub fn http1(pipeline: u32) -> Self {
        Connection::http1_sharing(pipeline, &HeadCache::default())
    }

    /// The same, recognising heads that any of the connections has read that share `heads`.
    pub fn http1_sharing(pipeline: u32, heads: &HeadCache) -> Self {
        Connection::Http1(Client::new(pipeline, heads.clone()))
    }

    /// As new, buffers kept: for the next connection in the same slot.
    ///
    /// # Panics
    /// An exchange is still open: [`Connection::abandon`] comes first, or it would never be done.
    pub fn reset(&mut self) {
        match self {
            Connection::Http1(client) => client.reset(),
        }
    }

    /// How many exchanges may be opened now; zero once the connection is going to close.
    #[inline]
    pub fn capacity(&self) -> u32 {
        match self {
            Connection::Http1(client) => client.capacity(),
        }
    }

    /// Opens an exchange: queues its request.
    ///
    /// # Panics
    /// There is no capacity, or the head is empty.
    #[inline]
    pub fn open(&mut self, opening: Opening<'p>) {
        match self {
            Connection::Http1(client) => client.open(opening),
        }
    }

    /// Whether nothing is open and nothing is left to be sent, and exactly one exchange may be opened: its request then
    /// may go to the socket without being queued, see [`Connection::open_sent`].
    #[inline]
    pub fn takes_one(&self) -> bool {
        match self {
            Connection::Http1(client) => client.takes_one(),
        }
    }

    /// Opens an exchange whose request the socket has taken already, all of it; `is_head` as in [`Opening`].
    ///
    /// # Panics
    /// [`Connection::takes_one`] is not true.
    #[inline]
    pub fn open_sent(&mut self, id: ExchangeId, is_head: bool) {
        match self {
            Connection::Http1(client) => client.open_sent(id, is_head),
        }
    }

    /// Fills `slices` from the front with what is to be sent, and returns how many it filled. Two slices hold one
    /// request; with fewer slices than parts the rest is offered next time.
    #[inline]
    pub fn outgoing<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        match self {
            Connection::Http1(client) => client.outgoing(slices),
        }
    }

    /// The socket has taken the first `bytes` bytes of what [`Connection::outgoing`] offered.
    ///
    /// # Panics
    /// It was not offered as many.
    #[inline]
    pub fn sent(&mut self, bytes: usize) -> Sent {
        match self {
            Connection::Http1(client) => client.sent(bytes),
        }
    }

    /// The requests of the last `number` exchanges that were opened, the oldest first: those that were done as
    /// [`Violation::Abandoned`] because the response before them was complete and closes the connection. They may be sent
    /// again on another one. Only a connection with pipelining has any.
    pub fn take_unanswered(&mut self, number: usize) -> VecDeque<Message<'p>> {
        match self {
            Connection::Http1(client) => client.take_unanswered(number),
        }
    }

    /// Whether something is left to be sent.
    #[inline]
    pub fn has_outgoing(&self) -> bool {
        match self {
            Connection::Http1(client) => client.has_outgoing(),
        }
    }

    /// Bytes have come. All of them are consumed; an incomplete head is kept, at most 64 KiB of it.
    ///
    /// # Errors
    /// What the peer did wrong. The connection is dead: every exchange that was open is done, the one that was
    /// being answered with this violation, those behind it as [`Violation::Abandoned`]. When nothing was open
    /// (bytes beyond the last response) the violation ends no exchange, and the error is all that tells of it.
    #[inline]
    pub fn receive(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        match self {
            Connection::Http1(client) => client.receive(input, sink),
        }
    }

    /// The peer has ended its side in good order. Completes a body that lasts until then.
    ///
    /// # Errors
    /// An exchange was waiting or incomplete; as with [`Connection::receive`] all are done.
    pub fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation> {
        match self {
            Connection::Http1(client) => client.end(sink),
        }
    }

    /// The owner closes the socket (a timeout, a reset, the end of a phase): all that is still open is done as
    /// `reason`.
    pub fn abandon(&mut self, sink: &mut impl Sink, reason: Violation) {
        match self {
            Connection::Http1(client) => client.abandon(sink, reason),
        }
    }

    /// No exchange can be opened any more: the socket is to be closed as soon as none is in flight.
    #[inline]
    pub fn closing(&self) -> bool {
        match self {
            Connection::Http1(client) => client.closing(),
        }
    }

    /// How many exchanges are opened and not done.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match self {
            Connection::Http1(client) => client.in_flight(),
        }
    }

    /// An empty buffer for the next [`Source::Own`], with the capacity of one that was sent, if there is one.
    pub fn spare(&mut self) -> Vec<u8> {
        match self {
            Connection::Http1(client) => client.spare(),
        }
    }
}

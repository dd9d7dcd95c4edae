//! The server role of HTTP/1.x: requests read, or refused.
//!
//! ```text
//! Between --some of a head--> Head --the rest--> (request)       Between --whole head--> (request)
//! (request) --no body--> Between    --length--> Length --last byte--> Between
//!                                   --chunked--> Chunked --last line--> Between
//! any --malformed, too large--> Over (a refusal is due)       any --last request complete--> Over
//! Over: what still comes is swallowed; the holder answers and closes.
//! ```
//!
//! What a head may look like is in `head`. What a request means (which methods exist, what the path names) is the
//! holder's.
//!
//! Memory: 40 bytes a connection, and the head where one has come in part. A head that comes whole is read where it
//! lies; the limits and the memory of heads are the worker's.
//!
//! Cost: a request without a body, with a head of 91 bytes, is 145 instructions when the head is the last one again, 248
//! when it is one of the last eight, 965 when only its target is new, 1,741 when its header lines are new, too; 222,
//! 1,116 and 4,173 with a browser's head of 601 (callgrind's counts; `examples/cost.rs` repeats them).

use super::chunked::{Chunked, Decoded, front};
use super::head;
use super::head_cache::RequestCache;
use super::refusal::*;
use super::request_head::RequestHead;
use crate::Violation;
use crate::request::is_token_byte;
use std::ops::ControlFlow;

/// Empty lines before a request. RFC 9112 §2.2 asks for one at least (old clients send it behind a body); a few more do
/// no harm, any number would be bytes without end that are no request.
const BLANKS_LIMIT: u8 = 4;

/// Where a server is told of requests: `request`, any number of `body`, `complete`, then the next one.
pub trait ServerSink {
    /// A request's head is complete.
    fn request(&mut self, head: &RequestHead<'_>);
    /// Bytes of its body, framing removed; never empty.
    fn body(&mut self, bytes: &[u8]);
    /// The request is complete. On [`ControlFlow::Break`] nothing behind it is read: [`Server::receive`] returns,
    /// so that a long answer can be given before the next question is heard.
    fn complete(&mut self) -> ControlFlow<()>;
    /// A request is refused before its head is complete or understood. `line` is the first line of what was sent, as
    /// much as has come of it, without its end. (What is refused later was told to `request`.)
    fn refused(&mut self, _line: &[u8]) {}
}

/// What a piece of input came to: how much of it is used, and whether the sink breaks off there.
type Used = (usize, ControlFlow<()>);

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Between,
    /// What has come of a head.
    Head(Vec<u8>),
    /// Bytes that are left.
    Length(u64),
    /// Bytes that may still come.
    Chunked(Chunked, u64),
    Over,
}

/// The server side of one HTTP/1.x connection.
#[derive(Debug, Default)]
pub struct Server {
    phase: Phase,
    /// The connection cannot be kept after the request that is being read.
    closes: bool,
    /// The request that is being read is a HEAD.
    is_head: bool,
    /// Empty lines since the last request.
    blanks: u8,
}

impl Server {
    /// No request is under way: a client that closes now has lost nothing.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Between | Phase::Over)
    }

    /// The first line of a head of which a part has come, as much as there is of it; empty between two requests and in
    /// a body.
    pub fn begun(&self) -> &[u8] {
        match &self.phase {
            Phase::Head(head) => first_line(head),
            _ => b"",
        }
    }

    /// No further request will be read: the last one said so, or was refused.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Bytes have come. Says how many of them are used: all, or up to the end of the request at which the sink broke
    /// off; the holder keeps the others and gives them again. An incomplete head is kept here, as much as
    /// [`Limits::head`] says. `requests` is the worker's, the same for all its connections.
    ///
    /// # Errors
    /// The request that is being read cannot be served: answer what came before it, then this, then close.
    #[inline]
    pub fn receive(
        &mut self,
        requests: &mut RequestCache,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            let used = match &mut self.phase {
                Phase::Between => self.receive_head(requests, rest, sink),
                Phase::Head(head) => {
                    let head = std::mem::take(head);
                    self.receive_rest_of_head(head, requests, rest, sink)
                }
                Phase::Length(left) => {
                    let left = *left;
                    Ok(self.receive_length(left, rest, sink))
                }
                Phase::Chunked(chunked, room) => {
                    let (chunked, room) = (*chunked, *room);
                    self.receive_chunked(chunked, room, rest, sink)
                }
                Phase::Over => return Ok(input.len()),
            };
            let (used, flow) = used.inspect_err(|_| self.phase = Phase::Over)?;
            at += used;
            if flow.is_break() {
                break;
            }
        }
        Ok(at)
    }

    #[inline]
    fn receive_head(
        &mut self,
        requests: &mut RequestCache,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Used, Refusal> {
        let room = requests.limits().body;
        if let Some(known) = requests.recall(input) {
            return Ok((known.length(), self.begin(&known.head(), room, sink)));
        }
        let used = self.read(requests, input, sink)?;
        Ok(used.unwrap_or_else(|| {
            self.phase = Phase::Head(input.to_vec());
            (input.len(), GO_ON)
        }))
    }

    #[cold]
    fn receive_rest_of_head(
        &mut self,
        mut head: Vec<u8>,
        requests: &mut RequestCache,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Used, Refusal> {
        let before = head.len();
        let room = requests.limits().head.saturating_sub(before);
        head.extend_from_slice(&input[..input.len().min(room)]);
        if head::is_due(&head, before, requests.limits())
            && let Some((used, flow)) = self.read(requests, &head, sink)?
        {
            return Ok((used - before, flow));
        }
        self.phase = Phase::Head(head);
        Ok((input.len(), GO_ON))
    }

    /// Reads the empty line or the head at the front of `input`; none: it is not complete.
    fn read(
        &mut self,
        requests: &mut RequestCache,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Option<Used>, Refusal> {
        let read = self.read_start(requests, input, sink);
        read.inspect_err(|_| sink.refused(first_line(input)))
    }

    fn read_start(
        &mut self,
        requests: &mut RequestCache,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Option<Used>, Refusal> {
        // What no request begins with is refused at once, so that a client of another protocol is told so.
        match input {
            [b'\r', b'\n', ..] => {
                self.blanks += 1;
                self.phase = Phase::Between;
                return match self.blanks > BLANKS_LIMIT {
                    true => Err(BLANKS),
                    false => Ok(Some((2, GO_ON))),
                };
            }
            [b'\r'] | [] => return Ok(None),
            [byte, ..] if is_token_byte(*byte) => {}
            _ => return Err(BAD_LINE),
        }
        let limits = *requests.limits();
        let window = &input[..input.len().min(limits.head)];
        let parsed = head::read(window, &limits, requests.lines()).map_err(|refusal| Refusal {
            is_head: window.starts_with(b"HEAD "),
            ..refusal
        })?;
        Ok(parsed.map(|parsed| {
            let flow = match requests.learn(window, &parsed) {
                Some(known) => self.begin(&known.head(), limits.body, sink),
                None => {
                    let words = parsed.words(window);
                    let implied = parsed.implied(words);
                    let head = parsed.head(window, words, &implied, None);
                    self.begin(&head, limits.body, sink)
                }
            };
            (parsed.length, flow)
        }))
    }

    /// A head is complete: tells of it and turns to its body, for which there is `room`.
    #[inline]
    fn begin(
        &mut self,
        head: &RequestHead<'_>,
        room: u64,
        sink: &mut impl ServerSink,
    ) -> ControlFlow<()> {
        self.closes = !head.keepalive;
        self.is_head = head.method == "HEAD";
        self.blanks = 0;
        sink.request(head);
        match head.content_length {
            _ if head.chunked => self.phase = Phase::Chunked(Chunked::strict(), room),
            Some(length) if length > 0 => self.phase = Phase::Length(length),
            _ => return self.complete(sink),
        }
        GO_ON
    }

    fn receive_length(&mut self, left: u64, input: &[u8], sink: &mut impl ServerSink) -> Used {
        let body = front(input, left);
        sink.body(body);
        let left = left - body.len() as u64;
        self.phase = Phase::Length(left);
        let flow = match left {
            0 => self.complete(sink),
            _ => GO_ON,
        };
        (body.len(), flow)
    }

    fn receive_chunked(
        &mut self,
        mut chunked: Chunked,
        mut room: u64,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Used, Refusal> {
        let mut is_too_large = false;
        let Decoded { used, over } = chunked.decode(input, |bytes| {
            let taken = front(bytes, room);
            room -= taken.len() as u64;
            is_too_large |= taken.len() < bytes.len();
            if !taken.is_empty() {
                sink.body(taken);
            }
        });
        let refusal = match over {
            _ if is_too_large => BODY_TOO_LARGE,
            Ok(true) => return Ok((used, self.complete(sink))),
            Ok(false) => {
                self.phase = Phase::Chunked(chunked, room);
                return Ok((used, GO_ON));
            }
            Err(Violation::TrailersTooLarge) => TRAILERS_TOO_LARGE,
            Err(Violation::BadTrailers) => BAD_TRAILERS,
            Err(_) => BAD_CHUNK,
        };
        let is_head = self.is_head;
        Err(Refusal { is_head, ..refusal })
    }

    #[inline]
    fn complete(&mut self, sink: &mut impl ServerSink) -> ControlFlow<()> {
        self.phase = match self.closes {
            true => Phase::Over,
            false => Phase::Between,
        };
        sink.complete()
    }
}

/// The line at the front of `head`, or all of it if no line ends there; without its end.
fn first_line(head: &[u8]) -> &[u8] {
    let end = head.iter().position(|&byte| byte == b'\n');
    let line = &head[..end.unwrap_or(head.len())];
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_small() {
        assert!(size_of::<Server>() <= 40, "{}", size_of::<Server>());
    }
}

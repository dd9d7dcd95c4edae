//! The server role of HTTP/1.x: requests read, or refused.
//!
//! ```text
//! Head --request, no body--> Head        Head --request, length--> Length --last byte--> Head
//!                                        Head --request, chunked--> Chunked --last line--> Head
//! any --malformed, too large--> Over (a refusal is due)       any --last request complete--> Over
//! Over: what still comes is swallowed; the holder answers and closes.
//! ```
//!
//! Strict where the client is lenient, because a lenient server is what request smuggling lives on: line ends
//! are CR LF, Host is there once, a body has one length. What a request means (which methods exist, what the
//! path names) is the holder's.

use super::chunked::{Chunked, Decoded};
use super::fields::{BadField, Fields};
use super::memo::Requests;
use super::status::HEADERS_LIMIT;
use crate::{Version, Violation};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

/// A request's target may have this many bytes.
const TARGET_LIMIT: usize = 8 * 1024;

/// How much a request may be. One for all connections of a worker, in its [`Requests`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, blank line included.
    pub head: usize,
    /// Bytes of a body, framing not counted.
    pub body: u64,
}

impl Default for Limits {
    /// 64 KiB of head, which browsers with all their cookies stay far below; 64 MiB of body, more than anybody sends to
    /// a server of files, and a limit all the same.
    fn default() -> Self {
        Limits {
            head: 64 * 1024,
            body: 64 * 1024 * 1024,
        }
    }
}

/// A request whose head is complete.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The method, a token; which ones exist is the holder's to say.
    pub method: &'a str,
    /// The path with its query; `*` for `OPTIONS *`. An absolute target's scheme and authority are taken off.
    pub path: &'a str,
    /// The version the client speaks.
    pub version: Version,
    /// The client wants the connection kept, and it can be.
    pub keepalive: bool,
    /// The client waits for [`super::CONTINUE`] before it sends the body.
    pub expects_continue: bool,
    /// The body's length; none for no body and for a chunked one.
    pub content_length: Option<u64>,
    /// The body comes in chunks.
    pub chunked: bool,
    headers: &'a [httparse::Header<'a>],
}

impl<'a> Asked<'a> {
    /// All header lines in order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        self.headers
            .iter()
            .map(|header| (header.name, header.value))
    }

    /// The value of the first header line called `name`, whatever its case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// Where a server is told of requests: `request`, any number of `body`, `complete`, then the next one.
pub trait ServerSink {
    /// A request's head is complete.
    fn request(&mut self, asked: &Asked<'_>);
    /// Bytes of its body, framing removed; never empty.
    fn body(&mut self, bytes: &[u8]);
    /// The request is complete. On [`ControlFlow::Break`] nothing behind it is read: [`Server::receive`] returns,
    /// so that a long answer can be given before the next question is heard.
    fn complete(&mut self) -> ControlFlow<()>;
}

/// Why a request is not served: to be answered with this status, and the connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer with.
    pub status: u16,
    /// One sentence for people, without a full stop.
    pub reason: &'static str,
    /// The request is a HEAD, so that even the refusal has no body.
    pub is_head: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.status)
    }
}

impl std::error::Error for Refusal {}

const fn refusal(status: u16, reason: &'static str) -> Refusal {
    Refusal {
        status,
        reason,
        is_head: false,
    }
}

/// What a piece of input came to: how much of it is used, and whether the sink breaks off there.
type Used = (usize, ControlFlow<()>);

#[derive(Debug, Clone, Copy)]
enum Phase {
    Head,
    Length(u64),
    Chunked(Chunked),
    Over,
}

/// The server side of one HTTP/1.x connection.
#[derive(Debug)]
pub struct Server {
    phase: Phase,
    /// An incomplete head.
    partial: Vec<u8>,
    /// The connection can be kept after the request that is being read.
    keepalive: bool,
    /// The request that is being read is a HEAD.
    is_head: bool,
    /// What the body that is being read has come to.
    body: u64,
}

impl Default for Server {
    fn default() -> Self {
        Server::new()
    }
}

impl Server {
    /// A new connection.
    pub fn new() -> Self {
        Server {
            phase: Phase::Head,
            partial: Vec::new(),
            keepalive: true,
            is_head: false,
            body: 0,
        }
    }

    /// As new, buffers kept: for the next connection in the same slot.
    pub fn reset(&mut self) {
        self.phase = Phase::Head;
        self.partial.clear();
    }

    /// No request is under way: a client that closes now has lost nothing.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head | Phase::Over) && self.partial.is_empty()
    }

    /// No further request will be read: the last one said so, or was refused.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Bytes have come. Says how many of them are used: all, or up to the end of the request at which the sink broke
    /// off; the holder keeps the others and gives them again. An incomplete head is kept here, as much as [`Limits::head`] says.
    /// `requests` is the worker's, the same for all its connections.
    ///
    /// # Errors
    /// The request that is being read cannot be served: answer what came before it, then this, then close.
    #[inline]
    pub fn receive(
        &mut self,
        requests: &mut Requests,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            let used = match self.phase {
                Phase::Head => self.receive_head(requests, rest, sink),
                Phase::Length(left) => Ok(self.receive_length(left, rest, sink)),
                Phase::Chunked(chunked) => self.receive_chunked(requests, chunked, rest, sink),
                Phase::Over => return Ok(input.len()),
            };
            let (used, flow) = used.map_err(|refusal| self.refuse(refusal))?;
            at += used;
            if flow.is_break() {
                break;
            }
        }
        Ok(at)
    }

    #[cold]
    fn refuse(&mut self, refusal: Refusal) -> Refusal {
        let is_head = match self.phase {
            Phase::Head => refusal.is_head,
            _ => self.is_head,
        };
        self.phase = Phase::Over;
        self.partial = Vec::new();
        Refusal { is_head, ..refusal }
    }

    #[inline]
    fn receive_head(
        &mut self,
        requests: &Requests,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Used, Refusal> {
        if self.partial.is_empty() {
            let Some(used) = self.read(requests, input, sink)? else {
                self.partial.extend_from_slice(input);
                return Ok((input.len(), ControlFlow::Continue(())));
            };
            return Ok(used);
        }
        let mut head = std::mem::take(&mut self.partial);
        let before = head.len();
        let room = requests.limits().head - before;
        head.extend_from_slice(&input[..input.len().min(room)]);
        let Some((length, flow)) = self.read(requests, &head, sink)? else {
            self.partial = head;
            return Ok((input.len(), ControlFlow::Continue(())));
        };
        Ok((length - before, flow))
    }

    /// Reads the head at the front of `input`, tells of it and turns to its body; none: it is not complete.
    fn read(
        &mut self,
        requests: &Requests,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Option<Used>, Refusal> {
        let window = &input[..input.len().min(requests.limits().head)];
        let is_head = first_line(window).starts_with(b"HEAD ");
        self.read_window(requests, window, sink)
            .map_err(|refusal| Refusal { is_head, ..refusal })
    }

    fn read_window(
        &mut self,
        requests: &Requests,
        window: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Option<Used>, Refusal> {
        let mut slots = [const { MaybeUninit::uninit() }; HEADERS_LIMIT];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(window, &mut slots) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if window.len() < requests.limits().head => {
                return Ok(None);
            }
            Ok(httparse::Status::Partial) => return Err(too_large(window)),
            Err(error) => return Err(malformed(error, window)),
        };
        if has_bare_lf(&window[..length]) {
            return Err(refusal(400, "a line of the head ends without CR"));
        }
        let asked = understand(&request)?;
        if asked
            .content_length
            .is_some_and(|length| length > requests.limits().body)
        {
            return Err(refusal(413, "the body is larger than what is taken"));
        }
        self.keepalive = asked.keepalive;
        self.is_head = asked.method == "HEAD";
        self.body = 0;
        sink.request(&asked);
        match asked.content_length {
            _ if asked.chunked => self.phase = Phase::Chunked(Chunked::new()),
            Some(length) if length > 0 => self.phase = Phase::Length(length),
            _ => return Ok(Some((length, self.complete(sink)))),
        }
        Ok(Some((length, ControlFlow::Continue(()))))
    }

    fn receive_length(&mut self, left: u64, input: &[u8], sink: &mut impl ServerSink) -> Used {
        let body = &input[..input.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        sink.body(body);
        let left = left - body.len() as u64;
        self.phase = Phase::Length(left);
        if left == 0 {
            return (body.len(), self.complete(sink));
        }
        (body.len(), ControlFlow::Continue(()))
    }

    fn receive_chunked(
        &mut self,
        requests: &Requests,
        mut chunked: Chunked,
        input: &[u8],
        sink: &mut impl ServerSink,
    ) -> Result<Used, Refusal> {
        let (body, limit) = (&mut self.body, requests.limits().body);
        let Decoded { used, over } = chunked.decode(input, |bytes| {
            let room = limit.saturating_sub(*body);
            let taken = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
            *body = body
                .saturating_add(bytes.len() as u64)
                .min(limit.saturating_add(1));
            if !taken.is_empty() {
                sink.body(taken);
            }
        });
        if self.body > limit {
            return Err(refusal(413, "the body is larger than what is taken"));
        }
        self.phase = Phase::Chunked(chunked);
        match over {
            Ok(false) => {}
            Ok(true) => return Ok((used, self.complete(sink))),
            Err(Violation::TrailersTooLarge) => {
                return Err(refusal(431, "the trailers are over 16 KiB"));
            }
            Err(Violation::BadTrailers) => {
                return Err(refusal(400, "a line of the trailers is malformed"));
            }
            Err(_) => return Err(refusal(400, "a chunk of the body is malformed")),
        }
        Ok((used, ControlFlow::Continue(())))
    }

    #[inline]
    fn complete(&mut self, sink: &mut impl ServerSink) -> ControlFlow<()> {
        self.phase = if self.keepalive {
            Phase::Head
        } else {
            Phase::Over
        };
        sink.complete()
    }
}

fn understand<'a>(request: &'a httparse::Request<'a, 'a>) -> Result<Asked<'a>, Refusal> {
    let method = request.method.unwrap_or_default();
    let version = if request.version == Some(0) {
        Version::Http10
    } else {
        Version::Http11
    };
    let mut fields = Fields::default();
    let mut hosts = 0;
    let mut expects_continue = false;
    for header in request.headers.iter() {
        fields
            .take(header.name.as_bytes(), header.value)
            .map_err(bad_field)?;
        if header.name.eq_ignore_ascii_case("host") {
            hosts += 1;
        } else if header.name.eq_ignore_ascii_case("expect") {
            expects_continue = expectation(header.value, version)?;
        }
    }
    let path = path(method, request.path.unwrap_or_default())?;
    if hosts > 1 || (hosts == 0 && version == Version::Http11) {
        return Err(refusal(400, "Host must be there once"));
    }
    if fields.chunked && (fields.length.is_some() || version == Version::Http10) {
        return Err(refusal(400, "the body's length is ambiguous"));
    }
    Ok(Asked {
        method,
        path,
        version,
        keepalive: !fields.close && (version == Version::Http11 || fields.keep_alive),
        expects_continue,
        content_length: fields.length,
        chunked: fields.chunked,
        headers: request.headers,
    })
}

/// RFC 9110 §10.1.1: from HTTP/1.0 the expectation is ignored.
fn expectation(value: &[u8], version: Version) -> Result<bool, Refusal> {
    if version == Version::Http10 {
        Ok(false)
    } else if value.eq_ignore_ascii_case(b"100-continue") {
        Ok(true)
    } else {
        Err(refusal(417, "only 100-continue can be expected"))
    }
}

/// The four forms of a target (RFC 9112 §3.2); of an absolute one, what follows the authority.
fn path<'a>(method: &str, target: &'a str) -> Result<&'a str, Refusal> {
    if target.len() > TARGET_LIMIT {
        return Err(refusal(414, "the target is over 8 KiB"));
    }
    if method == "CONNECT" {
        return Err(refusal(501, "this is no proxy"));
    }
    if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        return Ok(target);
    }
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| starts_with(target, scheme));
    let malformed = refusal(400, "the target is neither a path nor an address");
    let rest = &target[scheme.ok_or(malformed)?.len()..];
    match rest.find(['/', '?']) {
        Some(0) => Err(malformed),
        Some(at) if rest[at..].starts_with('/') => Ok(&rest[at..]),
        Some(_) => Err(malformed),
        None if rest.is_empty() => Err(malformed),
        None => Ok("/"),
    }
}

fn starts_with(target: &str, scheme: &str) -> bool {
    target
        .get(..scheme.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

fn has_bare_lf(head: &[u8]) -> bool {
    head.first() == Some(&b'\n')
        || head
            .windows(2)
            .any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
}

fn bad_field(bad: BadField) -> Refusal {
    match bad {
        BadField::ContentLength => refusal(
            400,
            "Content-Length is no number, or there are several that differ",
        ),
        BadField::TransferEncoding => refusal(501, "Transfer-Encoding is not exactly `chunked`"),
    }
}

fn too_large(window: &[u8]) -> Refusal {
    if first_line(window).contains(&b'\n') {
        refusal(431, "the head is larger than what is taken")
    } else {
        refusal(414, "the request line is longer than what is taken")
    }
}

fn malformed(error: httparse::Error, window: &[u8]) -> Refusal {
    match error {
        httparse::Error::TooManyHeaders => refusal(431, "there are more than 256 header lines"),
        httparse::Error::Version if is_other_version(window) => {
            refusal(505, "only HTTP/1.0 and HTTP/1.1 are spoken")
        }
        httparse::Error::HeaderName | httparse::Error::HeaderValue => {
            refusal(400, "a header line is malformed")
        }
        _ => refusal(400, "the request line is malformed"),
    }
}

/// Whether the third word of the request line begins as a version does: `HTTP/` and a digit.
fn is_other_version(window: &[u8]) -> bool {
    let version = first_line(window)
        .split(|&byte| byte == b' ')
        .nth(2)
        .unwrap_or_default();
    version
        .strip_prefix(b"HTTP/")
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
}

/// The request line and all that follows, without empty lines before it.
fn first_line(window: &[u8]) -> &[u8] {
    let start = window
        .iter()
        .position(|byte| !b"\r\n".contains(byte))
        .unwrap_or(window.len());
    &window[start..]
}

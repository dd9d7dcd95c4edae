//! A request's head, read strictly and in one pass.
//!
//! Strict, because a lenient server is what request smuggling lives on; our own, because httparse is lenient where
//! RFC 9112 leaves it open (bare LF, any number of empty lines) and keeps a list of all header lines where framing
//! needs five. What is accepted here httparse accepts with the same meaning; debug
//! builds check that for every head.
//!
//! A line is judged when it is complete, and the first thing wrong decides. So the judgement hangs on the bytes up to
//! the last line's end and on nothing else, however they were split, and a head that drips in is read again once a
//! line and not once a byte.

use super::fields::is;
use super::framing::{RequestFraming, trimmed};
use super::head_cache::LineCache;
use super::line::{Line, Stop, value_end};
use super::refusal::*;
use super::request_head::ParsedRequest;
use super::scan::{HIGH, ONES, token};
use super::target;
use crate::Version;

/// Whether a head of which `before` bytes were not enough has to be looked at again: a line may be complete now, or a
/// limit reached.
pub(crate) fn is_due(head: &[u8], before: usize, limits: &Limits) -> bool {
    let reached = |limit| before < limit && head.len() >= limit;
    reached(2) || reached(LINE_LIMIT + 2) || reached(limits.head) || head[before..].contains(&b'\n')
}

/// Reads the head at the front of `window`, which begins with a request line and has at most as many bytes as a head
/// may; none: it is not complete. Header lines that are `known` are not read again.
pub(crate) fn read(
    window: &[u8],
    limits: &Limits,
    known: &mut LineCache,
) -> Result<Option<ParsedRequest>, Refusal> {
    let mut reader = Reader { window, from: 0 };
    match reader.head(known) {
        Ok(parsed) if parsed.line > LINE_LIMIT => Err(LINE_TOO_LONG),
        Ok(parsed) if parsed.content_length > Some(limits.body) => Err(BODY_TOO_LARGE),
        Ok(parsed) => {
            debug_assert!(httparse_agrees(window, &parsed), "{parsed:?}");
            Ok(Some(parsed))
        }
        Err(stop) => reader.judge(stop, limits).map(|()| None),
    }
}

struct Reader<'a> {
    window: &'a [u8],
    /// Where the line begins that is being read.
    from: usize,
}

impl Reader<'_> {
    /// Fine, it is not complete; or why there is no need to wait.
    #[cold]
    fn judge(&self, stop: Stop, limits: &Limits) -> Result<(), Refusal> {
        let window = self.window;
        let first = window.iter().position(|&byte| byte == b'\n');
        match (first, stop) {
            (Some(end), _) if end > LINE_LIMIT + 1 => Err(LINE_TOO_LONG),
            (None, _) if window.len() >= limits.head.min(LINE_LIMIT + 2) => Err(LINE_TOO_LONG),
            (_, Stop::Bad(refusal)) if window[self.from..].contains(&b'\n') => Err(refusal),
            _ if window.len() >= limits.head => Err(HEAD_TOO_LARGE),
            _ => Ok(()),
        }
    }

    fn head(&mut self, known: &mut LineCache) -> Result<ParsedRequest, Stop> {
        let line = self.request_line()?;
        let (version, start) = (line.version, line.length + 2);
        let lines = &self.window[start..];
        if let Some((framing, length)) = known.recall(lines, version) {
            return framing.conclude(line, length).map_err(Stop::Bad);
        }
        let mut framing = RequestFraming::default();
        let mut at = 0;
        for _ in 0..=FIELDS_LIMIT {
            self.from = start + at;
            if lines[at..].starts_with(b"\r\n") {
                known.learn(&lines[..at + 2], version, framing);
                return framing.conclude(line, at + 2).map_err(Stop::Bad);
            }
            at = read_field(lines, at, version, &mut framing)?;
        }
        Err(TOO_MANY_FIELDS.into())
    }

    /// `method SP target SP version`, one space each.
    fn request_line(&self) -> Result<Line, Stop> {
        let window = self.window;
        let method = token(window);
        expect_space(window, method, BAD_LINE)?;
        let start = method + 1;
        let end = start + target_length(&window[start..]);
        expect_space(window, end, BAD_TARGET)?;
        if start == end {
            return Err(BAD_LINE.into());
        }
        let (version, length) = version(window, end + 1)?;
        Ok(Line {
            length,
            method,
            target: target::understand(&window[..method], &window[start..end])?,
            version,
        })
    }
}

/// Takes one of the header lines into account, and says where the next one begins.
#[inline]
fn read_field(
    lines: &[u8],
    at: usize,
    version: Version,
    framing: &mut RequestFraming,
) -> Result<usize, Stop> {
    let colon = at + token(&lines[at..]);
    match lines.get(colon) {
        Some(b':') if colon > at => {}
        Some(b'\n') => return Err(LINE_END.into()),
        Some(_) => return Err(BAD_NAME.into()),
        None => return Err(Stop::Short),
    }
    let end = value_end(lines, colon + 1)?;
    let (name, value) = (&lines[at..colon], colon + 1..end);
    match name.len() {
        4 if is(name, b"Host") => framing.host(lines, value)?,
        6 if is(name, b"Expect") => framing.expectation(trimmed(lines, value), version)?,
        10 if is(name, b"Connection") => framing.connection.connection(trimmed(lines, value)),
        14 if is(name, b"Content-Length") => framing.length(trimmed(lines, value))?,
        17 if is(name, b"Transfer-Encoding") => framing.codings(trimmed(lines, value)),
        _ => {}
    }
    Ok(end + 2)
}

fn expect_space(window: &[u8], at: usize, otherwise: Refusal) -> Result<(), Stop> {
    match window.get(at) {
        Some(b' ') if at > 0 => Ok(()),
        Some(b'\t' | b'\r' | b'\n') => Err(BAD_LINE.into()),
        Some(_) => Err(otherwise.into()),
        None => Err(Stop::Short),
    }
}

/// The version, and where the request line ends.
#[inline]
fn version(window: &[u8], at: usize) -> Result<(Version, usize), Stop> {
    match window.get(at..at + 10) {
        Some(b"HTTP/1.1\r\n") => Ok((Version::Http11, at + 8)),
        _ => other_version(window, at),
    }
}

#[cold]
fn other_version(window: &[u8], at: usize) -> Result<(Version, usize), Stop> {
    let end = window[at..].iter().position(|&byte| byte == b'\n');
    let line = &window[at..at + end.ok_or(Stop::Short)?];
    let version = line.strip_suffix(b"\r").ok_or(LINE_END)?;
    let [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] = version else {
        return Err(BAD_LINE.into());
    };
    match (major, minor) {
        (b'1', b'0') => Ok((Version::Http10, at + 8)),
        // RFC 9110 §2.5: a later minor version is served as the last one that is known.
        (b'1', b'1'..=b'9') => Ok((Version::Http11, at + 8)),
        (b'0'..=b'9', b'0'..=b'9') => Err(OTHER_VERSION.into()),
        _ => Err(BAD_LINE.into()),
    }
}

/// Returns how many bytes of a target `bytes` begins with, eight at a time: every byte except controls, the space, DEL,
/// and `#`, which begins a fragment. RFC 3986 allows fewer, but browsers leave some of the others as they are (WHATWG
/// URL, query percent-encode set), scripts leave all of them, and nginx, lighttpd and Apache accept them.
#[inline]
fn target_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // With the high bits cleared no sum carries into the byte above.
        let (low, ascii) = (word & !HIGH, !word & HIGH);
        let visible = low + ONES * (0x80 - 0x21);
        let delete = low + ONES;
        let not_hash = (low ^ (ONES * b'#' as u64)) + ONES * 0x7f;
        let stop = (!(visible & not_hash) | delete) & ascii;
        if stop != 0 {
            return index * 8 + stop.trailing_zeros() as usize / 8;
        }
    }
    let stop = |byte: &u8| byte.is_ascii() && (!byte.is_ascii_graphic() || *byte == b'#');
    words.len() * 8 + rest.iter().position(stop).unwrap_or(rest.len())
}

/// Whether the other parser reads the same out of the head. (It does not know later versions than 1.1, and refuses a
/// target that is not UTF-8.)
fn httparse_agrees(window: &[u8], parsed: &ParsedRequest) -> bool {
    let mut slots = [httparse::EMPTY_HEADER; FIELDS_LIMIT];
    let mut request = httparse::Request::new(&mut slots);
    let head = parsed.head(window, parsed.words(window), b"", None);
    match request.parse(window) {
        Ok(read) => {
            let headers = request.headers.iter();
            read == httparse::Status::Complete(parsed.length)
                && request.method == Some(head.method)
                && request.path.map(str::as_bytes) == Some(head.target)
                && (request.version == Some(0)) == (head.version == Version::Http10)
                && headers
                    .map(|header| (header.name, header.value))
                    .eq(head.headers())
        }
        Err(httparse::Error::Token) => std::str::from_utf8(head.target).is_err(),
        Err(error) => error == httparse::Error::Version,
    }
}

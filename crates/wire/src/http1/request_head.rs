//! What a request asks, as far as its head says it.

use super::head_cache::Key;
use super::line;
use super::target::Path;
use crate::Version;

/// A request whose head is complete.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    /// The method, a token; which ones exist is the holder's to say.
    pub method: &'a str,
    /// The target as it was sent; any bytes except controls, the space, DEL and `#`, not always UTF-8.
    pub target: &'a [u8],
    /// The path with its query; `*` for `OPTIONS *`. An absolute target's scheme and authority are taken off.
    pub path: &'a [u8],
    /// The version the client speaks; a later 1.x is taken for 1.1 (RFC 9110 §2.5).
    pub version: Version,
    /// The client wants the connection kept, and it can be.
    pub keepalive: bool,
    /// The client waits for [`super::CONTINUE`] before it sends the body.
    pub expects_continue: bool,
    /// The body's length; none for no body and for a chunked one.
    pub content_length: Option<u64>,
    /// The body comes in chunks.
    pub chunked: bool,
    /// Names the very bytes of this head, if they are remembered: what was concluded from a request with this key is
    /// right for this one. See [`Key::place`].
    pub key: Option<Key>,
    authority: &'a [u8],
    lines: &'a [u8],
}

impl<'a> RequestHead<'a> {
    /// The host that is asked, with its port: an absolute target's, else what Host says; empty where HTTP/1.0 says
    /// nothing.
    pub fn authority(&self) -> &'a str {
        text(self.authority)
    }

    /// All header lines in order. They are read from the head's bytes again: not for every request.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        self.lines().map(|(name, value)| (text(name), value))
    }

    /// The value of the first header line called `name`, whatever its case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.lines()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    fn lines(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.lines;
        std::iter::from_fn(move || {
            let (name, value, length) = line::field(rest)?;
            rest = &rest[length..];
            Some((name, value))
        })
    }
}

/// What was checked to be ASCII.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// What a head means, as places in its bytes, so that it can be remembered beside them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedRequest {
    /// Bytes of the head, blank line included.
    pub(crate) length: usize,
    /// Bytes of the request line, without its end.
    pub(crate) line: usize,
    /// Bytes of the method.
    pub(crate) method: usize,
    pub(crate) path: Path,
    /// Where the authority begins and ends.
    pub(crate) authority: (usize, usize),
    pub(crate) version: Version,
    pub(crate) keepalive: bool,
    pub(crate) expects_continue: bool,
    pub(crate) content_length: Option<u64>,
    pub(crate) chunked: bool,
}

/// The words of a request line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a [u8],
}

impl ParsedRequest {
    /// Returns the words of the request line at the front of `bytes`.
    pub(crate) fn words<'a>(&self, bytes: &'a [u8]) -> Words<'a> {
        let target = self.method + 1..self.line - " HTTP/1.1".len();
        Words {
            method: text(&bytes[..self.method]),
            target: &bytes[target],
        }
    }

    /// The path, where it stands nowhere as it is meant; else nothing.
    pub(crate) fn implied(&self, words: Words<'_>) -> Vec<u8> {
        match self.path {
            Path::Root(start) => [b"/", words.target.get(start..).unwrap_or_default()].concat(),
            _ => Vec::new(),
        }
    }

    /// What is asked by `head`.
    #[inline]
    pub(crate) fn head<'a>(
        &self,
        head: &'a [u8],
        words: Words<'a>,
        implied: &'a [u8],
        key: Option<Key>,
    ) -> RequestHead<'a> {
        RequestHead {
            method: words.method,
            target: words.target,
            path: self.path.of(words.target).unwrap_or(implied),
            version: self.version,
            keepalive: self.keepalive,
            expects_continue: self.expects_continue,
            content_length: self.content_length,
            chunked: self.chunked,
            key,
            authority: &head[self.authority.0..self.authority.1],
            lines: &head[self.line + 2..self.length],
        }
    }
}

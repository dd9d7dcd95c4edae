//! What a request asks, as far as its head says it.

use super::memo::Key;
use super::target::Path;
use crate::Version;
use std::ops::Range;

/// A request whose head is complete.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The method, a token; which ones exist is the holder's to say.
    pub method: &'a str,
    /// The target as it was sent.
    pub target: &'a str,
    /// The path with its query; `*` for `OPTIONS *`. An absolute target's scheme and authority are taken off.
    pub path: &'a str,
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
    /// Names the very bytes of this head, if they are remembered.
    pub key: Option<Key>,
    authority: &'a [u8],
    lines: &'a [u8],
}

impl<'a> Asked<'a> {
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
        let lines = self.lines.split(|&byte| byte == b'\n');
        lines.map_while(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }
}

/// What was checked to be ASCII.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// What a head means, as places in its bytes, so that it can be remembered beside them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Bytes of the head, blank line included.
    pub(crate) length: usize,
    /// Bytes of the request line, without its end.
    pub(crate) line: usize,
    /// Bytes of the method.
    pub(crate) method: usize,
    pub(crate) target: Range<usize>,
    pub(crate) path: Path,
    pub(crate) authority: Range<usize>,
    pub(crate) version: Version,
    pub(crate) keepalive: bool,
    pub(crate) expects_continue: bool,
    pub(crate) content_length: Option<u64>,
    pub(crate) chunked: bool,
}

impl Parsed {
    /// The request line of the head at the front of `bytes`; checked to be ASCII.
    #[inline]
    pub(crate) fn line<'a>(&self, bytes: &'a [u8]) -> &'a str {
        text(&bytes[..self.line])
    }

    /// What is asked by `head`, whose request line is `line`.
    #[inline]
    pub(crate) fn asked<'a>(
        &'a self,
        head: &'a [u8],
        line: &'a str,
        key: Option<Key>,
    ) -> Asked<'a> {
        let part = |place: Range<usize>| line.get(place).unwrap_or_default();
        Asked {
            method: part(0..self.method),
            target: part(self.target.clone()),
            path: match &self.path {
                Path::Sent(place) => part(place.clone()),
                Path::Implied(path) => path,
            },
            version: self.version,
            keepalive: self.keepalive,
            expects_continue: self.expects_continue,
            content_length: self.content_length,
            chunked: self.chunked,
            key,
            authority: &head[self.authority.clone()],
            lines: &head[self.line + 2..self.length],
        }
    }
}

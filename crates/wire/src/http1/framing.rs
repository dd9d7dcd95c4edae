//! What the header lines of a request say together: who is asked, how long the body is, what becomes of the connection.
//!
//! Where RFC 9112 lets a server repair what contradicts itself (several equal lengths, two kinds of length), this one
//! refuses: whatever stands before it may have repaired it in another way, and then one request is two.

use super::fields::{Fields, decimal, is, list};
use super::line::Line;
use super::refusal::*;
use super::request_head::ParsedRequest;
use super::target::is_authority;
use crate::Version;
use std::ops::Range;

/// What the header lines say together. Places are counted from the first of them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RequestFraming {
    pub(crate) connection: Fields,
    /// Where the value begins and ends.
    host: Option<(usize, usize)>,
    length: Option<u64>,
    coding: Coding,
    expects_continue: bool,
}

impl RequestFraming {
    #[inline]
    pub(crate) fn host(&mut self, lines: &[u8], value: Range<usize>) -> Result<(), Refusal> {
        let Range { start, end } = trim(lines, value);
        if !is_authority(&lines[start..end]) {
            return Err(BAD_HOST);
        }
        if self.host.replace((start, end)).is_some() {
            return Err(HOSTS);
        }
        Ok(())
    }

    pub(crate) fn codings(&mut self, value: &[u8]) {
        self.coding = list(value).fold(self.coding, Coding::then);
    }

    /// RFC 9110 §10.1.1: from HTTP/1.0 the expectation is ignored.
    pub(crate) fn expectation(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        if version == Version::Http10 {
            return Ok(());
        }
        // RFC 9110 §5.6.1.2: empty members of a list are ignored.
        for member in list(value).filter(|member| !member.is_empty()) {
            if !is(member, b"100-continue") {
                return Err(EXPECTATION);
            }
            self.expects_continue = true;
        }
        Ok(())
    }

    /// RFC 9112 §6.3 lets a server take several equal lengths for one.
    pub(crate) fn length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.length.is_some() || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(BAD_LENGTH);
        }
        self.length = Some(decimal(value).ok_or(BODY_TOO_LARGE)?);
        Ok(())
    }

    /// What the head means whose header lines, blank line included, have `length` bytes.
    #[inline]
    pub(crate) fn conclude(self, line: Line, length: usize) -> Result<ParsedRequest, Refusal> {
        let Fields {
            close, keep_alive, ..
        } = self.connection;
        let is_new = line.version == Version::Http11;
        if is_new && self.host.is_none() {
            return Err(HOSTS);
        }
        // RFC 9112 §6.1 lets a server believe one of two kinds.
        match self.coding {
            Coding::None => {}
            _ if self.length.is_some() => return Err(BOTH_LENGTHS),
            Coding::Chunked if is_new => {}
            Coding::CodedChunked if is_new => return Err(CODED),
            _ => return Err(UNFRAMED),
        }
        let (target, lines) = (line.method + 1, line.length + 2);
        let authority = match (line.target.authority, self.host) {
            (Some(place), _) => (target + place.start, target + place.end),
            (None, Some((start, end))) => (lines + start, lines + end),
            (None, None) => (0, 0),
        };
        Ok(ParsedRequest {
            length: lines + length,
            line: line.length,
            method: line.method,
            path: line.target.path,
            authority,
            version: line.version,
            keepalive: !close && (is_new || keep_alive),
            expects_continue: self.expects_continue,
            content_length: self.length,
            chunked: self.coding == Coding::Chunked,
        })
    }
}

/// The transfer codings in their order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    Chunked,
    /// Others, and no chunked yet.
    Coded,
    CodedChunked,
    /// Something follows chunked.
    Unframed,
}

impl Coding {
    fn then(self, coding: &[u8]) -> Coding {
        match (self, is(coding, b"chunked")) {
            (Coding::None, true) => Coding::Chunked,
            (Coding::None | Coding::Coded, false) => Coding::Coded,
            (Coding::Coded, true) => Coding::CodedChunked,
            _ => Coding::Unframed,
        }
    }
}

/// Without the space around it.
fn trim(lines: &[u8], place: Range<usize>) -> Range<usize> {
    let value = &lines[place.clone()];
    let start = place.end - value.trim_ascii_start().len();
    start..start + value.trim_ascii().len()
}

pub(crate) fn trimmed(lines: &[u8], place: Range<usize>) -> &[u8] {
    lines[place].trim_ascii()
}

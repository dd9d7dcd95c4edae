//! A response head: what the connection must know of it. Plain ones are scanned, all others are httparse's to
//! judge.
//!
//! Strictness is httparse's default: names are tokens, no space before the colon, no folded lines, no control
//! characters; a bare LF ends a line as CR LF does. On top of it: the first byte is the status line's (no empty
//! lines before it), and the status is at least 100.

use super::fields::Fields;
use super::scan::scan;
use crate::{Version, Violation};
use std::mem::MaybeUninit;
use std::ops::Range;

/// A head may have this many bytes, blank line included.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;
/// And this many header lines.
pub(crate) const HEADERS_LIMIT: usize = 256;

/// What a response head means for its connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) status: u16,
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
    pub(crate) keepalive: bool,
}

/// A complete head at the front of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedResponse {
    pub(crate) facts: Facts,
    /// How long it is.
    pub(crate) length: usize,
    /// Where the value of its Date stands, if it is as long as a date should be.
    pub(crate) date: Range<usize>,
}

/// How a response's end is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Facts {
    /// The facts, if they do not contradict each other.
    pub(crate) fn new(status: u16, version: Version, fields: Fields) -> Result<Self, Violation> {
        let (length, chunked) = (fields.length, fields.chunked);
        if status < 100 {
            Err(Violation::BadHead)
        } else if chunked && length.is_some() {
            Err(Violation::BothLengths)
        } else if chunked && version == Version::Http10 {
            Err(Violation::BadTransferEncoding)
        } else {
            let keepalive = !fields.close && (version == Version::Http11 || fields.keep_alive);
            Ok(Facts {
                status,
                length,
                chunked,
                keepalive,
            })
        }
    }

    /// The length of the body, where it needs no more than that to read the response of anything but HEAD, and the
    /// connection is kept: what nearly every response is.
    #[inline]
    pub(crate) fn plain(&self) -> Option<u64> {
        let is_plain = self.keepalive && !self.chunked && !matches!(self.status, ..200 | 204 | 304);
        self.length.filter(|_| is_plain)
    }

    /// A 1xx that another response follows; 101 is the last one that is HTTP.
    pub(crate) fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// RFC 9112 §6.3, as far as it is left: both lengths at once were refused before.
    pub(crate) fn framing(&self, is_head: bool) -> Framing {
        match (self.length, self.chunked) {
            _ if is_head || matches!(self.status, 101 | 204 | 304) => Framing::Length(0),
            (_, true) => Framing::Chunked,
            (Some(length), false) => Framing::Length(length),
            (None, false) => Framing::UntilClose,
        }
    }
}

/// Reads the head at the front of `input`; `Ok(None)`: it is not complete. Looks at the first [`HEAD_LIMIT`]
/// bytes only, so that the answer does not depend on how the bytes were split.
pub(crate) fn parse(input: &[u8]) -> Result<Option<ParsedResponse>, Violation> {
    let window = &input[..input.len().min(HEAD_LIMIT)];
    match scan(window) {
        Some(parsed) => {
            debug_assert_eq!(
                Ok(Some(&parsed)),
                parse_any(window).as_ref().map(Option::as_ref)
            );
            Ok(Some(parsed))
        }
        None => parse_any(window),
    }
}

fn parse_any(window: &[u8]) -> Result<Option<ParsedResponse>, Violation> {
    if window.first().is_some_and(|&byte| byte != b'H') {
        return Err(Violation::NotHttp);
    }
    let mut slots = [const { MaybeUninit::uninit() }; HEADERS_LIMIT];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        window,
        &mut slots,
    );
    match parsed {
        Ok(httparse::Status::Complete(length)) => understand(&response, window, length).map(Some),
        Ok(httparse::Status::Partial) if window.len() < HEAD_LIMIT => Ok(None),
        Ok(httparse::Status::Partial) => Err(Violation::HeadTooLarge),
        Err(httparse::Error::TooManyHeaders) => Err(Violation::TooManyHeaders),
        Err(httparse::Error::Version) => Err(Violation::NotHttp),
        Err(_) => Err(Violation::BadHead),
    }
}

fn understand(
    response: &httparse::Response<'_, '_>,
    window: &[u8],
    length: usize,
) -> Result<ParsedResponse, Violation> {
    let mut fields = Fields::default();
    let mut date = 0..0;
    for header in response.headers.iter() {
        fields.take(header.name.as_bytes(), header.value)?;
        if header.value.len() == 29 && header.name.eq_ignore_ascii_case("date") {
            let start = header.value.as_ptr().addr() - window.as_ptr().addr();
            date = start..start + 29;
        }
    }
    let version = if response.version == Some(0) {
        Version::Http10
    } else {
        Version::Http11
    };
    let facts = Facts::new(response.code.unwrap_or(0), version, fields)?;
    Ok(ParsedResponse {
        facts,
        length,
        date,
    })
}

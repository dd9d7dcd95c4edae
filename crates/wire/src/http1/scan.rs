//! Plain response heads, read in one pass.
//!
//! httparse keeps a list of all header lines; framing needs three of them. An exchange whose head must be read
//! is 2,620 instructions with this and some 3,370 with httparse alone (`examples/cost.rs`, `client fresh`). So this reads
//! heads of the usual shape (ASCII, CR LF line ends, a reason) and answers none for everything else, incomplete
//! and malformed heads included: httparse then says what it is. What is accepted here httparse accepts with the
//! same meaning; debug builds check that for every head.

use super::fields::{Fields, is};
use super::status::{Facts, HEADERS_LIMIT, ParsedResponse};
use crate::Version;
use crate::request::TOKEN;
use std::ops::Range;

/// The head at the front of `window`, if it is complete and plain.
pub(crate) fn scan(window: &[u8]) -> Option<ParsedResponse> {
    let (version, status) = status_line(window.first_chunk()?)?;
    let mut at = line_end(window, 13)? + 2;
    let mut fields = Fields::default();
    let mut date = 0..0;
    for _ in 0..=HEADERS_LIMIT {
        if window[at..].starts_with(b"\r\n") {
            let facts = Facts::new(status, version, fields).ok()?;
            return Some(ParsedResponse {
                facts,
                length: at + 2,
                date,
            });
        }
        let colon = at + token(&window[at..]);
        let end = line_end(window, colon)?;
        if colon == at || window[colon] != b':' {
            return None;
        }
        match colon - at {
            4 if is(&window[at..colon], b"Date") => {
                date = date_value(window, colon + 1, end).unwrap_or(date)
            }
            10 | 14 | 17 => fields
                .take(&window[at..colon], window[colon + 1..end].trim_ascii())
                .ok()?,
            _ => {}
        }
        at = end + 2;
    }
    None
}

/// `HTTP/1.x NNN` and a space.
fn status_line(line: &[u8; 13]) -> Option<(Version, u16)> {
    let version = match &line[..9] {
        b"HTTP/1.0 " => Version::Http10,
        b"HTTP/1.1 " => Version::Http11,
        _ => return None,
    };
    let code = &line[9..12];
    let digit = |status, digit: &u8| status * 10 + u16::from(digit.wrapping_sub(b'0'));
    let is_status = line[12] == b' ' && code.iter().all(u8::is_ascii_digit);
    is_status.then(|| (version, code.iter().fold(0, digit)))
}

/// Where the line ends in CR LF, from `at` on; none if before it comes anything but ASCII and tabs.
#[inline]
fn line_end(window: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += plain(&window[at..]);
        match window.get(at..at + 2)? {
            b"\r\n" => return Some(at),
            [b'\t', _] => at += 1,
            _ => return None,
        }
    }
}

/// Where the date stands in the value `start..end`, if it is as long as a date should be.
fn date_value(window: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let value = &window[start..end];
    let start = start + value.len() - value.trim_ascii_start().len();
    (value.trim_ascii().len() == 29).then_some(start..start + 29)
}

pub(crate) const ONES: u64 = u64::MAX / 255;
pub(crate) const HIGH: u64 = ONES * 0x80;

/// How many token bytes `bytes` begins with. Letters and hyphens, of which most names consist, go eight at a time.
#[inline]
pub(crate) fn token(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        // With the high bits cleared no sum carries into the byte above; what had one is no ASCII.
        let (low, ascii) = (word & !HIGH, !word & HIGH);
        let folded = low | (ONES * 0x20);
        let letter =
            (folded + ONES * (0x80 - b'a' as u64)) & !(folded + ONES * (0x7f - b'z' as u64));
        let hyphen = !((low ^ (ONES * b'-' as u64)) + ONES * 0x7f);
        let other = HIGH & !((letter | hyphen) & ascii);
        if other != 0 {
            at += other.trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at)
        && TOKEN[usize::from(byte)]
    {
        at += 1;
    }
    at
}

/// How many visible ASCII characters and spaces `bytes` begins with, eight at a time.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest byte that is flagged is below 0x20, DEL or beyond ASCII; borrows and carries only reach
        // those above it.
        let stop = (word.wrapping_sub(ONES * 0x20) | word.wrapping_add(ONES) | word) & HIGH;
        if stop != 0 {
            return index * 8 + stop.trailing_zeros() as usize / 8;
        }
    }
    let stop = |byte: &u8| !(b' '..=b'~').contains(byte);
    words.len() * 8 + rest.iter().position(stop).unwrap_or(rest.len())
}

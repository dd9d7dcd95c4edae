//! The lines of a request's head: what a request line says, and where a header line's name and value stand.

use super::refusal::*;
use super::scan::{plain, token};
use super::target::Target;
use crate::Version;

/// A request line.
pub(crate) struct Line {
    /// Without its end.
    pub(crate) length: usize,
    /// Bytes of the method.
    pub(crate) method: usize,
    pub(crate) target: Target,
    pub(crate) version: Version,
}

/// Why reading came to a halt.
pub(super) enum Stop {
    /// The bytes are at their end.
    Short,
    /// Something is wrong with the line, as soon as it is complete.
    Bad(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Bad(refusal)
    }
}

/// Name and value of the first of the header lines `lines`, which were read before, and its length with its end; none
/// where the blank line is.
#[inline]
pub(crate) fn field(lines: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let colon = token(lines);
    if colon == 0 {
        return None;
    }
    let end = value_end(lines, colon + 1).ok()?;
    let value = lines[colon + 1..end].trim_ascii();
    Some((&lines[..colon], value, end + 2))
}

/// Where the CR LF stands that ends a value: visible characters, spaces, tabs and bytes beyond ASCII before it.
#[inline]
pub(super) fn value_end(window: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        at += plain(&window[at..]);
        match &window[at..] {
            [b'\r', b'\n', ..] => return Ok(at),
            [] | [b'\r'] => return Err(Stop::Short),
            [b'\t' | 0x80.., ..] => at += 1,
            [b'\n', ..] => return Err(LINE_END.into()),
            _ => return Err(BAD_VALUE.into()),
        }
    }
}

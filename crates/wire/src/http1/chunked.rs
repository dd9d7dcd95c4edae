//! The chunked coding (RFC 9112 §7.1), taken off a body.
//!
//! ```text
//! Size --;--> Extension --CR--> SizeLf --LF--> Data --> DataCr --CR--> DataLf --LF--> Size
//!   `--SP--> Padding                `--LF, size 0--> Line --CR--> EndLf --LF--> (over)
//!                                                     | ^
//!                                                     v `--LF-- LineLf <--CR-- Value <--:-- Name
//! ```
//!
//! Data goes through in whole slices; size lines and trailers are few bytes, so they go byte by byte, and a
//! split anywhere needs no buffer.
//!
//! Both roles insist on chunk lines that end with CR LF. The client tolerates what servers are known to send: space
//! behind a size, any text as an extension, and a bare LF among trailers, as in heads. The server is strict.

use super::extension::Extension;
use crate::Violation;
use crate::request::{is_token_byte, is_value_byte};

/// A size line with its extensions, without its line end.
const LINE_LIMIT: u32 = 4096;
/// Extensions of all chunks of a request together: without a limit, one byte of body would carry kilobytes of them.
const EXTENSIONS_LIMIT: u16 = 4096;
/// Digits of a request's chunk size: more do not fit in 64 bits, or are zeros for nothing.
const DIGITS_LIMIT: u32 = 16;
/// All trailers together.
const TRAILERS_LIMIT: u32 = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Padding,
    /// In the client, any text.
    Extension,
    /// In the server.
    Strict(Extension),
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Line,
    Name,
    Value,
    LineLf,
    EndLf,
}

/// One chunked body being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunked {
    state: State,
    /// The chunk's size as read so far; then what is left of its data.
    left: u64,
    /// Bytes of the size line, or of the trailers.
    line: u32,
    /// Bytes of all extensions, where they are counted.
    extensions: u16,
    is_strict: bool,
}

/// What a piece of input came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Bytes taken, an offending one included.
    pub(crate) used: usize,
    /// Whether the body is over.
    pub(crate) over: Result<bool, Violation>,
}

/// Returns what of `input` lies within the next `left` bytes.
#[inline]
pub(crate) fn front(input: &[u8], left: u64) -> &[u8] {
    &input[..input.len().min(usize::try_from(left).unwrap_or(usize::MAX))]
}

impl Chunked {
    /// Before the first size line of a response.
    pub(crate) const fn new() -> Self {
        Chunked {
            state: State::Size,
            left: 0,
            line: 0,
            extensions: 0,
            is_strict: false,
        }
    }

    /// Before the first size line of a request.
    pub(crate) const fn strict() -> Self {
        Chunked {
            is_strict: true,
            ..Chunked::new()
        }
    }

    /// Reads on, giving data to `body`, until the input, the body or the peer's obedience ends.
    pub(crate) fn decode(&mut self, input: &[u8], mut body: impl FnMut(&[u8])) -> Decoded {
        let mut used = 0;
        while used < input.len() {
            if self.state == State::Data {
                let data = front(&input[used..], self.left);
                body(data);
                used += data.len();
                self.left -= data.len() as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let over = self.step(input[used]);
            used += 1;
            if over != Ok(false) {
                return Decoded { used, over };
            }
        }
        Decoded {
            used,
            over: Ok(false),
        }
    }

    fn step(&mut self, byte: u8) -> Result<bool, Violation> {
        self.state = match self.state {
            State::Size | State::Padding | State::Extension if !self.is_strict => {
                self.size_line(byte)?
            }
            State::Size => self.strict_size(byte)?,
            State::Strict(extension) => self.strict_extension(extension, byte)?,
            State::SizeLf | State::DataCr | State::DataLf => self.line_end(byte)?,
            State::Line | State::Name | State::Value | State::LineLf | State::EndLf => {
                return self.trailers(byte);
            }
            State::Data | State::Padding | State::Extension => {
                unreachable!("data is taken in slices, and the strict have their own states")
            }
        };
        Ok(false)
    }

    fn size_line(&mut self, byte: u8) -> Result<State, Violation> {
        if byte == b'\r' && self.line > 0 {
            return Ok(State::SizeLf);
        }
        self.line += 1;
        let next = match (self.state, byte) {
            (State::Size, byte) if byte.is_ascii_hexdigit() => self.digit(byte)?,
            (State::Size | State::Padding, b';') if self.line > 1 => State::Extension,
            (State::Size | State::Padding, b' ' | b'\t') if self.line > 1 => State::Padding,
            (State::Extension, byte) if is_value_byte(byte) => State::Extension,
            _ => return Err(Violation::BadChunk),
        };
        if self.line > LINE_LIMIT {
            Err(Violation::BadChunk)
        } else {
            Ok(next)
        }
    }

    fn strict_size(&mut self, byte: u8) -> Result<State, Violation> {
        match byte {
            b'\r' if self.line > 0 => return Ok(State::SizeLf),
            b';' | b' ' | b'\t' if self.line > 0 => {
                return self.strict_extension(Extension::Padding, byte);
            }
            _ => {}
        }
        self.line += 1;
        if self.line > DIGITS_LIMIT {
            return Err(Violation::BadChunk);
        }
        self.digit(byte)
    }

    fn strict_extension(&mut self, at: Extension, byte: u8) -> Result<State, Violation> {
        if byte == b'\r' && at.may_end() {
            return Ok(State::SizeLf);
        }
        self.extensions += 1;
        match at.step(byte) {
            Some(next) if self.extensions <= EXTENSIONS_LIMIT => Ok(State::Strict(next)),
            _ => Err(Violation::BadChunk),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<State, Violation> {
        let digit = char::from(byte)
            .to_digit(16)
            .map(u64::from)
            .ok_or(Violation::BadChunk)?;
        self.left = self.left.checked_mul(16).ok_or(Violation::BadChunk)? | digit;
        Ok(State::Size)
    }

    fn line_end(&mut self, byte: u8) -> Result<State, Violation> {
        let next = match (self.state, byte) {
            (State::SizeLf, b'\n') if self.left > 0 => State::Data,
            (State::SizeLf, b'\n') => State::Line,
            (State::DataCr, b'\r') => return Ok(State::DataLf),
            (State::DataLf, b'\n') => State::Size,
            _ => return Err(Violation::BadChunk),
        };
        self.line = 0;
        Ok(next)
    }

    /// Trailers are read for their form only: nothing that is measured stands in them.
    fn trailers(&mut self, byte: u8) -> Result<bool, Violation> {
        self.line += 1;
        if self.line > TRAILERS_LIMIT {
            return Err(Violation::TrailersTooLarge);
        }
        self.state = match (self.state, byte) {
            (State::Line | State::Value, b'\n') if self.is_strict => {
                return Err(Violation::BadTrailers);
            }
            (State::Line | State::EndLf, b'\n') => return Ok(true),
            (State::Line, b'\r') => State::EndLf,
            (State::Line | State::Name, byte) if is_token_byte(byte) => State::Name,
            (State::Name, b':') => State::Value,
            (State::Value, b'\r') => State::LineLf,
            (State::Value | State::LineLf, b'\n') => State::Line,
            (State::Value, byte) if is_value_byte(byte) => State::Value,
            _ => return Err(Violation::BadTrailers),
        };
        Ok(false)
    }
}

//! Requests as bytes.
//!
//! Encoded once per plan and shared by all exchanges, so plainness counts here and speed does not. Nothing is added
//! that the defaults' table does not show, and a header of the user's replaces the default of the same name.

use std::fmt;

/// The versions of HTTP/1.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// HTTP/1.0: a connection carries one exchange, unless both sides say keep-alive.
    Http10,
    /// HTTP/1.1: a connection is kept, unless one side says close.
    #[default]
    Http11,
}

impl Version {
    /// The version whose number behind the point is this one, or the last before it.
    pub fn minor(number: u8) -> Version {
        match number {
            0 => Version::Http10,
            _ => Version::Http11,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        })
    }
}

/// The headers that are sent unless the user gives one of the same name, in this order, after Host and before
/// Content-Length (when there is a body) and Connection (`close` for 1.1 without keep-alive, `keep-alive` for
/// 1.0 with).
pub const DEFAULT_HEADERS: [(&str, &str); 2] = [
    ("User-Agent", concat!("weigh/", env!("CARGO_PKG_VERSION"))),
    ("Accept", "*/*"),
];

/// What is asked, as far as the head tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, a token (RFC 9110 §5.6.2).
    pub method: &'a str,
    /// The target in origin form: the path with its query.
    pub path: &'a str,
    /// The host, with its port unless that is the scheme's own.
    pub authority: &'a str,
    /// The version to ask with.
    pub version: Version,
    /// Further headers, in this order after the defaults; see [`header_is_valid`]. A Content-Length or
    /// Transfer-Encoding among them is the caller's to refuse.
    pub headers: &'a [(String, String)],
    /// The body's length; none is no body and no Content-Length.
    pub body_length: Option<u64>,
    /// Ask for the connection to be kept.
    pub keepalive: bool,
}

impl Default for Request<'_> {
    /// `GET /` of HTTP/1.1 with keep-alive, for an empty authority.
    fn default() -> Self {
        Request {
            method: "GET",
            path: "/",
            authority: "",
            version: Version::Http11,
            headers: &[],
            body_length: None,
            keepalive: true,
        }
    }
}

impl Request<'_> {
    /// Appends the head to `out`: request line, Host, defaults, the user's headers, blank line.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            format!("{} {} {}\r\n", self.method, self.path, self.version).as_bytes(),
        );
        self.default_line("Host", self.authority, out);
        for (name, value) in DEFAULT_HEADERS {
            self.default_line(name, value, out);
        }
        if let Some(length) = self.body_length {
            self.default_line("Content-Length", &length.to_string(), out);
        }
        match (self.version, self.keepalive) {
            (Version::Http11, false) => self.default_line("Connection", "close", out),
            (Version::Http10, true) => self.default_line("Connection", "keep-alive", out),
            (Version::Http11, true) | (Version::Http10, false) => {}
        }
        let host_first = |name: &str| name.eq_ignore_ascii_case("host");
        for (name, value) in self.headers.iter().filter(|(name, _)| !host_first(name)) {
            line(name, value, out);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The default, or the user's header instead of it: in its place for Host, else later among the user's own.
    fn default_line(&self, name: &str, value: &str, out: &mut Vec<u8>) {
        let mut replaced = self
            .headers
            .iter()
            .filter(|(given, _)| given.eq_ignore_ascii_case(name))
            .peekable();
        if replaced.peek().is_none() {
            line(name, value, out);
        } else if name == "Host" {
            replaced.for_each(|(name, value)| line(name, value, out));
        }
    }
}

/// Appends one header line to `out`.
pub(crate) fn line(name: &str, value: &str, out: &mut Vec<u8>) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Whether the header can be sent: its name is a token (RFC 9110 §5.6.2), its value visible characters, spaces, tabs and bytes
/// beyond ASCII (RFC 9110 §5.5), without a line end that would smuggle in another header.
pub fn header_is_valid(name: &str, value: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte) && value.bytes().all(is_value_byte)
}

/// The bytes of tokens.
pub(crate) const TOKEN: [bool; 256] = letters_digits_and(b"!#$%&'*+-.^_`|~");

/// Returns a table of bytes that holds letters, digits and `symbols`.
pub(crate) const fn letters_digits_and(symbols: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = (index as u8).is_ascii_alphanumeric();
        index += 1;
    }
    index = 0;
    while index < symbols.len() {
        table[symbols[index] as usize] = true;
        index += 1;
    }
    table
}

pub(crate) fn is_token_byte(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

pub(crate) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

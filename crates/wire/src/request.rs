//! What is asked, whatever the protocol that asks it.

/// The headers that are sent unless the user gives one of the same name.
pub const DEFAULT_HEADERS: [(&str, &str); 2] = [
    ("User-Agent", concat!("weigh/", env!("CARGO_PKG_VERSION"))),
    ("Accept", "*/*"),
];

/// What is asked, as far as the head tells it. Nothing is added to it that [`DEFAULT_HEADERS`] does not show or the protocol needs, and
/// a header of the user's replaces the default of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, a token (RFC 9110 §5.6.2).
    pub method: &'a str,
    /// The target in origin form: the path with its query.
    pub path: &'a str,
    /// The host, with its port unless that is the scheme's own.
    pub authority: &'a str,
    /// Further headers, in this order after the defaults; see [`header_is_valid`]. A Content-Length or
    /// Transfer-Encoding among them is the caller's to refuse.
    pub headers: &'a [(String, String)],
    /// The body's length; none is no body and no Content-Length.
    pub body_length: Option<u64>,
}

impl Default for Request<'_> {
    /// `GET /` without a body, for an empty authority.
    fn default() -> Self {
        Request {
            method: "GET",
            path: "/",
            authority: "",
            headers: &[],
            body_length: None,
        }
    }
}

/// What must be known of a request's method.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// HEAD: the response has no body, whatever it says.
    Head,
    /// The request may be sent again although the server may have acted on it (RFC 9110 §9.2.2).
    Idempotent,
    /// Neither is known of it.
    #[default]
    Other,
}

impl Method {
    /// What is known of the method with this name.
    pub fn named(name: &str) -> Method {
        match name {
            "HEAD" => Method::Head,
            "GET" | "OPTIONS" | "PUT" | "DELETE" | "TRACE" => Method::Idempotent,
            _ => Method::Other,
        }
    }

    /// Whether a request may be sent again although the server may have acted on it.
    pub fn is_idempotent(self) -> bool {
        self != Method::Other
    }
}

/// A request's head as each protocol wants it that its connections may speak: encoded once, for all exchanges that send it. A
/// connection picks its own by [`Connection::head_of`](crate::Connection::head_of).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Blank line included.
    pub(crate) http1: Vec<u8>,
}

impl Encoded {
    /// The bytes of the longest form, which is the one to be shown.
    pub fn bytes(&self) -> &[u8] {
        &self.http1
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

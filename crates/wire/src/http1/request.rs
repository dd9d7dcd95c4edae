//! Requests as bytes.

use super::response::digits;
use crate::{DEFAULT_HEADERS, Request};
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

    fn name(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The version to ask with.
    pub version: Version,
    /// Ask for the connection to be kept.
    pub keepalive: bool,
}

impl Default for Dialect {
    /// HTTP/1.1 with keep-alive.
    fn default() -> Self {
        Dialect {
            version: Version::Http11,
            keepalive: true,
        }
    }
}

impl Dialect {
    /// Appends the head of `request` to `out`: request line, Host, the other [`DEFAULT_HEADERS`], Content-Length where there is a body,
    /// Connection (`close` for 1.1 without keep-alive, `keep-alive` for 1.0 with), the user's headers, blank line.
    pub fn encode(self, request: &Request<'_>, out: &mut Vec<u8>) {
        let words = [
            request.method,
            " ",
            request.path,
            " ",
            self.version.name(),
            "\r\n",
        ];
        for word in words {
            out.extend_from_slice(word.as_bytes());
        }
        let has = |name: &str| request.headers.iter().any(|(given, _)| is(given, name));
        let users = |hosts: bool| {
            let wanted = move |(name, _): &&(String, String)| is(name, "Host") == hosts;
            request.headers.iter().filter(wanted)
        };
        if !has("Host") {
            line("Host", request.authority, out);
        }
        for (name, value) in users(true) {
            line(name, value, out);
        }
        for (name, value) in DEFAULT_HEADERS {
            if !has(name) {
                line(name, value, out);
            }
        }
        if let Some(length) = request.body_length.filter(|_| !has("Content-Length")) {
            out.extend_from_slice(b"Content-Length: ");
            digits(length, out);
            out.extend_from_slice(b"\r\n");
        }
        let connection = match (self.version, self.keepalive) {
            (Version::Http11, false) => Some("close"),
            (Version::Http10, true) => Some("keep-alive"),
            (Version::Http11, true) | (Version::Http10, false) => None,
        };
        if let Some(connection) = connection.filter(|_| !has("Connection")) {
            line("Connection", connection, out);
        }
        for (name, value) in users(false) {
            line(name, value, out);
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Appends one header line to `out`.
pub(super) fn line(name: &str, value: &str, out: &mut Vec<u8>) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

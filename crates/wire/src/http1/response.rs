//! Responses as bytes: the heads a server answers with.

use super::Version;
use super::refusal::Refusal;
use super::request::line;

/// What a client that expects it is sent before its body is read.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What a server answers, as far as the head tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The status code, three digits.
    pub status: u16,
    /// The version the client spoke: it decides what has to be said about the connection.
    pub version: Version,
    /// The Date (RFC 9110 §5.6.7), from the caller's clock.
    pub date: &'a str,
    /// The body's length; none where there must be none (204, 304).
    pub content_length: Option<u64>,
    /// The connection is kept after this response.
    pub keepalive: bool,
    /// Further headers, in this order.
    pub headers: &'a [(&'a str, &'a str)],
}

impl Response<'_> {
    /// Appends the head to `out`: status line, Date, the further headers, Content-Length, Connection where the
    /// version's default is another, blank line. The status line says HTTP/1.1 whatever the client spoke (RFC
    /// 9110 §6.2).
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 ");
        digits(u64::from(self.status), out);
        out.push(b' ');
        out.extend_from_slice(reason(self.status).as_bytes());
        out.extend_from_slice(b"\r\n");
        line("Date", self.date, out);
        for (name, value) in self.headers {
            line(name, value, out);
        }
        if let Some(length) = self.content_length {
            out.extend_from_slice(b"Content-Length: ");
            digits(length, out);
            out.extend_from_slice(b"\r\n");
        }
        match (self.version, self.keepalive) {
            (_, false) => line("Connection", "close", out),
            (Version::Http10, true) => line("Connection", "keep-alive", out),
            (Version::Http11, true) => {}
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl Refusal {
    /// Appends the whole answer to `out`: it says why in a line of plain text (unless the request is a HEAD), and that
    /// the connection is closed.
    pub fn encode(&self, date: &str, out: &mut Vec<u8>) {
        let response = Response {
            status: self.status,
            version: Version::Http11,
            date,
            content_length: Some(self.reason.len() as u64 + 1),
            keepalive: false,
            headers: &[("Content-Type", "text/plain")],
        };
        response.encode(out);
        if !self.is_head {
            out.extend_from_slice(self.reason.as_bytes());
            out.push(b'\n');
        }
    }
}

pub(super) fn digits(number: u64, out: &mut Vec<u8>) {
    if number >= 10 {
        digits(number / 10, out);
    }
    out.push(b'0' + (number % 10) as u8);
}

/// The reason phrase of the statuses a static server answers with; the others have none, which is allowed.
pub const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

//! Why a request is not served: every refusal of the server role in one table, and the limits behind some of them.

use std::fmt;

/// Bytes of a request line, without its end. RFC 9112 §3 asks for 8,000 at least.
pub(super) const LINE_LIMIT: usize = 8 * 1024;
/// Header lines of a request; no client needs a tenth of that.
pub(super) const FIELDS_LIMIT: usize = 256;

/// How much a request may be. One for all connections of a worker, in its [`super::RequestCache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, blank line included.
    pub head: usize,
    /// Bytes of a body, framing not counted.
    pub body: u64,
}

impl Default for Limits {
    /// 64 KiB of head, which browsers with all their cookies stay far below; 64 MiB of body, more than anybody sends to
    /// a server of files, and a limit all the same.
    fn default() -> Self {
        Limits {
            head: 64 * 1024,
            body: 64 * 1024 * 1024,
        }
    }
}

/// Why a request is not served: to be answered with this status, and the connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status to answer with.
    pub status: u16,
    /// One sentence for people, without a full stop.
    pub reason: &'static str,
    /// The request is a HEAD, so that even the refusal has no body.
    pub is_head: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.status)
    }
}

impl std::error::Error for Refusal {}

const fn refusal(status: u16, reason: &'static str) -> Refusal {
    Refusal {
        status,
        reason,
        is_head: false,
    }
}

// The request line.
pub(super) const BAD_LINE: Refusal = refusal(400, "the request line is malformed");
pub(super) const BAD_TARGET: Refusal = refusal(
    400,
    "the target has a control character or # in it, which must be percent-encoded",
);
pub(super) const NO_TARGET: Refusal = refusal(400, "the target is neither a path nor an address");
pub(super) const BLANKS: Refusal = refusal(400, "there are too many empty lines before a request");
pub(super) const LINE_TOO_LONG: Refusal = refusal(414, "the request line is over 8 KiB");
pub(super) const NOT_SECURE: Refusal = refusal(
    421,
    "this connection is not secured, so nothing of https is here",
);
pub(super) const NO_PROXY: Refusal = refusal(501, "this is no proxy");
pub(super) const OTHER_VERSION: Refusal = refusal(505, "only HTTP/1.0 and HTTP/1.1 are spoken");

// The header lines.
pub(super) const LINE_END: Refusal = refusal(400, "a line of the head ends without CR");
pub(super) const BAD_NAME: Refusal = refusal(
    400,
    "a header's name is no token, or no colon follows it at once",
);
pub(super) const BAD_VALUE: Refusal =
    refusal(400, "a header's value has a control character in it");
pub(super) const HOSTS: Refusal = refusal(400, "Host must be there once");
pub(super) const BAD_HOST: Refusal = refusal(400, "Host is no host with a port or without");
pub(super) const BAD_LENGTH: Refusal =
    refusal(400, "Content-Length is not one number in decimal digits");
pub(super) const BOTH_LENGTHS: Refusal =
    refusal(400, "there are both Content-Length and Transfer-Encoding");
pub(super) const UNFRAMED: Refusal = refusal(
    400,
    "Transfer-Encoding does not end in `chunked`, once, on HTTP/1.1",
);
pub(super) const CODED: Refusal =
    refusal(501, "no other Transfer-Encoding than `chunked` is known");
pub(super) const EXPECTATION: Refusal = refusal(417, "only 100-continue can be expected");
pub(super) const HEAD_TOO_LARGE: Refusal = refusal(431, "the head is larger than what is taken");
pub(super) const TOO_MANY_FIELDS: Refusal = refusal(431, "there are more than 256 header lines");

// The body.
pub(super) const BODY_TOO_LARGE: Refusal = refusal(413, "the body is larger than what is taken");
pub(super) const BAD_CHUNK: Refusal = refusal(400, "a chunk of the body is malformed");
pub(super) const BAD_TRAILERS: Refusal = refusal(400, "a line of the trailers is malformed");
pub(super) const TRAILERS_TOO_LARGE: Refusal = refusal(431, "the trailers are over 16 KiB");

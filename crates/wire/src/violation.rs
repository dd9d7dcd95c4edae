//! What the peer did wrong: a closed vocabulary.
//!
//! It says what was seen on the wire and nothing about whose doing it was: blame needs to know who closed the
//! socket and why, and that is the holder's knowledge.

use std::fmt;

/// How far an exchange had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// No byte of the answer has come.
    Wait,
    /// The answer has begun, its final head is not complete.
    Head,
    /// The final head is complete.
    Body,
}

/// What the peer did wrong, or how the connection ended too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Violation {
    /// The answer does not begin with `HTTP/1.0` or `HTTP/1.1` and a space.
    NotHttp,
    /// The status line or a header line is malformed.
    BadHead,
    /// The head is over 64 KiB.
    HeadTooLarge,
    /// The head has more than 256 header lines.
    TooManyHeaders,
    /// More than 32 interim (1xx) responses in a row.
    TooManyInterim,
    /// Content-Length is no number, too large for 64 bits, or there are several that differ.
    BadContentLength,
    /// Transfer-Encoding is not exactly `chunked`, or it came from an HTTP/1.0 server.
    BadTransferEncoding,
    /// Content-Length and Transfer-Encoding in one head.
    BothLengths,
    /// A chunk's size line is malformed or over 4 KiB, its size does not fit in 64 bits, or its data has no
    /// line end.
    BadChunk,
    /// A line among the trailers is malformed.
    BadTrailers,
    /// The trailers are over 16 KiB.
    TrailersTooLarge,
    /// The connection was closed in good order before a byte of the answer.
    ClosedBeforeResponse,
    /// The connection was closed in good order within the head, or between an interim response and the final one.
    ClosedInHead,
    /// The connection was closed in good order before the body was complete.
    ClosedInBody,
    /// Bytes that answer nothing: before the request, after the response's end, or a body where there is none.
    UnexpectedBytes,
    /// The exchange stood behind another one that closed or broke the connection.
    Abandoned,
}

impl Violation {
    /// Every violation, in the order of their declaration.
    pub const ALL: [Violation; 16] = [
        Violation::NotHttp,
        Violation::BadHead,
        Violation::HeadTooLarge,
        Violation::TooManyHeaders,
        Violation::TooManyInterim,
        Violation::BadContentLength,
        Violation::BadTransferEncoding,
        Violation::BothLengths,
        Violation::BadChunk,
        Violation::BadTrailers,
        Violation::TrailersTooLarge,
        Violation::ClosedBeforeResponse,
        Violation::ClosedInHead,
        Violation::ClosedInBody,
        Violation::UnexpectedBytes,
        Violation::Abandoned,
    ];

    /// The name in records, in kebab-case; never changed once published.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// One sentence for people, without a full stop.
    pub const fn sentence(self) -> &'static str {
        self.row().2
    }

    /// The step to which the violation belongs by its nature. [`crate::Ending::step`] says where it was met.
    pub const fn step(self) -> Step {
        self.row().1
    }

    const fn row(self) -> (&'static str, Step, &'static str) {
        use Step::{Body, Head, Wait};
        match self {
            Violation::NotHttp => ("not-http", Head, "the answer is not HTTP/1.x"),
            Violation::BadHead => (
                "bad-head",
                Head,
                "the status line or a header line is malformed",
            ),
            Violation::HeadTooLarge => ("head-too-large", Head, "the response head is over 64 KiB"),
            Violation::TooManyHeaders => (
                "too-many-headers",
                Head,
                "the response head has more than 256 header lines",
            ),
            Violation::TooManyInterim => (
                "too-many-interim",
                Head,
                "more than 32 interim (1xx) responses before the final one",
            ),
            Violation::BadContentLength => (
                "bad-content-length",
                Head,
                "Content-Length is no number, or there are several that differ",
            ),
            Violation::BadTransferEncoding => (
                "bad-transfer-encoding",
                Head,
                "Transfer-Encoding is not exactly `chunked` on HTTP/1.1",
            ),
            Violation::BothLengths => (
                "both-lengths",
                Head,
                "the response has both Content-Length and Transfer-Encoding",
            ),
            Violation::BadChunk => ("bad-chunk", Body, "a chunk of the body is malformed"),
            Violation::BadTrailers => ("bad-trailers", Body, "a line of the trailers is malformed"),
            Violation::TrailersTooLarge => {
                ("trailers-too-large", Body, "the trailers are over 16 KiB")
            }
            Violation::ClosedBeforeResponse => (
                "closed-before-response",
                Wait,
                "the connection was closed before a byte of the answer",
            ),
            Violation::ClosedInHead => (
                "closed-in-head",
                Head,
                "the connection was closed before the response head was complete",
            ),
            Violation::ClosedInBody => (
                "closed-in-body",
                Body,
                "the connection was closed before the body was complete",
            ),
            Violation::UnexpectedBytes => (
                "unexpected-bytes",
                Body,
                "bytes came that answer no request, or a body where there must be none",
            ),
            Violation::Abandoned => (
                "abandoned",
                Wait,
                "the connection ended at an exchange before this one in the pipeline",
            ),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl std::error::Error for Violation {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_violation_has_a_name_of_its_own() {
        let names: HashSet<_> = Violation::ALL
            .iter()
            .map(|violation| violation.name())
            .collect();
        assert_eq!(names.len(), Violation::ALL.len());
        let plain = |name: &&str| {
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        assert!(names.iter().all(plain), "{names:?}");
    }
}

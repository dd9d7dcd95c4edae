//! What the peer did wrong: a closed vocabulary.
//!
//! It says what was seen on the wire and nothing about whose doing it was: blame needs to know who closed the
//! socket and why, and that is the holder's knowledge. Names and sentences for people are the holder's, too.

/// Whether what a server answers a plain request with says that it wants an encrypted one: an alert of TLS (RFC 8446 §6), or the words
/// of nginx and Apache.
pub fn is_encrypted(first_bytes: &[u8], body: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [
        b"sent to HTTPS port",
        b"SSL-enabled server port",
        b"HTTP request to an HTTPS server",
    ];
    first_bytes.starts_with(&[21, 3]) || WORDS.iter().any(|words| says(body, words))
}

/// Returns what a response of status 400 over TLS says of the client's certificate, as a sentence about the server; none if it does not.
/// They are nginx's words.
pub fn client_certificate(body: &[u8]) -> Option<&'static str> {
    const WORDS: [(&[u8], &str); 2] = [
        (
            b"No required SSL certificate was sent",
            "the server wants a client certificate; give one with --cert and --key",
        ),
        (
            b"The SSL certificate error",
            "the server does not accept the certificate of --cert; give one that it trusts",
        ),
    ];
    let said = WORDS.iter().find(|(words, _)| says(body, words));
    said.map(|(_, sentence)| *sentence)
}

fn says(body: &[u8], words: &[u8]) -> bool {
    body.windows(words.len()).any(|part| part == words)
}

/// How far an exchange had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The request is not sent whole, and no byte of the answer has come.
    Send,
    /// The request is sent, and no byte of the answer has come.
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
    /// The peer ended the handshake, or the connection after it, with an alert.
    Alert,
    /// The peer's certificate is not accepted.
    Certificate,
    /// The peer's first bytes in the handshake are not of it: it speaks something else.
    NoHandshake,
    /// The peer broke a rule of the handshake, or offers nothing that both can.
    BadHandshake,
    /// The connection was closed in good order within the handshake.
    ClosedInHandshake,
    /// What came after the handshake could not be opened: a malformed or forged record, or one that has no place there.
    BadRecord,
    /// The connection was closed without the word that nothing more would come, so that what was read may be cut off.
    CutOff,
    /// The exchange stood behind another one that closed or broke the connection.
    Abandoned,
}

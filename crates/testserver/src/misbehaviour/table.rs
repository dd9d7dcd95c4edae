//! The closed table of misbehaviours: a row each with its name, its sentence, what triggers it, and what is done on the
//! wire, step by step. Some are no breach of any rule, only rare; a client has to bear them too.

use super::script::Trigger;

/// One thing that is done on a connection. A row's steps are done in order; after the last the connection serves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// These bytes, at once as far as the kernel takes them.
    Send(&'static [u8]),
    /// A piece, so many times, as fast as the kernel takes it.
    Repeat(&'static [u8], u64),
    /// These bytes, each sent alone, without pause.
    Bytewise(&'static [u8]),
    /// These bytes, each sent alone, with the script's interval between them.
    Drip(&'static [u8]),
    /// The response as it should be.
    Expected,
    /// The script's delay.
    Wait,
    /// Nothing more until the client ends its side.
    Silence,
    /// Ends the connection in good order.
    Close,
    /// All further steps are beneath TLS: bytes are sent as they are, and the connection ends without a word of TLS.
    Bare,
    /// Waits until the client has sent something, beneath TLS.
    Hear,
    /// A fatal alert of TLS, sealed.
    Alert,
    /// Shows another certificate to all connections that are accepted from now on.
    ChangeCertificate,
    /// Ends the connection with RST.
    Reset,
    /// Accepts no further connection until the outage is over; the kernel lets clients connect and wait.
    PauseAccepting,
    /// Stops listening until the outage is over; connects are refused.
    StopListening,
    /// Resets every connection and stops listening until the outage is over.
    Die,
    /// Does nothing at all on any connection until the outage is over.
    Freeze,
}

/// For [`Step::Repeat`]: until the connection is dead.
pub(crate) const FOREVER: u64 = u64::MAX;

/// A piece of a body without meaning.
pub(crate) static FILL: [u8; 64 * 1024] = [b'x'; 64 * 1024];
/// A header value without meaning, longer than any head may be.
static LONG: [u8; 70_000] = [b'h'; 70_000];

/// An expected response's body.
macro_rules! body {
    () => {
        "Hello, world!\n"
    };
}

/// The same body in chunks.
macro_rules! chunks {
    () => {
        "7\r\nHello, \r\n7;note=\"second\"\r\nworld!\n\r\n0\r\nX-Trailer: end\r\n\r\n"
    };
}

/// A response of 200 with these further header lines, and this body behind the blank line.
macro_rules! ok {
    ($headers:literal, $($body:expr),*) => {
        concat!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", $headers, "\r\n", $($body),*).as_bytes()
    };
}

const KEPT: &[u8] = ok!("Content-Length: 14\r\nConnection: keep-alive\r\n", body!());
const LAST: &[u8] = ok!("Content-Length: 14\r\nConnection: close\r\n", body!());

/// The response as it should be.
pub(crate) fn expected(is_head: bool, keepalive: bool) -> &'static [u8] {
    let response = if keepalive { KEPT } else { LAST };
    let body = if is_head { body!().len() } else { 0 };
    &response[..response.len() - body]
}

/// What a request that cannot be read is told.
pub(crate) const REFUSAL: &[Step] = &[
    Step::Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    Step::Close,
];

/// One row a misbehaviour: variant, name, sentence, trigger, steps.
macro_rules! table {
    ($($variant:ident $name:literal $sentence:literal $trigger:ident [$($step:expr),* $(,)?];)*) => {
        /// What the server does instead of, or beside, answering as it should.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Misbehaviour {
            $(#[doc = concat!("The server ", $sentence, ".")] $variant,)*
        }

        impl Misbehaviour {
            /// Every misbehaviour, in the order of the table.
            pub const ALL: &[Misbehaviour] = &[$(Misbehaviour::$variant),*];

            /// The name for scripts and tables; never changes.
            pub fn name(self) -> &'static str {
                match self { $(Misbehaviour::$variant => $name),* }
            }

            /// What it does, as the rest of a sentence that begins with "the server".
            pub fn sentence(self) -> &'static str {
                match self { $(Misbehaviour::$variant => $sentence),* }
            }

            /// What triggers it.
            pub fn trigger(self) -> Trigger {
                match self { $(Misbehaviour::$variant => Trigger::$trigger),* }
            }

            /// It is done beneath TLS, so that only a server that speaks TLS can do it.
            pub fn is_beneath_tls(self) -> bool {
                let is_beneath = |step| matches!(step, &Step::Bare | &Step::Alert | &Step::ChangeCertificate);
                self.steps().iter().any(is_beneath)
            }

            pub(crate) fn steps(self) -> &'static [Step] {
                use Step::*;
                match self { $(Misbehaviour::$variant => const { &[$($step),*] }),* }
            }
        }
    };
}

table! {
    // Ends where none was expected.
    CloseAtAccept "close-at-accept" "closes a connection as soon as it is accepted"
        Connection [Close];
    ResetAtAccept "reset-at-accept" "resets a connection as soon as it is accepted"
        Connection [Reset];
    CloseUnanswered "close-unanswered" "reads the request and closes without a response"
        Exchange [Close];
    ResetUnanswered "reset-unanswered" "reads the request and resets the connection"
        Exchange [Reset];
    CloseInHead "close-in-head" "closes in the middle of a header line"
        Exchange [Send(HALF_HEAD), Close];
    ResetInHead "reset-in-head" "resets the connection in the middle of a header line"
        Exchange [Send(HALF_HEAD), Reset];
    CloseInBody "close-in-body" "announces 14 bytes of body, sends 7 and closes"
        Exchange [Send(HALF_BODY), Close];
    ResetInBody "reset-in-body" "announces 14 bytes of body, sends 7 and resets the connection"
        Exchange [Send(HALF_BODY), Reset];
    CloseInChunks "close-in-chunks" "sends one chunk and closes without the last one"
        Exchange [Send(ok!("Transfer-Encoding: chunked\r\n", "7\r\nHello, \r\n")), Close];
    CloseKept "close-kept" "promises to keep the connection and closes it after the response"
        Exchange [Expected, Close];

    // Silence and slowness.
    Silence "silence" "reads the request and never responds"
        Exchange [Silence];
    SilenceInHead "silence-in-head" "falls silent in the middle of a header line"
        Exchange [Send(HALF_HEAD), Silence];
    SilenceInBody "silence-in-body" "announces 14 bytes of body, sends 7 and falls silent"
        Exchange [Send(HALF_BODY), Silence];
    Drip "drip" "sends an expected response byte by byte with a pause after each"
        Exchange [Drip(ok!("Content-Length: 14\r\n", body!()))];
    Late "late" "responds as expected, but late"
        Exchange [Wait, Expected];
    Bytewise "bytewise" "sends an expected response byte by byte without pauses"
        Exchange [Bytewise(ok!("Content-Length: 14\r\n", body!()))];

    // Too much.
    HugeHead "huge-head" "sends a head of over 64 KiB"
        Exchange [
            Send(b"HTTP/1.1 200 OK\r\nX-Long: "), Repeat(&LONG, 1),
            Send(b"\r\nContent-Length: 14\r\n\r\nHello, world!\n"),
        ];
    EndlessHead "endless-head" "sends header lines without end"
        Exchange [Send(b"HTTP/1.1 200 OK\r\n"), Repeat(b"X-More: and more\r\n", FOREVER)];
    EndlessInterim "endless-interim" "sends 103 responses without end"
        Exchange [Repeat(INTERIM, FOREVER)];
    EndlessBody "endless-body" "sends a body without end and without a length"
        Exchange [Send(ok!("", "")), Repeat(&FILL, FOREVER)];
    EndlessChunks "endless-chunks" "sends chunks without end"
        Exchange [
            Send(ok!("Transfer-Encoding: chunked\r\n", "")),
            Repeat(b"20\r\nthirty-two bytes, over and again\r\n", FOREVER),
        ];
    HugeBody "huge-body" "sends an expected response of 16 MiB as fast as the client reads"
        Exchange [Send(ok!("Content-Length: 16777216\r\n", "")), Repeat(&FILL, 256)];
    Surplus "surplus" "announces 7 bytes of body and sends 14"
        Exchange [Send(ok!("Content-Length: 7\r\n", body!()))];
    Garbage "garbage" "sends meaningless bytes after an expected response"
        Exchange [Send(ok!("Content-Length: 14\r\n", body!(), "\0garbage\r\n"))];
    AnswerTwice "answer-twice" "sends the response twice at once"
        Exchange [Repeat(KEPT, 2)];
    BodyAfterHead "body-after-head" "responds to HEAD with a body"
        Head [Send(ok!("Content-Length: 14\r\n", body!()))];
    BodyAfter204 "body-after-204" "sends a body behind the status 204"
        Exchange [Send(b"HTTP/1.1 204 No Content\r\n\r\nHello, world!\n")];
    AnswerUnasked "answer-unasked" "responds at accept, before any request"
        Connection [Expected];

    // No HTTP, or almost.
    NotHttp "not-http" "responds in another protocol"
        Exchange [Send(b"220 mail.example.org ESMTP\r\n")];
    BadVersion "bad-version" "responds with the status line of HTTP/2"
        Exchange [Send(b"HTTP/2 200 OK\r\nContent-Length: 14\r\n\r\nHello, world!\n")];
    BadStatus "bad-status" "responds with a status that is not a number"
        Exchange [Send(b"HTTP/1.1 2OO OK\r\nContent-Length: 14\r\n\r\nHello, world!\n")];
    NoColon "no-colon" "sends a header line without a colon"
        Exchange [Send(ok!("Content-Length 14\r\n", body!()))];
    NulInHeader "nul-in-header" "sends a NUL byte in a header value"
        Exchange [Send(ok!("X-Nul: a\0b\r\nContent-Length: 14\r\n", body!()))];
    FoldedHeader "folded-header" "folds a header over two lines, as was allowed once"
        Exchange [Send(ok!("X-Folded: a\r\n b\r\nContent-Length: 14\r\n", body!()))];

    // Lengths and chunks.
    LengthNegative "length-negative" "announces a negative Content-Length"
        Exchange [Send(ok!("Content-Length: -14\r\n", body!()))];
    LengthTooLarge "length-too-large" "announces a Content-Length that 64 bits do not hold"
        Exchange [Send(ok!("Content-Length: 18446744073709551630\r\n", body!()))];
    LengthsDiffer "lengths-differ" "announces two different Content-Lengths"
        Exchange [Send(ok!("Content-Length: 14\r\nContent-Length: 15\r\n", body!()))];
    LengthTwice "length-twice" "announces the same Content-Length twice"
        Exchange [Send(ok!("Content-Length: 14\r\nContent-Length: 14\r\n", body!()))];
    LengthAndChunks "length-and-chunks" "sends chunks and announces a Content-Length too"
        Exchange [Send(ok!("Content-Length: 14\r\nTransfer-Encoding: chunked\r\n", chunks!()))];
    UnknownCoding "unknown-coding" "announces a transfer coding that the client did not accept"
        Exchange [Send(ok!("Transfer-Encoding: gzip\r\n", body!()))];
    ChunkNotHex "chunk-not-hex" "sends a chunk size that is no number"
        Exchange [Send(ok!("Transfer-Encoding: chunked\r\n", "seven\r\nHello, \r\n0\r\n\r\n"))];
    ChunkTooLarge "chunk-too-large" "sends a chunk size that 64 bits do not hold"
        Exchange [Send(ok!("Transfer-Encoding: chunked\r\n", "10000000000000007\r\nHello, \r\n0\r\n\r\n"))];
    ChunkUnended "chunk-unended" "sends a chunk that is longer than its size"
        Exchange [Send(ok!("Transfer-Encoding: chunked\r\n", "7\r\nHello, world!\n\r\n0\r\n\r\n"))];

    // Right, but rare.
    BareLf "bare-lf" "ends the lines of the head with LF alone"
        Exchange [Send(b"HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 14\n\nHello, world!\n")];
    EmptyReason "empty-reason" "sends a status line with an empty reason"
        Exchange [Send(b"HTTP/1.1 200 \r\nContent-Length: 14\r\n\r\nHello, world!\n")];
    NoReason "no-reason" "sends a status line that ends with the status"
        Exchange [Send(b"HTTP/1.1 200\r\nContent-Length: 14\r\n\r\nHello, world!\n")];
    Interim "interim" "sends two 103 responses before the response"
        Exchange [Send(INTERIM), Send(INTERIM), Expected];
    Trailers "trailers" "sends the response in chunks with an extension and a trailer"
        Exchange [Send(ok!("Transfer-Encoding: chunked\r\n", chunks!()))];
    UntilClose "until-close" "sends a body without a length and closes behind it"
        Exchange [Send(ok!("", body!())), Close];
    OldVersion "old-version" "responds as HTTP/1.0 does: no length, and closes"
        Exchange [Send(b"HTTP/1.0 200 OK\r\n\r\nHello, world!\n"), Close];

    // Right in form, but not what was hoped for.
    Switching "switching" "responds 101 to a request without Upgrade"
        Exchange [Send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n"), Silence];
    Redirect "redirect" "responds 302"
        Exchange [Send(b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")];
    NotFound "not-found" "responds 404"
        Exchange [Send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nNone\n")];
    Unavailable "unavailable" "responds 503"
        Exchange [Send(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nLater")];

    // The whole server.
    StopAccepting "stop-accepting" "accepts no more connections for the length of the outage; those that are there are served"
        Connection [PauseAccepting];
    StopListening "stop-listening" "stops listening for the length of the outage; the connections that are there are served"
        Connection [StopListening];
    Die "die" "resets all connections and stops listening for the length of the outage, as if killed and started again"
        Exchange [Die];
    Freeze "freeze" "does nothing for the length of the outage, as if stopped and continued, then responds"
        Exchange [Freeze, Expected];

    // TLS: handshakes.
    HandshakeSilence "handshake-silence" "says nothing to the first message of a handshake"
        Connection [Bare, Hear, Silence];
    HandshakeClose "handshake-close" "closes after the first message of a handshake"
        Connection [Bare, Hear, Close];
    HandshakeReset "handshake-reset" "resets the connection after the first message of a handshake"
        Connection [Bare, Hear, Reset];
    HandshakeAlert "handshake-alert" "refuses a handshake with an alert"
        Connection [Bare, Hear, Send(ALERT), Close];
    HandshakePlain "handshake-plain" "responds to the first message of a handshake without TLS"
        Connection [
            Bare, Hear,
            Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), Close,
        ];
    HandshakeGarbage "handshake-garbage" "sends a handshake message without meaning"
        Connection [Bare, Hear, Send(b"\x16\x03\x03\x00\x08meaning?")];
    HandshakeTooLong "handshake-too-long" "announces a record of 65535 bytes in a handshake"
        Connection [Bare, Hear, Send(b"\x16\x03\x03\xff\xff"), Repeat(&FILL, 1)];
    SilenceInHandshake "silence-in-handshake" "falls silent in the middle of its first message of a handshake"
        Connection [Bare, Hear, Send(HELLO.split_at(20).0), Silence];
    CloseInHandshake "close-in-handshake" "closes in the middle of its first message of a handshake"
        Connection [Bare, Hear, Send(HELLO.split_at(20).0), Close];
    ResetInHandshake "reset-in-handshake" "resets the connection in the middle of its first message of a handshake"
        Connection [Bare, Hear, Send(HELLO.split_at(20).0), Reset];
    AlertInHandshake "alert-in-handshake" "sends its first message of a handshake and then an alert"
        Connection [Bare, Hear, Send(HELLO), Send(ALERT), Close];
    NewCertificate "new-certificate" "shows another certificate, signed by itself, to all connections that follow"
        Connection [ChangeCertificate];

    // TLS: records.
    CloseUnsaid "close-unsaid" "closes after the response without ending TLS"
        Exchange [Expected, Bare, Close];
    UntilCloseUnsaid "until-close-unsaid" "sends a body without a length and closes behind it without ending TLS"
        Exchange [Send(ok!("", body!())), Bare, Close];
    CloseInBodyUnsaid "close-in-body-unsaid" "announces 14 bytes of body, sends 7 and closes without ending TLS"
        Exchange [Send(HALF_BODY), Bare, Close];
    Alert "alert" "reads the request and sends a fatal alert"
        Exchange [Alert, Close];
    PlainResponse "plain-response" "responds without TLS on a connection that has it"
        Exchange [Bare, Expected];
    BrokenRecord "broken-record" "sends a record whose seal is broken"
        Exchange [Bare, Send(b"\x17\x03\x03\x00\x20thirty-two bytes without a seal.")];
    RecordTooLong "record-too-long" "announces a record of 65535 bytes"
        Exchange [Bare, Send(b"\x17\x03\x03\xff\xff"), Repeat(&FILL, 1)];
    SilenceInRecord "silence-in-record" "falls silent in the middle of a record"
        Exchange [Bare, Send(HALF_RECORD), Silence];
    CloseInRecord "close-in-record" "sends a body without a length and closes in the middle of a further record"
        Exchange [Send(ok!("", body!())), Bare, Send(HALF_RECORD), Close];
}

const HALF_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/pl";
const HALF_BODY: &[u8] = ok!("Content-Length: 14\r\n", "Hello, ");
/// A whole record: the fatal alert `handshake_failure`.
const ALERT: &[u8] = b"\x15\x03\x03\x00\x02\x02\x28";
/// A whole record: the ServerHello of TLS 1.2 (RFC 5246 §7.4.1.3) with TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.
const HELLO: &[u8] =
    b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03thirty-two bytes, hardly random.\x00\xc0\x2f\x00";
const HALF_RECORD: &[u8] = b"\x17\x03\x03\x00\x40half of it";
const INTERIM: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";

impl Misbehaviour {
    /// The misbehaviour of this name.
    pub fn named(name: &str) -> Option<Misbehaviour> {
        let mut all = Misbehaviour::ALL.iter();
        all.find(|each| each.name() == name).copied()
    }
}

//! Every rule and every violation of the client role, one line a case; and that no case depends on how its bytes
//! were split.

mod oracle;

use oracle::client::{converse, converse_on, line};
use proptest::prelude::*;
use wire::Connection;
use wire::http1::Client;

/// (script, what the server sends, what the sink was told); see `oracle::client` for the two notations. `⏎` is
/// CR LF.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    // Bodies by length.
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎hi", "[200 'hi' ok/40]"),
    ("G", "HTTP/1.1 200 OK⏎content-length:2⏎⏎hi", "[200 'hi' ok/39]"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎", "[200 ok/38]"),
    ("G", "HTTP/1.1 200⏎Content-Length: 0⏎⏎", "[200 ok/35]"),
    ("G", "HTTP/1.1 200 ⏎Content-Length: 0⏎⏎", "[200 ok/36]"),
    ("G", "HTTP/1.1 404 No\tsuch \u{e9}⏎Content-Length: 0⏎⏎", "[404 ok/46]"),
    ("G", "HTTP/1.1 999 Odd⏎Content-Length: 0⏎⏎", "[999 ok/39]"),
    ("G", "HTTP/1.1 200 OK⏎Date: Fri, 20 Nov 2026 06:20:22 GMT⏎Date: x⏎Content-Length: 0⏎⏎", "[200 ok/84]"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎h", "[200 'h'] +1"),
    ("G.", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎h", "[200 'h' ClosedInBody/39] !ClosedInBody closing"),
    ("G.", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎", "[200 ClosedInBody/38] !ClosedInBody closing"),
    ("G.", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎hi", "[200 'hi' ok/40] closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎hip", "[200 'hi' ok/40] !UnexpectedBytes closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2, 2⏎content-length: 2⏎⏎hi", "[200 'hi' ok/62]"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 18446744073709551615⏎⏎hi", "[200 'hi'] +1"),
    // Lengths that cannot be believed.
    ("G", "HTTP/1.1 200 OK⏎Content-Length: -1⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: +1⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: two⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length:⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2 2⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2, 3⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2⏎Content-Length: 3⏎⏎", "[BadContentLength] !BadContentLength closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 18446744073709551616⏎⏎", "[BadContentLength] !BadContentLength closing"),
    // No body, whatever the head says.
    ("H", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎", "[200 ok/38]"),
    ("H", "HTTP/1.1 200 OK⏎⏎", "[200 ok/19]"),
    ("H", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎", "[200 ok/47]"),
    ("H", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎hi", "[200 ok/38] !UnexpectedBytes closing"),
    ("G", "HTTP/1.1 204 No Content⏎⏎", "[204 ok/27]"),
    ("G", "HTTP/1.1 204 No Content⏎⏎hi", "[204 ok/27] !UnexpectedBytes closing"),
    ("G", "HTTP/1.1 304 Not Modified⏎Content-Length: 9⏎⏎", "[304 ok/48]"),
    // Chunks.
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hi⏎0⏎⏎", "[200 'hi' ok/59]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: Chunked⏎⏎0⏎⏎", "[200 ok/52]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎1⏎h⏎01⏎i⏎000⏎⏎", "[200 'hi' ok/67]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎A⏎0123456789⏎a⏎0123456789⏎0⏎⏎", "[200 '01234567890123456789' ok/82]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2;a=b;c=\"d\"⏎hi⏎0;e⏎⏎", "[200 'hi' ok/71]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2 \t⏎hi⏎0 ;e⏎⏎", "[200 'hi' ok/64]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎A: b⏎C:⏎⏎", "[200 ok/62]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎A: b\n\n", "[200 ok/56]"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎⏎x", "[200 ok/52] !UnexpectedBytes closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hi⏎", "[200 'hi'] +1"),
    ("G.", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hi⏎", "[200 'hi' ClosedInBody/54] !ClosedInBody closing"),
    ("G.", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎", "[200 ClosedInBody/50] !ClosedInBody closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎x", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎;e⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎ 2⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎-2⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0x2⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2 2⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2\nhi", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2\rhi", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2;\x01⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hip", "[200 'hi' BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hi\n0⏎", "[200 'hi' BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎2⏎hi\r\r", "[200 'hi' BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎10000000000000000⏎", "[200 BadChunk] !BadChunk closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎FFFFFFFFFFFFFFFF⏎hi", "[200 'hi'] +1"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎ folded: x⏎", "[200 BadTrailers] !BadTrailers closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎A⏎", "[200 BadTrailers] !BadTrailers closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎A: \x01⏎", "[200 BadTrailers] !BadTrailers closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎A: b\rc", "[200 BadTrailers] !BadTrailers closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎\rx", "[200 BadTrailers] !BadTrailers closing"),
    // Codings that are not ours.
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: gzip⏎⏎", "[BadTransferEncoding] !BadTransferEncoding closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: gzip, chunked⏎⏎", "[BadTransferEncoding] !BadTransferEncoding closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: identity⏎⏎", "[BadTransferEncoding] !BadTransferEncoding closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎Transfer-Encoding: chunked⏎⏎", "[BadTransferEncoding] !BadTransferEncoding closing"),
    ("G", "HTTP/1.0 200 OK⏎Transfer-Encoding: chunked⏎⏎", "[BadTransferEncoding] !BadTransferEncoding closing"),
    ("G", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎Content-Length: 2⏎⏎", "[BothLengths] !BothLengths closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Length: 2⏎Transfer-Encoding: chunked⏎⏎", "[BothLengths] !BothLengths closing"),
    // Until the end of the stream.
    ("G", "HTTP/1.1 200 OK⏎⏎hi", "[200 close 'hi'] +1 closing"),
    ("G.", "HTTP/1.1 200 OK⏎⏎hi", "[200 close 'hi' ok/21] closing"),
    ("G.", "HTTP/1.1 200 OK⏎⏎", "[200 close ok/19] closing"),
    ("G.", "HTTP/1.0 200 OK⏎Connection: keep-alive⏎⏎hi", "[200 close 'hi' ok/45] closing"),
    ("GG.", "HTTP/1.1 200 OK⏎⏎hi", "[200 close 'hi' ok/21] [Abandoned/0] closing"),
    // Who closes.
    ("G", "HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 0⏎⏎", "[200 close ok/57] closing"),
    ("G", "HTTP/1.1 200 OK⏎connection: CLOSE⏎Content-Length: 0⏎⏎", "[200 close ok/57] closing"),
    ("G", "HTTP/1.1 200 OK⏎Connection: a, Close ,b⏎Content-Length: 0⏎⏎", "[200 close ok/63] closing"),
    ("G", "HTTP/1.1 200 OK⏎Connection: a⏎Connection: close⏎Content-Length: 0⏎⏎", "[200 close ok/72] closing"),
    ("G", "HTTP/1.1 200 OK⏎Connection: closed⏎Content-Length: 0⏎⏎", "[200 ok/58]"),
    ("G", "HTTP/1.0 200 OK⏎Content-Length: 0⏎⏎", "[200 close ok/38] closing"),
    ("G", "HTTP/1.0 200 OK⏎Connection: Keep-Alive⏎Content-Length: 0⏎⏎", "[200 ok/62]"),
    ("G", "HTTP/1.0 200 OK⏎Connection: keep-alive, close⏎Content-Length: 0⏎⏎", "[200 close ok/69] closing"),
    ("G.", "HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 2⏎⏎hi", "[200 close 'hi' ok/59] closing"),
    ("G.", "HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 2⏎⏎h", "[200 close 'h' ClosedInBody/58] !ClosedInBody closing"),
    ("G", "HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 0⏎⏎x", "[200 close ok/57] !UnexpectedBytes closing"),
    // Interim responses.
    ("G", "HTTP/1.1 100 Continue⏎⏎HTTP/1.1 204 None⏎⏎", "[204 ok/46]"),
    ("G", "HTTP/1.1 103 Hints⏎Link: x⏎⏎HTTP/1.1 102 Wait⏎⏎HTTP/1.1 204 None⏎⏎", "[204 ok/73]"),
    ("G", "HTTP/1.1 100 Continue⏎Connection: close⏎⏎HTTP/1.1 204 None⏎⏎", "[204 ok/65]"),
    ("G", "HTTP/1.1 100 Continue⏎⏎", "[] +1"),
    ("G.", "HTTP/1.1 100 Continue⏎⏎", "[ClosedInHead/25] !ClosedInHead closing"),
    ("G", "HTTP/1.1 101 Switching⏎⏎anything", "[101 close ok/26] closing"),
    ("GG", "HTTP/1.1 101 Switching⏎⏎anything", "[101 close ok/26] [Abandoned/0] closing"),
    // Not a response head.
    ("G", "hello", "[NotHttp] !NotHttp closing"),
    ("G", "SSH-2.0-OpenSSH_9.2⏎", "[NotHttp] !NotHttp closing"),
    ("G", "HTTP/2 200 OK⏎⏎", "[NotHttp] !NotHttp closing"),
    ("G", "HTTP/1.2 200 OK⏎⏎", "[NotHttp] !NotHttp closing"),
    ("G", "HTTP/1.1200 OK⏎⏎", "[NotHttp] !NotHttp closing"),
    ("G", "http/1.1 200 OK⏎⏎", "[NotHttp] !NotHttp closing"),
    ("G", "⏎HTTP/1.1 204 None⏎⏎", "[NotHttp] !NotHttp closing"),
    ("G", "HTTP/1.1 20 OK⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 2000 OK⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 099 Low⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 OK⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 No\x01ne⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎no colon⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎Space : x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎: x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎A: x⏎ folded⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎A: x\ry⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎A: x\0y⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎A: x\x7fyyyyyyyy⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎A: x\x1fyyyyyyyy⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎Abcdef@Z: x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎Abcdef[Z: x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎Abcdef{Z: x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎Abcdef\u{e9}: x⏎⏎", "[BadHead] !BadHead closing"),
    ("G", "HTTP/1.1 204 None⏎a1_z-`^~|!#$%&'*+.Z: x⏎⏎", "[204 ok/45]"),
    ("G", "HTTP/1.1 204 None\nA: x\n\n", "[204 ok/24]"),
    ("G", "HTTP/1.1 204 None⏎A: \u{e9}⏎B:⏎C: \t x \t⏎⏎", "[204 ok/42]"),
    // Ends that come too early.
    ("G.", "", "[ClosedBeforeResponse/0] !ClosedBeforeResponse closing"),
    ("G.", "H", "[ClosedInHead/1] !ClosedInHead closing"),
    ("G.", "HTTP/1.1 200 OK⏎Content-Le", "[ClosedInHead/27] !ClosedInHead closing"),
    ("G", "HTTP/1.1 200 OK⏎Content-Le", "[] +1"),
    (".", "", "closing"),
    // Pipelines.
    ("GHG", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎hiHTTP/1.1 200 OK⏎Content-Length: 2⏎⏎HTTP/1.1 204 None⏎⏎", "[200 'hi' ok/40] [200 ok/38] [204 ok/21]"),
    ("GG", "HTTP/1.1 204 None⏎⏎", "[204 ok/21] +1"),
    ("GG.", "HTTP/1.1 204 None⏎⏎", "[204 ok/21] [ClosedBeforeResponse/0] !ClosedBeforeResponse closing"),
    ("GGG", "HTTP/1.1 204 None⏎⏎nonsense", "[204 ok/21] [NotHttp] [Abandoned/0] !NotHttp closing"),
    ("GGG.", "HTTP/1.1 204 None⏎⏎HTTP", "[204 ok/21] [ClosedInHead/4] [Abandoned/0] !ClosedInHead closing"),
    ("GGG", "HTTP/1.1 204 None⏎Connection: close⏎⏎", "[204 close ok/40] [Abandoned/0] [Abandoned/0] closing"),
    ("GG", "HTTP/1.1 204 None⏎Connection: close⏎⏎HTTP/1.1 204 None⏎⏎", "[204 close ok/40] [Abandoned/0] !UnexpectedBytes closing"),
    // Before anything was asked.
    ("", "HTTP/1.1 408 Request Timeout⏎⏎", "!UnexpectedBytes closing"),
];

fn bytes(text: &str) -> Vec<u8> {
    text.replace('⏎', "\r\n").into_bytes()
}

#[test]
fn responses_are_told_as_the_table_says() {
    let told = |script: &str, sent: &str| line(&converse(script, &[&bytes(sent)]));
    let wrong: Vec<_> = CASES
        .iter()
        .filter(|(script, sent, expected)| told(script, sent) != *expected)
        .map(|(script, sent, expected)| {
            format!("{script} {sent:?}: {} not {expected}", told(script, sent))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_case_depends_on_how_its_bytes_were_split() {
    for (script, sent, _) in CASES {
        let sent = bytes(sent);
        let whole = converse(script, &[&sent]);
        for pieces in oracle::splits(&sent) {
            assert_eq!(converse(script, &pieces), whole, "{script} {pieces:?}");
        }
    }
}

#[test]
fn a_head_of_64_kib_is_taken_and_one_byte_more_is_not() {
    let head = |length: usize| {
        let padding = "x".repeat(length - "HTTP/1.1 204 None\r\nA: \r\n\r\n".len());
        format!("HTTP/1.1 204 None\r\nA: {padding}\r\n\r\n").into_bytes()
    };
    for pieces in [1, 1000, 65_535, 65_536, 100_000] {
        let line_of = |head: Vec<u8>| {
            line(&converse(
                "G",
                &head.chunks(pieces.max(64)).collect::<Vec<_>>(),
            ))
        };
        assert_eq!(line_of(head(65_536)), "[204 ok/65536]");
        assert_eq!(
            line_of(head(65_537)),
            "[HeadTooLarge] !HeadTooLarge closing"
        );
        assert_eq!(
            line_of(head(70_000)),
            "[HeadTooLarge] !HeadTooLarge closing"
        );
    }
}

#[test]
fn two_hundred_and_fifty_six_header_lines_are_taken_and_one_more_is_not() {
    let head = |lines: usize| {
        format!("HTTP/1.1 204 None\r\n{}\r\n", "A: b\r\n".repeat(lines)).into_bytes()
    };
    assert_eq!(line(&converse("G", &[&head(256)])), "[204 ok/1557]");
    assert_eq!(
        line(&converse("G", &[&head(257)])),
        "[TooManyHeaders] !TooManyHeaders closing"
    );
}

#[test]
fn thirty_two_interim_responses_are_skipped_and_one_more_is_too_many() {
    let answer = |interim: usize| {
        format!(
            "{}HTTP/1.1 204 None\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n".repeat(interim)
        )
        .into_bytes()
    };
    assert_eq!(line(&converse("G", &[&answer(32)])), "[204 ok/821]");
    assert_eq!(
        line(&converse("G", &[&answer(33)])),
        "[TooManyInterim] !TooManyInterim closing"
    );
    let twice = [answer(32), answer(32)].concat();
    assert_eq!(
        line(&converse("GG", &[&twice])),
        "[204 ok/821] [204 ok/821]"
    );
}

#[test]
fn chunk_lines_end_at_4_kib_and_trailers_at_16() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extended =
        |length: usize| format!("{head}0;{}\r\n\r\n", "e".repeat(length - 2)).into_bytes();
    assert_eq!(line(&converse("G", &[&extended(4096)])), "[200 ok/4147]");
    assert_eq!(
        line(&converse("G", &[&extended(4097)])),
        "[200 BadChunk] !BadChunk closing"
    );
    let trailed =
        |length: usize| format!("{head}0\r\nT:{}\r\n\r\n", "t".repeat(length - 6)).into_bytes();
    assert_eq!(line(&converse("G", &[&trailed(16_384)])), "[200 ok/16434]");
    assert_eq!(
        line(&converse("G", &[&trailed(16_385)])),
        "[200 TrailersTooLarge] !TrailersTooLarge closing"
    );
}

const DATED: &str = "HTTP/1.1 200 OK⏎Date: Fri, 20 Nov 2026 06:20:22 GMT⏎Content-Length: 2⏎⏎hi";

/// What a connection that has read `DATED` before makes of `sent`.
fn after_dated(script: &str, sent: &[u8]) -> String {
    let mut connection = Client::http1(4);
    assert_eq!(
        line(&converse_on(&mut connection, "G", &[&bytes(DATED)])),
        "[200 'hi' ok/77]"
    );
    connection.reset();
    line(&converse_on(&mut connection, script, &[sent]))
}

#[test]
fn a_head_that_came_before_is_read_as_it_was_the_first_time() {
    let dated = bytes(DATED);
    let bad_date = DATED.replace("20 Nov", "20\0Nov");
    assert_eq!(after_dated("G", &dated), "[200 'hi' ok/77]");
    assert_eq!(
        after_dated("G.", &dated[..75]),
        "[200 ClosedInBody/75] !ClosedInBody closing"
    );
    assert_eq!(after_dated("H", &dated[..75]), "[200 ok/75]");
    assert_eq!(
        after_dated("G", &bytes(&DATED.replace(":22", ":23"))),
        "[200 'hi' ok/77]"
    );
    assert_eq!(
        after_dated("G", &bytes(&DATED.replace("200", "404"))),
        "[404 'hi' ok/77]"
    );
    assert_eq!(
        after_dated("G", &bytes(&DATED.replace(": 2⏎", ": 1⏎"))),
        "[200 'h' ok/76] !UnexpectedBytes closing"
    );
    assert_eq!(
        after_dated("G", &bytes(&bad_date)),
        "[BadHead] !BadHead closing"
    );
}

/// The words that responses are made of, so that random ones get far.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => prop::sample::select(CASES).prop_map(|(_, sent, _)| bytes(sent)),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..4).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn what_a_connection_read_before_changes_nothing(
        sent in words(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut connection = Client::http1(4);
        converse_on(&mut connection, "GG.", &[&sent]);
        connection.reset();
        let mut other = sent;
        if !other.is_empty() {
            let at = at.index(other.len());
            other[at] = byte;
        }
        prop_assert_eq!(converse_on(&mut connection, "GG.", &[&other]), converse("GG.", &[&other]));
    }

    #[test]
    fn responses_do_not_depend_on_how_they_were_split(
        script in "[GH]{0,4}[.]?", sent in words(), cuts in prop::collection::vec(0..60_u8, 0..12),
        flip in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut sent = sent;
        if let Some((at, byte)) = flip && !sent.is_empty() {
            let at = at.index(sent.len());
            sent[at] = byte;
        }
        let pieces = oracle::pieces(&sent, &cuts);
        prop_assert_eq!(converse(&script, &pieces), converse(&script, &[&sent]));
    }

    #[test]
    fn every_opened_exchange_is_done_once_whatever_happens(script in prop::collection::vec(any::<u8>(), 0..200)) {
        oracle::operations::run(&script);
    }
}

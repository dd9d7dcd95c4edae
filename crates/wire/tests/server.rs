//! Every rule and every refusal of the server role, one line a case; and that no case depends on how its bytes
//! were split.

mod oracle;

use oracle::server::listen;
use proptest::prelude::*;

/// (what the client sends, what the sink was told); see `oracle::server` for the notation. `⏎` is CR LF.
#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    ("GET / HTTP/1.1⏎Host: a⏎⏎", "[GET / HTTP/1.1]"),
    ("GET / HTTP/1.1⏎Host: a⏎", "..."),
    ("", ""),
    ("GET /a?b=c HTTP/1.1⏎hOsT:⏎⏎", "[GET /a?b=c HTTP/1.1]"),
    ("GET / HTTP/1.0⏎⏎", "[GET / HTTP/1.0 close]"),
    ("GET / HTTP/1.0⏎Connection: Keep-Alive⏎⏎", "[GET / HTTP/1.0]"),
    ("GET / HTTP/1.1⏎Host: a⏎Connection: x, close⏎⏎", "[GET / HTTP/1.1 close]"),
    ("GET / HTTP/1.1⏎Host: a⏎Connection: close⏎⏎GET / HTTP/1.1⏎⏎", "[GET / HTTP/1.1 close]"),
    ("⏎⏎GET / HTTP/1.1⏎Host: a⏎⏎", "[GET / HTTP/1.1]"),
    ("BREW /pot HTTP/1.1⏎Host: a⏎⏎", "[BREW /pot HTTP/1.1]"),
    // Targets.
    ("OPTIONS * HTTP/1.1⏎Host: a⏎⏎", "[OPTIONS * HTTP/1.1]"),
    ("GET http://b/c?d HTTP/1.1⏎Host: a⏎⏎", "[GET /c?d HTTP/1.1]"),
    ("GET HTTPS://b HTTP/1.1⏎Host: a⏎⏎", "[GET / HTTP/1.1]"),
    ("GET http:///c HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("GET http://b?c HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("GET http:// HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("GET * HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("GET a HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("GET  / HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("CONNECT a:1 HTTP/1.1⏎Host: a⏎⏎", "!501"),
    // Versions.
    ("GET / HTTP/2.0⏎Host: a⏎⏎", "!505"),
    ("GET / HTTP/1.2⏎Host: a⏎⏎", "!505"),
    ("PRI * HTTP/2.0⏎⏎SM⏎⏎", "!505"),
    ("GET / HTTX/1.1⏎Host: a⏎⏎", "!400"),
    ("GET / http/1.1⏎Host: a⏎⏎", "!400"),
    ("GET / HTTP/1.1 ⏎Host: a⏎⏎", "!400"),
    ("GET /⏎⏎", "!400"),
    // Heads.
    ("GET / HTTP/1.1⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a⏎Host: a⏎⏎", "!400"),
    ("GET / HTTP/1.0⏎Host: a⏎Host: a⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a⏎A : b⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a⏎ folded⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎ Host: a⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a\rb⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a\0b⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a\n⏎", "!400"),
    ("GET / HTTP/1.1\nHost: a⏎⏎", "!400"),
    ("GET / HTTP/1.1⏎Host: a⏎\n", "!400"),
    ("\nGET / HTTP/1.1⏎Host: a⏎⏎", "!400"),
    ("\x16\x03\x01\x02", "!400"),
    // Bodies.
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎hi", "[POST / HTTP/1.1 'hi']"),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎h", "[POST / HTTP/1.1 'h' ..."),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 2, 2⏎⏎hi", "[POST / HTTP/1.1 'hi']"),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 0⏎⏎", "[POST / HTTP/1.1]"),
    ("GET / HTTP/1.1⏎Host: a⏎Content-Length: 1⏎⏎xGET /2 HTTP/1.1⏎Host: a⏎⏎", "[GET / HTTP/1.1 'x'] [GET /2 HTTP/1.1]"),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 101⏎⏎", "!413"),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: -1⏎⏎", "!400"),
    ("POST / HTTP/1.1⏎Host: a⏎Content-Length: 1⏎Content-Length: 2⏎⏎", "!400"),
    ("POST / HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎2;e⏎hi⏎0⏎T: x⏎⏎", "[POST / HTTP/1.1 'hi']"),
    ("POST / HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎2⏎hip", "[POST / HTTP/1.1 'hi' !400"),
    ("POST / HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎0⏎ x⏎", "[POST / HTTP/1.1 !400"),
    ("POST / HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎Content-Length: 2⏎⏎", "!400"),
    ("POST / HTTP/1.0⏎Host: a⏎Transfer-Encoding: chunked⏎⏎", "!400"),
    ("POST / HTTP/1.1⏎Host: a⏎Transfer-Encoding: gzip, chunked⏎⏎", "!501"),
    ("POST / HTTP/1.1⏎Host: a⏎Expect: 100-Continue⏎Content-Length: 1⏎⏎x", "[POST / HTTP/1.1 continue 'x']"),
    ("POST / HTTP/1.0⏎Expect: 100-continue⏎Content-Length: 1⏎⏎x", "[POST / HTTP/1.0 close 'x']"),
    ("POST / HTTP/1.1⏎Host: a⏎Expect: more⏎⏎", "!417"),
    // Several in a row; what comes before a refusal is served.
    ("GET /1 HTTP/1.1⏎Host: a⏎⏎GET /2 HTTP/1.1⏎Host: a⏎⏎GET", "[GET /1 HTTP/1.1] [GET /2 HTTP/1.1] ..."),
    ("GET /1 HTTP/1.1⏎Host: a⏎⏎nonsense\0GET /2 HTTP/1.1⏎⏎", "[GET /1 HTTP/1.1] !400"),
];

fn bytes(text: &str) -> Vec<u8> {
    text.replace('⏎', "\r\n").into_bytes()
}

#[test]
fn requests_are_told_as_the_table_says() {
    let wrong: Vec<_> = CASES
        .iter()
        .map(|(sent, expected)| (sent, listen(&[&bytes(sent)]).0, expected))
        .filter(|(_, told, expected)| told != *expected)
        .map(|(sent, told, expected)| format!("{sent:?}: {told} not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_case_depends_on_how_its_bytes_were_split() {
    for (sent, _) in CASES {
        let sent = bytes(sent);
        let whole = listen(&[&sent]);
        for pieces in oracle::splits(&sent) {
            assert_eq!(listen(&pieces), whole, "{pieces:?}");
        }
    }
}

#[test]
fn heads_targets_and_bodies_have_limits() {
    let told = |sent: String| listen(&[sent.as_bytes()]).0;
    let target = |length: usize| {
        format!(
            "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n",
            "x".repeat(length - 1)
        )
    };
    assert!(told(target(8192)).starts_with("[GET /xxx"));
    assert_eq!(told(target(8193)), "!414");
    assert_eq!(told(target(70_000)), "!414");
    let lines = |count: usize| {
        format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "A: b\r\n".repeat(count - 1)
        )
    };
    assert_eq!(told(lines(256)), "[GET / HTTP/1.1]");
    assert_eq!(told(lines(257)), "!431");
    assert_eq!(
        told(format!("GET / HTTP/1.1\r\nHost: {}", "a".repeat(65_536))),
        "!431"
    );
    let chunks = |count: usize| {
        let chunk = "32\r\n".to_owned() + &"x".repeat(50) + "\r\n";
        format!(
            "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
            chunk.repeat(count)
        )
    };
    assert!(told(chunks(2)).ends_with("x']"));
    assert!(told(chunks(3)).ends_with("x' !413"));
    assert_eq!(told(chunks(5)), told(chunks(3)));
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => prop::sample::select(CASES).prop_map(|(sent, _)| bytes(sent)),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..4).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn requests_do_not_depend_on_how_they_were_split(
        sent in words(), cuts in prop::collection::vec(0..60_u8, 0..12),
        flip in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut sent = sent;
        if let Some((at, byte)) = flip && !sent.is_empty() {
            let at = at.index(sent.len());
            sent[at] = byte;
        }
        prop_assert_eq!(listen(&oracle::pieces(&sent, &cuts)), listen(&[&sent]));
    }
}

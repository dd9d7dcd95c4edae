//! What the server role makes of what clients send: the table of `oracle::requests`, limits, and properties: nothing
//! depends on how the bytes were split, on what was remembered, or on who broke off.

mod oracle;

use oracle::requests::{CASES, bytes};
use oracle::server::{listen, listen_after, listen_haltingly};
use proptest::prelude::*;
use std::ops::ControlFlow;
use wire::http1::{Limits, Refusal, RequestCache, RequestHead, Server, ServerSink};

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
fn no_case_depends_on_what_was_remembered_or_on_who_broke_off() {
    for (sent, _) in CASES {
        let sent = bytes(sent);
        let whole = listen(&[&sent]);
        assert_eq!(listen_after(&sent, &[&sent]), whole, "{sent:?}");
        assert_eq!(listen_haltingly(&[&sent]), whole, "{sent:?}");
        for pieces in oracle::splits(&sent) {
            assert_eq!(listen_haltingly(&pieces), whole, "{pieces:?}");
        }
    }
}

#[test]
fn heads_targets_and_bodies_have_limits() {
    let told = |sent: String| {
        let whole = listen(&[sent.as_bytes()]);
        let pieces: Vec<_> = sent.as_bytes().chunks(1000).collect();
        assert_eq!(listen(&pieces), whole);
        whole.0
    };
    let line = |length: usize, end: &str| {
        let rest = "GET / HTTP/1.1".len();
        format!("GET /{} HTTP/1.1{end}", "x".repeat(length - rest))
    };
    let end = "\r\nHost: a\r\n\r\n";
    assert!(told(line(8192, end)).starts_with("[GET /xxx"));
    assert_eq!(told(line(8193, end)), "!414");
    assert_eq!(told(line(8193, "\r\nno header\r\n\r\n")), "!414");
    assert_eq!(told(line(8192, "")), "...");
    assert_eq!(told(line(8194, "")), "!414");
    assert_eq!(told(line(70_000, end)), "!414");
    assert_eq!(told("x".repeat(8193)), "...");
    assert_eq!(told("x".repeat(8194)), "!414");
    let lines = |count: usize, end: &str| {
        let lines = "A: b\r\n".repeat(count - 1);
        format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}{end}")
    };
    assert_eq!(told(lines(256, "\r\n")), "[GET / HTTP/1.1]");
    assert_eq!(told(lines(256, "")), "...");
    assert_eq!(told(lines(257, "\r\n")), "!431");
    assert_eq!(told(lines(257, "")), "!431");
    let head = |length: usize| {
        let (start, end) = ("GET / HTTP/1.1\r\nHost: a\r\nA: ", "\r\n\r\n");
        let value = "v".repeat(length - start.len() - end.len());
        format!("{start}{value}{end}")
    };
    assert_eq!(told(head(65_536)), "[GET / HTTP/1.1]");
    assert_eq!(told(head(65_537)), "!431");
    let begun = |length: usize| head(70_000)[..length].to_owned();
    assert_eq!(told(begun(65_535)), "...");
    assert_eq!(told(begun(65_536)), "!431");
    let sized = |length: usize| {
        let body = "x".repeat(length);
        format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    assert!(told(sized(100)).ends_with("x']"));
    assert_eq!(told(sized(101)), "!413");
}

#[test]
fn chunked_bodies_have_limits() {
    let told = |body: String| {
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let told = listen(&[(head.to_owned() + &body).as_bytes()]).0;
        told.trim_start_matches("[PUT / HTTP/1.1").trim().to_owned()
    };
    let chunks = |count: usize| {
        let chunk = format!("32\r\n{}\r\n", "x".repeat(50));
        chunk.repeat(count) + "0\r\n\r\n"
    };
    let hundred = "x".repeat(100);
    assert_eq!(told(chunks(2)), format!("'{hundred}']"));
    assert_eq!(told(chunks(3)), format!("'{hundred}' !413"));
    assert_eq!(
        told(format!("65\r\n{hundred}x")),
        format!("'{hundred}' !413")
    );
    let extension = |length: usize| format!("0;{}\r\n\r\n", "e".repeat(length - 1));
    assert_eq!(told(extension(4096)), "]");
    assert_eq!(told(extension(4097)), "!400");
    let spread = |count: usize| "1;eeeeeee\r\nx\r\n".repeat(count);
    assert!(told(spread(50) + &extension(4096 - 400)).ends_with("x']"));
    assert!(told(spread(50) + &extension(4097 - 400)).ends_with("x' !400"));
    let trailers = |length: usize| format!("0\r\nT:{}\r\n\r\n", "t".repeat(length - 6));
    assert_eq!(told(trailers(16_384)), "]");
    assert_eq!(told(trailers(16_385)), "!431");
}

#[test]
fn a_smaller_limit_on_heads_holds_for_the_request_line_too() {
    let told = |sent: &str| {
        let limits = Limits {
            head: 40,
            ..Limits::default()
        };
        let mut requests = RequestCache::new(limits);
        let result =
            Server::default().receive(&mut requests, sent.as_bytes(), &mut Asks::default());
        result.map_err(|refusal| refusal.status)
    };
    assert_eq!(told("GET /12345678901 HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(38));
    assert_eq!(
        told("GET /1234567890123 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Ok(40)
    );
    assert_eq!(
        told("GET /12345678901234 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Err(431)
    );
    assert_eq!(told(&format!("GET /{}", "x".repeat(34))), Ok(39));
    assert_eq!(told(&format!("GET /{}", "x".repeat(35))), Err(414));
}

#[test]
fn what_is_refused_is_told_with_its_first_line() {
    let told = |pieces: &[&str]| {
        let (mut server, mut asks) = (Server::default(), Asks::default());
        let mut requests = RequestCache::new(Limits::default());
        let result = pieces.iter().try_for_each(|piece| {
            let used = server.receive(&mut requests, piece.as_bytes(), &mut asks)?;
            assert_eq!(used, piece.len());
            Ok(())
        });
        let begun = String::from_utf8(server.begun().to_vec()).unwrap();
        let status = result.err().map(|refusal: Refusal| refusal.status);
        (status, asks.refused, begun)
    };
    let line = |text: &str| vec![text.to_owned()];
    type Case<'a> = (&'a [&'a str], Option<u16>, Vec<String>, &'a str);
    let cases: &[Case<'_>] = &[
        (
            &["GET /#\x01 HTTP/1.1\r\nHost: a\r\n\r\n"],
            Some(400),
            line("GET /#\x01 HTTP/1.1"),
            "",
        ),
        (
            &["GET / HTTP/1.1\r\nHost: a\r\nA", " : b\r\n"],
            Some(400),
            line("GET / HTTP/1.1"),
            "",
        ),
        (
            &["GET / HTTP/1.1\r\nHost: a\r\n\r\nnon", "sense\n"],
            Some(400),
            line("nonsense"),
            "",
        ),
        (&["{\"a\": 1}"], Some(400), line("{\"a\": 1}"), ""),
        (&["\r\n\r\n\r\n\r\n\r\n"], Some(400), line(""), ""),
        (
            &["POST / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n"],
            Some(417),
            line("POST / HTTP/1.1"),
            "",
        ),
        // What is wrong with a body is told when the request is known.
        (
            &["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx"],
            Some(400),
            vec![],
            "",
        ),
        (&["GET / HT"], None, vec![], "GET / HT"),
        (
            &["GET / HTTP/1.1\r", "\nHo"],
            None,
            vec![],
            "GET / HTTP/1.1",
        ),
        (&["GET / HTTP/1.1\r\nHost: a\r\n\r\n"], None, vec![], ""),
    ];
    for (pieces, status, refused, begun) in cases {
        let wanted = (*status, refused.clone(), (*begun).to_owned());
        assert_eq!(told(pieces), wanted, "{pieces:?}");
    }
}

/// What was asked, and how often.
#[derive(Default)]
struct Asks {
    refused: Vec<String>,
    lines: Vec<(String, Vec<u8>)>,
    authorities: Vec<String>,
    known: Vec<bool>,
}

impl ServerSink for Asks {
    fn request(&mut self, asked: &RequestHead<'_>) {
        let line = |(name, value): (&str, &[u8])| (name.to_owned(), value.to_vec());
        self.lines.extend(asked.headers().map(line));
        self.authorities.push(asked.authority().to_owned());
        self.known.push(asked.key.is_some());
        for (name, value) in asked.headers() {
            assert!(asked.header(&name.to_uppercase()).is_some_and(|first| {
                first == value || asked.headers().any(|(_, other)| other == first)
            }));
        }
        assert_eq!(asked.header("missing"), None);
    }
    fn body(&mut self, _: &[u8]) {}
    fn complete(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn refused(&mut self, line: &[u8]) {
        self.refused.push(String::from_utf8(line.to_vec()).unwrap());
    }
}

#[test]
fn a_request_has_its_headers_and_its_authority_however_it_was_read() {
    let mut asks = Asks::default();
    let (mut requests, mut server) = (RequestCache::default(), Server::default());
    let sent = bytes(
        "GET / HTTP/1.1⏎Host:  a:80 ⏎A:⏎B: b, é\t;⏎A: 2⏎⏎\
         GET http://b:1/ HTTP/1.1⏎Host:  a:80 ⏎A:⏎B: b, é\t;⏎A: 2⏎⏎\
         GET /longer HTTP/1.1⏎Host:  a:80 ⏎A:⏎B: b, é\t;⏎A: 2⏎⏎\
         GET / HTTP/1.0⏎⏎",
    );
    for _ in 0..2 {
        server.receive(&mut requests, &sent, &mut asks).unwrap();
        server = Server::default();
    }
    let lines: [(&str, &[u8]); 4] = [
        ("Host", b"a:80"),
        ("A", b""),
        ("B", b"b, \xe9\t;"),
        ("A", b"2"),
    ];
    let lines = lines.map(|(name, value)| (name.to_owned(), value.to_vec()));
    let four_times: Vec<_> = lines.iter().cycle().take(24).cloned().collect();
    assert_eq!(asks.lines, four_times);
    assert_eq!(
        asks.authorities,
        ["a:80", "b:1", "a:80", "", "a:80", "b:1", "a:80", ""]
    );
    assert_eq!(asks.known, [true; 8]);
}

#[test]
fn a_head_that_is_too_long_to_be_remembered_has_no_key() {
    let mut asks = Asks::default();
    let sent = format!("GET / HTTP/1.0\r\nA: {}\r\n\r\n", "a".repeat(2000));
    let (mut requests, mut server) = (RequestCache::default(), Server::default());
    server
        .receive(&mut requests, sent.as_bytes(), &mut asks)
        .unwrap();
    assert_eq!(asks.known, [false]);
}

#[test]
fn what_is_behind_a_break_is_left() {
    struct Breaks;
    impl ServerSink for Breaks {
        fn request(&mut self, _: &RequestHead<'_>) {}
        fn body(&mut self, _: &[u8]) {}
        fn complete(&mut self) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let get = bytes("GET /⌂⏎");
    let put = bytes("PUT /⌂Content-Length: 2⏎⏎hi");
    let chunked = bytes("PUT /⌂Transfer-Encoding: chunked⏎⏎1⏎x⏎0⏎⏎");
    let last = bytes("GET / HTTP/1.0⏎⏎");
    let sent = [&get[..], &put, &chunked, &get, &last, b"more"].concat();
    let (mut requests, mut server) = (RequestCache::default(), Server::default());
    let mut rest = &sent[..];
    for request in [&get, &put, &chunked, &get, &last] {
        let used = server.receive(&mut requests, rest, &mut Breaks);
        assert_eq!(used, Ok(request.len()));
        rest = &rest[request.len()..];
    }
    assert_eq!(server.receive(&mut requests, rest, &mut Breaks), Ok(4));
    assert!(server.is_over());
}

#[test]
fn a_refusal_says_why_but_not_to_head() {
    let refusal = Refusal {
        status: 400,
        reason: "it is malformed",
        is_head: false,
    };
    let said = |refusal: Refusal| {
        let mut out = b"before ".to_vec();
        refusal.encode("Fri, 20 Nov 2026 06:20:22 GMT", &mut out);
        String::from_utf8(out).unwrap()
    };
    let head = "before HTTP/1.1 400 Bad Request\r\nDate: Fri, 20 Nov 2026 06:20:22 GMT\r\n\
        Content-Type: text/plain\r\nContent-Length: 16\r\nConnection: close\r\n\r\n";
    assert_eq!(said(refusal), format!("{head}it is malformed\n"));
    let is_head = true;
    assert_eq!(said(Refusal { is_head, ..refusal }), head);
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => prop::sample::select(CASES).prop_map(|(sent, _)| bytes(sent)),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..4).prop_map(|words| words.concat())
}

/// What is served whole and leaves the connection as it was.
fn is_kept(told: &str) -> bool {
    told.ends_with(']') && !told.contains(" close")
}

proptest! {
    #[test]
    fn requests_do_not_depend_on_how_they_were_split(
        sent in words(), cuts in prop::collection::vec(0..60_u8, 0..12), before in words(),
        flip in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut sent = sent;
        if let Some((at, byte)) = flip && !sent.is_empty() {
            let at = at.index(sent.len());
            sent[at] = byte;
        }
        let whole = listen(&[&sent]);
        let pieces = oracle::pieces(&sent, &cuts);
        prop_assert_eq!(&listen(&pieces), &whole);
        prop_assert_eq!(&listen_haltingly(&pieces), &whole);
        prop_assert_eq!(&listen_after(&before, &pieces), &whole);
    }

    #[test]
    fn requests_in_a_row_are_told_as_each_alone(
        row in prop::collection::vec(prop::sample::select(CASES), 0..20),
        last in prop::sample::select(CASES),
    ) {
        let mut row: Vec<_> = row.into_iter().filter(|(_, told)| is_kept(told)).collect();
        row.push(last);
        let sent: Vec<_> = row.iter().map(|(sent, _)| bytes(sent)).collect();
        let told: Vec<_> = row.iter().map(|(_, told)| *told).collect();
        let told = told.join(" ");
        prop_assert_eq!(listen(&[&sent.concat()]).0, told.trim());
    }

    #[test]
    fn any_bytes_are_borne(sent in prop::collection::vec(any::<u8>(), 0..400)) {
        let whole = listen(&[&sent]);
        prop_assert_eq!(listen(&sent.chunks(1).collect::<Vec<_>>()), whole);
    }
}

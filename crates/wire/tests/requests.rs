//! What is sent, and what our own server role reads of it.

mod oracle;

use oracle::server::listen;
use wire::http1::Response;
use wire::{Dialect, Request, Version, header_is_valid};

const AGENT: &str = concat!("User-Agent: weigh/", env!("CARGO_PKG_VERSION"), "⏎");

/// HTTP/1.1 without keep-alive.
const CLOSING: Dialect = Dialect {
    version: Version::Http11,
    keepalive: false,
};

fn encoded(request: &Request<'_>) -> String {
    encoded_in(Dialect::default(), request)
}

fn encoded_in(dialect: Dialect, request: &Request<'_>) -> String {
    let mut out = b"before".to_vec();
    dialect.encode(request, &mut out);
    let text = String::from_utf8(out)
        .expect("the head is text")
        .replace("\r\n", "⏎");
    text.strip_prefix("before")
        .expect("the head is appended")
        .to_owned()
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

#[test]
fn a_plain_request_has_host_and_the_defaults() {
    let plain = Request {
        path: "/a?b",
        authority: "example.org:81",
        ..Request::default()
    };
    assert_eq!(
        encoded(&plain),
        format!("GET /a?b HTTP/1.1⏎Host: example.org:81⏎{AGENT}Accept: */*⏎⏎")
    );
}

#[test]
fn the_connection_header_says_what_the_version_does_not() {
    let connection = |version, keepalive| {
        let text = encoded_in(Dialect { version, keepalive }, &Request::default());
        text.split('⏎')
            .find(|line| line.starts_with("Connection"))
            .map(str::to_owned)
    };
    assert_eq!(connection(Version::Http11, true), None);
    assert_eq!(
        connection(Version::Http11, false).as_deref(),
        Some("Connection: close")
    );
    assert_eq!(
        connection(Version::Http10, true).as_deref(),
        Some("Connection: keep-alive")
    );
    assert_eq!(connection(Version::Http10, false), None);
}

#[test]
fn a_body_is_announced_with_its_length_even_when_empty() {
    let length = |body_length| {
        encoded(&Request {
            method: "POST",
            body_length,
            ..Request::default()
        })
        .contains("⏎Content-Length: 0⏎")
    };
    assert!(length(Some(0)));
    assert!(!length(None));
}

#[test]
fn a_users_header_replaces_the_default_of_its_name() {
    let given = headers(&[
        ("X-A", "1"),
        ("user-agent", "other"),
        ("HOST", "b"),
        ("X-A", "2"),
        ("accept", "text/html"),
    ]);
    let request = Request {
        authority: "a",
        headers: &given,
        ..Request::default()
    };
    let expected = "GET / HTTP/1.1⏎HOST: b⏎X-A: 1⏎user-agent: other⏎X-A: 2⏎accept: text/html⏎⏎";
    assert_eq!(encoded(&request), expected);
    let given = headers(&[("connection", "keep-alive")]);
    let request = Request {
        headers: &given,
        ..Request::default()
    };
    let text = encoded_in(CLOSING, &request);
    assert!(text.ends_with("⏎connection: keep-alive⏎⏎"), "{text}");
    assert!(!text.contains("close"), "{text}");
}

#[test]
fn methods_and_headers_that_would_break_the_request_are_refused() {
    for good in ["GET", "PROPFIND", "M-SEARCH", "x"] {
        assert!(header_is_valid(good, ""), "{good}");
    }
    for bad in ["", "GET /", "GET\r\n", "GÉT", "G:T", "(GET)"] {
        assert!(!header_is_valid(bad, ""), "{bad}");
    }
    for (name, value) in [("A", ""), ("X-A", "a b\tc"), ("a", "é"), ("x_y", "\"q\"")] {
        assert!(header_is_valid(name, value), "{name}: {value}");
    }
    for (name, value) in [
        ("", "a"),
        ("A ", "a"),
        ("A:", "a"),
        ("A", "a\r\nB: b"),
        ("A", "\0"),
        ("A", "\x7f"),
        ("É", "a"),
    ] {
        assert!(!header_is_valid(name, value), "{name}: {value}");
    }
}

#[test]
fn our_server_reads_what_our_client_asks() {
    let given = headers(&[("Cookie", "a=b")]);
    let mut out = Vec::new();
    let plain = Request {
        path: "/x",
        authority: "h",
        headers: &given,
        ..Request::default()
    };
    let put = Request {
        method: "PUT",
        body_length: Some(2),
        ..plain
    };
    let old = Dialect {
        version: Version::Http10,
        ..Dialect::default()
    };
    Dialect::default().encode(&plain, &mut out);
    Dialect::default().encode(&put, &mut out);
    out.extend_from_slice(b"hi");
    old.encode(&plain, &mut out);
    CLOSING.encode(&plain, &mut out);
    let expected =
        "[GET /x HTTP/1.1] [PUT /x HTTP/1.1 'hi'] [GET /x HTTP/1.0] [GET /x HTTP/1.1 close]";
    assert_eq!(listen(&[&out]).0, expected);
}

#[test]
fn our_client_reads_what_our_server_answers() {
    let answer = |version, keepalive, content_length, status| {
        let mut out = Vec::new();
        let headers = [("Content-Type", "text/html")];
        let date = "Fri, 20 Nov 2026 06:20:22 GMT";
        Response {
            status,
            version,
            date,
            content_length,
            keepalive,
            headers: &headers,
        }
        .encode(&mut out);
        out
    };
    let told = |answer: &[u8]| oracle::client::line(&oracle::client::converse("G", &[answer]));
    let plain = answer(Version::Http11, true, Some(12_034), 200);
    assert_eq!(
        String::from_utf8_lossy(&plain),
        "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 06:20:22 GMT\r\nContent-Type: text/html\r\nContent-Length: 12034\r\n\r\n"
    );
    assert_eq!(
        told(&answer(Version::Http11, true, Some(0), 404)),
        "[404 ok/107]"
    );
    assert_eq!(
        told(&answer(Version::Http11, true, None, 304)),
        "[304 ok/91]"
    );
    assert_eq!(
        told(&answer(Version::Http10, true, Some(0), 200)),
        "[200 ok/124]"
    );
    assert_eq!(
        told(&answer(Version::Http10, false, Some(0), 200)),
        "[200 close ok/119] closing"
    );
    assert_eq!(
        told(&answer(Version::Http11, false, Some(0), 299)),
        "[299 close ok/117] closing"
    );
}

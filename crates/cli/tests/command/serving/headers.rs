//! Headers that the operator adds.

use super::*;

fn start(bench: &Bench, headers: &[&str]) -> Serving {
    let mut words = Serving::words("site -w 1");
    for header in headers {
        words.extend(["--header".to_owned(), (*header).to_owned()]);
    }
    let child = bench.weigh(&words).stderr(Stdio::inherit()).spawn();
    Serving::of(child.unwrap())
}

#[test]
fn they_are_in_what_is_there_and_in_no_error() {
    let bench = site();
    let server = start(
        &bench,
        &[
            "Cache-Control: public, max-age=60",
            "access-control-allow-origin:*",
        ],
    );
    let tag = server.get("/large.bin", "");
    let if_none_match = format!("If-None-Match: {}\r\n", tag.line("ETag").unwrap());
    let cases = [
        ("GET", "/large.bin", "", "200"),
        ("HEAD", "/large.bin", "", "200"),
        ("GET", "/nop.gif", "", "200"),
        ("GET", "/app.js", "Accept-Encoding: gzip\r\n", "200"),
        ("GET", "/large.bin", "Range: bytes=5-9\r\n", "206"),
        ("GET", "/large.bin", &if_none_match, "304"),
        ("GET", "/docs", "", "301"),
        ("OPTIONS", "/hello", "", "204"),
        ("GET", "/none", "", "404"),
        ("POST", "/hello", "", "405"),
        ("GET", "/large.bin", "If-Match: \"x\"\r\n", "412"),
        ("GET", "/large.bin", "Range: bytes=9999999-\r\n", "416"),
        ("GET", "/hello#", "", "400"),
        ("BREW", "/hello", "", "501"),
    ];
    for (method, path, more, status) in cases {
        let ask = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n");
        let answer = server.ask(ask);
        assert_eq!(answer.status(), status, "{method} {path}");
        let is_there = status < "400";
        let wanted = is_there.then_some("public, max-age=60");
        assert_eq!(answer.line("Cache-Control"), wanted, "{method} {path}");
        let wanted = is_there.then_some("*");
        assert_eq!(answer.line("access-control-allow-origin"), wanted, "{path}");
    }
    let page = server.page("/metrics");
    assert_eq!(
        page.line("Cache-Control"),
        Some("no-store"),
        "the operator's pages have their own"
    );
    server.stop();
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let bench = site();
    let cases = [
        ("X-A", "--header `X-A` has no colon; write 'Name: value'"),
        (
            "X-A: b\r\nX-C: d",
            "the header `X-A` cannot be added: a name is a word",
        ),
        (
            "X A: b",
            "the header `X A` cannot be added: a name is a word",
        ),
        (": b", "the header `` cannot be added: a name is a word"),
        (
            "connection: close",
            "the header `connection` cannot be added: the server says that by itself",
        ),
        ("Content-Length: 5", "the server says that by itself"),
        (
            "Transfer-Encoding: chunked",
            "the server says that by itself",
        ),
        ("Upgrade: h2c", "the server says that by itself"),
    ];
    for (header, why) in cases {
        let words = [
            "serve",
            "site",
            "--listen",
            "127.0.0.1:0",
            "--header",
            header,
        ];
        bench.say_words(&words).refused(&[why]);
    }
}

//! What the operator hears, what is logged, and what is printed at the end.

use super::*;

#[test]
fn what_the_operator_hears_is_what_clients_sent_and_what_is_printed_at_the_end() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 3");
    for round in 1..=20 {
        server.get("/hello", "");
        server.get("/none", "");
        server.ask("nonsense\r\n\r\n");
        assert_eq!(server.count("requests"), 2 * round);
        assert_eq!(server.count("refused"), round);
        assert_eq!(server.count("responses_4xx"), 2 * round);
        assert_eq!(server.count("connections"), 3 * round);
    }
    let _here = server.connect();
    let mut talks = server.connect();
    talks
        .write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    one_answer(&mut talks);
    // The last of those who have gone may have gone just now.
    while server.count("open") != 2 {
        std::thread::yield_now();
    }
    let text = String::from_utf8(server.page("/metrics").body).unwrap();
    assert!(text.contains("\nweigh_requests_total 41\n"), "{text}");
    assert_eq!(
        server.page("/metrics").line("Content-Type"),
        Some("text/plain; version=0.0.4")
    );
    let index = server.page("/");
    assert_eq!(index.body, b"/counters.json\n/metrics\n");
    assert_eq!(
        server.page("/hello").status(),
        "404",
        "nothing else is served there"
    );
    let counted = server.stop();
    assert_eq!((counted.requests(), counted.of("connections")), (41, 62));
    assert_eq!(
        (counted.of("bytes_sent") > 0, counted.of("accept_errors")),
        (true, 0)
    );
}

#[test]
fn each_request_is_a_line_of_the_log() {
    let bench = site();
    bench.file("access.log", "what was there before\n");
    let server = Serving::start(&bench, "site -w 2 --log access.log");
    server.get(
        "/hello?x=1",
        "Referer: http://r/\r\nUser-Agent: Browser \"1\"\r\n",
    );
    server.get("/large.bin", "");
    server.ask("HEAD /docs/ HTTP/1.0\r\n\r\n");
    server.ask("nonsense\r\n\r\n");
    server.ask("GET /\"\x7f HTTP/1.1\r\nHost: a\r\n\r\n");
    server.ask("GET / HTTP/1.1\r\nUser-Agent: x\r\n\r\n");
    server.stop();
    let text = fs::read_to_string(bench.path("access.log")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.remove(0), "what was there before");
    let mut lines: Vec<_> = lines
        .into_iter()
        .map(|line| {
            let (begin, rest) = line.split_once("] ").unwrap();
            assert!(
                begin.starts_with("127.0.0.1 - - [") && begin.ends_with(" +0000"),
                "{line}"
            );
            rest
        })
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            r#""GET / HTTP/1.1" 400 24 "-" "-" "Host must be there once""#,
            r#""GET /\"\x7f HTTP/1.1" 400 77 "-" "-" "the target has a control character or # in it, which must be percent-encoded""#,
            r#""GET /hello?x=1 HTTP/1.1" 200 21 "http://r/" "Browser \"1\"""#,
            r#""GET /large.bin HTTP/1.1" 200 3000000 "-" "-""#,
            r#""HEAD /docs/ HTTP/1.0" 200 0 "-" "-""#,
            r#""nonsense" 400 30 "-" "-" "the request line is malformed""#,
        ]
    );
}

#[test]
fn a_full_disk_stops_no_answer_and_what_it_lost_is_counted() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1 --log /dev/full");
    let mut stream = server.connect();
    let ask = format!(
        "GET /hello?{} HTTP/1.1\r\nHost: a\r\n\r\n",
        "x".repeat(2000)
    );
    for _ in 0..300 {
        stream.write_all(ask.as_bytes()).unwrap();
        assert_eq!(one_answer(&mut stream), b"not the built-in one\n");
    }
    drop(stream);
    let counted = server.stop();
    assert_eq!(
        (counted.requests(), counted.of("log_lines_lost")),
        (300, 300)
    );
}

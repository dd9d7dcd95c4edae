//! What clients get of a folder.

use super::*;

#[test]
fn a_folder_is_served_as_people_expect() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 2");
    let body = |path: &str| String::from_utf8(server.get(path, "").body).unwrap();
    assert_eq!(body("/"), "<p>start\n");
    assert_eq!(body("/docs/"), "<p>docs\n");
    assert_eq!(body("/hello"), "not the built-in one\n");
    assert_eq!(
        server.get("/100.html", "").body.len(),
        100,
        "built in, as no file has its name"
    );
    assert_eq!(server.get("/docs", "").line("Location"), Some("/docs/"));

    let whole = server.get("/large.bin", "");
    assert!(whole.body == large() && whole.is_orderly);
    assert_eq!(whole.line("Content-Type"), Some("application/octet-stream"));
    let part = server.get("/large.bin", "Range: bytes=1000000-2999998\r\n");
    assert_eq!(
        (part.status(), part.line("Content-Range")),
        ("206", Some("bytes 1000000-2999998/3000000"))
    );
    assert!(part.body == large()[1_000_000..2_999_999]);
    let tag = whole.line("ETag").unwrap();
    assert_eq!(
        server
            .get("/large.bin", &format!("If-None-Match: {tag}\r\n"))
            .status(),
        "304"
    );
    let packed = server.get("/app.js", "Accept-Encoding: gzip\r\n");
    assert_eq!(packed.line("Content-Encoding"), Some("gzip"));
    assert_eq!(packed.body, b"pretend this is gzip");
    assert_eq!(server.get("/app.js", "").body, b"var plain;\n");

    for path in [
        "/link.txt",
        "/../outside.txt",
        "/%2e%2e/outside.txt",
        "/.secret",
        "/docs/../.secret",
        "/none",
    ] {
        let answer = server.get(path, "");
        assert!(
            ["404", "400", "403"].contains(&answer.status()),
            "{path}: {answer:?}"
        );
        let text = String::from_utf8(answer.body).unwrap();
        assert!(
            !text.contains("outside") && !text.contains("secret"),
            "{path}: {text}"
        );
    }
    let counted = server.stop();
    assert_eq!(counted.requests(), 16);
    assert_eq!((counted.of("responses_4xx"), counted.of("cut")), (6, 0));
}

#[test]
fn several_large_files_and_small_ones_come_whole_over_one_connection() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    let asks = [
        "/large.bin",
        "/hello",
        "/large.bin",
        "/0.html",
        "/large.bin",
    ]
    .map(|path| {
        let last = if path == "/0.html" { "X: y\r\n" } else { "" };
        format!("GET {path} HTTP/1.1\r\nHost: a\r\n{last}\r\n")
    });
    let mut stream = server.connect();
    let mut writes = stream.try_clone().unwrap();
    let all = asks.concat().repeat(3);
    let writer = std::thread::spawn(move || writes.write_all(all.as_bytes()).unwrap());
    for _ in 0..3 {
        for length in [3_000_000, 21, 3_000_000, 0, 3_000_000] {
            let answer = one_answer(&mut stream);
            assert_eq!(answer.len(), length);
            assert!(length < 1000 || answer == large());
        }
    }
    writer.join().unwrap();
    drop(stream);
    assert_eq!(server.stop().requests(), 15);
}

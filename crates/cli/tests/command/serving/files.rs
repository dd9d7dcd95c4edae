//! What clients get of a folder.

use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

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

/// What nginx, lighttpd and Apache serve without percent-encoding, a server of files has to serve too.
#[test]
fn quotes_angle_brackets_and_bytes_beyond_ascii_need_no_percent_encoding() {
    let bench = site();
    bench.file("site/qu\"o<t>e.txt", "quoted\n");
    bench.file("site/café", "latte\n");
    let latin = OsStr::from_bytes(b"site/caf\xe9");
    fs::write(bench.path("").join(latin), "au lait\n").unwrap();
    let server = Serving::start(&bench, "site -w 1 --log access.log");
    let cases: &[(&[u8], &str)] = &[
        (b"/qu\"o<t>e.txt", "quoted\n"),
        (b"/qu%22o%3Ct%3Ee.txt", "quoted\n"),
        (b"/caf\xc3\xa9", "latte\n"),
        (b"/caf\xe9?\"\xff\"", "au lait\n"),
        (b"http://a/caf\xc3\xa9?<", "latte\n"),
    ];
    for (target, body) in cases {
        let ask = [b"GET ", *target, b" HTTP/1.0\r\n\r\n"].concat();
        let answer = server.ask(ask);
        assert_eq!(answer.status(), "200", "{}", target.escape_ascii());
        assert_eq!(answer.body, body.as_bytes());
    }
    for target in ["/é\x7f", "/\"#\"", "/é\x1b"] {
        let ask = format!("GET {target} HTTP/1.0\r\n\r\n");
        assert_eq!(server.ask(ask).status(), "400", "{target:?}");
    }
    let folder = server.ask(b"GET /docs?\"\xc3\xa9 HTTP/1.0\r\n\r\n");
    assert_eq!(folder.line("Location"), Some("/docs/?%22%C3%A9"));
    assert_eq!(server.stop().requests(), 6);
    let text = fs::read_to_string(bench.path("access.log")).unwrap();
    let targets = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("\"GET ")?;
        rest.split_once(" HTTP/1.0\" 200 ")
            .map(|(target, _)| target)
    });
    assert_eq!(
        targets.collect::<Vec<_>>(),
        [
            r#"/qu\"o<t>e.txt"#,
            "/qu%22o%3Ct%3Ee.txt",
            r"/caf\xc3\xa9",
            r#"/caf\xe9?\"\xff\""#,
            r"/caf\xc3\xa9?<",
        ],
        "{text}"
    );
}

/// A client that sends a large body to what takes none need not send it before it is told.
#[test]
fn an_error_does_not_wait_for_the_body_and_the_connection_goes_on_behind_it() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1 --log access.log --max-body 1m");
    let mut stream = server.connect();
    let post = "POST /docs/ HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n";
    stream.write_all(post.as_bytes()).unwrap();
    let told = one_answer(&mut stream);
    assert_eq!(told, b"Files can be asked for with GET and HEAD.\n");
    stream.write_all(&[b'x'; 300_000]).unwrap();
    let get = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all(get.as_bytes()).unwrap();
    assert_eq!(one_answer(&mut stream), b"not the built-in one\n");
    drop(stream);

    let refused = server.ask("PUT /x HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(refused.status(), "405");
    assert_eq!(refused.line("Allow"), Some("GET, HEAD, OPTIONS"));
    let large = server.ask("PUT /x HTTP/1.0\r\nContent-Length: 1000001\r\n\r\n");
    assert_eq!(large.status(), "413");
    // What is malformed behind a response gets no second one.
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let refused = server.ask(chunked);
    assert_eq!((refused.status(), refused.is_orderly), ("405", true));
    assert_eq!(refused.body.len(), 42);
    let counted = server.stop();
    assert_eq!((counted.requests(), counted.of("refused")), (4, 1));
    assert_eq!(counted.of("responses_4xx"), 4);
}

/// curl sends `Expect: 100-continue` with a large body, and sends a small one at once.
#[test]
fn curl_is_told_405_whatever_the_size_of_its_body() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    for length in [10, 5_000_000] {
        let body = bench.file("body", vec![b'x'; length]);
        let said = Command::new("curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "--data-binary",
            ])
            .arg(format!("@{}", body.display()))
            .arg(format!("http://{}/hello", server.at))
            .output();
        let Ok(said) = said else {
            eprintln!("curl is not installed: nothing was tested");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&said.stdout), "405", "{length}");
    }
    assert_eq!(server.stop().of("responses_4xx"), 2);
}

#[test]
fn names_tell_the_type_of_content() {
    let bench = site();
    let cases = [
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.py", "text/plain; charset=utf-8"),
        ("a.mpg", "video/mpeg"),
        ("a.3gp", "video/3gpp"),
        ("a.wmv", "video/x-ms-wmv"),
        ("a.kml", "application/vnd.google-earth.kml+xml"),
        ("a.ppt", "application/vnd.ms-powerpoint"),
        ("a.crt", "application/x-x509-ca-cert"),
        ("A.SHTML", "text/html; charset=utf-8"),
        ("a.json", "application/json"),
        ("a.none", "application/octet-stream"),
    ];
    for (name, _) in cases {
        bench.file(&format!("site/{name}"), name);
    }
    let server = Serving::start(&bench, "site -w 1");
    for (name, kind) in cases {
        let answer = server.get(&format!("/{name}"), "");
        assert_eq!(answer.line("Content-Type"), Some(kind), "{name}");
    }
    server.stop();
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

#[test]
fn of_the_names_with_a_dot_only_well_known_is_served() {
    let bench = site();
    fs::create_dir_all(bench.path("site/.well-known/acme-challenge")).unwrap();
    fs::create_dir_all(bench.path("site/docs/.well-known")).unwrap();
    bench.file("site/.well-known/acme-challenge/token", "token\n");
    bench.file("site/.well-known/.hidden", "secret\n");
    bench.file("site/docs/.well-known/x", "secret\n");
    let server = Serving::start(&bench, "site -w 1");
    for path in ["/.well-known", "/%2Ewell-known"] {
        let answer = server.get(&format!("{path}/acme-challenge/token"), "");
        assert_eq!(
            (answer.status(), &answer.body[..]),
            ("200", &b"token\n"[..])
        );
    }
    let moved = server.get("/.well-known", "");
    assert_eq!(moved.line("Location"), Some("/.well-known/"));
    for path in [
        "/.well-known/",
        "/.well-known/.hidden",
        "/docs/.well-known/x",
        "/.secret",
        "/.well-known/../.secret",
    ] {
        assert_eq!(server.get(path, "").status(), "404", "{path}");
    }
    assert_eq!(server.stop().requests(), 8);
}

#[test]
fn a_range_of_a_file_that_was_overwritten_is_not_spliced_to_what_the_client_has() {
    let bench = site();
    let old_date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    bench.file("site/page.txt", "A".repeat(1000));
    let file = fs::File::options()
        .write(true)
        .open(bench.path("site/page.txt"));
    file.unwrap().set_modified(old_date).unwrap();
    let server = Serving::start(&bench, "site -w 1");
    // While it is young its tag is weak, whatever date it has.
    let tag = loop {
        let answer = server.get("/page.txt", "Range: bytes=0-499\r\n");
        assert!(answer.status() == "206" && answer.body == vec![b'A'; 500]);
        let tag = answer.line("ETag").unwrap().to_owned();
        if tag.starts_with('"') {
            break tag;
        }
        std::thread::yield_now();
    };
    fs::write(bench.path("site/page.txt"), "B".repeat(3000)).unwrap();
    let rest = server.get(
        "/page.txt",
        &format!("Range: bytes=500-\r\nIf-Range: {tag}\r\n"),
    );
    assert_eq!(
        (rest.status(), rest.line("Content-Length")),
        ("200", Some("3000"))
    );
    assert!(rest.body == vec![b'B'; 3000]);
    assert!(
        rest.line("ETag").unwrap().starts_with("W/"),
        "{}",
        rest.head
    );
    let whole = server.get("/page.txt", "");
    assert!(whole.body == vec![b'B'; 3000], "{}", whole.head);
    assert_eq!(server.stop().of("cut"), 0);
}

#[test]
fn a_download_whose_file_is_overwritten_is_reset_and_counted() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    for (length, times) in [(3_000_000, 1), (4_000_000, 2)] {
        bench.file("site/large.bin", large());
        let mut stream = server.connect();
        stream
            .write_all(b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        // It has begun; more than a part of it does not fit into the sockets.
        stream.read_exact(&mut [0; 17]).unwrap();
        fs::write(bench.path("site/large.bin"), vec![254; length]).unwrap();
        let answer = Answer::read(stream);
        assert!(!answer.is_orderly && answer.body.len() < 2_900_000);
        assert!(answer.body == large()[..answer.body.len()], "{length}");
        assert_eq!(server.count("cut_file"), times);
        assert!(server.get("/large.bin", "").body == vec![254; length]);
    }
    assert_eq!(server.stop().of("cut"), 2);
}

#[test]
fn files_are_sent_where_a_sandbox_forbids_sendfile() {
    for error in ["EPERM", "ENOSYS", "EINVAL"] {
        let bench = site();
        let Some(server) = Serving::injected(&bench, "site -w 1", "sendfile", error) else {
            return;
        };
        let whole = server.get("/large.bin", "");
        assert!(whole.is_orderly && whole.body == large(), "{error}");
        let part = server.get("/large.bin", "Range: bytes=1000000-2999998\r\n");
        assert!(part.body == large()[1_000_000..2_999_999], "{error}");
        let counted = server.stop();
        assert_eq!((counted.of("responses_2xx"), counted.of("cut")), (2, 0));
    }
}

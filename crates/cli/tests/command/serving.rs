//! `weigh serve` as somebody runs it who wants to serve a folder: what clients get, what is logged and counted, how it
//! stops, and what it says to wrong flags.

use crate::bench::{Bench, Counted, PATIENCE, Said, lives, signal};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdout, Stdio};

/// A `weigh serve` with the words of a line.
struct Serving {
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    at: String,
    admin: Option<String>,
}

impl Serving {
    /// Listens on a free port of 127.0.0.1, and on another for the operator.
    fn start(bench: &Bench, line: &str) -> Serving {
        Serving::of(
            bench
                .weigh(&Serving::words(line))
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap(),
        )
    }

    fn words(line: &str) -> Vec<String> {
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let words = fixed.into_iter().chain(line.split_whitespace());
        words.map(str::to_owned).collect()
    }

    fn of(mut child: Child) -> Serving {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let at = said(&mut out, "listening on ");
        let admin = Some(said(&mut out, "counts on "));
        Serving {
            child: Some(child),
            out,
            at,
            admin,
        }
    }

    fn connect(&self) -> TcpStream {
        connect(&self.at)
    }

    /// Asks, and reads to the end of the stream.
    fn ask(&self, says: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(says.as_bytes()).unwrap();
        Answer::read(stream)
    }

    /// A path of it, with more header lines.
    fn get(&self, path: &str, more: &str) -> Answer {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// A count, as the operator hears it.
    fn count(&self, name: &str) -> u64 {
        let page = self.page("/counters.json").body;
        let counts: serde_json::Value = serde_json::from_slice(&page).unwrap();
        counts[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {counts}"))
    }

    fn page(&self, path: &str) -> Answer {
        let mut stream = connect(self.admin.as_ref().unwrap());
        let says = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(says.as_bytes()).unwrap();
        Answer::read(stream)
    }

    fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// What it prints when SIGTERM has ended it.
    fn stop(mut self) -> Counted {
        let mut child = self.child.take().unwrap();
        signal("TERM", child.id());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
        Counted::of_text(text)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended already
            let _ = child.wait();
        }
    }
}

fn said(out: &mut impl BufRead, begin: &str) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let rest = line.trim_end().strip_prefix(begin);
    rest.unwrap_or_else(|| panic!("`weigh serve` said {line:?}"))
        .to_owned()
}

fn connect(at: &str) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What came until the end of the stream.
#[derive(Debug)]
struct Answer {
    head: String,
    body: Vec<u8>,
    /// The stream ended in good order.
    is_orderly: bool,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Answer {
        let mut all = Vec::new();
        let is_orderly = stream.read_to_end(&mut all).is_ok();
        let end = all.windows(4).position(|it| it == b"\r\n\r\n");
        let body = all.split_off(end.map_or(all.len(), |end| end + 4));
        Answer {
            head: String::from_utf8(all).unwrap(),
            body,
            is_orderly,
        }
    }

    fn status(&self) -> &str {
        self.head.get(9..12).unwrap_or("")
    }

    /// The value of a header line.
    fn line(&self, name: &str) -> Option<&str> {
        let begin = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&begin))
    }
}

/// A bench with a folder called `site`.
fn site() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("site/docs")).unwrap();
    bench.file("site/index.html", "<p>start\n");
    bench.file("site/hello", "not the built-in one\n");
    bench.file("site/docs/index.html", "<p>docs\n");
    bench.file("site/.secret", "secret\n");
    bench.file("site/app.js", "var plain;\n");
    bench.file("site/app.js.gz", "pretend this is gzip");
    bench.file("site/large.bin", large());
    bench.file("outside.txt", "outside\n");
    symlink("../outside.txt", bench.path("site/link.txt")).unwrap();
    bench
}

fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|at| (at % 253) as u8).collect()
}

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

/// The body of one answer of a connection that goes on.
fn one_answer(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    body
}

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
    assert!(
        lines[0].starts_with("\"-\" 400 ") && lines[0].ends_with(" \"-\" \"-\""),
        "{text}"
    );
    assert_eq!(
        lines[1..],
        [
            r#""GET /hello?x=1 HTTP/1.1" 200 21 "http://r/" "Browser \"1\"""#,
            r#""GET /large.bin HTTP/1.1" 200 3000000 "-" "-""#,
            r#""HEAD /docs/ HTTP/1.0" 200 0 "-" "-""#,
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

#[test]
fn those_who_hold_a_place_by_doing_nothing_are_cut_while_others_are_served() {
    let bench = site();
    let server = Serving::start(
        &bench,
        "site -w 1 --first-request-timeout 300ms --head-timeout 400ms --body-timeout 500ms --body-speed 1k \
         --keepalive-timeout 600ms --send-timeout 700ms --send-speed 100k",
    );
    let mut cut: Vec<(&str, TcpStream)> = Vec::new();
    let halves = [
        ("cut_first_request", ""),
        ("cut_head", "GET /hello HTTP/1.1\r\nHost: a\r\n"),
        (
            "cut_body",
            "PUT /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
        ),
        ("cut_idle", "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
    ];
    for (name, says) in halves {
        let mut stream = server.connect();
        stream.write_all(says.as_bytes()).unwrap();
        cut.push((name, stream));
    }
    // One that asks for more than its socket and the server's can hold, and reads nothing of it.
    let mut deaf = server.connect();
    let asks = "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20);
    deaf.write_all(asks.as_bytes()).unwrap();
    for (name, stream) in cut {
        let answer = Answer::read(stream);
        let status = match name {
            "cut_head" | "cut_body" => "408",
            "cut_idle" => "200",
            _ => "",
        };
        assert_eq!(
            (answer.status(), answer.is_orderly),
            (status, true),
            "{name}"
        );
        // Whoever asks is served meanwhile.
        assert_eq!(server.get("/hello", "").status(), "200");
        assert_eq!(server.count(name), 1, "{name}");
    }
    while server.count("cut_send") == 0 {
        assert_eq!(server.get("/hello", "").status(), "200");
    }
    assert!(!Answer::read(deaf).is_orderly, "what is not taken is reset");
    let counted = server.stop();
    assert_eq!((counted.of("cut"), counted.of("refused")), (5, 2));
}

#[test]
fn more_clients_than_there_are_places_are_told_so() {
    let bench = Bench::new();
    let server = Serving::start(
        &bench,
        "-w 1 --max-connections 5 --max-connections-per-address 3",
    );
    let here: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
                .unwrap();
            one_answer(&mut stream);
            stream
        })
        .collect();
    let told = Answer::read(server.connect());
    assert_eq!((told.status(), told.is_orderly), ("503", true));
    assert_eq!(told.line("Connection"), Some("close"));
    assert_eq!(
        told.body,
        b"there are as many connections as this server takes from one address\n"
    );
    drop(here);
    while server.count("open") > 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.get("/hello", "").status(), "200");
    assert_eq!(server.stop().of("over_limit_per_address"), 1);
}

#[test]
fn our_own_client_names_what_a_server_that_is_full_or_impatient_does_to_it() {
    let bench = Bench::new();
    let server = Serving::start(
        &bench,
        "-w 1 --max-connections 4 --max-connections-per-address 0",
    );
    let (said, record) = bench.run(&format!(
        "{}/hello -c 12 -n 200 --rounds 1 --max-errors 100%",
        server.at
    ));
    said.ended(0);
    record.assert_conserved();
    let faults = record.at("/points/0/rounds/0/tally/faults").to_string();
    let refused = server.stop().of("over_limit");
    assert!(
        refused > 0 && faults.contains("status_5xx"),
        "{refused} {faults}"
    );
}

#[test]
fn sigterm_ends_it_in_good_order_whatever_is_under_way() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 2 --drain-timeout 20s");
    let idle = server.connect();
    let mut half = server.connect();
    half.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    let mut loads = server.connect();
    loads
        .write_all(b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    while server.count("requests") != 1 || server.count("open") != 3 {
        std::thread::yield_now();
    }
    let (id, at) = (server.id(), server.at.clone());
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(Answer::read(idle).head, "", "who does nothing is let go");
    // Nobody is let in any more, by either worker.
    while TcpStream::connect(&at).is_ok() {
        std::thread::yield_now();
    }
    half.write_all(b"st: a\r\n\r\n").unwrap();
    let answer = Answer::read(half);
    assert_eq!(
        (answer.status(), answer.line("Connection")),
        ("200", Some("close"))
    );
    assert!(lives(id), "a download is under way");
    assert!(one_answer(&mut loads) == large());
    drop(loads);
    let counted = stopping.join().unwrap();
    assert_eq!((counted.requests(), counted.of("cut")), (2, 0));
}

#[test]
fn what_does_not_come_to_its_end_is_closed_when_the_time_is_over() {
    let bench = Bench::new();
    let server = Serving::start(&bench, "-w 1 --drain-timeout 300ms");
    let mut half = server.connect();
    half.write_all(b"GET /hello HTTP/1.1\r\nHo").unwrap();
    while server.count("bytes_received") == 0 {
        std::thread::yield_now();
    }
    let counted = server.stop();
    assert_eq!(
        (
            counted.of("cut_drain"),
            counted.of("cut"),
            counted.requests()
        ),
        (1, 1, 0)
    );
}

#[test]
fn a_program_called_counterweight_is_the_server() {
    let bench = Bench::new();
    let name = bench.path("counterweight");
    symlink(env!("CARGO_BIN_EXE_weigh"), &name).unwrap();
    let words = [
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "-w",
        "1",
    ];
    let child = std::process::Command::new(&name)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let server = Serving::of(child);
    assert_eq!(server.get("/hello", "").body, b"Hello, world!\n");
    assert_eq!(server.stop().requests(), 1);
}

#[test]
fn wrong_flags_are_refused_by_name_and_with_a_remedy() {
    let bench = site();
    let server = Serving::start(&bench, "site -w 1");
    let taken = format!("--listen {}", server.at);
    let admin = format!("--listen 127.0.0.1:0 --admin {}", server.at);
    let cases: &[(&str, &[&str])] = &[
        ("--listen nonsense", &["--listen", "nonsense"]),
        ("--listen 127.0.0.1", &["--listen", "127.0.0.1"]),
        (&taken, &["cannot listen at 127.0.0.1:", "in use"]),
        (&admin, &["cannot listen at 127.0.0.1:", "in use"]),
        (
            "--listen 192.0.2.77:80",
            &["cannot listen at 192.0.2.77:80", "not available"],
        ),
        ("--listen unix:site", &["cannot listen at", "site"]),
        (
            "nowhere",
            &["DIR `nowhere` does not exist", "name the folder"],
        ),
        (
            "outside.txt",
            &["DIR `outside.txt` is no folder", "name the folder"],
        ),
        (
            "site --log nowhere/access.log",
            &[
                "cannot append to the log nowhere/access.log",
                "no such file",
            ],
        ),
        (
            "-w 0",
            &["the number of workers must be from 1 to 1024, not 0"],
        ),
        (
            "-w 5000",
            &["the number of workers must be from 1 to 1024, not 5000"],
        ),
        (
            "--max-connections 0",
            &["--max-connections 0", "give the number of clients"],
        ),
        (
            "--max-connections 2m",
            &["the number of connections must be from 1 to"],
        ),
        (
            "--max-head 10",
            &["--max-head must be from 256 to 65536 bytes, not 10"],
        ),
        (
            "--max-head 1m",
            &["--max-head must be from 256 to 65536 bytes, not 1000000"],
        ),
        ("--head-timeout 0", &["--head-timeout 0", "such as 10s"]),
        (
            "--keepalive-timeout soon",
            &["--keepalive-timeout", "soon", "such as 500ms"],
        ),
        ("--body-speed fast", &["--body-speed", "fast"]),
        ("--cache lots", &["--cache", "lots"]),
        ("--first-request-timeout 0s", &["--first-request-timeout 0"]),
    ];
    for (line, words) in cases {
        let listen = if line.contains("--listen") {
            ""
        } else {
            "--listen 127.0.0.1:0"
        };
        let said: Said = bench.say(&format!("serve {listen} {line}"));
        said.refused(words);
    }
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn help_teaches_what_there_is() {
    let said = Bench::new().say("serve --help");
    let help = &said.ended(0).out;
    let flags = [
        "--listen",
        "--workers",
        "--log",
        "--cache",
        "--admin",
        "--max-connections",
        "--max-connections-per-address",
        "--max-head",
        "--max-body",
        "--first-request-timeout",
        "--head-timeout",
        "--body-timeout",
        "--body-speed",
        "--send-timeout",
        "--send-speed",
        "--keepalive-timeout",
        "--drain-timeout",
    ];
    let manual = include_str!("../../../../docs/serve.md");
    for flag in flags {
        assert!(help.contains(flag), "{flag}: {help}");
        assert!(
            manual.contains(&format!("`{flag}")),
            "docs/serve.md says nothing of {flag}"
        );
    }
    assert!(
        help.contains("Examples:") && help.contains("/metrics"),
        "{help}"
    );
}

//! What we count is what the server counted, whatever is asked and however.

use crate::bench::{Bench, Reference, Said};
use crate::scripted::{OK, Scripted};
use std::process::{Command, Stdio};

/// Runs `line` (with `@` for the server's address) and holds our count against the server's. Also what a run must
/// always keep: conservation, `requests` exchanges over all rounds if a number was asked.
#[track_caller]
fn counts_agree(line: &str, requests: Option<u64>) {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, record) = bench.run(&line.replace('@', server.at()));
    said.ended(0);
    record.assert_conserved();
    let counted = server.stop();
    assert_eq!(record.sent(), counted.requests(), "{line}\n{counted:?}");
    assert_eq!(counted.of("refused"), 0, "{line}");
    assert_eq!(record.count("/summary/errors/total"), 0, "{line}");
    if let Some(requests) = requests {
        assert_eq!(record.count("/summary/ok"), requests, "{line}");
        assert_eq!(record.count("/sent_total/measure"), requests, "{line}");
    }
}

#[test]
fn a_number_of_requests_is_asked_exactly_whatever_connections_threads_pipeline_and_limit_are() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let mut sent = 0;
    for number in [1, 7, 101] {
        for (connections, threads) in [(1, 1), (8, 8), (20, 3)] {
            for rest in [
                "",
                "--pipeline 4",
                "--requests-per-connection 3",
                "--no-keepalive",
                "--pipeline 5 --requests-per-connection 2",
                "--connect lazy",
            ] {
                let line = format!(
                    "http://{}/100.html -n {number} --rounds 1 -c {connections} -t {threads} {rest}",
                    server.at()
                );
                let (said, record) = bench.run(&line);
                said.ended(0);
                record.assert_conserved();
                let ended = [record.count("/summary/ok"), record.sum("/tally/started")];
                assert_eq!(ended, [number; 2], "{line}");
                assert_eq!(
                    record.sent(),
                    number + 1,
                    "{line}: one asks whether the server is there"
                );
                sent += record.sent();
            }
        }
    }
    assert_eq!(server.stop().requests(), sent);
}

#[test]
fn our_count_is_the_servers_own_however_the_load_is_shaped() {
    let cases: &[(&str, Option<u64>)] = &[
        ("@/100.html -d 100ms --rounds 1 --warmup 0s", None),
        (
            "@/100.html -d 60ms --rounds 3 --warmup 30ms -c 8 -t 2",
            None,
        ),
        (
            "@/0.html -d 60ms --warmup 20ms --rounds 2 --no-keepalive --connect lazy -c 4",
            None,
        ),
        (
            "@/nop.gif -d 60ms --warmup 20ms --rounds 2 --pipeline 8 -c 3",
            None,
        ),
        (
            "@/nop.gif -d 60ms --warmup 20ms --rounds 2 --requests-per-connection 10 --connect lazy",
            None,
        ),
        (
            "@/100.html -n 500 --rounds 4 --warmup 50ms -c 6",
            Some(2000),
        ),
        ("@/100.html -n 300 --rounds 2 --pin", Some(600)),
        (
            "@/100.html @/0.html @/hello -n 100 --rounds 2 -c 4",
            Some(200),
        ),
        (
            "@/100.html?n={seq}&r={random} -n 100 --rounds 2 -c 4 -t 2",
            Some(200),
        ),
        (
            "@/100.html -X HEAD -n 100 --rounds 1 --pipeline 2",
            Some(100),
        ),
        ("@/100.html --http1.0 -n 50 --rounds 2", Some(100)),
    ];
    for (line, requests) in cases {
        counts_agree(line, *requests);
    }
}

#[test]
fn connections_are_as_many_as_asked_and_as_the_server_accepted() {
    let cases = [
        // keep-alive: one a connection, and the one that asked whether the server is there
        ("-n 100 -c 7 --rounds 1", 7),
        ("-n 100 -c 7 --rounds 3", 21),
        ("-n 4 -c 7 --rounds 1", 4),
        ("-n 95 -c 1 --rounds 1 --requests-per-connection 10", 10),
        ("-n 100 -c 5 --rounds 1 --no-keepalive --connect lazy", 100),
    ];
    for (line, wanted) in cases {
        let bench = Bench::new();
        let server = Reference::start(&bench);
        let (said, record) = bench.run(&format!("{}/100.html -t 1 {line}", server.at()));
        said.ended(0);
        assert_eq!(record.sum("/tally/connects/established"), wanted, "{line}");
        assert_eq!(server.stop().of("connections"), wanted + 1, "{line}");
    }
}

#[test]
fn fewer_requests_than_connections_open_only_so_many_and_a_note_says_so() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, record) = bench.run(&format!("{}/100.html -n 3 -c 10 --rounds 2", server.at()));
    said.ended(0);
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 6);
    let note = "only 3 of 10 connections were opened, because a round has 3 requests";
    let said = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(note), "{said}");
    assert_eq!(server.stop().of("connections"), 1 + 2 * 3);
}

#[test]
fn unix_sockets_ipv6_and_localhost_are_reached_and_named() {
    let bench = Bench::new();
    let socket = format!("unix:{}", bench.path("s").display());
    let server = Reference::listen(&bench, &["127.0.0.1:0", "[::1]:0", &socket]);
    let port = server.at().rsplit(':').next().unwrap().to_owned();
    let six = server.addresses[1].clone();
    let cases = [
        (format!("http://{six}/100.html"), format!("\"{six}\"")),
        (
            format!("localhost:{port}/100.html"),
            format!("\"127.0.0.1:{port}\""),
        ),
        (
            "any.example/100.html --unix s".to_owned(),
            "\"s\"".to_owned(),
        ),
    ];
    let mut sent = 0;
    for (line, endpoint) in cases {
        let (said, record) = bench.run(&format!("{line} -n 20 --rounds 2 --connect lazy"));
        said.ended(0);
        assert_eq!(record.count("/summary/ok"), 40, "{line}");
        let used = record.at("/probe/endpoint").to_string();
        assert!(used.contains(&endpoint), "{used} for {line}");
        sent += record.sent();
    }
    assert_eq!(server.stop().requests(), sent);
}

#[test]
fn a_name_is_resolved_by_hand() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let at = server.at();
    let port = at.rsplit(':').next().unwrap();
    let line = format!(
        "http://any.example:{port}/ --resolve any.example:{port}:127.0.0.1 -n 5 --rounds 1"
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!((record.count("/summary/ok"), server.requests()), (5, 6));
    let host = format!("Host: any.example:{port}\r\n");
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.head.contains(&host))
    );
}

#[test]
fn the_source_address_is_the_one_that_was_given() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "{}/100.html --source 127.0.0.5,127.0.0.6 -n 40 --rounds 1 --no-keepalive",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 40);
    assert_eq!(record.sent(), server.stop().requests());
}

#[test]
fn urls_are_asked_in_turn_and_each_gets_its_share() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let at = server.at();
    let (said, _) = bench.run(&format!("{at}/a {at}/b {at}/c -n 30 -c 1 --rounds 1"));
    said.ended(0);
    let asked: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| asked.line().to_owned())
        .collect();
    let wanted = |place: usize| format!("GET /{} HTTP/1.1", ["a", "b", "c"][place % 3]);
    assert_eq!(asked.len(), 3 + 30, "each is probed once");
    for (place, line) in asked.iter().enumerate() {
        assert_eq!(*line, wanted(place), "{asked:?}");
    }
}

#[test]
fn a_file_of_urls_is_asked_line_by_line_over_and_over() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let text = format!(
        "# three\n/a?x=1\n\nPOST /b {{\"n\": {{seq}}}}\nhttp://{}/c\n",
        server.at()
    );
    bench.file("urls", text);
    let (said, record) = bench.run("--urls urls -n 9 -c 1 --rounds 1");
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 9);
    let asked = server.asked();
    let lines: Vec<&str> = asked.iter().map(|asked| asked.line()).collect();
    let turn = ["GET /a?x=1 HTTP/1.1", "POST /b HTTP/1.1", "GET /c HTTP/1.1"];
    let probes = turn;
    assert_eq!(lines, [probes, turn, turn, turn].concat());
    for (place, asked) in asked.iter().enumerate() {
        let wanted = match place % 3 {
            1 => format!("{{\"n\": {place}}}"),
            _ => String::new(),
        };
        assert_eq!(asked.body, wanted.as_bytes(), "{place}");
    }
}

#[test]
fn a_request_of_a_file_is_sent_as_often_as_it_weighs_and_has_its_own_figures() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    bench.file("urls", "/a\nweight=3 /b?token=secret\nPOST /c body\n");
    let at = server.at();
    for line in ["-c 1", "-c 4 -t 2", "-c 3 -t 3", "-c 2 --two-generators"] {
        let before = server.asked().len();
        let line = format!("{at} --urls urls -n 300 --rounds 2 {line} --percentiles 50");
        let (said, record) = bench.run(&line);
        said.ended(0);
        record.assert_conserved();
        let sent = server.asked().split_off(before);
        for (place, (name, share)) in [("/a", 60), ("/b?token=(withheld)", 180), ("POST /c", 60)]
            .into_iter()
            .enumerate()
        {
            let one = |what: &str| {
                record
                    .at(&format!("/summary/by_request/{place}/{what}"))
                    .clone()
            };
            assert_eq!(one("request"), name, "{line}");
            // Two rounds; each thread begins at another place of the list.
            assert!(
                one("ok").as_u64().unwrap().abs_diff(2 * share) <= 6,
                "{line}: {name} {}",
                one("ok")
            );
            assert_eq!(
                (one("errors"), one("requests")),
                (0.into(), one("ok")),
                "{line}"
            );
            assert!(one("latency_us")["p50"].is_f64(), "{line}");
            assert!(said.out.contains(name), "{}", said.out);
        }
        let all = record.at("/summary/by_request").as_array().unwrap();
        let ok: u64 = all.iter().map(|one| one["ok"].as_u64().unwrap()).sum();
        assert_eq!(ok, 600, "{line}");
        if before > 0 {
            continue; // the server notes only its first requests
        }
        let heavy = sent.iter().filter(|asked| asked.line().contains("/b"));
        assert!(heavy.count() >= 354, "{line}");
    }
}

#[test]
fn errors_belong_to_the_request_that_had_them() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let line =
        format!("{at}/100.html {at}/none {at}/0.html?{{seq}} -n 90 -c 3 --rounds 1 --keep-going");
    let (said, record) = bench.run(&line);
    said.ended(1);
    record.assert_conserved();
    let one = |place: usize| {
        ["ok", "errors"].map(|what| record.count(&format!("/summary/by_request/{place}/{what}")))
    };
    assert_eq!([0, 1, 2].map(one), [[30, 0], [0, 30], [30, 0]]);
    let brief = bench.say("report run.json");
    assert!(brief.out.contains("/none"), "{}", brief.out);
    let alone = bench.run(&format!("{at}/100.html -n 5 --rounds 1")).1;
    assert!(alone.at("/summary")["by_request"].is_null());
}

#[test]
fn urls_come_through_pipes_too_and_are_asked_over_and_over() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let at = server.at();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    let shell = |script: &str| {
        let mut command = Command::new("bash");
        command
            .args([
                "-c",
                &script.replace("WEIGH", &format!("{weigh} run -o run.json -n 9")),
            ])
            .current_dir(bench.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Said::of(command.spawn().unwrap())
    };
    // More than a pipe holds at a time, and a writer that comes late to a FIFO.
    let lines = format!("http://{at}/a\\n/b\\n/c\\n");
    let many = format!("for i in $(seq 20000); do printf '{lines}'; done");
    for script in [
        format!("WEIGH --rounds 1 -c 2 -t 2 --urls <(printf '{lines}')"),
        format!("printf '{lines}' | WEIGH --rounds 1 --urls /dev/stdin"),
        format!("mkfifo late; (printf '{lines}' > late) & WEIGH --rounds 1 --urls late"),
        format!("WEIGH --rounds 1 -c 2 --two-generators --urls <({many})"),
    ] {
        let said = shell(&script);
        said.ended(0);
        let record = bench.record("run.json");
        assert_eq!(record.count("/summary/ok"), 9, "{script}");
    }
    let said = shell(&format!("WEIGH {at} --urls <(printf '/a\\nget /b\\n')"));
    said.refused(&["--urls /dev/fd/", " line 2", "`get` is no method"]);
    let asked = server.asked();
    assert!(
        ["/a", "/b", "/c"]
            .iter()
            .all(|path| asked.iter().any(|asked| asked.line().contains(path)))
    );
}

#[test]
fn every_exchange_has_a_number_of_its_own() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let line = format!(
        "{}/?n={{seq}}&r={{random}} -n 100 -c 6 -t 3 --rounds 2 --seed 7",
        server.at()
    );
    let (said, _) = bench.run(&line);
    said.ended(0);
    let asked = server.asked();
    assert_eq!(asked.len(), 201);
    let part = |line: &str, from: &str, to: &str| {
        let rest = line.split_once(from).unwrap().1;
        rest.split_once(to).unwrap().0.to_owned()
    };
    let lines = || asked.iter().map(|asked| asked.line());
    let mut numbers: Vec<u64> = lines()
        .map(|line| part(line, "n=", "&").parse().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(
        (numbers.len(), numbers[0]),
        (201, 0),
        "the probe has one, too"
    );
    assert!(
        numbers[200] < 201 + 3,
        "threads that share unevenly leave gaps, but no larger ones: {numbers:?}"
    );
    let mut random: Vec<String> = lines().map(|line| part(line, "r=", " ")).collect();
    assert!(random.iter().all(|digits| digits.len() == 16), "{random:?}");
    random.sort_unstable();
    random.dedup();
    assert_eq!(random.len(), 201);
}

#[test]
fn bodies_arrive_whole_however_large() {
    let bench = Bench::new();
    let length = 10 << 20;
    let body: Vec<u8> = (0..length).map(|place: u32| (place % 251) as u8).collect();
    bench.file("body", &body);
    let whole = body.clone();
    let server = Scripted::start(move |line| {
        while let Some(asked) = line.request() {
            let answer = if asked.body == whole {
                OK
            } else {
                b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n"
            };
            line.say(answer);
        }
    });
    let (said, record) = bench.run(&format!(
        "{} --body @body -n 6 -c 3 --rounds 1",
        server.at()
    ));
    said.ended(0);
    assert_eq!((record.count("/summary/ok"), server.requests()), (6, 7));
    assert!(record.count("/summary/bytes_sent") >= 6 * u64::from(length));
    assert!(server.asked()[0].line().starts_with("POST / "));
}

#[test]
fn a_text_is_a_body_too_and_method_and_headers_are_as_asked() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let mut args = vec![
        "run",
        "-q",
        "-n",
        "3",
        "--rounds",
        "1",
        "-X",
        "PATCH",
        "--body",
        "name={seq}&x",
    ];
    let at = server.at();
    args.extend([
        "-H",
        "X-One: 1",
        "-H",
        "User-Agent: me",
        "-H",
        "Host: other.example",
        &at,
    ]);
    bench.say_words(&args).ended(0);
    for asked in server.asked() {
        let head = &asked.head;
        assert!(head.starts_with("PATCH / HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("X-One: 1\r\n"), "{head}");
        assert_eq!(head.matches("User-Agent:").count(), 1, "{head}");
        assert!(head.contains("User-Agent: me\r\n"), "{head}");
        assert_eq!(head.matches("Host:").count(), 1, "{head}");
        assert!(head.contains("Host: other.example\r\n"), "{head}");
        let body = String::from_utf8(asked.body).unwrap();
        assert!(body.starts_with("name=") && body.ends_with("&x"), "{body}");
    }
    assert_eq!(server.requests(), 4);
}

#[test]
fn the_same_seed_asks_the_same_and_another_seed_something_else() {
    let bench = Bench::new();
    let asked = |seed: &str| {
        let server = Scripted::answering(OK);
        let line = format!(
            "{}/{{random}} --body {{random}} -n 20 -c 1 --rounds 1 --seed {seed}",
            server.at()
        );
        let (said, record) = bench.run(&line);
        said.ended(0);
        assert_eq!(record.count("/plan/seed").to_string(), seed);
        let asked = server.asked();
        asked[1..]
            .iter()
            .map(|asked| (asked.line().to_owned(), asked.body.clone()))
            .collect::<Vec<_>>()
    };
    let first = asked("7");
    assert_eq!(first, asked("7"));
    assert!(
        first
            .iter()
            .zip(&asked("8"))
            .all(|(one, other)| one != other)
    );
}

#[test]
fn pinned_threads_are_recorded_with_their_cpu_and_others_without() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for (flag, pinned) in [("--pin", true), ("", false)] {
        let (said, record) = bench.run(&format!(
            "{}/100.html -n 20 -t 2 --rounds 1 {flag}",
            server.at()
        ));
        said.ended(0);
        let threads = record.at("/points/0/rounds/0/threads").as_array().unwrap();
        assert_eq!(threads.len(), 2);
        assert!(
            threads
                .iter()
                .all(|thread| thread["cpu_pinned"].is_u64() == pinned),
            "{threads:?}"
        );
    }
}

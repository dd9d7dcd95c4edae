//! A target that is not what the user meant is refused before any load is sent to it.

use crate::bench::{Bench, Reference};
use crate::scripted::{OK, Scripted};

/// What follows the verb, and the words that the refusal must hold.
const NUMERIC_HOSTS: &[(&str, &[&str])] = &[
    ("8080", &["did you mean 127.0.0.1:8080?"]),
    ("8080/", &["did you mean 127.0.0.1:8080/?"]),
    ("http://8080/a?b=c", &["did you mean 127.0.0.1:8080/a?b=c?"]),
    ("8080.", &["did you mean 127.0.0.1:8080?"]),
    ("8080:80", &["`8080` is not an IPv4 address"]),
    ("65536", &["`65536` is not an IPv4 address"]),
    ("0", &["`0` is not an IPv4 address"]),
    ("2130706433", &["`2130706433` is not an IPv4 address"]),
    ("http://127.1/", &["`127.1` is not an IPv4 address"]),
    ("127.0.1:8080", &["`127.0.1` is not an IPv4 address"]),
    ("http://0x7f.1/", &["`0x7f.1` is not an IPv4 address"]),
    ("http://0X7F000001/", &["is not an IPv4 address"]),
    ("http://017700000001/", &["`017700000001` is not an IPv4"]),
    ("http://010.0.0.1/", &["`010.0.0.1` is not an IPv4 address"]),
    ("http://127.0.0.1./", &["`127.0.0.1.` is not an IPv4"]),
    ("http://1.2.3.256/", &["`1.2.3.256` is not an IPv4 address"]),
    ("http://[127.1]/", &["`127.1` is not an IPv4 address"]),
    ("8080 --unix s", &["did you mean 127.0.0.1:8080?"]),
    ("8080 --resolve 8080:80:127.0.0.1", &["did you mean"]),
    ("x --resolve x:80:127.1", &["--resolve `x:80:127.1`"]),
    ("x --resolve x:80:8080", &["--resolve `x:80:8080`"]),
    ("localhost:1 8080", &["did you mean 127.0.0.1:8080?"]),
    ("--urls numbers", &["did you mean 127.0.0.1:8080/a?"]),
];

#[test]
fn a_host_of_digits_is_refused_and_the_port_that_was_meant_is_named() {
    let bench = Bench::new();
    bench.file("numbers", "http://8080/a\n");
    for verb in [
        "run -n 1",
        "sweep -n 1 -c 1,2",
        "run --dry-run",
        "run --show-exchange",
    ] {
        for (rest, words) in NUMERIC_HOSTS {
            let said = bench.say(&format!("{verb} {rest}"));
            println!("{verb} {rest}: {}", said.err); // shown when one of them fails
            said.refused(words);
        }
    }
    bench.say("8080").refused(&["did you mean 127.0.0.1:8080?"]);
}

#[test]
fn a_name_with_digits_in_it_is_a_name() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let port = server.at().rsplit(':').next().unwrap();
    for host in ["1a", "0xg.1", "0x7f.1.example", "3.web"] {
        let line =
            format!("run {host}:{port}/0.html --resolve {host}:{port}:127.0.0.1 -n 1 --rounds 1");
        bench.say(&line).ended(0);
    }
}

/// What answers only requests whose target ends in `fine` well.
fn mostly_missing() -> Scripted {
    Scripted::start(|line| {
        while let Some(asked) = line.request() {
            let is_fine = asked.line().contains("fine");
            if !line.say(if is_fine { OK } else { MISSING }) {
                return;
            }
        }
    })
}

const MISSING: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// What the server responds, further flags, and what the refusal must hold.
type Unexpected = (&'static [u8], &'static str, &'static [&'static str]);

const UNEXPECTED: &[Unexpected] = &[
    (
        MISSING,
        "",
        &[
            "status 404",
            "no load was sent",
            "--expect 404",
            "--keep-going",
        ],
    ),
    (
        OK,
        "--expect 201,3xx",
        &["status 200", "--expect 200", "--keep-going"],
    ),
    (
        b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n",
        "--expect 200",
        &["status 301", "--expect 301", "--keep-going"],
    ),
    (
        OK,
        "--expect @other",
        &["the body is not that of --expect @other", "--keep-going"],
    ),
    (
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "",
        &[
            "the response was not HTTP",
            "no load was sent",
            "--keep-going",
        ],
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "--timeout 100ms",
        &["no complete response within 100 ms", "--keep-going"],
    ),
    (
        b"",
        "--timeout 100ms",
        &["no complete response within 100 ms", "--keep-going"],
    ),
];

#[test]
fn a_probe_that_gets_no_expected_response_keeps_all_load_back() {
    let bench = Bench::new();
    bench.file("other", "hellO");
    for (response, flags, words) in UNEXPECTED {
        let server = Scripted::start(move |line| {
            if line.request().is_some() {
                line.say(response);
                line.hang();
            }
        });
        for verb in ["run", "sweep -c 1,2"] {
            let said = bench.say(&format!("{verb} {} -n 2 -o run.json {flags}", server.at()));
            println!("{flags}: {}", said.err); // shown when one of them fails
            said.refused(words);
            assert_eq!(said.err.lines().count(), 1, "{said:#?}");
            assert!(!bench.path("run.json").exists() && !bench.path("run.json.journal").exists());
        }
        assert_eq!(server.requests(), 2, "one probe for each command");
    }
}

#[test]
fn keep_going_loads_what_the_probe_found_wrong_and_says_so() {
    let bench = Bench::new();
    let server = mostly_missing();
    let line = format!("{} -n 10 -c 1 --rounds 1 --keep-going", server.at());
    let (said, record) = bench.run(&line);
    said.ended(1);
    assert!(
        said.err
            .contains("the probe got no expected response (status 404)"),
        "{said:#?}"
    );
    assert_eq!(record.count("/summary/errors/status_4xx"), 10);
    assert_eq!(record.count("/probe/errors"), 1);
    assert_eq!(record.count("/sent_total/probe"), 1);
    assert_eq!(server.requests(), record.sent());
}

#[test]
fn expected_redirects_and_strays_pass_the_probe() {
    let bench = Bench::new();
    let responses: &[&'static [u8]] = &[
        b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA",
    ];
    for response in responses {
        let server = Scripted::answering(response);
        let (said, record) = bench.run(&format!("{} -n 4 -c 1 --rounds 1", server.at()));
        said.ended(0);
        assert_eq!(record.count("/summary/ok"), 4);
    }
}

#[test]
fn of_many_urls_the_first_twenty_are_probed_and_one_that_is_fine_lets_the_load_begin() {
    let bench = Bench::new();
    let server = mostly_missing();
    bench.file("bad", "/a?{seq}\n# nothing\n\n".repeat(30));
    bench.file("late", format!("{}/fine\n", "/a\n".repeat(20)));
    bench.file(
        "mixed",
        format!("{}/fine?{{seq}}\n", "/a?{seq}\n".repeat(19)),
    );
    bench.file("few", "/a\n/fine\n/b");
    bench.file("weighted", "weight=3 /a\nweight=9 /fine?{seq}\n/b");
    for file in ["bad", "late"] {
        let before = server.requests();
        let line = format!("run {} --urls {file} -n 4", server.at());
        bench.say(&line).refused(&[
            "none of the 20 probed requests got an expected response (the first: status 404)",
            "--expect 404",
            "--keep-going",
        ]);
        assert_eq!(server.requests() - before, 20);
    }
    let probes: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| asked.line().to_owned())
        .collect();
    assert_eq!(probes[0], "GET /a?0 HTTP/1.1");
    assert_eq!(probes[19], "GET /a?19 HTTP/1.1");
    for (file, probed, failed) in [("mixed", 20, 19), ("few", 3, 2), ("weighted", 3, 2)] {
        let before = server.requests();
        let (said, record) = bench.run(&format!(
            "{} --urls {file} -n 20 -c 1 --rounds 1 --max-errors 100%",
            server.at()
        ));
        said.ended(0);
        let warning = format!(
            "{failed} of the {probed} probed requests got no expected response (the first: status 404)"
        );
        assert!(said.err.contains(&warning), "{said:#?}");
        assert_eq!(record.count("/sent_total/probe"), probed);
        assert_eq!(record.count("/probe/requests"), probed);
        assert_eq!(record.count("/probe/errors"), failed);
        assert_eq!(server.requests() - before, record.sent());
        if file == "weighted" {
            let asked = server.asked();
            let probes = asked[before as usize..][..3].iter();
            let probes: Vec<&str> = probes.map(|asked| asked.line()).collect();
            let wanted = ["/a", "/fine?1", "/b"].map(|path| format!("GET {path} HTTP/1.1"));
            assert_eq!(probes, wanted, "each once, in the order of the list");
        }
    }
    let (said, record) = bench.run(&format!(
        "{0}/fine/1 {0}/a {0}/fine/2 -n 3 --rounds 1",
        server.at()
    ));
    said.ended(1);
    assert_eq!(
        record.count("/sent_total/probe"),
        3,
        "several URLs are probed alike"
    );
}

#[test]
fn a_server_that_weigh_starts_is_held_to_the_same_rule_and_stopped() {
    let bench = Bench::new();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    let line = |rest: &str| {
        format!(
            "run -o run.json x/none --unix s -n 4 --rounds 1 {rest} -- {weigh} serve --listen unix:s -w 1"
        )
    };
    bench
        .say(&line(""))
        .refused(&["status 404", "--expect 404", "--keep-going"]);
    assert!(!bench.path("s").exists(), "the server was stopped");
    bench.say(&line("--expect 404")).ended(0);
    bench.say(&line("--keep-going")).ended(1);
}

#[test]
fn each_probe_has_a_number_of_its_own_and_the_load_goes_on_counting() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let (said, record) = bench.run(&format!("{}/?{{seq}} -n 3 -c 1 --rounds 2", server.at()));
    said.ended(0);
    let asked: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| asked.line().to_owned())
        .collect();
    let numbers = (0..7).map(|number| format!("GET /?{number} HTTP/1.1"));
    assert_eq!(asked, numbers.collect::<Vec<_>>());
    assert_eq!(record.sent(), 7);
}

#[test]
fn a_started_server_that_is_not_ready_yet_is_waited_for() {
    let bench = Bench::new();
    let weigh = env!("CARGO_BIN_EXE_weigh");
    let line = |path: &str, rest: &str| {
        format!(
            "x/fault?kind=unavailable&{path}&id={{seq}} --unix s -n 4 --rounds 1 {rest} -- {weigh} serve --truth --listen unix:s"
        )
    };
    let (said, record) = bench.run(&line("first=3", ""));
    said.ended(0);
    assert_eq!(
        record.count("/sent_total/probe"),
        4,
        "three 503 and one 200"
    );
    assert_eq!(record.count("/summary/ok"), 4);
    let said = bench.say(&format!(
        "run {}",
        line("first=1000000", "--ready-within 50ms")
    ));
    said.refused(&["status 503", "no load was sent"]);
}

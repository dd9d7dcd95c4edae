//! What is right, how much may be wrong, and which exit status says so.

use crate::bench::{Bench, Reference};
use crate::scripted::{OK, Scripted};
use std::fs;

#[test]
fn expected_statuses_decide_what_is_an_error() {
    let cases: &[(&str, &str, i32)] = &[
        ("/100.html", "", 0),
        ("/none", "--keep-going", 1),
        ("/100.html", "--expect 200", 0),
        ("/100.html", "--expect 204 --keep-going", 1),
        ("/none", "--expect 404", 0),
        ("/none", "--expect 4xx", 0),
        ("/none", "--expect 200,404", 0),
        ("/none", "--expect 200 --expect 400..410", 0),
        ("/100.html", "--expect 4xx --keep-going", 1),
        ("/100.html", "-X POST --expect 405", 0),
    ];
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for (path, rest, status) in cases {
        let (said, record) = bench.run(&format!("{}{path} -n 10 --rounds 2 {rest}", server.at()));
        said.ended(*status);
        record.assert_conserved();
        let errors = if *status == 0 { 0 } else { 20 };
        assert_eq!(
            record.count("/summary/errors/total"),
            errors,
            "{path} {rest}"
        );
    }
}

#[test]
fn a_404_to_everything_gets_a_hint() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, record) = bench.run(&format!(
        "{}/none -n 10 --rounds 1 --keep-going",
        server.at()
    ));
    said.ended(1);
    assert_eq!(record.count("/summary/errors/status_4xx"), 10);
    assert!(
        said.out.contains("mostly 404") && said.out.contains("--show-exchange"),
        "{}",
        said.out
    );
}

#[test]
fn a_301_to_everything_gets_a_hint() {
    let bench = Bench::new();
    let server =
        Scripted::answering(b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
    let (said, record) = bench.run(&format!("{} -n 10 --rounds 1", server.at()));
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 10);
    assert!(said.out.contains("301"), "{}", said.out);
    let findings = record.at("/findings").to_string();
    assert!(
        findings.contains("redirect") || findings.contains("301"),
        "{findings}"
    );
}

#[test]
fn an_expected_body_is_compared_whole() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    for (name, body, errors) in [
        ("same", "hello", 0),
        ("other", "hellO", 10),
        ("shorter", "hell", 10),
        ("longer", "hello!", 10),
        ("empty", "", 10),
    ] {
        bench.file(name, body);
        let (said, record) = bench.run(&format!(
            "{} -n 10 --rounds 1 --keep-going --expect @{name}",
            server.at()
        ));
        said.ended(i32::from(errors > 0));
        assert_eq!(record.count("/summary/errors/total"), errors, "{name}");
        if errors > 0 {
            assert_eq!(
                record.count("/summary/errors/body_differs"),
                errors,
                "{name}"
            );
        }
    }
}

#[test]
fn bodies_that_differ_stay_ok_and_become_a_finding() {
    let server = Scripted::start(|line| {
        let mut turn = 0;
        while line.request().is_some() {
            turn += 1;
            let other: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbye";
            line.say(if turn % 2 == 0 { OK } else { other });
        }
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!("{}/ -n 100 -c 1 --rounds 1", server.at()));
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 100);
    let findings = record.at("/findings").to_string();
    assert!(findings.contains("length"), "{findings}");
    // A template's answers may differ.
    let (_, record) = bench.run(&format!("{}/?{{seq}} -n 100 -c 1 --rounds 1", server.at()));
    let findings = record.at("/findings").to_string();
    assert!(!findings.contains("length"), "{findings}");
}

/// A server of which every tenth answer is a 500.
fn tenth_fails() -> Scripted {
    Scripted::start(|line| {
        let mut turn = 0;
        while line.request().is_some() {
            turn += 1;
            let bad: &[u8] = b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n";
            line.say(if turn % 10 == 0 { bad } else { OK });
        }
    })
}

#[test]
fn errors_are_tolerated_up_to_the_share_or_number_that_is_given() {
    let server = tenth_fails();
    let bench = Bench::new();
    for (rest, status) in [
        ("", 1),
        ("--max-errors 10%", 0),
        ("--max-errors 9.9%", 1),
        ("--max-errors 10", 0),
        ("--max-errors 9", 1),
        ("--max-errors 100%", 0),
        ("--max-errors 0", 1),
    ] {
        let (said, record) = bench.run(&format!("{} -n 100 -c 1 --rounds 1 {rest}", server.at()));
        said.ended(status);
        assert_eq!(record.count("/summary/errors/status_5xx"), 10, "{rest}");
        assert_eq!(record.count("/summary/ok"), 90, "{rest}");
    }
}

#[test]
fn a_record_that_cannot_be_saved_is_a_failure_and_is_printed_all_the_same() {
    let bench = Bench::new();
    let folder = bench.path("folder");
    fs::create_dir(&folder).unwrap();
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            let _ = fs::remove_dir_all(&folder); // it is there the first times
            line.say(OK);
        }
    });
    let said = bench.say(&format!(
        "run -v {} -n 20 --rounds 2 -o folder/run.json",
        server.at()
    ));
    said.ended(2);
    assert!(said.out.contains("40 ok"), "{said:#?}");
    assert!(said.err.contains("could not be saved"), "{said:#?}");
    assert!(said.err.contains("folder/run.json"), "{said:#?}");
}

#[test]
fn strict_accepts_a_lower_bound_and_turns_an_invalid_figure_into_a_status() {
    let bench = Bench::new();
    // Requests that cost three times as much to make as to serve, and a thousand of them in flight to outlast any nap of
    // the server: the generator is the bottleneck, on any machine that gives it a CPU.
    let holes = "{seq}".repeat(1500);
    let serve = format!("{} serve --listen unix:s -w 1", env!("CARGO_BIN_EXE_weigh"));
    let said = bench.say(&format!(
        "run -v x/100.html?{holes} --strict --unix s -n 4k -c 32 --pipeline 32 -t 1 --rounds 3 -- {serve}"
    ));
    said.ended(0);
    let starved = "the machine had no CPU for the load generator";
    let is_told = ["generator-bound", starved]
        .iter()
        .any(|words| said.out.contains(words));
    assert!(is_told, "{}", said.out);
    assert!(!said.out.contains("INVALID"), "{}", said.out);
    // More than the server serves on purpose, so that latency is void.
    let serve = format!(
        "{} serve --truth --capacity 400/s --listen unix:t",
        env!("CARGO_BIN_EXE_weigh")
    );
    let line = format!(
        "run -v x/hello --unix t --rate 800 -d 1s --warmup 0 --rounds 1 --max-errors 100% -- {serve}"
    );
    bench.say(&line).ended(0);
    let said = bench.say(&line.replace("--unix", "--strict --unix"));
    said.ended(1);
    assert!(said.out.contains("INVALID"), "{}", said.out);
    let why = "weigh: reliable is not met: ";
    assert!(said.err.contains(why), "{}", said.err);
}

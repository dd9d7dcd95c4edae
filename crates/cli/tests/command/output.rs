//! What is printed where, and what is not.

use crate::bench::{Bench, Reference, Said};
use std::fs;

#[test]
fn results_go_to_standard_output_and_remarks_to_standard_error() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, _) = bench.run(&format!("{}/100.html -n 20 --rounds 2", server.at()));
    said.ended(0);
    assert!(said.out.contains("40 ok   0 errors"), "{}", said.out);
    assert_eq!(said.err.trim(), "saved #1 run.json");
    let said = bench.say(&format!(
        "run {}/100.html -n 20 --rounds 2 --quiet -o run.json",
        server.at()
    ));
    assert!(
        said.ended(0).out.contains("0 of 40 requests"),
        "{}",
        said.out
    );
    assert!(said.out.lines().count() <= 8, "{}", said.out);
    assert_eq!(said.err, "");
}

#[test]
fn no_escape_codes_and_no_progress_without_a_terminal() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let lines = [
        format!("run {}/100.html -d 300ms --rounds 1", server.at()),
        format!("run {}/none -n 20", server.at()),
        "run nonsense:".to_owned(),
        "--nope".to_owned(),
        "--help".to_owned(),
        "run --help".to_owned(),
        "man".to_owned(),
    ];
    for line in lines {
        for no_colour in [None, Some("1")] {
            let mut command = bench.weigh(&line.split_whitespace().collect::<Vec<_>>());
            command.env("TERM", "xterm-256color");
            if let Some(value) = no_colour {
                command.env("NO_COLOR", value);
            }
            let said = Said::of(command.spawn().unwrap());
            assert!(!said.out.contains(['\x1b', '\r']), "{line}: {said:#?}");
            assert!(!said.err.contains(['\x1b', '\r']), "{line}: {said:#?}");
        }
    }
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let at = server.at();
    let run = format!("run {at}/100.html -n 20 --rounds 1 -o run.json");
    for line in [
        &run,
        &format!("{run} --json"),
        "report run.json",
        "--help",
        "run --help",
        "man",
        "completions bash",
    ] {
        let mut child = bench
            .weigh(&line.split_whitespace().collect::<Vec<_>>())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = Said::of(child);
        assert!(!said.err.contains("panicked"), "{line}: {said:#?}");
        said.ended(0);
    }
    bench.record("run.json").assert_conserved();
}

#[test]
fn a_dry_run_prints_the_plan_and_asks_nobody() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = bench.say(&format!(
        "run {}/100.html -c 7 -n 70 --rounds 3 --body abc -H X-One:1 --dry-run -o run.json",
        server.at()
    ));
    said.ended(0);
    for words in [
        "7 connections",
        "3 rounds of 70",
        "POST /100.html HTTP/1.1",
        "X-One: 1",
        "Content-Length: 3",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(!bench.path("run.json").exists() && !bench.path("state").exists());
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn show_exchange_sends_one_request_and_prints_both_sides() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = bench.say(&format!(
        "run {}/hello -H X-One:1 --show-exchange",
        server.at()
    ));
    said.ended(0);
    let lines: Vec<&str> = said.out.lines().collect();
    let connected = format!("* connected to {}", server.at());
    for line in [
        &*connected,
        "> GET /hello HTTP/1.1",
        "> X-One: 1",
        "< HTTP/1.1 200 OK",
        "< Hello, world!",
    ] {
        assert!(lines.contains(&line), "{line}: {}", said.out);
    }
    let said = bench.say(&format!("run {}/none --show-exchange", server.at()));
    said.ended(1);
    assert!(
        said.out.contains("< HTTP/1.1 404 Not Found"),
        "{}",
        said.out
    );
    let said = bench.say(&format!(
        "sweep {}/hello -c 1,2 --show-exchange",
        server.at()
    ));
    assert!(said.ended(0).out.contains("< HTTP/1.1 200 OK"), "{said:#?}");
    assert_eq!(server.stop().requests(), 3);
}

#[test]
fn a_record_may_go_where_no_file_is() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench
        .say(&format!("run {}/100.html -n 5 -o /dev/null", server.at()))
        .ended(0);
    fs::write(bench.path("old.json"), "").unwrap();
    bench
        .say(&format!(
            "run {}/100.html -n 5 --rounds 1 -o old.json",
            server.at()
        ))
        .ended(0);
    assert_eq!(bench.record("old.json").count("/summary/ok"), 5);
}

#[test]
fn a_target_alone_means_run() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = bench.say(&format!(
        "{}/100.html -v -n 5 --rounds 1 -o a.json",
        server.at()
    ));
    assert!(said.ended(0).out.contains("5 ok"), "{}", said.out);
    let said = bench.say(&format!(
        "-v -n 5 --rounds 1 -o b.json {}/100.html",
        server.at()
    ));
    assert!(said.ended(0).out.contains("5 ok"), "{}", said.out);
}

#[test]
fn a_result_that_cannot_be_printed_is_still_recorded() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let child = bench
        .weigh(&[
            "run",
            &format!("{}/0.html", server.at()),
            "-n",
            "10",
            "--rounds",
            "1",
            "-o",
            "run.json",
        ])
        .stdout(full)
        .spawn()
        .unwrap();
    let said = Said::of(child);
    said.ended(2);
    assert!(
        said.err.contains("the result could not be printed"),
        "{said:#?}"
    );
    assert_eq!(bench.record("run.json").count("/summary/requests"), 10);
}

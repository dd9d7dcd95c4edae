//! The exit status of each verb, the one sentence that goes with it, and what the record says of it.

use crate::bench::{Bench, Reference, Said};
use crate::scripted::{OK, Scripted};
use std::sync::atomic::{AtomicU64, Ordering};

/// Asserts that `said` ended with `status` and with this one line on standard error, besides remarks.
#[track_caller]
pub fn assert_exit(said: &Said, status: i32, why: &str) {
    said.ended(status);
    let line = format!("weigh: {why} (exit status {status})");
    let found = said.err.lines().filter(|found| **found == line).count();
    assert_eq!(found, 1, "`{line}` is missing: {said:#?}");
}

/// A server that answers so many requests with 200 and everything later with 500.
pub fn fails_after(number: u64) -> Scripted {
    let answered = AtomicU64::new(0);
    Scripted::start(move |line| {
        while line.request().is_some() {
            let bad: &[u8] = b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n";
            let is_good = answered.fetch_add(1, Ordering::SeqCst) < number;
            line.say(if is_good { OK } else { bad });
        }
    })
}

#[test]
fn more_errors_than_allowed_are_a_no_with_its_reason_in_run_record_and_report() {
    let bench = Bench::new();
    let server = fails_after(1 + 90);
    let line = format!("run -q -o run.json {} -n 100 -c 1 --rounds 1", server.at());
    let (said, record) = (bench.say(&line), bench.record("run.json"));
    let why = "errors<=1% is not met: errors are 10 of 100 requests (10 %)";
    assert_exit(&said, 1, why);
    assert_eq!(record.at("/exit/status"), 1);
    assert_eq!(record.at("/exit/why"), why);
    let again = bench.say("report -q run.json");
    assert_exit(&again, 1, why);
    assert_eq!(again.out, said.out);
}

#[test]
fn one_percent_of_the_requests_may_fail_wherever_they_fall() {
    let bench = Bench::new();
    for (good, rounds, status) in [(495, 5, 0), (494, 5, 1), (99, 1, 0), (98, 1, 1)] {
        let server = fails_after(1 + good);
        let (said, record) = bench.run(&format!("{} -n 100 -c 1 --rounds {rounds}", server.at()));
        said.ended(status);
        assert_eq!(record.count("/summary/ok"), good);
        assert_eq!(record.0.get("exit").is_some(), status > 0);
    }
}

#[test]
fn a_run_in_which_nothing_ended_ok_never_exits_0() {
    let bench = Bench::new();
    let server = fails_after(1);
    let (said, record) = bench.run(&format!(
        "{} -n 10 --rounds 2 --max-errors 100%",
        server.at()
    ));
    assert_exit(&said, 1, "nothing ended ok: 20 requests failed");
    assert_eq!(record.count("/summary/ok"), 0);
}

#[test]
fn a_server_that_fails_in_the_last_round_does_not_hide_behind_the_others() {
    let bench = Bench::new();
    let server = fails_after(1 + 40);
    let (said, _) = bench.run(&format!(
        "{} -n 10 -c 1 --rounds 5 --max-errors 20%",
        server.at()
    ));
    assert_exit(&said, 1, "nothing ended ok in round 5: 10 requests failed");
}

#[test]
fn a_sweep_has_the_allowance_at_each_point() {
    let bench = Bench::new();
    let server = fails_after(1 + 100 + 90);
    let line = format!("sweep {} -c 1,2 -n 100 --rounds 1 -o s.json", server.at());
    for allowed in ["", "--max-errors 5"] {
        let server = fails_after(1 + 100 + 90);
        let said = bench.say(&format!(
            "sweep {} -c 1,2 -n 100 --rounds 1 -o s.json {allowed}",
            server.at()
        ));
        let named = if allowed.is_empty() { "1%" } else { "5" };
        let why = format!(
            "errors<={named} is not met: at 2 connections, errors are 10 of 100 requests (10 %)"
        );
        assert_exit(&said, 1, &why);
        assert_exit(&bench.say("report s.json"), 1, &why);
    }
    let said = bench.say(&format!("{line} --max-errors 10%"));
    said.ended(0);
    assert!(!said.err.contains("exit status"), "{said:#?}");
}

#[test]
fn a_search_whose_rates_all_fail_is_a_no_without_a_single_error() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html --rate 100,200 --slo p50<1ns -d 250ms --warmup 0s --rounds 2 -o c.json",
        server.at()
    );
    let said = bench.say(&line);
    assert_exit(&said, 1, "no rate met p50 < 1 ns");
    assert!(
        said.out.contains("no rate met the objective"),
        "{}",
        said.out
    );
    let record = bench.record("c.json");
    assert_eq!(record.at("/curve/errors"), 0);
    assert_eq!(record.at("/exit/status"), 1);
}

#[test]
fn show_exchange_says_why_the_response_is_no_good() {
    let bench = Bench::new();
    let server = fails_after(0);
    let said = bench.say(&format!("run {} --show-exchange", server.at()));
    let why = "the response is not as expected: status 500";
    assert_exit(&said, 1, why);
}

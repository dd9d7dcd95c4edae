//! `--rate`: what is due is what the schedule says, and all of it is asked and counted, however the machine was disturbed
//! meanwhile. Nothing here depends on how long anything took.

use crate::bench::{Bench, Reference};
use serde_json::json;

#[test]
fn a_number_of_requests_at_a_rate_is_asked_exactly_whatever_threads_arrivals_and_connections_are() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let mut sent = 0;
    for (number, rate) in [(1, "0.5"), (101, "2k"), (300, "3k/s")] {
        for (connections, threads) in [(1, 1), (20, 3)] {
            for rest in [
                "",
                "--arrivals constant",
                "--connect eager --warmup 20ms",
                "--no-keepalive",
                "--requests-per-connection 3 --ring epoll",
            ] {
                let line = format!(
                    "http://{}/100.html --rate {rate} -n {number} --rounds 1 -c {connections} -t {threads} {rest}",
                    server.at()
                );
                let (said, record) = bench.run(&line);
                said.ended(0);
                record.assert_conserved();
                assert_eq!(record.count("/summary/ok"), number, "{line}");
                assert_eq!(record.count("/sent_total/measure"), number, "{line}");
                sent += record.sent();
            }
        }
    }
    assert_eq!(server.stop().requests(), sent);
}

#[test]
fn a_span_of_time_at_an_even_rate_holds_as_many_as_the_rate_says_and_the_server_saw_each() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "http://{}/100.html --rate 500 --arrivals constant -d 400ms --warmup 100ms --rounds 2 -t 2",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    record.assert_conserved();
    assert_eq!(record.count("/summary/requests"), 400);
    assert_eq!(record.count("/sent_total/warmup"), 100);
    assert_eq!(record.count("/sent_total/measure"), 400);
    assert_eq!(server.stop().requests(), record.sent());
    let load = record.at("/plan/load/open");
    assert_eq!(load["rate"], json!(500.0));
    assert_eq!(load["arrivals"], json!("constant"));
    assert_eq!(record.at("/plan/connect"), &json!("lazy"));
    for part in [
        "queued_us",
        "connecting_us",
        "generator_late_us",
        "service_us",
    ] {
        assert_eq!(
            record.count(&format!("/summary/open/{part}/count")),
            400,
            "{part}"
        );
    }
    assert!(
        said.out
            .contains("open loop, 500 requests/s evenly spaced, at most"),
        "{}",
        said.out
    );
    assert!(said.out.contains("response time"), "{}", said.out);
    let again = bench.say("report run.json");
    assert_eq!(again.ended(0).out, said.out);
}

#[test]
fn the_same_seed_makes_the_same_number_due_whatever_the_number_of_threads() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let due = |threads: u32, seed: u32| {
        let line = format!(
            "http://{}/100.html --rate 1k -d 300ms --warmup 0s --rounds 2 -t {threads} --seed {seed}",
            server.at()
        );
        let (said, record) = bench.run(&line);
        said.ended(0);
        let due = |round: &serde_json::Value| round["tally"]["due"].as_u64();
        record.rounds().iter().map(due).collect::<Vec<_>>()
    };
    let once = due(1, 7);
    assert_eq!(once, due(3, 7));
    assert_ne!(once, due(1, 8));
}

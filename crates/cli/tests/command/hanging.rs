//! A server that takes requests and never responds is counted as errors, whatever the load and whenever it stops.

use crate::bench::{Bench, Record, Said};
use crate::scripted::{OK, Scripted};
use std::sync::atomic::{AtomicU64, Ordering};

/// Responds to the probe, which is the first connection, and never again.
fn hangs_after_the_probe() -> Scripted {
    Scripted::start(|line| {
        if line.request().is_some() && line.number == 0 {
            line.say(OK);
        }
        line.hang();
    })
}

/// Runs the words of `line` against `server`; what was said, and the record.
#[track_caller]
fn measure(server: &Scripted, line: &str) -> (Said, Record) {
    let bench = Bench::new();
    let (said, record) = bench.run(&format!("{} {line}", server.at()));
    record.assert_conserved();
    (said, record)
}

#[test]
fn requests_that_hang_since_warm_up_are_errors_of_every_round() {
    let server = hangs_after_the_probe();
    let (said, record) = measure(&server, "-c 4 -d 200ms --rounds 2 --timeout 1s");
    said.ended(1);
    assert_eq!(record.count("/summary/requests"), 8);
    assert_eq!(record.count("/summary/errors/total"), 8);
    assert_eq!(record.count("/summary/errors/carried_over"), 8);
    assert_eq!(record.count("/summary/censored"), 8);
    assert_eq!(record.count("/summary/latency_us/count"), 8);
    assert_eq!(record.count("/sent_total/warmup"), 8);
    for round in record.rounds() {
        let tally = &round["tally"];
        assert_eq!(
            (&tally["carried_over"], &tally["scheduled"]),
            (&4.into(), &0.into())
        );
        let fault = &tally["faults"][0];
        assert_eq!(
            (&fault["step"], &fault["blame"]),
            (&"head".into(), &"server".into())
        );
        assert!(
            tally["censored_from"].as_u64().unwrap() >= 1_000_000_000,
            "{tally}"
        );
    }
    for words in [
        "0 ok   8 errors (100 %)",
        "4 of 4 connections got no response during a whole window",
        "carried_over",
    ] {
        assert!(
            said.out.contains(words),
            "`{words}` is missing: {}",
            said.out
        );
    }
}

#[test]
fn every_second_connection_that_hangs_is_counted_and_named_among_many_good_responses() {
    let server = Scripted::start(|line| {
        while line.number % 2 == 0 && line.request().is_some() {
            line.say(OK);
        }
        line.hang();
    });
    let (said, record) = measure(
        &server,
        "-c 10 -d 300ms --rounds 2 --timeout 1s --max-errors 50%",
    );
    said.ended(0);
    assert!(record.count("/summary/ok") > 0);
    assert_eq!(record.count("/summary/errors/carried_over"), 10);
    assert_eq!(record.count("/summary/errors/total"), 10);
    let sentence = "5 of 10 connections got no response during a whole window";
    let found = record.at("/findings").as_array().unwrap().iter();
    let found: Vec<_> = found
        .filter(|found| found["sentence"].as_str().unwrap().starts_with(sentence))
        .collect();
    assert_eq!(found.len(), 1, "{}", said.out);
    assert_eq!(found[0]["check"], "connections");
    assert_ne!(found[0]["grade"], "note");
}

#[test]
fn a_hang_is_counted_with_every_load_ring_and_number_of_generators() {
    for (load, carried_over, due) in [
        ("-c 3 --connect lazy", 3, 0),
        ("-c 3 --pipeline 2", 6, 0),
        ("-c 3 --two-generators", 3, 0),
        ("-c 3 --rate 100 --arrivals constant", 3, 20),
        ("-c 3 --connection-rate 100 --arrivals constant", 3, 20),
    ] {
        let server = hangs_after_the_probe();
        let (said, record) = measure(&server, &format!("{load} -d 200ms --rounds 1 --timeout 1s"));
        said.ended(1);
        let errors = record.at("/summary/errors");
        assert_eq!(errors["carried_over"], carried_over, "{load}: {errors}");
        assert_eq!(
            record.count("/summary/requests"),
            carried_over + due,
            "{load}"
        );
        assert_eq!(record.sum("/tally/scheduled"), due, "{load}");
        assert_eq!(record.count("/summary/ok"), 0, "{load}");
        if load.contains("two-generators") {
            let twin = record.at("/points/0/split_generators/rounds/0/tally/carried_over");
            assert_eq!(twin, 3, "{load}");
        }
    }
}

#[test]
fn with_a_number_of_requests_warm_up_ends_before_the_window_and_each_of_the_number_is_an_error() {
    let server = hangs_after_the_probe();
    let (said, record) = measure(
        &server,
        "-c 4 -n 12 --warmup 50ms --rounds 1 --timeout 100ms",
    );
    said.ended(1);
    assert_eq!(record.count("/summary/requests"), 12);
    assert_eq!(record.count("/summary/errors/total"), 12);
    assert_eq!(record.at("/summary/errors").get("carried_over"), None);
}

#[test]
fn refused_connects_are_errors_of_every_round_however_long_the_pause_between_them() {
    let responded = AtomicU64::new(0);
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            if responded.fetch_add(1, Ordering::SeqCst) >= 51 {
                return line.die();
            }
            line.say(OK);
        }
    });
    // While connections are opened for the second round, the pause between attempts grows to a second.
    let (said, record) = measure(
        &server,
        "-c 4 -d 200ms --warmup 0s --rounds 3 --connect-timeout 1100ms",
    );
    said.ended(1);
    for round in &record.rounds()[1..] {
        let tally = &round["tally"];
        let refused = &tally["faults"][0];
        assert_eq!(refused["kind"], "connect_refused", "{tally}");
        assert!(tally["scheduled"].as_u64().unwrap() >= 4, "{tally}");
    }
}

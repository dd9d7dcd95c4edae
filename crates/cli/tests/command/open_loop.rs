//! `--rate` and `--connection-rate`: what is due is what the schedule says, and all of it is asked and counted, however the machine was disturbed
//! meanwhile. Nothing here depends on how long anything took.

use crate::bench::{Bench, Record, Reference, Said, generator_of, signal};
use crate::scripted::{OK, Scripted};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

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
fn the_generators_own_pause_is_no_waiting_for_a_connection() {
    let (weigh, requests) = (Arc::new(AtomicU32::new(0)), AtomicU64::new(0));
    let process = weigh.clone();
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            line.say(OK);
            if requests.fetch_add(1, Ordering::SeqCst) == 100 {
                let process = generator_of(process.load(Ordering::SeqCst));
                signal("STOP", process);
                std::thread::sleep(Duration::from_millis(400)); // this is what is measured
                signal("CONT", process);
            }
        }
    });
    let bench = Bench::new();
    let line = format!(
        "run -o run.json {} --rate 500 --arrivals constant -d 1s --warmup 0s --rounds 1",
        server.at()
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    weigh.store(child.id(), Ordering::SeqCst);
    let said = Said::of(child);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 500, "{said:#?}");
    let longest = |part: &str| record.at(&format!("/summary/open/{part}/max")).as_f64();
    assert!(
        longest("generator_late_us") > Some(300_000.0),
        "{}",
        said.out
    );
    assert_eq!(longest("queued_us"), Some(0.0), "{}", said.out);
    for words in ["waiting for one of", "raise --connections"] {
        assert!(!said.out.contains(words), "{}", said.out);
    }
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
    let again = bench.say("report -v run.json");
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
        let due = |round: &serde_json::Value| round["tally"]["scheduled"].as_u64();
        record.rounds().iter().map(due).collect::<Vec<_>>()
    };
    let once = due(1, 7);
    assert_eq!(once, due(3, 7));
    assert_ne!(once, due(1, 8));
}

#[test]
fn connections_that_arrive_are_as_many_as_the_server_saw_each_with_its_requests() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (mut sent, mut connections) = (0, 0);
    for (number, each, opened) in [(60, 10, 6), (25, 10, 3), (7, 1, 7)] {
        for rest in [
            "-t 1",
            "-t 3 --arrivals constant",
            "-c 2 -t 2",
            "--warmup 20ms",
        ] {
            let line = format!(
                "http://{}/100.html --connection-rate 400.5 --requests-per-connection {each} -n {number} --rounds 2 {rest}",
                server.at()
            );
            let (said, record) = bench.run(&line);
            said.ended(0);
            record.assert_conserved();
            assert_eq!(record.count("/summary/ok"), 2 * number, "{line}");
            let visits = |name: &str| record.count(&format!("/summary/open/sessions/{name}"));
            assert_eq!(visits("scheduled"), 2 * opened, "{line}");
            assert_eq!(visits("opened"), 2 * opened, "{line}");
            assert_eq!((visits("aborted"), visits("skipped")), (0, 0), "{line}");
            assert_eq!(visits("time_us/count"), 2 * opened, "{line}");
            assert!(said.out.contains("connections/s"), "{}", said.out);
            sent += record.sent();
            connections += 1 + record.sum("/tally/connects/established"); // and the probe's
        }
    }
    let counted = server.stop();
    assert_eq!(counted.requests(), sent);
    assert_eq!(counted.of("connections"), connections);
}

#[test]
fn a_server_that_closes_before_all_were_asked_is_told_and_the_number_is_exact_all_the_same() {
    const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let bench = Bench::new();
    let server = Scripted::start(|line| {
        for answer in [OK, OK, OK, LAST] {
            if line.request().is_none() || !line.say(answer) {
                return;
            }
        }
    });
    let line = format!(
        "http://{}/ --connection-rate 500 --requests-per-connection 10 -n 100 --rounds 1",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 100);
    assert!(record.count("/summary/open/sessions/aborted") >= 10);
    assert!(said.out.contains("ended early"), "{}", said.out);
    assert!(
        said.out.contains("of the requests were skipped"),
        "{}",
        said.out
    );
}

#[test]
fn the_instruments_floor_is_recorded_and_none_of_it_went_to_the_server() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "http://{}/100.html --rate 2k --arrivals constant -d 200ms --warmup 0s --rounds 1 -c 10",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(server.stop().requests(), record.sent());
    let floor = record.at("/points/0/baseline");
    assert_eq!(
        (&floor["rate"], &floor["requests"], &floor["window"]),
        (&json!(2000.0), &json!(400), &json!(200_000_000))
    );
    assert!(floor["rps"].as_f64() > Some(0.0), "{floor}");
    assert!(floor["cpu_per_request"].as_u64() > Some(0), "{floor}");
    for times in ["response_us", "generator_late_us"] {
        assert!(
            floor[times]["p99"].is_null(),
            "400 do not carry it: {floor}"
        );
    }
    let p50 = &floor["response_us"]["p50"];
    // Null where the machine was so busy that the self-test's server could not keep up.
    let is_known = p50.as_f64().is_some_and(|p50| p50 > 0.0);
    assert!(is_known || p50.is_null(), "{floor}");
    assert_eq!(
        said.out.contains("of the reference server, at 2,000/s"),
        is_known
    );
}

#[test]
fn a_closed_loop_has_no_floor() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, record) = bench.run(&format!("http://{}/100.html -n 10 --rounds 1", server.at()));
    said.ended(0);
    assert!(record.0.pointer("/points/0/baseline").is_none());
    assert!(
        !said.out.contains("of the reference server"),
        "{}",
        said.out
    );
}

#[test]
fn what_a_closed_loop_omits_of_a_server_that_stalls_is_marked_and_an_open_loop_shows_it() {
    let bench = Bench::new();
    // It stands still for three tenths of the time: however slow the machine is, more only comes on top. Sixteen stalls are
    // enough for a p99, whose slower samples come together in them.
    let server = Reference::with(
        &bench,
        &["127.0.0.1:0"],
        &["--truth", "--stall", "75ms/250ms"],
    );
    let run = |load: &str| {
        let line = format!("http://{}/hello {load} -d 2s --rounds 2", server.at());
        let (said, record) = bench.run(&line);
        said.ended(0);
        record.assert_conserved();
        (said, record)
    };
    let told = |record: &Record| {
        let findings = record.at("/findings").as_array().unwrap().clone();
        let found = findings.into_iter().find(|it| it["check"] == "omission");
        found.map(|found| found["sentence"].as_str().unwrap().to_owned())
    };

    for (connections, reason) in [
        (4, "A closed loop sends nothing during a stall"),
        (1, "a stall and a slow response look the same"),
    ] {
        let (_, record) = run(&format!("-c {connections}"));
        let index = record
            .at("/summary/coordinated_omission/index")
            .as_f64()
            .unwrap();
        assert!(index > 0.2, "{index}");
        let affected = record.at("/summary/coordinated_omission/affected").clone();
        let affected = affected.as_array().unwrap();
        // On a busy machine the samples above p90 may come together, so that it is withheld.
        let is_withheld = record.at("/summary/latency_us/p90").is_null();
        let is_affected = |name: &str| affected.contains(&json!(name));
        assert!(
            is_affected("p50") && (is_affected("p90") || is_withheld),
            "{affected:?}"
        );
        for name in affected {
            let path = format!("/summary/latency_us/{}", name.as_str().unwrap());
            assert!(record.at(&path).is_f64(), "{path}");
        }
        let short = bench.say("report run.json");
        let p50 = short.ended(0).out.split("p50 ").nth(1).unwrap();
        assert_eq!(
            p50.split("  ").next().unwrap().chars().last(),
            Some('*'),
            "{}",
            short.out
        );
        let sentence = told(&record).expect("a finding");
        assert!(sentence.contains(reason), "{sentence}");
        assert!(sentence.contains(" too low"), "{sentence}");
    }

    let (said, record) = run("--rate 1500");
    assert!(!said.out.contains("coordinated omission"), "{}", said.out);
    assert_eq!(told(&record), None);
    // A fifth of all arrivals come in the first fifty milliseconds of a stall, and wait for at least 25.
    let p90 = record.at("/summary/latency_us/p90").as_f64().unwrap();
    assert!(p90 > 25_000.0, "{p90} us");
    let p99 = record.at("/summary/latency_us/p99").as_f64();
    assert!(p99.is_none_or(|p99| p99 >= p90), "{p99:?} us");
}

//! Our own client and our own server: what the one does to the other is called by both what it was.

use super::*;
use crate::bench::Record;

/// More than a connection carries in a second or so, and no disk has to hold it: it is all hole.
const ENDLESS: u64 = 3 << 30;

/// What `weigh run` says of the server when it asks as `line` says.
fn ask_of(bench: &Bench, server: &Serving, line: &str) -> (Said, Record) {
    let line = line.replace('@', &format!("http://{}", server.at));
    let (said, record) = bench.run(&line);
    record.assert_conserved();
    (said, record)
}

/// The faults of the first round: kind, step, blame and count of each.
fn faults(record: &Record) -> Vec<(String, String, String, u64)> {
    let faults = record.rounds()[0]["tally"]["faults"].as_array().unwrap();
    let word = |fault: &serde_json::Value, name: &str| fault[name].as_str().unwrap().to_owned();
    let mut all: Vec<_> = faults
        .iter()
        .map(|fault| {
            let [kind, step, blame] = ["kind", "step", "blame"].map(|name| word(fault, name));
            (kind, step, blame, fault["count"].as_u64().unwrap())
        })
        .collect();
    all.sort();
    all
}

fn server_did(kind: &str, step: &str, count: u64) -> (String, String, String, u64) {
    (kind.into(), step.into(), "server".into(), count)
}

/// A folder with one file that takes a while to fetch.
fn with_endless() -> Bench {
    let bench = site();
    let file = fs::File::create(bench.path("site/endless.bin")).unwrap();
    file.set_len(ENDLESS).unwrap();
    bench
}

#[test]
fn connections_that_are_cut_while_they_wait_are_lost_idle_and_no_faults() {
    let bench = with_endless();
    let server = Serving::start(&bench, "site -w 1 --keepalive-timeout 50ms");
    // Two connections are asked for something small, and then for nothing more.
    let line = "@/hello @/endless.bin @/hello -n 3 -c 3 -t 1 --rounds 1 --warmup 0s --timeout 60s";
    let (said, record) = ask_of(&bench, &server, line);
    said.ended(0);
    let counted = server.stop();
    assert_eq!(faults(&record), []);
    assert_eq!(record.sum("/tally/connects/lost_idle"), 2);
    assert!(
        said.out.contains("the server closed 2 idle connections"),
        "{said:#?}"
    );
    assert_eq!(counted.requests(), record.sent());
    assert_eq!((counted.of("cut_idle"), counted.of("cut")), (2, 2));
}

#[test]
fn who_finds_no_place_is_told_and_each_telling_is_counted_by_both() {
    for (limits, count) in [
        (
            "--max-connections 4 --max-connections-per-address 0",
            "over_limit",
        ),
        (
            "--max-connections 40 --max-connections-per-address 4",
            "over_limit_per_address",
        ),
    ] {
        let bench = Bench::new();
        let server = Serving::start(&bench, &format!("-w 1 {limits}"));
        // A connection asks as soon as it is there, so what comes on it is taken for the answer.
        let line =
            "@/hello -c 12 -t 1 -n 3000 --rounds 1 --warmup 0s --connect lazy --max-errors 100%";
        let (said, record) = ask_of(&bench, &server, line);
        said.ended(0);
        let counted = server.stop();
        let told = counted.of(count);
        assert!(told > 0, "{counted:?}");
        assert_eq!(faults(&record), [server_did("status_5xx", "verdict", told)]);
        assert!(said.out.contains("the status was 5xx"), "{said:#?}");
        assert_eq!(counted.requests() + told, record.sent(), "{counted:?}");
        assert_eq!(counted.of("responses_5xx"), told);
    }
}

#[test]
fn a_body_that_is_too_large_is_a_status_also_when_most_of_it_was_not_read() {
    for length in [5_000, 20_000_000] {
        let bench = Bench::new();
        let body = bench.file("body", vec![b'x'; length]);
        let server = Serving::start(&bench, "-w 1 --max-body 1000");
        let (said, record) = bench.run(&format!(
            "http://{}/hello -c 3 -t 1 -n 30 --rounds 1 --warmup 0s --keep-going --max-errors 100% --body @{}",
            server.at,
            body.display()
        ));
        record.assert_conserved();
        let counted = server.stop();
        assert_eq!(
            faults(&record),
            [server_did("status_4xx", "verdict", 30)],
            "{length}"
        );
        assert!(
            said.out.contains("Correct --body and its headers"),
            "{said:#?}"
        );
        // The probe's is one of them.
        assert_eq!(
            (counted.of("refused"), counted.requests()),
            (31, 0),
            "{length}"
        );
    }
}

/// The response comes while most of the request is still to be sent: the rest is sent, and then the next request.
#[test]
fn a_response_before_the_end_of_its_request_does_not_stop_the_connection() {
    let bench = site();
    let body = bench.file("body", vec![b'x'; 5_000_000]);
    let server = Serving::start(&bench, "site -w 1");
    for load in ["-n 90", "-n 60 --rate 200/s"] {
        let (said, record) = bench.run(&format!(
            "http://{}/hello -c 3 -t 1 {load} --rounds 1 --warmup 0s --expect 405 --body @{}",
            server.at,
            body.display()
        ));
        record.assert_conserved();
        assert_eq!(record.count("/summary/errors/total"), 0, "{said:#?}");
    }
    // Two probes, at least, and no second response to any of them.
    let counted = server.stop();
    assert!(counted.requests() >= 152, "{counted:?}");
    assert_eq!(counted.of("refused"), 0);
}

#[test]
fn a_server_that_is_stopped_under_load_loses_no_answer_and_what_comes_later_is_refused() {
    let bench = Bench::new();
    let server = Serving::start(&bench, "-w 2");
    let line = format!(
        "run -o run.json http://{}/hello -d 30s -c 8 -t 2 --rounds 1 --warmup 0s --max-errors 0",
        server.at
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let load = bench.weigh(&words).spawn().unwrap();
    while server.count("requests") < 1000 {
        std::thread::yield_now();
    }
    let counted = server.stop();
    signal("INT", load.id());
    let said = Said::of(load);
    let record = bench.record("run.json");
    record.assert_conserved();
    // The server's answers are our answers; what it closed a connection upon it had not seen.
    let probes = record.count("/sent_total/probe");
    assert_eq!(record.count("/summary/ok") + probes, counted.requests());
    assert_eq!(counted.of("cut"), 0, "{counted:?}");
    for (kind, step, blame, _) in faults(&record) {
        let known = [
            ("connect_refused", "connect"),
            ("connect_reset", "connect"),
            ("closed_before_response", "head"),
            ("reset", "send"),
            ("reset", "head"),
        ];
        assert!(
            known.contains(&(&kind, &step)) && blame == "server",
            "{kind} {step} {blame}: {said:#?}"
        );
    }
}

//! Reading a record or a journal judges it again: what was killed is marked, and what was changed is found out.

use crate::bench::{Bench, Reference, Said};
use record::{Journal, Run, example};
use serde_json::{Value, json};

/// Leaves the journal of `run`, as a kill does, for the record `name`.
fn journal(bench: &Bench, name: &str, run: &Run) {
    let mut journal = Journal::create(&bench.path(name), run).unwrap();
    for (place, point) in run.points.iter().enumerate() {
        for round in &point.rounds {
            let floor = point.baseline.as_ref();
            journal
                .append_round(place, &point.level, floor, round)
                .unwrap();
        }
    }
}

#[test]
fn the_journal_of_a_run_killed_in_overload_says_so_in_every_form() {
    let bench = Bench::new();
    journal(&bench, "run.json", &example::overloaded());
    let said = bench.say("report -v run.json");
    assert!(said.out.contains("OVERLOAD"), "{}", said.out);
    assert!(
        !said.out.contains("response time *  p50"),
        "a percentile of an overload: {}",
        said.out
    );
    let json: Value =
        serde_json::from_str(&bench.say("report -v run.json --format json").out).unwrap();
    let overload = |found: &Value| found["check"] == "overload" && found["grade"] == "invalid";
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(overload), "{findings:#?}");
    let csv = bench.say("report -v run.json --format csv");
    assert!(csv.out.contains("overload"), "{}", csv.out);
}

/// The record of a small run, after `edit`, as `weigh report` reads it.
fn edited(bench: &Bench, whole: &str, edit: fn(&mut Value)) -> Said {
    let mut record: Value = serde_json::from_str(whole).unwrap();
    edit(&mut record);
    bench.file("edited.json", record.to_string());
    bench.say("report -v edited.json")
}

fn add(record: &mut Value, path: &str, more: u64) {
    let count = record.pointer_mut(path).unwrap();
    *count = json!(count.as_u64().unwrap() + more);
}

#[test]
fn a_record_edited_by_hand_is_invalid_and_no_success() {
    type Edit = fn(&mut Value);
    const TALLY: &str = "/points/0/rounds/0/tally";
    let cases: &[(&str, Edit)] = &[
        ("round 1 does not add up", |record| {
            add(record, &format!("{TALLY}/ok"), 5);
        }),
        ("round 1 does not add up", |record| {
            add(record, &format!("{TALLY}/scheduled"), 1);
        }),
        ("contradict the rounds, in ok", |record| {
            add(record, "/summary/ok", 5);
        }),
        ("in rps.mean", |record| {
            let mean = record.pointer_mut("/points/0/summary/rps/mean").unwrap();
            *mean = json!(mean.as_f64().unwrap() * 2.0);
        }),
        ("in sent_total", |record| {
            add(record, "/sent_total/warmup", 5)
        }),
        ("its counts differ from series", |record| {
            add(record, &format!("{TALLY}/ok_in_window"), 5);
        }),
        ("its counts differ from first_byte", |record| {
            let tally = record.pointer_mut(TALLY).unwrap();
            tally["first_byte"] = tally["service_5xx"].clone();
        }),
        ("does not add up", |record| {
            let tally = record.pointer_mut(TALLY).unwrap();
            tally["service"] = tally["service_5xx"].clone();
        }),
    ];
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.run(&format!("{}/100.html -n 300 --rounds 3", server.at()));
    let whole = std::fs::read_to_string(bench.path("run.json")).unwrap();
    edited(&bench, &whole, |_| {}).ended(0);
    for (sentence, edit) in cases {
        let said = edited(&bench, &whole, *edit);
        said.ended(1);
        assert!(said.out.contains("INVALID"), "{sentence}: {}", said.out);
        let why = "weigh: the record contradicts itself: ";
        assert!(said.err.contains(why), "{sentence}: {said:#?}");
        assert!(said.err.contains(sentence), "{sentence}: {said:#?}");
    }
}

#[test]
fn figures_are_computed_again_whatever_the_file_says() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let (said, _) = bench.run(&format!("{}/100.html -n 300 --rounds 3", server.at()));
    let whole = std::fs::read_to_string(bench.path("run.json")).unwrap();
    let again = edited(&bench, &whole, |record| {
        record["findings"] = json!([]);
        record["exit"] = json!({"status": 1, "why": "somebody wrote this"});
    });
    assert_eq!(again.ended(0).out, said.out);
    let edited = edited(&bench, &whole, |record| {
        record["points"][0]["summary"]["latency_us"]["max"] = json!(123_456_789.0);
    });
    assert!(!edited.ended(1).out.contains("123 s"), "{}", edited.out);
}

#[test]
fn a_record_of_an_older_version_without_the_new_fields_is_read_and_judged() {
    let bench = Bench::new();
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/fixtures/v1.json");
    let said = bench.say(&format!("report -v {old}"));
    assert!(!said.err.contains("contradicts itself"), "{said:#?}");
    assert!(said.err.contains("errors<=1% is not met"), "{said:#?}");
}

#[test]
fn a_sweep_whose_record_was_changed_does_not_go_on() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "sweep http://{}/100.html -c 1,2 -n 20 --rounds 1 -o s.json",
        server.at()
    );
    bench.say(&line).ended(0);
    let whole = std::fs::read_to_string(bench.path("s.json")).unwrap();
    let mut record: Value = serde_json::from_str(&whole).unwrap();
    add(&mut record, "/points/0/rounds/0/tally/ok", 5);
    record["points"].as_array_mut().unwrap().truncate(1);
    bench.file("s.json", record.to_string());
    bench
        .say("sweep --resume s.json")
        .refused(&["s.json: the record contradicts itself", "measure anew"]);
}

//! What is wrong with this machine, and how two records' machines, plans and versions differ.

use crate::bench::{Bench, Reference};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;

#[test]
fn a_checkup_has_findings_with_costs_the_path_and_every_fact_and_its_status_follows() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let said = bench.say(&format!("doctor --json --target {}", server.at()));
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let findings = found["findings"].as_array().unwrap();
    for finding in findings {
        for key in ["check", "headline"] {
            assert!(
                finding[key].as_str().is_some_and(|text| !text.is_empty()),
                "{finding}"
            );
        }
        assert!(finding["cost"]["share"].is_number(), "{finding}");
    }
    let is_invalid = findings.iter().any(|finding| finding["grade"] == "invalid");
    said.ended(i32::from(is_invalid));
    assert_eq!(found["path"]["loopback"], true, "{found}");
    assert_eq!(
        found["path"]["connects"].as_array().unwrap().len(),
        5,
        "{found}"
    );
    assert!(
        found["machine"]["setup"]["sysctls"]["net.ipv4.tcp_sack"].is_string(),
        "{found}"
    );
    assert!(found["activity"]["busy"].is_number(), "{found}");
    assert!(server.stop().of("requests") == 0, "nothing is requested");
}

#[test]
fn the_page_answers_first_and_fits_80_columns() {
    let bench = Bench::new();
    let said = bench.say("doctor -v");
    let first = said.out.lines().next().unwrap();
    assert!(
        first.contains("cost accuracy") || first.contains("costs accuracy"),
        "{first}"
    );
    for line in said.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(
        said.out
            .contains("net.ipv4.tcp_tw_recycle=1: removed in Linux 4.12"),
        "{}",
        said.out
    );
}

#[test]
fn a_target_that_refuses_makes_measuring_invalid() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let said = bench.say(&format!("doctor --target {at}"));
    assert!(
        said.ended(1)
            .out
            .contains(&format!("no connection to {at}")),
        "{}",
        said.out
    );
}

#[test]
fn two_records_are_comparable_unless_what_measures_differs() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for (name, connections) in [("a.json", 2), ("b.json", 2), ("c.json", 3)] {
        let line = format!("{}/100.html -n 30 --rounds 1 -c {connections}", server.at());
        bench.run(&line);
        fs::rename(bench.path("run.json"), bench.path(name)).unwrap();
    }
    let same = bench.say("report --diff a.json b.json");
    assert!(!same.ended(0).out.contains(" * "), "{}", same.out);
    let other = bench.say("report --diff a.json c.json");
    assert!(
        other.ended(1).out.contains("connections *  2 -> 3\n"),
        "{}",
        other.out
    );
    let json = bench.say("report --diff a.json c.json --format json");
    let json: Value = serde_json::from_str(&json.ended(1).out).unwrap();
    assert_eq!(json["comparable"], false);
    bench.say("report --diff a.json").refused(&["two records"]);
    bench
        .say("report --diff a.json b.json --format csv")
        .refused(&["not as csv"]);
}

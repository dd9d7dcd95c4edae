//! `--two-generators`: each round once more by two processes, which together ask exactly what one asks; and whatever becomes
//! of them, the rounds by one stand.

use crate::bench::{Bench, Record, Reference, Said, signal};
use crate::processes::{all_end, children};
use crate::scripted::{OK, Scripted};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};

fn twins(record: &Record) -> &[Value] {
    record
        .at("/points/0/split_generators/rounds")
        .as_array()
        .unwrap()
}

fn sum(rounds: &[Value], path: &str) -> u64 {
    let count = |round: &Value| round.pointer(path).and_then(Value::as_u64).unwrap();
    rounds.iter().map(count).sum()
}

/// All that left weigh, by one generator and by two.
fn sent(record: &Record) -> u64 {
    record.sent() + record.count("/sent_total/split_generators")
}

#[test]
fn two_processes_ask_as_often_as_one_and_the_server_saw_each_request() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let mut all = 0;
    for (rest, connections, threads) in [
        ("-c 5 -t 1", 5, 2),
        ("-c 3 -t 2", 3, 3),
        ("-c 2 -t 9 --no-keepalive", 2, 2),
        ("-c 8 -t 2 --warmup 20ms --pipeline 4", 8, 4),
        ("-c 8 -t 2 --rate 3k", 8, 4),
        (
            "-c 9 -t 1 --rate 2k --warmup 20ms --arrivals constant",
            9,
            2,
        ),
    ] {
        let line = format!(
            "http://{}/100.html -n 203 --rounds 2 --two-generators {rest}",
            server.at()
        );
        let (said, record) = bench.run(&line);
        said.ended(0);
        record.assert_conserved();
        assert_eq!(record.count("/summary/ok"), 406, "{rest}");
        let twins = twins(&record);
        assert_eq!(twins.len(), 2);
        assert_eq!(sum(twins, "/tally/scheduled"), 406, "{rest}");
        assert_eq!(sum(twins, "/tally/ok"), 406, "{rest}");
        assert_eq!(record.count("/points/0/split_generators/summary/ok"), 406);
        for twin in twins {
            assert_eq!(twin["threads"].as_array().unwrap().len(), threads, "{rest}");
            let peak = twin.pointer("/tally/connects/open_peak").unwrap();
            assert!(peak.as_u64().unwrap() <= connections, "{rest}: {peak}");
        }
        assert!(said.out.contains("two generators got "), "{}", said.out);
        let again = bench.say("report -v run.json");
        assert_eq!(again.ended(0).out, said.out);
        all += sent(&record);
    }
    assert_eq!(server.stop().requests(), all);
}

#[test]
fn at_a_rate_both_together_have_the_schedule_of_one() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "http://{}/100.html --rate 1k -d 300ms --warmup 50ms --rounds 3 -c 20 -t 2 --two-generators",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    let due = |rounds: &[Value]| -> Vec<u64> {
        let mut by_number: Vec<(u64, u64)> = rounds
            .iter()
            .map(|round| {
                (
                    round["index"].as_u64().unwrap(),
                    sum(std::slice::from_ref(round), "/tally/scheduled"),
                )
            })
            .collect();
        by_number.sort_unstable();
        by_number.into_iter().map(|(_, due)| due).collect()
    };
    assert_eq!(due(record.rounds()), due(twins(&record)));
    for twin in twins(&record) {
        let nanos = |edge: &str| {
            twin.pointer(&format!("/window/{edge}"))
                .unwrap()
                .as_u64()
                .unwrap()
        };
        assert_eq!(
            nanos("end") - nanos("start"),
            300_000_000,
            "both windows are one"
        );
    }
    assert_eq!(server.stop().requests(), sent(&record));
}

#[test]
fn every_number_is_used_once_over_one_and_two_generators() {
    let bench = Bench::new();
    let (tell, told) = channel();
    let server = Scripted::start(move |line| {
        while let Some(request) = line.request() {
            let _ = tell.send(request.line().to_owned());
            line.say(OK);
        }
    });
    let line = format!(
        "{}/{{seq}} -c 4 -t 2 -n 20 --rounds 2 --two-generators",
        server.at()
    );
    let (said, _) = bench.run(&line);
    said.ended(0);
    let mut asked: Vec<String> = told.try_iter().skip(1).collect(); // the first is the probe's
    assert_eq!(asked.len(), 4 * 20);
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), 4 * 20, "no number twice");
}

#[test]
fn csv_has_a_row_for_each_round_of_either() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "http://{}/0.html -c 4 -t 1 -n 20 --rounds 2 --two-generators",
        server.at()
    );
    bench.run(&line).0.ended(0);
    let csv = bench.say("report --format csv run.json");
    let rows: Vec<Vec<&str>> = csv
        .ended(0)
        .out
        .lines()
        .map(|row| row.split(',').collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let (generators, threads) = (column("generators"), column("threads"));
    let shown: Vec<(&str, &str)> = rows[2..]
        .iter()
        .map(|row| (row[generators], row[threads]))
        .collect();
    assert_eq!(shown, [("1", "1"), ("1", "1"), ("2", "2"), ("2", "2")]);
}

/// A server that answers all but the requests of these numbers, on whose connections it falls silent; and what says so.
fn silent_at(numbers: std::ops::Range<u64>) -> (Scripted, Receiver<()>) {
    let (tell, told) = channel();
    let asked = AtomicU64::new(0);
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            if numbers.contains(&asked.fetch_add(1, Ordering::SeqCst)) {
                let _ = tell.send(());
                return line.hang();
            }
            line.say(OK);
        }
    });
    (server, told)
}

/// A run of two rounds of ten whose first round by two generators is under way: both of its connections wait.
fn in_the_first_twin(bench: &Bench) -> (Scripted, std::process::Child, Vec<u32>) {
    let first = 1 + 10 + 4; // the probe, the round by one, and four of the round by two
    let (server, silent) = silent_at(first..first + 2);
    let at = server.at();
    let line = format!(
        "run {at} -o run.json -c 2 -t 1 -v -n 10 --rounds 2 --two-generators --timeout 100s"
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    silent.recv().unwrap();
    silent.recv().unwrap();
    let generators = children(child.id());
    assert_eq!(generators.len(), 2);
    (server, child, generators)
}

#[test]
fn a_generator_that_dies_costs_no_round_by_one() {
    let bench = Bench::new();
    let (_server, child, generators) = in_the_first_twin(&bench);
    signal("KILL", generators[1]);
    let said = Said::of(child);
    said.ended(0);
    all_end(&generators);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.rounds().len(), 2);
    assert_eq!(record.count("/summary/ok"), 20);
    assert!(twins(&record).is_empty());
    assert!(
        said.out
            .contains("only 0 rounds could be measured with two generators"),
        "{}",
        said.out
    );
    assert!(
        record
            .at("/points/0/split_generators/failed")
            .as_str()
            .unwrap()
            .contains("signal: 9"),
        "{said:#?}"
    );
}

#[test]
fn an_interrupt_reaches_both_generators_and_what_they_measured_is_kept() {
    let bench = Bench::new();
    let (server, child, generators) = in_the_first_twin(&bench);
    signal("INT", child.id());
    let said = Said::of(child);
    said.ended(130);
    all_end(&generators);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 10);
    let twins = twins(&record);
    assert_eq!((twins.len(), &twins[0]["partial"]), (1, &true.into()));
    assert_eq!(sum(twins, "/tally/ok"), 4);
    assert_eq!(sent(&record), server.requests());
}

#[test]
fn generators_do_not_outlive_a_killed_weigh() {
    let bench = Bench::new();
    let (_server, child, generators) = in_the_first_twin(&bench);
    signal("KILL", child.id());
    assert_eq!(Said::of(child).status, None);
    all_end(&generators);
    let json = bench.say("report --format json run.json.journal");
    let record = Record::parse(json.ended(0).out.as_bytes());
    assert_eq!(
        (record.rounds().len(), record.count("/summary/ok")),
        (1, 10)
    );
}

#[test]
fn a_generator_that_stands_still_does_not_outlive_a_killed_weigh() {
    let bench = Bench::new();
    let (_server, child, generators) = in_the_first_twin(&bench);
    signal("STOP", generators[0]); // it cannot see that its input has ended
    signal("KILL", child.id());
    assert_eq!(Said::of(child).status, None);
    all_end(&generators);
}

#[test]
fn the_generators_own_verb_stands_in_no_help_and_does_nothing_by_itself() {
    let bench = Bench::new();
    assert!(!bench.say("--help").ended(0).out.contains("generate "));
    assert!(!bench.say("man").ended(0).out.contains("weigh\\-generate"));
    bench
        .say("generate")
        .refused(&["this command is for weigh itself"]);
}

//! A server that weigh started and that ends before its load does: told, with how and when, and the campaign stops.

use crate::bench::{Bench, Record, Said, lives};
use crate::processes::{all_end, id_in, rounds_are_over};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

/// A load of short rounds.
const FAST: &str = "-n 20 --warmup 0s";

/// Writes `up`, a server whose first process does `last` when somebody writes to the pipe `die`, while its worker goes
/// on; with a file called `stay` it does not.
fn mortal(bench: &Bench, last: &str) {
    let made = Command::new("mkfifo").arg(bench.path("die")).status();
    assert!(made.unwrap().success());
    bench.file(
        "up",
        format!(
            "ulimit -c 0
             {WEIGH} serve --listen unix:s > counts 2>&1 & echo $! > worker
             echo one; echo out of luck >&2
             [ -e stay ] && wait
             read word < die
             {last}"
        ),
    );
}

/// What became of a run of that server under `load`, of which a round was over when it was told to end; and its record.
fn ended_by(last: &str, load: &str) -> (Bench, Said, Record) {
    let bench = Bench::new();
    mortal(&bench, last);
    let line = format!("run x/100.html --unix s {load} --rounds 10000 -o run.json -- sh up");
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    rounds_are_over(&bench, 1);
    fs::write(bench.path("die"), "now\n").unwrap();
    let said = Said::of(child);
    let record = bench.record("run.json");
    record.assert_conserved();
    (bench, said, record)
}

#[test]
fn a_server_that_exits_is_told_with_its_status_and_what_it_printed() {
    let (bench, said, record) = ended_by("exit 7", FAST);
    said.ended(1);
    let how = "the server that weigh started exited with status 7 ";
    let rest = ", while 1 process that it had started went on; it printed last: one | out of luck";
    assert!(
        said.err.contains(how) && said.err.contains(rest),
        "{said:#?}"
    );
    assert_eq!(record.at("/server_end/status"), 7);
    assert_eq!(record.at("/server_end/left"), 1);
    assert_eq!(record.at("/server_end/printed"), "one\nout of luck");
    assert!(record.count("/server_end/round") >= 1);
    assert!(record.count("/summary/ok") >= 20);
    all_end(&[id_in(&bench, "worker")]);
    let report = bench.say("report run.json");
    for text in [&said.out, &report.out] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the server exited with status 7"), "{text}");
        assert!(text.contains("PARTIAL, the server ended: "), "{text}");
        assert!(!text.contains("--connections"), "{text}");
    }
}

#[test]
fn a_signal_that_ended_the_server_is_named() {
    let (bench, said, record) = ended_by("kill -s SEGV $$", FAST);
    said.ended(1);
    let how = "the server that weigh started was killed by SIGSEGV ";
    assert!(said.err.contains(how), "{said:#?}");
    assert_eq!(record.at("/server_end/signal"), "SIGSEGV");
    assert!(record.at("/server_end/status").is_null());
    all_end(&[id_in(&bench, "worker")]);
}

#[test]
fn one_that_goes_into_the_background_late_is_told_how_to_stay() {
    let (bench, said, record) = ended_by("exit 0", FAST);
    said.ended(1);
    assert_eq!(record.at("/server_end/status"), 0);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Start it in the foreground: nginx -g 'daemon off;'"),
        "{text}"
    );
    all_end(&[id_in(&bench, "worker")]);
}

#[test]
fn the_part_of_the_round_in_which_it_ended_is_told() {
    for (line, during, rounds) in [
        ("-n 100m --warmup 0s --rounds 2", "window", 1),
        ("-d 100s --warmup 100s --rounds 2", "warm_up", 0),
    ] {
        let bench = Bench::new();
        // A second of CPU time; the round would go on for far longer.
        bench.file(
            "up",
            format!("ulimit -c 0; ulimit -St 1; exec {WEIGH} serve -w 1 --listen unix:s"),
        );
        let (said, record) = bench.run(&format!("x/0.html --unix s -c 4 {line} -- sh up"));
        said.ended(1);
        assert_eq!(record.at("/server_end/signal"), "SIGXCPU");
        assert_eq!(record.at("/server_end/during"), during);
        assert_eq!(record.at("/server_end/round"), 0);
        assert_eq!(record.rounds().len(), rounds);
        let when = during.replace('_', "-");
        let how = format!("was killed by SIGXCPU in the {when} of round 1");
        assert!(said.err.contains(&how), "{said:#?}");
        let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("was killed by SIGXCPU"), "{text}");
        if rounds > 0 {
            record.assert_conserved();
            assert_eq!(record.rounds()[0]["partial"], true);
            assert!(record.count("/summary/ok") > 0);
        }
    }
}

#[test]
fn a_sweep_stops_too_and_goes_on_when_it_is_resumed() {
    let bench = Bench::new();
    mortal(&bench, "exit 3");
    // The last points take their time, so that it cannot be over before the server ends.
    let line = "sweep http://x/100.html --unix s -c 1,2,3,4 --rate 200 -d 250ms --warmup 0s --rounds 2 -o s.json -- sh up";
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut child = bench.weigh(&words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_second = |line: &String| line.split_whitespace().next() == Some("2");
    assert!(
        out.by_ref()
            .map_while(Result::ok)
            .any(|line| is_second(&line))
    );
    fs::write(bench.path("die"), "now\n").unwrap();
    let rest: Vec<String> = out.map_while(Result::ok).collect();
    let said = Said::of(child);
    said.ended(1);
    assert!(said.err.contains("exited with status 3"), "{said:#?}");
    let rest = rest
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(rest.contains("exited with status 3"), "{rest}");
    let record = bench.record("s.json");
    assert_eq!(record.at("/server_end/status"), 3);
    let points = record.at("/points").as_array().unwrap().len();
    assert!((2..=4).contains(&points), "{points}");

    bench.file("stay", "");
    let again = bench.say("sweep --resume s.json");
    again.ended(0);
    let record = bench.record("s.json");
    assert!(record.0.get("server_end").is_none());
    assert_eq!(record.at("/interrupted"), false);
    assert_eq!(record.at("/points").as_array().unwrap().len(), 4);
}

#[test]
fn two_generators_stop_too() {
    // When the round by one is over the one by two begins, and takes a second.
    let load = "-c 4 -t 1 --rate 100 -n 100 --warmup 0s --two-generators";
    let (_, said, record) = ended_by("exit 7", load);
    said.ended(1);
    assert_eq!(record.at("/server_end/status"), 7);
    assert_eq!(record.rounds().len(), 1);
    assert_eq!(record.at("/server_end/round"), 0, "that by two was next");
    let twins = record
        .0
        .pointer("/points/0/split_generators/rounds")
        .into_iter();
    let mut twins = twins.flat_map(|twins| twins.as_array().unwrap());
    assert!(twins.all(|twin| twin["partial"] == true));
}

#[test]
fn a_command_that_goes_into_the_background_is_refused_and_ended() {
    let bench = Bench::new();
    bench.file(
        "up",
        format!("( setsid sh -c 'echo $$ > id; exec {WEIGH} serve --listen unix:s' & )\nwhile ! [ -s id ]; do :; done"),
    );
    let said = bench.say("run x/100.html --unix s -n 100 --rounds 1 -o run.json -- sh up");
    said.refused(&[
        "`sh up` went into the background",
        "left 1 process running, now stopped",
        "nginx -g 'daemon off;'",
        "lighttpd -D",
        "apache2 -X or -DFOREGROUND",
    ]);
    assert!(!lives(id_in(&bench, "id")));
    assert!(!bench.path("run.json").exists());
}

//! Ctrl-C, once and twice, and worse.

use crate::bench::{Bench, Said, signal};
use crate::scripted::{OK, Scripted};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// A server that answers `number` requests and then no more, and what says when that is.
fn falls_silent_after(number: u64) -> (Scripted, Receiver<()>) {
    let (tell, told) = channel();
    let answered = AtomicU64::new(0);
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            if answered.fetch_add(1, Ordering::SeqCst) >= number {
                let _ = tell.send(()); // further connections fall silent when the receiver is gone
                return line.hang();
            }
            line.say(OK);
        }
    });
    (server, told)
}

/// `weigh run` with `rest`, started and under load: the server has answered as much as it will.
fn under_way(bench: &Bench, rest: &str, answers: u64) -> (Scripted, Child) {
    let (server, silent) = falls_silent_after(answers);
    let at = server.at();
    let mut args = vec!["run", &at, "-o", "run.json", "-c", "1", "--warmup", "0s"];
    args.extend(rest.split_whitespace());
    let child = bench.weigh(&args).spawn().unwrap();
    silent.recv().unwrap();
    (server, child)
}

#[test]
fn one_interrupt_ends_the_run_and_keeps_what_was_measured() {
    for name in ["INT", "TERM"] {
        for rest in ["-n 100 --rounds 3", "-d 100s --rounds 3"] {
            let bench = Bench::new();
            let (server, child) = under_way(&bench, rest, 31);
            signal(name, child.id());
            let said = Said::of(child);
            said.ended(130);
            assert!(said.out.contains("PARTIAL, interrupted"), "{said:#?}");
            let why =
                "weigh: interrupted; what was measured until then is recorded (exit status 130)";
            assert!(said.err.contains(why), "{said:#?}");
            let record = bench.record("run.json");
            record.assert_conserved();
            assert_eq!(record.at("/interrupted"), true);
            assert_eq!(record.rounds().len(), 1);
            assert_eq!(record.rounds()[0]["partial"], true);
            assert_eq!(record.count("/summary/ok"), 30);
            assert_eq!(record.sent(), server.requests(), "{rest}");
            assert!(!bench.path("run.json.journal").exists());
            let again = bench.say("report run.json");
            assert_eq!(again.ended(0).out, said.out);
        }
    }
}

/// The terminal echoes `^C` behind the progress: in the same line, or that could not be cleared.
#[test]
fn the_echo_of_an_interrupt_fits_behind_the_progress() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let weigh = env!("CARGO_BIN_EXE_weigh");
    let line = format!(
        "stty cols 80 rows 24; exec {weigh} run {} -o run.json -d 100s",
        server.at()
    );
    let mut terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(bench.path(""))
        .env("XDG_STATE_HOME", bench.path("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, which every Linux has, opens a terminal");
    let (mut shown, mut byte) = (Vec::new(), [0]);
    let out = terminal.stdout.as_mut().unwrap();
    while !shown.ends_with(b" errors") && out.read(&mut byte).unwrap() > 0 {
        shown.push(byte[0]);
    }
    let mut keys = terminal.stdin.take().unwrap();
    keys.write_all(b"\x03").unwrap();
    out.read_to_end(&mut shown).unwrap();
    assert_eq!(terminal.wait().unwrap().code(), Some(130));
    let shown = String::from_utf8(shown).unwrap();
    let (before, _) = shown.split_once("^C").expect("the terminal echoes it");
    let progress = before.rsplit("\x1b[2K").next().unwrap();
    let wide = progress.chars().count() + "^C".len();
    assert!(progress.contains(" errors") && wide <= 80, "{shown:?}");
}

#[test]
fn an_interrupt_in_the_warm_up_leaves_a_record_without_a_round() {
    let bench = Bench::new();
    let (server, silent) = falls_silent_after(31);
    let line = format!("run {} -o run.json -c 1 -d 100s --warmup 100s", server.at());
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    silent.recv().unwrap();
    signal("INT", child.id());
    let said = Said::of(child);
    said.ended(130);
    assert!(said.out.contains("PARTIAL, interrupted"), "{said:#?}");
    let record = bench.record("run.json");
    assert_eq!(
        (record.at("/interrupted"), record.rounds().len()),
        (&true.into(), 0)
    );
    assert_eq!(server.requests(), 1 + 31);
    assert_eq!(record.count("/sent_total/unopened"), 31);
}

#[test]
fn rounds_that_were_over_stand_when_a_later_one_is_interrupted() {
    let bench = Bench::new();
    let (server, child) = under_way(&bench, "-n 10 --rounds 5", 1 + 10 + 10 + 3);
    signal("INT", child.id());
    let said = Said::of(child);
    said.ended(130);
    let record = bench.record("run.json");
    let partial: Vec<bool> = record
        .rounds()
        .iter()
        .map(|round| round["partial"] == true)
        .collect();
    assert_eq!(partial, [false, false, true]);
    assert_eq!(record.count("/summary/ok"), 23);
    assert_eq!(record.sent(), server.requests());
    assert!(
        said.out.contains("2 of 5 rounds and a part of one"),
        "{}",
        said.out
    );
}

#[test]
fn a_second_interrupt_ends_at_once_and_what_was_over_can_be_read() {
    let bench = Bench::new();
    let (_server, child) = under_way(&bench, "-n 10 --rounds 5", 1 + 10 + 3);
    let id = child.id();
    for _ in 0..20 {
        signal("INT", id); // whichever comes second
    }
    let said = Said::of(child);
    said.ended(130);
    let file = ["run.json", "run.json.journal"]
        .into_iter()
        .find(|name| bench.path(name).exists());
    let said = bench.say(&format!(
        "report --format json {}",
        file.expect("a record or a journal")
    ));
    let record = crate::bench::Record::parse(said.ended(0).out.as_bytes());
    assert_eq!(record.rounds()[0]["tally"]["ok"], 10);
}

#[test]
fn the_journal_of_a_killed_run_holds_every_round_that_was_over() {
    let bench = Bench::new();
    let (server, child) = under_way(&bench, "-n 10 --rounds 5 --name base", 1 + 10 + 10 + 3);
    signal("KILL", child.id());
    assert_eq!(Said::of(child).status, None);
    let named = bench.say("report base");
    assert!(
        named
            .ended(0)
            .out
            .contains("PARTIAL, interrupted: 2 of 5 rounds")
    );
    assert!(!bench.path("run.json").exists());
    let said = bench.say("report -v run.json.journal");
    said.ended(0);
    assert!(said.out.contains("PARTIAL"), "{}", said.out);
    assert!(said.out.contains("20 ok"), "{}", said.out);
    let json = bench.say("report --format json run.json.journal");
    let record = crate::bench::Record::parse(json.ended(0).out.as_bytes());
    record.assert_conserved();
    assert_eq!(record.rounds().len(), 2);
    assert_eq!(record.count("/summary/ok"), 20);
    assert_eq!(record.at("/interrupted"), true);

    // Somebody's measurement is not overwritten.
    let again = bench.say(&format!("run -v {} -n 1 -o run.json", server.at()));
    again.refused(&["run.json.journal holds the rounds of a run that was cut off"]);
}

#[test]
fn an_interrupt_ends_the_wait_for_the_first_answer() {
    let bench = Bench::new();
    let (server, silent) = falls_silent_after(0);
    let at = server.at();
    let child = bench
        .weigh(&["run", &at, "--timeout", "100s"])
        .spawn()
        .unwrap();
    silent.recv().unwrap();
    signal("INT", child.id());
    Said::of(child).ended(130);
}

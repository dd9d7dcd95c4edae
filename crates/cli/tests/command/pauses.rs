//! Whose pause it was: a stopped weigh is not charged to the server, and a server that stalls once is not overloaded.

use crate::bench::{Bench, Record, Said, generator_of, signal};
use crate::scripted::{OK, Scripted};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long somebody is stopped.
const PAUSE: Duration = Duration::from_millis(300);

/// Who is.
#[derive(Clone, Copy, PartialEq)]
enum Stopped {
    /// The process that loads.
    Weigh,
    /// All of weigh, as Ctrl-Z does.
    Suspended,
    Server,
}

/// Runs weigh with the words of `line` against a server that answers at once; when it has read `number` requests, weigh
/// or the server stops for [`PAUSE`].
fn run(bench: &Bench, line: &str, number: u64, who: Stopped) -> (Said, Record) {
    let pid = Arc::new(AtomicU32::new(0));
    let (weigh, requests, turn) = (pid.clone(), AtomicU64::new(0), Mutex::new(()));
    let server = Scripted::start(move |connection| {
        while connection.request().is_some() {
            let turn = turn.lock().unwrap();
            if requests.fetch_add(1, Ordering::SeqCst) + 1 == number {
                let weigh = weigh.load(Ordering::SeqCst);
                let stop = |name, process| {
                    signal(name, process);
                    thread::sleep(PAUSE); // the length of the pause is what is measured
                    signal("CONT", process);
                };
                match who {
                    Stopped::Weigh => stop("STOP", generator_of(weigh)),
                    Stopped::Suspended => stop("TSTP", weigh),
                    Stopped::Server => thread::sleep(PAUSE), // the stall itself
                }
            }
            drop(turn);
            if !connection.say(OK) {
                break;
            }
        }
    });
    let line = format!(
        "run {} -o run.json --rounds 1 --warmup 0 {line}",
        server.at()
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    pid.store(child.id(), Ordering::SeqCst);
    let said = Said::of(child);
    (said, bench.record("run.json"))
}

/// The sentences of the check `name`.
fn sentences(record: &Record, name: &str) -> Vec<String> {
    let findings = record.at("/findings").as_array().unwrap();
    let of = findings.iter().filter(|finding| finding["check"] == name);
    of.map(|finding| finding["sentence"].as_str().unwrap().to_owned())
        .collect()
}

/// The longest pause that a thread has recorded, in milliseconds.
fn paused(record: &Record) -> u64 {
    let threads = record.rounds()[0]["threads"].as_array().unwrap();
    let longest = threads
        .iter()
        .filter_map(|each| each["paused"]["longest"].as_u64());
    longest.max().unwrap_or(0) / 1_000_000
}

#[test]
fn a_weigh_that_is_stopped_near_the_end_of_a_window_calls_no_server_overloaded() {
    let bench = Bench::new();
    // Stopped after 0.8 s, until after the window.
    let line = "--rate 500 --arrivals constant -d 1s";
    let (said, record) = run(&bench, line, 400, Stopped::Weigh);
    said.ended(0);
    record.assert_conserved();
    assert!(paused(&record) >= 250, "{}", paused(&record));
    assert_eq!(sentences(&record, "overload"), [""; 0]);
    assert_eq!(sentences(&record, "stalls"), [""; 0]);
    let found = sentences(&record, "paused");
    assert!(
        found[0].starts_with("weigh itself was paused "),
        "{found:?}"
    );
    let words: Vec<&str> = said.out.split_whitespace().collect();
    assert!(
        words.join(" ").contains("weigh itself was paused "),
        "{}",
        said.out
    );
}

#[test]
fn a_weigh_that_is_suspended_by_its_terminal_in_a_closed_loop_is_no_stall_of_the_server() {
    let bench = Bench::new();
    let (said, record) = run(&bench, "-c 4 -d 1s", 200, Stopped::Suspended);
    said.ended(0);
    assert!(paused(&record) >= 250, "{}", paused(&record));
    let longest = record.at("/summary/coordinated_omission")["longest_us"].as_f64();
    assert!(
        longest.is_none_or(|micros| micros < 250_000.0),
        "{longest:?}"
    );
    let found = sentences(&record, "paused");
    assert!(
        found[0].starts_with("weigh itself was paused "),
        "{found:?}"
    );
    assert!(found[0].ends_with("which looks like a stall of the server"));
}

#[test]
fn a_server_that_stalls_once_near_the_end_of_a_window_is_not_overloaded() {
    let bench = Bench::new();
    let line = "--rate 500 --arrivals constant -d 1s";
    let (said, record) = run(&bench, line, 450, Stopped::Server);
    said.ended(0);
    assert_eq!(sentences(&record, "overload"), [""; 0]);
    let found = sentences(&record, "stalls");
    let wanted = "the server stalled near the end of a window: 500 requests/s offered, ";
    assert!(
        found.len() == 1 && found[0].starts_with(wanted),
        "{found:?}"
    );
}

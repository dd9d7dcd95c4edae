//! What is charged to a server against what it says itself that it took.
//!
//! This program is its own server: as a child it burns CPU time in threads and in children that live for some
//! milliseconds, and prints its own accounts (getrusage) after each stretch. Two clocks are compared, so that it does
//! not matter how busy the machine is.

use host::{Found, Server, Watch};
use kernel::accounts::{own_and_children, thread_cpu};
use kernel::process::{Child, Start};
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::os::fd::OwnedFd;
use std::process::Command;
use units::Nanos;

/// What makes this program the one that burns: `threads and children`, and how often it has children.
const ROLE: &str = "WEIGH_TEST_BURNS";
/// What each thread, and all children together, burn in a stretch: so much that the two ticks by which what parents keep
/// is known are a small part of it.
const THREAD: Nanos = Nanos::from_millis(1_000);
/// What one child burns.
const CHILD: Nanos = Nanos::from_millis(25);

fn burn(span: Nanos) {
    let begin = thread_cpu();
    while thread_cpu().saturating_sub(begin) < span {}
}

/// The program's main part as a child; as a test it does nothing.
#[test]
fn burner() {
    let Ok(children) = env::var(ROLE) else {
        return;
    };
    if children == "one" {
        return burn(CHILD);
    }
    let told = || {
        let (own, children) = own_and_children();
        println!("\ntook {}", (own.cpu() + children.cpu()).as_nanos());
    };
    told();
    let mut line = String::new();
    File::open(env::var("WEIGH_TEST_GO").unwrap())
        .map(BufReader::new)
        .unwrap()
        .read_line(&mut line)
        .unwrap();
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(|| burn(THREAD))));
        for _ in 0..children.parse().unwrap() {
            let mut child = Command::new(env::current_exe().unwrap());
            child
                .args(["--exact", "burner"])
                .env(ROLE, "one")
                .stdout(std::process::Stdio::null());
            assert!(child.status().unwrap().success());
        }
    });
    told();
    File::open(env::var("WEIGH_TEST_GO").unwrap())
        .map(BufReader::new)
        .unwrap()
        .read_line(&mut line)
        .unwrap();
}

/// What the burner says next that it has taken.
fn told(output: &mut BufReader<PipeReader>) -> Nanos {
    loop {
        let mut line = String::new();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the burner ended");
        if let Some(nanos) = line.trim_end().strip_prefix("took ") {
            return Nanos::from_nanos(nanos.parse().unwrap());
        }
    }
}

fn server<'a>(found: bool, child: &'a mut Child, tree: &'a mut Found) -> Option<Server<'a>> {
    Some(match found {
        true => Server::Found(tree),
        false => Server::Started(child),
    })
}

/// What was charged and what was taken, in nanoseconds, of a burner that has so many children; and the share of a CPU
/// that observing took. `found` observes it as a server that weigh did not start.
fn charged(children: u32, found: bool) -> (record::Footprint, f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let (reader, writer) = pipe().unwrap();
    let exe = env::current_exe().unwrap();
    let mut child = Child::start(Start {
        command: [
            exe.into(),
            "--exact".into(),
            "--nocapture".into(),
            "burner".into(),
        ]
        .into(),
        environment: vec![
            (ROLE.into(), children.to_string().into()),
            ("WEIGH_TEST_GO".into(), go.clone().into()),
        ],
        output: Some(File::from(OwnedFd::from(writer))),
        ..Start::default()
    })
    .unwrap();
    let mut output = BufReader::new(reader);
    let mut tree = Found::by_pid(child.id()).unwrap();
    let before = told(&mut output);
    let mut watch = Watch::before(None, None);
    watch.opened(server(found, &mut child, &mut tree));
    std::fs::write(&go, "go\n").unwrap();
    let last = std::thread::spawn(move || told(&mut output));
    while !last.is_finished() {
        std::thread::park_timeout(std::time::Duration::from_millis(100)); // the interval of looking
        watch.tick(server(found, &mut child, &mut tree));
    }
    let taken = last.join().unwrap().saturating_sub(before).as_secs_f64();
    watch.closed(server(found, &mut child, &mut tree));
    let costs = watch.costs();
    let budget = costs.budget.unwrap();
    let observing = budget.observing.as_secs_f64() / budget.wall.as_secs_f64();
    (costs.footprint.unwrap(), taken, observing)
}

#[test]
fn a_server_that_we_start_is_charged_its_threads_and_its_short_lived_children() {
    let (print, taken, observing) = charged(40, false);
    let error = print.cpu.as_secs_f64() / taken - 1.0;
    assert!(error.abs() < 0.01, "{error}: {taken} {print:?}");
    assert!(!print.lower_bound, "{print:?}");
    assert!(
        print.threads >= Some(1) && print.sampled.is_some(),
        "{print:?}"
    );
    assert!(observing < 0.005, "observing took {observing} of a CPU");
}

#[test]
fn a_single_process_of_somebody_else_is_charged_what_it_took() {
    let (print, taken, observing) = charged(0, true);
    let error = print.cpu.as_secs_f64() / taken - 1.0;
    assert!(error.abs() < 0.03, "{error}: {taken} {print:?}");
    assert!(!print.lower_bound, "{print:?}");
    assert!(observing < 0.005, "observing took {observing} of a CPU");
}

#[test]
fn somebody_elses_short_lived_children_make_it_a_lower_bound() {
    let (print, taken, _) = charged(4, true);
    assert!(
        print.lower_bound && print.cpu.as_secs_f64() < taken * 1.03,
        "{taken} {print:?}"
    );
}

#[test]
fn seventy_processes_are_observed_for_less_than_a_hundredth_of_a_cpu() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do \
        tail -f /dev/null & sh -c 'tail -f /dev/null; :' & done; echo up; wait";
    let (reader, writer) = pipe().unwrap();
    let mut child = Child::start(Start {
        command: ["sh", "-c", script].map(Into::into).into(),
        output: Some(File::from(OwnedFd::from(writer))),
        ..Start::default()
    })
    .unwrap();
    // `tail -f` ends when nothing reads its output any more, so the pipe stays open.
    let mut output = BufReader::new(reader).lines();
    assert_eq!(output.next().unwrap().unwrap(), "up");
    // The shell, 25 programs, 25 shells with a program each.
    while child.pids().len() < 76 {
        std::thread::yield_now();
    }
    let mut watch = Watch::before(None, None);
    let begin = kernel::clock::now();
    watch.opened(Some(Server::Started(&mut child)));
    // Thirty samples are three seconds of a round; they are not waited for, only their cost is counted.
    (0..30).for_each(|_| watch.tick(Some(Server::Started(&mut child))));
    watch.closed(Some(Server::Started(&mut child)));
    let took = kernel::clock::now() - begin;
    let costs = watch.costs();
    let observing = costs.budget.unwrap().observing;
    child.stop(Nanos::from_secs(5));
    let share = observing.as_secs_f64() / 3.0;
    assert!(
        share < 0.01, // 0.3 to 0.6 % were seen
        "observing took {share} of a CPU ({took:?} in all)"
    );
    assert_eq!(costs.footprint.unwrap().processes, 76);
    drop(output);
}

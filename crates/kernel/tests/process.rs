//! Families of processes: seen whole, charged whole, ended whole, and no other process with them.

use kernel::limits;
use kernel::process::{Child, Ending, Start};
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Read, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use units::Nanos;

const GRACE: Nanos = Nanos::from_secs(10);

/// A shell script as a child, and what it writes.
fn script(text: &str) -> (Child, BufReader<PipeReader>) {
    script_with(text, false)
}

fn script_with(text: &str, raised_open_files: bool) -> (Child, BufReader<PipeReader>) {
    let (reader, writer) = pipe().unwrap();
    let start = Start {
        command: ["sh", "-c", text].map(Into::into).into(),
        output: Some(File::from(OwnedFd::from(writer))),
        raised_open_files,
        ..Start::default()
    };
    (Child::start(start).unwrap(), BufReader::new(reader))
}

/// Waits for the next line that the script writes.
fn line(output: &mut BufReader<PipeReader>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Waits until no process holds the script's output any more.
fn rest(output: &mut BufReader<PipeReader>) -> String {
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    rest
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_command_runs_where_and_with_what_it_is_told() {
    let (reader, writer) = pipe().unwrap();
    let start = Start {
        command: [
            "sh",
            "-c",
            "pwd; echo $COLOUR ${CARGO_MANIFEST_DIR-no folder}; exit 3",
        ]
        .map(Into::into)
        .into(),
        directory: Some("/".into()),
        environment: vec![("COLOUR".into(), "blue".into())],
        without: vec!["CARGO_MANIFEST_DIR".into(), "COLOUR".into()],
        output: Some(File::from(OwnedFd::from(writer))),
        ..Start::default()
    };
    let mut child = Child::start(start).unwrap();
    assert_eq!(rest(&mut BufReader::new(reader)), "/\nblue no folder\n");
    assert_eq!(child.stop(GRACE), Ending::Asked);
    assert_eq!(child.exited().and_then(|status| status.code()), Some(3));
}

#[test]
fn a_command_that_is_not_there_cannot_be_started() {
    let start = Start {
        command: vec!["/nowhere/server".into()],
        ..Start::default()
    };
    assert_eq!(
        Child::start(start).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
    assert!(Child::start(Start::default()).is_err());
}

#[test]
fn workers_are_seen_and_end_with_their_server() {
    let (mut child, mut output) = script("sleep 1000 & sleep 1000 & echo $!; wait");
    let worker: u32 = line(&mut output).parse().unwrap();
    let pids = child.pids();
    assert_eq!(pids.len(), 3, "{pids:?}");
    assert!(pids.contains(&worker) && pids.contains(&child.id()));
    assert_eq!(child.exited(), None);
    assert_eq!(child.stop(GRACE), Ending::Asked);
    assert!(pids.iter().all(|&pid| !is_there(pid)));
    assert_eq!(child.exited().and_then(|status| status.signal()), Some(15));
    assert_eq!((child.pids(), child.stop(GRACE)), (vec![], Ending::Asked));
}

#[test]
fn a_daemon_that_leaves_its_group_and_its_parent_is_still_ours() {
    // The daemon says who it is once it has a session of its own; its environment is not that of the child.
    let daemon = "setsid env -i sh -c 'echo $$; exec sleep 1000'";
    let (mut child, mut output) = script(&format!("({daemon} &) & wait"));
    let daemon: u32 = line(&mut output).parse().unwrap();
    let start = kernel::clock::now();
    while child.exited().is_none() {
        assert!(
            kernel::clock::now() - start < GRACE,
            "the shell has no reason to stay"
        );
        std::thread::yield_now();
    }
    assert_eq!(child.pids(), [daemon]);
    assert_eq!(child.stop(GRACE), Ending::Asked);
    assert!(!is_there(daemon));
}

#[test]
fn who_does_not_listen_is_killed() {
    let (mut child, mut output) = script("trap '' TERM; echo up; while :; do sleep 1000; done");
    assert_eq!(line(&mut output), "up");
    let pids = child.pids();
    assert_eq!(child.stop(Nanos::from_millis(30)), Ending::Killed);
    assert!(pids.iter().all(|&pid| !is_there(pid)));
    assert_eq!(child.exited().and_then(|status| status.signal()), Some(9));
}

#[test]
fn nobody_else_is_ended() {
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    let (mut other, mut output) = script("(setsid sh -c 'echo $$; exec sleep 1000' &) & wait");
    let daemon: u32 = line(&mut output).parse().unwrap();
    assert!(other.pids().contains(&daemon));
    let (mut child, _) = script("sleep 1000");
    assert!(!child.pids().contains(&stranger.id()) && !child.pids().contains(&daemon));
    assert_eq!(child.stop(GRACE), Ending::Asked);
    assert!(stranger.try_wait().unwrap().is_none());
    assert!(other.pids().contains(&daemon));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_dropped_child_is_stopped() {
    let (child, mut output) = script("sleep 1000 & echo $!; wait");
    let worker: u32 = line(&mut output).parse().unwrap();
    drop(child);
    assert!(!is_there(worker));
}

#[test]
fn the_family_is_charged_for_the_living_and_the_dead() {
    // The loop runs in a process that the server waits for, then in the server itself, then in an orphan of it.
    let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let text = format!("({burn}); echo 1; {burn}; echo 2; ({burn} &) & wait");
    let (mut child, mut output) = script(&text);
    let mut costs = vec![child.cpu()];
    line(&mut output);
    costs.push(child.cpu());
    line(&mut output);
    costs.push(child.cpu());
    rest(&mut output);
    child.stop(GRACE);
    costs.push(child.cpu());
    for pair in costs.windows(2) {
        let spent = pair[1].saturating_sub(pair[0]);
        // Each loop takes some 50 ms here; ticks of 10 ms are what is known of the first.
        assert!(spent >= Nanos::from_millis(10), "{costs:?}");
    }
}

const AGAIN: &str = "KERNEL_TEST_PROCESS";

#[test]
fn a_child_has_the_limit_on_files_that_we_had() {
    if std::env::var_os(AGAIN).is_none() {
        // Once more, in a process whose soft limit is not the hard one.
        let name = "a_child_has_the_limit_on_files_that_we_had";
        let again = Command::new("sh")
            .args(["-c", "ulimit -Sn 512; exec \"$0\" --exact \"$1\""])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .env(AGAIN, "1")
            .output()
            .unwrap();
        assert!(again.status.success(), "{again:?}");
        return;
    }
    let before = limits::raise_open_files().unwrap();
    assert_eq!(before.soft, 512);
    for (raised, wanted) in [(false, before.soft), (true, before.hard)] {
        let (_child, mut output) = script_with("ulimit -Sn", raised);
        assert_eq!(
            rest(&mut output).trim_end(),
            wanted.to_string(),
            "raised: {raised}"
        );
    }
}

//! What the kernel can say to a socket at any time, said on purpose: every tenth call of one kind fails, by
//! `strace -e inject`. Skipped with a line where there is no strace; the checks that must not skip install it.

use crate::bench::{Bench, Record, Reference, Said};
use std::process::{Command, Stdio};

/// The system call, what it says, further flags of `weigh`, and what a hundred exchanges must come to:
/// how many are ok, and the fault of the others as kind, step and blame.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    u64,
    [&'static str; 3],
);

const CASES: &[Case] = &[
    ("sendto", "EPIPE", "", 90, ["reset", "send", "server"]),
    (
        "sendto",
        "ENOBUFS",
        "",
        90,
        ["out_of_memory", "send", "generator"],
    ),
    (
        "recvfrom",
        "ECONNRESET",
        "",
        90,
        ["reset", "head", "server"],
    ),
    (
        "recvfrom",
        "ETIMEDOUT",
        "",
        90,
        ["network_lost", "head", "network"],
    ),
    (
        "connect",
        "EADDRNOTAVAIL",
        "--no-keepalive --connect lazy --source 127.0.0.1",
        90,
        ["out_of_ports", "connect", "generator"],
    ),
    // Without --source the next local address is tried, and no exchange fails.
    (
        "connect",
        "EADDRNOTAVAIL",
        "--no-keepalive --connect lazy",
        100,
        ["", "", ""],
    ),
    (
        "socket",
        "EMFILE",
        "--no-keepalive --connect lazy",
        90,
        ["out_of_descriptors", "connect", "generator"],
    ),
    (
        "connect",
        "ENETUNREACH",
        "--no-keepalive --connect lazy",
        90,
        ["connect_unreachable", "connect", "network"],
    ),
];

#[test]
fn what_the_kernel_says_is_counted_by_its_kind_step_and_blame() {
    if !is_strace_here() {
        return;
    }
    for (call, error, flags, ok, fault) in CASES {
        let bench = Bench::new();
        let server = Reference::start(&bench);
        let (said, record) = weigh_under(
            &bench,
            call,
            error,
            &format!("{}/0.html {flags}", server.at()),
        );
        let what = format!("{call} says {error} {flags}: {said:#?}");
        record.assert_conserved();
        assert_eq!(record.count("/summary/requests"), 100, "{what}");
        assert_eq!(record.count("/summary/ok"), *ok, "{what}");
        said.ended(if *ok == 100 { 0 } else { 1 });
        let faults = record.rounds()[0]["tally"]["faults"].as_array().unwrap();
        match &faults[..] {
            [] => assert_eq!(*ok, 100, "{what}"),
            [only] => {
                let named = ["kind", "step", "blame"].map(|part| only[part].as_str().unwrap());
                assert_eq!(named, *fault, "{what}");
                assert_eq!(only["count"], 100 - ok, "{what}");
            }
            several => panic!("{what}: {several:?}"),
        }
    }
}

#[test]
fn a_full_disk_costs_no_round_that_was_measured() {
    if !is_strace_here() {
        return;
    }
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!("{}/0.html -v -n 50 -c 1 --rounds 3", server.at());
    let journal = bench.path("run.json.journal");
    // Full from the start: found before anything is asked.
    let options = [
        "-P",
        journal.to_str().unwrap(),
        "-e",
        "inject=write:error=ENOSPC",
    ];
    under_strace(&bench, &options, &line).refused(&["run.json.journal", "No space left"]);
    assert!(!journal.exists() && !bench.path("run.json").exists());

    // The first two writes are the journal's first line, with and without the probe; the third is the first round.
    let inject = "inject=write:error=ENOSPC:when=3";
    let options = ["-P", journal.to_str().unwrap(), "-e", inject];
    let said = under_strace(&bench, &options, &line);
    said.ended(0);
    assert!(
        said.err.contains("could not be added to the journal"),
        "{said:#?}"
    );
    assert_eq!(bench.record("run.json").rounds().len(), 3);

    let said = under_strace(
        &bench,
        &["-e", "inject=rename,renameat,renameat2:error=ENOSPC"],
        &line,
    );
    said.ended(2);
    assert!(
        said.err.contains("the record could not be saved"),
        "{said:#?}"
    );
    assert!(said.out.contains("150 ok"), "{said:#?}");
    let journal = bench.say("report -v run.json.journal");
    assert!(journal.ended(0).out.contains("150 ok"), "{journal:#?}");
}

fn is_strace_here() -> bool {
    let here = Command::new("strace").arg("-V").output().is_ok();
    if !here {
        println!("skipped: there is no strace");
    }
    here
}

/// A hundred exchanges on one connection at a time; every tenth `call` of the generator's thread says `error`.
fn weigh_under(bench: &Bench, call: &str, error: &str, rest: &str) -> (Said, Record) {
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:error={error}:when=10+10");
    let line = format!("-n 100 -c 1 --rounds 1 {rest}");
    let said = under_strace(bench, &["-e", &trace, "-e", &inject], &line);
    let record = bench.record("run.json");
    (said, record)
}

/// `weigh run` with the words of `line`, its record in `run.json`, under strace with these options.
fn under_strace(bench: &Bench, options: &[&str], line: &str) -> Said {
    let plain = bench.weigh::<&str>(&[]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]).args(options);
    command.arg(plain.get_program());
    command.args(["run", "-o", "run.json"]);
    command.args(line.split_whitespace());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Said::of(command.spawn().unwrap())
}

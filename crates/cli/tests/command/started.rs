//! Servers that weigh starts: weighed, charged with what they cost, and ended with everything they started.

use crate::bench::{Bench, Said, lives, signal};
use crate::processes::id_in;
use std::fs;
use std::net::TcpListener;
use std::process::Command;

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

#[test]
fn a_server_is_started_weighed_charged_and_stopped() {
    let bench = Bench::new();
    bench.file(
        "up",
        format!("echo $$ > id; exec {WEIGH} serve --listen unix:s > out"),
    );
    let (said, record) = bench.run("x/100.html --unix s -d 200ms --rounds 2 -- sh up");
    said.ended(0);
    record.assert_conserved();
    for round in record.rounds() {
        let footprint = &round["footprint"];
        assert!(footprint["cpu"].as_u64().unwrap() > 0, "{footprint}");
        assert_eq!(footprint["processes"], 1, "{footprint}");
        assert!(footprint["wall"].as_u64().unwrap() > 0, "{footprint}");
    }
    assert!(said.out.contains("started by weigh: sh up"), "{}", said.out);
    assert!(!lives(id_in(&bench, "id")));
    // It was stopped by SIGTERM, so it could say what it had counted; every time it was asked whether it is up is in there.
    let out = fs::read_to_string(bench.path("out")).unwrap();
    let requests = out.lines().find_map(|line| line.strip_prefix("requests "));
    assert_eq!(
        requests.unwrap().parse::<u64>().unwrap(),
        record.sent(),
        "{out}"
    );
}

#[test]
fn a_server_on_a_tcp_port_is_started_too() {
    let bench = Bench::new();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (said, record) = bench.run(&format!(
        "127.0.0.1:{port}/100.html -n 100 --rounds 1 -- {WEIGH} serve --listen 127.0.0.1:{port}"
    ));
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 100);
    assert_eq!(record.at("/plan/server/argv/1"), "serve");
}

#[test]
fn everything_that_a_server_started_is_ended_with_it() {
    let bench = Bench::new();
    bench.file(
        "up",
        format!(
            "sh -c 'echo $$ > child; exec tail -f /dev/null' &
             ( setsid sh -c 'echo $$ > daemon; exec tail -f /dev/null' & )
             while ! [ -s child -a -s daemon ]; do :; done
             {WEIGH} serve --listen unix:s &
             wait"
        ),
    );
    // Long enough that the footprint is taken, which a few milliseconds are not.
    let (said, record) = bench.run("x/100.html --unix s -d 200ms --rounds 1 -- sh up");
    said.ended(0);
    assert!(record.count("/summary/ok") > 0);
    for name in ["child", "daemon"] {
        assert!(!lives(id_in(&bench, name)), "{name} was left");
    }
    assert!(record.count("/points/0/rounds/0/footprint/processes") >= 4);
}

#[test]
fn a_server_that_does_not_come_up_is_told_with_what_it_said() {
    let bench = Bench::new();
    bench.file("bad", "echo 'bind: no such luck' >&2; exit 7");
    bench
        .say("run x --unix s -- ./none --flag")
        .refused(&["`./none --flag` could not be started", "No such file"]);
    bench.say("run x --unix s -- sh bad").refused(&[
        "`sh bad` exited",
        "7",
        "before it responded",
        "bind: no such luck",
    ]);
    bench
        .say("run x --unix s -- true")
        .refused(&["`true` exited", "it printed nothing"]);
    assert!(!bench.path("run.json").exists());
}

#[test]
fn a_port_that_is_taken_is_told_before_the_server_is_started() {
    let bench = Bench::new();
    let other = crate::bench::Reference::start(&bench);
    let line = format!("run {} -- sh -c touch$IFS", other.at());
    bench.say(&line).refused(&[
        "another process already responds at",
        other.at(),
        "stop it first",
    ]);
}

#[test]
fn an_interrupt_while_the_server_is_awaited_ends_it_too() {
    let bench = Bench::new();
    assert!(
        Command::new("mkfifo")
            .arg(bench.path("up"))
            .status()
            .unwrap()
            .success()
    );
    bench.file(
        "never",
        "echo $$ > id; echo up > up; exec tail -f /dev/null",
    );
    let child = bench
        .weigh(&["run", "x", "--unix", "s", "--", "sh", "never"])
        .spawn()
        .unwrap();
    assert_eq!(fs::read_to_string(bench.path("up")).unwrap(), "up\n");
    signal("INT", child.id());
    let said = Said::of(child);
    assert!(
        said.err.contains("interrupted before the server responded"),
        "{said:#?}"
    );
    said.ended(130);
    assert!(!lives(id_in(&bench, "id")));
}

#[test]
fn a_server_that_dies_under_load_is_an_error_and_the_run_ends() {
    let bench = Bench::new();
    // The server ends itself after a second of CPU time at the latest; the round would go on for far longer.
    bench.file(
        "up",
        format!("ulimit -t 1; exec {WEIGH} serve -w 1 --listen unix:s"),
    );
    let (said, record) = bench.run("x/0.html --unix s -n 100m -c 4 --rounds 1 --timeout 200ms --connect-timeout 200ms -- sh up");
    said.ended(1);
    record.assert_conserved();
    assert_eq!(record.at("/server_end/signal"), "SIGKILL");
}

#[test]
fn a_server_that_never_answers_is_given_up_in_time() {
    let bench = Bench::new();
    let said = bench.say("run x --unix s --ready-within 100ms -- sleep 100");
    said.refused(&["`sleep 100` did not respond at x within 100 ms"]);
}

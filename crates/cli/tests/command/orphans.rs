//! Whatever ends weigh, nothing that it started is left behind, and what it measured can be read.

use crate::bench::{Bench, Record, Said, lives, signal};
use crate::processes::{all_end, children, id_in, rounds_are_over};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Child;

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

/// Writes `up`, a server with a child and with a daemon that has a session of its own and does what `daemon` says.
fn family(bench: &Bench, daemon: &str) {
    bench.file(
        "up",
        format!(
            "sh -c 'echo $$ > child; exec tail -f /dev/null' &
             ( setsid env -i sh -c '{daemon}; echo $$ > daemon; exec tail -f /dev/null' & )
             while ! [ -s child -a -s daemon ]; do :; done
             echo $$ > master
             {WEIGH} serve --listen unix:s & echo $! > server
             wait"
        ),
    );
}

/// A run of that server without end, in a process group of its own, of which a round is over; and its processes.
fn under_way(bench: &Bench, first: &str, by: &str) -> (Child, [u32; 4]) {
    let line = "run x/100.html --unix s -n 20 --warmup 0s --rounds 10000 -o run.json -- sh up";
    let child = bench
        .under(first, by, line)
        .process_group(0)
        .spawn()
        .unwrap();
    rounds_are_over(bench, 1);
    let ids = ["master", "server", "child", "daemon"].map(|name| id_in(bench, name));
    assert!(ids.iter().all(|id| lives(*id)));
    (child, ids)
}

/// What the record or the journal that was left holds.
fn left(bench: &Bench) -> Record {
    let said = bench.say("report --format json run.json");
    let record = Record::parse(said.out.as_bytes());
    record.assert_conserved();
    assert!(!record.rounds().is_empty() && record.count("/summary/ok") >= 20);
    assert_eq!(record.at("/interrupted"), true);
    record
}

#[test]
fn a_signal_that_interrupts_ends_everything_and_leaves_a_record() {
    for name in ["HUP", "QUIT", "TERM", "INT"] {
        let bench = Bench::new();
        family(&bench, ":");
        let (child, ids) = under_way(&bench, ":", "");
        signal(name, child.id());
        let said = Said::of(child);
        said.ended(130);
        assert!(ids.iter().all(|id| !lives(*id)), "SIG{name}");
        assert!(bench.path("run.json").exists(), "SIG{name}");
        left(&bench);
    }
}

#[test]
fn a_signal_for_others_does_nothing_and_is_not_kept_from_the_server() {
    let bench = Bench::new();
    family(&bench, ":");
    let (child, ids) = under_way(&bench, ":", "");
    for id in ids {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
        let (usr1, usr2) = (1 << 9, 1 << 11);
        assert_eq!(ignored & (usr1 | usr2), 0, "{status}");
    }
    for name in ["USR1", "USR2", "USR1"] {
        signal(name, child.id());
    }
    rounds_are_over(&bench, 100);
    signal("TERM", child.id());
    Said::of(child).ended(130);
    all_end(&ids);
    assert!(left(&bench).rounds().len() >= 100);
}

#[test]
fn a_hangup_that_is_ignored_at_the_start_as_under_nohup_stays_ignored() {
    let bench = Bench::new();
    family(&bench, ":");
    let (child, ids) = under_way(&bench, "trap '' HUP", "");
    signal("HUP", child.id());
    rounds_are_over(&bench, 100);
    signal("TERM", child.id());
    Said::of(child).ended(130);
    all_end(&ids);
    assert!(left(&bench).rounds().len() >= 100);
}

#[test]
fn a_weigh_that_is_killed_leaves_no_process_of_the_server_behind() {
    for whole_group in [false, true] {
        let bench = Bench::new();
        family(&bench, "trap \"\" TERM");
        let (child, ids) = under_way(&bench, ":", "");
        let guardian = guardian(child.id());
        let whom = match whole_group {
            true => format!("-- -{}", child.id()),
            false => child.id().to_string(),
        };
        let kill = format!("kill -s KILL {whom}");
        let sent = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(Said::of(child).status, None);
        all_end(&ids);
        all_end(&[guardian]);
        assert!(!bench.path("run.json").exists());
        left(&bench);
    }
}

/// The process that `weigh` has started to end the server if need be.
fn guardian(weigh: u32) -> u32 {
    let is_guardian = |id: &u32| {
        let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        name.trim_end() == "weigh-guardian"
    };
    let found: Vec<u32> = children(weigh).into_iter().filter(is_guardian).collect();
    assert_eq!(found.len(), 1, "weigh has one guardian");
    found[0]
}

#[test]
fn a_guardian_that_is_killed_is_told_and_the_run_stops() {
    let bench = Bench::new();
    family(&bench, ":");
    let (child, ids) = under_way(&bench, ":", "");
    signal("KILL", guardian(child.id()));
    let said = Said::of(child);
    said.ended(2);
    let words =
        "the process `weigh-guardian`, which ends the server if weigh is killed, has ended itself";
    assert!(said.err.contains(words), "{said:#?}");
    all_end(&ids);
    left(&bench);
}

#[test]
fn a_guardian_belongs_to_no_footprint() {
    let bench = Bench::new();
    let line =
        format!("x/100.html --unix s -d 200ms --rounds 1 -- {WEIGH} serve -w 1 --listen unix:s");
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(record.count("/points/0/rounds/0/footprint/processes"), 1);
    assert_eq!(record.count("/observed/count"), 1);
    assert_eq!(record.at("/observed/processes/0/name"), "weigh");
}

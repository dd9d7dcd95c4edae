//! Where there is too little on our own side: ports, routes, a CPU, stack, room for a file, a clock worth the name.
//!
//! What can be foreseen is refused before the load; what cannot is counted, blamed on ourselves, and told.

use crate::bench::{Bench, Record, Reference, Said};
use crate::scripted::{OK, Scripted};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::net::TcpStream;
use std::process::Command;

/// Tells a test that it runs in a network of its own.
const INSIDE: &str = "WEIGH_TEST_OWN_NETWORK";

/// An address that is not loopback's, and 50 local ports from 40000 on.
const NETWORK: &str = "ip link set lo up && ip address add 192.0.2.1/32 dev lo \
                       && echo 40000 40049 > /proc/sys/net/ipv4/ip_local_port_range";
const PORTS: usize = 50;

/// Carries `test` out in a network of its own, which `set_up` makes: this program again, for this one test, of which
/// `name` is the full name.
fn in_own_network(name: &str, set_up: &str, test: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let works = |how: &&&str| {
        let tried = Command::new("unshare").args([**how, "true"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let Some(how) = ["-n", "-Urn"].iter().find(works) else {
        return println!("skipped: this machine gives us no network of our own (unshare -n)");
    };
    if Command::new("ip").arg("-V").output().is_err() {
        return println!("skipped: there is no ip (of iproute2) to set a network up with");
    }
    let script = format!("{set_up} && exec \"$0\" --exact --nocapture \"$1\"");
    let output = Command::new("unshare")
        .args([how, "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(INSIDE, "yes")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let is_well = output.status.success() && said.contains("1 passed");
    assert!(is_well, "{name}: {said}\n{complaint}");
}

#[test]
fn more_connections_than_ports_are_foreseen_and_as_many_as_there_are_work() {
    let name = "scarcity::more_connections_than_ports_are_foreseen_and_as_many_as_there_are_work";
    in_own_network(name, NETWORK, || {
        let bench = Bench::new();
        let server = Reference::listen(&bench, &["192.0.2.1:8080"]);
        let at = server.at();
        let said = bench.say(&format!("run {at}/0.html -c 51 -n 100 -o run.json"));
        said.refused(&[
            "--connections 51 needs as many local ports",
            "1 local address has 50",
            "use --connections 50",
            "--source",
            "net.ipv4.ip_local_port_range",
        ]);
        // One less than was named, because the port of the first question stays in use for a minute.
        let (said, record) = bench.run(&format!("{at}/0.html -c 49 -n 200 --rounds 1"));
        said.ended(0);
        record.assert_conserved();
        assert_eq!(record.count("/summary/ok"), 200, "{said:#?}");
        assert_eq!(record.sum("/tally/connects/established"), 49, "{said:#?}");
        assert_eq!(server.stop().requests(), record.sent());
    });
}

#[test]
fn on_loopback_more_connections_than_ports_come_from_further_addresses() {
    let name = "scarcity::on_loopback_more_connections_than_ports_come_from_further_addresses";
    in_own_network(name, NETWORK, || {
        let bench = Bench::new();
        let server = Reference::start(&bench);
        let (said, record) =
            bench.run(&format!("{}/0.html -c 180 -n 1000 --rounds 2", server.at()));
        said.ended(0);
        record.assert_conserved();
        assert_eq!(record.count("/summary/ok"), 2000);
        assert_eq!(record.sum("/tally/connects/established"), 360);
        let counted = server.stop();
        assert_eq!(counted.requests(), record.sent());
        assert_eq!(counted.of("connections"), 361);
    });
}

#[test]
fn ports_that_others_take_are_our_want_and_not_the_servers() {
    let name = "scarcity::ports_that_others_take_are_our_want_and_not_the_servers";
    in_own_network(name, NETWORK, || {
        let bench = Bench::new();
        let server = Reference::listen(&bench, &["192.0.2.1:8080"]);
        // All but one, which is the probe's and then, as that gives it back, the load's.
        let taken: Vec<TcpStream> = (1..PORTS)
            .map(|_| TcpStream::connect(server.at()).unwrap())
            .collect();
        let (said, record) = bench.run(&format!(
            // One thread: another could come when the first has ended, and given its port back.
            "{}/0.html -c 2 -t 1 -n 20 --rounds 1 --connect lazy",
            server.at()
        ));
        said.ended(1);
        record.assert_conserved();
        assert_out_of_ports(&record, 20);
        drop(taken);
        assert_eq!(server.stop().requests(), record.sent());
    });
}

#[track_caller]
fn assert_out_of_ports(record: &Record, requests: u64) {
    let errors = record.at("/summary/errors");
    assert_eq!(record.count("/summary/requests"), requests, "{errors}");
    assert!(record.count("/summary/ok") > 0, "{errors}");
    let faults = record.rounds()[0]["tally"]["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    let named = ["kind", "step", "blame"].map(|part| faults[0][part].as_str().unwrap());
    assert_eq!(named, ["out_of_ports", "connect", "generator"]);
}

#[test]
fn an_address_that_no_way_leads_to_is_found_before_the_load() {
    let name = "scarcity::an_address_that_no_way_leads_to_is_found_before_the_load";
    // To one address there is no route; what is sent to the other comes back to a machine that does not have it.
    let set_up = &format!("{NETWORK} && ip route add 198.51.100.0/24 dev lo");
    in_own_network(name, set_up, || {
        let bench = Bench::new();
        let said = bench.say("run 203.0.113.1:80 -n 5 -o run.json");
        said.refused(&[
            "203.0.113.1:80 cannot be reached",
            "the address could not be reached",
        ]);
        let said = bench.say("run 198.51.100.2:80 -n 5 -o run.json --connect-timeout 100ms");
        said.refused(&[
            "198.51.100.2:80 cannot be reached",
            "the connect took longer than --connect-timeout",
        ]);
        assert!(!bench.path("run.json").exists() && !bench.path("run.json.journal").exists());
    });
}

/// The first CPU that this process may use.
fn first_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let digits = list.unwrap().trim().split(['-', ',']).next();
    digits.unwrap().parse().unwrap()
}

#[test]
fn one_cpu_for_both_sides_costs_no_exchange_and_is_told() {
    let bench = Bench::new();
    let by = format!("taskset -c {}", first_cpu());
    bench.file(
        "up",
        format!(
            "exec {} serve --workers 1 --listen unix:s",
            env!("CARGO_BIN_EXE_weigh")
        ),
    );
    let line = "run x/0.html --unix s -c 10 -d 300ms --rounds 2 -o run.json -- sh up";
    let said = bench.say_under("true", &by, line);
    said.ended(0);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.count("/summary/errors/total"), 0);
    assert_eq!(
        record.at("/machine/cpus_allowed").as_array().unwrap().len(),
        1
    );
    let findings = record.at("/findings").as_array().unwrap();
    let waited = findings.iter().find(|found| found["check"] == "waiting");
    let waited = waited.unwrap_or_else(|| panic!("not told: {}", said.out));
    assert_eq!(waited["grade"], "caveat", "{waited}");
    let remedy = waited["remedy"].as_str().unwrap();
    assert!(remedy.contains("separate CPUs"), "{remedy}");
}

#[test]
fn a_megabyte_of_stack_is_enough() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    for rest in [
        "-n 1000 -c 100",
        "-n 1000 -c 100 -t 16 --pipeline 16 --json",
    ] {
        let line = format!("run {}/100.html {rest} --rounds 2 -o run.json", server.at());
        bench.say_under("ulimit -s 1024", "", &line).ended(0);
        let record = bench.record("run.json");
        record.assert_conserved();
        assert_eq!(record.count("/summary/ok"), 2000, "{rest}");
    }
}

#[test]
fn a_file_that_may_not_grow_is_told_like_a_full_disk_before_the_load() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!("run {}/0.html -n 50 -o run.json", server.at());
    let said = bench.say_under("ulimit -f 0", "", &line);
    said.refused(&["run.json.journal", "File too large"]);
    assert!(!bench.path("run.json").exists());
    assert_eq!(server.stop().of("connections"), 0);
}

#[test]
fn a_file_that_may_not_grow_on_costs_the_journal_the_rounds_that_are_named_and_no_other() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "run -v {}/0.html -n 50 -c 1 --rounds 3 -o run.json",
        server.at()
    );
    let mut kept = Vec::new();
    // From where the journal's first line has no room up to where everything has.
    for limit in 1.. {
        let said = bench.say_under(&format!("ulimit -f {limit}"), "", &line);
        match said.status {
            Some(2) if said.out.is_empty() => {
                said.refused(&["run.json.journal", "File too large"]);
            }
            Some(2) => kept.push(rounds_kept(&bench, &said)),
            _ => {
                said.ended(0);
                break;
            }
        }
        let _ = std::fs::remove_file(bench.path("run.json.journal")); // not always there
    }
    assert!(kept.is_sorted(), "{kept:?}");
    kept.dedup();
    assert!(kept.len() >= 3, "{kept:?}");
}

/// Rounds in the journal of a run of three whose record could not be saved: those that were not complained of.
#[track_caller]
fn rounds_kept(bench: &Bench, said: &Said) -> usize {
    assert!(said.out.contains("150 ok   0 errors"), "{said:#?}");
    assert!(
        said.err.contains("the record could not be saved"),
        "{said:#?}"
    );
    assert!(!bench.path("run.json").exists());
    let lost = said.err.matches("could not be added to the journal");
    let kept = 3 - lost.count();
    let report = bench.say("report --format json run.json.journal");
    let record = Record::parse(report.ended(i32::from(kept == 0)).out.as_bytes());
    assert_eq!(record.rounds().len(), kept, "{said:#?}");
    kept
}

#[test]
fn a_result_that_outgrows_its_file_is_told() {
    let bench = Bench::new();
    let server = Scripted::answering(OK);
    let run = format!("run {} -n 10 --rounds 1 -o /dev/null", server.at());
    bench.run(&format!("{} -n 10 --rounds 1", server.at()));
    for (line, status) in [(&*run, 2), ("report run.json", 2), ("man", 2)] {
        let file = File::create(bench.path("out")).unwrap();
        // The journal is a file too, so that the limit is a little higher than nothing.
        let mut command = bench.under("ulimit -f 64", "", line);
        file.set_len(1 << 20).unwrap();
        let said = Said::of(command.stdout(at_end(file)).spawn().unwrap());
        said.ended(status);
        for words in ["the result could not be printed", "File too large"] {
            assert!(said.err.contains(words), "{line}: {said:#?}");
        }
    }
}

/// The file, to be written on from its end.
fn at_end(mut file: File) -> File {
    file.seek(SeekFrom::End(0)).unwrap();
    file
}

/// Makes every reading of a clock cost eight system calls, as a slow clock source would.
const SLOW_CLOCK: &str = r"
    #define _GNU_SOURCE
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>
    int clock_gettime(clockid_t clock, struct timespec *time) {
        for (int i = 0; i < 7; i++) syscall(SYS_clock_gettime, clock, time);
        return (int) syscall(SYS_clock_gettime, clock, time);
    }
";

#[test]
fn a_slow_clock_is_found_and_told_and_counts_stay_exact() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    bench.file("slow.c", SLOW_CLOCK);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "slow.so", "slow.c"])
        .current_dir(bench.path("."))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return println!("skipped: there is no C compiler to slow the clock down with");
    }
    let line = format!(
        "run -v {}/0.html -n 500 --rounds 2 -o run.json",
        server.at()
    );
    let said = bench.say_under("export LD_PRELOAD=./slow.so", "", &line);
    said.ended(0);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 1000);
    assert!(record.count("/machine/clock_reading_ns") > 200, "{said:#?}");
    let findings = record.at("/findings").as_array().unwrap();
    let found = findings.iter().find(|found| found["check"] == "clock");
    let found = found.unwrap_or_else(|| panic!("no finding: {findings:#?}"));
    assert_eq!(found["grade"], "caveat", "{found}");
    assert_eq!(found["figures"].as_array().unwrap().len(), 2, "{found}");
    assert!(said.out.contains("reading the clock takes"), "{said:#?}");
    assert_eq!(server.stop().requests(), record.sent());
}

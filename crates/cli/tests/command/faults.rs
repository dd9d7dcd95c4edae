//! What a server does wrong is counted by what it was, one by one, and the load goes on and ends.

use crate::bench::{Bench, PATIENCE, Record, Reference, Said, generator_of, signal};
use crate::scripted::{OK, Scripted};
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Weighs a server that answers the first request well and plays `bad` afterwards, `count` exchanges on two connections.
#[track_caller]
fn weigh_bad(bad: &'static [u8], count: u64, rest: &str) -> (Said, Record) {
    let server = Scripted::start(move |line| {
        if line.request().is_some() {
            line.say(if line.number == 0 { OK } else { bad });
            line.finish();
        }
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n {count} -c 2 --rounds 1 {rest}",
        server.at()
    ));
    record.assert_conserved();
    (said, record)
}

#[test]
fn every_kind_of_broken_answer_has_its_name() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "closed_before_response"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "closed_in_head"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            "closed_in_body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            "closed_in_body",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not_http"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "bad_content_length",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "bad_content_length",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "bad_chunk",
        ),
    ];
    for (bad, kind) in cases {
        let (said, record) = weigh_bad(bad, 6, "");
        said.ended(1);
        let errors = record.at("/summary/errors").to_string();
        assert_eq!(record.count("/summary/errors/total"), 6, "{kind}: {errors}");
        assert_eq!(
            record.count(&format!("/summary/errors/{kind}")),
            6,
            "{errors}"
        );
        assert_eq!(record.count("/summary/censored"), 0, "{kind}");
        let received = record.count("/summary/bytes_received");
        assert_eq!(received, 6 * bad.len() as u64, "{kind}");
        assert!(said.out.contains("6 errors (100 %)"), "{}", said.out);
    }
}

#[test]
fn a_head_of_too_many_lines_is_not_called_too_large() {
    static LINES: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let lines = "X-Header: a line of thirty-six bytes\r\n".repeat(260);
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n").into_bytes()
    });
    assert!(LINES.len() < 10_500);
    let (said, record) = weigh_bad(&LINES, 6, "");
    said.ended(1);
    let errors = record.at("/summary/errors").to_string();
    assert_eq!(
        record.count("/summary/errors/too_many_headers"),
        6,
        "{errors}"
    );
    assert!(said.out.contains("more than 256 lines"), "{}", said.out);
    assert!(!said.out.contains("64 KiB"), "{}", said.out);
}

#[test]
fn a_server_that_never_answers_is_cut_off_and_the_percentiles_say_at_least() {
    let server = Scripted::start(|line| {
        if line.request().is_some() && line.number == 0 {
            line.say(OK);
        }
        line.hang();
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n 24 -c 12 --rounds 1 --timeout 60ms",
        server.at()
    ));
    said.ended(1);
    record.assert_conserved();
    assert_eq!(record.count("/summary/errors/timeout"), 24);
    assert_eq!(record.count("/summary/censored"), 24);
    assert_eq!(record.count("/summary/latency_us/count"), 24);
    let least = record.at("/summary/latency_us/at_least").to_string();
    assert!(least.contains("p50") && least.contains("max"), "{least}");
    let p50 = record.at("/summary/latency_us/p50").as_f64().unwrap();
    assert!(p50 >= 59_900.0, "{p50} us were cut off at 60 ms");
    assert!(said.out.contains("p50 >= 6"), "{}", said.out);
    assert!(
        record.rounds()[0]["tally"]["censored_from"]
            .as_u64()
            .unwrap()
            >= 59_900_000
    );
}

#[test]
fn a_body_that_stops_in_the_middle_is_cut_off_too() {
    let server = Scripted::start(|line| {
        if line.request().is_some() {
            let whole = line.number == 0;
            line.say(if whole {
                OK
            } else {
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
            });
        }
        line.hang();
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n 4 -c 2 --rounds 1 --timeout 60ms",
        server.at()
    ));
    said.ended(1);
    assert_eq!(record.count("/summary/errors/timeout"), 4);
    assert_eq!(record.count("/summary/censored"), 4);
    let fault = record.rounds()[0]["tally"]["faults"][0].to_string();
    assert!(
        fault.contains("\"step\":\"body\"") && fault.contains("\"blame\":\"server\""),
        "{fault}"
    );
}

#[test]
fn one_slow_answer_among_fast_ones_is_one_timeout() {
    let server = Scripted::start(|line| {
        while let Some(asked) = line.request() {
            match asked.line() {
                "GET /?n=7 HTTP/1.1" if line.number > 0 => return line.hang(),
                _ => drop(line.say(OK)),
            }
        }
    });
    let bench = Bench::new();
    let line = format!(
        "{}/?n={{seq}} -n 20 -c 1 --rounds 1 --timeout 100ms --max-errors 1",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    assert_eq!(record.count("/summary/ok"), 19);
    assert_eq!(record.count("/summary/errors/timeout"), 1);
    assert_eq!(record.sum("/tally/connects/established"), 2);
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_number_of_requests_ends_the_round() {
    let answered = AtomicU64::new(0);
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            if answered.fetch_add(1, Ordering::SeqCst) >= 51 {
                return line.die();
            }
            line.say(OK);
        }
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n 1m -c 4 --rounds 1 --timeout 200ms --connect-timeout 200ms",
        server.at()
    ));
    said.ended(1);
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 50);
    assert_eq!(record.count("/summary/requests"), 1_000_000);
    assert!(
        record.count("/summary/errors/never_sent") > 900_000,
        "{}",
        record.at("/summary/errors")
    );
}

#[test]
fn a_refused_port_is_found_before_the_load_and_leaves_no_record() {
    let bench = Bench::new();
    let said = bench.say("run 127.0.0.1:1 -n 5 -o run.json");
    said.refused(&[
        "127.0.0.1:1 cannot be reached",
        "refused",
        "is the server running?",
    ]);
    assert!(!bench.path("run.json").exists() && !bench.path("run.json.journal").exists());
}

#[test]
fn a_server_that_is_there_but_never_answers_is_measured_as_that() {
    let server = Scripted::start(|line| line.hang());
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n 2 -c 1 --rounds 1 --timeout 50ms --keep-going",
        server.at()
    ));
    said.ended(1);
    assert_eq!(record.count("/summary/errors/timeout"), 2);
    assert!(record.at("/probe/status").is_null());
    assert!(
        record
            .at("/probe/fault")
            .as_str()
            .unwrap()
            .contains("no complete response within")
    );
}

#[test]
fn connects_that_are_never_taken_up_time_out_and_are_censored() {
    // Nothing is accepted: the kernel takes connections until its queue is full, then no more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let most = queue_limit() + 1;
    let bench = Bench::new();
    let line = format!(
        "{} -n {n} -c {n} --rounds 1 --connect lazy --timeout 80ms --connect-timeout 80ms --keep-going",
        listener.local_addr().unwrap(),
        n = most + 20
    );
    let (said, record) = bench.run(&line);
    said.ended(1);
    record.assert_conserved();
    let total = most + 20;
    assert_eq!(record.count("/summary/errors/total"), total);
    assert_eq!(record.count("/summary/censored"), total);
    assert!(
        record.count("/summary/errors/connect_timeout") >= 19,
        "{}",
        record.at("/summary/errors")
    );
}

/// Connections that Linux keeps for a listener of the standard library which does not accept them.
fn queue_limit() -> u64 {
    let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    limit.trim().parse::<u64>().unwrap().min(128)
}

#[test]
fn bytes_behind_an_answer_are_no_exchanges_fault_and_yet_counted() {
    let server = Scripted::start(|line| {
        while line.request().is_some() {
            line.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA");
        }
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!("{} -n 6 -c 1 --rounds 1", server.at()));
    said.ended(0);
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), 6);
    let strays = &record.rounds()[0]["tally"]["strays"];
    assert_eq!(strays[0]["kind"], "unexpected_bytes", "{strays}");
    assert_eq!(strays[0]["count"], 6, "{strays}");
}

#[test]
fn a_file_of_requests_that_is_emptied_under_the_load_ends_it_and_asks_nothing_else() {
    let bench = Bench::new();
    let file = bench.file("paths", "/a\n".repeat(100_000));
    let asked = AtomicU64::new(0);
    let server = Scripted::start(move |line| {
        while line.request().is_some() {
            if asked.fetch_add(1, Ordering::SeqCst) == 25 {
                std::fs::write(&file, "").unwrap();
            }
            line.say(OK);
        }
    });
    let (said, record) = bench.run(&format!(
        "{} --urls paths -n 200000 -c 1 --rounds 1",
        server.at()
    ));
    said.ended(1);
    record.assert_conserved();
    assert!(record.count("/summary/errors/never_sent") > 0);
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.line() == "GET /a HTTP/1.1")
    );
}

#[test]
fn a_server_that_is_stopped_for_a_second_loses_nothing_and_the_stall_is_told() {
    let bench = Bench::new();
    let server = Reference::start(&bench);
    let line = format!(
        "run -v {}/100.html -c 4 -d 4s --warmup 0s --rounds 1 -o run.json",
        server.at()
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let child = bench.weigh(&words).spawn().unwrap();
    generator_of(child.id());
    wait_for_work(&server);
    signal("STOP", server.id());
    std::thread::sleep(Duration::from_secs(1)); // this is what is to be weighed
    signal("CONT", server.id());
    let said = Said::of(child);
    said.ended(0);
    let record = bench.record("run.json");
    record.assert_conserved();
    assert_eq!(record.count("/summary/errors/total"), 0, "{said:#?}");
    let longest = record.at("/summary/latency_us/max").as_f64().unwrap();
    assert!(longest >= 900_000.0, "{longest} us");
    let findings = record.at("/findings").as_array().unwrap();
    let told = findings.iter().any(|found| found["check"] == "omission");
    assert!(told, "{}", said.out);
    // Which ones depends on how the samples beside the stall come together.
    let affected = record.at("/summary/coordinated_omission/affected");
    assert_ne!(affected, &serde_json::json!([]), "{}", said.out);
    assert_eq!(server.stop().requests(), record.sent());
}

/// Returns when the server has worked for some hundredths of a second from now on: no probe costs that.
fn wait_for_work(server: &Reference) {
    let begun = Instant::now();
    let before = cpu_time(server.id());
    while cpu_time(server.id()) < before + 4 {
        assert!(begun.elapsed() < PATIENCE, "the load did not begin");
        std::thread::yield_now();
    }
}

/// Clock ticks of CPU time that process `id` has used.
fn cpu_time(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let behind_name = stat.rsplit(") ").next().unwrap();
    let ticks = behind_name.split(' ').skip(11).take(2); // utime, stime
    ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

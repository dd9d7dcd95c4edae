//! weigh against real servers (nginx, lighttpd, Apache, HAProxy, Caddy, Node, Go): what we count is what they count. And real
//! clients against `weigh serve`.
//!
//! They run only where they are asked for, with the variable that [`servers::on_each`] names.

mod clients;
mod servers;

use record::{Blame, Kind as FaultKind};
use servers::{BIG, Kind, Log, SMALL, Server, Site, Weighing, on_each, signal, weigh};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

/// Serves a new site of `kind`, weighs it, and stops it: the weighing and the server's log.
fn measure(kind: &'static Kind, path: &str, flags: &str) -> (Weighing, Log) {
    measure_on(Site::new(kind), path, flags)
}

/// The same of `site`.
fn measure_on(site: Site, path: &str, flags: &str) -> (Weighing, Log) {
    let server = Server::start(site);
    let weighing = weigh(&server.site, path, flags, &[]);
    (weighing, server.stop())
}

#[test]
fn a_number_of_requests_is_as_many_lines_in_the_log_and_as_many_bytes() {
    on_each(Kind::ALL, |kind| {
        let cases = [
            ("-n 2503 -c 7 -t 2 --rounds 2", 5006),
            ("-n 2503 -c 7 -t 3 --rounds 2 --connect lazy", 5006),
            ("-n 1 -c 5 -t 2 --rounds 3", 3),
            ("-n 300 -c 2 --rounds 2 --requests-per-connection 7", 600),
            ("-n 5006 -c 1 --rounds 1", 5006),
        ];
        for (flags, requests) in cases {
            let (weighing, log) = measure(kind, SMALL, flags);
            weighing.all_well(requests);
            weighing.agrees_with(&log);
            weighing.agrees_in_bytes_with(kind, &log);
            weighing.agrees_in_connections_with(&log);
        }
    });
}

#[test]
fn a_connection_is_used_for_as_long_as_the_server_lets_it() {
    on_each(Kind::ALL, |kind| {
        let (weighing, log) = measure(kind, SMALL, "-n 2500 -c 1 --rounds 1");
        weighing.all_well(2500);
        weighing.agrees_with(&log);
        let connections = 2500u64.div_ceil(kind.requests_per_connection);
        assert_eq!(weighing.tally().connects.established, connections);
    });
}

#[test]
fn without_keepalive_every_request_has_a_connection_of_its_own() {
    on_each(Kind::ALL, |kind| {
        let flags = "-n 400 -c 5 -t 2 --rounds 2 --no-keepalive --connect lazy";
        let (weighing, log) = measure(kind, SMALL, flags);
        weighing.all_well(800);
        weighing.agrees_with(&log);
        weighing.agrees_in_bytes_with(kind, &log);
        weighing.agrees_in_connections_with(&log);
        assert_eq!(weighing.tally().connects.established, 800);
    });
}

#[test]
fn a_span_of_time_with_warmup_loses_no_request_between_phases_and_rounds() {
    on_each(Kind::ALL, |kind| {
        for flags in [
            "-d 150ms --warmup 60ms --rounds 3 -c 9 -t 2",
            "-d 150ms --warmup 60ms --rounds 3 -c 9 -t 2 --no-keepalive --connect lazy",
            "-d 150ms --warmup 0ms --rounds 2 -c 3",
        ] {
            let (weighing, log) = measure(kind, SMALL, flags);
            weighing.all_well(weighing.run.sent_total.measure);
            weighing.agrees_with(&log);
            let warmed = !flags.contains("--warmup 0ms");
            assert_eq!(weighing.run.sent_total.warmup > 0, warmed);
        }
    });
}

#[test]
fn heads_redirects_ranges_and_large_files_are_counted_to_the_byte() {
    on_each(Kind::OF_FILES, |kind| {
        let cases = [
            (SMALL, "-X HEAD", 500, 200, 0),
            (BIG, "-X HEAD", 500, 200, 0),
            (SMALL, "-H Range:bytes=10-29", 500, 206, 20),
            (BIG, "", 40, 200, 1 << 20),
            ("/folder", "", 500, 301, 0),
        ];
        for (path, flags, requests, status, body_at_least) in cases {
            let flags = format!("{flags} -n {requests} -c 4 --rounds 1");
            let (weighing, log) = measure(kind, path, &flags);
            weighing.all_well(requests);
            weighing.agrees_with(&log);
            weighing.agrees_in_bytes_with(kind, &log);
            assert!(log.iter().all(|entry| entry.status == status), "{log:?}");
            assert!(weighing.summary().bytes_received > body_at_least * requests);
        }
    });
}

#[test]
fn the_expected_body_is_compared_and_found() {
    on_each(Kind::OF_FILES, |kind| {
        let server = Server::start(Site::new(kind));
        let flags = format!(
            "-n 20 -c 2 --rounds 1 --expect @{}",
            server.site.big().display()
        );
        let right = weigh(&server.site, BIG, &flags, &[]);
        right.all_well(20);
        let wrong = weigh(&server.site, SMALL, &flags, &[]);
        assert_eq!(wrong.faults(FaultKind::BodyDiffers), 20);
        assert_eq!(wrong.status, 1);
        assert_eq!(server.stop().len(), 42);
    });
}

#[test]
fn what_is_not_there_is_counted_as_such_on_kept_connections() {
    on_each(Kind::ALL, |kind| {
        let (weighing, log) = measure(kind, "/absent", "-n 1500 -c 3 --rounds 1");
        assert_eq!(weighing.faults(FaultKind::Status4xx), 1500);
        assert_eq!(weighing.summary().requests, 1500);
        assert_eq!(weighing.tally().service_4xx.count(), 1500);
        weighing.agrees_with(&log);
        weighing.agrees_in_bytes_with(kind, &log);
        assert!(log.iter().all(|entry| entry.status == 404));
        assert_eq!(weighing.status, 1);
    });
}

#[test]
fn several_urls_are_asked_in_turn_and_numbers_are_given_once() {
    on_each(Kind::OF_FILES, |kind| {
        let server = Server::start(Site::new(kind));
        let absent = server.site.url("/absent");
        let flags = format!("{absent} -n 600 -c 5 -t 2 --rounds 1 --max-errors 50%");
        let mixed = weigh(&server.site, SMALL, &flags, &[]);
        assert_eq!(
            mixed.summary().errors.total,
            mixed.faults(FaultKind::Status4xx)
        );
        assert_eq!((mixed.summary().ok, mixed.status), (300, 0));
        // Both URLs are probed once.
        let log = server.stop();
        assert_eq!(mixed.run.sent_total.sum(), 602);
        for status in [200, 404] {
            let logged = log.iter().filter(|entry| entry.status == status);
            assert_eq!(logged.count(), 301, "status {status}");
        }

        let (numbered, log) = measure(kind, "/100.html?{seq}", "-n 300 -c 5 -t 2 --rounds 2");
        numbered.all_well(600);
        numbered.agrees_with(&log);
        // All numbers differ, over the probe, both threads and both rounds.
        let paths: BTreeSet<&str> = log.iter().map(|entry| &entry.path[..]).collect();
        assert_eq!((paths.len(), log.len()), (601, 601));
    });
}

#[test]
fn a_large_body_is_sent_whole_and_what_the_server_says_to_it_is_counted() {
    on_each(Kind::OF_FILES, |kind| {
        for &(path, status) in kind.takes {
            let server = Server::start(Site::new(kind));
            let flags = format!(
                "-n 30 -c 3 --rounds 1 --body @{}",
                server.site.big().display()
            );
            let weighing = weigh(&server.site, path, &flags, &[]);
            let log = server.stop();
            weighing.agrees_with(&log);
            let ok = if status == 200 { 30 } else { 0 };
            let counts = (weighing.summary().ok, weighing.faults(FaultKind::Status4xx));
            assert_eq!(counts, (ok, 30 - ok), "{}", weighing.printed);
            assert!(
                log.iter()
                    .all(|entry| entry.status == status && entry.method == "POST")
            );
            assert!(weighing.summary().bytes_sent > 30 << 20);
        }
    });
}

#[test]
fn responses_without_a_length_are_read_to_their_end() {
    on_each(Kind::OF_FILES, |kind| {
        let (path, header) = kind.chunked;
        for (flags, chunked) in [("", true), ("--no-keepalive", true), ("--http1.0", false)] {
            let flags = format!("-n 60 -c 3 --rounds 1 -H {header} {flags}");
            let (weighing, log) = measure(kind, path, &flags);
            weighing.all_well(60);
            weighing.agrees_with(&log);
            let probe = weighing.run.probe.as_ref().unwrap();
            let head = probe.response_head.as_ref().unwrap().to_ascii_lowercase();
            assert_eq!(
                head.contains("transfer-encoding: chunked"),
                chunked,
                "{head}"
            );
            assert!(!head.contains("content-length"), "{head}");
            // The probe's framing is not recorded, so one line of the log is its; workers write in any order.
            let sum: u64 = log.iter().map(|entry| entry.sent).sum();
            let rest = sum - weighing.summary().bytes_received;
            assert!(
                log.iter().any(|entry| entry.sent == rest),
                "{rest} of {sum}"
            );
        }
    });
}

#[test]
fn pipelined_requests_are_all_answered_where_connections_are_not_closed_under_them() {
    on_each(Kind::OF_FILES, |kind| {
        let flags = "-n 3000 -c 3 -t 2 --pipeline 8 --rounds 1 --requests-per-connection 96";
        let (weighing, log) = measure(kind, SMALL, flags);
        weighing.all_well(3000);
        weighing.agrees_with(&log);
        weighing.agrees_in_bytes_with(kind, &log);
    });
}

#[test]
fn requests_pipelined_behind_a_servers_last_answer_are_sent_again_and_seen_once() {
    on_each(Kind::OF_FILES, |kind| {
        let flags = "-n 3000 -c 1 --pipeline 8 --rounds 1";
        let (weighing, log) = measure(kind, SMALL, flags);
        weighing.all_well(3000);
        weighing.agrees_with(&log);
        let resent = weighing.run.points[0].rounds[0].tally.resent;
        assert!(resent > 0, "{}", weighing.printed);
    });
}

#[test]
fn a_unix_socket_is_as_good() {
    on_each(Kind::ON_UNIX_SOCKETS, |kind| {
        let server = Server::start(Site::on_unix_socket(kind));
        let weighing = weigh(&server.site, SMALL, "-n 2500 -c 4 -t 2 --rounds 2", &[]);
        let log = server.stop();
        weighing.all_well(5000);
        weighing.agrees_with(&log);
        weighing.agrees_in_bytes_with(kind, &log);
    });
}

#[test]
fn encrypted_requests_are_counted_as_the_servers_count_them() {
    on_each(Kind::ALL, |kind| {
        for flags in [
            "-n 2503 -c 7 -t 2 --rounds 2",
            "-n 300 -c 2 --rounds 2 --requests-per-connection 7",
            "-n 200 -c 5 -t 2 --rounds 2 --no-keepalive --connect lazy",
            "-n 200 -c 5 --rounds 2 --no-keepalive --connect lazy --tls-resume off",
            "-d 300ms --rounds 1 --warmup 0ms --rate 500 -c 20",
            "-n 600 -c 3 --rounds 1 --pipeline 4",
        ] {
            let (weighing, log) = measure_on(Site::encrypted(kind), SMALL, flags);
            weighing.all_well(weighing.run.sent_total.measure);
            weighing.agrees_with(&log);
            weighing.agrees_in_bytes_with(kind, &log);
            weighing.agrees_in_connections_with(&log);
            has_handshakes(&weighing, flags);
        }
    });
}

#[test]
fn an_encrypted_span_of_time_with_warmup_loses_no_request_between_phases_and_rounds() {
    on_each(Kind::ALL, |kind| {
        for flags in [
            "-d 150ms --warmup 60ms --rounds 2 -c 9 -t 2",
            "-d 150ms --warmup 60ms --rounds 2 -c 9 -t 2 --no-keepalive --connect lazy",
        ] {
            let (weighing, log) = measure_on(Site::encrypted(kind), SMALL, flags);
            weighing.all_well(weighing.run.sent_total.measure);
            weighing.agrees_with(&log);
            assert!(weighing.run.sent_total.warmup > 0);
        }
    });
}

#[test]
fn a_server_that_speaks_one_version_of_tls_is_spoken_to_in_it() {
    on_each(Kind::ALL, |kind| {
        for version in ["TLSv1.2", "TLSv1.3"] {
            let flags = "-n 200 -c 5 -t 2 --rounds 1 --no-keepalive --connect lazy";
            let site = Site::speaking(kind, Some(version));
            let (weighing, log) = measure_on(site, SMALL, flags);
            weighing.all_well(200);
            weighing.agrees_with(&log);
            weighing.agrees_in_connections_with(&log);
            has_handshakes(&weighing, flags);
            let handshakes = weighing.tally().connects.handshakes.expect("handshakes");
            let versions = handshakes.agreed.iter();
            let versions: BTreeSet<_> = versions.map(|each| &each.encryption.version[..]).collect();
            assert_eq!(versions, [version].into());
        }
    });
}

/// That every connection had its handshake, of the kind that was wanted.
#[track_caller]
fn has_handshakes(weighing: &Weighing, flags: &str) {
    let tally = weighing.tally();
    let handshakes = tally.connects.handshakes.as_ref().expect("handshakes");
    assert_eq!(handshakes.count(), tally.connects.established, "{flags}");
    let resumed = handshakes.resumed.count();
    match flags {
        flags if flags.contains("--tls-resume off") => assert_eq!(resumed, 0),
        // Workers that do not share the keys of their tickets resume only what was their own.
        flags if flags.contains("--no-keepalive") => assert!(resumed > 50, "{handshakes:?}"),
        _ => {}
    }
}

#[test]
fn large_bodies_come_whole_and_unchanged_through_encryption() {
    on_each(Kind::ALL, |kind| {
        let server = Server::start(Site::encrypted(kind));
        let expected = server.site.big();
        let flags = format!("-n 40 -c 4 --rounds 1 --expect @{}", expected.display());
        let weighing = weigh(&server.site, BIG, &flags, &[]);
        weighing.all_well(40);
        weighing.agrees_with(&server.stop());
    });
}

#[test]
fn a_server_that_weigh_starts_is_weighed_and_leaves_nothing_behind() {
    on_each(Kind::OF_FILES, |kind| {
        let site = Site::new(kind);
        let flags = "-d 200ms --warmup 50ms --rounds 2 -c 4";
        let weighing = weigh(&site, SMALL, flags, &site.command());
        weighing.all_well(weighing.run.sent_total.measure);
        for round in &weighing.run.points[0].rounds {
            let footprint = round.footprint.as_ref().expect("a footprint");
            assert!(footprint.cpu.as_nanos() > 0 && footprint.processes >= 2);
        }
        assert_eq!(holding(&site.folder()), Vec::<PathBuf>::new());
        weighing.agrees_with(&site.log());
    });
}

#[test]
fn a_server_that_is_killed_midway_is_faults_and_an_end_in_time() {
    on_each(Kind::WITH_MASTER, |kind| {
        let span = "-d 4s --warmup 0ms --connect-timeout 500ms --timeout 500ms";
        let number = "-n 10m --connect-timeout 500ms --timeout 500ms";
        for stop in [span, number] {
            let weighing = weigh_killed(kind, &format!("{stop} -c 4 -t 2 --rounds 1"));
            let tally = weighing.tally();
            assert!(tally.conserved() && tally.errors() > 0);
            assert!(
                weighing.faults(FaultKind::ConnectRefused) > 0,
                "{}",
                weighing.printed
            );
            assert!(
                tally
                    .faults
                    .iter()
                    .all(|fault| fault.fault.blame == Blame::Server)
            );
            let requested = stop == number;
            assert_eq!(tally.scheduled == 10_000_000, requested);
            assert_eq!(weighing.faults(FaultKind::NeverSent) > 0, requested);
            assert_eq!(weighing.status, 1, "{}", weighing.printed);
            assert!(
                weighing.took < Duration::from_secs(15),
                "{:?}",
                weighing.took
            );
        }
    });
}

/// Weighs a server of which every process is killed when it has answered some; its log is compared with what came.
fn weigh_killed(kind: &'static Kind, flags: &str) -> Weighing {
    let mut server = Server::start(Site::new(kind));
    // A master and two workers.
    let pids = server.pids(3);
    let site = &server.site;
    let weighing = thread::scope(|scope| {
        let weighing = scope.spawn(|| weigh(site, SMALL, &format!("{flags} --max-errors 0"), &[]));
        // Some thousand lines. To read them all again and again would take longer than the load, where others work too.
        while site.log_length() < 30_000 && !weighing.is_finished() {
            // Nothing tells when a file has grown.
            thread::sleep(Duration::from_millis(1));
        }
        signal("KILL", &pids);
        weighing.join().expect("a weighing")
    });
    // What it had answered but we had not received, or it had not logged yet, is at most one a connection.
    let answered = weighing.summary().ok + 1;
    let logged = site.log().len() as u64;
    assert!(
        logged.abs_diff(answered) <= 4,
        "{logged} in the log, {answered} answered"
    );
    weighing
}

/// What processes hold open in `folder`. (A server's workers keep its log open; their names say nothing.)
fn holding(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let descriptors = entries.filter_map(|entry| fs::read_dir(entry.path().join("fd")).ok());
    let files = descriptors.flat_map(|folder| folder.flatten());
    let files = files.filter_map(|file| fs::read_link(file.path()).ok());
    files.filter(|file| file.starts_with(folder)).collect()
}

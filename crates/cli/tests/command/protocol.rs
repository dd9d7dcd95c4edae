//! Servers as they are: framings, old versions, interim responses and closes, each counted right.

use crate::bench::Bench;
use crate::scripted::{OK, Scripted};

/// `count` exchanges on one connection at a time against `server`, which must all end well; connections the server
/// saw during the load.
#[track_caller]
fn all_well(server: &Scripted, count: u64, rest: &str) -> u64 {
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n {count} -c 1 --rounds 1 {rest}",
        server.at()
    ));
    said.ended(0);
    record.assert_conserved();
    assert_eq!(record.count("/summary/ok"), count, "{said:#?}");
    assert_eq!(server.requests(), count + 1);
    assert_eq!(record.sent(), count + 1);
    assert_eq!(
        record.sum("/tally/connects/established"),
        server.connections() - 1
    );
    server.connections() - 1
}

#[test]
fn every_framing_is_read_to_its_end_and_the_connection_kept() {
    let answers: &[&[u8]] = &[
        OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    ];
    for answer in answers {
        let server = Scripted::answering(answer);
        let text = String::from_utf8_lossy(answer);
        assert_eq!(all_well(&server, 6, ""), 1, "{text}");
    }
}

#[test]
fn a_server_that_ends_its_connections_gets_a_new_one_for_each_request() {
    let answers: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the close",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\n\r\nuntil the close",
    ];
    for answer in answers {
        let server = Scripted::answering_once(answer);
        let text = String::from_utf8_lossy(answer);
        assert_eq!(all_well(&server, 6, ""), 6, "{text}");
        let server = Scripted::answering_once(answer);
        assert_eq!(all_well(&server, 6, "--connect lazy"), 6, "{text}");
    }
}

#[test]
fn a_close_between_two_requests_fails_none_of_them() {
    // The server closes after three answers without saying so beforehand, and takes its time to read the end.
    let server = Scripted::start(|line| {
        for _ in 0..3 {
            if line.request().is_none() || !line.say(OK) {
                return;
            }
        }
    });
    let bench = Bench::new();
    let (said, record) = bench.run(&format!(
        "{} -n 30 -c 1 --rounds 1 --max-errors 30",
        server.at()
    ));
    said.ended(0);
    record.assert_conserved();
    // A request that crosses the close on its way is lost, and is a fault; the load goes on.
    let errors = record.count("/summary/errors/total");
    assert_eq!(record.count("/summary/ok"), 30 - errors);
    assert!(errors <= 10, "{}", record.at("/summary/errors"));
}

#[test]
fn head_has_no_body_whatever_its_length_says() {
    let server = Scripted::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    assert_eq!(all_well(&server, 6, "-X HEAD"), 1);
}

#[test]
fn http_1_0_is_asked_with_and_without_keep_alive() {
    let kept = Scripted::answering(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
    );
    assert_eq!(all_well(&kept, 6, "--http1.0"), 1);
    let head = kept.asked()[1].head.to_ascii_lowercase();
    assert!(head.starts_with("get / http/1.0\r\n"), "{head}");
    assert!(head.contains("connection: keep-alive\r\n"), "{head}");

    let closed = Scripted::answering_once(OK);
    assert_eq!(all_well(&closed, 6, "--http1.0 --no-keepalive"), 6);
    let head = closed.asked()[1].head.to_ascii_lowercase();
    assert!(!head.contains("keep-alive"), "{head}");
}

#[test]
fn without_keep_alive_the_server_is_told() {
    let server = Scripted::answering_once(OK);
    assert_eq!(all_well(&server, 6, "--no-keepalive"), 6);
    assert!(server.asked()[1].head.contains("Connection: close\r\n"));
}

#[test]
fn a_limit_of_requests_per_connection_is_kept_to_the_last_one() {
    let server = Scripted::answering(OK);
    assert_eq!(all_well(&server, 10, "--requests-per-connection 4"), 3);
}

#[test]
fn pipelined_answers_may_come_one_by_one_or_all_at_once() {
    let server = Scripted::start(|line| {
        // Answers in pairs: the first waits for the second, as far as there is one.
        while line.request().is_some() {
            let pair = line.number > 0 && line.request().is_some();
            let answers = OK.repeat(if pair { 2 } else { 1 });
            if !line.say(&answers) {
                return;
            }
        }
    });
    assert_eq!(all_well(&server, 12, "--pipeline 4"), 1);
}

#[test]
fn what_was_pipelined_behind_a_close_is_sent_again_once_and_then_lost() {
    let close: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let server = Scripted::answering_once(close);
    let bench = Bench::new();
    let line = format!(
        "{} -n 8 -c 1 --rounds 1 --pipeline 4 --max-errors 4",
        server.at()
    );
    let (said, record) = bench.run(&line);
    said.ended(0);
    record.assert_conserved();
    // Of four the first is answered, the second when it is sent again; the others are refused twice.
    assert_eq!(record.count("/summary/ok"), 4);
    assert_eq!(record.count("/summary/errors/abandoned"), 4);
    assert_eq!(record.sum("/tally/resent"), 7);
    assert_eq!((record.sent(), server.requests()), (9, 5));
}

#[test]
fn a_server_that_closes_in_good_order_costs_a_pipeline_no_error() {
    let server = Scripted::start(|line| {
        let close: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
        for _ in 0..9 {
            if line.request().is_none() || !line.say(OK) {
                return;
            }
        }
        if line.request().is_some() {
            line.say(close);
            line.finish();
        }
    });
    let bench = Bench::new();
    for ring in kernel::Uring::new().map_or(&["epoll"][..], |_| &["epoll", "io_uring"]) {
        for (path, method, errors) in [("", "GET", 0), ("/?{seq}", "PUT", 0), ("/", "POST", 1)] {
            let at = server.at();
            let line =
                format!("{at}{path} -X {method} -n 200 -c 2 --rounds 1 --pipeline 4 --ring {ring}");
            let (said, record) = bench.run(&line);
            said.ended(errors);
            record.assert_conserved();
            let abandoned = record
                .at("/summary/errors")
                .get("abandoned")
                .map_or(0, |count| count.as_u64().unwrap());
            assert_eq!(record.count("/summary/ok") + abandoned, 200, "{line}");
            let resent = record.rounds()[0]["tally"]
                .get("resent")
                .map_or(0, |count| count.as_u64().unwrap());
            assert_eq!(
                (abandoned > 0, resent > 0),
                (errors > 0, errors == 0),
                "{line}"
            );
            assert_eq!(
                said.out.contains("sent again on a new connection"),
                resent > 0,
                "{}",
                said.out
            );
        }
    }
}

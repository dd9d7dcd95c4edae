//! The truth server as a process: what it promises, by its own log, against what a client sees on the same clock.

use crate::bench::{Bench, Counted, Reference};
use kernel::clock;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use testserver::truth::log::{Header, Record, read};
use testserver::truth::{Capacity, Distribution, Service, Stall, delay, service};
use units::{Instant, Nanos};

/// How long an answer may take that comes.
const SOON: Duration = Duration::from_secs(30);

/// A truth server with a log.
struct Truth {
    bench: Bench,
    server: Reference,
}

impl Truth {
    fn start(flags: &str) -> Truth {
        let bench = Bench::new();
        let mut rest = vec!["--truth", "--truth-log", "truth.log"];
        rest.extend(flags.split_whitespace());
        let server = Reference::with(&bench, &["127.0.0.1:0"], &rest);
        Truth { bench, server }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.at()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Stops it; its counts, and its log.
    fn stop(self) -> (Counted, Header, Vec<Record>) {
        let counted = self.server.stop();
        let records = read(self.bench.path("truth.log")).unwrap();
        let header = *records.header();
        let records: Vec<Record> = records.map(Result::unwrap).collect();
        assert_eq!(counted.of("log_written"), records.len() as u64);
        assert_eq!(counted.of("log_lost"), 0);
        assert_eq!(counted.of("start"), header.start.as_nanos());
        assert_eq!(counted.of("seed"), header.seed);
        (counted, header, records)
    }
}

/// Asks for `path` and takes the whole of an answer to it; when it was sent and done.
fn ask(stream: &mut TcpStream, path: &str) -> (Instant, Instant) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let sent = clock::now();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"Hello, world!\n") {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{path}: {}", answer.escape_ascii());
        answer.extend_from_slice(&piece[..count]);
    }
    (sent, clock::now())
}

/// What a client saw, by id.
type Seen = BTreeMap<u64, (Instant, Instant)>;

/// Several clients that ask for `path` with ids of their own, so many times each.
fn load(truth: &Truth, clients: u64, times: u64, path: &str) -> Seen {
    let client = |first: u64| {
        let mut stream = truth.connect();
        let ids = first * times..(first + 1) * times;
        ids.map(|id| (id, ask(&mut stream, &format!("{path}{id}"))))
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..clients)
            .map(|first| scope.spawn(move || client(first)))
            .collect();
        running
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    })
}

#[test]
fn every_delay_is_the_one_that_anybody_can_recompute_and_the_client_saw_it() {
    let law: Distribution = "law=exponential&mean=3ms".parse().unwrap();
    let truth = Truth::start("--seed 11");
    let seen = load(&truth, 8, 25, "/delay?law=exponential&mean=3ms&id=");
    let (counted, header, records) = truth.stop();
    assert_eq!(
        (counted.requests(), counted.of("answered"), header.seed),
        (200, 200, 11)
    );
    assert_eq!(records.len(), 200);
    for record in &records {
        let (sent, done) = seen[&record.id];
        let stamps = [sent, record.arrival(), record.read, record.departure, done];
        assert!(stamps.is_sorted(), "{record:?}: {sent:?} {done:?}");
        assert_eq!(record.due, record.arrival() + delay(law, 11, record.id));
        assert!(record.departure >= record.due, "{record:?}");
        assert!(record.id_given && record.misbehaviour.is_none());
    }
    // The kernel begins to stamp a moment after it was asked to.
    let stamped = records
        .iter()
        .filter(|record| record.received > Instant::ZERO);
    assert!(stamped.count() > 100);
    assert!(header.stamped && header.boot != [0; 16]);
    let wall = Duration::from_nanos(records[0].read.as_nanos() + header.wall_offset);
    assert!(
        wall.abs_diff(clock::realtime()) < Duration::from_secs(3600),
        "{wall:?}"
    );
}

#[test]
fn over_a_unix_socket_delays_count_from_reading_because_the_kernel_stamps_nothing() {
    let bench = Bench::new();
    let rest = ["--truth", "--truth-log", "truth.log"];
    let server = Reference::with(&bench, &["unix:socket"], &rest);
    let mut stream = UnixStream::connect(bench.path("socket")).unwrap();
    let request = "GET /delay?law=constant&mean=2ms&id=1 HTTP/1.0\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    assert_eq!(server.stop().of("answered"), 1);
    let records: Vec<_> = read(bench.path("truth.log"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!((records.len(), records[0].received), (1, Instant::ZERO));
    assert_eq!(records[0].due, records[0].read + Nanos::from_millis(2));
}

#[test]
fn weigh_counts_what_the_truth_server_counts() {
    let truth = Truth::start("");
    let url = format!(
        "http://{}/delay?law=uniform&low=1ms&high=3ms&id={{seq}} -n 300 -c 10 --rounds 1",
        truth.server.at()
    );
    let (said, record) = truth.bench.run(&url);
    said.ended(0);
    record.assert_conserved();
    let mean = record.at("/summary/latency_us/mean").as_f64().unwrap();
    let (counted, _, records) = truth.stop();
    assert_eq!((record.sent(), counted.requests()), (301, 301));
    assert_eq!(records.len(), 301);
    let spans = records
        .iter()
        .map(|record| (record.departure - record.arrival()).as_micros_f64());
    // The client's time holds the server's, and the probe's is one of 301.
    let probe = spans.clone().fold(0.0, f64::max);
    let servers = spans.sum::<f64>() - probe;
    assert!(300.0 * mean >= servers, "{mean} us, {servers} us of 300");
}

#[test]
fn a_queue_departs_as_lindley_says_with_the_kernels_receive_times() {
    let capacity: Capacity = "2k/s".parse().unwrap();
    for (flag, law) in [
        ("fixed", Service::Fixed),
        ("exponential", Service::Exponential),
    ] {
        let truth = Truth::start(&format!("--capacity 2k/s --service {flag} --seed 5"));
        load(&truth, 6, 30, "/hello?id=");
        let (_, _, mut records) = truth.stop();
        // In the order of reading, which is that of the queue: due times rise with every request.
        records.sort_by_key(|record| record.due);
        let mut last = Instant::ZERO;
        for record in records {
            last = last.max(record.arrival()) + service(capacity, law, 5, record.id);
            assert_eq!(record.due, last, "{flag}: {record:?}");
            assert!(record.departure >= record.due, "{flag}: {record:?}");
        }
    }
}

#[test]
fn who_asks_in_a_stall_waits_unread_until_its_end() {
    let truth = Truth::start("--stall 60ms/200ms");
    load(&truth, 4, 800, "/hello?id=");
    let (_, header, records) = truth.stop();
    let stall: Stall = "60ms/200ms".parse().unwrap();
    let (mut waited, mut slipped) = (0, 0);
    for record in &records {
        let Some(end) = stall.end(header.start, record.received) else {
            continue;
        };
        if record.read >= end && record.departure >= end {
            waited += 1;
        } else {
            // Read in the moment in which the stall began, by a thread that had just looked at the clock.
            slipped += 1;
        }
    }
    assert!(
        slipped <= waited,
        "{slipped} of {} slipped",
        waited + slipped
    );
    let first_end = header.start + Nanos::from_millis(60);
    assert!(waited > 0 || records.iter().all(|record| record.received >= first_end));
}

#[test]
fn faults_are_asked_by_url_and_met_where_the_log_says() {
    let truth = Truth::start("--fault unavailable:only=3");
    let line = format!(
        "http://{}/fault?kind=not-found&every=5&id={{seq}} -n 49 -c 4 --rounds 1",
        truth.server.at()
    );
    let (said, record) = truth.bench.run(&line);
    said.ended(1);
    assert_eq!(record.count("/summary/errors/status_4xx"), 10);
    assert_eq!(record.count("/summary/errors/status_5xx"), 1);
    let (counted, _, records) = truth.stop();
    assert_eq!(
        (counted.of("not-found"), counted.of("unavailable")),
        (10, 1)
    );
    let met = |name| {
        let is_it = |record: &&Record| record.misbehaviour.is_some_and(|it| it.name() == name);
        records.iter().filter(is_it).count()
    };
    assert_eq!((met("not-found"), met("unavailable")), (10, 1));
}

#[test]
fn what_is_still_to_be_answered_at_the_end_is_in_the_log_without_a_departure() {
    let truth = Truth::start("");
    let mut waiting = truth.connect();
    let request = "GET /delay?law=constant&mean=1h&id=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    waiting.write_all(request.as_bytes()).unwrap();
    let mut answered = truth.connect();
    // Asked later, so by its answer the other one is read.
    ask(&mut answered, "/delay?law=constant&mean=20ms&id=2");
    let (_, _, mut records) = truth.stop();
    records.sort_by_key(|record| record.id);
    let departed: Vec<_> = records
        .iter()
        .map(|record| (record.id, record.departure > Instant::ZERO))
        .collect();
    assert_eq!(departed, [(1, false), (2, true)]);
    assert_eq!(
        records[0].due,
        records[0].arrival() + Nanos::from_secs(3600)
    );
}

#[test]
fn a_disk_that_is_full_is_told_once_and_counted_and_nothing_else_suffers() {
    let bench = Bench::new();
    let mut child = bench
        .weigh(&[
            "serve",
            "--truth",
            "--listen",
            "127.0.0.1:0",
            "--truth-log",
            "/dev/full",
        ])
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let at = line
        .trim_end()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    let (said, _) = bench.run(&format!("http://{at}/hello -n 1000 --rounds 1"));
    said.ended(0);
    crate::bench::signal("TERM", child.id());
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("requests 1001\n"), "{text}");
    assert!(text.contains("log_written 0\nlog_lost 1001\n"), "{text}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told.matches("the truth log cannot be written").count(),
        1,
        "{told}"
    );
}

#[test]
fn what_cannot_be_is_refused_in_one_sentence() {
    let cases: &[(&str, &[&str])] = &[
        ("-w 2", &["--workers is 2", "remove it"]),
        (
            "--stall 1s/1s",
            &["--stall", "`1s/1s` is not a stall", "100ms/1s"],
        ),
        (
            "--capacity 0",
            &["--capacity", "`0` is not a capacity", "5k/s"],
        ),
        (
            "--fault nonesuch:every=1",
            &["--fault", "`nonesuch` is not a misbehaviour"],
        ),
        ("--fault silence", &["--fault", "say how often", "every=10"]),
        ("--work 2s", &["--work", "--stall"]),
        (
            "--truth-log /nonesuch/log",
            &["/nonesuch/log", "is there such a folder"],
        ),
        ("site", &["--truth", "[DIR]"]),
        ("--log access.log", &["--truth", "--log"]),
        ("--max-head 1000", &["--truth", "--max-head"]),
    ];
    let bench = Bench::new();
    for (flags, words) in cases {
        bench
            .say(&format!("serve --truth --listen 127.0.0.1:0 {flags}"))
            .refused(words);
    }
    for flags in [
        "--seed 1",
        "--stall 1ms/1s",
        "--truth-log x",
        "--spin never",
    ] {
        bench.say(&format!("serve {flags}")).refused(&["--truth"]);
    }
}

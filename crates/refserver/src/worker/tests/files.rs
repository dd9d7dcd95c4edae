//! Files on the simulated ring: order, fairness, and files that change under way.

use super::*;
use crate::files::{Library, LibraryOptions};
use crate::log::Log;
use std::io;
use std::sync::Mutex;
use tempfile::TempDir;

/// A folder, and a bench that serves it.
struct Shop {
    dir: TempDir,
    bench: Bench,
}

/// The byte at each place of a file: another one than at the places near it.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

impl Shop {
    fn new(options: Options, limits: Limits) -> Shop {
        let dir = tempfile::tempdir().unwrap();
        let library = Library::open(dir.path(), &LibraryOptions::default(), wall).unwrap();
        let ring = Sim::with(1, Clients::default(), options);
        let bench = Bench::of(ring, limits, Site::Files(Box::new(library)));
        Shop { dir, bench }
    }

    fn file(&self, name: &str, content: &[u8]) {
        std::fs::write(self.dir.path().join(name), content).unwrap();
    }
}

fn ask(path: &str) -> Vec<u8> {
    bytes(&format!("GET {path} HTTP/1.1⏎Host: a⏎⏎"))
}

/// The bodies of the answers in `heard`, by their lengths.
fn bodies(mut heard: &[u8]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while !heard.is_empty() {
        let end = heard.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
        let head = std::str::from_utf8(&heard[..end]).unwrap();
        let length = head.split("Content-Length: ").nth(1).unwrap();
        let length: usize = length.split('\r').next().unwrap().parse().unwrap();
        bodies.push(heard[end..end + length].to_vec());
        heard = &heard[end + length..];
    }
    bodies
}

#[test]
fn large_and_small_files_of_a_pipeline_come_in_its_order_however_the_network_cuts_them() {
    let (large, small) = (content(1_500_000), content(300));
    let asks = [
        ask("/small"),
        ask("/large"),
        ask("/hello"),
        ask("/large"),
        ask("/small"),
    ]
    .concat();
    for reads in [Reads::Whole, Reads::Random, Reads::OneByte] {
        let options = match reads {
            Reads::Whole => calm(),
            reads => rough(reads),
        };
        let mut site = Shop::new(options, Limits::default());
        site.file("large", &large);
        site.file("small", &small);
        let conns = [(); 3].map(|()| site.bench.open(&asks, false));
        site.bench.pass(Nanos::from_secs(5));
        for conn in conns {
            let heard = bodies(&site.bench.client(conn).heard);
            let wanted = [&small[..], &large, b"Hello, world!\n", &large, &small];
            assert_eq!(heard.len(), wanted.len(), "{reads:?}");
            assert!(
                heard.iter().zip(wanted).all(|(one, other)| one == other),
                "{reads:?}"
            );
        }
        let counts = site.bench.counts();
        assert_eq!(
            (counts.requests, counts.responses_2xx, counts.cut),
            (15, 15, 0)
        );
        assert_eq!(site.bench.worker.holders.sum(), 0);
    }
}

#[test]
fn a_file_wins_over_what_is_built_in_and_what_is_neither_is_not_there() {
    let mut site = Shop::new(calm(), Limits::default());
    site.file("hello", b"from the folder");
    let conn = site.bench.open(
        &[ask("/hello"), ask("/0.html"), ask("/none")].concat(),
        false,
    );
    site.bench.pass(Nanos::from_millis(10));
    let heard = bodies(&site.bench.client(conn).heard);
    assert_eq!(heard[..2], [b"from the folder".to_vec(), Vec::new()]);
    let counts = site.bench.counts();
    assert_eq!((counts.responses_2xx, counts.responses_4xx), (2, 1));
}

#[test]
fn a_small_request_does_not_wait_for_the_large_ones_of_others() {
    let options = Options {
        window: 64 * 1024 * 1024,
        call_cost: Nanos::from_micros(100),
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    site.file("large", &content(20_000_000));
    let large = [(); 4].map(|()| site.bench.open(&ask("/large"), false));
    site.bench.worker.turn(Nanos::ZERO);
    site.bench.worker.turn(Nanos::ZERO);
    let small = site.bench.open(&ask("/hello"), false);
    while site.bench.client(small).heard.is_empty() {
        site.bench.worker.turn(site.bench.worker.patience());
    }
    let heard = large.map(|conn| site.bench.client(conn).heard.len());
    let most = heard.iter().max().unwrap();
    assert!(*most < 10 * crate::sending::TURN, "{heard:?}");
    let least = heard.iter().min().unwrap();
    assert!(
        most - least <= 2 * crate::sending::TURN,
        "they have equal turns: {heard:?}"
    );
    site.bench.pass(Nanos::from_secs(1));
    for conn in large {
        assert_eq!(
            bodies(&site.bench.client(conn).heard),
            [content(20_000_000)]
        );
    }
}

#[test]
fn however_many_download_the_loop_looks_round_in_between() {
    let options = Options {
        window: 64 * 1024 * 1024,
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    site.file("large", &content(3_000_000));
    let large = [(); 24].map(|()| site.bench.open(&ask("/large"), false));
    let mut small = Vec::new();
    let mut before = 0;
    for turns in 0.. {
        site.bench.worker.turn(site.bench.worker.patience());
        let sent = site.bench.counts().bytes_sent;
        assert!(
            sent - before <= 2 * ROUND as u64 + 24 * 300,
            "{sent} after {before}"
        );
        before = sent;
        if site.bench.worker.ready.is_empty() && turns > 3 {
            break;
        }
        // Clients that come meanwhile do not delay those that were here, nor the other way round.
        small.push(site.bench.open(&ask("/hello"), true));
    }
    assert!(small.len() > 10, "there were {} turns", small.len());
    site.bench.pass(Nanos::from_millis(10));
    for conn in small {
        assert!(site.bench.client(conn).is_closed);
    }
    for conn in large {
        assert_eq!(bodies(&site.bench.client(conn).heard), [content(3_000_000)]);
    }
    assert_eq!(site.bench.worker.holders.sum(), 0);
}

/// (how long it takes until what was sent is read; what the kernel holds a second and a half later, in [`BUFFER`]s)
#[test]
fn the_kernel_holds_little_for_a_client_until_it_has_shown_that_it_reads() {
    let cases = [
        // So late that nothing is known of it yet.
        (Nanos::from_secs(20), 1),
        // Half a buffer each second.
        (Nanos::from_millis(2000), 1),
        // Ten of them.
        (Nanos::from_millis(100), 8),
    ];
    for (latency, wanted) in cases {
        let options = Options {
            window: 8 * BUFFER as usize,
            latency,
            ..Options::default()
        };
        let mut site = Shop::new(options, Limits::default());
        site.file("large", &content(20_000_000));
        site.bench.open(&ask("/large"), false);
        site.bench.pass(latency + Nanos::from_millis(1500));
        let token = site.bench.worker.slots.tokens(|_| true)[0];
        let held = site.bench.worker.ring.unacknowledged(token);
        assert_eq!(held, wanted * BUFFER as usize, "{latency:?}");
    }
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_sent_ends_its_connection_and_nothing_else() {
    let options = Options {
        window: 100_000,
        latency: Nanos::from_millis(1),
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    site.file("large", &content(1_000_000));
    let (large, other) = (
        site.bench.open(&ask("/large"), false),
        site.bench.open(&ask("/hello"), false),
    );
    site.bench.pass(Nanos::from_micros(2500));
    site.file("large", &content(1000));
    site.bench.pass(Nanos::from_millis(100));
    assert!(site.bench.client(large).is_closed);
    assert!(site.bench.client(large).heard.len() < 900_000);
    assert_eq!(
        (site.bench.counts().cut_file, site.bench.counts().cut),
        (1, 1)
    );
    let again = site.bench.open(&ask("/large"), false);
    site.bench.pass(Nanos::from_millis(20));
    assert_eq!(bodies(&site.bench.client(again).heard), [content(1000)]);
    assert_eq!(standing(site.bench.client(other)), "kept");
}

#[test]
fn a_download_whose_file_is_overwritten_is_cut_and_never_ends_as_if_it_were_whole() {
    for length in [999_999, 1_000_000, 3_000_000] {
        let options = Options {
            window: 100_000,
            latency: Nanos::from_millis(1),
            ..Options::default()
        };
        let mut site = Shop::new(options, Limits::default());
        site.file("large", &[b'A'; 1_000_000]);
        let conn = site.bench.open(&ask("/large"), false);
        site.bench.pass(Nanos::from_micros(2500));
        assert!(site.bench.client(conn).heard.ends_with(b"A"));
        site.file("large", &vec![b'B'; length]);
        site.bench.pass(Nanos::from_millis(100));
        let client = site.bench.client(conn);
        assert!(client.is_closed && client.heard.ends_with(b"A"), "{length}");
        assert!(client.heard.len() < 900_000, "{length}");
        let counts = site.bench.counts();
        assert_eq!((counts.cut_file, counts.cut), (1, 1), "{length}");
        // The next one begins with what is there now.
        let again = site.bench.open(&ask("/large"), false);
        site.bench.pass(Nanos::from_millis(100));
        let heard = &site.bench.client(again).heard;
        assert!(bodies(heard) == [vec![b'B'; length]], "{length}");
    }
}

#[test]
fn a_download_goes_on_when_another_file_takes_the_name_of_its_own() {
    let options = Options {
        window: 100_000,
        latency: Nanos::from_millis(1),
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    site.file("large", &content(1_000_000));
    let conn = site.bench.open(&ask("/large"), false);
    site.bench.pass(Nanos::from_micros(2500));
    site.file("new", b"another");
    let [new, large] = ["new", "large"].map(|name| site.dir.path().join(name));
    std::fs::rename(new, large).unwrap();
    site.bench.pass(Nanos::from_millis(100));
    assert!(bodies(&site.bench.client(conn).heard) == [content(1_000_000)]);
    assert_eq!(site.bench.counts().cut, 0);
}

#[test]
fn a_download_that_is_under_way_when_the_server_stops_is_finished() {
    let options = Options {
        window: 100_000,
        latency: Nanos::from_millis(10),
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    site.file("large", &content(3_000_000));
    let conn = site.bench.open(&ask("/large"), false);
    site.bench.pass(Nanos::from_millis(60));
    assert!(site.bench.client(conn).heard.len() < 2_000_000);
    site.bench.worker.drain();
    site.bench.worker.ring.wait(Some(Nanos::from_millis(20)));
    assert_eq!(bodies(&site.bench.client(conn).heard), [content(3_000_000)]);
    assert!(site.bench.client(conn).is_closed);
    assert_eq!(site.bench.counts().cut_drain, 0);
}

/// What was logged.
#[derive(Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_log_has_a_line_for_each_answer_with_what_was_sent_of_it() {
    let options = Options {
        window: 100_000,
        latency: Nanos::from_millis(1),
        ..Options::default()
    };
    let mut site = Shop::new(options, Limits::default());
    let paper = Paper::default();
    site.bench.worker.context.log = Some(Log::new(Paper(Arc::clone(&paper.0))));
    site.file("large", &content(1_000_000));
    let put = bytes("PUT /large HTTP/1.1⏎Host: a⏎User-Agent: x⏎Content-Length: 3⏎⏎abc");
    let asks = [
        ask("/hello?a=1"),
        put,
        ask("/large"),
        bytes("HEAD /large HTTP/1.0⏎Referer: \"r\"⏎⏎"),
    ]
    .concat();
    let whole = site.bench.open(&asks, false);
    let breaks = site.bench.open(&ask("/large"), false);
    site.bench.open(b"nonsense\r\n\r\n", false);
    site.bench
        .open(b"GET /\"\x7f\xff HTTP/1.1\r\nHost: a\r\n\r\n", false);
    let chunks = "GET /hello HTTP/1.1⏎Host: a⏎User-Agent: y⏎Transfer-Encoding: chunked⏎⏎1⏎a⏎zz⏎";
    site.bench.open(&bytes(chunks), false);
    let slow = site.bench.open(b"GET /slow", false);
    site.bench.pass(Nanos::from_millis(3));
    let now = site.bench.worker.ring.now();
    site.bench.worker.ring.world_mut().reset(breaks, now);
    site.bench.pass(Nanos::from_secs(20));
    assert!(site.bench.client(whole).is_closed && site.bench.client(slow).is_ended);
    let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    let mut lines: Vec<&str> = text
        .lines()
        .map(|line| line.split_once("\"").unwrap().1)
        .collect();
    let (sent, broken): (Vec<&str>, Vec<&str>) = lines
        .drain(..)
        .partition(|line| !line.starts_with("GET /large") || line.contains(" 1000000 "));
    let wanted = [
        "GET /\\\"\\x7f\\xff HTTP/1.1\" 400 77 \"-\" \"-\" \"the target has a control character or # in it, which must be percent-encoded\"",
        "GET /hello HTTP/1.1\" 400 33 \"-\" \"y\" \"a chunk of the body is malformed\"",
        "GET /hello?a=1 HTTP/1.1\" 200 14 \"-\" \"-\"",
        "GET /large HTTP/1.1\" 200 1000000 \"-\" \"-\"",
        "GET /slow\" 408 26 \"-\" \"-\" \"the request took too long\"",
        "HEAD /large HTTP/1.0\" 200 0 \"\\\"r\\\"\" \"-\"",
        "PUT /large HTTP/1.1\" 405 42 \"-\" \"x\"",
        "nonsense\" 400 30 \"-\" \"-\" \"the request line is malformed\"",
    ];
    let mut sent = sent;
    sent.sort_unstable();
    assert_eq!(sent.len(), wanted.len(), "{text}");
    for (line, wanted) in sent.iter().zip(wanted) {
        assert_eq!(*line, wanted);
    }
    assert_eq!(broken.len(), 1, "{text}");
    assert!(
        text.lines()
            .all(|line| line.contains(" - - [06/Nov/1994:08:49:37 +0000] \"")),
        "{text}"
    );
    assert_eq!(site.bench.counts().log_lines_lost, 0);
}

//! The worker on the simulated ring: the same loop, with a network that is as bad as wanted.

use super::*;
use crate::worker::responses;
use kernel::files::File;
use kernel::sim::{Faults, Options, Peer, Reads, Sim, World};
use kernel::{Accepted, Completion, ConnectOptions, Ring};
use std::collections::BTreeMap;
use std::io::IoSlice;

// Clients that hold a connection,
mod shield;
// clients of files,
mod files;
// and clients behind a filter.
mod secured;

/// The time of day in these tests.
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn wall() -> Duration {
    Duration::from_secs(784_111_777)
}

/// What one client does and sees.
#[derive(Debug, Default, Clone)]
struct Client {
    says: Vec<u8>,
    ends: bool,
    heard: Vec<u8>,
    is_ended: bool,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Clients(BTreeMap<u64, Client>);

impl Clients {
    fn at(&mut self, conn: u64) -> &mut Client {
        self.0.entry(conn).or_default()
    }
}

impl Peer for Clients {
    fn opened(&mut self, at: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        answer.expect("the listener is open");
        let client = self.at(conn);
        world.send(conn, at, client.says.clone());
        if client.ends {
            world.end(conn, at);
        }
    }

    fn receive(&mut self, _: Instant, conn: u64, bytes: &[u8], _: &mut World) {
        self.at(conn).heard.extend_from_slice(bytes);
    }

    fn ended(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.at(conn).is_ended = true;
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.at(conn).is_closed = true;
    }
}

fn setting(limits: Limits, site: Site) -> Setting {
    Setting {
        site,
        headers: Headers::default(),
        limiter: Arc::new(ConnectionLimiter::new(
            limits.connections,
            limits.connections_per_address,
        )),
        limits,
        log: None,
        counter_slot: None,
        wall,
    }
}

/// A worker with clients at its listener.
struct Bench {
    worker: Worker<Sim<Clients>>,
    at: Address,
    conns: Vec<u64>,
}

impl Bench {
    fn new(seed: u64, options: Options, connections: u32) -> Bench {
        let ring = Sim::with(seed, Clients::default(), options);
        let limits = Limits {
            connections,
            connections_per_address: 0,
            ..Limits::default()
        };
        Bench::of(ring, limits, Site::BuiltIn)
    }

    /// One with these limits on a calm network.
    fn with(limits: Limits) -> Bench {
        Bench::of(Sim::new(1, Clients::default()), limits, Site::BuiltIn)
    }

    fn of(ring: Sim<Clients>, limits: Limits, site: Site) -> Bench {
        let mut worker = Worker::new(ring, setting(limits, site));
        let at = worker.listen(&"0.0.0.0:80".parse().unwrap(), None).unwrap();
        let conns = Vec::new();
        Bench { worker, at, conns }
    }

    fn counts(&self) -> &Counts {
        &self.worker.context.counts
    }

    fn open(&mut self, says: &[u8], ends: bool) -> u64 {
        let ring = &mut self.worker.ring;
        let now = ring.now();
        let conn = ring.world_mut().open(now, &self.at);
        let client = ring.peer_mut().at(conn);
        client.says = says.to_vec();
        client.ends = ends;
        self.conns.push(conn);
        conn
    }

    /// Something more from a client that is there.
    fn say(&mut self, conn: u64, bytes: &[u8]) {
        let now = self.worker.ring.now();
        self.worker.ring.world_mut().send(conn, now, bytes);
    }

    fn pass(&mut self, time: Nanos) {
        let end = self.worker.ring.now() + time;
        while self.worker.ring.now() < end {
            self.worker.turn(self.worker.patience());
        }
    }

    fn client(&self, conn: u64) -> &Client {
        &self.worker.ring.peer().0[&conn]
    }

    fn heard(&self, conn: u64) -> String {
        String::from_utf8(self.client(conn).heard.clone()).unwrap()
    }
}

fn calm() -> Options {
    Options::default()
}

fn rough(reads: Reads) -> Options {
    let faults = Faults {
        short_writes: 0.5,
        reads,
        reorder: true,
        ..Faults::default()
    };
    Options {
        faults,
        latency: Nanos::from_micros(30),
        ..Options::default()
    }
}

/// `⏎` is CR LF, `@` the Date line.
fn bytes(text: &str) -> Vec<u8> {
    let date = format!("Date: {DATE}\r\n");
    text.replace('⏎', "\r\n").replace('@', &date).into_bytes()
}

const HELLO: &str = "HTTP/1.1 200 OK⏎@Content-Type: text/plain⏎Content-Length: 14⏎⏎Hello, world!\n";
const HELLO_CLOSE: &str = "HTTP/1.1 200 OK⏎@Content-Type: text/plain⏎Content-Length: 14⏎Connection: close⏎⏎Hello, world!\n";
const REFUSED_PUT: &str = "HTTP/1.1 405 Method Not Allowed⏎@Content-Type: text/plain⏎Allow: GET, HEAD, OPTIONS⏎Content-Length: 41⏎Connection: close⏎⏎Only GET, HEAD and OPTIONS are answered.\n";
const NO_PUT: &str = "HTTP/1.1 405 Method Not Allowed⏎@Content-Type: text/plain⏎Allow: GET, HEAD, OPTIONS⏎Content-Length: 41⏎⏎Only GET, HEAD and OPTIONS are answered.\n";
const EMPTY: &str = "HTTP/1.1 200 OK⏎@Content-Type: text/html⏎Content-Length: 0⏎⏎";

/// (what the client sends, what it hears, how it stands after a tenth of a second: kept, closed, or ended and lingering)
#[rustfmt::skip]
const CASES: &[(&str, &[&str], &str)] = &[
    ("GET /hello HTTP/1.1⏎Host: a⏎⏎", &[HELLO], "kept"),
    ("GET /hello?id=1 HTTP/1.1⏎Host: a⏎⏎", &[HELLO], "kept"),
    ("GET http://a/hello HTTP/1.1⏎Host: a⏎⏎", &[HELLO], "kept"),
    ("GET /0.html HTTP/1.1⏎Host: a⏎⏎", &[EMPTY], "kept"),
    // HEAD: the same head, no body.
    ("HEAD /hello HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: text/plain⏎Content-Length: 14⏎⏎"], "kept"),
    ("HEAD /100.html HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: text/html⏎Content-Length: 100⏎⏎"], "kept"),
    ("HEAD /nop.gif HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: image/gif⏎Content-Length: 43⏎⏎"], "kept"),
    ("HEAD /none HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 404 Not Found⏎@Content-Type: text/plain⏎Content-Length: 17⏎⏎"], "kept"),
    // As many bytes as the path names.
    ("GET /bytes/5?a HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: application/octet-stream⏎Content-Length: 5⏎⏎xxxxx"], "kept"),
    ("GET /bytes/0 HTTP/1.0⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: application/octet-stream⏎Content-Length: 0⏎Connection: close⏎⏎"], "closed"),
    ("HEAD /bytes/1073741824 HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 200 OK⏎@Content-Type: application/octet-stream⏎Content-Length: 1073741824⏎⏎"], "kept"),
    ("OPTIONS /bytes/5 HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 204 No Content⏎@Allow: GET, HEAD, OPTIONS⏎⏎"], "kept"),
    ("HEAD /bytes/1073741825 HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 404 Not Found⏎@Content-Type: text/plain⏎Content-Length: 17⏎⏎"], "kept"),
    ("HEAD /bytes/+5 HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 404 Not Found⏎@Content-Type: text/plain⏎Content-Length: 17⏎⏎"], "kept"),
    // What is not there, and what cannot be done.
    ("GET / HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 404 Not Found⏎@Content-Type: text/plain⏎Content-Length: 17⏎⏎Nothing is here.\n"], "kept"),
    ("POST /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎hiGET /hello HTTP/1.1⏎Host: a⏎⏎",
        &[NO_PUT, HELLO], "kept"),
    ("get /hello HTTP/1.0⏎⏎",
        &["HTTP/1.1 501 Not Implemented⏎@Content-Type: text/plain⏎Allow: GET, HEAD, OPTIONS⏎Content-Length: 30⏎Connection: close⏎⏎The method is not known here.\n"], "closed"),
    ("OPTIONS * HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 204 No Content⏎@Allow: GET, HEAD, OPTIONS⏎⏎"], "kept"),
    ("OPTIONS /hello HTTP/1.1⏎Host: a⏎⏎", &["HTTP/1.1 204 No Content⏎@Allow: GET, HEAD, OPTIONS⏎⏎"], "kept"),
    // Bodies are skipped.
    ("GET /hello HTTP/1.1⏎Host: a⏎Content-Length: 5⏎⏎GET /GET /0.html HTTP/1.1⏎Host: a⏎⏎", &[HELLO, EMPTY], "kept"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎0⏎⏎GET /0.html HTTP/1.1⏎Host: a⏎⏎", &[HELLO, EMPTY], "kept"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Content-Length: 5⏎⏎GET", &[], "kept"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎Expect: 100-continue⏎⏎hi", &["HTTP/1.1 100 Continue⏎⏎", HELLO], "kept"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎Expect: 100-continue⏎⏎", &["HTTP/1.1 100 Continue⏎⏎"], "kept"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Expect: 100-continue⏎⏎", &[HELLO], "kept"),
    // A body that is not wanted is not waited for; whether it comes all the same or not, the answer is one.
    ("PUT /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎Expect: 100-continue⏎⏎", &[REFUSED_PUT], "lingers"),
    ("PUT /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎Expect: 100-continue⏎⏎hiGET /hello HTTP/1.1⏎Host: a⏎⏎", &[REFUSED_PUT], "lingers"),
    ("PUT /hello HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎Expect: 100-continue⏎⏎zz⏎", &[REFUSED_PUT], "lingers"),
    // An error is not held back until the body is there. The body is read and thrown away, and the connection goes on.
    ("POST /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎", &[NO_PUT], "kept"),
    ("POST /hello HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎h", &[NO_PUT], "kept"),
    ("POST /hello HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎0⏎⏎GET /hello HTTP/1.1⏎Host: a⏎⏎", &[NO_PUT, HELLO], "kept"),
    ("POST /hello HTTP/1.1⏎Host: a⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎zz⏎GET /hello HTTP/1.1⏎Host: a⏎⏎", &[NO_PUT], "lingers"),
    ("GET /hello HTTP/1.1⏎Host: a⏎⏎PUT /hello HTTP/1.1⏎Host: a⏎Connection: close⏎Content-Length: 2⏎⏎h", &[HELLO, REFUSED_PUT], "kept"),
    ("PUT /hello HTTP/1.1⏎Host: a⏎Connection: close⏎Content-Length: 2⏎⏎hi", &[REFUSED_PUT], "closed"),
    ("PUT /hello HTTP/1.0⏎Content-Length: 2⏎⏎hi", &[REFUSED_PUT], "closed"),
    ("GET /none HTTP/1.1⏎Host: a⏎Content-Length: 2⏎⏎", &["HTTP/1.1 404 Not Found⏎@Content-Type: text/plain⏎Content-Length: 17⏎⏎Nothing is here.\n"], "kept"),
    // Which side closes.
    ("GET /hello HTTP/1.1⏎Host: a⏎Connection: close⏎⏎", &[HELLO_CLOSE], "closed"),
    ("GET /hello HTTP/1.1⏎Host: a⏎Connection: close⏎⏎GET /hello HTTP/1.1⏎Host: a⏎⏎", &[HELLO_CLOSE], "closed"),
    ("GET /hello HTTP/1.0⏎⏎", &[HELLO_CLOSE], "closed"),
    ("GET /hello HTTP/1.0⏎Connection: keep-alive⏎⏎",
        &["HTTP/1.1 200 OK⏎@Content-Type: text/plain⏎Content-Length: 14⏎Connection: keep-alive⏎⏎Hello, world!\n"], "kept"),
    // Refused.
    ("GET /hello HTTP/1.1⏎⏎", &["HTTP/1.1 400 Bad Request⏎@Content-Type: text/plain⏎Content-Length: 24⏎Connection: close⏎⏎Host must be there once\n"], "lingers"),
    ("GET /hello HTTP/1.1⏎Host: a⏎⏎GET /hello HTTP/2.0⏎⏎",
        &[HELLO, "HTTP/1.1 505 HTTP Version Not Supported⏎@Content-Type: text/plain⏎Content-Length: 38⏎Connection: close⏎⏎only HTTP/1.0 and HTTP/1.1 are spoken\n"], "lingers"),
    ("PUT / HTTP/1.1⏎Host: a⏎Content-Length: 67108865⏎⏎xyz",
        &["HTTP/1.1 413 Content Too Large⏎@Content-Type: text/plain⏎Content-Length: 38⏎Connection: close⏎⏎the body is larger than what is taken\n"], "lingers"),
    ("", &[], "kept"),
];

fn standing(client: &Client) -> &'static str {
    match (client.is_closed, client.is_ended) {
        (true, _) => "closed",
        (false, true) => "lingers",
        (false, false) => "kept",
    }
}

/// What the table's clients hear and how they stand, all on one worker.
fn outcomes(seed: u64, options: Options) -> Vec<(Vec<u8>, &'static str)> {
    let mut bench = Bench::new(seed, options, 100);
    for (says, ..) in CASES {
        bench.open(&bytes(says), false);
    }
    bench.pass(Nanos::from_millis(100));
    let clients = bench.conns.iter().map(|&conn| bench.client(conn));
    clients.map(|it| (it.heard.clone(), standing(it))).collect()
}

#[test]
fn requests_are_answered_as_the_table_says() {
    for ((says, hears, stands), outcome) in CASES.iter().zip(outcomes(1, calm())) {
        let heard = String::from_utf8_lossy(&outcome.0);
        assert_eq!(
            heard,
            String::from_utf8(bytes(&hears.concat())).unwrap(),
            "{says}"
        );
        assert_eq!(outcome.1, *stands, "{says}");
    }
}

#[test]
fn no_case_depends_on_how_the_network_cuts_it_up() {
    let wanted = outcomes(1, calm());
    for reads in [Reads::Whole, Reads::OneByte, Reads::Random] {
        for seed in 0..20 {
            assert_eq!(
                outcomes(seed, rough(reads)),
                wanted,
                "{reads:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn bodies_are_as_long_as_the_path_names_however_short_the_sends() {
    for options in [calm(), rough(Reads::Whole)] {
        for length in [65_536, 65_537, 1_500_000] {
            let mut bench = Bench::new(3, options.clone(), 10);
            let says =
                format!("GET /bytes/{length} HTTP/1.1⏎Host: a⏎⏎GET /hello HTTP/1.1⏎Host: a⏎⏎");
            let conn = bench.open(&bytes(&says), false);
            bench.pass(Nanos::from_secs(1));
            let heard = bench.heard(conn).replacen(&"x".repeat(length), "(body)", 1);
            let wanted = format!(
                "HTTP/1.1 200 OK⏎@Content-Type: application/octet-stream⏎Content-Length: {length}⏎⏎(body){HELLO}"
            );
            assert_eq!(heard.into_bytes(), bytes(&wanted), "{length}");
            let sent = bench.client(conn).heard.len() as u64;
            assert_eq!(
                (bench.counts().bytes_sent, bench.worker.holders.sum()),
                (sent, 0)
            );
        }
    }
}

#[test]
fn what_a_client_asked_before_it_ended_its_side_is_answered() {
    for options in [calm(), rough(Reads::Random)] {
        let mut bench = Bench::new(3, options, 10);
        let says = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(20));
        let (whole, part) = (
            bench.open(&says, true),
            bench.open(&says[..says.len() - 1], true),
        );
        bench.pass(Nanos::from_millis(100));
        assert_eq!(bench.heard(whole).into_bytes(), bytes(&HELLO.repeat(20)));
        assert_eq!(bench.heard(part).into_bytes(), bytes(&HELLO.repeat(19)));
        assert!(bench.client(whole).is_closed && bench.client(part).is_closed);
        assert!(bench.worker.slots.is_empty());
    }
}

#[test]
fn answers_wait_for_a_slow_reader_and_keep_their_order() {
    let options = Options {
        latency: Nanos::from_millis(1),
        window: 1000,
        ..Options::default()
    };
    let mut bench = Bench::new(1, options, 10);
    let ask = "GET /hello HTTP/1.1⏎Host: a⏎⏎GET /0.html HTTP/1.1⏎Host: a⏎⏎";
    let conn = bench.open(&bytes(&ask.repeat(50)), false);
    bench.pass(Nanos::from_millis(2));
    assert!(bench.worker.holders.sum() > 0);
    // More comes meanwhile, in two pieces that no request ends with.
    let more = bytes(&ask.repeat(5));
    bench.say(conn, &more[..more.len() / 3]);
    bench.say(conn, &more[more.len() / 3..]);
    bench.pass(Nanos::from_millis(2));
    assert_eq!(bench.counts().requests, 100, "the rest waits unread");
    bench.pass(Nanos::from_millis(200));
    let wanted = bytes(&(HELLO.to_owned() + EMPTY).repeat(55));
    assert_eq!(bench.heard(conn).into_bytes(), wanted);
    assert_eq!(
        (bench.worker.holders.sum(), bench.counts().requests),
        (0, 110)
    );
    assert_eq!(bench.counts().bytes_sent, wanted.len() as u64);
}

#[test]
fn a_client_that_asks_and_asks_and_never_reads_is_not_read_from_either_and_cut_in_time() {
    let options = Options {
        latency: Nanos::from_secs(1000),
        window: 1000,
        ..Options::default()
    };
    let mut bench = Bench::new(1, options, 10);
    let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(2000));
    let conn = bench.open(&ask, false);
    bench.pass(Nanos::from_millis(60));
    let (made, held) = (bench.counts().requests, bench.worker.holders.sum());
    assert!(made < 2000 && held < 3 * 64 * 1024, "{made} {held}");
    for _ in 0..10 {
        bench.say(conn, &ask);
        bench.pass(Nanos::from_millis(60));
        assert_eq!(
            (bench.counts().requests, bench.worker.holders.sum()),
            (made, held)
        );
    }
    // A thousand bytes were taken, which is worth a second beyond its patience.
    let limits = Limits::default();
    bench.pass(limits.send.patience.saturating_sub(Nanos::from_secs(2)));
    assert_eq!(bench.counts().cut, 0);
    bench.pass(Nanos::from_secs(2));
    assert_eq!((bench.counts().cut_send, bench.counts().cut), (1, 1));
    assert_eq!(
        (bench.counts().requests, bench.worker.holders.sum()),
        (made, 0)
    );
    assert!(bench.worker.slots.is_empty());
}

#[test]
fn all_that_is_held_back_together_has_a_limit_too() {
    let options = Options {
        latency: Nanos::from_secs(100),
        window: 0,
        ..Options::default()
    };
    let mut bench = Bench::new(1, options, 1000);
    let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(2000));
    for _ in 0..900 {
        bench.open(&ask, false);
    }
    bench.pass(Nanos::from_millis(100));
    assert!(
        bench.worker.holders.sum() <= responses::HELD_LIMIT
            && bench.worker.holders.sum() > responses::HELD_LIMIT / 2
    );
    let left = bench.worker.slots.tokens(|_| true).len() as u64;
    assert!(bench.counts().cut > 0 && left > 100);
    assert_eq!(bench.counts().cut + left, 900);
}

#[test]
fn when_too_much_is_held_back_those_who_read_nothing_go_and_whoever_came_last_stays() {
    let options = Options {
        latency: Nanos::from_secs(100),
        window: 1000,
        ..Options::default()
    };
    let mut bench = Bench::new(1, options, 1000);
    let ask = |times: usize| bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(times));
    // Far more than is allowed, of clients that hold as much as one can; half of them came first.
    let mut half = Instant::ZERO;
    for _ in 0..2 {
        half = bench.worker.ring.now();
        for _ in 0..350 {
            bench.open(&ask(2000), false);
        }
        bench.pass(Nanos::from_millis(100));
    }
    let cut = bench.counts().cut_send;
    assert!(cut > 50, "{cut}");
    let room = responses::HELD_LIMIT - bench.worker.holders.sum();
    // Some that hold less: all of them stay, and for what they hold others go.
    for _ in 0..100 {
        bench.open(&ask(100), false);
    }
    bench.pass(Nanos::from_millis(100));
    let counts = bench.counts();
    assert!(bench.worker.holders.sum() <= responses::HELD_LIMIT);
    assert!(room < 100 * 10_000 && counts.cut_send > cut, "{room} {cut}");
    assert_eq!(counts.cut_send, counts.cut);
    // Of those that hold as much, only those that came first are gone.
    let cut = counts.cut as usize;
    let left = bench.worker.slots.tokens(|slot| slot.watch.since < half);
    assert_eq!(left.len(), 350 - cut);
    let all = bench.worker.slots.tokens(|_| true);
    assert_eq!(all.len(), 800 - cut);
}

#[test]
fn a_refused_client_is_closed_when_it_ends_or_after_a_second() {
    let mut bench = Bench::new(1, calm(), 10);
    let (ends, stays) = (
        bench.open(b"nonsense\r\n\r\n", true),
        bench.open(b"nonsense\r\n\r\n", false),
    );
    bench.pass(Nanos::from_millis(100));
    assert_eq!(
        (standing(bench.client(ends)), standing(bench.client(stays))),
        ("closed", "lingers")
    );
    bench.say(stays, &bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎"));
    bench.pass(Nanos::from_millis(850));
    assert_eq!(standing(bench.client(stays)), "lingers");
    bench.pass(Nanos::from_millis(100));
    assert_eq!(standing(bench.client(stays)), "closed");
    assert_eq!((bench.counts().refused, bench.counts().requests), (2, 0));
    assert!(bench.heard(stays).starts_with("HTTP/1.1 400 "));
    assert!(bench.worker.slots.is_empty());
}

#[test]
fn those_above_the_limit_are_told_so_and_closed_and_those_who_are_here_stay() {
    let mut bench = Bench::with(Limits {
        connections: 2,
        ..Limits::default()
    });
    let ask = bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎");
    let conns = [0; 3].map(|_| bench.open(&ask, false));
    bench.pass(Nanos::from_millis(500));
    let heard = conns.map(|conn| bench.heard(conn).into_bytes());
    assert_eq!(heard[..2], [bytes(HELLO), bytes(HELLO)]);
    let told = String::from_utf8(heard[2].clone()).unwrap();
    assert!(told.starts_with("HTTP/1.1 503 Service Unavailable\r\nDate: "));
    assert!(told.ends_with(
        "\r\nConnection: close\r\n\r\nthere are as many connections as this server takes\n"
    ));
    assert_eq!(standing(bench.client(conns[2])), "lingers");
    bench.pass(Nanos::from_millis(700));
    assert_eq!(standing(bench.client(conns[2])), "closed");
    let now = bench.worker.ring.now();
    bench.worker.ring.world_mut().end(conns[0], now);
    bench.pass(Nanos::from_millis(100));
    let later = bench.open(&ask, false);
    bench.pass(Nanos::from_millis(100));
    assert_eq!(bench.heard(later).into_bytes(), bytes(HELLO));
    let counts = bench.counts();
    assert_eq!(
        (counts.connections, counts.over_limit, counts.requests),
        (4, 1, 3)
    );
    assert_eq!((counts.responses_5xx, counts.refused), (1, 0));
}

#[test]
fn what_has_come_when_it_stops_is_answered_and_the_last_answer_says_so() {
    let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(10));
    let wanted = bytes(&(HELLO.repeat(9) + HELLO_CLOSE));
    let mut bench = Bench::new(5, calm(), 100);
    let there = bench.open(b"", false);
    bench.pass(Nanos::from_millis(1));
    let conns = [(); 20].map(|()| bench.open(&ask, false));
    bench.say(there, &ask);
    let half = bench.open(&ask[..ask.len() - 2], false);
    // They are at the listener, and the worker has not looked yet.
    bench.worker.ring.wait(Some(Nanos::ZERO));
    let start = bench.worker.ring.now();
    bench.worker.drain();
    let limits = Limits::default();
    let took = bench.worker.ring.now() - start;
    assert_eq!(took, limits.drain, "the half request is waited for");
    bench.worker.ring.wait(Some(Nanos::from_millis(1)));
    for conn in conns.into_iter().chain([there]) {
        assert_eq!(bench.heard(conn).into_bytes(), wanted);
        assert!(bench.client(conn).is_closed);
    }
    assert_eq!(bench.heard(half).into_bytes(), bytes(&HELLO.repeat(9)));
    let counts = bench.counts();
    assert_eq!((counts.requests, counts.connections), (219, 22));
    assert_eq!((counts.cut_drain, counts.cut), (1, 1));
}

#[test]
fn however_requests_arrive_while_it_stops_no_answer_is_torn_and_the_last_says_so() {
    let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(10));
    for seed in 0..20 {
        let mut bench = Bench::new(seed, rough(Reads::Random), 100);
        let conns = [(); 20].map(|()| bench.open(&ask, false));
        bench.worker.ring.wait(Some(Nanos::ZERO));
        bench.worker.drain();
        bench.worker.ring.wait(Some(Nanos::from_millis(1)));
        for conn in conns {
            let heard = bench.heard(conn).into_bytes();
            let kept = (0..10).find(|&kept| heard == bytes(&(HELLO.repeat(kept) + HELLO_CLOSE)));
            assert!(kept.is_some(), "seed {seed}: {}", bench.heard(conn));
        }
        assert!(bench.worker.slots.is_empty());
        assert_eq!(bench.counts().cut, 0);
    }
}

#[test]
fn resets_leave_nothing_behind() {
    for seed in 0..30 {
        let mut options = rough(Reads::Random);
        options.faults.resets = 0.2;
        options.faults.send_error = Some((0.05, Errno::EPIPE));
        options.window = 3000;
        let mut bench = Bench::new(seed, options, 20);
        let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(30));
        for round in 0..60 {
            bench.open(&ask, round % 2 == 0);
            bench.pass(Nanos::from_micros(200));
        }
        bench.worker.drain();
        bench.worker.ring.wait(Some(Nanos::from_secs(1)));
        let wanted = bytes(&HELLO.repeat(30));
        let whole = |&&conn: &&u64| bench.client(conn).heard == wanted;
        for conn in &bench.conns {
            // What was answered last while it drained says so.
            let heard = bench.heard(*conn).replace("Connection: close\r\n", "");
            assert!(wanted.starts_with(heard.as_bytes()), "seed {seed}");
        }
        assert!(bench.conns.iter().filter(whole).count() > 0, "seed {seed}");
        assert!(bench.conns.iter().filter(whole).count() < 60, "seed {seed}");
        assert!(
            bench.worker.slots.is_empty() && bench.worker.holders.sum() == 0,
            "seed {seed}"
        );
    }
}

/// A ring on which accepting fails until a moment.
struct Starved {
    ring: Sim<Clients>,
    until: Instant,
    tries: u32,
}

impl Ring for Starved {
    fn now(&self) -> Instant {
        self.ring.now()
    }
    fn connect(&mut self, _: Token, _: &Address, _: &ConnectOptions) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        self.ring.send(token, slices)
    }
    fn shutdown(&mut self, token: Token) {
        self.ring.shutdown(token);
    }
    fn close(&mut self, token: Token, how: Closing) {
        self.ring.close(token, how);
    }
    fn wait(&mut self, timeout: Option<Nanos>) {
        self.ring.wait(timeout);
    }
    fn next(&mut self) -> Option<Completion> {
        self.ring.next()
    }
    fn received(&mut self) -> &mut [u8] {
        self.ring.received()
    }
}

impl ServerRing for Starved {
    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno> {
        self.tries += 1;
        if self.ring.now() < self.until {
            return Err(Errno::EMFILE);
        }
        self.ring.accept(listener, token)
    }
    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno> {
        self.ring.listen(token, at, options)
    }
    fn send_file(&mut self, _: Token, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
        Err(Errno::ENOSYS)
    }
    fn pause(&mut self, token: Token) {
        self.ring.pause(token);
    }
    fn resume(&mut self, token: Token) {
        self.ring.resume(token);
    }
    fn received_at(&self) -> Option<Instant> {
        self.ring.received_at()
    }
}

#[test]
fn without_descriptors_it_neither_spins_nor_starves() {
    let ring = Sim::new(1, Clients::default());
    let until = ring.now() + Nanos::from_millis(995);
    let tries = 0;
    let limits = Limits::default();
    let ring = Starved { ring, until, tries };
    let mut worker = Worker::new(ring, setting(limits, Site::BuiltIn));
    let at = worker.listen(&"0.0.0.0:80".parse().unwrap(), None).unwrap();
    let now = worker.ring.now();
    let conn = worker.ring.ring.world_mut().open(now, &at);
    worker.ring.ring.peer_mut().at(conn).says = bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎");
    while worker.ring.now() < until {
        worker.turn(worker.patience());
    }
    assert_eq!(worker.context.counts.accept_errors, 50, "once in 20 ms");
    assert_eq!(worker.ring.tries, 52, "then one, then none");
    while worker.ring.now() < until + Nanos::from_millis(30) {
        worker.turn(worker.patience());
    }
    assert_eq!(worker.ring.ring.peer().0[&conn].heard, bytes(HELLO));
}

//! Clients that hold a connection by doing next to nothing, in virtual time.

use super::*;
use crate::limits::Pace;

fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

/// Limits that tell the kinds of cuts apart.
fn limits() -> Limits {
    Limits {
        first_request: secs(4),
        head: secs(6),
        body: Pace {
            patience: secs(8),
            speed: 100,
        },
        send: Pace {
            patience: secs(9),
            speed: 1000,
        },
        keepalive: secs(11),
        ..Limits::default()
    }
}

impl Bench {
    /// `bytes` in pieces of `piece`, one each `step`, beginning now.
    fn drip(&mut self, conn: u64, bytes: &[u8], piece: usize, step: Nanos) {
        let mut at = self.worker.ring.now();
        for piece in bytes.chunks(piece) {
            self.worker.ring.world_mut().send(conn, at, piece);
            at += step;
        }
    }

    /// How long it takes until the client hears an end or a close, looked at each tick.
    fn ends_after(&mut self, conn: u64) -> Nanos {
        let start = self.worker.ring.now();
        while standing(self.client(conn)) == "kept" {
            self.worker.turn(self.worker.patience());
            assert!(
                self.worker.ring.now() - start < secs(1000),
                "it is never cut"
            );
        }
        self.worker.ring.now() - start
    }

    /// A client that has connected, and says nothing yet.
    fn connected(&mut self) -> u64 {
        let conn = self.open(b"", false);
        self.pass(Nanos::from_nanos(1));
        conn
    }
}

/// `took` is `wanted`, and at most a tick of the loop more.
#[track_caller]
fn assert_in_time(took: Nanos, wanted: Nanos) {
    let latest = wanted + TICK + Nanos::from_millis(1);
    assert!(wanted <= took && took <= latest, "{took:?}, not {wanted:?}");
}

/// (what is said at first, in pieces of how much, how often; when it is cut; by which count; the status it has heard)
#[test]
fn each_kind_of_holding_a_place_is_cut_in_its_time_and_by_its_name() {
    type Kind = fn(&Counts) -> u64;
    type Says<'a> = (&'a str, usize, Nanos);
    let head = "GET /hello HTTP/1.1⏎Host: a⏎X: ".to_owned() + &"y".repeat(200);
    let begin = "GET /hello HTTP/1.1⏎Host: a⏎Content-Length: 100000⏎⏎";
    let body = begin.to_owned() + &"y".repeat(9000);
    let length = bytes(begin).len();
    let unwanted = "PUT / HTTP/1.1⏎Host: a⏎Content-Length: 100000⏎⏎y";
    let silent: Says<'_> = ("", 1, secs(1));
    let cases: [(Says<'_>, Nanos, Kind, &str); 7] = [
        (silent, secs(4), |it| it.cut_first_request, ""),
        // A byte each second, the first of them at once.
        ((&head, 1, secs(1)), secs(6), |it| it.cut_head, "408"),
        // All of the head at once, and then nothing.
        ((&head, 9999, secs(1)), secs(6), |it| it.cut_head, "408"),
        // The head and nothing; then 50 bytes a second of the body, each of which earns half a second: at 14 it has 6.
        ((&body, length, secs(100)), secs(8), |it| it.cut_body, "408"),
        ((&body, 200, secs(4)), secs(14), |it| it.cut_body, "408"),
        // A body that is thrown away because its request is answered already.
        ((unwanted, 9999, secs(1)), secs(8), |it| it.cut_body, "405"),
        // An answer, and then nothing.
        (
            ("GET /hello HTTP/1.1⏎Host: a⏎⏎", 9999, secs(1)),
            secs(11),
            |it| it.cut_idle,
            "200",
        ),
    ];
    for ((says, piece, step), wanted, kind, status) in cases {
        let mut bench = Bench::with(limits());
        let conn = bench.connected();
        bench.drip(conn, &bytes(says), piece, step);
        let took = bench.ends_after(conn);
        assert_in_time(took, wanted);
        assert_eq!(
            (kind(bench.counts()), bench.counts().cut),
            (1, 1),
            "{says:.20}"
        );
        let heard = bench.heard(conn);
        assert_eq!(heard.get(9..12).unwrap_or_default(), status, "{heard}");
        let is_told = status == "408";
        assert_eq!(bench.counts().refused, u64::from(is_told));
        if is_told {
            assert!(
                heard.ends_with("Connection: close\r\n\r\nthe request took too long\n"),
                "{heard}"
            );
            bench.pass(secs(2));
        }
        assert_eq!(standing(bench.client(conn)), "closed");
        assert!(bench.worker.slots.is_empty());
    }
}

#[test]
fn a_client_that_does_something_in_time_is_never_cut() {
    let mut bench = Bench::with(limits());
    let ask = bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎");
    let (asks, sends) = (bench.connected(), bench.connected());
    // One asks now and then, a byte at a time; the other sends a body just fast enough.
    let length = 34 * 700;
    let head = bytes(&format!(
        "PUT / HTTP/1.1⏎Host: a⏎Content-Length: {length}⏎⏎"
    ));
    bench.say(sends, &head);
    bench.drip(sends, &vec![b'y'; length], 700, secs(7));
    for _ in 0..20 {
        bench.drip(asks, &ask, ask.len() / 5, secs(1));
        bench.pass(secs(12));
    }
    let counts = bench.counts();
    assert_eq!((counts.cut, counts.requests), (0, 21));
    // The client that sent has its response, and has not sent another request since.
    assert_eq!(bench.client(asks).heard.len(), 20 * bytes(HELLO).len());
    assert!(bench.heard(sends).starts_with("HTTP/1.1 405 "));
}

#[test]
fn a_reader_that_is_fast_enough_is_waited_for_and_one_that_is_not_is_reset() {
    // With this window and latency a client takes so many bytes a second.
    for (window, latency, is_cut) in [(2000, secs(1), false), (500, secs(1), true)] {
        let options = Options {
            window,
            latency,
            ..Options::default()
        };
        let ring = Sim::with(1, Clients::default(), options);
        let mut bench = Bench::of(ring, limits(), Site::BuiltIn);
        let ask = bytes(&"GET /hello HTTP/1.1⏎Host: a⏎⏎".repeat(300));
        let conn = bench.open(&ask, false);
        bench.pass(secs(40));
        let whole = bytes(&HELLO.repeat(300));
        assert_eq!(bench.client(conn).heard.len() == whole.len(), !is_cut);
        assert_eq!(bench.counts().cut_send, u64::from(is_cut));
    }
}

#[test]
fn one_address_has_its_share_and_others_have_theirs() {
    let mut bench = Bench::with(Limits {
        connections: 5,
        connections_per_address: 3,
        ..Limits::default()
    });
    let ask = bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎");
    let from = |bench: &mut Bench, address: &str| {
        let ring = &mut bench.worker.ring;
        let now = ring.now();
        let conn = ring
            .world_mut()
            .open_from(now, &bench.at, address.parse().unwrap());
        ring.peer_mut().at(conn).says = ask.clone();
        bench.pass(Nanos::from_millis(1));
        conn
    };
    let mut told = Vec::new();
    let clients = [
        "192.0.2.1:1",
        "192.0.2.1:2",
        "192.0.2.1:3",
        "192.0.2.1:4",
        "192.0.2.2:1",
        "[2001:db8::1]:1",
        "192.0.2.3:1",
    ];
    for client in clients {
        let conn = from(&mut bench, client);
        told.push(bench.heard(conn)[9..12].to_owned());
    }
    assert_eq!(told, ["200", "200", "200", "503", "200", "200", "503"]);
    let counts = bench.counts();
    assert_eq!((counts.over_limit_per_address, counts.over_limit), (1, 1));
    // A client that is turned away holds nothing, and one that leaves makes room.
    let first = bench.conns.first().copied();
    assert_eq!(first, None);
    bench.pass(secs(2));
    assert_eq!(bench.worker.limiter.open(), 5);
    assert_eq!(bench.worker.turned_away, 0);
}

#[test]
fn many_who_are_turned_away_are_told_and_hold_nothing() {
    let mut bench = Bench::with(Limits {
        connections: 10,
        connections_per_address: 0,
        ..Limits::default()
    });
    for _ in 0..500 {
        bench.open(b"", false);
    }
    bench.pass(Nanos::from_millis(50));
    assert!(bench.worker.slots.tokens(|_| true).len() <= 11 + TURNED_AWAY as usize);
    bench.pass(secs(3));
    let counts = *bench.counts();
    assert_eq!((counts.connections, counts.over_limit), (500, 490));
    assert_eq!(
        counts.responses(),
        counts.requests + counts.refused + counts.over_limit
    );
    let is_told = |conn: &&u64| bench.heard(**conn).starts_with("HTTP/1.1 503 ");
    assert_eq!(bench.conns.iter().filter(is_told).count(), 490);
    assert_eq!(bench.worker.slots.tokens(|_| true).len(), 10);
}

#[test]
fn thousands_that_say_nothing_cost_nobody_else_anything_and_go_in_their_time() {
    let mut bench = Bench::with(limits());
    for _ in 0..3000 {
        bench.open(b"", false);
    }
    bench.pass(secs(1));
    let honest = bench.open(&bytes("GET /hello HTTP/1.1⏎Host: a⏎⏎"), false);
    bench.pass(Nanos::from_millis(1));
    assert_eq!(bench.heard(honest).into_bytes(), bytes(HELLO));
    bench.pass(secs(4));
    assert_eq!(bench.counts().cut_first_request, 3000);
    assert_eq!(standing(bench.client(honest)), "kept");
    assert_eq!(bench.worker.slots.tokens(|_| true).len(), 1);
}

#[test]
fn what_is_too_large_or_not_spoken_is_refused_by_its_status_and_head_without_a_body() {
    let long = "y".repeat(20_000);
    let cases = [
        (format!("GET /{long} HTTP/1.1⏎Host: a⏎⏎"), "414"),
        (format!("GET / HTTP/1.1⏎Host: a⏎X: {long}⏎⏎"), "431"),
        (format!("GET / HTTP/1.1⏎Host: a⏎X: {long}"), "431"),
        (
            "PUT / HTTP/1.1⏎Host: a⏎Content-Length: 67108865⏎⏎".into(),
            "413",
        ),
        ("GET / HTTP/1.1⏎Host: a⏎Expect: more⏎⏎".into(), "417"),
        (
            "PUT / HTTP/1.1⏎Host: a⏎Transfer-Encoding: gzip, chunked⏎⏎".into(),
            "501",
        ),
        ("CONNECT a:80 HTTP/1.1⏎Host: a⏎⏎".into(), "501"),
        ("GET / HTTP/3.0⏎Host: a⏎⏎".into(), "505"),
        (
            "PUT / HTTP/1.1⏎Host: a⏎Content-Length: 3⏎Transfer-Encoding: chunked⏎⏎".into(),
            "400",
        ),
        ("GET / HTTP/1.1⏎Host: a⏎Host: a⏎⏎".into(), "400"),
        ("GET / HTTP/1.1⏎Host: a⏎X: 1⏎ 2⏎⏎".into(), "400"),
        ("HEAD / HTTP/1.1⏎⏎".into(), "400"),
    ];
    let mut bench = Bench::with(Limits::default());
    let conns: Vec<u64> = cases
        .iter()
        .map(|(says, _)| bench.open(&bytes(says), false))
        .collect();
    bench.pass(secs(2));
    for ((says, status), conn) in cases.iter().zip(conns) {
        let heard = bench.heard(conn);
        let (head, body) = heard.split_once("\r\n\r\n").expect("it is answered");
        assert_eq!(&head[9..12], *status, "{says:.60}: {heard}");
        assert!(
            head.contains("\r\nDate: ") && head.ends_with("\r\nConnection: close"),
            "{heard}"
        );
        assert_eq!(body.is_empty(), says.starts_with("HEAD"), "{heard}");
        assert_eq!(standing(bench.client(conn)), "closed");
    }
    assert_eq!(bench.counts().refused, cases.len() as u64);
}

//! The same worker with a filter between it and the sockets: clients get what they get without.

use super::*;
use crate::secured::Secured;
use kernel::sim::ConnectAnswer;
use wire::{Filter, Handshake, RECORD, Violation};

/// What both sides turn every byte with.
const TURN: u8 = 0x55;

/// A made-up filter: `hi`, `ok` and `go` are its handshake, then come frames of two bytes of length and turned bytes. One of no length
/// says that nothing more comes.
#[derive(Debug, Default)]
struct Toy {
    partial: Vec<u8>,
    greeted: bool,
    is_ready: bool,
    is_ended: bool,
    sealed: u32,
    /// Frames after which it is spent; none: never.
    lasts: Option<u32>,
}

/// Takes whole frames off `partial` and gives what is in them to `read`; says whether the last was the end.
fn frames(partial: &mut Vec<u8>, mut read: impl FnMut(&mut [u8])) -> bool {
    while let [high, low, rest @ ..] = &mut partial[..] {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length == 0 {
            return true;
        }
        if rest.len() < length {
            return false;
        }
        let payload = &mut rest[..length];
        payload.iter_mut().for_each(|byte| *byte ^= TURN);
        read(payload);
        partial.drain(..length + 2);
    }
    false
}

fn framed(plain: &[u8], out: &mut Vec<u8>) {
    out.extend((plain.len() as u16).to_be_bytes());
    out.extend(plain.iter().map(|byte| byte ^ TURN));
}

impl Filter for Toy {
    type Shared = Option<u32>;

    fn new(lasts: &Option<u32>) -> Toy {
        Toy {
            lasts: *lasts,
            ..Toy::default()
        }
    }

    fn begin(&mut self, _: &mut Vec<u8>) -> Result<(), Violation> {
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn is_amid(&self) -> bool {
        !self.is_ready || !self.partial.is_empty()
    }

    fn handshake(&self) -> Option<Handshake> {
        None
    }

    fn complaint(&self) -> Option<String> {
        None
    }

    fn receive(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.partial.extend_from_slice(input);
        while !self.is_ready && self.partial.len() >= 2 {
            match (&self.partial[..2], self.greeted) {
                (b"hi", false) => out.extend_from_slice(b"ok"),
                (b"go", true) => self.is_ready = true,
                _ => return Err(Violation::BadHandshake),
            }
            self.greeted = true;
            self.partial.drain(..2);
        }
        if self.is_ready {
            self.is_ended |= frames(&mut self.partial, |plain| read(plain).unwrap());
        }
        Ok(())
    }

    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        assert!(self.is_ready && (1..=RECORD).contains(&plain.len()));
        framed(plain, out);
        self.sealed += 1;
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn is_spent(&self) -> bool {
        self.lasts.is_some_and(|lasts| self.sealed >= lasts)
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.extend([0, 0]);
    }

    fn end(&mut self) -> Result<(), Violation> {
        Ok(())
    }
}

/// How a client ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It waits for the server to.
    Waits,
    /// It says so, and leaves the socket open.
    Says,
    /// It says so and ends.
    Both,
}

/// A client of the filter: its handshake, then all that it says.
#[derive(Debug, Clone)]
struct Speaker {
    says: Vec<u8>,
    end: End,
    piece: usize,
    partial: Vec<u8>,
    greeted: bool,
    heard: Vec<u8>,
    was_told: bool,
    is_ended: bool,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Speakers(BTreeMap<u64, Speaker>);

impl Peer for Speakers {
    fn connect(&mut self, _: Instant, _: u64, _: &mut World) -> ConnectAnswer {
        panic!("a server does not connect")
    }

    fn opened(&mut self, at: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        answer.expect("the listener is open");
        world.send(conn, at, *b"hi");
        let speaker = &self.0[&conn];
        if speaker.greeted && speaker.end == End::Both {
            world.end(conn, at); // in the middle of its handshake
        }
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let speaker = self.0.get_mut(&conn).unwrap();
        speaker.partial.extend_from_slice(bytes);
        if !speaker.greeted && speaker.partial.len() >= 2 {
            assert_eq!(speaker.partial.drain(..2).as_slice(), b"ok");
            speaker.greeted = true;
            let mut out = b"go".to_vec();
            for piece in speaker.says.chunks(speaker.piece) {
                framed(piece, &mut out);
            }
            if speaker.end != End::Waits {
                out.extend([0, 0]);
            }
            world.send(conn, at, out);
            if speaker.end == End::Both {
                world.end(conn, at);
            }
        }
        if speaker.greeted {
            let heard = &mut speaker.heard;
            speaker.was_told |= frames(&mut speaker.partial, |plain| heard.extend(&*plain));
        }
    }

    fn ended(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.0.get_mut(&conn).unwrap().is_ended = true;
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.0.get_mut(&conn).unwrap().is_closed = true;
    }
}

type Ours = Worker<Secured<Sim<Speakers>, Toy>>;

/// A worker with these clients, after so long.
fn served(
    seed: u64,
    options: Options,
    limits: Limits,
    clients: Vec<Speaker>,
) -> (Ours, Vec<Speaker>) {
    served_by(None, seed, options, limits, clients)
}

/// The same, with filters that last for so many frames.
fn served_by(
    lasts: Option<u32>,
    seed: u64,
    options: Options,
    limits: Limits,
    clients: Vec<Speaker>,
) -> (Ours, Vec<Speaker>) {
    let ring = Sim::with(seed, Speakers::default(), options);
    let ring = Secured::new(ring, lasts);
    let mut worker = Worker::new(ring, setting(limits, Site::BuiltIn));
    let at = worker.listen(&"0.0.0.0:80".parse().unwrap(), None).unwrap();
    let mut conns = Vec::new();
    for client in clients {
        let sim = worker.ring.socket_ring();
        let now = sim.now();
        let conn = sim.world_mut().open(now, &at);
        sim.peer_mut().0.insert(conn, client);
        conns.push(conn);
    }
    let end = worker.ring.now() + Nanos::from_secs(20);
    while worker.ring.now() < end {
        worker.turn(worker.patience());
    }
    let speakers = &worker.ring.socket_ring().peer().0;
    let speakers = conns.iter().map(|conn| speakers[conn].clone()).collect();
    (worker, speakers)
}

fn speaker(says: &[u8], end: End, piece: usize) -> Speaker {
    Speaker {
        says: says.to_vec(),
        end,
        piece,
        partial: Vec::new(),
        greeted: false,
        heard: Vec::new(),
        was_told: false,
        is_ended: false,
        is_closed: false,
    }
}

fn limits() -> Limits {
    Limits {
        connections: 100,
        connections_per_address: 0,
        ..Limits::default()
    }
}

/// What a client without the filter gets on a calm network.
fn plainly(says: &[u8], ends: bool) -> Vec<u8> {
    let mut bench = Bench::with(limits());
    let conn = bench.open(says, ends);
    bench.pass(Nanos::from_secs(20));
    bench.client(conn).heard.clone()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
}

#[test]
fn clients_get_what_they_get_without_however_bytes_are_cut() {
    let asks = [
        get("/hello"),
        get("/hello").repeat(40),
        [get("/bytes/200000"), get("/nop.gif")].concat(),
        [get("/bytes/3000000"), get("/bytes/70000"), get("/hello")].concat(),
        b"GET /hello HTTP/1.0\r\n\r\n".to_vec(),
        b"POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
        b"rubbish\r\n\r\n".to_vec(),
    ];
    for seed in 0..60 {
        let faults = Faults {
            short_writes: [0.0, 0.4, 0.9][seed as usize % 3],
            reads: [Reads::Whole, Reads::Random, Reads::OneByte][seed as usize / 3 % 3],
            reorder: seed % 2 == 0,
            ..Faults::default()
        };
        let options = Options {
            faults,
            latency: Nanos::from_micros(seed * 10),
            window: [1000, 100_000, 1 << 20][seed as usize / 2 % 3],
            ..Options::default()
        };
        let piece = [1, 17, 5000][seed as usize % 3];
        let end = [End::Waits, End::Says, End::Both][seed as usize / 4 % 3];
        let clients = asks.iter().map(|says| speaker(says, end, piece)).collect();
        let (worker, clients) = served(seed, options.clone(), limits(), clients);
        for client in &clients {
            let wanted = plainly(&client.says, end != End::Waits);
            assert_eq!(client.heard.len(), wanted.len(), "{seed}");
            assert!(client.heard == wanted, "{seed}");
            // One that was served to the end is told that this was all, if there is room for that at the last moment.
            let has_room = options.faults.short_writes == 0.0;
            assert!(!client.is_closed || client.was_told || !has_room, "{seed}");
        }
        let is_over = |client: &&Speaker| client.is_closed;
        let over = clients.iter().filter(is_over).count();
        assert!(
            over >= if end == End::Waits { 2 } else { 7 },
            "{seed} {over}"
        );
        assert_eq!(worker.context.counts.connections, 7);
        assert_eq!(worker.context.counts.cut, 0);
    }
}

#[test]
fn a_connection_whose_filter_is_soon_used_up_ends_in_good_order() {
    const LASTS: u32 = 10;
    let faults = Faults {
        reads: Reads::OneByte,
        ..Faults::default()
    };
    let options = Options {
        faults,
        ..Options::default()
    };
    let lasts = LASTS as usize;
    let post = b"POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    // A request, how often it is sent, and the responses.
    let cases = [
        (get("/hello"), 40, lasts + 1),
        (post.to_vec(), 40, lasts + 1),
        // Of a large body a frame is 16 KiB: what has begun is sent to its end.
        (get("/bytes/1000000"), 40, 2),
        (get("/hello"), lasts, lasts),
    ];
    for (request, times, responses) in cases {
        // A request a frame, so that each is read by itself and its response is a frame too.
        let client = speaker(&request.repeat(times), End::Waits, request.len());
        let clients = vec![client];
        let (worker, clients) = served_by(Some(LASTS), 1, options.clone(), limits(), clients);
        let heard = String::from_utf8_lossy(&clients[0].heard);
        assert_eq!(heard.matches("HTTP/1.1 ").count(), responses);
        let is_spent = responses != LASTS as usize;
        let last = heard.rfind("HTTP/1.1 ").unwrap();
        assert_eq!(heard[last..].contains("Connection: close"), is_spent);
        assert!(!heard[..last].contains("Connection: close"));
        assert!(!worker.context.is_ending, "others go on");
        let client = &clients[0];
        assert_eq!([client.was_told, client.is_closed], [is_spent; 2]);
        assert_eq!(worker.context.counts.cut, 0);
        assert_eq!(worker.context.counts.handshakes_failed, 0);
        assert_eq!(worker.context.counts.requests, responses as u64);
    }
}

#[test]
fn a_handshake_that_stalls_is_cut_off_by_the_first_requests_limit() {
    for says in [&b""[..], b"h"] {
        let mut silent = speaker(b"", End::Waits, 1);
        silent.greeted = true; // it says nothing after `hi`
        silent.says = says.to_vec();
        let limits = Limits {
            first_request: Nanos::from_secs(3),
            ..limits()
        };
        let (worker, clients) = served(1, Options::default(), limits, vec![silent]);
        assert!(clients[0].is_closed);
        assert_eq!(worker.context.counts.cut_first_request, 1);
        assert_eq!(worker.context.counts.handshakes_failed, 1);
    }
}

#[test]
fn a_client_over_the_limit_is_told_why_after_its_handshake() {
    let limits = Limits {
        connections: 1,
        ..limits()
    };
    let clients = vec![
        speaker(&get("/hello"), End::Waits, 100),
        speaker(&get("/hello"), End::Waits, 100),
    ];
    let (_, clients) = served(1, Options::default(), limits, clients);
    let first = |client: &Speaker| String::from_utf8_lossy(&client.heard)[..12].to_owned();
    assert_eq!(first(&clients[0]), "HTTP/1.1 200");
    assert_eq!(first(&clients[1]), "HTTP/1.1 503");
    assert!(clients[1].was_told);
}

#[test]
fn a_client_over_the_limit_that_ends_within_its_handshake_is_gone_at_once() {
    let limits = Limits {
        connections: 1,
        ..limits()
    };
    let mut leaves = speaker(b"", End::Both, 1);
    leaves.greeted = true; // it says nothing after `hi`
    let clients = vec![speaker(&get("/hello"), End::Waits, 100), leaves];
    let (worker, clients) = served(1, Options::default(), limits, clients);
    assert_eq!([clients[0].is_closed, clients[1].is_closed], [false, true]);
    assert_eq!(worker.context.counts.cut, 0);
}

#[test]
fn a_handshake_that_is_under_way_when_the_server_stops_may_be_finished() {
    let options = Options {
        latency: Nanos::from_millis(300),
        ..Options::default()
    };
    let ring = Sim::with(1, Speakers::default(), options);
    let mut worker: Ours = Worker::new(Secured::new(ring, None), setting(limits(), Site::BuiltIn));
    let at = worker.listen(&"0.0.0.0:80".parse().unwrap(), None).unwrap();
    let sim = worker.ring.socket_ring();
    let now = sim.now();
    let conn = sim.world_mut().open(now, &at);
    let client = speaker(&get("/hello"), End::Waits, 100);
    sim.peer_mut().0.insert(conn, client);
    worker.turn(Nanos::ZERO);
    worker.drain();
    let heard = &worker.ring.socket_ring().peer().0[&conn].heard;
    let heard = String::from_utf8_lossy(heard);
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    assert!(heard.contains("Connection: close"), "{heard}");
}

#[test]
fn a_slow_reader_is_served_although_a_batch_takes_it_longer_than_the_patience() {
    // A window of 2000 bytes that empties each second: 16 s for the body, 3 s of patience.
    let options = Options {
        latency: Nanos::from_secs(1),
        window: 4000,
        ..Options::default()
    };
    let limits = Limits {
        send: crate::limits::Pace {
            patience: Nanos::from_secs(3),
            speed: 1000,
        },
        ..limits()
    };
    let clients = vec![speaker(&get("/bytes/50000"), End::Waits, 100)];
    let (worker, clients) = served(1, options, limits, clients);
    assert_eq!(worker.context.counts.cut, 0);
    assert!(
        clients[0].heard.len() > 50_000,
        "{}",
        clients[0].heard.len()
    );
}

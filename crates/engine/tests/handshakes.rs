//! A filter with a handshake of two round trips between socket and protocol, through the thread loop as it is.
//!
//! The client says `A`, the server `b`, the client `C`, the server `d`; then come records: `D` or `X` (nothing more comes), the length in
//! two bytes, and the bytes with every bit turned.

use engine::{Barrier, Job, Thread, assemble};
use kernel::sim::{ConnectAnswer, Faults, Options, Peer, Reads, Sim, World};
use plan::{Connect, Load, Plan, Stop};
use record::{Blame, Fault, Kind, Round, Step};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};
use wire::{Filter, Filtered, Handshake, Usual, Violation};

const MS: Nanos = Nanos::from_millis(1);

fn record(kind: u8, plain: &[u8]) -> Vec<u8> {
    let length = (plain.len() as u16).to_be_bytes();
    let turned: Vec<u8> = plain.iter().map(|byte| !byte).collect();
    [&[kind], &length[..], &turned].concat()
}

/// The first whole record of `input`, taken out of it.
fn next_record(input: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let length = usize::from(u16::from_be_bytes([*input.get(1)?, *input.get(2)?]));
    (input.len() >= 3 + length).then_some(())?;
    let record: Vec<u8> = input.drain(..3 + length).collect();
    Some((record[0], record[3..].iter().map(|byte| !byte).collect()))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    First,
    Second,
    Ready,
    Ended,
}

#[derive(Debug)]
struct Turned {
    stage: Stage,
    input: Vec<u8>,
}

impl Filter for Turned {
    type Shared = ();

    fn new((): &()) -> Self {
        Turned {
            stage: Stage::First,
            input: Vec::new(),
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), Violation> {
        *self = Turned::new(&());
        out.push(b'A');
        Ok(())
    }

    fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Ended)
    }

    fn is_amid(&self) -> bool {
        !self.is_ready()
    }

    fn handshake(&self) -> Option<Handshake> {
        self.is_ready().then_some(Handshake {
            version: "1",
            cipher: "turned",
            key_exchange: None,
            is_resumed: false,
        })
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
        self.input.extend_from_slice(input);
        while !self.is_ready() && !self.input.is_empty() {
            self.stage = match (self.stage, self.input.remove(0)) {
                (Stage::First, b'b') => {
                    out.push(b'C');
                    Stage::Second
                }
                (Stage::Second, b'd') => Stage::Ready,
                (_, b'n') => return Err(Violation::Alert),
                _ => return Err(Violation::NoHandshake),
            };
        }
        while self.is_ready()
            && let Some((kind, mut plain)) = next_record(&mut self.input)
        {
            match kind {
                b'D' => read(&mut plain)?,
                b'X' => self.stage = Stage::Ended,
                _ => return Err(Violation::BadRecord),
            }
        }
        Ok(())
    }

    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        out.extend_from_slice(&record(b'D', plain));
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    fn is_spent(&self) -> bool {
        false
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&record(b'X', b""));
    }

    fn end(&mut self) -> Result<(), Violation> {
        match self.stage {
            Stage::Ended => Ok(()),
            Stage::Ready => Err(Violation::CutOff),
            Stage::First | Stage::Second => Err(Violation::ClosedInHandshake),
        }
    }
}

/// What the server does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Act {
    #[default]
    Right,
    /// Says no to the second message.
    Refuses,
    /// Says nothing to the second message.
    Stalls,
    /// Closes after the second message.
    Closes,
    /// Resets after the second message.
    Resets,
    /// Speaks no such handshake.
    Plain,
    /// The response ends with the connection, with a word that it does or without.
    UntilClose { says_so: bool },
    /// The response ends with the word that nothing more comes, and the connection stays open until the client ends it.
    Waits,
    /// The second response on a connection cannot be opened.
    Breaks,
}

#[derive(Debug, Default)]
struct Link {
    stage: u32,
    input: Vec<u8>,
    plain: Vec<u8>,
    requests: u64,
}

#[derive(Debug, Default)]
struct Server {
    act: Act,
    links: HashMap<u64, Link>,
    accepted: u64,
    requests: u64,
    /// Connections that were ended with a word.
    goodbyes: u64,
}

#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Server>>);

impl Server {
    fn shake_hands(&mut self, at: Instant, conn: u64, link: &mut Link, world: &mut World) {
        let at = at + MS;
        match (link.input.remove(0), link.stage) {
            (b'A', 0) if self.act == Act::Plain => world.send(conn, at, "HTTP/1.1 400 Bad\r\n"),
            (b'A', 0) => world.send(conn, at, "b"),
            (b'C', 1) => match self.act {
                Act::Refuses => world.send(conn, at, "n"),
                Act::Closes => world.end(conn, at),
                Act::Resets => world.reset(conn, at),
                Act::Stalls => {}
                _ => world.send(conn, at, "d"),
            },
            (other, stage) => panic!("{other} in stage {stage}"),
        }
        link.stage += 1;
    }

    fn respond(&mut self, at: Instant, conn: u64, link: &mut Link, world: &mut World) {
        let at = at + MS;
        link.requests += 1;
        self.requests += 1;
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        match self.act {
            Act::UntilClose { says_so } => {
                let response = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
                world.send(conn, at, record(b'D', response));
                if says_so {
                    world.send(conn, at, record(b'X', b""));
                }
                world.end(conn, at);
            }
            Act::Waits => {
                let response = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
                world.send(conn, at, record(b'D', response));
                world.send(conn, at, record(b'X', b""));
            }
            Act::Breaks if link.requests == 2 => {
                world.send(conn, at, record(b'D', &response[..20]));
                world.send(conn, at, record(b'?', &response[20..]));
            }
            // In pieces, as a server may.
            _ => {
                for piece in response.chunks(7) {
                    world.send(conn, at, record(b'D', piece));
                }
            }
        }
    }
}

impl Peer for Shared {
    fn connect(&mut self, _: Instant, conn: u64, _: &mut World) -> ConnectAnswer {
        let mut server = self.0.lock().unwrap();
        server.accepted += 1;
        server.links.insert(conn, Link::default());
        ConnectAnswer::Accept(MS * 5)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let mut server = self.0.lock().unwrap();
        let Some(mut link) = server.links.remove(&conn) else {
            return;
        };
        link.input.extend_from_slice(bytes);
        while link.stage < 2 && !link.input.is_empty() {
            server.shake_hands(at, conn, &mut link, world);
        }
        while link.stage == 2
            && let Some((kind, plain)) = next_record(&mut link.input)
        {
            server.goodbyes += u64::from(kind == b'X');
            link.plain.extend_from_slice(&plain);
            while let Some(end) = link.plain.windows(4).position(|it| it == b"\r\n\r\n") {
                link.plain.drain(..end + 4);
                server.respond(at, conn, &mut link, world);
            }
        }
        server.links.insert(conn, link);
    }
}

fn plan(requests: u64) -> Plan {
    let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
    plan.rounds = 1;
    plan.load = Load::Closed { connections: 4 };
    plan.stop = Stop::Requests(requests);
    plan.connect = Connect::Lazy;
    plan.timeouts.exchange = MS * 200;
    plan.timeouts.connect = MS * 100;
    plan
}

fn round(plan: &Plan, act: Act, options: Options) -> (Round, Server) {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let shared = Shared(Arc::new(Mutex::new(Server {
        act,
        ..Server::default()
    })));
    let sim = Sim::with(1, shared.clone(), options);
    let kind = (Default::default(), ());
    let thread = Thread::<_, Filtered<Usual<'_>, Turned>>::over(kind, sim, &job, &barrier, 0, 0);
    let round = assemble(0, vec![thread.run()]);
    assert!(round.tally.conserved());
    let server = std::mem::take(&mut *shared.0.lock().unwrap());
    (round, server)
}

#[test]
fn a_handshake_comes_before_the_first_request_and_has_a_time_of_its_own() {
    let (round, server) = round(&plan(100), Act::Right, Options::default());
    let tally = &round.tally;
    assert_eq!((tally.ok, tally.errors(), server.requests), (100, 0, 100));
    let connects = &tally.connects;
    assert_eq!((connects.established, server.accepted), (4, 4));
    let range = |times: &stats::Histogram| (times.count(), times.min(), times.max());
    let exactly = |times: u64| (4, Some(times * 1_000_000), Some(times * 1_000_000));
    assert_eq!(range(&connects.time), exactly(5), "the connect alone");
    let handshakes = connects.handshakes.as_ref().unwrap();
    assert_eq!(range(&handshakes.full), exactly(2), "two round trips");
    assert_eq!(handshakes.resumed.count(), 0);
    assert_eq!(
        (handshakes.agreed.len(), handshakes.agreed[0].count),
        (1, 4)
    );
    // What a request takes begins when it is sent, and not when its connection is opened.
    assert_eq!(tally.service.max(), Some(1_000_000));
}

#[test]
fn short_sends_and_single_bytes_change_nothing() {
    let whole = round(&plan(100), Act::Right, Options::default()).0;
    let options = Options {
        faults: Faults {
            reads: Reads::OneByte,
            ..Faults::default()
        },
        window: 5,
        ..Options::default()
    };
    let (pieces, server) = round(&plan(100), Act::Right, options);
    assert_eq!((pieces.tally.ok, server.requests), (100, 100));
    assert_eq!(pieces.tally.bytes_received, whole.tally.bytes_received);
    assert_eq!(pieces.tally.bytes_sent, whole.tally.bytes_sent);
}

#[test]
fn connections_are_closed_with_a_word() {
    let mut plan = plan(20);
    plan.protocol.keepalive = false;
    let (round, server) = round(&plan, Act::Right, Options::default());
    assert_eq!((round.tally.ok, round.tally.connects.established), (20, 20));
    // The last ones' words are not waited for.
    assert!((16..=20).contains(&server.goodbyes), "{}", server.goodbyes);
}

/// Every handshake fails in this way, and each takes one request along.
fn fails(act: Act, kind: Kind, blame: Blame) {
    let (round, server) = round(&plan(10), act, Options::default());
    let tally = &round.tally;
    assert_eq!((tally.ok, tally.errors(), server.requests), (0, 10, 0));
    let fault = Fault {
        kind,
        step: Step::Handshake,
        blame,
    };
    let failed = tally.connects.failed.sorted();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].fault, fault);
    assert_eq!(tally.connects.established, 0);
    assert_eq!(tally.faults.count(|each| each == fault), failed[0].count);
    assert_eq!(server.accepted, failed[0].count);
}

#[test]
fn a_handshake_that_fails_is_a_fault_of_its_step() {
    fails(Act::Refuses, Kind::Alert, Blame::Server);
    fails(Act::Closes, Kind::ClosedInHandshake, Blame::Server);
    fails(Act::Resets, Kind::Reset, Blame::Server);
    fails(Act::Plain, Kind::NoHandshake, Blame::Server);
}

#[test]
fn a_handshake_that_stalls_is_given_up() {
    let (round, server) = round(&plan(10), Act::Stalls, Options::default());
    let tally = &round.tally;
    assert_eq!((tally.ok, tally.errors(), server.requests), (0, 10, 0));
    let is_stalled = |fault: Fault| {
        (fault.kind, fault.step) == (Kind::HandshakeTimeout, Step::Handshake)
            && fault.blame == Blame::Network
    };
    let stalled = tally.faults.count(is_stalled);
    assert!(stalled >= 4, "{:?}", tally.faults);
    assert_eq!(
        tally.connects.failed.count(is_stalled),
        tally.connects.failed.total()
    );
}

#[test]
fn a_request_that_waits_for_a_handshake_at_the_end_was_never_sent_in_that_step() {
    let mut plan = plan(1);
    plan.stop = Stop::Duration(MS * 50);
    plan.timeouts.exchange = MS * 100;
    plan.timeouts.connect = MS * 1000;
    let (round, _) = round(&plan, Act::Stalls, Options::default());
    let tally = &round.tally;
    let waits = |fault: Fault| (fault.kind, fault.step) == (Kind::NeverSent, Step::Handshake);
    assert_eq!((tally.ok, tally.errors()), (0, 4), "{:?}", tally.faults);
    assert_eq!(tally.faults.count(waits), 4, "{:?}", tally.faults);
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_only_where_that_was_said() {
    let (said, _) = round(
        &plan(10),
        Act::UntilClose { says_so: true },
        Options::default(),
    );
    assert_eq!((said.tally.ok, said.tally.errors()), (10, 0));
    let (waits, _) = round(&plan(10), Act::Waits, Options::default());
    assert_eq!((waits.tally.ok, waits.tally.errors()), (10, 0));
    let (unsaid, _) = round(
        &plan(10),
        Act::UntilClose { says_so: false },
        Options::default(),
    );
    assert_eq!(unsaid.tally.ok, 0);
    let cut = |fault: Fault| (fault.kind, fault.step) == (Kind::CutOff, Step::Body);
    assert_eq!(unsaid.tally.faults.count(cut), 10);
}

#[test]
fn a_record_that_cannot_be_opened_ends_the_exchange_and_the_connection() {
    let (round, server) = round(&plan(20), Act::Breaks, Options::default());
    let broken = round
        .tally
        .faults
        .count(|fault| fault.kind == Kind::BadRecord);
    assert_eq!(round.tally.ok + broken, 20);
    assert!(
        broken >= 8,
        "all but the last connections are broken: {broken}"
    );
    assert_eq!(server.accepted, round.tally.ok, "one is right on each");
}

#[test]
fn requests_that_were_sealed_and_then_withdrawn_are_accounted_for() {
    for window in [5, 60, 1 << 16] {
        let mut plan = plan(40);
        plan.protocol.pipeline = 4;
        let options = Options {
            window,
            ..Options::default()
        };
        let (round, server) = round(&plan, Act::UntilClose { says_so: true }, options);
        let tally = &round.tally;
        assert_eq!(tally.ok + tally.errors(), 40, "{window}");
        assert!(tally.ok >= server.accepted.min(10), "one a connection");
    }
}

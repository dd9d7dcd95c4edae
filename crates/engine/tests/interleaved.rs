//! A protocol that interleaves exchanges on a connection, through the thread loop as it is.
//!
//! A frame is the number of its stream, what it is, the length of its payload in two bytes, and the payload.

use engine::{Barrier, Job, Thread, assemble};
use kernel::sim::{ConnectAnswer, Options, Peer, Sim, World};
use plan::{Connect, Load, Plan, Stop};
use record::{Kind, Round};
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};
use wire::{
    Connection, Dialect, Encoded, Ending, ExchangeId, Head, Method, Opening, Request, Scope, Sink,
    Step, Violation,
};

const MS: Nanos = Nanos::from_millis(1);

const REQUEST: u8 = 0;
const HEAD: u8 = 1;
const BODY: u8 = 2;
const END: u8 = 3;
const RESET: u8 = 4;
const PING: u8 = 5;
const PONG: u8 = 6;

fn frame(stream: u8, kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[stream, kind], &length[..], payload].concat()
}

/// The first whole frame of `input`, taken out of it.
fn next_frame(input: &mut Vec<u8>) -> Option<(u8, u8, Vec<u8>)> {
    let length = usize::from(u16::from_be_bytes([*input.get(2)?, *input.get(3)?]));
    (input.len() >= 4 + length).then_some(())?;
    let frame: Vec<u8> = input.drain(..4 + length).collect();
    Some((frame[0], frame[1], frame[4..].to_vec()))
}

/// A stream that is open.
#[derive(Debug)]
struct Stream {
    number: u8,
    id: ExchangeId,
    step: Step,
    bytes: u64,
    /// Its request in all that was ever queued: from, to.
    place: (u64, u64),
}

/// The client's side.
#[derive(Debug, Default)]
struct Interleaved {
    most: u32,
    next: u8,
    streams: Vec<Stream>,
    queued: Vec<u8>,
    /// Bytes that the socket has taken, in all.
    taken: u64,
    /// Where requests begin, in all that was ever queued.
    begins: VecDeque<(u64, ExchangeId)>,
    input: Vec<u8>,
    is_dead: bool,
}

impl Interleaved {
    fn queue(&mut self, frame: &[u8]) -> (u64, u64) {
        let from = self.taken + self.queued.len() as u64;
        self.queued.extend_from_slice(frame);
        (from, from + frame.len() as u64)
    }

    fn ending(&self, stream: &Stream, result: Result<(), Violation>) -> Ending {
        let (from, to) = stream.place;
        Ending {
            result,
            bytes: stream.bytes,
            sent: self.taken.clamp(from, to) - from,
            step: stream.step,
        }
    }

    fn close(&mut self, place: usize, result: Result<(), Violation>, sink: &mut impl Sink) {
        let stream = self.streams.remove(place);
        let ending = self.ending(&stream, result);
        sink.done(stream.id, ending);
    }

    fn take(&mut self, (number, kind, payload): (u8, u8, Vec<u8>), sink: &mut impl Sink) {
        if kind == PING {
            let pong = frame(0, PONG, &payload);
            self.queue(&pong);
            return;
        }
        // What comes for a stream that was given up is swallowed.
        let Some(place) = self.streams.iter().position(|it| it.number == number) else {
            return;
        };
        let stream = &mut self.streams[place];
        let id = stream.id;
        stream.bytes += 4 + payload.len() as u64;
        match kind {
            HEAD => {
                stream.step = Step::Body;
                sink.first(id);
                let head = Head {
                    status: 200,
                    raw: &payload,
                    keepalive: true,
                };
                sink.head(id, &head);
            }
            BODY => sink.body(id, &payload),
            _ => self.close(place, Ok(()), sink),
        }
    }
}

impl<'p> Connection<'p> for Interleaved {
    type Shared = ();

    fn sharing(most: u32, (): &()) -> Self {
        Interleaved {
            most,
            ..Interleaved::default()
        }
    }

    fn reset(&mut self) {
        assert!(self.streams.is_empty());
        *self = Interleaved::sharing(self.most, &());
    }

    fn capacity(&self) -> u32 {
        if self.is_dead {
            return 0;
        }
        self.most - self.streams.len() as u32
    }

    fn head_of<'e>(&self, encoded: &'e Encoded) -> &'e [u8] {
        encoded.bytes()
    }

    fn encode(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        Dialect::default().encode(request, out);
    }

    fn open(&mut self, id: ExchangeId, opening: Opening<'p>) {
        assert!(self.capacity() > 0);
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let place = self.queue(&frame(number, REQUEST, opening.head.bytes()));
        self.begins.push_back((place.0, id));
        self.streams.push(Stream {
            number,
            id,
            step: Step::Wait,
            bytes: 0,
            place,
        });
    }

    fn takes_one(&self) -> bool {
        false
    }

    fn open_sent(&mut self, _: ExchangeId, _: u64, _: Method) {
        unreachable!("nothing is sent unframed")
    }

    fn outgoing<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        slices[0] = IoSlice::new(&self.queued);
        1
    }

    fn sent(&mut self, bytes: usize, mut begun: impl FnMut(ExchangeId)) {
        self.queued.drain(..bytes);
        self.taken += bytes as u64;
        while let Some(&(from, id)) = self.begins.front()
            && from < self.taken
        {
            self.begins.pop_front();
            if self.streams.iter().any(|it| it.id == id) {
                begun(id);
            }
        }
    }

    fn take_unanswered(&mut self, _: usize) -> VecDeque<Opening<'p>> {
        VecDeque::new()
    }

    fn has_outgoing(&self) -> bool {
        !self.queued.is_empty()
    }

    fn closing(&self) -> bool {
        self.is_dead
    }

    fn in_flight(&self) -> u32 {
        self.streams.len() as u32
    }

    fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    fn has_several(&self) -> bool {
        self.streams.len() > 1
    }

    fn in_turn(&self) -> impl Iterator<Item = ExchangeId> {
        self.streams.iter().map(|stream| stream.id)
    }

    fn next_to_begin(&self) -> Option<ExchangeId> {
        self.begins.front().map(|(_, id)| *id)
    }

    fn spare(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn receive(&mut self, input: &mut [u8], sink: &mut impl Sink) -> Result<(), Violation> {
        self.input.extend_from_slice(input);
        while let Some(frame) = next_frame(&mut self.input) {
            self.take(frame, sink);
        }
        Ok(())
    }

    fn end(&mut self, sink: &mut impl Sink) -> Result<(), Violation> {
        self.abandon(sink, Violation::ClosedInBody);
        Ok(())
    }

    fn abandon(&mut self, sink: &mut impl Sink, reason: Violation) {
        self.is_dead = true;
        while !self.streams.is_empty() {
            self.close(0, Err(reason), sink);
        }
    }

    fn cancel(&mut self, id: ExchangeId, sink: &mut impl Sink) -> Scope {
        if let Some(place) = self.streams.iter().position(|it| it.id == id) {
            let number = self.streams[place].number;
            self.close(place, Err(Violation::Abandoned), sink);
            self.queue(&frame(number, RESET, &[]));
        }
        Scope::Exchange
    }
}

/// The server's side: every other request takes long, some get no response, and some only after a pong.
#[derive(Debug, Default)]
struct Server {
    inputs: HashMap<u64, Vec<u8>>,
    requests: u64,
    resets: u64,
    pongs: u64,
    /// Requests of this number get no response.
    silent_every: Option<u64>,
    /// Whether a response waits for the answer to a ping.
    pings: bool,
}

#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Server>>);

/// Added to a stream's number in the tag of the timer for all that follows its head.
const REST: u64 = 256;

impl Server {
    fn respond(at: Instant, conn: u64, stream: u8, took: Nanos, world: &mut World) {
        // Bytes sent later never overtake, so that each is sent when it is due.
        world.timer(conn, at + took / 2, u64::from(stream));
        world.timer(conn, at + took, u64::from(stream) + REST);
    }

    fn take(
        &mut self,
        at: Instant,
        conn: u64,
        (stream, kind, payload): (u8, u8, Vec<u8>),
        world: &mut World,
    ) {
        match kind {
            PONG => {
                self.pongs += 1;
                Server::respond(at, conn, payload[0], MS, world);
            }
            RESET => self.resets += 1,
            _ => {
                assert_eq!(kind, REQUEST);
                let number = self.requests;
                self.requests += 1;
                if self
                    .silent_every
                    .is_some_and(|every| number.is_multiple_of(every))
                {
                    return;
                }
                match self.pings {
                    true => world.send(conn, at + MS, frame(0, PING, &[stream])),
                    false => {
                        let took = if number.is_multiple_of(2) {
                            MS * 10
                        } else {
                            MS
                        };
                        Server::respond(at, conn, stream, took, world);
                    }
                }
            }
        }
    }
}

impl Peer for Shared {
    fn connect(&mut self, _: Instant, conn: u64, _: &mut World) -> ConnectAnswer {
        self.0.lock().unwrap().inputs.insert(conn, Vec::new());
        ConnectAnswer::Accept(Nanos::from_micros(50))
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let mut server = self.0.lock().unwrap();
        let mut input = server.inputs.remove(&conn).unwrap_or_default();
        input.extend_from_slice(bytes);
        while let Some(frame) = next_frame(&mut input) {
            server.take(at, conn, frame, world);
        }
        server.inputs.insert(conn, input);
    }

    fn timer(&mut self, at: Instant, conn: u64, tag: u64, world: &mut World) {
        let stream = (tag % REST) as u8;
        let rest = || [frame(stream, BODY, b"hello"), frame(stream, END, &[])].concat();
        let bytes = match tag < REST {
            true => frame(stream, HEAD, b"fine"),
            false => rest(),
        };
        world.send(conn, at, bytes);
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.0.lock().unwrap().inputs.remove(&conn);
    }
}

/// A round over one connection with two exchanges at a time; and what the server saw.
fn round(requests: u64, server: Server) -> (Round, Server) {
    let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
    plan.rounds = 1;
    plan.load = Load::Closed { connections: 1 };
    plan.stop = Stop::Requests(requests);
    plan.connect = Connect::Eager;
    plan.protocol.pipeline = 2;
    plan.timeouts.exchange = MS * 100;
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let shared = Shared(Arc::new(Mutex::new(server)));
    let sim = Sim::with(1, shared.clone(), Options::default());
    let result = Thread::<_, Interleaved>::over((), sim, &job, &barrier, 0, 0).run();
    let seen = std::mem::take(&mut *shared.0.lock().unwrap());
    (assemble(0, vec![result]), seen)
}

#[test]
fn a_short_exchange_does_not_wait_for_a_long_one_before_it() {
    let (round, seen) = round(100, Server::default());
    let tally = &round.tally;
    assert!(tally.conserved());
    assert_eq!((tally.ok, tally.errors(), seen.requests), (100, 0, 100));
    let short = tally.service.count_at_or_below((MS * 2).as_nanos());
    assert!(short >= 45, "{short} of them");
    assert_eq!(tally.connects.established, 1);
}

#[test]
fn a_timeout_ends_its_exchange_and_the_others_go_on() {
    let silent = Server {
        silent_every: Some(10),
        ..Server::default()
    };
    let (round, seen) = round(100, silent);
    let tally = &round.tally;
    assert!(tally.conserved());
    let timeouts = tally.faults.count(|fault| fault.kind == Kind::Timeout);
    assert_eq!((tally.ok, timeouts, seen.resets), (90, 10, 10));
    assert_eq!(tally.connects.established, 1, "the connection stays");
}

#[test]
fn what_a_connection_owes_is_sent_although_no_exchange_has_ended() {
    let pings = Server {
        pings: true,
        ..Server::default()
    };
    let (round, seen) = round(20, pings);
    assert_eq!((round.tally.ok, round.tally.errors()), (20, 0));
    assert_eq!(seen.pongs, 20);
}

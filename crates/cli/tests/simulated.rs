//! What real sockets do only by chance, on the simulated ring: the engine's own loop, in virtual time, to the exchange.
//!
//! In scope: answers before any request, which on loopback are a race; a clock that is slow to read. Out of scope: what
//! is printed of it; that is the command's, tested beside this.

use engine::{Barrier, Job, Thread, assemble};
use kernel::Ring;
use kernel::sim::{ConnectAnswer, Options, Peer, Sim, World};
use plan::{Connect, Load, Plan, Stop};
use record::{Blame, Kind, Round, Step};
use std::sync::atomic::AtomicBool;
use units::{Instant, Nanos};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// From a connect to the connection, and from a request to its answer.
const CONNECTING: Nanos = Nanos::from_micros(50);
const SERVICE: Nanos = Nanos::from_millis(1);

/// A server that answers every request, and some connections before they have asked.
#[derive(Debug, Default)]
struct Hasty {
    /// One connection in this many is answered unasked; none of them with 0.
    every: u64,
    connections: u64,
}

impl Peer for Hasty {
    fn connect(&mut self, at: Instant, conn: u64, world: &mut World) -> ConnectAnswer {
        self.connections += 1;
        if self.every > 0 && self.connections.is_multiple_of(self.every) {
            // Right behind the handshake.
            world.send(conn, at + CONNECTING + Nanos::from_micros(1), ANSWER);
        }
        ConnectAnswer::Accept(CONNECTING)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        assert!(bytes.ends_with(b"\r\n\r\n"), "requests come whole here");
        world.send(conn, at + SERVICE, ANSWER);
    }
}

fn plan(connections: u32, requests: u64, connect: Connect) -> Plan {
    Plan {
        load: Load::Closed { connections },
        stop: Stop::Requests(requests),
        rounds: 1,
        connect,
        ..Plan::example("192.0.2.1:80".parse().unwrap())
    }
}

/// One round on one thread, against a server that answers one connection in `every` unasked.
fn round(plan: &Plan, every: u64, options: Options) -> Round {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let server = Hasty {
        every,
        ..Hasty::default()
    };
    let ring = Sim::with(1, server, options);
    assemble(0, vec![Thread::new(ring, &job, &barrier, 0, 0).run()])
}

#[test]
fn an_answer_before_the_load_is_a_stray_each_and_answers_no_request() {
    // None of those that replace the connections which strays have ended is answered unasked.
    for (connections, every, strays) in [(4, 3, 1), (20, 5, 4), (100, 30, 3)] {
        let plan = plan(connections, 1000, Connect::Eager);
        let round = round(&plan, every, Options::default());
        let tally = &round.tally;
        assert_eq!((tally.scheduled, tally.ok, tally.errors()), (1000, 1000, 0));
        let stray = tally.strays.sorted();
        assert_eq!(stray.len(), 1, "{stray:?}");
        assert_eq!(stray[0].count, strays, "{connections} {every}");
        let fault = stray[0].fault;
        assert_eq!(
            (fault.kind, fault.step, fault.blame),
            (Kind::UnexpectedBytes, Step::Head, Blame::Server)
        );
        // No answer was taken for that of another request.
        assert_eq!(tally.service.min(), Some(SERVICE.as_nanos()));
    }
}

/// HTTP/1.1 knows answers by their order alone, so that one which is sent unasked, and comes behind the first request,
/// is the answer to it as far as anybody can tell; then every further one is off by one.
#[test]
fn an_answer_that_overtakes_the_one_asked_for_cannot_be_told_from_it() {
    let plan = plan(4, 40, Connect::Lazy);
    let round = round(&plan, 4, Options::default());
    let tally = &round.tally;
    assert_eq!((tally.scheduled, tally.ok, tally.errors()), (40, 40, 0));
    assert_eq!(tally.strays.total(), 0, "{:?}", tally.strays);
    let least = tally.service.min().unwrap();
    assert!(least < SERVICE.as_nanos(), "{least} ns");
}

#[test]
fn a_slow_clock_loses_no_exchange_and_its_cost_is_in_the_service_times() {
    let reading = Nanos::from_nanos(300);
    let slow = Options {
        call_cost: reading,
        ..Options::default()
    };
    let ring = Sim::with(1, Hasty::default(), slow.clone());
    let (first, second) = (ring.now(), ring.now());
    assert_eq!(second - first, reading);
    let round = round(&plan(10, 1000, Connect::Eager), 0, slow);
    let tally = &round.tally;
    assert_eq!((tally.scheduled, tally.ok, tally.errors()), (1000, 1000, 0));
    assert!(tally.conserved());
    let (least, most) = (tally.service.min().unwrap(), tally.service.max().unwrap());
    assert!(least >= (SERVICE + reading).as_nanos(), "{least} ns");
    // Ten connections' turns, each of some readings and calls.
    assert!(most <= (SERVICE + reading * 100).as_nanos(), "{most} ns");
}

//! The bench in a bottle: the real thread loop against a simulated server, in virtual time. Counts are exact, and
//! percentiles are those of the service times that were drawn.

// Requests that hang since warm-up.
#[path = "bottle/carried.rs"]
mod carried;

// Requests whose connection was closed before their turn.
#[path = "bottle/resent.rs"]
mod resent;

// Requests that a script makes.
#[path = "bottle/scripted.rs"]
mod scripted;

// What random plans come to.
#[path = "bottle/seeds.rs"]
mod seeds;

// Load in slices.
#[path = "bottle/slices.rs"]
mod slices;

use engine::{Barrier, Job, Thread, ThreadResult, assemble};
use kernel::Errno;
use kernel::sim::{ConnectAnswer, Faults, Options, Peer, Reads, Sim, World};
use plan::{Connect, Load, Plan, Stop};
use proptest::prelude::*;
use record::{Blame, Kind, Round, Tally};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};

const MS: Nanos = Nanos::from_millis(1);

/// What the simulated server does.
#[derive(Debug, Clone, Default)]
struct Script {
    /// Service times, one after the other, over and over; they run one at a time on each connection.
    service: Vec<Nanos>,
    /// Says `Connection: close` and closes after this many answers on a connection.
    close_after: Option<u64>,
    /// Closes without a word instead of giving each answer of this number.
    drop_every: Option<u64>,
    /// From this request on nothing is answered any more.
    silent_from: Option<u64>,
    /// From this request on connections are reset and refused.
    dead_from: Option<u64>,
    /// Refuses all connects.
    refuse: bool,
    /// Never accepts.
    deaf: bool,
    /// Every response has status 500.
    fails: bool,
}

/// A server on the other end of a simulated ring.
#[derive(Debug, Default)]
struct Server {
    script: Script,
    connections: HashMap<u64, Connection>,
    requests: u64,
    drawn: Vec<Nanos>,
}

#[derive(Debug, Default)]
struct Connection {
    input: Vec<u8>,
    busy_until: Instant,
    answers: u64,
    closing: bool,
}

impl Server {
    fn shared(script: Script) -> Shared {
        Shared(Arc::new(Mutex::new(Server {
            script,
            ..Server::default()
        })))
    }

    fn is_dead(&self) -> bool {
        self.script
            .dead_from
            .is_some_and(|from| self.requests >= from)
    }

    fn answer(&mut self, at: Instant, conn: u64, world: &mut World) {
        let number = self.requests;
        self.requests += 1;
        let script = &self.script;
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        if script.silent_from.is_some_and(|from| number >= from) || connection.closing {
            return;
        }
        if script.dead_from.is_some_and(|from| number >= from) {
            connection.closing = true;
            return world.reset(conn, at + MS);
        }
        if script
            .drop_every
            .is_some_and(|every| number % every == every - 1)
        {
            connection.closing = true;
            return world.end(conn, at + MS);
        }
        let service = script.service[number as usize % script.service.len()];
        self.drawn.push(service);
        let begin = connection.busy_until.max(at);
        connection.busy_until = begin + service;
        connection.answers += 1;
        connection.closing = script.close_after == Some(connection.answers);
        let close = if connection.closing {
            "Connection: close\r\n"
        } else {
            ""
        };
        let status = if script.fails { "500 No" } else { "200 OK" };
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n{close}\r\nhello");
        world.send(conn, begin + service, text);
        if connection.closing {
            world.end(conn, begin + service);
        }
    }
}

/// The server as the ring's peer, while the test keeps hold of it too.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Server>>);

impl Peer for Shared {
    fn connect(&mut self, _: Instant, conn: u64, _: &mut World) -> ConnectAnswer {
        self.0.lock().unwrap().connect(conn)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        self.0.lock().unwrap().receive(at, conn, bytes, world);
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.0.lock().unwrap().connections.remove(&conn);
    }
}

impl Server {
    fn connect(&mut self, conn: u64) -> ConnectAnswer {
        if self.script.deaf {
            return ConnectAnswer::Never;
        }
        if self.script.refuse || self.is_dead() {
            return ConnectAnswer::Refuse(Nanos::from_micros(20), Errno::ECONNREFUSED);
        }
        self.connections.insert(conn, Connection::default());
        ConnectAnswer::Accept(Nanos::from_micros(50))
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let Some(connection) = self.connections.get_mut(&conn) else {
            return;
        };
        connection.input.extend_from_slice(bytes);
        let mut complete = 0;
        while let Some(end) = connection
            .input
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            connection.input.drain(..end + 4);
            complete += 1;
        }
        for _ in 0..complete {
            self.answer(at, conn, world);
        }
    }
}

fn base() -> Plan {
    let mut plan = Plan::example("192.0.2.1:80".parse().unwrap());
    plan.rounds = 1;
    plan
}

fn closed(connections: u32, stop: Stop) -> Plan {
    Plan {
        load: Load::Closed { connections },
        stop,
        ..base()
    }
}

/// One round on one thread against `script`; the round, and how many requests the server saw.
fn bottle(plan: &Plan, script: Script, options: Options) -> (Round, u64, Vec<Nanos>) {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let server = Server::shared(script);
    let result = Thread::new(Sim::with(1, server.clone(), options), &job, &barrier, 0, 0).run();
    let server = server.0.lock().unwrap();
    (
        assemble(0, vec![result]),
        server.requests,
        server.drawn.clone(),
    )
}

fn constant(service: Nanos) -> Script {
    Script {
        service: vec![service],
        ..Script::default()
    }
}

fn faults(tally: &Tally, kind: Kind) -> u64 {
    tally.faults.count(|fault| fault.kind == kind)
}

#[test]
fn a_window_holds_exactly_what_was_due_in_it() {
    let plan = closed(4, Stop::Duration(Nanos::from_secs(1)));
    let (round, seen, _) = bottle(&plan, constant(MS), Options::default());
    // Each connection asks at 0, 1, ... 999 ms; the one asked at 999 ms ends with the window, so not inside it.
    assert_eq!(
        (
            round.tally.scheduled,
            round.tally.ok,
            round.tally.ok_in_window
        ),
        (4000, 4000, 3996)
    );
    assert_eq!(round.window.span(), Nanos::from_secs(1));
    assert_eq!(
        (round.sent_total.measure, round.sent_total.sum()),
        (4000, seen)
    );
    assert_eq!(round.tally.series.ok, [vec![4 * 99], vec![400; 9]].concat());
    assert_eq!(
        (round.tally.service.min(), round.tally.service.max()),
        (Some(1_000_000), Some(1_000_000))
    );
}

#[test]
fn percentiles_are_those_of_the_service_times_that_were_drawn() {
    let service = (1..=1000)
        .map(|step| Nanos::from_micros(step * 7 % 997 + 3))
        .collect();
    let plan = closed(1, Stop::Requests(10_000));
    let script = Script {
        service,
        ..Script::default()
    };
    let (round, _, mut drawn) = bottle(&plan, script, Options::default());
    drawn.sort_unstable();
    for p in [0.5, 0.9, 0.99, 0.999] {
        let wanted = drawn[(p * drawn.len() as f64).ceil() as usize - 1].as_nanos() as f64;
        let got = round.tally.service.quantile(p).unwrap() as f64;
        assert!(
            (got / wanted - 1.0).abs() <= 0.001,
            "p {p}: {got} is not {wanted}"
        );
    }
    assert_eq!(
        round.tally.service.sum(),
        drawn.iter().map(|span| span.as_nanos()).sum::<u64>()
    );
}

#[test]
fn warm_up_is_counted_apart() {
    let mut plan = closed(2, Stop::Duration(MS * 100));
    plan.warmup = MS * 50;
    let (round, seen, _) = bottle(&plan, constant(MS), Options::default());
    assert_eq!(
        (round.sent_total.warmup, round.sent_total.measure),
        (100, 200)
    );
    assert_eq!((round.tally.scheduled, seen), (200, 300));
    // What was due in the warm-up and ended at the very start of the window counts for requests per second.
    assert_eq!(round.tally.ok_in_window, 200);
}

#[test]
fn with_a_number_the_warm_up_is_drained_first() {
    let mut plan = closed(2, Stop::Requests(7));
    plan.warmup = MS * 5;
    let (round, seen, _) = bottle(&plan, constant(MS * 2), Options::default());
    assert_eq!(
        (
            round.tally.scheduled,
            round.tally.ok,
            round.tally.ok_in_window
        ),
        (7, 7, 7)
    );
    assert_eq!(round.sent_total.warmup + 7, seen);
    // Seven on two connections at 2 ms each: four turns.
    assert_eq!(round.window.span(), MS * 8);
}

/// `plan` on as many threads as it says, each with a simulated server of its own.
fn bottles(plan: &Plan, script: &Script) -> (Round, u64) {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(plan.threads(), &stop);
    let live = |index| {
        let server = Server::shared(script.clone());
        let sim = Sim::with(u64::from(index), server.clone(), Options::default());
        let result = Thread::new(sim, &job, &barrier, index, 0).run();
        let requests = server.0.lock().unwrap().requests;
        (result, requests)
    };
    let (results, seen): (Vec<ThreadResult>, Vec<u64>) = std::thread::scope(|scope| {
        let live = &live;
        let threads: Vec<_> = (0..plan.threads())
            .map(|index| scope.spawn(move || live(index)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .unzip()
    });
    (assemble(0, results), seen.iter().sum())
}

#[test]
fn a_number_of_requests_is_exact_for_every_way_to_spread_it() {
    for requests in [1, 2, 7, 100, 1001] {
        for connections in [1, 3, 10] {
            for threads in [1, 2, 5] {
                for (pipeline, most) in [
                    (1, None),
                    (1, Some(1)),
                    (1, Some(3)),
                    (4, None),
                    (4, Some(3)),
                ] {
                    for connect in [Connect::Eager, Connect::Lazy] {
                        let mut plan = closed(connections, Stop::Requests(requests));
                        plan.threads = threads;
                        plan.protocol.pipeline = pipeline;
                        plan.protocol.requests_per_connection = most;
                        plan.connect = connect;
                        let (round, seen) = bottles(&plan, &constant(MS));
                        let what = format!(
                            "n {requests} c {connections} t {threads} P {pipeline} K {most:?}"
                        );
                        assert_eq!(
                            (round.tally.scheduled, round.tally.ok, seen),
                            (requests, requests, requests),
                            "{what}"
                        );
                        let least = most.map_or(1, |most| requests.div_ceil(most));
                        assert!(round.tally.connects.established >= least, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_server_that_closes_is_asked_again_on_new_connections() {
    let plan = closed(3, Stop::Requests(100));
    let script = Script {
        close_after: Some(10),
        ..constant(MS)
    };
    let (round, seen, _) = bottle(&plan, script, Options::default());
    assert_eq!((round.tally.ok, round.tally.errors(), seen), (100, 0, 100));
    assert!(round.tally.connects.established >= 10);
}

#[test]
fn a_dropped_exchange_is_a_fault_of_the_servers_and_load_goes_on() {
    let plan = closed(2, Stop::Requests(100));
    let script = Script {
        drop_every: Some(10),
        ..constant(MS)
    };
    let (round, seen, _) = bottle(&plan, script, Options::default());
    assert_eq!(
        (round.tally.scheduled, round.tally.ok, seen),
        (100, 90, 100)
    );
    assert_eq!(faults(&round.tally, Kind::ClosedBeforeResponse), 10);
    assert!(
        round
            .tally
            .faults
            .iter()
            .all(|each| each.fault.blame == Blame::Server)
    );
}

#[test]
fn an_exchange_without_an_answer_is_cut_off_at_its_age() {
    let mut plan = closed(2, Stop::Duration(MS * 100));
    plan.timeouts.exchange = MS * 40;
    let script = Script {
        silent_from: Some(20),
        ..constant(MS)
    };
    let (round, _, _) = bottle(&plan, script, Options::default());
    let timeouts = faults(&round.tally, Kind::Timeout);
    assert!(timeouts >= 4, "{timeouts}");
    assert_eq!((round.tally.censored(), round.tally.ok), (timeouts, 20));
    let from = round.tally.censored_from.unwrap();
    assert!(from >= MS * 40 && from <= MS * 43, "{from:?}");
    assert_eq!(round.tally.service.count(), 20 + timeouts);
}

#[test]
fn a_server_that_refuses_everybody_fails_exchanges_without_a_spin() {
    let mut plan = closed(2, Stop::Duration(Nanos::from_secs(3)));
    plan.connect = Connect::Lazy;
    let (round, _, _) = bottle(
        &plan,
        Script {
            refuse: true,
            ..constant(MS)
        },
        Options::default(),
    );
    let refused = faults(&round.tally, Kind::ConnectRefused);
    assert_eq!(
        (round.tally.scheduled, round.tally.started, round.tally.ok),
        (refused, refused, 0)
    );
    // Waits of 1, 2, 4 ... 512 ms, then 1 s: eleven or twelve tries each in three seconds.
    assert!((22..=26).contains(&refused), "{refused}");
}

#[test]
fn a_connect_without_an_answer_is_censored() {
    let mut plan = closed(1, Stop::Duration(MS * 500));
    plan.connect = Connect::Lazy;
    plan.timeouts.connect = MS * 100;
    let (round, _, _) = bottle(
        &plan,
        Script {
            deaf: true,
            ..constant(MS)
        },
        Options::default(),
    );
    let timeouts = faults(&round.tally, Kind::ConnectTimeout);
    assert!((4..=5).contains(&timeouts), "{timeouts}");
    assert_eq!(round.tally.censored(), timeouts);
}

#[test]
fn a_server_that_dies_midway_ends_a_number_in_time() {
    let mut plan = closed(4, Stop::Requests(1_000_000));
    plan.timeouts.exchange = MS * 500;
    plan.timeouts.connect = MS * 500;
    let script = Script {
        dead_from: Some(1000),
        ..constant(MS)
    };
    let (round, _, _) = bottle(&plan, script, Options::default());
    assert_eq!((round.tally.scheduled, round.tally.ok), (1_000_000, 1000));
    assert!(faults(&round.tally, Kind::NeverSent) > 990_000);
    assert!(faults(&round.tally, Kind::Reset) >= 1);
    assert!(
        round.window.span() < Nanos::from_secs(3),
        "{:?}",
        round.window.span()
    );
}

#[test]
fn a_service_time_is_counted_from_the_send_and_not_from_the_connect() {
    let mut plan = closed(1, Stop::Requests(10));
    plan.protocol.keepalive = false;
    plan.connect = Connect::Lazy;
    let (round, _, _) = bottle(&plan, constant(MS), Options::default());
    assert_eq!(round.tally.service.max(), Some(1_000_000));
    assert_eq!(round.tally.connects.time.max(), Some(50_000));
    assert_eq!(round.tally.send_delay.max(), Some(50_000));
    assert_eq!(round.tally.connects.in_window, 10);
}

#[test]
fn an_answer_that_comes_after_the_timeout_is_a_timeout_whenever_it_is_noticed() {
    let mut plan = closed(3, Stop::Requests(60));
    plan.timeouts.exchange = MS * 20;
    // The sweep comes every 1.25 ms, and answers come between two sweeps.
    let (round, _, _) = bottle(
        &plan,
        constant(Nanos::from_micros(20_300)),
        Options::default(),
    );
    assert_eq!(
        (round.tally.ok, faults(&round.tally, Kind::Timeout)),
        (0, 60)
    );
}

#[test]
fn a_server_that_hangs_at_the_end_of_the_window_is_blamed_for_it() {
    let mut plan = closed(4, Stop::Duration(MS * 50));
    plan.timeouts.exchange = MS * 160;
    let script = Script {
        silent_from: Some(4 * 49),
        ..constant(MS)
    };
    let (round, _, _) = bottle(&plan, script, Options::default());
    assert_eq!(faults(&round.tally, Kind::Timeout), 4);
    assert!(
        round
            .tally
            .faults
            .iter()
            .all(|each| each.fault.blame == Blame::Server)
    );
}

#[test]
fn what_waits_behind_a_timeout_is_censored_and_not_omitted() {
    let mut plan = closed(1, Stop::Requests(300));
    plan.protocol.pipeline = 4;
    plan.timeouts.exchange = MS * 100;
    let script = Script {
        silent_from: Some(290),
        ..constant(MS)
    };
    let (round, _, _) = bottle(&plan, script, Options::default());
    assert!(faults(&round.tally, Kind::TimeoutBehind) + faults(&round.tally, Kind::Timeout) >= 4);
    assert_eq!(faults(&round.tally, Kind::Abandoned), 0);
    assert_eq!(round.tally.service.count(), 300);
}

#[test]
fn every_bodys_likeness_is_counted() {
    let plan = closed(2, Stop::Requests(300));
    let (round, _, _) = bottle(&plan, constant(MS), Options::default());
    let answers: Vec<_> = round.tally.bodies.iter().collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(round.tally.bytes_received, 300 * 43);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_the_network_does_exchanges_are_conserved(
        seed: u64,
        connections in 1u32..6,
        pipeline in 1u32..5,
        requests in 1u64..200,
        short in 0.0..0.5f64,
        resets in 0.0..0.2f64,
        close_after in proptest::option::of(1u64..8),
        drop_every in proptest::option::of(2u64..9),
        reads in 0..3,
        reorder: bool,
        lazy: bool,
    ) {
        let mut plan = closed(connections, Stop::Requests(requests));
        plan.protocol.pipeline = pipeline;
        plan.connect = if lazy { Connect::Lazy } else { Connect::Eager };
        plan.seed = seed;
        let reads = [Reads::Whole, Reads::OneByte, Reads::Random][reads as usize];
        let faults = Faults { short_writes: short, reads, reorder, resets, connect_error: Some((0.05, Errno::EADDRNOTAVAIL)), send_error: None, accept_error: None };
        let script = Script { close_after, drop_every, ..constant(MS) };
        let options = Options { faults, ..Options::default() };
        let (round, seen, _) = bottle(&plan, script, options);
        prop_assert!(round.tally.conserved());
        prop_assert_eq!(round.tally.scheduled, requests);
        prop_assert_eq!(round.tally.ok_in_window, round.tally.ok);
        prop_assert!(seen <= round.sent_total.sum() + round.tally.resent);
        prop_assert!(round.tally.ok <= seen);
    }
}

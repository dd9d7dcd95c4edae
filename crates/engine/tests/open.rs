//! The open loop in the bottle: the real thread loop against a simulated server, in virtual time. What is measured is
//! compared with the schedule that was drawn and the server's own arithmetic, to the nanosecond.

// Whose fault it is.
#[path = "open/blame.rs"]
mod blame;
// Connections that arrive, and not exchanges.
#[path = "open/sessions.rs"]
mod sessions;

use engine::{Barrier, Job, Thread, ThreadResult, assemble};
use kernel::Errno;
use kernel::sim::{ConnectAnswer, Faults, Options, Peer, Reads, Sim, World};
use plan::{Arrivals, Arriving, Connect, Load, Pacing, Plan, Stop, Stretch};
use proptest::prelude::*;
use record::{Blame, Kind, OpenTimes, Round, Tally};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};

const MS: Nanos = Nanos::from_millis(1);
const US: Nanos = Nanos::from_micros(1);
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

const LAST_ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

/// A server that takes `service` for each request; each connection for itself, one request after the other.
#[derive(Debug, Clone)]
struct Server {
    service: Nanos,
    connecting: Nanos,
    /// Answers nothing in the first so much of every so much time.
    stall: Option<(Nanos, Nanos)>,
    /// Answers everything at the next multiple of this only.
    batch: Option<Nanos>,
    /// Says nothing any more after so many requests.
    silent_from: u64,
    /// Accepts no connection.
    refuse: bool,
    /// Closes after so many answers on a connection.
    close_after: u64,
    /// Says so in the last of them.
    announces: bool,
    requests: u64,
    /// When it was connected to.
    connected: Vec<Instant>,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug, Clone, Default)]
struct Connection {
    input: Vec<u8>,
    busy_until: Instant,
    answers: u64,
}

impl Default for Server {
    fn default() -> Self {
        Server {
            service: MS,
            connecting: US * 50,
            stall: None,
            batch: None,
            silent_from: u64::MAX,
            refuse: false,
            close_after: u64::MAX,
            announces: false,
            requests: 0,
            connected: Vec::new(),
            connections: HashMap::new(),
        }
    }
}

impl Server {
    /// When work that could begin at `at` is done.
    fn done(&self, at: Instant) -> Instant {
        let mut begin = at;
        if let Some((stall, every)) = self.stall {
            let phase = Nanos::from_nanos(at.as_nanos() % every.as_nanos());
            begin += stall.saturating_sub(phase);
        }
        let done = begin + self.service;
        match self.batch {
            Some(every) => Instant::from_nanos(done.as_nanos().next_multiple_of(every.as_nanos())),
            None => done,
        }
    }
}

/// The server as the ring's peer, while the test keeps hold of it too.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Server>>);

impl Peer for Shared {
    fn connect(&mut self, at: Instant, conn: u64, _: &mut World) -> ConnectAnswer {
        let mut server = self.0.lock().unwrap();
        server.connected.push(at);
        if server.refuse {
            return ConnectAnswer::Refuse(US * 20, Errno::ECONNREFUSED);
        }
        server.connections.insert(conn, Connection::default());
        ConnectAnswer::Accept(server.connecting)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let mut server = self.0.lock().unwrap();
        let mut connection = server.connections.remove(&conn).unwrap_or_default();
        connection.input.extend_from_slice(bytes);
        while let Some(end) = connection
            .input
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            connection.input.drain(..end + 4);
            server.requests += 1;
            if server.requests > server.silent_from {
                continue;
            }
            let done = server.done(connection.busy_until.max(at));
            connection.busy_until = done;
            connection.answers += 1;
            let is_last = connection.answers == server.close_after;
            match is_last && server.announces {
                true => world.send(conn, done, LAST_ANSWER),
                false => world.send(conn, done, ANSWER),
            }
            if is_last {
                world.end(conn, done);
            }
        }
        server.connections.insert(conn, connection);
    }
}

fn plan(rate: &str, arrivals: Arrivals, connections: u32, stop: Stop) -> Plan {
    Plan {
        load: Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals,
            connections,
        },
        stop,
        rounds: 1,
        connect: Connect::Lazy,
        seed: 11,
        ..Plan::example("192.0.2.1:80".parse().unwrap())
    }
}

/// [`bottle_on`], with how many requests the servers saw.
fn bottle_with(plan: &Plan, server: &Server, options: &Options) -> (Round, u64) {
    let (round, servers) = bottle_on(plan, server, options);
    (round, servers.iter().map(|server| server.requests).sum())
}

/// `plan` on as many threads as it says, each with a simulated server of its own; the round, and those servers.
fn bottle_on(plan: &Plan, server: &Server, options: &Options) -> (Round, Vec<Server>) {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(plan.threads(), &stop);
    let live = |index| {
        let shared = Shared(Arc::new(Mutex::new(server.clone())));
        let sim = Sim::with(u64::from(index) + 1, shared.clone(), options.clone());
        let result = Thread::new(sim, &job, &barrier, index, 0).run();
        let server = shared.0.lock().unwrap().clone();
        (result, server)
    };
    let (results, servers): (Vec<ThreadResult>, Vec<Server>) = std::thread::scope(|scope| {
        let live = &live;
        let threads: Vec<_> = (0..plan.threads())
            .map(|index| scope.spawn(move || live(index)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .unzip()
    });
    (assemble(0, results), servers)
}

fn bottle(plan: &Plan, server: &Server) -> Round {
    bottle_with(plan, server, &Options::default()).0
}

fn open(round: &Round) -> &OpenTimes {
    round.tally.open.as_ref().expect("it is an open loop")
}

fn faults(tally: &Tally, kind: Kind) -> u64 {
    tally.faults.count(|fault| fault.kind == kind)
}

/// The schedule of `plan`'s first round, as one thread would have it.
fn schedule(plan: &Plan) -> Pacing {
    let Load::Open { rate, arrivals, .. } = plan.load else {
        panic!("it is an open loop")
    };
    Pacing::new(arrivals, rate, Stretch::Window.seed(plan.seed, 0), 0, 1)
}

/// Response times where one server with a fixed service time takes what is due in turn (Lindley's recursion).
fn lindley(scheduled: impl Iterator<Item = Nanos>, service: Nanos) -> Vec<u64> {
    let mut free = Nanos::ZERO;
    let mut times: Vec<u64> = scheduled
        .map(|scheduled| {
            free = free.max(scheduled) + service;
            free.saturating_sub(scheduled).as_nanos()
        })
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn response_times_are_those_of_the_queue_that_the_schedule_makes() {
    for (arrivals, rate) in [
        (Arrivals::Poisson, "500"),
        (Arrivals::Poisson, "900"),
        (Arrivals::Constant, "999"),
        (Arrivals::Constant, "1500"),
    ] {
        let mut plan = plan(rate, arrivals, 1, Stop::Requests(20_000));
        plan.connect = Connect::Eager;
        plan.timeouts.exchange = Nanos::from_secs(100);
        let round = bottle(&plan, &Server::default());
        let wanted = lindley(schedule(&plan).take(20_000), MS);
        let response = &open(&round).response;
        assert_eq!(round.tally.ok, 20_000);
        assert_eq!(
            response.sum(),
            wanted.iter().sum::<u64>(),
            "{arrivals} {rate}"
        );
        assert_eq!(
            (response.min(), response.max()),
            (wanted.first().copied(), wanted.last().copied())
        );
        for p in [0.5, 0.9, 0.99, 0.999] {
            let wanted = wanted[(p * wanted.len() as f64).ceil() as usize - 1] as f64;
            let got = response.quantile(p).unwrap() as f64;
            assert!(
                (got / wanted - 1.0).abs() <= 0.001,
                "p {p}: {got} is not {wanted}"
            );
        }
        // The server took as long each time; the rest is waiting for the only connection.
        let service = &round.tally.service;
        assert_eq!(
            (service.min(), service.max()),
            (Some(1_000_000), Some(1_000_000))
        );
        let queued = wanted.iter().map(|time| time - 1_000_000).sum::<u64>();
        assert_eq!(open(&round).queued.sum(), queued);
        assert_eq!(open(&round).connecting.max(), Some(0));
        assert_eq!(open(&round).generator_late.max(), Some(0));
        assert_eq!(round.tally.send_delay.sum(), queued);
    }
}

#[test]
fn a_window_holds_exactly_what_was_due_in_it_and_what_warm_up_sent_is_apart() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        for threads in [1, 3] {
            let mut plan = plan("1k", arrivals, 30, Stop::Duration(MS * 700));
            plan.warmup = MS * 300;
            plan.threads = threads;
            let (round, seen) = bottle_with(&plan, &Server::default(), &Options::default());
            let (start, end) = (MS * 300, MS * 1000);
            let before = schedule(&plan)
                .take_while(|scheduled| *scheduled < start)
                .count() as u64;
            let all = schedule(&plan)
                .take_while(|scheduled| *scheduled < end)
                .count() as u64;
            assert_eq!(
                (round.tally.scheduled, round.tally.ok),
                (all - before, all - before)
            );
            assert_eq!(
                (round.sent_total.warmup, round.sent_total.measure, seen),
                (before, all - before, all)
            );
            assert_eq!(round.window.span(), MS * 700);
        }
    }
}

#[test]
fn a_number_of_requests_is_exact_for_every_way_to_spread_it() {
    for requests in [1, 2, 7, 1001] {
        for (connections, threads) in [(1, 1), (3, 2), (10, 5)] {
            for (arrivals, most) in [
                (Arrivals::Constant, None),
                (Arrivals::Poisson, Some(1)),
                (Arrivals::Poisson, Some(3)),
            ] {
                for (connect, warmup) in [(Connect::Eager, Nanos::ZERO), (Connect::Lazy, MS * 20)] {
                    let mut plan = plan("2.5k", arrivals, connections, Stop::Requests(requests));
                    plan.threads = threads;
                    plan.protocol.requests_per_connection = most;
                    plan.connect = connect;
                    plan.warmup = warmup;
                    let (round, seen) = bottle_with(&plan, &Server::default(), &Options::default());
                    let what =
                        format!("n {requests} c {connections} t {threads} {arrivals} K {most:?}");
                    assert_eq!(
                        (
                            round.tally.scheduled,
                            round.tally.ok,
                            round.tally.ok_in_window
                        ),
                        (requests, requests, requests),
                        "{what}"
                    );
                    assert_eq!(seen, requests + round.sent_total.warmup, "{what}");
                }
            }
        }
    }
}

#[test]
fn what_hangs_since_warm_up_is_carried_over_at_its_age_since_it_was_due() {
    let server = Server {
        silent_from: 0,
        ..Server::default()
    };
    for arriving in [Arriving::Exchanges, Arriving::Connections] {
        let mut plan = plan("1k", Arrivals::Constant, 3, Stop::Duration(MS * 50));
        if let Load::Open { of, .. } = &mut plan.load {
            *of = arriving;
        }
        plan.warmup = MS * 100;
        plan.timeouts.exchange = MS * 160;
        let (round, _) = bottle_with(&plan, &server, &Options::default());
        let tally = &round.tally;
        assert_eq!((tally.carried_over, tally.scheduled), (3, 50));
        assert_eq!((tally.requests(), tally.errors(), tally.ok), (53, 53, 0));
        assert_eq!(faults(tally, Kind::CarriedOver), 3);
        // Each was sent when its connection was there, 50 us after its due.
        let (service, response) = (&tally.service, &open(&round).response);
        let longest = service.max().unwrap();
        assert!(longest >= 160_000_000, "{longest}");
        assert!(response.max().unwrap() >= longest + 50_000);
        assert_eq!(response.count(), 53);
    }
}

#[test]
fn what_a_late_generator_sends_late_has_not_waited_for_a_connection_while_one_was_free() {
    let options = Options {
        wake_late: MS * 100, // some hundred are due whenever the thread wakes up
        ..Options::default()
    };
    for connect in [Connect::Lazy, Connect::Eager] {
        let second = Stop::Duration(Nanos::from_secs(1));
        let mut plan = plan("1k", Arrivals::Poisson, 1000, second);
        plan.connect = connect;
        let round = bottle_with(&plan, &Server::default(), &options).0;
        let (tally, open) = (&round.tally, open(&round));
        assert_eq!(tally.ok, tally.scheduled);
        assert!(open.generator_late.max() > Some(90_000_000));
        assert_eq!(open.queued.max(), Some(0), "{connect:?}");
        let parts = [&open.queued, &open.connecting, &open.generator_late];
        let sum: u64 = parts.iter().map(|part| part.sum()).sum();
        assert_eq!(sum, tally.send_delay.sum());
    }
}

#[test]
fn a_stall_is_in_response_time_and_a_closed_loop_hardly_sees_it() {
    let server = Server {
        stall: Some((MS * 100, MS * 1000)),
        ..Server::default()
    };
    let ten_seconds = Stop::Duration(Nanos::from_secs(10));
    let mut plan = plan("1k", Arrivals::Constant, 1000, ten_seconds);
    let round = bottle(&plan, &server);
    assert_eq!((round.tally.scheduled, round.tally.ok), (10_000, 10_000));
    // A tenth of all is due in stalls, evenly over their length: half of those wait for 50 ms and longer.
    for (p, wanted) in [(0.90, 2.0), (0.95, 51.0), (0.99, 91.0)] {
        let got = open(&round).response.quantile(p).unwrap() as f64 / 1e6;
        assert!((got - wanted).abs() < 1.5, "p {p}: {got} ms");
    }
    plan.load = Load::Closed { connections: 10 };
    plan.connect = Connect::Eager;
    let closed = bottle(&plan, &server);
    assert!(closed.tally.service.quantile(0.99) < Some(1_002_000));
    assert_eq!(closed.tally.open, None);
}

#[test]
fn what_is_due_takes_the_last_used_connection_and_opens_one_only_where_none_is_idle() {
    // Three overlap at most: 2.5 ms of service, one every millisecond.
    let server = Server {
        service: MS * 5 / 2,
        connecting: Nanos::ZERO,
        ..Server::default()
    };
    let stop = Stop::Duration(Nanos::from_secs(1));
    let round = bottle(&plan("1k", Arrivals::Constant, 500, stop), &server);
    assert_eq!(
        (round.tally.ok, round.tally.connects.established),
        (1000, 3)
    );
    let one = bottle(&plan("300", Arrivals::Constant, 500, stop), &server);
    assert_eq!((one.tally.ok, one.tally.connects.established), (300, 1));
}

#[test]
fn too_few_connections_make_exchanges_wait_and_nobody_blames_the_generator() {
    let server = Server {
        service: MS * 10,
        ..Server::default()
    };
    let mut plan = plan("300", Arrivals::Constant, 2, Stop::Requests(600));
    plan.timeouts.exchange = Nanos::from_secs(60);
    plan.connect = Connect::Eager;
    let round = bottle(&plan, &server);
    // 200 a second are served, on the second connection from when its first was due: the last is due just before two
    // seconds are over, and done just after three are.
    assert_eq!(
        (round.tally.ok, round.window.span()),
        (600, Nanos::from_nanos(3_003_333_333))
    );
    let open = open(&round);
    assert_eq!(open.generator_late.max(), Some(0));
    assert_eq!(open.queued.count(), 600);
    let most = open.queued.max().unwrap();
    assert!((990_000_000..1_000_000_000).contains(&most), "{most}");
    // A third of a second later for each second later: the backlog grows with the run.
    let slope = open.growth.slope().unwrap();
    assert!((slope - 0.5).abs() < 0.02, "{slope}");
}

/// A dense histogram takes 216 KiB, and a campaign keeps thousands of rounds.
#[test]
fn a_round_keeps_its_histograms_packed() {
    let plan = plan("300", Arrivals::Poisson, 2, Stop::Requests(600));
    let server = Server {
        service: MS * 3,
        ..Server::default()
    };
    let round = bottle(&plan, &server);
    let (tally, open) = (&round.tally, open(&round));
    let kept = [
        &tally.service,
        &tally.first_byte,
        &tally.send_delay,
        &tally.connects.time,
        &open.response,
        &open.queued,
        &open.connecting,
        &open.generator_late,
    ];
    for (place, histogram) in kept.into_iter().enumerate() {
        let (count, bytes) = (histogram.count(), histogram.heap_bytes());
        assert!(
            count > 0 && bytes < 2_000,
            "{place}: {count} samples in {bytes} bytes"
        );
    }
}

#[test]
fn lateness_is_made_of_waiting_connecting_and_our_own_doing() {
    let server = Server {
        service: MS * 4,
        connecting: US * 700,
        ..Server::default()
    };
    let mut plan = plan("400", Arrivals::Poisson, 2, Stop::Requests(2_000));
    plan.protocol.requests_per_connection = Some(5);
    let options = Options {
        call_cost: US,
        ..Options::default()
    };
    let (round, _) = bottle_with(&plan, &server, &options);
    let open = open(&round);
    assert_eq!(round.tally.ok, 2_000);
    let parts = [&open.queued, &open.connecting, &open.generator_late];
    assert!(parts.iter().all(|part| part.count() == 2_000));
    let sum: u64 = parts.iter().map(|part| part.sum()).sum();
    assert_eq!(sum, round.tally.send_delay.sum());
    // A fifth of them were connected for, at 700 us and what the calls cost.
    let connected = open.connecting.sum() as f64 / 400.0;
    assert!((700_000.0..=703_000.0).contains(&connected), "{connected}");
    assert!(open.queued.max() > Some(1_000_000));
    let own = open.generator_late.max().unwrap();
    assert!((1..20_000).contains(&own), "{own} ns");
}

#[test]
fn a_wait_ends_when_the_next_is_due_and_not_at_the_next_millisecond() {
    let stop = Stop::Requests(5_000);
    for rate in ["0.7k", "3.3k", "33333"] {
        let round = bottle(
            &plan(rate, Arrivals::Poisson, 500, stop),
            &Server::default(),
        );
        assert_eq!(open(&round).generator_late.max(), Some(0), "{rate}");
        assert_eq!(round.tally.ok, 5_000);
    }
}

#[test]
fn what_becomes_due_while_answers_keep_coming_is_sent_between_them() {
    // A hundred answers at once, each of which costs some calls of 5 us to take; one is due every 100 us.
    let server = Server {
        service: US,
        batch: Some(MS * 10),
        ..Server::default()
    };
    let options = Options {
        call_cost: US * 5,
        ..Options::default()
    };
    let mut plan = plan("10k", Arrivals::Constant, 300, Stop::Requests(5_000));
    plan.connect = Connect::Eager;
    let (round, _) = bottle_with(&plan, &server, &options);
    assert_eq!(round.tally.ok, 5_000);
    let late = open(&round).generator_late.max().unwrap();
    assert!(late <= 100_000, "{late} ns");
}

#[test]
fn answers_do_not_wait_for_their_stamp_until_all_that_is_late_is_sent() {
    // Twice as many are due as this generator can send: at the end 500 are late at a time.
    let server = Server {
        service: US,
        ..Server::default()
    };
    let options = Options {
        call_cost: US * 5,
        ..Options::default()
    };
    let mut plan = plan("200k", Arrivals::Constant, 1_000, Stop::Requests(1_000));
    plan.connect = Connect::Eager;
    let (round, _) = bottle_with(&plan, &server, &options);
    assert_eq!(round.tally.ok, 1_000);
    let late = round.tally.send_delay.max();
    assert!(late > Some(2_000_000), "{late:?}");
    // Some forty calls: what is sent and taken in a turn or two.
    let service = round.tally.service.max().unwrap();
    assert!(service < 300_000, "{service} ns");
}

#[test]
fn what_was_due_is_still_sent_after_the_window_and_the_rest_is_censored_at_its_age() {
    let server = Server {
        service: MS * 100,
        ..Server::default()
    };
    let mut plan = plan(
        "1k",
        Arrivals::Constant,
        1,
        Stop::Duration(Nanos::from_secs(1)),
    );
    plan.timeouts.exchange = MS * 450;
    plan.connect = Connect::Eager;
    let round = bottle(&plan, &server);
    let tally = &round.tally;
    // One every 100 ms from 0 to 1.4 s; at 1.45 s the rest is given up, of which the last is due at 999 ms.
    assert_eq!(
        (tally.scheduled, tally.ok, tally.never_sent),
        (1000, 15, 985)
    );
    assert_eq!(
        (faults(tally, Kind::NeverSent), tally.censored()),
        (985, 985)
    );
    assert!(
        tally
            .faults
            .iter()
            .all(|each| each.fault.blame == Blame::Server)
    );
    assert_eq!(tally.ok_in_window, 9);
    let open = open(&round);
    assert_eq!(open.response.count(), 1000);
    assert_eq!(open.censored_from, Some(MS * 451));
    // Those never sent have no service time.
    assert_eq!((tally.service.count(), tally.censored_from), (15, None));
}

#[test]
fn a_timeout_runs_from_sent_however_long_it_was_due() {
    let server = Server {
        service: MS * 100,
        ..Server::default()
    };
    let mut plan = plan("1k", Arrivals::Constant, 1, Stop::Requests(40));
    plan.timeouts.exchange = MS * 150;
    let round = bottle(&plan, &server);
    assert_eq!((round.tally.ok, round.tally.errors()), (40, 0));
    assert!(open(&round).response.max() > Some(3_900_000_000));
}

#[test]
fn what_is_never_answered_is_in_response_time_at_its_age_since_due() {
    let server = Server {
        service: MS,
        silent_from: 500,
        ..Server::default()
    };
    let mut plan = plan(
        "1k",
        Arrivals::Constant,
        50,
        Stop::Duration(Nanos::from_secs(1)),
    );
    plan.timeouts.exchange = MS * 300;
    let round = bottle(&plan, &server);
    let tally = &round.tally;
    let cut = faults(tally, Kind::Timeout);
    assert_eq!(
        (tally.scheduled, tally.ok, tally.ok + tally.errors()),
        (1000, 500, 1000)
    );
    assert!(cut >= 100 && faults(tally, Kind::NeverSent) > 0, "{cut}");
    assert_eq!(tally.service.count(), 500 + cut);
    assert_eq!(open(&round).response.count(), 1000);
    let from = open(&round).censored_from.unwrap();
    assert!(from >= MS * 300, "{from:?}");
}

#[test]
fn a_server_that_refuses_everybody_costs_each_exchange_its_own_connect() {
    let server = Server {
        refuse: true,
        ..Server::default()
    };
    let plan = plan(
        "100",
        Arrivals::Constant,
        1000,
        Stop::Duration(Nanos::from_secs(1)),
    );
    let round = bottle(&plan, &server);
    let refused = faults(&round.tally, Kind::ConnectRefused);
    assert_eq!(
        (round.tally.scheduled, round.tally.started, refused),
        (100, 100, 100)
    );
}

#[test]
fn a_server_that_dies_ends_a_number_in_time() {
    let server = Server {
        silent_from: 100,
        ..Server::default()
    };
    let mut plan = plan("10k", Arrivals::Poisson, 4, Stop::Requests(2_000));
    plan.timeouts.exchange = MS * 100;
    plan.timeouts.connect = MS * 100;
    let round = bottle(&plan, &server);
    assert_eq!((round.tally.scheduled, round.tally.ok), (2_000, 100));
    assert!(faults(&round.tally, Kind::NeverSent) > 1_800);
    assert!(round.window.span() < Nanos::from_secs(1));
}

#[test]
fn a_rate_of_hours_between_two_is_not_taken_for_a_dead_server() {
    let round = bottle(
        &plan("0.001", Arrivals::Constant, 2, Stop::Requests(5)),
        &Server::default(),
    );
    assert_eq!((round.tally.scheduled, round.tally.ok), (5, 5));
    assert!(round.window.span() > Nanos::from_secs(4_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn whatever_the_network_does_what_was_due_is_accounted_for(
        seed: u64,
        rate in 1u32..200,
        connections in 1u32..6,
        threads in 1u32..3,
        requests in proptest::option::of(1u64..200),
        short in 0.0..0.5f64,
        resets in 0.0..0.2f64,
        send_error in 0.0..0.1f64,
        close_after in 1u64..9,
        silent_from in 1u64..300,
        reads in 0..3,
        lazy: bool,
        even: bool,
    ) {
        let stop = requests.map_or(Stop::Duration(MS * 300), Stop::Requests);
        let arrivals = if even { Arrivals::Constant } else { Arrivals::Poisson };
        let mut plan = plan(&format!("{}", rate * 20), arrivals, connections, stop);
        plan.connect = if lazy { Connect::Lazy } else { Connect::Eager };
        plan.threads = threads;
        plan.timeouts.exchange = MS * 200;
        plan.timeouts.connect = MS * 200;
        plan.seed = seed;
        let reads = [Reads::Whole, Reads::OneByte, Reads::Random][reads as usize];
        let faults = Faults {
            short_writes: short,
            reads,
            resets,
            reorder: even,
            connect_error: Some((0.05, Errno::EADDRNOTAVAIL)),
            send_error: Some((send_error, Errno::EPIPE)),
            ..Faults::default()
        };
        let server = Server { close_after, silent_from, ..Server::default() };
        let options = Options { faults, ..Options::default() };
        let (round, seen) = bottle_with(&plan, &server, &options);
        let tally = &round.tally;
        prop_assert!(tally.conserved());
        let scheduled = match stop {
            Stop::Requests(number) => number,
            Stop::Duration(span) => schedule(&plan).take_while(|scheduled| *scheduled < span).count() as u64,
        };
        prop_assert!(tally.scheduled <= scheduled);
        prop_assert!(tally.scheduled == scheduled || requests.is_some());
        prop_assert!(seen <= round.sent_total.sum());
        prop_assert!(tally.ok <= seen);
        let open = open(&round);
        prop_assert!(open.queued.count() <= round.sent_total.measure);
        prop_assert_eq!(open.queued.count(), open.generator_late.count());
        prop_assert_eq!(open.connecting.count(), open.generator_late.count());
    }
}

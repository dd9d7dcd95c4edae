//! What a closed loop does not see, in the bottle: the real thread loop against a server that stands still at known
//! moments, in virtual time. The gaps it notes, and what follows from them, are compared with the arithmetic.

use engine::{Barrier, Job, Thread, ThreadResult, assemble};
use kernel::sim::{ConnectAnswer, Options, Peer, Sim, World};
use plan::{Arrivals, Connect, Load, Plan, Stop};
use record::{Blame, CoordinatedOmission, Kind, Round, Stalls, Summary};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use units::{Instant, Nanos, Percentile};

const MS: Nanos = Nanos::from_millis(1);
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that takes `service` for each request, each connection for itself, and does nothing in its stalls.
#[derive(Debug, Clone)]
struct Server {
    service: Nanos,
    connecting: Nanos,
    /// From when, counted from the first request, for how long; in order.
    stalls: Vec<(Nanos, Nanos)>,
    /// When the first request came: threads wait for each other, so that no thread knows it before.
    begun: Option<Instant>,
    /// The request of this number takes so much longer, and it alone.
    slow: Option<(u64, Nanos)>,
    requests: u64,
    busy_until: HashMap<u64, Instant>,
}

impl Server {
    fn new(service: Nanos) -> Server {
        Server {
            service,
            connecting: Nanos::from_micros(50),
            stalls: Vec::new(),
            begun: None,
            slow: None,
            requests: 0,
            busy_until: HashMap::new(),
        }
    }

    /// The same with `number` stalls of `length`, the first `first` after the first request, one every `period`.
    fn stalling(mut self, number: u64, length: Nanos, first: Nanos, period: Nanos) -> Server {
        let at = |index| first + period * index;
        self.stalls = (0..number).map(|index| (at(index), length)).collect();
        self
    }

    /// When work that could begin at `at` is done.
    fn done(&self, at: Instant) -> Instant {
        let extra = self.slow.filter(|(number, _)| *number == self.requests);
        let mut done = at + self.service + extra.map_or(Nanos::ZERO, |(_, extra)| extra);
        for &(start, length) in &self.stalls {
            let start = self.begun.unwrap_or(at) + start;
            if start < done && at < start + length {
                done += (start + length) - at.max(start);
            }
        }
        done
    }
}

impl Peer for Server {
    fn connect(&mut self, _: Instant, _: u64, _: &mut World) -> ConnectAnswer {
        ConnectAnswer::Accept(self.connecting)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        for _ in bytes.windows(4).filter(|four| four == b"\r\n\r\n") {
            self.requests += 1;
            self.begun.get_or_insert(at);
            let free = self.busy_until.get(&conn).copied().unwrap_or(at);
            let done = self.done(free.max(at));
            self.busy_until.insert(conn, done);
            world.send(conn, done, ANSWER);
        }
    }
}

fn plan(connections: u32, stop: Stop) -> Plan {
    Plan {
        load: Load::Closed { connections },
        stop,
        rounds: 1,
        connect: Connect::Eager,
        ..Plan::example("192.0.2.1:80".parse().unwrap())
    }
}

/// `plan` on one thread, against a server of its own.
fn thread(plan: &Plan, server: &Server) -> ThreadResult {
    thread_with(plan, server, Options::default())
}

/// The same, where the thread is stopped after 3.1 s, for half a second.
fn stopped(plan: &Plan, server: &Server) -> Round {
    let options = Options::default();
    let stops = vec![(options.start + MS * 3_100, MS * 500)];
    assemble(
        0,
        vec![thread_with(plan, server, Options { stops, ..options })],
    )
}

fn thread_with(plan: &Plan, server: &Server, options: Options) -> ThreadResult {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    Thread::new(Sim::with(1, server.clone(), options), &job, &barrier, 0, 0).run()
}

fn bottle(plan: &Plan, server: &Server) -> Round {
    assemble(0, vec![thread(plan, server)])
}

fn gaps(round: &Round) -> &Stalls {
    round.tally.stalls.as_ref().expect("it is a closed loop")
}

fn summary(round: Round) -> (Summary, CoordinatedOmission) {
    let summary = Summary::of(&[round]).unwrap();
    let omission = summary.coordinated_omission.clone().unwrap();
    (summary, omission)
}

fn near(got: f64, wanted: f64, share: f64) {
    assert!(
        (got - wanted).abs() <= share * wanted.abs(),
        "{got} is not {wanted}"
    );
}

/// Ten seconds of a server that takes 1 ms, and stands still twenty times for 100 ms; threads with so many connections
/// each. (Each lives alone: in virtual time they would not wait for each other.)
fn stalled(threads: &[u32], pipeline: u32) -> Round {
    let server = Server::new(MS).stalling(20, MS * 100, MS * 250, MS * 500);
    let live = |connections: &u32| {
        let mut plan = plan(*connections, Stop::Duration(MS * 10_000));
        plan.protocol.pipeline = pipeline;
        thread(&plan, &server)
    };
    assemble(0, threads.iter().map(live).collect())
}

#[test]
fn index_and_blind_range_are_those_of_the_closed_form() {
    for connections in [&[1][..], &[5], &[1, 1], &[2, 1]] {
        let round = stalled(connections, 1);
        let threads = connections.len() as u32;
        let connections: u32 = connections.iter().sum();
        let stalls = f64::from(20 * threads);
        let endings = round.tally.series.endings() as f64;
        let time = 10.0 * f64::from(threads);
        assert_eq!(gaps(&round).time, MS * 10_000 * u64::from(threads));
        assert_eq!(gaps(&round).own_wait, Nanos::ZERO);
        let (summary, omission) = summary(round);
        // What was in flight when the stall began took 1 ms more than the stall, and so did the gap.
        let beyond = stalls * (0.101 - time / endings);
        assert_eq!(omission.stalls, stalls as u64);
        near(omission.longest_us.unwrap(), 101_000.0, 1e-9);
        near(omission.index, beyond / time, 1e-6);
        near(
            omission.affected_from.unwrap(),
            1.0 - 2.0 * omission.index,
            1e-12,
        );
        // T2: b k / (T - k D) of all samples are of stalls, on any number of connections.
        let caught = 1.0 - omission.affected_to.unwrap();
        near(
            caught,
            20.0 * f64::from(connections) / summary.latency_us.count as f64,
            1e-9,
        );
        near(caught, 0.001 * 20.0 / (10.0 - 20.0 * 0.1), 0.005);
        let latency = &summary.latency_us;
        let upper = [Percentile::P50, Percentile::P90, Percentile::P99];
        assert!(upper.iter().all(|p| latency.at(*p).is_some()));
        assert_eq!(
            omission.affected,
            [Percentile::P90, Percentile::P95, Percentile::P99]
        );
        // Behind the blind range the stalls are among the samples.
        assert_eq!(
            latency
                .at(Percentile::P999)
                .is_some_and(|p999| p999 > 100_000.0),
            connections > 1
        );
    }
}

#[test]
fn pipelines_put_more_exchanges_into_each_gap() {
    let round = stalled(&[2], 4);
    let gaps = gaps(&round);
    assert_eq!((gaps.length.count(), gaps.caught.count()), (20, 160));
}

#[test]
fn without_a_standstill_nothing_is_omitted_however_slow_the_server_is() {
    for (service, connections, noted) in [
        (Nanos::from_micros(300), 1, false),
        (Nanos::from_micros(300), 4, false),
        (MS * 200, 1, true),
        (MS * 200, 4, true),
    ] {
        let plan = plan(connections, Stop::Duration(MS * 4_000));
        let round = bottle(&plan, &Server::new(service));
        assert_eq!(gaps(&round).length.count() > 0, noted, "{service:?}");
        let (_, omission) = summary(round);
        assert_eq!((omission.index, omission.stalls), (0.0, 0), "{service:?}");
        assert_eq!((omission.longest_us, omission.affected_to), (None, None));
        assert!(omission.affected.is_empty());
    }
}

#[test]
fn a_gap_counts_above_five_times_the_median_and_not_at_it() {
    for (extra, counted) in [(MS * 80, 0), (MS * 81, 1)] {
        let mut server = Server::new(MS * 20);
        server.slow = Some((50, extra));
        let (_, omission) = summary(bottle(&plan(1, Stop::Duration(MS * 4_000)), &server));
        assert_eq!(omission.stalls, counted, "{extra:?}");
    }
}

#[test]
fn a_standstill_at_an_edge_of_the_window_counts_as_far_as_it_lies_inside() {
    let plan = plan(3, Stop::Duration(MS * 1_000));
    let first = bottle(
        &plan,
        &Server::new(MS).stalling(1, MS * 80, Nanos::ZERO, MS),
    );
    // The first answer came after the stall and its own millisecond.
    assert_eq!(gaps(&first).length.max(), Some(81_000_000));
    assert_eq!(gaps(&first).length.count(), 1);
    let last = bottle(&plan, &Server::new(MS).stalling(1, MS * 80, MS * 970, MS));
    let inside = gaps(&last).length.max().unwrap();
    assert!((30_000_000..=31_000_000).contains(&inside), "{inside}");
    assert_eq!(gaps(&last).length.count(), 1);
    // None of it is inside.
    let behind = bottle(&plan, &Server::new(MS).stalling(1, MS * 80, MS * 1_002, MS));
    assert_eq!(gaps(&behind).length.count(), 0);
}

#[test]
fn when_nothing_is_left_to_be_asked_nothing_is_omitted() {
    for (slow, noted) in [(1, 1), (100, 1), (199, 1), (200, 0)] {
        let mut server = Server::new(MS);
        server.slow = Some((slow, MS * 50));
        let round = bottle(&plan(1, Stop::Requests(200)), &server);
        assert_eq!(round.tally.ok, 200);
        assert_eq!(gaps(&round).length.count(), noted, "{slow}");
        assert_eq!(gaps(&round).time, round.window.span());
    }
}

#[test]
fn while_one_connection_waits_and_another_is_answered_nothing_stands_still() {
    let mut server = Server::new(Nanos::from_micros(500));
    server.slow = Some((100, MS * 50));
    let round = bottle(&plan(2, Stop::Duration(MS * 1_000)), &server);
    assert_eq!(round.tally.service.max(), Some(50_500_000));
    assert_eq!(gaps(&round).length.count(), 0);
}

#[test]
fn time_in_which_a_connection_is_opened_is_no_gap() {
    let mut plan = plan(1, Stop::Duration(MS * 1_000));
    plan.protocol.keepalive = false;
    let mut server = Server::new(Nanos::from_micros(500));
    server.connecting = MS * 20;
    let round = bottle(&plan, &server);
    assert!(round.tally.ok > 40);
    assert_eq!(gaps(&round).length.count(), 0);
}

#[test]
fn an_open_loop_omits_nothing() {
    let mut plan = plan(1, Stop::Duration(MS * 2_000));
    plan.load = Load::Open {
        rate: "500".parse().unwrap(),
        of: plan::Arriving::Exchanges,
        arrivals: Arrivals::Constant,
        connections: 4,
    };
    let server = Server::new(MS).stalling(4, MS * 100, MS * 250, MS * 500);
    let round = bottle(&plan, &server);
    assert_eq!(round.tally.stalls, None);
    assert_eq!(Summary::of(&[round]).unwrap().coordinated_omission, None);
}

#[test]
fn a_thread_that_was_stopped_is_no_standstill_of_the_server() {
    let plan = plan(4, Stop::Duration(MS * 10_000));
    let round = stopped(&plan, &Server::new(MS));
    let paused = round.paused();
    assert_eq!(paused.count, 1);
    // It has an alarm every tenth of a second, so that as much of it may be missing.
    assert!(
        paused.total > MS * 399 && paused.total <= MS * 500,
        "{paused:?}"
    );
    assert_eq!(paused.longest, paused.total);
    assert_eq!(gaps(&round).length.count(), 0);
    assert!(gaps(&round).own_wait >= MS * 499);
    assert_eq!(summary(round).1.stalls, 0);
}

#[test]
fn of_a_standstill_of_the_server_only_what_a_stop_may_have_made_is_taken_off() {
    let plan = plan(4, Stop::Duration(MS * 10_000));
    let server = Server::new(MS).stalling(1, MS * 2_000, MS * 3_000, MS);
    let round = stopped(&plan, &server);
    assert_eq!(round.paused().count, 1);
    let longest = gaps(&round).length.max().unwrap();
    assert!(
        (1_390_000_000..1_510_000_000).contains(&longest),
        "{longest}"
    );
    let sound = gaps(&bottle(&plan, &server)).length.max().unwrap();
    assert!(sound > 1_990_000_000, "{sound}");
}

#[test]
fn what_timed_out_while_the_thread_was_stopped_is_the_generators_doing() {
    let mut plan = plan(4, Stop::Duration(MS * 10_000));
    plan.timeouts.exchange = MS * 300;
    let blamed = |round: &Round, blame: Blame| {
        let is_late = |fault: record::Fault| fault.kind == Kind::Timeout && fault.blame == blame;
        round.tally.faults.count(is_late)
    };
    let round = stopped(&plan, &Server::new(MS));
    assert_eq!(
        (
            blamed(&round, Blame::Generator),
            blamed(&round, Blame::Server)
        ),
        (4, 0)
    );
    let server = Server::new(MS).stalling(1, MS * 500, MS * 3_000, MS);
    let round = bottle(&plan, &server);
    assert_eq!(
        (
            blamed(&round, Blame::Generator),
            blamed(&round, Blame::Server)
        ),
        (0, 4)
    );
}

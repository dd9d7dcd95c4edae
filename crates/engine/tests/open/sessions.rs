//! Connections that arrive by a schedule, each with a number of exchanges to ask, as httperf's do.

use super::*;
use record::Sessions;

const CONNECTING: Nanos = Nanos::from_micros(50);

/// Connections that arrive at `rate`, each to ask `each` exchanges.
fn visiting(rate: &str, each: u64, arrivals: Arrivals, stop: Stop) -> Plan {
    let mut plan = plan(rate, arrivals, 1_000, stop);
    if let Load::Open { of, .. } = &mut plan.load {
        *of = Arriving::Connections;
    }
    plan.protocol.requests_per_connection = Some(each);
    plan
}

fn at_most(mut plan: Plan, most: u32) -> Plan {
    if let Load::Open { connections, .. } = &mut plan.load {
        *connections = most;
    }
    plan
}

fn sessions(round: &Round) -> &Sessions {
    open(round).sessions.as_ref().expect("connections arrive")
}

/// The round, and when connections were opened, from the start of the window.
fn arrive(plan: &Plan, server: &Server) -> (Round, Vec<Nanos>) {
    let (round, servers) = bottle_on(plan, server, &Options::default());
    let start = round.window.start;
    let connected = servers.iter().flat_map(|server| &server.connected);
    let mut connected: Vec<Nanos> = connected.map(|at| *at - start).collect();
    connected.sort_unstable();
    (round, connected)
}

#[test]
fn each_connection_is_opened_when_it_is_due_and_asks_its_requests_one_after_the_other() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        for each in [1, 3, 10] {
            let plan = visiting("100", each, arrivals, Stop::Requests(60 * each));
            let (round, connected) = arrive(&plan, &Server::default());
            let what = format!("{arrivals} K {each}");
            let wanted: Vec<Nanos> = schedule(&plan).take(60).collect();
            assert_eq!(connected, wanted, "{what}");
            let (tally, open) = (&round.tally, open(&round));
            assert_eq!(
                (tally.scheduled, tally.ok),
                (60 * each, 60 * each),
                "{what}"
            );
            assert_eq!(
                (tally.connects.established, tally.connects.in_window),
                (60, 60)
            );
            // The first of each was due when its connection was; no session waited for the others, only for the server.
            let (connecting, service) = (CONNECTING.as_nanos(), MS.as_nanos());
            assert_eq!(open.response.sum(), 60 * (connecting + each * service));
            assert_eq!(open.connecting.sum(), 60 * connecting, "{what}");
            assert_eq!(open.queued.max(), Some(0), "{what}");
            assert_eq!(open.generator_late.max(), Some(0), "{what}");
            let sessions = sessions(&round);
            assert_eq!(
                (sessions.scheduled, sessions.aborted, sessions.skipped),
                (60, 0, 0)
            );
            let (time, whole) = (&sessions.time, connecting + each * service);
            assert_eq!(
                (time.count(), time.min(), time.max()),
                (60, Some(whole), Some(whole)),
                "{what}"
            );
        }
    }
}

#[test]
fn a_number_of_requests_is_shared_out_in_whole_connections_but_for_the_last() {
    for (number, each, connections) in [
        (25, 10, 3),
        (1, 10, 1),
        (30, 10, 3),
        (7, 1, 7),
        (101, 4, 26),
    ] {
        for threads in [1, 2, 5] {
            let stop = Stop::Requests(number);
            let mut plan = visiting("1k", each, Arrivals::Poisson, stop);
            plan.threads = threads;
            plan.warmup = if threads == 2 { MS * 30 } else { Nanos::ZERO };
            let (round, _) = arrive(&plan, &Server::default());
            let what = format!("{number} by {each} on {threads}");
            assert_eq!(
                (
                    round.tally.scheduled,
                    round.tally.ok,
                    sessions(&round).scheduled
                ),
                (number, number, connections),
                "{what}"
            );
            assert_eq!(sessions(&round).time.count(), connections, "{what}");
        }
    }
}

#[test]
fn what_arrives_when_none_may_be_opened_waits_and_is_counted_from_its_due() {
    let server = Server {
        service: MS * 10,
        ..Server::default()
    };
    let plan = visiting("100", 10, Arrivals::Constant, Stop::Requests(200));
    let (round, connected) = arrive(&at_most(plan, 2), &server);
    let life = CONNECTING + MS * 100;
    // The next goes to whichever of the two is free first.
    let mut free = [Nanos::ZERO; 2];
    let (mut began, mut queued, mut whole) = (Vec::new(), 0, 0);
    for number in 0..20 {
        let scheduled = MS * 10 * number;
        free.sort_unstable();
        let begin = free[0].max(scheduled);
        free[0] = begin + life;
        began.push(begin);
        queued += begin.saturating_sub(scheduled).as_nanos();
        whole += free[0].saturating_sub(scheduled).as_nanos();
    }
    assert_eq!(connected, began);
    assert_eq!((round.tally.ok, round.tally.connects.open_peak), (200, 2));
    assert_eq!(open(&round).queued.sum(), queued);
    assert_eq!(sessions(&round).time.sum(), whole);
    assert_eq!(open(&round).generator_late.max(), Some(0));
}

#[test]
fn a_window_holds_what_was_due_in_it_and_nothing_is_asked_after_it() {
    let mut plan = visiting("50", 5, Arrivals::Constant, Stop::Duration(MS * 1000));
    plan.warmup = MS * 300;
    let (round, seen) = bottle_with(&plan, &Server::default(), &Options::default());
    assert_eq!(
        (sessions(&round).scheduled, round.tally.scheduled),
        (50, 250)
    );
    assert_eq!((round.sent_total.warmup, seen), (75, 325));
    // Each takes a second and some for its ten, so that only the first asks all of them.
    let server = Server {
        service: MS * 100,
        ..Server::default()
    };
    let plan = visiting("10", 10, Arrivals::Constant, Stop::Duration(MS * 1000));
    let (round, connected) = arrive(&plan, &server);
    let asked: u64 = (1..=10).sum();
    assert_eq!((round.tally.scheduled, round.tally.ok), (asked, asked));
    assert_eq!((connected.len(), sessions(&round).scheduled), (10, 10));
    assert_eq!(
        (sessions(&round).time.count(), sessions(&round).aborted),
        (1, 0)
    );
}

#[test]
fn threads_share_out_the_connections_of_one_schedule() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        for threads in [1, 2, 5] {
            let mut plan = visiting("100", 3, arrivals, Stop::Duration(MS * 700));
            plan.warmup = MS * 300;
            plan.threads = threads;
            let (round, _) = bottle_with(&plan, &Server::default(), &Options::default());
            let before = |end: Nanos| {
                schedule(&plan)
                    .take_while(|scheduled| *scheduled < end)
                    .count() as u64
            };
            let wanted = before(MS * 1000) - before(MS * 300);
            assert_eq!(sessions(&round).scheduled, wanted, "{arrivals} {threads}");
        }
    }
}

#[test]
fn a_connection_that_the_server_closes_early_leaves_the_rest_unasked() {
    for (announces, ok, failed) in [(true, 4, 0), (false, 4, 1)] {
        let server = Server {
            close_after: 4,
            announces,
            ..Server::default()
        };
        let plan = visiting("50", 10, Arrivals::Constant, Stop::Duration(MS * 1000));
        let (round, connected) = arrive(&plan, &server);
        let tally = &round.tally;
        assert_eq!((tally.ok, tally.errors()), (50 * ok, 50 * failed));
        assert_eq!((connected.len(), tally.scheduled), (50, 50 * (ok + failed)));
        let sessions = sessions(&round);
        assert_eq!(
            (sessions.scheduled, sessions.aborted, sessions.skipped),
            (50, 50, 50 * (10 - ok - failed))
        );
        assert_eq!(sessions.time.count(), 0);
    }
}

#[test]
fn a_number_of_requests_is_exact_also_where_connections_end_early() {
    let server = Server {
        close_after: 4,
        announces: true,
        ..Server::default()
    };
    for threads in [1, 3] {
        let mut plan = visiting("200", 10, Arrivals::Poisson, Stop::Requests(100));
        plan.threads = threads;
        let (round, seen) = bottle_with(&plan, &server, &Options::default());
        assert_eq!(
            (round.tally.scheduled, round.tally.ok, seen),
            (100, 100, 100)
        );
        assert!(
            sessions(&round).scheduled >= 25,
            "{}",
            sessions(&round).scheduled
        );
    }
}

#[test]
fn a_connect_that_fails_costs_one_exchange_and_the_others_are_never_due() {
    let server = Server {
        refuse: true,
        ..Server::default()
    };
    let plan = visiting("100", 10, Arrivals::Constant, Stop::Duration(MS * 1000));
    let (round, _) = arrive(&plan, &server);
    let refused = faults(&round.tally, Kind::ConnectRefused);
    assert_eq!((round.tally.scheduled, refused), (100, 100));
    let sessions = sessions(&round);
    assert_eq!(
        (sessions.scheduled, sessions.aborted, sessions.skipped),
        (100, 100, 900)
    );
}

#[test]
fn a_timeout_ends_its_connection_and_what_never_got_one_is_censored_once() {
    let server = Server {
        silent_from: 0,
        ..Server::default()
    };
    let plan = visiting("100", 5, Arrivals::Constant, Stop::Duration(MS * 1000));
    let mut plan = at_most(plan, 10);
    plan.timeouts.exchange = MS * 200;
    let (round, _) = arrive(&plan, &server);
    let tally = &round.tally;
    let (cut, never) = (faults(tally, Kind::Timeout), faults(tally, Kind::NeverSent));
    assert_eq!((tally.scheduled, sessions(&round).scheduled), (100, 100));
    assert_eq!((cut + never, tally.ok), (100, 0));
    assert!(cut >= 40 && never >= 10, "{cut} {never}");
    assert!(sessions(&round).aborted <= cut && sessions(&round).time.count() == 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn whatever_the_network_does_every_connection_is_accounted_for(
        seed: u64,
        rate in 1u32..100,
        each in 1u64..7,
        connections in 1u32..9,
        threads in 1u32..3,
        requests in proptest::option::of(1u64..200),
        resets in 0.0..0.2f64,
        send_error in 0.0..0.1f64,
        close_after in 1u64..9,
        announces: bool,
        silent_from in 1u64..300,
        even: bool,
    ) {
        let stop = requests.map_or(Stop::Duration(MS * 300), Stop::Requests);
        let arrivals = if even { Arrivals::Constant } else { Arrivals::Poisson };
        let plan = visiting(&format!("{}", rate * 10), each, arrivals, stop);
        let mut plan = at_most(plan, connections);
        plan.threads = threads;
        plan.timeouts.exchange = MS * 200;
        plan.timeouts.connect = MS * 200;
        plan.seed = seed;
        let faults = Faults {
            resets,
            reorder: even,
            connect_error: Some((0.05, Errno::EADDRNOTAVAIL)),
            send_error: Some((send_error, Errno::EPIPE)),
            ..Faults::default()
        };
        let server = Server { close_after, announces, silent_from, ..Server::default() };
        let options = Options { faults, ..Options::default() };
        let (round, servers) = bottle_on(&plan, &server, &options);
        let (tally, sessions) = (&round.tally, sessions(&round));
        prop_assert!(tally.conserved());
        let seen: u64 = servers.iter().map(|server| server.requests).sum();
        prop_assert!(tally.ok <= seen && seen <= round.sent_total.sum());
        prop_assert!(sessions.time.count() + sessions.aborted <= sessions.scheduled);
        prop_assert!(sessions.skipped <= sessions.aborted * (each - 1).max(1));
        prop_assert!(tally.scheduled <= sessions.scheduled * each);
        prop_assert!(tally.scheduled + sessions.skipped <= sessions.scheduled * each);
        prop_assert!(tally.connects.open_peak <= u64::from(connections));
        match stop {
            Stop::Requests(number) => prop_assert!(tally.scheduled <= number),
            Stop::Duration(span) => {
                let scheduled = schedule(&plan).take_while(|scheduled| *scheduled < span).count() as u64;
                prop_assert_eq!(sessions.scheduled, scheduled);
            }
        }
    }
}

//! Requests that warm-up sent and that hang: which of them the window answers for.

use super::*;
use record::Step;

/// 100 ms of warm-up and a window of 50 ms on 4 connections.
fn short_window(timeout: Nanos) -> Plan {
    let mut plan = closed(4, Stop::Duration(MS * 50));
    plan.warmup = MS * 100;
    plan.timeouts.exchange = timeout;
    plan
}

fn silent() -> Script {
    Script {
        silent_from: Some(0),
        ..constant(MS)
    }
}

#[test]
fn what_hangs_from_before_the_window_until_after_it_is_carried_over() {
    for (pipeline, connect) in [(1, Connect::Eager), (1, Connect::Lazy), (3, Connect::Eager)] {
        let mut plan = short_window(MS * 160);
        plan.protocol.pipeline = pipeline;
        plan.connect = connect;
        let (round, seen, _) = bottle(&plan, silent(), Options::default());
        let tally = &round.tally;
        let number = u64::from(4 * pipeline);
        assert_eq!(
            (tally.carried_over, tally.scheduled, tally.started),
            (number, 0, 0)
        );
        assert_eq!((tally.requests(), tally.errors()), (number, number));
        assert_eq!((tally.censored(), tally.service.count()), (number, number));
        let by_server = tally.faults.count(|fault| {
            fault.kind == Kind::CarriedOver
                && fault.step == Step::Head
                && fault.blame == Blame::Server
        });
        assert_eq!(by_server, number);
        let from = tally.censored_from.unwrap();
        assert!(from >= MS * 160 && from <= MS * 170, "{from:?}");
        assert_eq!(
            (round.sent_total.warmup, round.sent_total.measure, seen),
            (number, 0, number)
        );
    }
}

#[test]
fn what_ends_inside_the_window_stays_warm_ups_and_what_comes_next_is_the_windows() {
    let (round, _, _) = bottle(&short_window(MS * 120), silent(), Options::default());
    let tally = &round.tally;
    assert_eq!((tally.carried_over, tally.scheduled), (0, 4));
    assert_eq!(faults(tally, Kind::Timeout), 4);
}

#[test]
fn what_ends_ok_in_the_drain_is_not_carried_over_and_what_ends_badly_is() {
    let late = constant(MS * 170);
    let plan = short_window(MS * 500);
    let (round, _, _) = bottle(&plan, late.clone(), Options::default());
    assert_eq!((round.tally.requests(), round.tally.errors()), (0, 0));

    let failing = Script {
        fails: true,
        ..late
    };
    let (round, _, _) = bottle(&plan, failing, Options::default());
    let tally = &round.tally;
    assert_eq!((tally.carried_over, tally.requests()), (4, 4));
    let at_verdict = tally.faults.count(|fault| fault.step == Step::Verdict);
    assert_eq!((at_verdict, tally.statuses.total()), (4, 0));
    assert_eq!(tally.censored_from, Some(MS * 170));
    assert_eq!(tally.service_5xx.count(), 0);
}

#[test]
fn with_a_number_of_requests_nothing_is_carried_over() {
    let mut plan = closed(4, Stop::Requests(20));
    plan.warmup = MS * 100;
    plan.timeouts.exchange = MS * 160;
    let (round, seen, _) = bottle(&plan, silent(), Options::default());
    let tally = &round.tally;
    assert_eq!(
        (tally.carried_over, tally.scheduled, tally.errors()),
        (0, 20, 20)
    );
    assert_eq!((round.sent_total.warmup, round.sent_total.sum()), (4, seen));
}

#[test]
fn a_window_shorter_than_the_pause_between_connects_holds_attempts_on_every_slot() {
    let refuse = Script {
        refuse: true,
        ..constant(MS)
    };
    for warmup in [Nanos::ZERO, MS * 300] {
        let mut plan = closed(2, Stop::Duration(MS * 100));
        plan.warmup = warmup;
        plan.timeouts.connect = MS * 1100; // connecting goes on for as long, and the pause grows to a second
        let (round, _, _) = bottle(&plan, refuse.clone(), Options::default());
        let refused = faults(&round.tally, Kind::ConnectRefused);
        // Attempts on each at 0, 1, 3, 7, 15, 31 and 63 ms.
        assert_eq!((round.tally.scheduled, refused), (14, 14), "{warmup:?}");
    }
}

//! How threads wait, in the bottle: on a simulated ring whose sleepers wake late, as those of real ones do. What being
//! awake gains, and what it takes, is compared with virtual time.

use engine::{Barrier, Job, Thread, assemble};
use kernel::sim::{Options, Peer, Sim, World};
use plan::{Arrivals, Load, Plan, Stop};
use record::{BusyPoll, OpenTimes, Round};
use std::sync::atomic::AtomicBool;
use units::{Instant, Nanos};

const US: Nanos = Nanos::from_micros(1);
const MS: Nanos = Nanos::from_millis(1);
/// How late who slept wakes up here.
const LATE: Nanos = Nanos::from_micros(40);
/// How long a server takes for an answer.
const SERVICE: Nanos = Nanos::from_micros(20);
const STRETCH: Nanos = Nanos::from_micros(100);
/// What asking for nothing takes on the simulated ring: nothing is more punctual than that.
const POLL: u64 = 500;
const NEAR: BusyPoll = BusyPoll::Near(STRETCH);

/// Answers each request after [`SERVICE`].
struct Server;

impl Peer for Server {
    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let requests = bytes.windows(4).filter(|four| four == b"\r\n\r\n").count();
        for _ in 0..requests {
            world.send(
                conn,
                at + SERVICE,
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            );
        }
    }
}

fn plan(load: Load) -> Plan {
    Plan {
        load,
        stop: Stop::Duration(Nanos::from_secs(1)),
        rounds: 1,
        ..Plan::example("192.0.2.1:80".parse().unwrap())
    }
}

fn open_loop(rate: &str) -> Plan {
    plan(Load::Open {
        rate: rate.parse().unwrap(),
        of: plan::Arriving::Exchanges,
        arrivals: Arrivals::Constant,
        connections: 4,
    })
}

/// `plan` on one thread that waits as `awake` says.
fn bottle(plan: &Plan, busy_poll: BusyPoll) -> Round {
    let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let options = Options {
        wake_late: LATE,
        ..Options::default()
    };
    let ring = Sim::with(1, Server, options);
    let thread = Thread::new(ring, &job, &barrier, 0, 0).in_round(0, busy_poll);
    assemble(0, vec![thread.run()])
}

fn open(round: &Round) -> &OpenTimes {
    round.tally.open.as_ref().expect("it is an open loop")
}

#[test]
fn who_sleeps_sends_late_and_sees_answers_late() {
    let round = bottle(&open_loop("1k"), BusyPoll::Never);
    let late = LATE.as_nanos();
    assert_eq!(round.tally.ok, 1000);
    assert_eq!(open(&round).generator_late.min(), Some(late));
    assert_eq!(round.tally.service.min(), Some(SERVICE.as_nanos() + late));
    let accounts = &round.threads[0];
    assert_eq!(
        (accounts.busy_polled, accounts.busy_poll),
        (Nanos::ZERO, BusyPoll::Never)
    );
}

#[test]
fn who_is_awake_for_the_last_stretch_does_neither() {
    for (rate, number) in [("1k", 1000), ("9k", 9000), ("30k", 30_000)] {
        for busy_poll in [NEAR, BusyPoll::Always] {
            let round = bottle(&open_loop(rate), busy_poll);
            assert_eq!((round.tally.scheduled, round.tally.ok), (number, number));
            let late = open(&round).generator_late.max().unwrap();
            let service = round.tally.service.max().unwrap();
            assert!(late <= POLL, "{rate} {busy_poll:?}: sent {late} ns late");
            assert!(
                service <= SERVICE.as_nanos() + 2 * POLL,
                "{rate} {busy_poll:?}: the answer was seen after {service} ns"
            );
            assert_eq!(round.threads[0].busy_poll, busy_poll);
        }
    }
}

#[test]
fn a_stretch_too_short_for_waking_up_is_late_by_the_rest() {
    let round = bottle(&open_loop("1k"), BusyPoll::Near(US * 30));
    let late = open(&round).generator_late.max().unwrap();
    assert!((10_000..=10_000 + POLL).contains(&late), "{late}");
}

#[test]
fn what_is_spun_is_the_stretches_and_the_waits_for_answers_and_nothing_else() {
    // Each exchange: the stretch before it, less waking up, and its answer.
    let round = bottle(&open_loop("1k"), NEAR);
    let each = round.threads[0].busy_polled / 1000;
    let wanted = STRETCH.saturating_sub(LATE) + SERVICE;
    let off = each.as_nanos().abs_diff(wanted.as_nanos());
    assert!(off <= 2 * POLL, "{each:?} instead of {wanted:?}");
    // In virtual time only waiting takes any.
    let always = bottle(&open_loop("1k"), BusyPoll::Always);
    let accounts = &always.threads[0];
    let rest = accounts.wall.saturating_sub(accounts.busy_polled);
    assert!(rest < MS * 21, "{rest:?} beside spinning");
}

#[test]
fn an_answer_that_takes_longer_than_the_stretch_is_not_waited_for_awake() {
    let mut plan = open_loop("100");
    plan.timeouts.exchange = MS * 5;
    let silent = |busy_poll| {
        let job = Job::new(plan.clone(), plan.target.endpoints[0].clone()).unwrap();
        let stop = AtomicBool::new(false);
        let barrier = Barrier::new(1, &stop);
        let ring = Sim::new(1, Silent);
        let thread = Thread::new(ring, &job, &barrier, 0, 0).in_round(0, busy_poll);
        assemble(0, vec![thread.run()])
    };
    let round = silent(NEAR);
    assert_eq!((round.tally.scheduled, round.tally.ok), (100, 0));
    let each = round.threads[0].busy_polled / 100;
    // The stretch before the first lies before the window.
    let off = each.as_nanos().abs_diff((STRETCH * 2).as_nanos());
    assert!(off <= 2000, "{each:?}");
}

#[test]
fn while_what_is_due_waits_for_a_connection_auto_sleeps_so_that_the_server_has_the_cpu() {
    // Four connections carry 200,000 a second at most.
    let spun = |rate, busy_poll| bottle(&open_loop(rate), busy_poll).threads[0].busy_polled;
    assert!(spun("100k", NEAR) > MS * 100);
    let behind = spun("400k", NEAR);
    assert!(behind < MS, "{behind:?}");
    assert!(spun("400k", BusyPoll::Always) > MS * 100);
}

/// Accepts, and never says anything.
struct Silent;

impl Peer for Silent {
    fn receive(&mut self, _: Instant, _: u64, _: &[u8], _: &mut World) {}
}

#[test]
fn a_closed_loop_that_never_sleeps_counts_the_same_and_sees_answers_at_once() {
    let mut plan = plan(Load::Closed { connections: 3 });
    plan.stop = Stop::Requests(5000);
    for (busy_poll, service) in [
        (BusyPoll::Never, SERVICE + LATE),
        (BusyPoll::Always, SERVICE),
    ] {
        let round = bottle(&plan, busy_poll);
        assert_eq!((round.tally.scheduled, round.tally.ok), (5000, 5000));
        let seen = round.tally.service.quantile(0.5).unwrap();
        let off = seen.abs_diff(service.as_nanos());
        assert!(off <= 2 * POLL, "{busy_poll:?}: {seen}");
        assert_eq!(
            round.threads[0].busy_polled > Nanos::ZERO,
            busy_poll == BusyPoll::Always
        );
    }
}

#[test]
fn turns_that_only_asked_are_not_counted_among_those_that_waited() {
    let turns = |busy_poll| bottle(&open_loop("1k"), busy_poll).threads[0].turns;
    let (asleep, busy_poll) = (turns(BusyPoll::Never), turns(BusyPoll::Always));
    assert_eq!(busy_poll.completions, asleep.completions);
    assert!(
        busy_poll.waits <= asleep.waits,
        "{busy_poll:?}, asleep {asleep:?}"
    );
}

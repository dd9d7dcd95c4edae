//! A healthy run to be spoiled by tests: ten connections, five rounds, a server that was the limit.

use plan::{Arrivals, Arriving, Axis, Level, Load, Plan, Stop, Sweep};
use record::{
    Baseline, BaselineTimes, Blame, Exchange, Fault, Footprint, Kind, Machine, Outcome, Point,
    Round, Run, SentTotal, Step, Tally, ThreadAccounts, Window,
};
use units::{Instant, Nanos, Rate};

/// Connections that the healthy run asks for.
pub(crate) const CONNECTIONS: u32 = 10;
/// Exchanges in each of its rounds, all of them ok.
pub(crate) const EXCHANGES: u64 = 10_000;

/// A run against which nothing worse than a note can be held.
pub(crate) fn healthy() -> Run {
    let mut plan = Plan::example("127.0.0.1:8080".parse().unwrap());
    plan.load = Load::Closed {
        connections: CONNECTIONS,
    };
    plan.stop = Stop::Duration(Nanos::from_secs(1));
    let machine = Machine {
        cpus_online: 4,
        cpus_allowed: vec![0, 1, 2, 3],
        ..Machine::default()
    };
    let mut run = Run::new(plan, machine, env!("CARGO_PKG_VERSION"), 1_700_000_000);
    run.points.push(Point {
        rounds: (0..run.plan.rounds).map(round).collect(),
        ..Point::new(Level::of(run.plan.load))
    });
    run.summarise();
    run
}

/// The healthy run as an open loop: a thousand a second, evenly, each round of a second, without waiting.
pub(crate) fn open_loop() -> Run {
    const NUMBER: u64 = 1_000;
    let mut run = healthy();
    run.plan.load = Load::Open {
        rate: Rate::per_second(NUMBER),
        of: Arriving::Exchanges,
        arrivals: Arrivals::Constant,
        connections: CONNECTIONS,
    };
    run.points[0].level.load = run.plan.load;
    run.points[0].baseline = Some(baseline());
    for round in &mut run.points[0].rounds {
        let mut tally = Tally {
            open: Some(Box::default()),
            ..Tally::default()
        };
        (0..NUMBER).for_each(|number| answer(&mut tally, number, 200));
        tally.ok_in_window = NUMBER;
        round.tally = tally;
        round.sent_total.measure = NUMBER;
    }
    run.summarise();
    run
}

/// A sweep over these connections of healthy runs, with so many requests/s at each and hardly a scatter.
pub(crate) fn sweep(connections: &[u32], rates: &[u64]) -> Run {
    let mut run = healthy();
    run.plan.sweep = Some(Sweep {
        axes: vec![Axis::Connections(connections.to_vec())],
        ..Sweep::default()
    });
    let level = |(&connections, rate): (&u32, &u64)| {
        let mut point = Point::new(Level::of(Load::Closed { connections }));
        point.rounds = (0..run.plan.rounds).map(round).collect();
        for round in &mut point.rounds {
            round.tally.ok_in_window = rate + u64::from(round.index);
        }
        point
    };
    run.points = connections.iter().zip(rates).map(level).collect();
    run
}

/// Chance that follows from a seed (Marsaglia's xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    /// The same sequence each time.
    pub(crate) fn seeded() -> Chance {
        Chance(0x9E37_79B9_7F4A_7C15)
    }

    /// Between 0 and 1, neither of them.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential, of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Normal, of mean 0 and standard deviation 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let length = (2.0 * self.exponential()).sqrt();
        length * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The share of 10,000 runs, each simulated with further draws, in which something is found.
pub(crate) fn simulated(mut finds: impl FnMut(&mut Chance) -> bool) -> f64 {
    let mut chance = Chance::seeded();
    let found = (0..10_000).filter(|_| finds(&mut chance)).count();
    found as f64 / 10_000.0
}

/// A round of a second of which nothing else is known.
pub(crate) fn bare_round() -> Round {
    Round {
        window: Window {
            start: Instant::ZERO,
            end: Instant::ZERO + Nanos::from_secs(1),
        },
        ..Round::default()
    }
}

/// What the self-test of the healthy open loop found: an instrument that hardly shows.
fn baseline() -> Baseline {
    Baseline {
        rate: Rate::per_second(1_000),
        window: Nanos::from_millis(500),
        requests: 500,
        rps: 1_000.0,
        threads: 1,
        response_us: BaselineTimes {
            p50: Some(20.0),
            p99: None,
        },
        generator_late_us: BaselineTimes {
            p50: Some(5.0),
            p99: None,
        },
        cpu_per_request: Some(Nanos::from_micros(10)),
        generator_busy: Some(0.01),
    }
}

/// One healthy round: generator 40 % busy, server 97 %.
pub(crate) fn round(index: u32) -> Round {
    let start = Instant::from_nanos(1_000_000_000 + u64::from(index) * 2_000_000_000);
    let wall = Nanos::from_secs(1);
    let mut tally = Tally::default();
    (0..EXCHANGES).for_each(|number| answer(&mut tally, number, 200));
    tally.ok_in_window = EXCHANGES + u64::from(index);
    tally.connects.attempted = CONNECTIONS.into();
    tally.connects.established = CONNECTIONS.into();
    tally.connects.open_at_start = CONNECTIONS.into();
    tally.connects.open_peak = CONNECTIONS.into();
    Round {
        index,
        window: Window {
            start,
            end: start + wall,
        },
        tally,
        threads: vec![busy_thread(0.40)],
        footprint: Some(busy_server(0.97)),
        sent_total: SentTotal {
            measure: EXCHANGES,
            ..SentTotal::default()
        },
        ..Round::default()
    }
}

/// A thread that was busy for this share of a second.
pub(crate) fn busy_thread(share: f64) -> ThreadAccounts {
    ThreadAccounts {
        wall: Nanos::from_secs(1),
        cpu: Nanos::from_nanos((share * 1e9) as u64),
        run_queue_wait: Some(Nanos::ZERO),
        ..ThreadAccounts::default()
    }
}

/// A server that used this share of one CPU for a second.
pub(crate) fn busy_server(share: f64) -> Footprint {
    Footprint {
        cpu: Nanos::from_nanos((share * 1e9) as u64),
        processes: 1,
        cpus_allowed: 1.0,
        cpus: vec![0],
        wall: Nanos::from_secs(1),
        lower_bound: false,
        ..Footprint::default()
    }
}

/// Adds one ok exchange answered with `status`.
pub(crate) fn answer(tally: &mut Tally, number: u64, status: u16) {
    tally.scheduled += 1;
    tally.observe(&exchange(number), Outcome::Ok, status);
}

/// Adds one exchange that ended badly.
pub(crate) fn fail(tally: &mut Tally, kind: Kind, status: u16) {
    tally.scheduled += 1;
    let fault = Fault {
        step: Step::Head,
        kind,
        blame: Blame::Server,
    };
    tally.observe(&exchange(0), Outcome::Fault(fault), status);
}

/// Adds `number` exchanges that were sent before the window and given up two seconds later, with no response.
pub(crate) fn carry_over(tally: &mut Tally, number: u64) {
    let fault = Fault {
        step: Step::Head,
        kind: Kind::Timeout,
        blame: Blame::Server,
    };
    let sent = Instant::from_nanos(2_000_000_000);
    let cut = Exchange {
        scheduled: sent,
        sent,
        first: Instant::ZERO,
        done: sent + Nanos::from_secs(2),
    };
    (0..number).for_each(|_| tally.observe_carried_over(&cut, fault));
}

fn exchange(number: u64) -> Exchange {
    let sent = Instant::from_nanos(2_000_000_000 + number);
    Exchange {
        scheduled: sent,
        sent,
        first: sent + Nanos::from_micros(100),
        done: sent + Nanos::from_micros(100 + number % 100),
    }
}

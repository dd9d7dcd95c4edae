//! Runs of an open loop: one server that takes what is scheduled in turn, and a schedule that does not wait for it.

use super::{Act, Draw, Script, connected};
use crate::{
    Baseline, BaselineTimes, Exchange, Outcome, Round, Run, SentTotal, Sessions, Tally, Waits,
    Window,
};
use plan::{Arrivals, Arriving, Connect, Load, Pacing, Plan, Stop, Stretch};
use stats::Histogram;
use units::{Instant, Nanos, Rate};

/// The send delay that is the generator's own.
const LATE: Nanos = Nanos::from_micros(55);

/// Three rounds of a second at 2000 requests/s, which the server has time for.
pub fn open_loop() -> Run {
    play(
        exchanges(2_000, Arrivals::Poisson, 1_000),
        Nanos::from_micros(300),
    )
}

/// The same rate, of which the server can do 1250: the rest waits, and some of it for ever.
pub fn overloaded() -> Run {
    play(
        exchanges(2_000, Arrivals::Poisson, 1),
        Nanos::from_micros(800),
    )
}

/// Three rounds of a second at 200 connections/s of 10 requests each, evenly; the server ends one in fifty early.
pub fn sessions() -> Run {
    const EACH: u64 = 10;
    const SKIPPED: u64 = 14;
    let load = exchanges(200 * EACH - SKIPPED, Arrivals::Constant, 1_000);
    let mut run = play(load, Nanos::from_micros(300));
    run.plan.load = Load::Open {
        rate: Rate::per_second(200),
        of: Arriving::Connections,
        arrivals: Arrivals::Constant,
        connections: 1_000,
    };
    run.plan.protocol.requests_per_connection = Some(EACH);
    run.points[0].level.load = run.plan.load;
    run.points[0].baseline = Some(baseline(Rate::per_second(200)));
    for round in &mut run.points[0].rounds {
        let mut time = Histogram::default();
        (0..196).for_each(|number| time.record(3_100_000 + number * 10_000));
        let connects = &mut round.tally.connects;
        (connects.attempted, connects.established) = (200, 200);
        (connects.in_window, connects.open_peak) = (199, 3);
        connects.open_at_start = 0;
        if let Some(open) = &mut round.tally.open {
            open.sessions = Some(Sessions {
                scheduled: 200,
                aborted: 4,
                skipped: SKIPPED,
                time,
            });
        }
    }
    run.summarise();
    run
}

/// A load of so many exchanges a second.
fn exchanges(rate: u64, arrivals: Arrivals, connections: u32) -> Load {
    Load::Open {
        rate: Rate::per_second(rate),
        of: Arriving::Exchanges,
        arrivals,
        connections,
    }
}

fn play(load: Load, service: Nanos) -> Run {
    let mut run = Script {
        threads: 1,
        rounds: 3,
        window: Nanos::from_secs(1),
        server: Some(41),
        ..Script::default()
    }
    .play();
    run.plan.load = load;
    run.plan.connect = Connect::Lazy;
    run.points[0].level.load = run.plan.load;
    if let Load::Open { rate, .. } = load {
        run.points[0].baseline = Some(baseline(rate));
    }
    for round in &mut run.points[0].rounds {
        refill(round, &run.plan, service);
    }
    run.summarise();
    run
}

/// What the self-test found: a thousand exchanges in half a second, each far quicker than the server is.
fn baseline(rate: Rate) -> Baseline {
    Baseline {
        rate,
        window: Nanos::from_millis(500),
        requests: 1_012,
        rps: 2_024.0,
        threads: 1,
        response_us: BaselineTimes {
            p50: Some(48.5),
            p99: Some(112.0),
        },
        generator_late_us: BaselineTimes {
            p50: Some(6.5),
            p99: Some(31.0),
        },
        cpu_per_request: Some(Nanos::from_nanos(14_200)),
        generator_busy: Some(0.031),
    }
}

/// Fills a round with what the schedule makes of it.
fn refill(round: &mut Round, plan: &Plan, service: Nanos) {
    let (Load::Open { rate, arrivals, .. }, Stop::Duration(span)) = (plan.load, plan.stop) else {
        return;
    };
    let seed = Stretch::Window.seed(plan.seed, round.index);
    let scheduled =
        Pacing::new(arrivals, rate, seed, 0, 1).take_while(|scheduled| *scheduled < span);
    let mut queue = Queue {
        window: round.window,
        limit: round.window.end + plan.timeouts.exchange,
        service,
        free: round.window.start,
        draw: Draw(u64::from(round.index) + 1),
        tally: Tally {
            open: Some(Box::default()),
            ..Tally::default()
        },
    };
    if let Some(open) = &mut queue.tally.open {
        open.growth.start = round.window.start;
    }
    connected(&mut queue.tally);
    queue.tally.connects.open_at_start = 1;
    queue.tally.connects.open_peak = 1;
    scheduled.for_each(|scheduled| queue.exchange(round.window.start + scheduled));
    round.tally = queue.tally;
    round.sent_total = SentTotal {
        measure: round.tally.started,
        ..SentTotal::default()
    };
}

/// One connection, on which one exchange follows the other.
struct Queue {
    window: Window,
    /// When the drain gives up.
    limit: Instant,
    service: Nanos,
    free: Instant,
    draw: Draw,
    tally: Tally,
}

impl Queue {
    fn exchange(&mut self, scheduled: Instant) {
        self.tally.scheduled += 1;
        let assigned = self.free.max(scheduled);
        if assigned >= self.limit {
            let blame = crate::Blame::Server;
            return self
                .tally
                .observe_never_sent(1, self.limit - scheduled, blame);
        }
        let sent = assigned + LATE;
        let done = sent
            + self.service
            + Nanos::from_nanos(Act::ok(&mut self.draw).service.as_nanos() / 50);
        self.free = done;
        let exchange = Exchange {
            scheduled,
            sent,
            first: done,
            done,
        };
        self.tally.observe(&exchange, Outcome::Ok, 200);
        if let Some(open) = &mut self.tally.open {
            let waits = Waits {
                queued: assigned - scheduled,
                connecting: Nanos::ZERO,
            };
            open.observe_sent(exchange.send_delay(), waits);
        }
        self.tally.bytes_sent += super::REQUEST_BYTES;
        self.tally.bytes_received += super::HEAD_BYTES + super::BODY_BYTES;
        self.tally.bodies.observe(0, super::BODY_BYTES, None);
        if done < self.window.end {
            self.tally.ok_in_window += 1;
            self.tally.series.add(done - self.window.start, 1, 0);
        }
    }
}

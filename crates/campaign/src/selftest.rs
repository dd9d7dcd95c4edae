//! The self-test: the baseline latency of the planned rate, measured before the load.
//!
//! A short round of the very loop that will carry the load, on the same schedule, threads and ring, against our own small
//! server in a thread of this process. The result is the baseline of everything that is ours, with the kernel's loopback
//! path: a server's response times near it say little of the server. (Timing empty events would be simpler, and would leave
//! out nearly all that an exchange costs.)
//!
//! It also finds out what the generator can offer at most. Not by whether it kept up, which on a busy machine it may not do
//! although it could: by the CPU time that each exchange took its threads, which waiting for a CPU does not change. A rate
//! far beyond that is refused; what lies nearer is tried, and judged by what came of it.

mod reach;

pub use reach::BeyondReach;

use engine::{Job, JobError, Observer, Rep};
use kernel::{Address, affinity, quota};
use plan::{Endpoint, Expect, Load, Plan, Request, Requests, Stop, Target, Timeouts};
use record::{Baseline, BusyPoll};
use refserver::{Config, Limits, Server};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use thiserror::Error;
use units::{Nanos, Rate};

/// At lower rates than this half a second would hold too few exchanges for a median. The baseline hardly depends on so low a
/// rate: at each of them the threads sleep before nearly every exchange.
const RATE_LEAST: Rate = Rate::per_second(200);
/// Of fewer connections a second, half a second might see none arrive.
const CONNECTIONS_LEAST: Rate = Rate::per_second(20);
/// More than a thread can offer: an exchange over a socket takes it several microseconds. A rate beyond that finds the same
/// ceiling, and would leave more behind than is soon put away.
const RATE_MOST_OF_THREAD: f64 = 1e6;
/// So many exchanges carry a p99 that a few disturbances do not decide.
const EXCHANGES: u64 = 10_000;
/// A median needs twenty, and random arrivals may be fewer than their mean.
const EXCHANGES_LEAST: u64 = 50;
/// Shorter, the accounts of CPU time would say too little.
const SPAN_LEAST: Nanos = Nanos::from_millis(100);
/// Longer, one would wait for it.
const SPAN_MOST: Nanos = Nanos::from_millis(500);
/// Opens connections and fills caches.
const WARMUP: Nanos = Nanos::from_millis(50);
/// How long a server that has nothing to do may take. It also bounds how long a backlog is worked off.
const PATIENCE: Nanos = Nanos::from_millis(250);
/// Connections of a thread: at 10 us an exchange they carry three times what a thread can offer.
const CONNECTIONS_OF_THREAD: u32 = 32;
/// A worker of the server carries four times as much, so that it is not what one waits for.
const RATE_OF_WORKER: f64 = 50_000.0;
/// Connections that the server has places for: with `--no-keepalive` some are still closing.
const PLACES: u32 = 4_096;
/// A rate is refused when it is so many times what the generator can offer. CPU time for the same work varies by some ten
/// per cent with clock frequency and with neighbours on the same core, and by a little more with what the machine takes from
/// a virtual one; nothing of that makes a quarter.
const BEYOND: f64 = 1.25;
/// Where our server listens, unless the load's connections are over a Unix socket: then its own are too.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How often the generator may try before a rate is refused: a disturbance that lasts as long is not one.
const TRIES: u32 = 3;

/// Why there is no baseline.
#[derive(Debug, Error)]
pub enum SelfTestError {
    /// The generator cannot offer such a rate.
    #[error(transparent)]
    BeyondReach(BeyondReach),
    /// It was interrupted.
    #[error("interrupted before the load began")]
    Interrupted,
    /// Its server, threads or connections could not be had.
    #[error("{0}")]
    Unavailable(String),
    /// No exchange ended well.
    #[error("the reference server sent no response")]
    Silence,
}

/// Returns the error of a self-test that lacks something, because of `error`.
fn unavailable(error: impl std::fmt::Display) -> SelfTestError {
    SelfTestError::Unavailable(error.to_string())
}

/// Measures the baseline for `plan`, which has an open loop. When `stop` becomes true it ends at once.
///
/// # Errors
/// [`SelfTestError`]; only [`SelfTestError::BeyondReach`] says something of the plan.
pub(crate) fn baseline(
    plan: &Plan,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Baseline, SelfTestError> {
    let cpus = cpus();
    let is_unix = matches!(plan.target.endpoints.first(), Some(Endpoint::Unix(_)));
    let folder = is_unix.then(tempfile::tempdir).transpose();
    let no_folder = |error| unavailable(format!("there is no folder for its socket: {error}"));
    let folder = folder.map_err(no_folder)?;
    let listen = match &folder {
        Some(folder) => Address::Unix(folder.path().join("s")),
        None => Address::Ip(ANY_PORT),
    };
    let server = Server::bind(&config(plan, cpus, listen)).map_err(unavailable)?;
    let at = server.addresses().first().cloned();
    let job = job(plan, at.ok_or(SelfTestError::Silence)?).map_err(unavailable)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = Raised(&over);
        thread::Builder::new()
            .spawn_scoped(scope, || server.run(&over))
            .map_err(|error| unavailable(format!("its server cannot be started: {error}")))?;
        let attempt = |number| attempt(&job, number, stop, observer);
        best(plan, cpus, attempt)
    })
}

/// The job that loads our own server at `at`. Its threads wait as the load's will: where that loads another machine a CPU may be
/// free for them that our server then takes its part of, but asleep they would have another baseline than the load.
fn job(plan: &Plan, at: Endpoint) -> Result<Job, JobError> {
    let load = plan.target.endpoints.first();
    let busy_poll = load.map_or(BusyPoll::Never, |load| engine::busy_poll(plan, load));
    let mut job = Job::new(plan_of(plan, at.clone()), at)?;
    job.busy_poll = busy_poll;
    Ok(job)
}

/// Raises a flag in the end, however that comes.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// CPUs' worth of time that this process may use.
fn cpus() -> f64 {
    let allowed = affinity::allowed().len().max(1) as f64;
    quota::own().map_or(allowed, |quota| quota.min(allowed))
}

fn config(plan: &Plan, cpus: f64, listen: Address) -> Config {
    let spare = (cpus as u32).saturating_sub(plan.threads()).max(1);
    let exchanges = rate(plan).as_f64() * each(plan);
    let wanted = (exchanges / RATE_OF_WORKER).ceil() as u32;
    Config {
        listen: vec![listen],
        workers: wanted.clamp(1, spare),
        limits: Limits {
            connections: PLACES,
            connections_per_address: 0,
            drain: PATIENCE,
            ..Limits::default()
        },
        ..Config::default()
    }
}

/// The user's plan, changed only as far as it must be to be carried out against our own server at `at` and soon be over:
/// whatever else it says, now or later, applies to the generator, and so to its baseline.
fn plan_of(plan: &Plan, at: Endpoint) -> Plan {
    let rate = rate(plan);
    let threads = plan.threads();
    let most = threads.saturating_mul(CONNECTIONS_OF_THREAD);
    Plan {
        target: Target {
            scheme: "http".into(),
            authority: match &at {
                Endpoint::Ip(at) => at.to_string(),
                Endpoint::Unix(_) => "localhost".into(),
            },
            endpoints: vec![at],
        },
        requests: Requests::Listed(vec![Request::get("/100.html")]),
        load: match plan.load {
            Load::Open { of, arrivals, .. } => Load::Open {
                rate,
                of,
                // Half a second may hold no whole period.
                arrivals: arrivals.steady(),
                connections: plan.connections().min(most),
            },
            closed @ Load::Closed { .. } => closed,
        },
        stop: Stop::Duration(span(plan, rate)),
        rounds: 1,
        warmup: WARMUP,
        threads,
        timeouts: Timeouts {
            exchange: PATIENCE,
            connect: PATIENCE,
        },
        sources: Vec::new(),
        security: None,
        expect: Expect::default(),
        server: None,
        ..plan.clone()
    }
}

/// Exchanges of an arrival.
fn each(plan: &Plan) -> f64 {
    plan.load.exchanges_per_arrival(&plan.protocol) as f64
}

/// The rate at which the baseline is measured: of arrivals, whose requests are compared with its limits.
fn rate(plan: &Plan) -> Rate {
    let each = each(plan);
    let of = |exchanges: f64| Rate::of_f64(exchanges / each).unwrap_or_default();
    let least = of(RATE_LEAST.as_f64()).max(match plan.load.is_of_connections() {
        true => CONNECTIONS_LEAST,
        false => Rate::default(),
    });
    let most = of(f64::from(plan.threads()) * RATE_MOST_OF_THREAD).max(least);
    match plan.load {
        Load::Open { rate, .. } => rate.clamp(least, most),
        Load::Closed { .. } => least,
    }
}

/// How long is measured: not for longer than the load will last either, where that is short.
fn span(plan: &Plan, rate: Rate) -> Nanos {
    let second = rate.as_f64() * each(plan);
    let exchanges = |number: u64| Nanos::from_nanos((number as f64 / second * 1e9) as u64);
    let window = match plan.stop {
        Stop::Duration(span) => span,
        Stop::Requests(number) => exchanges(number),
    };
    let load = (plan.warmup + window) * u64::from(plan.rounds);
    let least = exchanges(EXCHANGES_LEAST).clamp(SPAN_LEAST, SPAN_MOST);
    exchanges(EXCHANGES).min(load).clamp(least, SPAN_MOST)
}

/// Measures once.
fn attempt(
    job: &Job,
    number: u32,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Baseline, SelfTestError> {
    let rep = Rep {
        index: number,
        seq: 0,
    };
    let measured = engine::round(job, rep, None, stop, observer);
    if stop.load(Ordering::Relaxed) {
        return Err(SelfTestError::Interrupted);
    }
    let (round, plan) = (measured.map_err(unavailable)?.0, &job.plan);
    match round.tally.connects.failed.total() {
        0 => Baseline::of(&round, rate(plan), plan.connections()).ok_or(SelfTestError::Silence),
        failed => {
            let failed = units::count(failed);
            Err(unavailable(format!("{failed} of its connections failed")))
        }
    }
}

/// What the first attempt finds, unless it did not keep up: then the second counts, whatever it finds, as what disturbed
/// the first may be over. Unless by an attempt the rate is beyond the generator's reach: then it may try again, and what it
/// reached at best counts.
fn best(
    plan: &Plan,
    cpus: f64,
    mut attempt: impl FnMut(u32) -> Result<Baseline, SelfTestError>,
) -> Result<Baseline, SelfTestError> {
    let mut behind: Option<Baseline> = None;
    let mut beyond: Option<BeyondReach> = None;
    for number in 0..TRIES {
        let baseline = attempt(number)?;
        match beyond_reach(plan, &baseline, cpus) {
            None if baseline.kept_up() || number > 0 => return Ok(baseline),
            None => behind = Some(baseline),
            Some(_) if behind.is_some() => break,
            Some(found) => {
                beyond = Some(match beyond {
                    Some(best) if best.most >= found.most => best,
                    _ => found,
                });
            }
        }
    }
    behind.ok_or_else(|| {
        SelfTestError::BeyondReach(beyond.expect("each attempt is behind or beyond"))
    })
}

/// Whether the rate is clearly more than threads that take so long for an exchange could offer.
fn beyond_reach(plan: &Plan, baseline: &Baseline, cpus: f64) -> Option<BeyondReach> {
    let Load::Open { rate, of, .. } = plan.load else {
        return None;
    };
    let at_once = f64::from(baseline.threads).min(cpus);
    let cpu_per_exchange = baseline.cpu_per_request?;
    let most = at_once * 1e9 / cpu_per_exchange.as_nanos() as f64 / each(plan);
    (rate.as_f64() > BEYOND * most).then_some(BeyondReach {
        rate,
        of,
        most,
        threads: baseline.threads,
        cpus,
        cpu_per_exchange,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Progress, Silent};
    use plan::{Arrivals, Arriving, Protocol, ServerCommand};
    use record::BaselineTimes;

    fn open(rate: &str, connections: u32) -> Plan {
        Plan {
            load: Load::Open {
                rate: rate.parse().unwrap(),
                of: Arriving::Exchanges,
                arrivals: Arrivals::Constant,
                connections,
            },
            ..Plan::example("192.0.2.1:80".parse().unwrap())
        }
    }

    fn costing(micros: u64, threads: u32) -> Baseline {
        Baseline {
            rate: Rate::per_second(1_000),
            window: SPAN_MOST,
            requests: 500,
            rps: 1_000.0,
            threads,
            response_us: BaselineTimes {
                p50: Some(50.0),
                p99: None,
            },
            generator_late_us: BaselineTimes::default(),
            cpu_per_request: Some(Nanos::from_micros(micros)),
            generator_busy: None,
        }
    }

    #[test]
    fn the_plan_is_the_users_but_for_whom_it_asks_what_and_how_long() {
        let mut plan = open("3k", 1_000);
        plan.threads = 2;
        plan.pin = true;
        plan.seed = 77;
        plan.sources = vec!["192.0.2.9".parse().unwrap()];
        plan.protocol = Protocol {
            keepalive: false,
            ..Protocol::default()
        };
        plan.server = Some(ServerCommand {
            argv: vec!["server".into()],
            ready_within: Nanos::from_secs(1),
            reference_server: false,
        });
        let at = SocketAddr::from(([127, 0, 0, 1], 9));
        let own = plan_of(&plan, Endpoint::Ip(at));
        assert_eq!(own.target.endpoints, [Endpoint::Ip(at)]);
        assert!(own.sources.is_empty() && own.server.is_none());
        assert_eq!(own.stop, Stop::Duration(SPAN_MOST));
        let Load::Open { connections, .. } = own.load else {
            panic!("{:?}", own.load)
        };
        assert_eq!(connections, 2 * CONNECTIONS_OF_THREAD);
        // All the rest is the user's.
        let restored = Plan {
            target: plan.target.clone(),
            requests: plan.requests.clone(),
            load: plan.load,
            stop: plan.stop,
            rounds: plan.rounds,
            warmup: plan.warmup,
            timeouts: plan.timeouts,
            sources: plan.sources.clone(),
            server: plan.server.clone(),
            ..own
        };
        assert_eq!(restored, plan);
    }

    #[test]
    fn as_many_threads_work_as_in_the_load() {
        let mut plan = open("3k", 1_000);
        plan.threads = 4;
        plan.stop = Stop::Requests(2);
        let own = plan_of(&plan, Endpoint::Ip(ANY_PORT));
        assert_eq!(
            (plan.threads(), own.threads(), own.connections()),
            (2, 2, 2)
        );
    }

    #[test]
    fn rate_and_span_are_within_what_tells_something() {
        // rate, the load's window in ms, threads; rate and span in ms of the self-test
        let cases: &[(&str, u64, u32, u64, u64)] = &[
            ("0.5", 100_000, 1, 200, 500),
            ("200", 10_000, 1, 200, 500),
            ("1k", 10_000, 1, 1_000, 500),
            ("50k", 10_000, 1, 50_000, 200),
            ("100k", 10_000, 1, 100_000, 100),
            ("200k", 10_000, 1, 200_000, 100),
            ("50m", 10_000, 1, 1_000_000, 100),
            ("50m", 10_000, 3, 3_000_000, 100),
            // A load that is short has a short self-test, but one that a median can be had of.
            ("1k", 40, 1, 1_000, 200),
            ("1k", 1, 1, 1_000, 100),
            ("0.5", 1, 1, 200, 250),
        ];
        for &(rate_asked, window, threads, wanted, millis) in cases {
            let mut plan = open(rate_asked, 100);
            plan.stop = Stop::Duration(Nanos::from_millis(window));
            plan.threads = threads;
            let found = rate(&plan);
            assert_eq!(found, Rate::per_second(wanted), "{rate_asked}");
            assert_eq!(
                span(&plan, found),
                Nanos::from_millis(millis),
                "{rate_asked} {window}"
            );
        }
    }

    #[test]
    fn a_rate_is_refused_from_a_quarter_beyond_the_ceiling_on() {
        // 10 us an exchange: a thread could offer 100,000 a second.
        for (rate, threads, cpus, most) in [
            ("125k", 1, 4.0, None),
            ("125001", 1, 4.0, Some(100_000.0)),
            ("250k", 2, 4.0, None),
            ("250001", 2, 4.0, Some(200_000.0)),
            ("250001", 4, 2.0, Some(200_000.0)),
            ("100k", 2, 0.5, Some(50_000.0)),
            ("0.5", 1, 4.0, None),
        ] {
            let found = beyond_reach(&open(rate, 100), &costing(10, threads), cpus);
            assert_eq!(
                found.map(|found| found.most.round()),
                most,
                "{rate} {threads} {cpus}"
            );
        }
        let free = beyond_reach(&open("900m", 1_000), &costing(0, 1), 1.0);
        assert_eq!(free, None, "where CPU time is not told, nothing is refused");
    }

    #[test]
    fn a_rate_of_connections_counts_their_exchanges() {
        let mut plan = open("20k", 100);
        let Load::Open { of, .. } = &mut plan.load else {
            panic!("{:?}", plan.load)
        };
        *of = Arriving::Connections;
        plan.protocol.requests_per_connection = Some(10);
        let found = beyond_reach(&plan, &costing(10, 1), 4.0).unwrap();
        assert_eq!(found.most, 10_000.0);
        assert!(
            found.to_string().starts_with(
                "--connection-rate 20,000 is more than this generator can offer, about 10,000 connections/s with 1 thread ("
            ),
            "{found}"
        );
        assert_eq!(rate(&plan), Rate::per_second(20_000));
        assert_eq!(span(&plan, rate(&plan)), SPAN_LEAST);
        plan.protocol.requests_per_connection = Some(u64::MAX);
        assert_eq!(rate(&plan), CONNECTIONS_LEAST);
    }

    #[test]
    fn a_rate_is_refused_only_when_every_attempt_falls_short() {
        let plan = open("100k", 100);
        for (costs, tried, wanted) in [
            (&[10][..], 1, Ok(10)),
            (&[30, 10], 2, Ok(10)),
            (&[30, 40, 11], 3, Ok(11)),
            (&[30, 20, 40], 3, Err(50_000.0)),
        ] {
            let mut attempts = 0;
            let found = best(&plan, 4.0, |number| {
                attempts += 1;
                Ok(costing(costs[number as usize], 1))
            });
            let found = match found {
                Ok(baseline) => Ok(baseline.cpu_per_request.unwrap().as_nanos() / 1_000),
                Err(SelfTestError::BeyondReach(beyond)) => Err(beyond.most),
                Err(other) => panic!("{other}"),
            };
            assert_eq!((found, attempts), (wanted, tried), "{costs:?}");
        }
    }

    #[test]
    fn one_that_did_not_keep_up_is_measured_once_more_and_no_rate_is_refused_for_it() {
        let plan = open("100k", 100);
        // CPU time of an exchange in us, and whether it kept up; what comes of it likewise, after so many attempts
        for (found, tried, wanted) in [
            ([(10, true), (9, true)], 1, (10, true)),
            ([(10, false), (9, true)], 2, (9, true)),
            ([(10, false), (9, false)], 2, (9, false)),
            ([(10, false), (30, false)], 2, (10, false)),
            ([(30, false), (10, false)], 2, (10, false)),
        ] {
            let mut attempts = 0;
            let baseline = best(&plan, 4.0, |number| {
                attempts += 1;
                let (cost, kept_up) = found[number as usize];
                let mut baseline = costing(cost, 1);
                baseline.response_us.p50 = baseline.response_us.p50.filter(|_| kept_up);
                Ok(baseline)
            });
            let baseline = baseline.unwrap();
            let came = (
                baseline.cpu_per_request.unwrap().as_nanos() / 1_000,
                baseline.kept_up(),
            );
            assert_eq!((attempts, came), (tried, wanted), "{found:?}");
        }
    }

    #[test]
    fn its_threads_wait_as_the_loads_will_wherever_that_is() {
        for spin in [plan::Spin::Auto, plan::Spin::Always, plan::Spin::Never] {
            for address in ["192.0.2.1:80", "127.0.0.1:80"] {
                for threads in 1..=5 {
                    let mut plan = open("3k", 100);
                    (plan.spin, plan.threads) = (spin, threads);
                    plan.target.endpoints = vec![Endpoint::Ip(address.parse().unwrap())];
                    let load = Job::new(plan.clone(), plan.target.endpoints[0].clone());
                    let own = job(&plan, Endpoint::Ip(ANY_PORT));
                    assert_eq!(
                        own.unwrap().busy_poll,
                        load.unwrap().busy_poll,
                        "{spin:?} {address} {threads}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_baseline_of_a_unix_socket_is_measured_over_one() {
        let mut plan = open("2k", 100);
        plan.stop = Stop::Duration(SPAN_LEAST);
        plan.rounds = 1;
        plan.target.endpoints = vec![Endpoint::Unix("/no/server/listens/here".into())];
        let path = std::path::PathBuf::from("/tmp/s");
        let own = job(&plan, Endpoint::Unix(path.clone())).unwrap();
        assert_eq!(own.endpoint, Endpoint::Unix(path));
        assert_eq!(own.plan.target.authority, "localhost");
        let stop = AtomicBool::new(false);
        let baseline = baseline(&plan, &stop, &mut Silent).unwrap();
        assert_eq!(baseline.requests, 200);
    }

    #[test]
    fn a_baseline_is_measured_and_rests_on_what_was_due() {
        let mut plan = open("2k", 100);
        plan.stop = Stop::Duration(SPAN_LEAST);
        plan.rounds = 1;
        let stop = AtomicBool::new(false);
        let baseline = baseline(&plan, &stop, &mut Silent).unwrap();
        assert_eq!((baseline.requests, baseline.threads), (200, 1));
        assert_eq!(
            (baseline.rate, baseline.window),
            (Rate::per_second(2_000), SPAN_LEAST)
        );
        assert!(baseline.rps > 0.0 && baseline.cpu_per_request > Some(Nanos::ZERO));
    }

    /// Raises a flag as soon as it is told that something goes on.
    struct Impatient<'a>(&'a AtomicBool);

    impl Observer for Impatient<'_> {
        fn tick(&mut self, _: Progress) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_interrupt_ends_it_and_it_says_nothing_of_the_rate() {
        let stop = AtomicBool::new(false);
        let ended = baseline(&open("50m", 100), &stop, &mut Impatient(&stop));
        assert!(
            matches!(ended, Err(SelfTestError::Interrupted)),
            "{ended:?}"
        );
    }
}

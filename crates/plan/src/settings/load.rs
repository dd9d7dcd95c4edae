//! Load: what drives it, for how long, and what generates it.

use super::Takes::{Value, Word};
use super::{
    Choice, Group, Setting, broken, count, count32, keep, put, read, set, time, varied, yes,
};
use crate::{Arriving, Axis, Load, Plan, RingKind, Spin, Stop, arrivals};
use units::{Nanos, Series};

/// No request over a socket is over in less: two system calls and two passes through the kernel's TCP take several
/// times as long on any machine.
const QUICKEST: Nanos = Nanos::from_micros(1);

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Load,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "connections", short: Some('c'), takes: Value("N"), common: true, axis: true,
        help: "Connections, over all threads.",
        long: "Without a rate, each sends its next request when it has its response (a closed loop). With a rate, the \
               maximum that may be open.",
        computed: "10; with a rate: 1000, at most half of the open-file limit",
        parse: |draft, text| draft.vary(text, |values: Series<u32>| Axis::Connections(values.0)),
        show: |plan| varied(plan, "connections", units::count(plan.load.connections().into())),
        check: |plan| broken(plan.load.connections() == 0,
            "--connections is 0, so nothing would be sent; give at least 1"),
        ..ROW },
    Setting { name: "rate", takes: Value("R"), common: true, axis: true, excludes: &["connection-rate"],
        help: "Requests per second on a schedule, whatever the server does (open loop).",
        long: "Latency is then response time, from the scheduled start of each request, so that a stall of the server \
               counts in full (no coordinated omission).",
        parse: |draft, text| draft.schedule(text, Arriving::Exchanges),
        show: |plan| rate(plan, Arriving::Exchanges),
        check: |plan| check_rate(plan, Arriving::Exchanges),
        ..ROW },
    Setting { name: "connection-rate", takes: Value("R"), axis: true,
        help: "New connections per second on a schedule, however fast the server responds.",
        long: "Each is opened at its scheduled time, sends --requests-per-connection requests one after the other, and \
               is closed. This is what httperf calls the rate.",
        parse: |draft, text| draft.schedule(text, Arriving::Connections),
        show: |plan| rate(plan, Arriving::Connections),
        check: |plan| check_rate(plan, Arriving::Connections),
        ..ROW },
    Setting { name: "ramp", takes: Value("FROM..TO"), excludes: &["rate", "connection-rate", "requests"],
        help: "Rate that changes evenly over each window, from FROM to TO requests per second.",
        long: "The warm-up has the rate FROM. All figures are of the whole window, whose mean rate is that of --rate. A ramp \
               shows where a server begins to fall behind, and is never called OVERLOAD.",
        parse: |draft, text| draft.change(text),
        show: |plan| match plan.load {
            Load::Open { arrivals, .. } => arrivals.ends().map_or_else(String::new, |[from, to]| {
                format!("{}..{}", from.as_f64(), to.as_f64())
            }),
            Load::Closed { .. } => String::new(),
        },
        ..ROW },
    Setting { name: "arrivals", takes: Value("PROCESS"), default: "poisson",
        needs: &["rate", "connection-rate", "ramp"],
        help: "How scheduled requests or connections are spaced in time.",
        long: arrivals::HELP,
        parse: |draft, text| set(&mut draft.arrivals, text),
        show: |plan| match plan.load {
            Load::Open { arrivals, .. } if arrivals.ends().is_some() => arrivals.steady().to_string(),
            Load::Open { arrivals, .. } => arrivals.to_string(),
            Load::Closed { .. } => String::new(),
        },
        check: check_period,
        ..ROW },
    Setting { name: "requests", short: Some('n'), takes: Value("N"), common: true, excludes: &["duration"],
        help: "Number of requests in each round, exactly.",
        parse: |draft, text| keep(&mut draft.stop, count(text).map(Stop::Requests).map(Some)),
        show: |plan| match plan.stop {
            Stop::Requests(requests) => units::count(requests),
            Stop::Duration(_) => String::new(),
        },
        check: |plan| broken(plan.stop == Stop::Requests(0),
            "--requests is 0, so nothing would be sent; give at least 1, or --duration"),
        ..ROW },
    Setting { name: "duration", short: Some('d'), takes: Value("TIME"), common: true,
        help: "Length of the measuring window of each round.",
        computed: "5s; 2s in a sweep",
        parse: |draft, text| match text.contains(['{', '=', '@', '"']) {
            true => Err(format!("`{text}` is not a duration; for a request body write --body")),
            false => keep(&mut draft.stop, read(text).map(Stop::Duration).map(Some)),
        },
        show: |plan| match plan.stop { Stop::Duration(span) => time(span), Stop::Requests(_) => String::new(), },
        check: |plan| broken(plan.stop == Stop::Duration(Nanos::ZERO),
            "--duration is 0, so nothing would be measured; give at least 1ms"),
        ..ROW },
    Setting { name: "rounds", takes: Value("N"), common: true,
        help: "Number of measured repetitions, each with new connections.",
        computed: "5; of a sweep 3",
        parse: |draft, text| keep(&mut draft.rounds, count32(text).map(Some)),
        show: |plan| units::count(plan.rounds.into()),
        check: |plan| match plan.rounds {
            0 => Some("--rounds is 0, so nothing would be measured; give at least 1".to_owned()),
            rounds if rounds > Plan::MOST_ROUNDS => Some(format!(
                "--rounds is {rounds}, more than the {} that one record holds",
                Plan::MOST_ROUNDS
            )),
            _ => None,
        },
        ..ROW },
    Setting { name: "warmup", takes: Value("TIME"),
        help: "Load before each round's measuring window; not part of the results.",
        long: "By default there is more before the first round against a server: windows of 1 s until requests/s no longer rises (with a rate, until latency no longer falls), at \
               least two and at most ten. With --warmup TIME there are none, nor with --requests, --ramp, bursts or on-off, nor if \
               --duration is under 1 s.",
        computed: "500ms, of a sweep 200ms; none with --requests",
        parse: |draft, text| put(&mut draft.warmup, text),
        show: |plan| match plan.settle {
            true => format!("{}, and before the first round until steady", time(plan.warmup)),
            false => time(plan.warmup),
        },
        ..ROW },
    Setting { name: "threads", short: Some('t'), takes: Value("N"), common: true, axis: true,
        help: "Generator threads; never more than connections.",
        computed: "the CPUs weigh may use, or half of them if the server is on this machine",
        parse: |draft, text| draft.vary(text, |values: Series<u32>| Axis::Threads(values.0)),
        show: |plan| varied(plan, "threads", units::count(plan.threads.into())),
        check: |plan| broken(plan.threads == 0, "--threads is 0, so nothing would be sent; give at least 1"),
        ..ROW },
    Setting { name: "pin",
        help: "Pin each generator thread to a CPU of its own.",
        parse: |draft, _| keep(&mut draft.plan.pin, Ok(true)),
        show: |plan| yes(plan.pin),
        ..ROW },
    Setting { name: "ring", takes: Word(RingKind::words), default: "epoll",
        help: "Kernel interface of the generator threads.",
        long: "On io_uring a batch of requests is one system call, and each is timestamped when it joins the batch, so \
               latency includes the wait for the batch.",
        parse: |draft, text| keep(&mut draft.plan.ring, Choice::read(text)),
        show: |plan| plan.ring.word().to_owned(),
        ..ROW },
    Setting { name: "spin", takes: Word(Spin::words), default: "auto",
        help: "How a generator thread waits: asleep, or busy-polling.",
        long: "A sleeping thread wakes about 10 us late; busy-polling keeps a CPU busy. docs/run.md says when to \
               use which.",
        parse: |draft, text| keep(&mut draft.plan.spin, Choice::read(text)),
        show: |plan| plan.spin.word().to_owned(),
        ..ROW },
    Setting { name: "two-generators",
        help: "Measure each round again with two generator processes.",
        long: "Each carries half of the load, which doubles the time. If both together reach a higher throughput than \
               one, the load generator was the bottleneck.",
        parse: |draft, _| keep(&mut draft.plan.two_generators, Ok(true)),
        show: |plan| yes(plan.two_generators),
        check: |plan| broken(plan.two_generators && plan.connections() < 2,
            "--two-generators splits the load over two processes, and 1 connection cannot be split; give --connections \
             (and --requests) of 2 or more, or remove it"),
        ..ROW },
    Setting { name: "seed", takes: Value("N"),
        help: "Seed of everything random.",
        computed: "from the clock; the record holds it",
        parse: |draft, text| put(&mut draft.seed, text),
        show: |plan| plan.seed.to_string(),
        ..ROW },
];

fn rate(plan: &Plan, arriving: Arriving) -> String {
    match plan.load {
        Load::Open { rate, of, .. } if of == arriving => {
            varied(plan, "rate", units::rate(rate.as_f64()))
        }
        _ => String::new(),
    }
}

/// A window that holds a part of a period has another mean rate than the load.
fn check_period(plan: &Plan) -> Option<String> {
    let (Load::Open { arrivals, .. }, Stop::Duration(span)) = (plan.load, plan.stop) else {
        return None;
    };
    let period = arrivals.period()?.max(Nanos::from_nanos(1));
    let periods = span.as_nanos().div_ceil(period.as_nanos());
    (period * periods != span).then(|| {
        format!(
            "--duration {} is no multiple of the period of --arrivals {arrivals}, so its mean rate would be another; give \
             --duration {}",
            units::exact(span),
            units::exact(period * periods).replace(' ', "")
        )
    })
}

fn check_rate(plan: &Plan, arriving: Arriving) -> Option<String> {
    let Load::Open {
        rate,
        of,
        connections,
        ..
    } = plan.load
    else {
        return None;
    };
    let (flag, rate) = (of.flag(), rate.as_f64());
    let each = plan.load.exchanges_per_arrival(&plan.protocol);
    let carried = f64::from(connections) / (QUICKEST.as_secs_f64() * each as f64);
    if of != arriving || connections == 0 {
        return None;
    }
    if rate == 0.0 {
        return Some(format!(
            "{flag} is 0, so nothing would be sent; give a rate such as 100 or 0.5, or remove it for a closed loop"
        ));
    }
    // Connections without an end have a sentence of their own.
    (each < u64::MAX && rate > carried).then(|| {
        let span = Nanos::from_nanos((f64::from(connections) / rate * 1e9) as u64);
        let plural = if connections == 1 { "" } else { "s" };
        format!(
            "{flag} {} over {} connection{plural} leaves {} for each {}, and none is that quick; raise --connections or \
             lower {flag}",
            units::rate(rate),
            units::count(connections.into()),
            units::span(span),
            match of {
                Arriving::Exchanges => "request",
                Arriving::Connections => "connection",
            },
        )
    })
}

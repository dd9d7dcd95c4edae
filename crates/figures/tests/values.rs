//! Values that follow from rounds which are made up for it.

use figures::{Figures, columns, find};
use record::{
    Budget, Footprint, KernelCounters, Memory, RequestTally, Requested, Round, Run, Sampled,
    example,
};
use serde_json::Value;
use units::{Nanos, Percentile};

/// A record of these rounds, whose figures are not computed yet.
fn run_of(rounds: Vec<Round>) -> Run {
    let mut run = example::ok();
    let point = &mut run.points[0];
    (point.rounds, point.summary, point.footprint) = (rounds, None, None);
    run
}

fn written(run: &Run, name: &str) -> String {
    let figure = find(name).unwrap_or_else(|| panic!("{name}"));
    figure.written(&Figures::of(run, 0).unwrap())
}

fn observed() -> Round {
    let memory = Memory {
        rest: Some(1),
        before: Some(20),
        after: Some(30),
        connections: 5,
    };
    let sampled = Sampled {
        user: Nanos::from_millis(50),
        kernel: Nanos::from_millis(200),
    };
    let mut round = Round {
        footprint: Some(Footprint {
            cpu: Nanos::from_millis(250),
            sampled: Some(sampled),
            processes: 3,
            threads: Some(4),
            memory: Some(memory),
            ..Footprint::default()
        }),
        budget: Some(Budget {
            softirq: Nanos::from_millis(10),
            steal: Nanos::from_millis(20),
            ..Budget::default()
        }),
        kernel: Some(KernelCounters {
            listen_overflows: Some(7),
            ..KernelCounters::default()
        }),
        ..Round::default()
    };
    round.tally.ok_in_window = 1_000;
    round
}

#[test]
fn two_rounds_are_added_up_and_what_is_held_is_not() {
    let (single, double) = (
        run_of(vec![observed()]),
        run_of(vec![observed(), observed()]),
    );
    let cases = [
        ("cpu_s", "0.250000", "0.500000"),
        ("cpu_user_s", "0.050000", "0.100000"),
        ("cpu_kernel_s", "0.200000", "0.400000"),
        ("cpu_us_per_request", "250.000", "250.000"),
        ("cpu_lower_bound", "false", "false"),
        ("pss_bytes.rest", "1", "1"),
        ("pss_bytes.before", "20", "20"),
        ("pss_bytes.after", "30", "30"),
        ("pss_bytes.peak", "30", "30"),
        ("server.processes", "3", "3"),
        ("server.threads", "4", "4"),
        ("server.descriptors", "", ""),
        ("machine.softirq_s", "0.010000", "0.020000"),
        ("machine.steal_s", "0.020000", "0.040000"),
        ("machine.other_s", "", ""),
        ("machine.listen_overflows", "7", "14"),
        ("machine.listen_drops", "", ""),
    ];
    for (name, one, two) in cases {
        assert_eq!(written(&single, name), one, "{name}");
        assert_eq!(written(&double, name), two, "{name}");
    }
}

#[test]
fn of_a_server_that_was_not_observed_every_field_is_empty() {
    let run = run_of(vec![Round::default()]);
    let point = Figures::of(&run, 0).unwrap();
    let columns = columns(&Percentile::DEFAULT);
    let first = columns
        .iter()
        .position(|(name, _)| name == "server_cpu_s")
        .unwrap();
    let last = columns.iter().position(|(name, _)| name == "duration_s");
    let of_server = &columns[first..last.unwrap()];
    assert_eq!(of_server.len(), 21);
    for (name, figure) in of_server {
        assert_eq!(figure.written(&point), "", "{name}");
    }
}

#[test]
fn cpu_time_per_request_counts_only_what_ended_inside_the_windows() {
    let names = ["generator.cpu_us", "server.cpu_us"];
    let mut run = example::ok();
    let shown = |run: &Run| names.map(|name| written(run, name));
    let before = shown(&run);
    assert_eq!(before, ["42.927", "167.621"]);
    let tally = &mut run.points[0].rounds[4].tally;
    tally.scheduled += 1_000_000;
    tally.never_sent += 1_000_000;
    assert_eq!(shown(&run), before);
    for round in &mut run.points[0].rounds {
        round.tally.started *= 2; // whatever was sent or ended later
    }
    assert_eq!(shown(&run), before);
    for round in &mut run.points[0].rounds {
        let again = round.tally.series.clone();
        round.tally.series.merge(&again);
    }
    assert_eq!(shown(&run), ["21.464", "83.810"]);
    for round in &mut run.points[0].rounds {
        round.tally.series = record::Series::default();
    }
    assert_eq!(shown(&run), ["", ""]);
}

#[test]
fn rounds_give_the_interval_that_the_summary_states() {
    let run = example::ok();
    let point = Figures::of(&run, 0).unwrap();
    let ends = |name: &str| {
        let interval = find(name).unwrap().interval(&point);
        interval.map(|interval| (interval.low, interval.high))
    };
    let rps = &point.summary.rps;
    assert_eq!(ends("rps"), rps.low.zip(rps.high));
    let cost = &point.summary.per_request.as_ref().unwrap().cpu_us;
    assert_eq!(ends("cpu_us_per_request"), cost.low.zip(cost.high));
    let (low, high) = ends("p50").unwrap();
    let p50 = find("p50").unwrap().number(&point).unwrap();
    assert!(low <= p50 && p50 <= high, "{low} {p50} {high}");
    assert_eq!(ends("errors"), None, "a count");
}

#[test]
fn there_is_no_interval_where_a_round_lacks_the_figure_or_only_bounds_it() {
    let mut run = example::ok();
    run.points[0].rounds[2].tally.service = stats_of(50);
    let point = Figures::of(&run, 0).unwrap();
    let has = |name: &str, of: &Figures<'_>| find(name).unwrap().interval(of).is_some();
    assert!(has("p50", &point) && !has("p99", &point));
    let mut run = example::ok();
    run.points[0].rounds[2].tally.censored_from = Some(Nanos::from_nanos(1));
    let point = Figures::of(&run, 0).unwrap();
    assert!(!has("p50", &point) && has("rps", &point));
    let mut run = example::ok();
    run.points[0].rounds.truncate(2);
    assert!(!has("rps", &Figures::of(&run, 0).unwrap()));
}

/// So many samples of one to that many microseconds.
fn stats_of(count: u64) -> stats::Histogram {
    let mut times = stats::Histogram::new();
    (1..=count).for_each(|micros| times.record(micros * 1_000));
    times
}

#[test]
fn any_percentile_is_a_figure() {
    let run = run_of(vec![{
        let mut round = Round::default();
        round.tally.service = stats_of(100_000);
        round.tally.ok = 100_000;
        round
    }]);
    let point = Figures::of(&run, 0).unwrap();
    for (name, wanted) in [
        ("p75", 75_000.0),
        ("p95", 95_000.0),
        ("latency_us.p99.99", 99_990.0),
    ] {
        let value = find(name).unwrap().number(&point).unwrap();
        assert!(value >= wanted && value < wanted * 1.001, "{name}: {value}");
    }
    assert_eq!(
        find("p99.999").unwrap().number(&point),
        None,
        "too few samples"
    );
}

/// The healthy run as one of two requests, of which the first is not sent in the first round, and the second fails twice in each.
fn listed() -> Run {
    let mut run = example::ok();
    for (index, round) in run.points[0].rounds.iter_mut().enumerate() {
        let one = |request: &str, ok, errors| RequestTally {
            request: request.to_owned(),
            ok,
            errors,
            latency: stats_of(ok),
            censored_from: None,
        };
        let first = if index == 0 { 0 } else { 30 };
        let each = vec![one("POST /a", first, 0), one("/b", 40 + index as u64, 2)];
        round.tally.requested = Some(Box::new(Requested { each, unsent: 0 }));
    }
    run.summarise();
    run
}

/// Every number of `summary` and every one that is null, with its path.
fn numbers(path: &str, value: &Value, found: &mut Vec<(String, Option<f64>)>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Object(parts) => {
            let parts = parts.iter();
            parts.for_each(|(name, part)| numbers(&below(name), part, found));
        }
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.for_each(|(index, part)| numbers(&below(&index.to_string()), part, found));
        }
        Value::Number(number) => found.push((path.to_owned(), number.as_f64())),
        Value::Null => found.push((path.to_owned(), None)),
        Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn a_number_of_the_summary_is_a_figure_of_its_name() {
    let mut seen = Vec::new();
    for run in example::all().into_iter().chain([listed()]) {
        for of in Figures::points(&run) {
            let mut found = Vec::new();
            numbers("", &serde_json::to_value(&of.summary).unwrap(), &mut found);
            for (name, number) in &found {
                let figure = find(name).unwrap_or_else(|| panic!("{name}"));
                // Of no stall the longest is 0, so that it can be limited.
                let is_longest = name == "coordinated_omission.longest_us";
                let wanted = number.or(is_longest.then_some(0.0));
                assert_eq!(figure.number(&of), wanted, "{name}");
            }
            seen.extend(found.into_iter().map(|(name, _)| name));
        }
    }
    for wanted in [
        "coordinated_omission.affected_from",
        "open.send_delay_us.p99",
        "open.queued_us.count",
        "open.sessions.skipped",
        "open.sessions.time_us.p50",
        "per_request.requests_per_cpu_s.geometric_mean",
        "by_request.1.latency_us.p90",
    ] {
        assert!(seen.iter().any(|name| name == wanted), "{wanted}");
    }
}

#[test]
fn a_figure_of_one_request_has_the_interval_of_its_rounds_where_each_has_it() {
    let run = listed();
    let of = Figures::of(&run, 0).unwrap();
    let of_request = |name: &str| find(name).unwrap_or_else(|| panic!("{name}"));
    let second = of_request("by_request.1.p50");
    assert_eq!(second.name(), "by_request.1.latency_us.p50");
    assert!(second.interval(&of).is_some());
    assert_eq!(
        of_request("by_request.0.max").interval(&of),
        None,
        "one round lacks it"
    );
    assert_eq!(of_request("by_request.1.errors").number(&of), Some(10.0));
    assert_eq!(of_request("by_request.2.errors").number(&of), None);
    for name in [
        "by_request.0.by_request.1.ok",
        "by_request.0.service_us.p50",
        "by_request.x.ok",
        "by_request.0",
    ] {
        assert!(find(name).is_none(), "{name}");
    }
}

const ONLY_OPEN: &str = "exists only with --rate or --connection-rate";
const ONLY_SESSIONS: &str = "exists only with --connection-rate";

/// A record, a figure that has no value there, and why.
const MISSING: &[(&str, &str, &str)] = &[
    (
        "sessions",
        "connection_time_us.p99",
        "takes 1,000 complete sessions, and there are 588",
    ),
    (
        "sessions",
        "service_us.p99.9",
        "takes 10,000 requests, and there are 5,958",
    ),
    (
        "sessions",
        "send_delay_us.p99.9",
        "takes 10,000 ok requests, and there are 5,958",
    ),
    (
        "sessions",
        "queued_us.p99.9",
        "takes 10,000 sent requests, and there are 5,958",
    ),
    (
        "sessions",
        "connecting_us.p99.9",
        "takes 10,000 sent requests, and there are 5,958",
    ),
    (
        "sessions",
        "generator_late_us.p99.9",
        "takes 10,000 sent requests, and there are 5,958",
    ),
    (
        "sessions",
        "baseline_us.p99",
        "takes 1,000 requests of the self-test, and there are 100",
    ),
    (
        "open",
        "baseline_us.p99",
        "was not measured: the self-test could not keep up with its schedule",
    ),
    (
        "sessions",
        "coordinated_omission.index",
        "exists only in a closed loop, without --rate and --connection-rate",
    ),
    ("open", "connection_time_us.max", ONLY_SESSIONS),
    ("open", "open.sessions.skipped", ONLY_SESSIONS),
    ("closed", "send_delay_us.p50", ONLY_OPEN),
    ("closed", "open.generator_late_us.count", ONLY_OPEN),
    ("closed", "baseline_us.p50", ONLY_OPEN),
    ("closed", "rate", ONLY_OPEN),
    (
        "closed",
        "coordinated_omission.affected_to",
        "has no value: coordinated omission affects no percentile",
    ),
    (
        "closed",
        "by_request.1.p99",
        "takes 1,000 requests, and there are 210",
    ),
    (
        "closed",
        "by_request.2.p99",
        "has no value: 2 requests are listed, by_request.0 to by_request.1",
    ),
    (
        "open",
        "by_request.0.ok",
        "exists only where several requests are listed",
    ),
    (
        "low",
        "per_request.requests_per_cpu_s.low",
        "was not measured: some CPU time of the server may be missing",
    ),
    (
        "unobserved",
        "pss_bytes.peak",
        "was not measured: the server was not observed",
    ),
];

#[test]
fn a_missing_value_has_its_reason() {
    let (closed, mut open, mut sessions) = (listed(), example::open_loop(), example::sessions());
    let (few, many) = (
        &mut sessions.points[0].baseline,
        &mut open.points[0].baseline,
    );
    for (baseline, requests) in [(few, 100), (many, 10_000)] {
        let baseline = baseline.as_mut().unwrap();
        (baseline.requests, baseline.response_us.p99) = (requests, None);
    }
    let mut low = example::ok();
    let footprints = low.points[0]
        .rounds
        .iter_mut()
        .flat_map(|round| &mut round.footprint);
    footprints.for_each(|print| print.lower_bound = true);
    let mut unobserved = example::ok();
    unobserved.points[0]
        .rounds
        .iter_mut()
        .for_each(|round| round.footprint = None);
    for run in [&mut low, &mut unobserved] {
        run.summarise();
    }
    for (record, name, wanted) in MISSING {
        let run = match *record {
            "closed" => &closed,
            "open" => &open,
            "sessions" => &sessions,
            "low" => &low,
            _ => &unobserved,
        };
        let (figure, of) = (find(name).unwrap(), Figures::of(run, 0).unwrap());
        assert_eq!(figure.value(&of), None, "{name}");
        assert_eq!(figure.missing(&of), *wanted, "{name}");
    }
}

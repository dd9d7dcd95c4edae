//! Values that follow from rounds which are made up for it.

use figures::{Figures, columns, find};
use record::{Budget, Footprint, KernelCounters, Memory, Round, Run, Sampled, example};
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

#[test]
fn a_number_of_the_summary_is_a_figure_of_its_name() {
    let run = example::ok();
    let of = Figures::of(&run, 0).unwrap();
    let Value::Object(summary) = serde_json::to_value(&run.points[0].summary).unwrap() else {
        panic!("a summary");
    };
    let mut seen = 0;
    for (name, part) in &summary {
        let (prefix, parts) = match part {
            Value::Object(parts) => (format!("{name}."), parts.clone()),
            part => (
                String::new(),
                [(name.clone(), part.clone())].into_iter().collect(),
            ),
        };
        for (name, value) in parts {
            // Limits of the affected percentiles are words on the pages.
            let Some(number) = value.as_f64().filter(|_| !name.starts_with("affected_")) else {
                continue;
            };
            let figure =
                find(&format!("{prefix}{name}")).unwrap_or_else(|| panic!("{prefix}{name}"));
            assert_eq!(figure.number(&of), Some(number), "{prefix}{name}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

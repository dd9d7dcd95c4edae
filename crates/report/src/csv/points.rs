//! One row a point: what a curve is drawn from.

use super::sheet::Sheet;
use super::{cost, fixed, header, held, micros, share, target_url, woven};
use crate::date;
use plan::{Load, Plan};
use record::{Point, Round, Run, Summary};

/// A column.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its name in the header row.
    pub name: &'static str,
    /// What it means, with its unit.
    pub doc: &'static str,
    value: fn(&Line<'_>) -> String,
}

/// What one row is made of.
struct Line<'a> {
    run: &'a Run,
    /// The point's place.
    place: usize,
    point: &'a Point,
    /// What was asked for there.
    plan: Plan,
    summary: Summary,
}

/// Every column, in order.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "started",
        doc: "when the campaign began, UTC",
        value: |line| date::iso(line.run.started_unix),
    },
    Column {
        name: "url",
        doc: "the first request's URL",
        value: |line| target_url(line.run),
    },
    Column {
        name: "connections",
        doc: "connections asked for; in an open loop the most that may be open",
        value: |line| line.point.level.load.connections().to_string(),
    },
    Column {
        name: "rate",
        doc: "arrivals a second asked for: exchanges or, with --connection-rate, connections; empty in a closed loop",
        value: |line| match line.point.level.load {
            Load::Closed { .. } => String::new(),
            Load::Open { rate, .. } => rate.as_f64().to_string(),
        },
    },
    Column {
        name: "threads",
        doc: "generator threads",
        value: |line| line.plan.threads().to_string(),
    },
    Column {
        name: "pipeline",
        doc: "requests under way on one connection at a time",
        value: |line| line.plan.protocol.pipeline.to_string(),
    },
    Column {
        name: "workers",
        doc: "workers of the server that was started, where they were set with --workers",
        value: |line| {
            line.point
                .level
                .workers
                .map_or(String::new(), |workers| workers.to_string())
        },
    },
    Column {
        name: "rounds",
        doc: "complete rounds that the figures rest on",
        value: |line| line.summary.rps.rounds.to_string(),
    },
    Column {
        name: "duration_s",
        doc: "sum of the windows in seconds",
        value: |line| fixed(line.summary.duration_s, 6),
    },
    Column {
        name: "requests",
        doc: "requests due in the windows, and those carried over from before them",
        value: |line| line.summary.requests.to_string(),
    },
    Column {
        name: "ok",
        doc: "those that ended well",
        value: |line| line.summary.ok.to_string(),
    },
    Column {
        name: "errors",
        doc: "those that did not, censored ones among them",
        value: |line| line.summary.errors.total.to_string(),
    },
    Column {
        name: "censored",
        doc: "those of errors that were cut off before their end was known",
        value: |line| line.summary.censored.to_string(),
    },
    Column {
        name: "carried_over",
        doc: "those of errors that were sent before the window and had no response by its end; the other requests were due in it",
        value: |line| line.summary.carried_over().to_string(),
    },
    Column {
        name: "rps_demanded",
        doc: "exchanges asked for per second in the windows, in an open loop; with --connection-rate also those that a connection did not live to ask",
        value: |line| {
            let load = &line.point.level.load;
            rate(line.summary.rps_demanded(load, &line.plan.protocol))
        },
    },
    Column {
        name: "rps_mean",
        doc: "ok endings inside the windows per second, all of them over all windows",
        value: |line| fixed(line.summary.rps.mean, 3),
    },
    Column {
        name: "rps_min",
        doc: "the least of the complete rounds",
        value: |line| rate(line.summary.rps.min),
    },
    Column {
        name: "rps_median",
        doc: "the median of the complete rounds",
        value: |line| rate(line.summary.rps.median),
    },
    Column {
        name: "rps_max",
        doc: "the most of the complete rounds",
        value: |line| rate(line.summary.rps.max),
    },
    Column {
        name: "rps_low",
        doc: "lower end of the 95 % interval around the geometric mean of the rounds",
        value: |line| rate(line.summary.rps.low),
    },
    Column {
        name: "rps_high",
        doc: "upper end of it",
        value: |line| rate(line.summary.rps.high),
    },
    Column {
        name: "connections_per_second",
        doc: "connections established inside the windows per second, where connections arrive by a schedule",
        value: |line| {
            let open = line.summary.open.as_ref();
            let visits = open.and_then(|open| open.visits.as_ref());
            rate(visits.map(|visits| visits.per_second))
        },
    },
    Column {
        name: "latency_min_us",
        doc: "smallest latency in microseconds: response time in an open loop, service time in a closed one",
        value: |line| micros(line.summary.latency_us.min),
    },
    Column {
        name: "latency_mean_us",
        doc: "arithmetic mean of latency",
        value: |line| micros(line.summary.latency_us.mean),
    },
    Column {
        name: "latency_p50_us",
        doc: "median of latency",
        value: |line| micros(line.summary.latency_us.p50),
    },
    Column {
        name: "latency_p90_us",
        doc: "90th percentile of latency",
        value: |line| micros(line.summary.latency_us.p90),
    },
    Column {
        name: "latency_p99_us",
        doc: "99th percentile of latency",
        value: |line| micros(line.summary.latency_us.p99),
    },
    Column {
        name: "latency_p999_us",
        doc: "99.9th percentile of latency",
        value: |line| micros(line.summary.latency_us.p999),
    },
    Column {
        name: "latency_max_us",
        doc: "largest latency",
        value: |line| micros(line.summary.latency_us.max),
    },
    Column {
        name: "latency_at_least",
        doc: "the latency figures that are lower bounds, separated by spaces",
        value: |line| line.summary.latency_us.at_least.join(" "),
    },
    Column {
        name: "generator_busy",
        doc: "busy share of the busiest generator thread, median of the rounds: (CPU + wait for a CPU) / wall",
        value: |line| share(Round::typical(&line.point.rounds, Round::generator_busy)),
    },
    Column {
        name: "server_busy",
        doc: "the server's CPU time as a share of the CPUs it may use, median of the rounds; empty where not observed",
        value: |line| share(Round::typical(&line.point.rounds, Round::server_busy)),
    },
    Column {
        name: "findings",
        doc: "what is to be held against the point, as check:grade separated by spaces; notes left out",
        value: |line| held(line.run, line.place),
    },
];

/// The header row and one row a point of which something was measured.
pub(crate) fn render(runs: &[Run], sheet: Sheet) -> String {
    let mut text = sheet.row(header(COLUMNS.iter().map(|column| column.name)));
    let points = |run: &Run| -> String {
        let lines = run.points.iter().enumerate().filter_map(|(place, point)| {
            let line = Line {
                run,
                place,
                point,
                plan: run.plan.at(&point.level),
                summary: Summary::of(&point.rounds)?,
            };
            let own = COLUMNS.iter().map(|column| (column.value)(&line));
            Some(sheet.row(woven(own, cost::fields(&point.rounds))))
        });
        lines.collect()
    };
    text.extend(runs.iter().map(points));
    text
}

fn rate(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| fixed(value, 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    #[test]
    fn there_is_a_row_a_point_with_every_column_and_its_own_findings() {
        let mut run = example::errors();
        run.points.push(run.points[0].clone());
        let runs = [run, example::empty(), example::open_loop()];
        for (sheet, separator) in [(Sheet::Commas, ','), (Sheet::Tabs, '\t')] {
            let text = render(&runs, sheet);
            let rows = runs.iter().flat_map(|run| &run.points);
            let measured = rows.filter(|point| !point.rounds.is_empty()).count();
            assert_eq!(text.lines().count(), measured + 1);
            let columns = |line: &str| line.split(separator).count();
            assert!(
                text.lines()
                    .all(|line| columns(line) == COLUMNS.len() + cost::COLUMNS.len()),
                "{text}"
            );
        }
    }
}

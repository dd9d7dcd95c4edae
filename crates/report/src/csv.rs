//! Rows for spreadsheets and scripts: one a point, or, with all that is known, one a round (the columns here).
//!
//! Lines end with a bare newline as other Unix tools expect, numbers have a point and no grouping. A figure that the samples do not carry is empty, never 0.
//! The last column carries what is to be held against the run, so that no number leaves without it.

mod cost;
mod manual;
mod points;
mod sheet;

pub use manual::manual;
pub(crate) use sheet::Sheet;

use crate::{Look, date};
use plan::{Load, Requests};
use record::{FloorTimes, Grade, Latency, OpenTimes, Point, Round, Run, ThreadAccounts, Visits};
use stats::Histogram;
use units::Nanos;

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
    point: &'a Point,
    round: &'a Round,
    /// Whether two generators measured it.
    by_two: bool,
    latency: Latency,
}

/// Every column, in order.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "started",
        doc: "when the campaign began, UTC",
        value: |line| date::iso(line.run.started_unix),
    },
    Column {
        name: "target",
        doc: "the authority that was asked",
        value: |line| line.run.plan.target.authority.clone(),
    },
    Column {
        name: "url",
        doc: "the first request's URL",
        value: url,
    },
    Column {
        name: "endpoint",
        doc: "the address that was used",
        value: |line| {
            line.run
                .probe
                .as_ref()
                .map_or(String::new(), |probe| probe.endpoint.to_string())
        },
    },
    Column {
        name: "connections",
        doc: "connections asked for",
        value: connections,
    },
    Column {
        name: "threads",
        doc: "generator threads",
        value: threads,
    },
    Column {
        name: "round",
        doc: "number of the round, from 1",
        value: |line| (u64::from(line.round.index) + 1).to_string(),
    },
    Column {
        name: "partial",
        doc: "true where the round was cut short",
        value: |line| line.round.partial.to_string(),
    },
    Column {
        name: "window_s",
        doc: "length of the measured window in seconds",
        value: |line| fixed(line.round.window.span().as_secs_f64(), 6),
    },
    Column {
        name: "requests",
        doc: "requests due in the window, and those carried over from before it",
        value: |line| line.round.tally.requests().to_string(),
    },
    Column {
        name: "ok",
        doc: "those that ended well",
        value: |line| line.round.tally.ok.to_string(),
    },
    Column {
        name: "errors",
        doc: "those that did not, censored ones among them",
        value: |line| line.round.tally.errors().to_string(),
    },
    Column {
        name: "censored",
        doc: "those of errors that were cut off before their end was known",
        value: |line| line.round.tally.censored().to_string(),
    },
    Column {
        name: "carried_over",
        doc: "those of errors that were sent before the window and had no response by its end; the other requests were due in it",
        value: |line| line.round.tally.carried_over.to_string(),
    },
    Column {
        name: "rps",
        doc: "ok endings in the window per second",
        value: |line| fixed(line.round.rps(), 3),
    },
    Column {
        name: "latency_min_us",
        doc: "smallest latency in microseconds",
        value: |line| micros(line.latency.min),
    },
    Column {
        name: "latency_mean_us",
        doc: "arithmetic mean of latency",
        value: |line| micros(line.latency.mean),
    },
    Column {
        name: "latency_p50_us",
        doc: "median of latency",
        value: |line| micros(line.latency.p50),
    },
    Column {
        name: "latency_p90_us",
        doc: "90th percentile of latency",
        value: |line| micros(line.latency.p90),
    },
    Column {
        name: "latency_p99_us",
        doc: "99th percentile of latency",
        value: |line| micros(line.latency.p99),
    },
    Column {
        name: "latency_p999_us",
        doc: "99.9th percentile of latency",
        value: |line| micros(line.latency.p999),
    },
    Column {
        name: "latency_max_us",
        doc: "largest latency",
        value: |line| micros(line.latency.max),
    },
    Column {
        name: "latency_count",
        doc: "exchanges the latencies rest on: ok and censored ones",
        value: |line| line.latency.count.to_string(),
    },
    Column {
        name: "latency_at_least",
        doc: "the latency figures that are lower bounds, separated by spaces",
        value: |line| line.latency.at_least.join(" "),
    },
    Column {
        name: "bytes_received",
        doc: "raw bytes of responses",
        value: |line| line.round.tally.bytes_received.to_string(),
    },
    Column {
        name: "bytes_sent",
        doc: "raw bytes of requests",
        value: |line| line.round.tally.bytes_sent.to_string(),
    },
    Column {
        name: "connections_opened",
        doc: "connections established, in every phase of the round",
        value: |line| line.round.tally.connects.established.to_string(),
    },
    Column {
        name: "connections_peak",
        doc: "the most that were open at a time",
        value: |line| line.round.tally.connects.open_peak.to_string(),
    },
    Column {
        name: "generator_busy",
        doc: "busy share of the busiest generator thread: (CPU + wait for a CPU - spinning) / wall; empty under 10 ms",
        value: |line| share(line.round.generator_busy()),
    },
    Column {
        name: "generator_cpu_us_per_exchange",
        doc: "the generator's CPU time, without deliberate spinning, over the exchanges that ended inside the window, in microseconds; empty where it hardly did anything but spin",
        value: |line| {
            let threads = line.round.threads.iter();
            let worked: Option<Nanos> = threads.map(ThreadAccounts::worked).sum();
            worked.map_or(String::new(), |worked| per_exchange(line, worked))
        },
    },
    Column {
        name: "server_busy",
        doc: "the server's CPU time as a share of the CPUs it may use; empty under 10 ms, or where not observed",
        value: |line| share(line.round.server_busy()),
    },
    Column {
        name: "server_cpu_us_per_exchange",
        doc: "the server's CPU time over the exchanges that ended inside the window, in microseconds",
        value: |line| match line.round.priced() {
            Some(footprint) => per_exchange(line, footprint.cpu),
            None => String::new(),
        },
    },
    Column {
        name: "rate",
        doc: "requests a second that were asked for, with a rate of connections that times the requests on each; empty in a closed loop",
        value: asked_rate,
    },
    Column {
        name: "arrivals",
        doc: "the law by which they were due: poisson or constant; empty in a closed loop",
        value: arrivals,
    },
    Column {
        name: "never_sent",
        doc: "exchanges that were due and never sent",
        value: |line| line.round.tally.never_sent.to_string(),
    },
    Column {
        name: "service_p50_us",
        doc: "median of service time, where latency is response time",
        value: |line| service(line, 0.5),
    },
    Column {
        name: "service_p99_us",
        doc: "99th percentile of service time, likewise",
        value: |line| service(line, 0.99),
    },
    Column {
        name: "queued_p99_us",
        doc: "99th percentile of the time after due in which no connection was free; empty in a closed loop",
        value: |line| wait(line, 0.99, |open| &open.queued),
    },
    Column {
        name: "connecting_p99_us",
        doc: "99th percentile of the time until that connection was open, likewise",
        value: |line| wait(line, 0.99, |open| &open.connecting),
    },
    Column {
        name: "generator_late_p50_us",
        doc: "median of what the generator itself took to send, likewise",
        value: |line| wait(line, 0.5, |open| &open.generator_late),
    },
    Column {
        name: "generator_late_p99_us",
        doc: "99th percentile of it, likewise",
        value: |line| wait(line, 0.99, |open| &open.generator_late),
    },
    Column {
        name: "connection_rate",
        doc: "connections a second that were asked for; empty where exchanges are due, or in a closed loop",
        value: connection_rate,
    },
    Column {
        name: "connections_per_second",
        doc: "connections established in the window per second; likewise",
        value: |line| {
            let opened = line.round.tally.connects.in_window as f64;
            visits(line, |_| {
                fixed(opened / line.round.window.span().as_secs_f64(), 3)
            })
        },
    },
    Column {
        name: "connections_due",
        doc: "connections that arrived in the window; likewise",
        value: |line| visits(line, |visits| visits.due.to_string()),
    },
    Column {
        name: "connections_ended_early",
        doc: "those that were over before all their exchanges were due; likewise",
        value: |line| visits(line, |visits| visits.ended_early.to_string()),
    },
    Column {
        name: "connection_time_p50_us",
        doc: "median of the time from a connection's arrival until it was closed, where it asked all it was to; likewise",
        value: |line| visits(line, |visits| of(Some(&visits.time), 0.5)),
    },
    Column {
        name: "connection_time_p99_us",
        doc: "99th percentile of it; likewise",
        value: |line| visits(line, |visits| of(Some(&visits.time), 0.99)),
    },
    Column {
        name: "floor_p50_us",
        doc: "median of response time of weigh itself, measured before the load; empty where it was not",
        value: |line| floor(line, |times| times.p50),
    },
    Column {
        name: "floor_p99_us",
        doc: "99th percentile of it, likewise",
        value: |line| floor(line, |times| times.p99),
    },
    Column {
        name: "generators",
        doc: "processes that generated the load: 1, or 2 in the rounds that --two-generators adds",
        value: |line| if line.by_two { "2" } else { "1" }.to_owned(),
    },
    Column {
        name: "findings",
        doc: "what is to be held against the run, as check:grade separated by spaces; notes left out",
        value: findings,
    },
];

/// One row a point, separated by commas.
pub(crate) fn csv(runs: &[Run], _: &Look) -> String {
    points::render(runs, Sheet::Commas)
}

/// One row a point, separated by tabs.
pub(crate) fn tsv(runs: &[Run], _: &Look) -> String {
    points::render(runs, Sheet::Tabs)
}

/// One row a round, separated by commas.
pub(crate) fn csv_rounds(runs: &[Run], _: &Look) -> String {
    render(runs, Sheet::Commas)
}

/// One row a round, separated by tabs.
pub(crate) fn tsv_rounds(runs: &[Run], _: &Look) -> String {
    render(runs, Sheet::Tabs)
}

/// The header row and one row a round.
fn render(runs: &[Run], sheet: Sheet) -> String {
    let mut csv = sheet.row(header(COLUMNS.iter().map(|column| column.name)));
    for run in runs {
        for point in &run.points {
            let twins = point.twin.iter().flat_map(|twin| &twin.rounds);
            let by_one = point.rounds.iter().map(|round| (round, false));
            for (round, by_two) in by_one.chain(twins.map(|round| (round, true))) {
                let line = Line {
                    run,
                    point,
                    round,
                    by_two,
                    latency: Latency::of(&round.tally),
                };
                let own = COLUMNS.iter().map(|column| (column.value)(&line));
                let costs = cost::fields(std::slice::from_ref(round));
                csv.push_str(&sheet.row(woven(own, costs)));
            }
        }
    }
    csv
}

/// The names of columns, those of costs among them.
fn header(own: impl Iterator<Item = &'static str>) -> impl Iterator<Item = String> {
    let costs = cost::COLUMNS.iter().map(|column| column.name);
    woven(own, costs).map(str::to_owned)
}

/// A table's `own` columns, with those of costs before its last, which is what is to be held against the rest.
fn woven<T>(
    own: impl Iterator<Item = T>,
    costs: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let mut own: Vec<T> = own.collect();
    let last = own.pop();
    own.into_iter().chain(costs).chain(last)
}

fn url(line: &Line<'_>) -> String {
    target_url(line.run)
}

fn target_url(run: &Run) -> String {
    let target = &run.plan.target;
    let path = match &run.plan.requests {
        Requests::Listed(listed) => listed.first().map_or("", |request| &request.path),
        Requests::File { .. } => "",
    };
    format!("{}://{}{path}", target.scheme, target.authority)
}

fn connections(line: &Line<'_>) -> String {
    line.point.level.load.connections().to_string()
}

fn threads(line: &Line<'_>) -> String {
    let plan = &line.run.plan;
    let threads = if line.by_two {
        plan.for_two_generators().threads()
    } else {
        plan.threads()
    };
    threads.to_string()
}

fn asked_rate(line: &Line<'_>) -> String {
    let rate = line.point.level.load.exchange_rate(&line.run.plan.protocol);
    rate.map_or(String::new(), |rate| rate.to_string())
}

fn connection_rate(line: &Line<'_>) -> String {
    match line.point.level.load {
        Load::Open { rate, .. } if line.point.level.load.is_of_connections() => {
            rate.as_f64().to_string()
        }
        _ => String::new(),
    }
}

/// What is to be said of connections that arrive by a schedule; nothing where they do not.
fn visits(line: &Line<'_>, say: impl Fn(&Visits) -> String) -> String {
    let open = line.round.tally.open.as_ref();
    let visits = open.and_then(|open| open.visits.as_ref());
    visits.map_or(String::new(), say)
}

fn arrivals(line: &Line<'_>) -> String {
    match line.point.level.load {
        Load::Closed { .. } => String::new(),
        Load::Open { arrivals, .. } => arrivals.to_string(),
    }
}

/// A percentile of service times, where it stands beside response times.
fn service(line: &Line<'_>, p: f64) -> String {
    let tally = &line.round.tally;
    let times = tally.open.as_ref().map(|_| &tally.service);
    of(times, p)
}

/// A percentile of one of an open loop's waits.
fn wait(line: &Line<'_>, p: f64, part: fn(&OpenTimes) -> &Histogram) -> String {
    of(line.round.tally.open.as_deref().map(part), p)
}

fn of(times: Option<&Histogram>, p: f64) -> String {
    let nanos = times.and_then(|times| times.quantile_if_carried(p));
    micros(nanos.map(|nanos| nanos as f64 / 1e3))
}

/// A percentile of the instrument's own response time.
fn floor(line: &Line<'_>, of: fn(&FloorTimes) -> Option<f64>) -> String {
    let floor = line.point.floor.as_ref();
    micros(floor.and_then(|floor| of(&floor.response_us)))
}

fn findings(line: &Line<'_>) -> String {
    let place = line
        .run
        .points
        .iter()
        .position(|point| std::ptr::eq(point, line.point));
    held(line.run, place.unwrap_or_default())
}

/// What is to be held against the point at `place`, notes left out.
fn held(run: &Run, place: usize) -> String {
    let touching = run.findings.iter().filter(|finding| {
        finding.grade > Grade::Note && finding.point.is_none_or(|point| point == place)
    });
    let words: Vec<String> = touching
        .map(|finding| format!("{}:{}", finding.check, finding.grade).to_lowercase())
        .collect();
    words.join(" ")
}

fn per_exchange(line: &Line<'_>, cpu: Nanos) -> String {
    match line.round.tally.series.endings() {
        0 => String::new(),
        ended => fixed(cpu.as_micros_f64() / ended as f64, 3),
    }
}

fn micros(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| fixed(value, 3))
}

fn share(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| fixed(value, 4))
}

fn fixed(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    #[test]
    fn every_column_is_named_once_and_documented() {
        let pages = [
            COLUMNS
                .iter()
                .map(|column| (column.name, column.doc))
                .collect::<Vec<_>>(),
            points::COLUMNS
                .iter()
                .map(|column| (column.name, column.doc))
                .collect(),
        ];
        for own in pages {
            let costs = cost::COLUMNS.iter().map(|column| (column.name, column.doc));
            let all: Vec<_> = own.into_iter().chain(costs).collect();
            for (name, doc) in &all {
                assert!(!doc.is_empty());
                let named = all.iter().filter(|(other, _)| other == name);
                assert_eq!(named.count(), 1, "{name}");
            }
        }
    }

    #[test]
    fn there_is_a_row_a_round_and_every_row_has_every_column() {
        let runs = [example::ok(), example::empty(), example::errors()];
        let rounds: usize = runs
            .iter()
            .flat_map(|run| &run.points)
            .map(|point| point.rounds.len())
            .sum();
        let csv = csv_rounds(&runs, &Look::default());
        assert_eq!(csv.lines().count(), rounds + 1);
        assert!(
            csv.lines()
                .all(|line| line.split(',').count() == COLUMNS.len() + cost::COLUMNS.len()),
            "{csv}"
        );
        assert!(csv.lines().next().unwrap().ends_with(",findings"));
    }

    #[test]
    fn only_what_ended_inside_the_window_is_what_its_cpu_time_was_for() {
        let column = |name: &str| COLUMNS.iter().find(|column| column.name == name).unwrap();
        let cost = column("generator_cpu_us_per_exchange").value;
        let mut run = example::few_samples();
        let shown = |run: &Run| {
            let (point, round) = (&run.points[0], &run.points[0].rounds[0]);
            let latency = Latency::of(&round.tally);
            cost(&Line {
                run,
                point,
                round,
                by_two: false,
                latency,
            })
        };
        let before = shown(&run);
        run.points[0].rounds[0].tally.due += 1_000_000;
        run.points[0].rounds[0].tally.never_sent += 1_000_000;
        assert_eq!(shown(&run), before);
        run.points[0].rounds[0].tally.started *= 2;
        assert_eq!(shown(&run), before);
        run.points[0].rounds[0].tally.series = record::Series::default();
        assert_eq!(shown(&run), "");
    }
}

//! Latency, and what it consists of.

use super::{count, number, text};
use crate::figure::Weight::Plain;
use crate::source::percentile;
use crate::{Figure, Figures, Part, Unit};
use plan::Load;
use record::Figure::{Counts, Latency};
use record::{OpenTimes, Statistic};
use stats::Histogram;
use units::Percentile;

/// What is called latency: response time in an open loop, service time in a closed one.
#[rustfmt::skip]
pub(super) const LATENCY: &[Figure] = &[
    Figure::new("latency_us.min", Unit::Micros,
        "min latency in microseconds; latency is response time with a rate, else service time",
        |f, _| number(f.summary.latency_us.min)).aliases(&["latency.min"]).at_least(|f, _| f.is_bound(Statistic::Min))
        .class(Latency).csv("latency_min_us").of_requests(),
    Figure::new("latency_us.mean", Unit::Micros, "mean latency",
        |f, _| number(f.summary.latency_us.mean)).aliases(&["latency.mean", "mean"]).at_least(|f, _| f.is_bound(Statistic::Mean))
        .class(Latency).repeats().csv("latency_mean_us").of_requests(),
    Figure::new("latency_us.{p}", Unit::Micros, "{p} of latency", |f, part| number(f.latency(part.percentile()?)))
        .aliases(&["{p}", "latency.{p}"]).at_least(|f, part| part.percentile().is_some_and(|p| f.is_bound(Statistic::At(p)))).class(Latency).repeats()
        .csv("latency_{p}_us").of_requests().cell("{p}", 9, Plain),
    Figure::new("latency_us.max", Unit::Micros, "max latency",
        |f, _| number(f.summary.latency_us.max)).aliases(&["latency.max", "max"]).at_least(|f, _| f.is_bound(Statistic::Max))
        .class(Latency).csv("latency_max_us").of_requests(),
    Figure::new("latency_us.count", Unit::Count, "requests that the latencies rest on: ok and censored ones",
        |f, _| count(f.summary.latency_us.count)).class(Counts).csv("latency_count").of_requests(),
    Figure::new("latency_us.at_least", Unit::Plain, "latency figures that are lower bounds, separated by spaces",
        |f, _| text(bounds(f))).csv("latency_at_least").of_requests(),
];

const ENDS: &[Percentile] = &[Percentile::P50, Percentile::P99];
const TAIL: &[Percentile] = &[Percentile::P99];

/// What stands beside latency where a schedule says when requests are sent.
#[rustfmt::skip]
pub(super) const OPEN: &[Figure] = &[
    Figure::new("never_sent", Unit::Count, "requests that were scheduled and never sent",
        |f, _| count(f.tally().never_sent)).class(Counts).csv("never_sent"),
    Figure::new("service_us.{p}", Unit::Micros, "{p} of service time, where latency is response time",
        |f, part| percentile_of(f, part, |f| f.tally().open.as_ref().map(|_| &f.tally().service)))
        .class(Latency).repeats().csv_of("service_{p}_us", ENDS),
    Figure::new("queued_us.{p}", Unit::Micros,
        "{p} of the send delay in which no connection was free; empty in a closed loop",
        |f, part| wait(f, part, |open| &open.queued)).class(Latency).repeats().csv_of("queued_{p}_us", TAIL),
    Figure::new("connecting_us.{p}", Unit::Micros, "{p} of the send delay in which a connection was opened, likewise",
        |f, part| wait(f, part, |open| &open.connecting)).class(Latency).repeats().csv_of("connecting_{p}_us", TAIL),
    Figure::new("generator_late_us.{p}", Unit::Micros, "{p} of the send delay of the generator itself, likewise",
        |f, part| wait(f, part, |open| &open.generator_late))
        .class(Latency).repeats().csv_of("generator_late_{p}_us", ENDS),
    Figure::new("connection_rate", Unit::Plain, "scheduled connections per second; empty without --connection-rate",
        |f, _| match f.point.level.load {
            load @ Load::Open { rate, .. } if load.is_of_connections() => number(rate.as_f64()),
            _ => None,
        }).csv("connection_rate"),
    Figure::new("connections.due", Unit::Count, "sessions scheduled in the measure window, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.scheduled))).class(Counts).csv("connections_due"),
    Figure::new("connections.ended_early", Unit::Count,
        "aborted sessions: over before all their requests were scheduled, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.aborted))).class(Counts).csv("connections_ended_early"),
    Figure::new("connection_time_us.{p}", Unit::Micros,
        "{p} of the time of whole sessions, from scheduled arrival to close, likewise",
        |f, part| percentile_of(f, part, |f| Some(&f.tally().open.as_ref()?.sessions.as_ref()?.time)))
        .class(Latency).repeats().csv_of("connection_time_{p}_us", ENDS),
    Figure::new("floor_us.p50", Unit::Micros,
        "p50 of response time against the built-in reference server, before the load; empty in a closed loop",
        |f, _| number(f.point.baseline.as_ref().and_then(|floor| floor.response_us.p50))).csv("floor_p50_us"),
    Figure::new("floor_us.p99", Unit::Micros, "p99 of that",
        |f, _| number(f.point.baseline.as_ref().and_then(|floor| floor.response_us.p99))).csv("floor_p99_us"),
    Figure::new("generators", Unit::Count, "generator processes: 1, or 2 in the rounds that --two-generators adds",
        |f, _| count(u64::from(f.generators))).csv("generators"),
];

fn percentile_of(
    f: &Figures<'_>,
    part: Part,
    times: for<'a> fn(&'a Figures<'_>) -> Option<&'a Histogram>,
) -> Option<crate::Value> {
    number(percentile(times(f), part.percentile()?))
}

fn wait(f: &Figures<'_>, part: Part, times: fn(&OpenTimes) -> &Histogram) -> Option<crate::Value> {
    let open = f.tally().open.as_deref();
    number(percentile(open.map(times), part.percentile()?))
}

fn bounds(f: &Figures<'_>) -> String {
    let bounds = f.summary.latency_us.at_least.iter();
    bounds
        .map(|figure| figure.key())
        .collect::<Vec<_>>()
        .join(" ")
}

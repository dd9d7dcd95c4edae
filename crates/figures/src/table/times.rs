//! Latency, and what it consists of.

use super::{count, number, text};
use crate::figure::Shown::Always;
use crate::figure::Weight::Plain;
use crate::source::statistic;
use crate::{Figure, Figures, Part, Unit, Value};
use plan::Load;
use record::Figure::{Counts, Latency};
use record::{OpenTimes, Statistic};
use stats::Histogram;
use units::Percentile;

/// What is called latency: response time in an open loop, service time in a closed one.
#[rustfmt::skip]
pub(super) const LATENCY: &[Figure] = &[
    Figure::new("latency_us.{p}", Unit::Micros,
        "{p} latency in microseconds: response time with a rate, else service time",
        |f, part| number(f.latency(part.statistic()?)))
        .aliases(&["{p}", "latency.{p}"]).at_least(|f, part| part.statistic().is_some_and(|each| f.is_bound(each)))
        .class(Latency).repeats().csv("latency_{p}_us").of_requests().cell("{p}", 9, Plain, Always),
    Figure::new("latency_us.count", Unit::Count, "requests that the latencies rest on: ok and censored ones",
        |f, _| count(f.summary.latency_us.count)).class(Counts).csv("latency_count").of_requests(),
    Figure::new("latency_us.at_least", Unit::Plain, "latency figures that are lower bounds, separated by spaces",
        |f, _| text(bounds(f))).csv("latency_at_least").of_requests(),
];

const ENDS: &[Statistic] = &[Statistic::At(Percentile::P50), TAIL[0]];
const TAIL: &[Statistic] = &[Statistic::At(Percentile::P99)];

/// What stands beside latency where a schedule says when requests are sent.
#[rustfmt::skip]
pub(super) const OPEN: &[Figure] = &[
    Figure::new("never_sent", Unit::Count, "requests that were scheduled and never sent",
        |f, _| count(f.tally().never_sent)).class(Counts).csv("never_sent"),
    Figure::new("service_us.{p}", Unit::Micros, "{p} of service time, where latency is response time",
        |f, part| time(part, f.tally().open.as_ref().map(|_| &f.tally().service)))
        .at_least(|f, part| {
            let service = part.statistic().and_then(|each| statistic(Some(&f.tally().service), each));
            service.zip(f.tally().censored_from).is_some_and(|(service, from)| service >= from.as_micros_f64())
        })
        .class(Latency).repeats().csv_of("service_{p}_us", ENDS),
    Figure::new("send_delay_us.{p}", Unit::Micros,
        "{p} of the send delay, from the scheduled to the actual start of a request; empty in a closed loop",
        |f, part| time(part, f.tally().open.as_ref().map(|_| &f.tally().send_delay))).class(Latency).repeats(),
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
    Figure::new("connections.aborted", Unit::Count,
        "aborted sessions: over before all their requests were scheduled, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.aborted)))
        .aliases(&["connections.ended_early"]).class(Counts).csv("connections_aborted"),
    Figure::new("connection_time_us.{p}", Unit::Micros,
        "{p} of the time of whole sessions, from scheduled arrival to close, likewise",
        |f, part| time(part, f.tally().sessions().map(|sessions| &sessions.time)))
        .class(Latency).repeats().csv_of("connection_time_{p}_us", ENDS),
    Figure::new("baseline_us.{p}", Unit::Micros,
        "{p} of response time against the built-in reference server, before the load; empty in a closed loop",
        |f, part| {
            let times = f.point.baseline.as_ref()?.response_us;
            number(match part.statistic()? {
                Statistic::At(Percentile::P50) => times.p50,
                Statistic::At(Percentile::P99) => times.p99,
                _ => None,
            })
        }).aliases(&["floor_us.{p}"]).csv_of("baseline_{p}_us", ENDS),
    Figure::new("coordinated_omission.index", Unit::Share,
        "share of requests at random times that would have met a stall; empty in an open loop",
        |f, _| number(f.summary.coordinated_omission.as_ref().map(|omission| omission.index))).class(Latency),
    Figure::new("coordinated_omission.stalls", Unit::Count,
        "stalls longer than a millisecond and than five times the median service time, likewise",
        |f, _| count(f.summary.coordinated_omission.as_ref().map(|omission| omission.stalls))).class(Latency),
    Figure::new("coordinated_omission.longest_us", Unit::Micros, "longest of them, in microseconds; 0 where there is none",
        |f, _| number(f.summary.coordinated_omission.as_ref().map(|omission| omission.longest_us.unwrap_or(0.0)))).class(Latency),
    Figure::new("generators", Unit::Count, "generator processes: 1, or 2 in the rounds that --two-generators adds",
        |f, _| count(u64::from(f.generators))).csv("generators"),
];

fn time(part: Part, times: Option<&Histogram>) -> Option<Value> {
    number(statistic(times, part.statistic()?))
}

fn wait(f: &Figures<'_>, part: Part, times: fn(&OpenTimes) -> &Histogram) -> Option<Value> {
    time(part, f.tally().open.as_deref().map(times))
}

fn bounds(f: &Figures<'_>) -> String {
    let bounds = f.summary.latency_us.at_least.iter();
    let keys: Vec<String> = bounds.map(|figure| figure.key()).collect();
    keys.join(" ")
}

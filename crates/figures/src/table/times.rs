//! Latency, and what it consists of.

use super::{count, number, text, unconnected, unscheduled};
use crate::figure::Shown::Always;
use crate::figure::Weight::Plain;
use crate::select::too_few;
use crate::{Figure, Figures, Unit, Value};
use plan::Load;
use record::Figure::{Counts, Latency};
use record::{Censored, FirstSecond, Settling, Statistic};
use stats::Histogram;
use units::{Nanos, Percentile};

/// What is called latency: response time in an open loop, service time in a closed one.
#[rustfmt::skip]
pub(super) const LATENCY: &[Figure] = &[
    Figure::times("latency_us.{p}", "{p} latency in microseconds: response time with a rate, else service time",
        "requests", |f| Some(f.tally().latency()))
        .aliases(&["{p}", "latency.{p}"]).at_least(|f, part| part.statistic().is_some_and(|each| f.is_bound(each)))
        .class(Latency).clustered().repeats().csv("latency_{p}_us").of_requests().cell("{p}", 9, Plain, Always),
    Figure::new("latency_us.count", Unit::Count, "requests that the latencies rest on: ok and censored ones",
        |f, _| count(f.summary.latency_us.count)).class(Counts).csv("latency_count").of_requests(),
    Figure::new("latency_us.at_least", Unit::Text, "latency figures that are lower bounds, separated by spaces",
        |f, _| text(bounds(f))).csv("latency_at_least").of_requests(),
];

/// The handshakes of https.
#[rustfmt::skip]
pub(super) const HANDSHAKES: &[Figure] = &[
    Figure::new("handshakes.full", Unit::Count,
        "TLS handshakes in which the server showed its certificate, warm-up included; this and the next five only with https",
        |f, _| samples(full(f))).class(Counts).csv("handshakes_full").absent(unsecured),
    Figure::new("handshakes.resumed", Unit::Count, "TLS handshakes that resumed an earlier session, warm-up included",
        |f, _| samples(resumed(f))).class(Counts).csv("handshakes_resumed").absent(unsecured),
    Figure::times("handshake_us.{p}", "{p} of full TLS handshakes, from the connection open to the connection usable",
        "handshakes", full).class(Latency).repeats().csv_of("handshake_{p}_us", ENDS).absent(unsecured),
    Figure::times("handshake_resumed_us.{p}", "{p} of resumed TLS handshakes, likewise",
        "handshakes", resumed).class(Latency).repeats().csv_of("handshake_resumed_{p}_us", ENDS).absent(unsecured),
    Figure::new("handshakes.agreed", Unit::Text,
        "TLS version, cipher suite and key exchange that handshakes agreed on; where they differ, separated by semicolons",
        |f, _| text(agreed(f))).csv("handshakes_agreed").absent(unsecured),
    Figure::new("certificate", Unit::Text, "`checked`, or `not checked` with --insecure",
        |f, _| text(certificate(f))).csv("certificate").absent(unsecured),
];

fn agreed(f: &Figures<'_>) -> Option<String> {
    let handshakes = f.tally().connects.handshakes.as_ref()?;
    Some(handshakes.agreed_on())
}

fn certificate(f: &Figures<'_>) -> Option<String> {
    let security = f.plan.security.as_ref()?;
    let words = match security.insecure {
        true => "not checked",
        false => "checked",
    };
    Some(words.to_owned())
}

fn full<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    let handshakes = f.tally().connects.handshakes.as_ref()?;
    Some(&handshakes.full)
}

fn resumed<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    let handshakes = f.tally().connects.handshakes.as_ref()?;
    Some(&handshakes.resumed)
}

/// Says why there was no handshake.
fn unsecured(f: &Figures<'_>) -> Option<String> {
    f.plan
        .security
        .is_none()
        .then(|| "exists only with https".to_owned())
}

const ENDS: &[Statistic] = &[Statistic::At(Percentile::P50), TAIL[0]];
const TAIL: &[Statistic] = &[Statistic::At(Percentile::P99)];

/// The time before the first round.
#[rustfmt::skip]
pub(super) const SETTLING: &[Figure] = &[
    Figure::new("first_response_us", Unit::Micros,
        "from the start of the first connect to the end of the first response, before any load; this and the next four only of load \
         levels before whose rounds a server was loaded until it was steady",
        |f, _| time(settling(f)?.first_response, 1e6)).absent(unsettled),
    Figure::new("first_second.rps", Unit::PerSecond, "requests that ended ok in the first second of load",
        |f, _| number(first_second(f)?.rps)).absent(unsettled),
    Figure::new("first_second.p99_us", Unit::Micros, "p99 latency of the requests scheduled in it",
        |f, _| time(first_second(f)?.p99, 1e6)).absent(unsettled),
    Figure::new("first_second.max_us", Unit::Micros, "their highest latency",
        |f, _| time(first_second(f)?.max, 1e6)).absent(unsettled),
    Figure::new("steady_after_s", Unit::Seconds,
        "load until requests/s (with a rate: latency) was steady; empty where it was not before the first round",
        |f, _| time(settling(f)?.steady_after, 1.0)).absent(unsettled),
];

fn settling<'f>(f: &'f Figures<'_>) -> Option<&'f Settling> {
    f.summary.settling.as_deref()
}

fn first_second<'f>(f: &'f Figures<'_>) -> Option<&'f FirstSecond> {
    settling(f)?.first_second.as_ref()
}

/// A time in units of which a second has so many.
fn time(span: Option<Nanos>, a_second: f64) -> Option<Value> {
    number(span?.as_secs_f64() * a_second)
}

/// Says why there was no load before the first round.
fn unsettled(f: &Figures<'_>) -> Option<String> {
    let is_settled = f.plan.settle;
    (!is_settled)
        .then(|| "exists only where the warm-up ends by itself, without --warmup".to_owned())
}

/// What stands beside latency where a schedule says when requests are sent.
#[rustfmt::skip]
pub(super) const OPEN: &[Figure] = &[
    Figure::new("never_sent", Unit::Count, "requests that were scheduled and never sent",
        |f, _| count(f.tally().never_sent)).class(Counts).csv("never_sent"),
    Figure::times("service_us.{p}", "{p} of service time, where latency is response time", "requests", service)
        .at_least(|f, part| {
            let tally = f.tally();
            let censored = Censored::of(&tally.service, tally.ok, tally.censored_from);
            part.statistic().zip(censored).is_some_and(|(each, censored)| censored.bounds(&tally.service, each))
        })
        .aliases(&["open.service_us.{p}"]).class(Latency).repeats().csv_of("service_{p}_us", ENDS).absent(unscheduled),
    Figure::times("send_delay_us.{p}",
        "{p} of the send delay, from the scheduled to the actual start of a request, over those that ended ok; the next three \
         are its parts, over all that were sent; empty in a closed loop",
        "ok requests", send_delay).aliases(&["open.send_delay_us.{p}"]).class(Latency).repeats().absent(unscheduled),
    Figure::times("queued_us.{p}", "{p} of the send delay in which no connection was free; empty in a closed loop",
        "sent requests", queued).aliases(&["open.queued_us.{p}"]).class(Latency).repeats().csv_of("queued_{p}_us", TAIL)
        .absent(unscheduled),
    Figure::times("connecting_us.{p}", "{p} of the send delay in which a connection was opened, likewise",
        "sent requests", connecting).aliases(&["open.connecting_us.{p}"]).class(Latency).repeats()
        .csv_of("connecting_{p}_us", TAIL).absent(unscheduled),
    Figure::times("generator_late_us.{p}", "{p} of the send delay of the generator itself, likewise",
        "sent requests", generator_late).aliases(&["open.generator_late_us.{p}"]).class(Latency).repeats()
        .csv_of("generator_late_{p}_us", ENDS).absent(unscheduled),
    Figure::new("connection_rate", Unit::Plain, "scheduled connections per second; empty without --connection-rate",
        |f, _| match f.point.level.load {
            load @ Load::Open { rate, .. } if load.is_of_connections() => number(rate.as_f64()),
            _ => None,
        }).csv("connection_rate").absent(unconnected),
    Figure::new("connections.due", Unit::Count, "sessions scheduled in the measure window, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.scheduled)))
        .aliases(&["open.sessions.scheduled"]).class(Counts).csv("connections_due").absent(unconnected),
    Figure::new("connections.aborted", Unit::Count,
        "aborted sessions: over before all their requests were scheduled, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.aborted)))
        .aliases(&["connections.ended_early", "open.sessions.aborted"]).class(Counts).csv("connections_aborted").absent(unconnected),
    Figure::new("open.sessions.skipped", Unit::Count, "requests that aborted sessions skipped: they were never scheduled, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.skipped))).class(Counts).absent(unconnected),
    Figure::new("open.sessions.opened", Unit::Count, "connections established in the measure window, likewise",
        |f, _| count(f.sessions().map(|sessions| sessions.opened))).class(Counts).absent(unconnected),
    Figure::times("connection_time_us.{p}",
        "{p} of the time of whole sessions, from scheduled arrival to close, likewise", "complete sessions", session)
        .aliases(&["open.sessions.time_us.{p}"]).class(Latency).repeats().csv_of("connection_time_{p}_us", ENDS).absent(unconnected),
    Figure::new("connection_time_us.count", Unit::Count, "sessions that the times rest on: those that sent all their requests",
        |f, _| samples(session(f))).aliases(&["open.sessions.time_us.count"]).class(Counts).absent(unconnected),
    Figure::new("service_us.count", Unit::Count, "requests that service time rests on: ok and censored ones that were sent",
        |f, _| samples(service(f))).aliases(&["open.service_us.count"]).class(Counts).absent(unscheduled),
    Figure::new("send_delay_us.count", Unit::Count, "requests that the send delay rests on: ok ones",
        |f, _| samples(send_delay(f))).aliases(&["open.send_delay_us.count"]).class(Counts).absent(unscheduled),
    Figure::new("queued_us.count", Unit::Count, "requests that the parts of the send delay rest on: those that were sent",
        |f, _| samples(queued(f))).class(Counts).absent(unscheduled).aliases(&["open.queued_us.count",
            "connecting_us.count", "open.connecting_us.count", "generator_late_us.count", "open.generator_late_us.count"]),
    Figure::new("baseline_us.p50", Unit::Micros,
        "p50 of response time against the built-in reference server, before the load; empty in a closed loop",
        |f, _| number(f.point.baseline.as_ref()?.response_us.p50))
        .aliases(&["floor_us.p50"]).csv("baseline_p50_us").absent(|f| unmeasured_baseline(f, Percentile::P50)),
    Figure::new("baseline_us.p99", Unit::Micros, "p99 of it",
        |f, _| number(f.point.baseline.as_ref()?.response_us.p99))
        .aliases(&["floor_us.p99"]).csv("baseline_p99_us").absent(|f| unmeasured_baseline(f, Percentile::P99)),
    Figure::new("coordinated_omission.index", Unit::Share,
        "share of requests at random times that would have met a stall; empty in an open loop",
        |f, _| number(f.omission().map(|omission| omission.index))).class(Latency).absent(scheduled),
    Figure::new("coordinated_omission.stalls", Unit::Count,
        "stalls longer than a millisecond and than five times the median service time, likewise",
        |f, _| count(f.omission().map(|omission| omission.stalls))).class(Latency).absent(scheduled),
    Figure::new("coordinated_omission.longest_us", Unit::Micros, "longest of them, in microseconds; 0 where there is none",
        |f, _| number(f.omission().map(|omission| omission.longest_us.unwrap_or(0.0)))).class(Latency).absent(scheduled),
    Figure::new("coordinated_omission.affected_from", Unit::Share,
        "share of requests, 0 to 1, above which percentiles are affected by stalls; empty where none is",
        |f, _| number(f.omission()?.affected_from)).class(Latency).absent(unaffected),
    Figure::new("coordinated_omission.affected_to", Unit::Share,
        "share of requests, 0 to 1, from which on the measured percentiles show the stalls; likewise",
        |f, _| number(f.omission()?.affected_to)).class(Latency).absent(unaffected),
    Figure::new("generators", Unit::Count, "generator processes: 1, or 2 in the rounds that --two-generators adds",
        |f, _| count(u64::from(f.generators))).csv("generators"),
];

fn service<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().open.as_ref().map(|_| &f.tally().service)
}

fn send_delay<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().open.as_ref().map(|_| &f.tally().send_delay)
}

fn queued<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().open.as_ref().map(|open| &open.queued)
}

fn connecting<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().open.as_ref().map(|open| &open.connecting)
}

fn generator_late<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().open.as_ref().map(|open| &open.generator_late)
}

fn session<'f>(f: &'f Figures<'_>) -> Option<&'f Histogram> {
    f.tally().sessions().map(|sessions| &sessions.time)
}

fn samples(times: Option<&Histogram>) -> Option<Value> {
    count(times.map(Histogram::count))
}

/// Says why percentiles of the baseline are not there.
fn unmeasured_baseline(f: &Figures<'_>, p: Percentile) -> Option<String> {
    let Some(baseline) = &f.point.baseline else {
        return unscheduled(f);
    };
    let need = stats::carried_from(p.quantile())?;
    Some(match baseline.requests < need {
        true => too_few(need, baseline.requests, "requests of the self-test"),
        false => "was not measured: the self-test could not keep up with its schedule".to_owned(),
    })
}

/// Says why an open loop has no coordinated omission.
fn scheduled(f: &Figures<'_>) -> Option<String> {
    let is_open = f.plan.load.is_open();
    is_open.then(|| "exists only in a closed loop, without --rate and --connection-rate".to_owned())
}

fn unaffected(f: &Figures<'_>) -> Option<String> {
    let none = || "has no value: coordinated omission affects no percentile".to_owned();
    scheduled(f).or_else(|| f.omission().map(|_| none()))
}

fn bounds(f: &Figures<'_>) -> String {
    let bounds = f.summary.latency_us.at_least.iter();
    let keys: Vec<String> = bounds.map(|figure| figure.key()).collect();
    keys.join(" ")
}

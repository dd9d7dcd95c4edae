//! Requests, errors and throughput.

use super::{count, number, unconnected, unscheduled};
use crate::figure::Shown::{Always, Arriving, Sized};
use crate::figure::Weight::{Alarm, Dim, Plain, Strong};
use crate::{Figure, Part, Unit};
use record::Figure::{Counts, Rps};

/// Rates.
#[rustfmt::skip]
pub(super) const RATES: &[Figure] = &[
    Figure::new("connections.per_second", Unit::PerSecond,
        "connections established in the measure window per second; empty without --connection-rate",
        |f, _| number(f.sessions().map(|sessions| sessions.per_second))).class(Counts).repeats()
        .aliases(&["open.sessions.per_second"]).absent(unconnected).csv("connections_per_second").cell("connections/s", 6, Plain, Arriving),
    Figure::new("rps.offered", Unit::PerSecond,
        "offered load: requests scheduled per second, with --connection-rate also those that aborted sessions skipped",
        |f, _| number(f.summary.rps_offered(&f.point.level.load, &f.plan.protocol)))
        .aliases(&["rps.demanded"]).absent(unscheduled).csv("rps_offered").cell("offered/s", 5, Plain, Arriving),
    Figure::new("rps.mean", Unit::PerSecond, "throughput: requests that ended ok in the measure window, per second",
        |f, _| number(f.summary.rps.mean)).aliases(&["rps", "throughput", "requests_per_second"]).class(Rps).repeats()
        .csv("rps_mean").cell("requests/s", 10, Strong, Always),
    Figure::new("rps.min", Unit::PerSecond, "lowest throughput of a complete round",
        |f, _| number(f.summary.rps.min)).class(Rps).csv("rps_min").cell("min", 3, Plain, Always),
    Figure::new("rps.median", Unit::PerSecond, "median throughput of the complete rounds",
        |f, _| number(f.summary.rps.median)).class(Rps).csv("rps_median"),
    Figure::new("rps.max", Unit::PerSecond, "highest throughput of a complete round",
        |f, _| number(f.summary.rps.max)).class(Rps).csv("rps_max").cell("max", 3, Plain, Always),
    Figure::new("rps.low", Unit::PerSecond, "lower end of the 95 % interval of the rounds' throughput",
        |f, _| number(f.summary.rps.low)).class(Rps).csv("rps_low"),
    Figure::new("rps.high", Unit::PerSecond, "upper end of that interval",
        |f, _| number(f.summary.rps.high)).class(Rps).csv("rps_high"),
    Figure::new("rps.geometric_mean", Unit::PerSecond, "its centre, the geometric mean",
        |f, _| number(f.summary.rps.geometric_mean)).class(Rps),
];

/// Counts.
#[rustfmt::skip]
pub(super) const COUNTS: &[Figure] = &[
    Figure::new("requests", Unit::Count, "requests scheduled in the measure window, and those carried over from before it",
        |f, _| count(f.summary.requests)).class(Counts).csv("requests").of_requests(),
    Figure::new("ok", Unit::Count, "requests that ended ok",
        |f, _| count(f.summary.ok)).class(Counts).csv("ok").of_requests(),
    Figure::new("errors.total", Unit::Count, "requests that did not end ok, censored ones included",
        |f, _| count(f.summary.errors.total)).aliases(&["errors"]).class(Counts).csv("errors").of_requests()
        .cell("errors", 8, Alarm, Always),
    Figure::new("errors.share", Unit::Share, "errors as a share of the requests",
        |f, _| number((f.summary.requests > 0).then(|| f.summary.errors.total as f64 / f.summary.requests as f64)))
        .aliases(&["error_rate", "error_share"]).class(Counts).of_requests(),
    Figure::new("errors.{kind}", Unit::Count, "errors of kind {kind}", |f, part| match part {
            Part::Kind(kind) => count(f.summary.errors.by_kind.get(kind.name()).copied().unwrap_or(0)),
            _ => None,
        }).class(Counts),
    Figure::new("status.{status}", Unit::Count, "complete responses with status {status}", |f, part| match part {
            Part::Status(status) => count(f.tally().statuses.count(status)),
            _ => None,
        }).aliases(&["status_{status}"]).class(Counts),
    Figure::new("censored", Unit::Count, "errors that were cut off before their end was known",
        |f, _| count(f.summary.censored)).class(Counts).csv("censored"),
    Figure::new("carried_over", Unit::Count,
        "errors that were sent before the measure window and had no response by its end",
        |f, _| count(f.summary.carried_over())).class(Counts).csv("carried_over"),
];

/// Bytes and connections.
#[rustfmt::skip]
pub(super) const TRAFFIC: &[Figure] = &[
    Figure::new("bytes_received", Unit::Bytes, "bytes of responses: heads, framing and bodies; with https before encryption",
        |f, _| count(f.summary.bytes_received)).class(Counts).csv("bytes_received"),
    Figure::new("bytes_received_per_s", Unit::Bytes, "bytes of responses per second of the measure windows",
        |f, _| {
            let per_second = f.summary.bytes_received as f64 / f.summary.duration_s;
            count(per_second.is_finite().then_some(per_second as u64))
        }).class(Rps).cell("received/s", 9, Plain, Sized),
    Figure::new("bytes_sent", Unit::Bytes, "bytes of requests; with https before encryption",
        |f, _| count(f.summary.bytes_sent)).class(Counts).csv("bytes_sent"),
    Figure::new("connections.opened", Unit::Count, "connections established, warm-up included",
        |f, _| count(f.tally().connects.established)).class(Counts).csv("connections_opened"),
    Figure::new("connections.peak", Unit::Count, "most connections that were open at a time",
        |f, _| count(f.tally().connects.open_peak)).class(Counts).csv("connections_peak"),
];

/// How long it took.
#[rustfmt::skip]
pub(super) const TIME: &[Figure] = &[
    Figure::new("duration_s", Unit::Seconds, "measure window in seconds; of several rounds the sum",
        |f, _| number(f.summary.duration_s)).csv("duration_s").cell("time", 2, Dim, Always),
];

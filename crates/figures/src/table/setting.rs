//! What a row is about: when and where it was measured, under which load, and the caveats.

use super::{count, number, text, unscheduled};
use crate::{Figure, Unit};
use plan::Load;

/// The record, the target and the level.
#[rustfmt::skip]
pub(super) const ROWS: &[Figure] = &[
    Figure::new("record", Unit::Count, "number of the record among those that are printed, from 1",
        |f, _| count(u64::from(f.record))).csv("record").of_requests(),
    Figure::new("started", Unit::Text, "time at which the campaign began, UTC",
        |f, _| text(units::date::iso(f.run.started_unix))).csv("started").of_requests(),
    Figure::new("target", Unit::Text, "host and port under test",
        |f, _| text(f.run.plan.target.authority.clone())).csv("target").of_requests(),
    Figure::new("url", Unit::Text, "URL of the first request", |f, _| text(f.run.plan.first_url())).csv("url").of_requests(),
    Figure::new("endpoint", Unit::Text, "address that was used",
        |f, _| text(f.run.probe.as_ref().map(|probe| probe.endpoint.to_string()))).csv("endpoint").of_requests(),
    Figure::new("server", Unit::Text, "name that the server gives itself in its responses; empty where it gives none",
        |f, _| text(f.run.probe.as_ref().and_then(|probe| probe.server_name()).map(str::to_owned)))
        .csv("server").of_requests(),
    Figure::new("command", Unit::Text, "command that started the server; empty where weigh did not start it",
        |f, _| text(f.run.plan.server.as_ref().map(|server| server.argv.join(" ")))).csv("command").of_requests(),
    Figure::new("connections", Unit::Count, "concurrent connections; with a rate the most that may be open",
        |f, _| count(u64::from(f.point.level.load.connections()))).csv("connections").of_requests(),
    Figure::new("rate", Unit::Plain,
        "scheduled arrivals per second: requests or, with --connection-rate, connections; empty in a closed loop",
        |f, _| match f.point.level.load {
            Load::Closed { .. } => None,
            Load::Open { rate, .. } => number(rate.as_f64()),
        }).csv("rate").of_requests().absent(unscheduled),
    Figure::new("threads", Unit::Count, "generator threads", |f, _| count(u64::from(f.plan.threads()))).csv("threads").of_requests(),
    Figure::new("pipeline", Unit::Count, "requests in flight on one connection",
        |f, _| count(u64::from(f.plan.protocol.pipeline))).csv("pipeline").of_requests(),
    Figure::new("workers", Unit::Count, "workers of the server that weigh started, where --workers sets them",
        |f, _| count(f.point.level.workers.map(u64::from))).csv("workers").of_requests(),
    Figure::new("size", Unit::Count, "size of the responses in bytes, where --size sets it",
        |f, _| count(f.point.level.size.map(u64::from))).csv("size").of_requests(),
    Figure::new("request", Unit::Text,
        "the request of a list that the row is about: path, after the method unless that is GET; empty where all count",
        |f, _| text(f.request.map(str::to_owned))).csv("request").of_requests(),
    Figure::new("round", Unit::Count, "number of the round, from 1",
        |f, _| count(f.is_round.then(|| u64::from(f.rounds[0].index) + 1))).csv("round"),
    Figure::new("partial", Unit::Text, "true where a round was cut short",
        |f, _| text(f.rounds.iter().any(|round| round.partial).to_string())).csv("partial"),
    Figure::new("rounds", Unit::Count, "complete rounds that the figures rest on",
        |f, _| count(u64::from(f.summary.rps.rounds))).aliases(&["rps.rounds"]).csv("rounds").of_requests(),
];

/// What the schedule of an open loop asks for.
#[rustfmt::skip]
pub(super) const SCHEDULE: &[Figure] = &[
    Figure::new("request_rate", Unit::Plain,
        "scheduled requests per second, with --connection-rate those of all its connections; empty in a closed loop",
        |f, _| number(f.point.level.load.exchange_rate(&f.plan.protocol))).csv("request_rate").absent(unscheduled),
    Figure::new("arrivals", Unit::Text, "arrival process as --arrivals names it, such as poisson or bursts:10ms/1s; empty in a closed loop",
        |f, _| match f.point.level.load {
            Load::Closed { .. } => None,
            Load::Open { arrivals, .. } => text(arrivals.to_string()),
        }).csv("arrivals").absent(unscheduled),
];

/// What to know before one believes the row.
#[rustfmt::skip]
pub(super) const CAVEATS: &[Figure] = &[
    Figure::new("findings", Unit::Text, "caveats as check:grade, separated by spaces, without notes",
        |f, _| text(f.caveats())).csv("findings"),
];

//! Connections: how they are opened, used and given up.

use super::Takes::{List, Value, Word};
use super::{Choice, Group, Setting, broken, count, keep, list, push, set, time, varied, yes};
use crate::{Arriving, Axis, Endpoint, Load, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use units::{Nanos, Series};

/// The deepest pipeline: beyond it the server's own limits are all that is measured.
const MOST_PIPELINED: u32 = 1024;

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Connections,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "connect", takes: Word(Connect::words),
        help: "When connections are opened.",
        computed: "eager; lazy with a rate",
        parse: |draft, text| keep(&mut draft.connect, Connect::read(text).map(Some)),
        show: |plan| plan.connect.word().to_owned(),
        check: |plan| broken(plan.load.is_of_connections() && plan.connect == Connect::Eager,
            "--connect eager contradicts --connection-rate, by which each connection is opened when it arrives; remove \
             one of them"),
        ..ROW },
    Setting { name: "no-keepalive",
        help: "Open a new connection for every request.",
        parse: |draft, _| keep(&mut draft.plan.protocol.keepalive, Ok(false)),
        show: |plan| yes(!plan.protocol.keepalive),
        check: |plan| {
            let protocol = &plan.protocol;
            let most = protocol.requests_per_connection;
            let several = protocol.pipeline > 1 || most.is_some_and(|most| most > 1);
            broken(
                !protocol.keepalive && several,
                "--no-keepalive closes after every response, so --pipeline and --requests-per-connection above 1 \
                 contradict it; remove one of them",
            )
        },
        ..ROW },
    Setting { name: "requests-per-connection", takes: Value("K"),
        help: "Maximum number of requests on one connection.",
        long: "With --connection-rate it is the number that each connection sends.",
        computed: "no limit; 1 with --connection-rate",
        parse: |draft, text| keep(&mut draft.plan.protocol.requests_per_connection, count(text).map(Some)),
        show: |plan| {
            let most = plan.protocol.requests_per_connection;
            most.map_or("no limit".to_owned(), units::count)
        },
        check: |plan| match plan.protocol.requests_per_connection {
            Some(0) => Some("--requests-per-connection is 0, so nothing would be sent; give at least 1".to_owned()),
            None => broken(
                plan.load.is_of_connections() && plan.protocol.keepalive,
                "--connection-rate needs an end to each connection; give --requests-per-connection",
            ),
            Some(_) => None,
        },
        ..ROW },
    Setting { name: "pipeline", takes: Value("P"), axis: true, default: "1",
        help: "Requests in flight on one connection (HTTP pipelining), at most 1024.",
        long: "Not with a rate: a request behind another waits for it.",
        parse: |draft, text| draft.vary(text, |values: Series<u32>| Axis::Pipeline(values.0)),
        show: |plan| varied(plan, "pipeline", units::count(plan.protocol.pipeline.into())),
        check: pipeline,
        ..ROW },
    Setting { name: "http1.0",
        help: "Send HTTP/1.0 requests.",
        parse: |draft, _| keep(&mut draft.plan.protocol.version, Ok(Version::Http10)),
        show: |plan| yes(plan.protocol.version == Version::Http10),
        check: |plan| broken(plan.protocol.version == Version::Http10 && plan.protocol.pipeline > 1,
            "--http1.0 has no pipelining; remove --pipeline"),
        ..ROW },
    Setting { name: "timeout", takes: Value("TIME"), default: "10s",
        help: "Time limit of a request, from its first byte sent.",
        long: "A request that takes longer is cut off and counted as an error.",
        parse: |draft, text| set(&mut draft.plan.timeouts.exchange, text),
        show: |plan| time(plan.timeouts.exchange),
        check: |plan| broken(plan.timeouts.exchange == Nanos::ZERO,
            "--timeout is 0, so every request would be cut off; give at least 1ms"),
        ..ROW },
    Setting { name: "connect-timeout", takes: Value("TIME"), default: "5s",
        help: "Time limit of a connect, and again of a TLS handshake.",
        parse: |draft, text| set(&mut draft.plan.timeouts.connect, text),
        show: |plan| time(plan.timeouts.connect),
        check: |plan| broken(plan.timeouts.connect == Nanos::ZERO,
            "--connect-timeout is 0, so every connect would be cut off; give at least 1ms"),
        ..ROW },
    Setting { name: "source", takes: List("ADDR,..."),
        help: "Local addresses to connect from, in turn.",
        computed: "chosen by the kernel",
        parse: |draft, text| push(&mut draft.plan.sources, text),
        show: |plan| list(plan.sources.iter(), ", "),
        check: |plan| {
            let unfit = plan.sources.iter().find(|source| !reaches(plan, source))?;
            Some(format!(
                "--source {unfit} cannot reach {}, which has no address of its kind; remove it",
                plan.target.authority
            ))
        },
        ..ROW },
];

/// Whether the target has an address of the family of `source`.
fn reaches(plan: &Plan, source: &IpAddr) -> bool {
    plan.target
        .endpoints
        .iter()
        .any(|endpoint| matches!(endpoint, Endpoint::Ip(at) if at.is_ipv4() == source.is_ipv4()))
}

fn pipeline(plan: &Plan) -> Option<String> {
    match (plan.protocol.pipeline, plan.load) {
        (0, _) => Some(
            "--pipeline is 0, so nothing would be sent; give 1 for one request at a time"
                .to_owned(),
        ),
        (deep, _) if deep > MOST_PIPELINED => Some(format!(
            "--pipeline is {deep}, more than the {MOST_PIPELINED} that one connection may have under way"
        )),
        (2.., Load::Open { of, .. }) => Some(format!(
            "--pipeline contradicts {}: a request behind another waits for it, so its scheduled time would say nothing; \
             remove one of them",
            Arriving::flag(of)
        )),
        _ => None,
    }
}

/// When waiting for a peer ends; what is cut off is censored at its age, never dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeouts {
    /// For a whole exchange, from its first byte sent.
    pub exchange: Nanos,
    /// For a connect, from its start.
    pub connect: Nanos,
}

/// When connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// All of them before the load begins.
    Eager,
    /// On the fly, each when its first exchange is due, the request right after the handshake, as users do.
    Lazy,
}

impl Choice for Connect {
    const CHOICES: &'static [(Connect, &'static str, &'static str)] = &[
        (Connect::Eager, "eager", "All before the load begins."),
        (
            Connect::Lazy,
            "lazy",
            "Each with its first request, as users do; during the warm-up, if there is one.",
        ),
    ];
}

/// The version of HTTP that requests are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Version {
    /// HTTP/1.0; keep-alive must be asked for.
    #[serde(rename = "HTTP/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "HTTP/1.1")]
    Http11,
}

impl Version {
    /// Returns the number behind its point.
    pub fn minor(self) -> u8 {
        match self {
            Version::Http10 => 0,
            Version::Http11 => 1,
        }
    }
}

/// How HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocol {
    /// The version that requests are written in.
    pub version: Version,
    /// Whether a connection serves more than one exchange.
    pub keepalive: bool,
    /// The most exchanges on one connection; none: as many as the server allows.
    pub requests_per_connection: Option<u64>,
    /// Exchanges that may be under way on one connection at a time.
    pub pipeline: u32,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol {
            version: Version::Http11,
            keepalive: true,
            requests_per_connection: None,
            pipeline: 1,
        }
    }
}

impl Protocol {
    /// The most exchanges on one connection, all settings considered.
    pub fn exchanges_per_connection(&self) -> u64 {
        match (self.keepalive, self.requests_per_connection) {
            (false, _) => 1,
            (true, Some(most)) => most,
            (true, None) => u64::MAX,
        }
    }
}

//! The first lines of a page: target and load.

use super::{Item, Role};
use crate::phrase::clean;
use plan::secrets::WITHHELD;
use plan::{
    Arriving, Axis, Body, Connect, Load, Nesting, Order, Plan, Requests, RingKind, Spin, Stop,
    Sweep, Version,
};
use record::{Point, Run};
use units::{Rate, number};

/// The longest URL, command or header that is shown whole.
pub(super) const LONGEST: usize = 160;
/// The most headers, addresses or requests that are listed.
const LISTED: usize = 20;

/// Target, load, what latency means, the server's command, and whether the measurement was completed.
pub(super) fn head(run: &Run) -> Vec<Vec<Item>> {
    let mut lines = vec![
        target(run),
        vec![Item::plain(sentence(&run.plan))],
        vec![Item::dim(latency(run.plan.load))],
    ];
    if let Some(server) = &run.plan.server {
        let started = if server.reference_server {
            "weigh's own server"
        } else {
            "started by weigh"
        };
        let command = clean(&server.argv.join(" "), LONGEST);
        lines.push(vec![
            Item::dim(format!("{started}: ")).and(Role::Plain, command),
        ]);
    }
    let probe = run.probe.as_ref();
    let failed = probe.iter().flat_map(|probe| &probe.failed).take(LISTED);
    let failed = failed.map(|(endpoint, why)| format!("{endpoint} did not serve: {why}"));
    lines.extend(failed.map(|why| vec![Item::dim(clean(&why, LONGEST))]));
    let fault = probe.and_then(|probe| probe.fault.as_ref());
    let fault = fault.map(|fault| format!("first response: {fault}"));
    lines.extend(fault.map(|why| vec![Item::wrong(clean(&why, LONGEST))]));
    if let Some(last) = run.resumed_unix.last() {
        let times = number(run.resumed_unix.len() as u64, "time");
        let when = units::date::iso(*last);
        lines.push(vec![Item::dim(format!("resumed {times}, last at {when}"))]);
    }
    lines.extend(unfinished(run));
    lines
}

/// Defines latency for the rest of the page.
fn latency(load: Load) -> &'static str {
    match load {
        Load::Closed { .. } => {
            "latency = service time (send to last byte); closed loop, so subject to coordinated omission: use --rate for \
             response time"
        }
        Load::Open {
            of: Arriving::Exchanges,
            ..
        } => "latency = response time (scheduled to last byte); service time = send to last byte",
        Load::Open {
            of: Arriving::Connections,
            ..
        } => {
            "latency is response time (scheduled to last byte; on each connection the first request is scheduled when that \
             arrives, the others when the one before has ended); service time is send to last byte"
        }
    }
}

/// The load level of one of several points.
pub(super) fn level(point: &Point) -> Vec<Item> {
    vec![Item::strong(match point.level.load {
        Load::Closed { connections } => number(connections.into(), "connection"),
        Load::Open { rate, of, .. } => per_second(rate, of),
    })]
}

/// `1,000 requests/s`, `0.5 connections/s`: exactly what was asked for.
fn per_second(rate: Rate, of: Arriving) -> String {
    let noun = match of {
        Arriving::Exchanges => "requests",
        Arriving::Connections => "connections",
    };
    format!("{} {noun}/s", exactly(rate))
}

fn exactly(rate: Rate) -> String {
    match rate.as_f64() {
        whole if whole.fract() == 0.0 => units::count(whole as u64),
        other => other.to_string(),
    }
}

/// Why the plan was not carried out to its end, and how much of it was; none where it was.
pub(crate) fn unfinished(run: &Run) -> Option<Vec<Item>> {
    let rounds = || run.points.iter().flat_map(|point| &point.rounds);
    let partial = rounds().filter(|round| round.partial).count();
    let complete = rounds().count() - partial;
    let points = run
        .plan
        .sweep
        .as_ref()
        .map_or(run.points.len(), Sweep::points);
    let planned = run.plan.rounds as usize * points.max(1);
    if !run.interrupted && partial == 0 {
        return None;
    }
    let is_whole = complete >= planned && partial == 0 && !run.plan.is_search();
    let why = match &run.broken_off {
        Some(_) => "broken off",
        None if run.server_end.is_some() => "the server ended",
        None if run.aborted.is_some() && is_whole => "aborted",
        None if run.aborted.is_some() => "stopped early",
        None if run.interrupted => "interrupted",
        None => "cut short",
    };
    let rounds = number(planned as u64, "round");
    let sentence = match (is_whole, planned) {
        (true, 1) => format!("{why} after the only round, which is complete"),
        (true, _) => format!("{why} after the last round: all {rounds} are complete"),
        (false, _) => {
            let tail = ["", " and a part of one"][usize::from(partial > 0)];
            let done = match run.plan.is_search() {
                true => number(complete as u64, "round"),
                false => format!("{} of {rounds}", units::count(complete as u64)),
            };
            format!("PARTIAL, {why}: {done}{tail}")
        }
    };
    let aborted = run.aborted.as_deref().map(Item::plain);
    Some(
        std::iter::once(Item::wrong(sentence))
            .chain(aborted)
            .collect(),
    )
}

fn target(run: &Run) -> Vec<Item> {
    let mut items = vec![Item::strong(clean(&what(&run.plan), LONGEST))];
    items.extend(unchecked(&run.plan));
    let Some(probe) = &run.probe else {
        return items;
    };
    items.extend(probe.server_name().map(|name| Item::plain(clean(name, 60))));
    let endpoint = probe.endpoint.to_string();
    if endpoint != run.plan.target.authority {
        items.push(Item::dim(clean(&endpoint, LONGEST)));
    }
    items
}

/// Says so where the server's certificate was not checked: nothing proves then which server it was.
pub(super) fn unchecked(plan: &Plan) -> Option<Item> {
    let security = plan.security.as_ref();
    let is_insecure = security.is_some_and(|security| security.insecure);
    is_insecure.then(|| Item::wrong("certificate not checked (--insecure)"))
}

/// The method where it is not GET, the URL, and how many others there are.
pub(super) fn what(plan: &Plan) -> String {
    let site = format!("{}://{}", plan.target.scheme, plan.target.authority);
    match &plan.requests {
        Requests::File { path, .. } => format!("{site}, requests from {}", path.display()),
        Requests::Script { path, .. } => {
            format!("{}, requests made by {}", plan.first_url(), path.display())
        }
        Requests::Listed(listed) => {
            let Some(first) = listed.first() else {
                return site;
            };
            let method = match first.method.as_str() {
                "GET" => String::new(),
                method => format!("{method} "),
            };
            let more = match listed.len() {
                1 => String::new(),
                several => {
                    let turn = if plan.popularity.is_some() {
                        ""
                    } else {
                        " in turn"
                    };
                    format!(" and {} more{turn}", units::count(several as u64 - 1))
                }
            };
            format!("{method}{site}{}{more}", first.path)
        }
    }
}

/// The load in one sentence.
pub(super) fn sentence(plan: &Plan) -> String {
    let mut words = vec![load(plan), connecting(plan).to_owned()];
    if plan.ring == RingKind::IoUring {
        words.push("on io_uring".to_owned());
    }
    match plan.spin {
        Spin::Auto => {}
        Spin::Always => words.push("never asleep".to_owned()),
        Spin::Never => words.push("asleep while waiting".to_owned()),
    }
    words.extend(protocol(plan));
    words.extend(sent_along(plan));
    words.extend(
        plan.popularity
            .map(|popularity| format!("popularity {popularity}")),
    );
    let warmup = match plan.warmup {
        units::Nanos::ZERO => String::new(),
        warmup => format!(" after {} of warm-up", units::exact(warmup)),
    };
    words.push(format!("{}{warmup}", rounds(plan)));
    if plan.two_generators {
        words.push("each by one generator and by two".to_owned());
    }
    words.join(", ")
}

fn load(plan: &Plan) -> String {
    let connections = connections(plan);
    let noun = if plan.pin { "pinned thread" } else { "thread" };
    let threads = swept(plan, "threads", plan.threads(), noun);
    match plan.load {
        Load::Closed { .. } => format!("closed loop, {connections} on {threads}"),
        Load::Open { of, arrivals, .. } => {
            let process = arrivals.after_a_rate();
            let each = plan.load.exchanges_per_arrival(&plan.protocol);
            let each = match of {
                Arriving::Exchanges => String::new(),
                Arriving::Connections => {
                    format!(" of {} each", number(each, "request"))
                }
            };
            let rate = offered(plan);
            format!("open loop, {rate}{each} {process}, at most {connections} on {threads}")
        }
    }
}

/// `50 connections`, in a sweep `1 to 1,000 connections`.
pub(super) fn connections(plan: &Plan) -> String {
    swept(plan, "connections", plan.load.connections(), "connection")
}

/// A setting that a sweep may vary: its first and last value, or the only one.
fn swept(plan: &Plan, name: &str, only: u32, noun: &str) -> String {
    let axis = axes(plan).find(|axis| axis.name() == name);
    match axis.map(Axis::shown).as_deref() {
        Some([first, .., last]) => format!("{first} to {last} {noun}s"),
        Some([value]) => format!("{value} {noun}s"),
        _ => number(only.into(), noun),
    }
}

/// The offered load of an open loop, of a sweep the lowest and the highest; empty in a closed loop.
pub(super) fn offered(plan: &Plan) -> String {
    let Load::Open {
        rate, of, arrivals, ..
    } = plan.load
    else {
        return String::new();
    };
    if let Some([from, to]) = arrivals.ends() {
        return format!("{} to {}", exactly(from), per_second(to, of));
    }
    let ends = axes(plan).find_map(|axis| match axis {
        Axis::Rate(rates) => rates.first().zip(rates.last()),
        _ => None,
    });
    match ends {
        Some((first, last)) => {
            let first = units::rate(first.as_f64());
            format!("{first} to {}", per_second(*last, of))
        }
        None => per_second(rate, of),
    }
}

/// The settings that have several values.
fn axes(plan: &Plan) -> impl Iterator<Item = &Axis> {
    plan.sweep.iter().flat_map(|sweep| &sweep.axes)
}

fn connecting(plan: &Plan) -> &'static str {
    match plan.connect {
        _ if plan.load.is_of_connections() => "connected when they arrive",
        Connect::Eager => "connected before the load",
        Connect::Lazy => "connected when first needed",
    }
}

fn protocol(plan: &Plan) -> Vec<String> {
    let protocol = &plan.protocol;
    let mut words = Vec::new();
    if protocol.version == Version::Http10 {
        words.push("HTTP/1.0".to_owned());
    }
    words.push(
        match (protocol.keepalive, protocol.requests_per_connection) {
            // The number on each stands beside the rate.
            _ if plan.load.is_of_connections() => "never used again".to_owned(),
            (false, _) => "a new connection for each request".to_owned(),
            (true, Some(most)) => format!("at most {} a connection", number(most, "request")),
            (true, None) => "keep-alive".to_owned(),
        },
    );
    if protocol.pipeline > 1 {
        let depth = units::count(protocol.pipeline.into());
        words.push(format!("pipelined {depth} deep"));
    }
    words
}

/// Bodies and headers beyond the defaults.
fn sent_along(plan: &Plan) -> Vec<String> {
    let request = plan.first_request();
    let body = request.and_then(|request| request.body.as_ref());
    let mut words = Vec::new();
    words.extend(body.map(|body| match body {
        Body::Text(text) if text.starts_with(WITHHELD) => "body withheld".to_owned(),
        Body::Text(text) => format!("body of {}", units::bytes(text.len() as u64)),
        Body::File { length, .. } => format!("body of {}", units::bytes(*length)),
    }));
    let headers = request.map_or(0, |request| request.headers.len() as u64);
    if headers > 0 {
        words.push(number(headers, "custom header"));
    }
    words
}

pub(super) fn rounds(plan: &Plan) -> String {
    let each = match plan.stop {
        Stop::Duration(span) => units::exact(span),
        Stop::Requests(requests) => number(requests, "request"),
    };
    let mut rounds = number(plan.rounds.into(), "round");
    if let Some(sweep) = &plan.sweep {
        let points = number(sweep.points() as u64, "point");
        let nesting = match sweep.rounds {
            Nesting::Nested => "",
            Nesting::Halves => "in two passes ",
            Nesting::Interleaved => "interleaved ",
        };
        let order = match sweep.order {
            Order::Up => "",
            Order::Down => ", downwards",
            Order::Shuffled => ", shuffled",
        };
        rounds = match &plan.slo {
            None => format!("{points}{order}, {nesting}{rounds}"),
            Some(objective) => {
                return format!(
                    "searched for the highest rate with {objective} in 90 % of windows of {each}"
                );
            }
        };
    }
    format!("{rounds} of {each}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Arrivals;
    use plan::Request;
    use units::Nanos;

    fn plan() -> Plan {
        Plan::example("127.0.0.1:8080".parse().unwrap())
    }

    fn open(rate: &str, arrivals: Arrivals, connections: u32) -> Load {
        Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals,
            connections,
        }
    }

    #[test]
    fn the_load_is_one_sentence() {
        type Change = fn(&mut Plan);
        let cases: &[(Change, &str)] = &[
            (
                |_| (),
                "closed loop, 1 connection on 1 thread, connected before the load, keep-alive, 5 rounds of 1 s",
            ),
            (
                |plan| {
                    plan.load = Load::Closed { connections: 1_000 };
                    plan.threads = 2;
                    plan.pin = true;
                    plan.connect = Connect::Lazy;
                    plan.protocol.keepalive = false;
                    plan.stop = Stop::Requests(10_000);
                    plan.rounds = 1;
                    plan.warmup = Nanos::from_millis(500);
                },
                "closed loop, 1,000 connections on 2 pinned threads, connected when first needed, \
                 a new connection for each request, 1 round of 10,000 requests after 0.5 s of warm-up",
            ),
            (
                |plan| {
                    plan.protocol.version = Version::Http10;
                    plan.protocol.requests_per_connection = Some(100);
                    plan.protocol.pipeline = 4;
                    plan.requests = Requests::Listed(vec![Request {
                        headers: vec![("X".into(), "y".into())],
                        body: Some(Body::Text("hello".into())),
                        ..Request::get("/")
                    }]);
                },
                "closed loop, 1 connection on 1 thread, connected before the load, HTTP/1.0, \
                 at most 100 requests a connection, pipelined 4 deep, body of 5 B, 1 custom header, \
                 5 rounds of 1 s",
            ),
            (
                |plan| {
                    plan.load = open("10k", Arrivals::Poisson, 1_000);
                    plan.connect = Connect::Lazy;
                },
                "open loop, 10,000 requests/s at random (Poisson), at most 1,000 connections on 1 thread, \
                 connected when first needed, keep-alive, 5 rounds of 1 s",
            ),
            (
                |plan| {
                    plan.load = Load::Open {
                        rate: "150".parse().unwrap(),
                        of: Arriving::Connections,
                        arrivals: Arrivals::Constant,
                        connections: 500,
                    };
                    plan.connect = Connect::Lazy;
                    plan.protocol.requests_per_connection = Some(10);
                    plan.stop = Stop::Requests(50_000);
                },
                "open loop, 150 connections/s of 10 requests each evenly spaced, at most 500 connections on 1 thread, \
                 connected when they arrive, never used again, 5 rounds of 50,000 requests",
            ),
            (
                |plan| plan.load = open("0.5", Arrivals::Constant, 1),
                "open loop, 0.5 requests/s evenly spaced, at most 1 connection on 1 thread, connected before the load, \
                 keep-alive, 5 rounds of 1 s",
            ),
        ];
        for (change, wanted) in cases {
            let mut plan = plan();
            change(&mut plan);
            assert_eq!(sentence(&plan), *wanted);
        }
    }

    #[test]
    fn a_campaign_that_ended_early_says_what_is_complete() {
        let text = |run: &Run| {
            let items = unfinished(run)?;
            let spans = items.iter().flat_map(|item| &item.0);
            Some(spans.map(|span| &*span.text).collect::<Vec<_>>().join("; "))
        };
        let mut run = record::example::ok();
        assert_eq!(text(&run), None);
        run.interrupted = true;
        let whole = "after the last round: all 5 rounds are complete";
        assert_eq!(text(&run), Some(format!("interrupted {whole}")));
        run.aborted = Some("--abort-if p50>1us is met".into());
        let aborted = format!("aborted {whole}; --abort-if p50>1us is met");
        assert_eq!(text(&run), Some(aborted));
        run.points[0].rounds[4].partial = true;
        let partial = "PARTIAL, stopped early: 4 of 5 rounds and a part of one";
        assert!(text(&run).unwrap().starts_with(partial));
        run.points[0].rounds.truncate(1);
        run.plan.rounds = 1;
        let only = "aborted after the only round, which is complete";
        assert!(text(&run).unwrap().starts_with(only));
    }

    #[test]
    fn the_target_names_the_method_and_how_many_other_requests_there_are() {
        let mut plan = plan();
        assert_eq!(what(&plan), "http://127.0.0.1:8080/");
        let post = Request {
            method: "POST".into(),
            ..Request::get("/a")
        };
        plan.requests = Requests::Listed(vec![post, Request::get("/b"), Request::get("/c")]);
        assert_eq!(
            what(&plan),
            "POST http://127.0.0.1:8080/a and 2 more in turn"
        );
    }
}

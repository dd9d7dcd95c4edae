//! From flags to a plan: what was typed becomes what is meant.

use crate::address;
use crate::args::{ArrivalsFlag, ConnectFlag, OrderFlag, RingFlag, RunFlags, SpinFlag, SweepFlags};
use crate::urls::UrlsFile;
use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use plan::{
    Arrivals, Arriving, Axis, Body, BodyExpectation, Connect, Endpoint, Expect, Load, Nesting,
    Order, Plan, Protocol, Request, Requests, RingKind, ServerCommand, Spin, Stop, Sweep, Target,
    Timeouts, Version,
};
use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use units::{Nanos, Rate, Series};

/// Connections of a closed loop that names no number.
const CONNECTIONS: u32 = 10;
/// The most connections of an open loop that names no number.
const MOST_CONNECTIONS: u32 = 1_000;

/// The plan of `weigh run`: every setting has one value.
pub fn plan(flags: &RunFlags) -> Result<Plan> {
    if let Some(axis) = axes(flags).first() {
        let name = match axis {
            Axis::Rate(_) if flags.rate.is_none() => "connection-rate",
            _ => axis.name(),
        };
        bail!(
            "--{name} has {} values, and `weigh run` measures one; `weigh sweep` measures them all",
            axis.values()
        );
    }
    sound(base(flags, &RUN)?)
}

/// The plan of `weigh sweep`: some settings have several values.
pub fn sweep(flags: &SweepFlags) -> Result<Plan> {
    let searched;
    let run = match (&flags.slo, &flags.run.rate, &flags.run.connection_rate) {
        (Some(_), None, None) => {
            let rate = Some(searched_rates(flags)?);
            searched = RunFlags {
                rate,
                ..flags.run.clone()
            };
            &searched
        }
        _ => &flags.run,
    };
    let workers = flags
        .workers
        .iter()
        .map(|workers| Axis::Workers(workers.0.clone()));
    let axes: Vec<Axis> = workers.chain(axes(run)).collect();
    if axes.is_empty() {
        bail!(
            "nothing differs between the points; give several values, such as --connections 1..1000:10 or --rate 1k..20k:1k"
        );
    }
    let sweep = Sweep {
        axes,
        order: match flags.order {
            OrderFlag::Up => Order::Up,
            OrderFlag::Down => Order::Down,
            OrderFlag::Shuffled => Order::Shuffled,
        },
        rounds: match flags.interleaved {
            true => Nesting::Interleaved,
            false => Nesting::Nested,
        },
    };
    sound(Plan {
        sweep: Some(sweep),
        slo: flags.slo.clone(),
        ..base(run, &SWEEP)?
    })
}

/// The settings that have several values; the load changes fastest.
fn axes(flags: &RunFlags) -> Vec<Axis> {
    let several = |series: &Option<Series<u32>>| {
        let series = series.as_ref().filter(|series| series.only().is_none());
        series.map(|series| series.0.clone())
    };
    let rates = flags.rate.as_ref().or(flags.connection_rate.as_ref());
    let rates = rates.filter(|rates| rates.only().is_none());
    let axes = [
        several(&flags.threads).map(Axis::Threads),
        several(&Some(flags.pipeline.clone())).map(Axis::Pipeline),
        several(&flags.connections).map(Axis::Connections),
        rates.map(|rates| Axis::Rate(rates.0.clone())),
    ];
    axes.into_iter().flatten().collect()
}

/// The rates that a search tries where none are named: from one of which a few rounds can be told to hold, up to more
/// than any server on one machine answers.
fn searched_rates(flags: &SweepFlags) -> Result<Series<Rate>> {
    const LOWEST: f64 = 100.0;
    const FEW_ROUNDS: f64 = 5.0;
    /// Were it higher, no rate that there is could be told: that is refused where all plans are judged.
    const HIGHEST: f64 = 400e3;
    let plan = Plan {
        slo: flags.slo.clone(),
        ..base(&flags.run, &SWEEP)?
    };
    let needed = record::Capacity::exchanges_a_vote(&plan) as f64;
    let lowest = match plan.stop {
        Stop::Requests(_) => LOWEST,
        Stop::Duration(span) => (needed / (FEW_ROUNDS * span.as_secs_f64())).clamp(LOWEST, HIGHEST),
    };
    Ok(format!("{}..1m*2", lowest.ceil()).parse()?)
}

/// What a verb takes where nothing is said.
struct Defaults {
    rounds: u32,
    window: Nanos,
    warmup: Nanos,
}

/// One point is measured thoroughly,
const RUN: Defaults = Defaults {
    rounds: 5,
    window: Nanos::from_secs(5),
    warmup: Nanos::from_millis(500),
};
/// and many in a time that one waits for.
const SWEEP: Defaults = Defaults {
    rounds: 3,
    window: Nanos::from_secs(2),
    warmup: Nanos::from_millis(200),
};

/// The plan that `flags` mean, with the first of several values.
fn base(flags: &RunFlags, defaults: &Defaults) -> Result<Plan> {
    let common = common_request(flags)?;
    let (target, requests) = asked(flags, common)?;
    let stop = match (flags.requests, flags.duration) {
        (Some(requests), _) => Stop::Requests(requests),
        (None, span) => Stop::Duration(span.unwrap_or(defaults.window)),
    };
    let by_number = matches!(stop, Stop::Requests(_));
    Ok(Plan {
        requests,
        load: load(flags),
        stop,
        rounds: flags.rounds.unwrap_or(defaults.rounds),
        warmup: flags.warmup.unwrap_or(if by_number {
            Nanos::ZERO
        } else {
            defaults.warmup
        }),
        threads: match &flags.threads {
            Some(threads) => threads.first(),
            None => threads(&target),
        },
        connect: match flags.connect {
            Some(ConnectFlag::Eager) => Connect::Eager,
            Some(ConnectFlag::Lazy) => Connect::Lazy,
            None if is_scheduled(flags) => Connect::Lazy,
            None => Connect::Eager,
        },
        protocol: protocol(flags),
        timeouts: Timeouts {
            exchange: flags.timeout,
            connect: flags.connect_timeout,
        },
        sources: flags.source.clone(),
        pin: flags.pin,
        ring: match flags.ring {
            RingFlag::Epoll => RingKind::Epoll,
            RingFlag::IoUring => RingKind::IoUring,
        },
        spin: match flags.spin {
            SpinFlag::Auto => Spin::Auto,
            SpinFlag::Always => Spin::Always,
            SpinFlag::Never => Spin::Never,
        },
        two_generators: flags.two_generators,
        expect: expect(&flags.expect)?,
        keep_going: flags.keep_going,
        tolerance: flags.max_errors,
        strict: flags.strict,
        withhold: flags.withhold.clone(),
        seed: flags
            .seed
            .unwrap_or_else(|| kernel::clock::realtime().as_nanos() as u64),
        sweep: None,
        slo: None,
        server: (!flags.command.is_empty()).then(|| ServerCommand {
            argv: flags.command.clone(),
            ready_within: flags.ready_within,
            counterweight: false,
        }),
        observe: flags.server.clone(),
        target,
    })
}

/// `plan`, if it can be carried out.
fn sound(plan: Plan) -> Result<Plan> {
    plan.check()?;
    check_expectation(&plan)?;
    check_sources(&plan)?;
    check_ring(&plan)?;
    Ok(plan)
}

/// Whether a schedule says when exchanges or connections are due.
fn is_scheduled(flags: &RunFlags) -> bool {
    flags.rate.is_some() || flags.connection_rate.is_some()
}

/// What drives the load: the answers, or a schedule.
fn load(flags: &RunFlags) -> Load {
    let connections = flags.connections.as_ref().map(Series::first);
    let exchanges = flags.rate.as_ref();
    let exchanges = exchanges.map(|rate| (rate, Arriving::Exchanges));
    let fresh = flags.connection_rate.as_ref();
    let fresh = fresh.map(|rate| (rate, Arriving::Connections));
    match exchanges.or(fresh) {
        None => Load::Closed {
            connections: connections.unwrap_or(CONNECTIONS),
        },
        Some((rate, of)) => Load::Open {
            rate: rate.first(),
            of,
            arrivals: match flags.arrivals {
                ArrivalsFlag::Poisson => Arrivals::Poisson,
                ArrivalsFlag::Constant => Arrivals::Constant,
            },
            connections: connections.unwrap_or_else(most_connections),
        },
    }
}

/// The most connections of an open loop that names no number: a thousand carry ten thousand exchanges a second of 100 ms
/// each, and where fewer files may be open, half of those.
fn most_connections() -> u32 {
    let open_files = kernel::limits::open_files().hard;
    MOST_CONNECTIONS
        .min(u32::try_from(open_files / 2).unwrap_or(u32::MAX))
        .max(1)
}

/// Half the CPUs for a server on this machine, which needs the other half; all of them otherwise.
fn threads(target: &Target) -> u32 {
    let allowed = kernel::affinity::allowed().len().max(1) as u32;
    let quota = kernel::quota::own().map_or(allowed, |quota| quota.ceil().max(1.0) as u32);
    let cpus = allowed.min(quota);
    let local = target.endpoints.iter().all(Endpoint::is_local);
    if local { (cpus / 2).max(1) } else { cpus }
}

fn protocol(flags: &RunFlags) -> Protocol {
    Protocol {
        version: if flags.http10 {
            Version::Http10
        } else {
            Version::Http11
        },
        keepalive: !flags.no_keepalive,
        requests_per_connection: match flags.connection_rate {
            Some(_) => Some(flags.requests_per_connection.unwrap_or(1)),
            None => flags.requests_per_connection,
        },
        pipeline: flags.pipeline.first(),
    }
}

/// What all requests have in common: method, headers, body.
fn common_request(flags: &RunFlags) -> Result<Request> {
    let body = flags.body.as_deref().map(body).transpose()?;
    let method = match &flags.method {
        Some(method) => method.clone(),
        None if body.is_some() => "POST".into(),
        None => "GET".into(),
    };
    if !wire::method_is_token(&method) {
        bail!("--method `{method}` is not a method; write a word such as GET");
    }
    if method == "CONNECT" {
        bail!("--method CONNECT asks for a tunnel, which is no load; use another method");
    }
    Ok(Request {
        method,
        path: "/".into(),
        headers: headers(flags)?,
        body,
    })
}

fn headers(flags: &RunFlags) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for line in &flags.headers {
        let (name, value) = line
            .split_once(':')
            .with_context(|| format!("--header `{line}` has no colon; write 'Name: value'"))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if let Some(user) = &flags.user {
        if !user.contains(':') {
            bail!("--user `{user}` has no colon; write NAME:PASSWORD");
        }
        let credentials = base64::engine::general_purpose::STANDARD.encode(user);
        headers.push(("Authorization".into(), format!("Basic {credentials}")));
    }
    if let Some(cookie) = &flags.cookie {
        headers.push(("Cookie".into(), cookie.clone()));
    }
    for (name, value) in &headers {
        if !wire::header_is_valid(name, value) {
            bail!(
                "--header `{}: {}` cannot be sent; a name is a word, a value has no control characters",
                name.escape_debug(),
                value.escape_debug()
            );
        }
        if ["content-length", "transfer-encoding", "connection"]
            .contains(&name.to_ascii_lowercase().as_str())
        {
            bail!(
                "--header {name} would contradict what weigh sends by itself; leave it away (see --no-keepalive, --body)"
            );
        }
    }
    Ok(headers)
}

fn body(text: &str) -> Result<Body> {
    match text.strip_prefix('@') {
        None => Ok(Body::Text(text.to_owned())),
        Some(path) => {
            let length = file_length("--body", Path::new(path))?;
            Ok(Body::File {
                path: path.into(),
                length,
            })
        }
    }
}

fn file_length(flag: &str, path: &Path) -> Result<u64> {
    let unread = || format!("{flag} @{} cannot be read", path.display());
    // Looked at first: to open a pipe would wait for its writer.
    let facts = std::fs::metadata(path).with_context(unread)?;
    if !facts.is_file() {
        bail!("{flag} @{} is no file", path.display());
    }
    File::open(path).with_context(unread)?;
    Ok(facts.len())
}

/// Whom and what: from URLs, or from a file of them.
fn asked(flags: &RunFlags, common: Request) -> Result<(Target, Requests)> {
    let urls = flags
        .urls
        .iter()
        .map(|text| address::url(text))
        .collect::<Result<Vec<_>>>()?;
    let unix = flags.unix.as_deref();
    match &flags.urls_file {
        None => {
            let target = address::target(&urls, &flags.resolve, unix)?;
            let requests = urls.into_iter().map(|url| Request {
                path: url.path,
                ..common.clone()
            });
            Ok((target, Requests::Listed(requests.collect())))
        }
        Some(path) => {
            let file = UrlsFile::at(path)?;
            let urls = if urls.is_empty() {
                vec![file.first_url()?]
            } else {
                urls
            };
            let target = address::target(&urls, &flags.resolve, unix)?;
            file.check_lines(&common, &target)?;
            let path = file.into_path();
            Ok((target, Requests::File { path, common }))
        }
    }
}

fn expect(rules: &[String]) -> Result<Expect> {
    let mut expect = Expect {
        statuses: Vec::new(),
        body: None,
    };
    for rule in rules {
        match rule.strip_prefix('@') {
            Some(path) if expect.body.is_none() => {
                let length = file_length("--expect", Path::new(path))?;
                expect.body = Some(BodyExpectation {
                    path: path.into(),
                    length,
                });
            }
            Some(_) => bail!("--expect names two bodies; only one can be the right one"),
            None => {
                for status in rule.split(',') {
                    let range = status.trim().parse();
                    expect
                        .statuses
                        .push(range.map_err(|error| anyhow!("--expect {error}"))?);
                }
            }
        }
    }
    if expect.statuses.is_empty() {
        expect.statuses = Expect::default().statuses;
    }
    Ok(expect)
}

/// The answer to HEAD has no body that could be the right one.
fn check_expectation(plan: &Plan) -> Result<()> {
    let asks_head = match &plan.requests {
        Requests::Listed(requests) => requests.iter().any(|request| request.method == "HEAD"),
        Requests::File { common, .. } => common.method == "HEAD",
    };
    if asks_head && plan.expect.body.is_some() {
        bail!(
            "--expect @FILE contradicts --method HEAD, whose answers have no body; leave one away"
        );
    }
    Ok(())
}

/// The ring must be there, and allowed.
fn check_ring(plan: &Plan) -> Result<()> {
    if plan.ring == RingKind::IoUring
        && let Err(errno) = kernel::Uring::new()
    {
        bail!("--ring io_uring cannot be had here ({errno}); leave it away");
    }
    Ok(())
}

/// A source address must be one of this machine, and of the target's family.
fn check_sources(plan: &Plan) -> Result<()> {
    let reaches = |source: &std::net::IpAddr| {
        plan.target.endpoints.iter().any(
            |endpoint| matches!(endpoint, Endpoint::Ip(at) if at.is_ipv4() == source.is_ipv4()),
        )
    };
    let is_foreign = |source: &&std::net::IpAddr| UdpSocket::bind((**source, 0)).is_err();
    if let Some(source) = plan.sources.iter().find(is_foreign) {
        bail!("--source {source} is no address of this machine; `ip address` shows those that are");
    }
    match plan.sources.iter().find(|source| !reaches(source)) {
        Some(source) => bail!(
            "--source {source} cannot reach {}, which has no address of its kind; leave it away",
            plan.target.authority
        ),
        None => Ok(()),
    }
}

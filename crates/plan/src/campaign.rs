//! The plan itself.

use crate::secrets::{Secrets, WITHHELD};
use crate::settings::Choice;
use crate::{
    Conditions, Connect, Endpoint, Expect, Load, Observe, Popularity, Protocol, Request, Requests,
    Requirement, Security, Stop, Sweep, Target, Timeouts,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use units::{Nanos, Percentile};

/// One campaign, complete: target, requests, load, and how the result is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The server under test.
    pub target: Target,
    /// The requests, which are sent in turn.
    pub requests: Requests,
    /// How often each of several requests, or each number of `{n:1..10000}`, is sent; in turn, or equally often, without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub popularity: Option<Popularity>,
    /// What drives the load.
    pub load: Load,
    /// When a round is over.
    pub stop: Stop,
    /// Measured repetitions of every point, each with new connections.
    pub rounds: u32,
    /// Load before the window opens, per round; its exchanges are counted apart.
    pub warmup: Nanos,
    /// Whether the load before the first round against a server goes on until its state is steady.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settle: bool,
    /// Generator threads; each owns its share of the connections.
    pub threads: u32,
    /// When connections are opened.
    pub connect: Connect,
    /// How HTTP is spoken.
    pub protocol: Protocol,
    /// How connections are secured; none with http.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// When waiting ends.
    pub timeouts: Timeouts,
    /// Local addresses to connect from, in turn; empty: the kernel chooses (and on loopback we move on by ourselves
    /// before one address's ports run out).
    pub sources: Vec<IpAddr>,
    /// Whether each generator thread is held on one CPU of its own.
    pub pin: bool,
    /// Kernel interface of the generator threads; epoll by default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ring: RingKind,
    /// How a generator thread waits; auto by default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spin: Spin,
    /// Whether each round is measured once more with the load split over two generator processes, to see whether one was
    /// the limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub two_generators: bool,
    /// Which responses are expected.
    pub expect: Expect,
    /// Whether the load is sent even if the probe does not get an expected response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_going: bool,
    /// Limit on errors; its default is in force unless a requirement limits them.
    #[serde(rename = "tolerance")]
    pub max_errors: Requirement,
    /// Whether the result must be reliable: no figure invalid.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strict: bool,
    /// Further requirements on the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Conditions that end the campaign early.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_if: Vec<Requirement>,
    /// Percentiles of latency that are shown, ascending; p50, p90, p95, p99 and p99.9 by default.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    #[schemars(with = "Vec<String>")]
    pub percentiles: Vec<Percentile>,
    /// Further names of headers and query parameters whose values are withheld from the record, or `body`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withhold: Vec<String>,
    /// Seeds everything random, so that a run can be repeated.
    pub seed: u64,
    /// The server that is started for the campaign, if we start it.
    pub server: Option<ServerCommand>,
    /// What differs between the points; none where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Conditions of a search for the highest of the sweep's rates at which they hold; not all rates are measured then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Conditions>,
    /// Whether a search ends without a long window at its answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub quick: bool,
    /// Processes to observe; by default those of the server that weigh starts, or else the process that listens at the
    /// target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
}

/// Returns whether a setting has its default, which records need not name.
pub(crate) fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

/// The percentiles of a plan that names none.
fn usual() -> Vec<Percentile> {
    Percentile::DEFAULT.to_vec()
}

fn is_usual(percentiles: &[Percentile]) -> bool {
    percentiles == Percentile::DEFAULT
}

/// The kernel's interfaces for many sockets in one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RingKind {
    /// A system call for each send and each receive.
    #[default]
    Epoll,
    /// A system call for each batch; *sent* is stamped when a request is handed to the batch.
    IoUring,
}

impl Choice for RingKind {
    const CHOICES: &'static [(RingKind, &'static str, &'static str)] = &[
        (
            RingKind::Epoll,
            "epoll",
            "A system call for each send and each receive.",
        ),
        (
            RingKind::IoUring,
            "io_uring",
            "A system call for each batch; needs Linux 6.0 and the right to use it.",
        ),
    ];
}

/// How a generator thread waits: asleep, from which it wakes late, or awake, which costs a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// In an open loop, where a CPU is free for it: awake for the last stretch before an exchange is due, and for as
    /// long after one was sent and is not answered; asleep otherwise.
    #[default]
    Auto,
    /// Never asleep while the load runs.
    Always,
    /// Always asleep, to the nanosecond that the kernel is asked for.
    Never,
}

impl Choice for Spin {
    const CHOICES: &'static [(Spin, &'static str, &'static str)] = &[
        (
            Spin::Auto,
            "auto",
            "With --rate, if a CPU is free: busy-poll shortly before a request is scheduled and shortly after it was sent.",
        ),
        (
            Spin::Always,
            "always",
            "Busy-poll as long as the load runs.",
        ),
        (
            Spin::Never,
            "never",
            "Sleep whenever there is nothing to do.",
        ),
    ];
}

/// A server that is started before the load and stopped after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCommand {
    /// The program and its arguments, as given.
    pub argv: Vec<String>,
    /// Time limit until it responds.
    pub ready_within: Nanos,
    /// Whether this is the reference server, which the check of the bottleneck exempts.
    #[serde(alias = "counterweight")]
    pub reference_server: bool,
}

impl Default for Plan {
    /// The plan of [`Plan::example`] for port 80 of this machine.
    fn default() -> Plan {
        Plan::example(([127, 0, 0, 1], 80).into())
    }
}

impl Plan {
    /// Windows shorter than this are too short for a state that is worth waiting for.
    const SETTLED_FROM: Nanos = Nanos::from_secs(1);

    /// Returns whether its load can come to a steady state before the first round: it lasts for a time, of a second or more, at a
    /// rate that does not change.
    pub(crate) fn can_settle(&self) -> bool {
        let is_constant = match self.load {
            Load::Closed { .. } => true,
            Load::Open { arrivals, .. } => arrivals == arrivals.steady(),
        };
        is_constant && matches!(self.stop, Stop::Duration(span) if span >= Self::SETTLED_FROM)
    }

    /// Returns the URL of the first request; of requests from a file only scheme and authority.
    pub fn first_url(&self) -> String {
        let path = match &self.requests {
            Requests::Listed(listed) => listed.first().map_or("", |request| &request.path),
            Requests::Script { common, .. } => &common.path,
            Requests::File { .. } => "",
        };
        format!("{}://{}{path}", self.target.scheme, self.target.authority)
    }

    /// A small sound plan for `address`: one connection, `/`, five rounds of one second. For examples and tests; the
    /// command line builds its own.
    pub fn example(address: std::net::SocketAddr) -> Plan {
        Plan {
            popularity: None,
            target: Target {
                scheme: "http".into(),
                authority: address.to_string(),
                endpoints: vec![Endpoint::Ip(address)],
            },
            requests: Requests::Listed(vec![Request::get("/")]),
            load: Load::Closed { connections: 1 },
            stop: Stop::Duration(Nanos::from_secs(1)),
            rounds: 5,
            warmup: Nanos::ZERO,
            settle: false,
            threads: 1,
            connect: Connect::Eager,
            protocol: Protocol::default(),
            security: None,
            timeouts: Timeouts {
                exchange: Nanos::from_secs(10),
                connect: Nanos::from_secs(5),
            },
            sources: Vec::new(),
            pin: false,
            ring: RingKind::Epoll,
            spin: Spin::Auto,
            two_generators: false,
            expect: Expect::default(),
            keep_going: false,
            max_errors: Requirement::few_errors(),
            strict: false,
            requirements: Vec::new(),
            abort_if: Vec::new(),
            percentiles: usual(),
            withhold: Vec::new(),
            seed: 1,
            server: None,
            sweep: None,
            slo: None,
            quick: false,
            observe: None,
        }
    }

    /// Returns everything that the result must be: `requirements`, with what `strict` stands for, and `max_errors`. Its
    /// default gives way to another requirement on errors, and it is not for searches, whose conditions say it.
    pub fn required(&self) -> Vec<Requirement> {
        let is_default = self.max_errors == Requirement::few_errors();
        let gives_way = is_default && self.requirements.iter().any(Requirement::limits_errors);
        let errors = (!gives_way && !self.is_search()).then(|| self.max_errors.clone());
        let is_strict = self.strict && !self.requirements.contains(&Requirement::Reliable);
        let strict = is_strict.then_some(Requirement::Reliable);
        let listed = self.requirements.iter().cloned();
        errors.into_iter().chain(strict).chain(listed).collect()
    }

    /// What is withheld of everything that is written down.
    pub fn secrets(&self) -> Secrets<'_> {
        Secrets(&self.withhold)
    }

    /// The plan as it may be published: without the values that look like credentials.
    pub fn published(&self) -> Plan {
        let mut plan = self.clone();
        let requests = match &mut plan.requests {
            Requests::Listed(requests) => requests.as_mut_slice(),
            Requests::File { common, .. } | Requests::Script { common, .. } => {
                std::slice::from_mut(common)
            }
        };
        let secrets = self.secrets();
        for request in requests {
            request.withhold(secrets);
        }
        if let Some(server) = &mut plan.server {
            server.argv = secrets.command(&server.argv);
        }
        plan
    }

    /// Whether it is a published plan that lacks something that is sent, or a part of the server's command.
    pub fn withholds(&self) -> bool {
        let requests = self.requests.each();
        let command = self.server.iter().flat_map(|server| &server.argv);
        requests.iter().any(Request::withholds)
            || command.into_iter().any(|word| word.contains(WITHHELD))
    }

    /// Connections that are really open at a time, or may be: with fewer requests than connections only as many as there
    /// are requests for.
    pub fn connections(&self) -> u32 {
        let connections = self.load.connections();
        match self.stop {
            Stop::Requests(requests) => {
                let each = self.load.exchanges_per_arrival(&self.protocol).max(1);
                connections.min(u32::try_from(requests.div_ceil(each)).unwrap_or(u32::MAX))
            }
            Stop::Duration(_) => connections,
        }
    }

    /// Says that connections will never be opened, because a round has fewer requests; none where every round can open as
    /// many as are asked for. (An open loop asks for at most so many, and is content with fewer.)
    pub fn idle_connections(&self) -> Option<String> {
        let levels = self.levels();
        let at = levels.iter().map(|level| self.at(level));
        let at = at.filter(|plan| !plan.load.is_open());
        let at = at.map(|plan| (plan.load.connections(), plan.connections()));
        let at: Vec<(u32, u32)> = at.filter(|(asked, opened)| asked > opened).collect();
        let (asked, opened) = at.iter().copied().max()?;
        let place = match levels.len() {
            1 => String::new(),
            all => format!("at {} of {all} points, ", at.len()),
        };
        Some(format!(
            "{place}--connections {} is more than a round has requests for: only {} will be opened; raise --requests to \
             load the server with all of them",
            units::count(asked.into()),
            units::count(opened.into()),
        ))
    }

    /// The same load for two generator processes, of as many threads each: the threads of both are those of this plan.
    pub fn for_two_generators(&self) -> Plan {
        let threads = self.threads.saturating_mul(2);
        Plan {
            threads,
            ..self.clone()
        }
    }

    /// Threads that really run: never more than connections.
    pub fn threads(&self) -> u32 {
        self.threads.min(self.connections()).max(1)
    }
}

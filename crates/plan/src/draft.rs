//! A plan in the making: what the settings say, and what follows where they say nothing.
//!
//! Settings that can be understood by themselves are written into the plan at once; the others are kept as they were
//! given until all are known ([`Draft::plan`]). What depends on the machine comes from an [`Environment`], so that no
//! file is read and no name resolved here.

use crate::settings::settings;
use crate::url::{self, Url};
use crate::{
    Arrivals, Arriving, Axis, Connect, Endpoint, Level, Load, Nesting, Plan, PlanError, Request,
    Requests, Requirement, Security, ServerCommand, Stop, Sweep, Target,
};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use units::{Nanos, ParseError, Rate, Series};

/// Connections of a closed loop that names no number.
pub(crate) const CONNECTIONS: u32 = 10;
/// The most connections of an open loop that names no number: a thousand carry ten thousand requests a second of 100 ms
/// each. Where fewer files may be open, half of those.
pub(crate) const MOST_CONNECTIONS: u32 = 1_000;

/// What a plan needs to know of the machine that makes it.
pub trait Environment {
    /// Returns the addresses of a host, in the order in which they are tried.
    ///
    /// # Errors
    /// The sentence that says why there is none.
    fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, PlanError>;
    /// Returns the length in bytes of the file that an option names.
    ///
    /// # Errors
    /// The sentence that says why it cannot be read; it begins with the option.
    fn file_length(&self, option: &str, path: &Path) -> Result<u64, PlanError>;
    /// CPUs that the generator may use.
    fn cpus(&self) -> u32;
    /// Files that the process may have open.
    fn open_files(&self) -> u64;
    /// A seed that no other run has.
    fn seed(&self) -> u64;
    /// Whether this machine has the address.
    fn owns(&self, address: IpAddr) -> bool;
    /// Says why io_uring is not available, if it is not.
    fn lacks_io_uring(&self) -> Option<String>;
    /// Requests of a rate without which the conditions of `plan` cannot be judged.
    fn requests_to_judge(&self, plan: &Plan) -> u64;
    /// Says why a requirement can never be judged, if so: no figure has the name, or the bound has another unit.
    fn cannot_judge(&self, requirement: &Requirement) -> Option<String>;
}

/// What is measured where nothing is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habits {
    /// Whether settings may have several values, and some must.
    pub is_sweep: bool,
    /// Rounds.
    pub rounds: u32,
    /// The window of each.
    pub window: Nanos,
    /// The warm-up of each.
    pub warmup: Nanos,
}

impl Habits {
    /// One point, measured thoroughly.
    pub const RUN: Habits = Habits {
        is_sweep: false,
        rounds: 5,
        window: Nanos::from_secs(5),
        warmup: Nanos::from_millis(500),
    };
    /// Many points, in a time that one waits for.
    pub const SWEEP: Habits = Habits {
        is_sweep: true,
        rounds: 3,
        window: Nanos::from_secs(2),
        warmup: Nanos::from_millis(200),
    };
}

/// A plan in the making.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "a field is what the setting of its name says")]
pub struct Draft {
    /// What is in its place already.
    pub plan: Plan,
    pub habits: Habits,
    pub urls: Vec<String>,
    pub requests_file: Option<PathBuf>,
    pub script: Option<PathBuf>,
    pub script_arguments: Vec<String>,
    pub resolve: Vec<String>,
    pub unix: Option<PathBuf>,
    /// What requests have in common beyond the settings that follow.
    pub request: Request,
    pub method: Option<String>,
    pub headers: Vec<String>,
    pub body: Option<String>,
    pub user: Option<String>,
    pub cookie: Option<String>,
    /// Settings that a sweep may vary, each with its values.
    pub axes: Vec<Axis>,
    /// What arrives by a schedule; nothing in a closed loop.
    pub arriving: Option<Arriving>,
    pub arrivals: Arrivals,
    pub ramp: Option<[Rate; 2]>,
    pub stop: Option<Stop>,
    pub rounds: Option<u32>,
    pub warmup: Option<Nanos>,
    pub connect: Option<Connect>,
    pub security: Security,
    /// What is said of encryption is for other targets, where this one is not encrypted.
    pub is_partly_encrypted: bool,
    pub seed: Option<u64>,
    pub command: Vec<String>,
    pub ready_within: Nanos,
    pub expect: Vec<String>,
    pub sweep: Sweep,
}

impl Draft {
    /// A draft in which nothing is said but the defaults.
    pub fn new(habits: Habits) -> Draft {
        let mut draft = Draft {
            habits,
            request: Request::get("/"),
            ..Draft::default()
        };
        for row in settings().filter(|row| !row.default.is_empty()) {
            (row.parse)(&mut draft, row.default).expect("a default that is a value");
        }
        draft
    }

    /// Sets the setting `name`; for front ends whose words are others.
    ///
    /// # Errors
    /// The sentence that says what is wrong with the value.
    ///
    /// # Panics
    /// When there is no such setting.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let row = settings().find(|row| row.name == name);
        (row.expect("a setting of the table").parse)(self, value)
    }

    /// Reads the values of a setting that a sweep may vary.
    pub(crate) fn vary<T>(&mut self, text: &str, axis: fn(Series<T>) -> Axis) -> Result<(), String>
    where
        Series<T>: FromStr<Err = ParseError>,
    {
        let axis = axis(
            text.parse()
                .map_err(|error: ParseError| error.to_string())?,
        );
        self.axes.retain(|known| known.name() != axis.name());
        self.axes.push(axis);
        Ok(())
    }

    /// Reads the rate at which something arrives.
    pub(crate) fn schedule(&mut self, text: &str, of: Arriving) -> Result<(), String> {
        self.arriving = Some(of);
        self.vary(text, |rates: Series<Rate>| Axis::Rate(rates.0))
    }

    /// Reads the rates from which and to which that of the requests changes; their mean is the rate.
    pub(crate) fn change(&mut self, text: &str) -> Result<(), String> {
        let rates = text.split_once("..").and_then(|(from, to)| {
            let (from, to): (Rate, Rate) = (from.parse().ok()?, to.parse().ok()?);
            (from != to).then_some([from, to])
        });
        let rates = rates.ok_or_else(|| {
            format!("`{text}` is no ramp; write two different rates, such as 100..10k")
        })?;
        let mean = Rate::of_f64((rates[0].as_f64() + rates[1].as_f64()) / 2.0).unwrap_or_default();
        self.ramp = Some(rates);
        self.arriving = Some(Arriving::Exchanges);
        self.axes.retain(|axis| axis.name() != "rate");
        self.axes.push(Axis::Rate(vec![mean]));
        Ok(())
    }

    /// Makes the plan.
    ///
    /// # Errors
    /// The sentence that says why it cannot be carried out; it names the option and the remedy.
    pub fn plan(mut self, environment: &dyn Environment) -> Result<Plan, PlanError> {
        if self.plan.is_search() && self.arriving.is_none() {
            self.search(environment);
        }
        let sweep = self.several()?;
        let common = self.common_request(environment)?;
        let (target, requests) = self.requested(common, environment)?;
        let expect = self.expected(environment)?;
        let security = self.secured(&target)?;
        let load = self.load(environment);
        let level = self
            .axes
            .iter()
            .fold(Level::of(load), |level, axis| axis.put(level, 0));
        let mut plan = self.plan;
        plan.stop = self.stop.unwrap_or(Stop::Duration(self.habits.window));
        plan.rounds = self.rounds.unwrap_or(self.habits.rounds);
        plan.warmup = self.warmup.unwrap_or(match plan.stop {
            Stop::Requests(_) => Nanos::ZERO,
            Stop::Duration(_) => self.habits.warmup,
        });
        plan.threads = level
            .threads
            .unwrap_or_else(|| threads(&target, environment));
        plan.connect = self.connect.unwrap_or(match load.is_open() {
            true => Connect::Lazy,
            false => Connect::Eager,
        });
        plan.protocol.pipeline = level.pipeline.unwrap_or(1);
        if load.is_of_connections() {
            plan.protocol.requests_per_connection.get_or_insert(1);
        }
        plan.server = (!self.command.is_empty()).then_some(ServerCommand {
            argv: self.command,
            ready_within: self.ready_within,
            reference_server: false,
        });
        plan.seed = self.seed.unwrap_or_else(|| environment.seed());
        plan.load = level.load;
        if let (Some([from, to]), Load::Open { arrivals, .. }, Stop::Duration(over)) =
            (self.ramp, &mut plan.load, plan.stop)
        {
            if ![Arrivals::Poisson, Arrivals::Constant].contains(arrivals) {
                return Err(PlanError(format!(
                    "--arrivals {arrivals} contradicts --ramp; give poisson or constant, or --rate"
                )));
            }
            *arrivals = Arrivals::Ramp {
                from,
                to,
                after: plan.warmup,
                over,
                even: *arrivals == Arrivals::Constant,
            };
        }
        plan.security = security;
        plan.settle = self.warmup.is_none() && plan.can_settle();
        let plan = Plan {
            target,
            requests,
            expect,
            sweep,
            ..plan
        };
        plan.check()?;
        plan.check_in(environment)?;
        Ok(plan)
    }

    /// How connections to `target` are secured, if they are.
    fn secured(&mut self, target: &Target) -> Result<Option<Security>, PlanError> {
        let security = std::mem::take(&mut self.security);
        if self.is_partly_encrypted && target.scheme == "http" {
            return Ok(None);
        }
        let host = self.urls.first().map(|text| url::url(text)).transpose()?;
        security.of(&target.scheme, &host.map_or(String::new(), |url| url.host))
    }

    /// The sweep, if it is one; otherwise no setting may have several values.
    fn several(&mut self) -> Result<Option<Sweep>, PlanError> {
        let order = [
            "workers",
            "size",
            "threads",
            "pipeline",
            "connections",
            "rate",
        ];
        let fills = |axis: &Axis| matches!(axis, Axis::Workers(_) | Axis::Size(_));
        let differs = |axis: &&Axis| axis.values() > 1 || fills(axis);
        let named = order
            .iter()
            .filter_map(|name| self.axes.iter().find(|axis| axis.name() == *name));
        let axes: Vec<Axis> = named.filter(differs).cloned().collect();
        match (axes.first(), self.habits.is_sweep) {
            (None, false) => Ok(None),
            (Some(axis), false) => {
                let flag = match (axis, self.arriving) {
                    (Axis::Rate(_), Some(of)) => of.flag().to_owned(),
                    _ => format!("--{}", axis.name()),
                };
                Err(PlanError(format!(
                    "{flag} has {} values, and `weigh run` measures one; `weigh sweep` measures them all",
                    axis.values()
                )))
            }
            (None, true) => Err(PlanError(
                "nothing differs between the points; give several values, such as --connections 1..1000:10 or --rate \
                 1k..20k:1k"
                    .into(),
            )),
            (Some(_), true) => {
                let mut sweep = self.sweep.clone();
                let starts_anew = axes.iter().any(|axis| matches!(axis, Axis::Workers(_)));
                if starts_anew && sweep.rounds == Nesting::Nested {
                    sweep.rounds = Nesting::Halves;
                }
                Ok(Some(Sweep { axes, ..sweep }))
            }
        }
    }

    /// Takes for a search that names no rates those from one of which a few rounds can tell whether it holds, up to more
    /// than any server on one machine responds to.
    fn search(&mut self, environment: &dyn Environment) {
        const LOWEST: f64 = 100.0;
        const FEW_ROUNDS: f64 = 5.0;
        /// Were it higher, no rate could be told: that is refused where all plans are judged.
        const HIGHEST: f64 = 400e3;
        let needed = environment.requests_to_judge(&self.plan) as f64;
        let lowest = match self.stop.unwrap_or(Stop::Duration(self.habits.window)) {
            Stop::Requests(_) => LOWEST,
            Stop::Duration(span) => {
                (needed / (FEW_ROUNDS * span.as_secs_f64())).clamp(LOWEST, HIGHEST)
            }
        };
        let rates = format!("{}..1m*2", lowest.ceil());
        self.schedule(&rates, Arriving::Exchanges)
            .expect("a series of rates");
    }

    /// What drives the load, where no axis says how much.
    fn load(&self, environment: &dyn Environment) -> Load {
        match self.arriving {
            None => Load::Closed {
                connections: CONNECTIONS,
            },
            Some(of) => Load::Open {
                rate: Rate::default(),
                of,
                arrivals: self.arrivals,
                connections: MOST_CONNECTIONS
                    .min(u32::try_from(environment.open_files() / 2).unwrap_or(u32::MAX))
                    .max(1),
            },
        }
    }

    /// The server and the requests: from URLs, or from a file of them.
    fn requested(
        &self,
        common: Request,
        environment: &dyn Environment,
    ) -> Result<(Target, Requests), PlanError> {
        let urls = self
            .urls
            .iter()
            .map(|text| url::url(text))
            .collect::<Result<Vec<Url>, _>>()?;
        let target = url::target(&urls, &self.resolve, self.unix.as_deref(), environment)?;
        let requests = match (&self.requests_file, &self.script) {
            (Some(path), _) => Requests::File {
                path: path.clone(),
                common,
            },
            (None, Some(path)) => Requests::Script {
                path: path.clone(),
                arguments: self.script_arguments.clone(),
                common: Request {
                    path: only(urls)?.path,
                    ..common
                },
            },
            (None, None) => Requests::Listed(
                urls.into_iter()
                    .map(|url| Request {
                        path: url.path,
                        ..common.clone()
                    })
                    .collect(),
            ),
        };
        Ok((target, requests))
    }
}

/// The URL that a script begins with.
fn only(urls: Vec<Url>) -> Result<Url, PlanError> {
    let mut urls = urls.into_iter();
    match (urls.next(), urls.next()) {
        (Some(url), None) => Ok(url),
        (_, _) => Err(PlanError(
            "--script needs one URL, which the script may change for each request".into(),
        )),
    }
}

/// Half the CPUs for a server on this machine, which needs the other half; all of them otherwise.
fn threads(target: &Target, environment: &dyn Environment) -> u32 {
    let cpus = environment.cpus();
    let local = target.endpoints.iter().all(Endpoint::is_local);
    if local { (cpus / 2).max(1) } else { cpus }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observe;

    /// A machine of eight CPUs on which 300 files may be open.
    struct Small;

    impl Environment for Small {
        fn addresses(&self, _: &str, port: u16) -> Result<Vec<SocketAddr>, PlanError> {
            Ok(vec![SocketAddr::from(([192, 0, 2, 7], port))])
        }

        fn file_length(&self, option: &str, path: &Path) -> Result<u64, PlanError> {
            Err(PlanError(format!(
                "{option} @{} is no file",
                path.display()
            )))
        }

        fn cpus(&self) -> u32 {
            8
        }

        fn open_files(&self) -> u64 {
            300
        }

        fn seed(&self) -> u64 {
            4711
        }

        fn owns(&self, _: IpAddr) -> bool {
            false
        }

        fn lacks_io_uring(&self) -> Option<String> {
            Some("not permitted".into())
        }

        fn requests_to_judge(&self, _: &Plan) -> u64 {
            1_000
        }

        fn cannot_judge(&self, _: &Requirement) -> Option<String> {
            None
        }
    }

    fn made(settings: &[(&str, &str)]) -> Result<Plan, PlanError> {
        let mut draft = Draft::new(Habits::RUN);
        for (name, value) in settings {
            draft.set(name, value).unwrap();
        }
        draft.plan(&Small)
    }

    #[test]
    fn what_is_not_given_follows_from_the_machine_and_the_target() {
        let plan = made(&[("url", "far:81/x")]).unwrap();
        assert_eq!((plan.threads, plan.seed), (8, 4711));
        assert_eq!(plan.target.endpoints[0].to_string(), "192.0.2.7:81");
        let near = made(&[
            ("url", "x"),
            ("resolve", "x:80:127.0.0.1"),
            ("server", ":80"),
        ])
        .unwrap();
        assert_eq!((near.threads, near.observe), (4, Some(Observe::Port(80))));
        let open = made(&[("url", "x"), ("rate", "5")]).unwrap();
        assert_eq!(
            (open.load.connections(), open.connect),
            (150, Connect::Lazy)
        );
    }

    #[test]
    fn the_next_command_has_every_option_of_the_load() {
        let again = |settings: &[(&str, &str)], options: &str| {
            made(settings).unwrap().published().again_with(options)
        };
        let url = ("url", "far:81/x");
        type Settings<'a> = &'a [(&'a str, &'a str)];
        let cases: &[(Settings, &str, &str)] = &[
            (&[], "--rounds 5", "--rounds 5"),
            (&[("connections", "50")], "--rate 26k", "--rate 26k"),
            (&[("connections", "5k")], "--rounds 5", "--rounds 5 -c 5000"),
            (
                &[("rate", "2500"), ("connections", "9"), ("requests", "1k")],
                "--rounds 5",
                "--rounds 5 --rate 2500 -c 9 -n 1000",
            ),
            (
                &[("duration", "1500ms"), ("rounds", "3"), ("warmup", "1s")],
                "--rate 26k",
                "--rate 26k -d 1.5s --rounds 3 --warmup 1s",
            ),
            (
                &[("requests", "90"), ("rounds", "2"), ("timeout", "10s")],
                "--duration 5s",
                "--duration 5s --rounds 2",
            ),
        ];
        for (settings, options, wanted) in cases {
            let wanted = format!("weigh run {wanted} http://far:81/x");
            let settings = [&[url], *settings].concat();
            assert_eq!(again(&settings, options), Some(wanted), "{settings:?}");
        }
        for other in [
            ("url", "far:81/y"),
            ("header", "A: b"),
            ("body", "text"),
            ("method", "HEAD"),
            ("pipeline", "2"),
            ("timeout", "9s"),
            ("expect", "404"),
            ("require", "p99<1s"),
            ("unix", "socket"),
            ("command", "server"),
            ("connection-rate", "5"),
            ("spin", "always"),
            ("two-generators", ""),
        ] {
            assert_eq!(again(&[url, other], "--rounds 5"), None, "{other:?}");
        }
        assert_eq!(
            again(&[("url", "far:81/x?token=secret")], "--rounds 5"),
            None
        );
        let secured = ("url", "https://far/x");
        let wanted = Some("weigh run --rounds 5 https://far/x".to_owned());
        assert_eq!(again(&[secured], "--rounds 5"), wanted);
        assert_eq!(again(&[secured, ("insecure", "")], "--rounds 5"), None);
        let even = [url, ("rate", "5"), ("arrivals", "constant")];
        assert_eq!(again(&even, "--rounds 5"), None);
    }

    #[test]
    fn what_the_machine_lacks_is_refused() {
        let refused = |setting| made(&[("url", "x"), setting]).unwrap_err().to_string();
        let source = refused(("source", "192.0.2.1"));
        assert!(
            source.starts_with("--source 192.0.2.1 is no address of this machine"),
            "{source}"
        );
        let ring = refused(("ring", "io_uring"));
        assert!(
            ring.starts_with("--ring io_uring is not available here (not permitted)"),
            "{ring}"
        );
        assert_eq!(refused(("body", "@a")), "--body @a is no file");
    }
}

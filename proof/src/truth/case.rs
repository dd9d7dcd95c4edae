//! The cases (`catalogue/cases.toml`): the truth server's behaviour, and the load on it.
//!
//! This is what the parts of the chore have in common: a case is carried out by weigh (`trial`) and by other tools
//! (`peers`), packets may be looked at meanwhile (`capture`), and what each says of it are the same five figures.

pub use crate::catalogue::reports::{FIGURES, Percentiles};
use crate::catalogue::{Values, rows, text};
use plan::Arrivals;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;
use units::Nanos;

/// How long answers are waited for in a case with timeouts.
pub const TIMEOUT: Nanos = Nanos::from_millis(100);

/// One behaviour of the server under one load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name in `--only` and tables.
    #[serde(deserialize_with = "text")]
    pub name: &'static str,
    /// What `weigh serve --truth` gets beside address, seed and log.
    #[serde(default)]
    pub server: String,
    /// What is asked for: path and query, without the id. With [`Case::path_with`] it has one.
    #[serde(default = "hello", deserialize_with = "text")]
    pub path: &'static str,
    /// Requests a second.
    pub rate: u64,
    /// Their arrival process.
    pub arrivals: Arrivals,
    /// Connections, all opened before the load.
    pub connections: u64,
    /// Length of a run.
    pub seconds: u32,
    /// What is to be looked at.
    #[serde(default)]
    pub nature: Nature,
    /// Whether packets are looked at too.
    #[serde(default)]
    pub packets: bool,
}

/// What is to be looked at in a case, beside the percentiles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Only the percentiles.
    #[default]
    Plain,
    /// How it was sent, too: the server does nothing that could disturb it.
    Sending,
    /// A queue: the log must follow Lindley's recursion.
    Queue,
    /// More is due than can be served: no percentiles, but the word OVERLOAD.
    Overload,
    /// Some are not answered within [`TIMEOUT`], and stand in the figures at the age at which they were given up.
    Timeouts,
    /// The server's process is stopped in the middle for a second, and continued.
    Stopped,
}

impl Case {
    /// What is requested for so many seconds of the server at `at`, by a tool that may write to `folder`. The rate can also
    /// be shared among fewer connections, in whole numbers.
    pub fn values(&self, at: SocketAddr, seconds: u32, folder: &Path) -> Values {
        let (connections, rate) = (self.connections, self.rate);
        let divides = |count: &u64| rate.is_multiple_of(*count);
        let sharers = (1..=connections.clamp(1, rate)).rev().find(divides);
        let sharers = sharers.unwrap_or(1);
        Values::of_load(at, self.path, folder)
            .with("connections", connections)
            .with("connections_300", connections.min(300))
            .with("rate", rate)
            .with("sharers", sharers)
            .with("share", rate / sharers)
            .with("seconds", seconds)
            .keeping(true)
    }

    /// The path with `id` as the request's id, which may be a template's hole such as `{seq}`.
    pub fn path_with(&self, id: &str) -> String {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        format!("{}{mark}id={id}", self.path)
    }
}

/// All of them.
pub static CASES: LazyLock<Vec<Case>> =
    LazyLock::new(|| rows("case", include_str!("../../catalogue/cases.toml")));

fn hello() -> &'static str {
    "/hello"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_are_those_that_were_promised() {
        let has = |what: &dyn Fn(&Case) -> bool| CASES.iter().any(what);
        assert!(CASES.len() >= 14);
        for rate in [1_000, 10_000, 30_000] {
            for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
                assert!(has(&|case| {
                    case.nature == Nature::Sending && (case.rate, case.arrivals) == (rate, arrivals)
                }));
            }
        }
        for flag in ["1ms/", "5ms/", "100ms/", "--capacity", "exponential"] {
            assert!(has(&|case| case.server.contains(flag)), "{flag}");
        }
        for law in ["exponential", "lognormal", "bimodal"] {
            assert!(has(&|case| case.path.contains(law)), "{law}");
        }
        for nature in [Nature::Overload, Nature::Stopped, Nature::Timeouts] {
            assert!(has(&|case| case.nature == nature));
        }
        assert_eq!(CASES.iter().filter(|case| case.packets).count(), 3);
    }

    fn line(tool: &str, case: &str) -> String {
        let case = CASES.iter().find(|of| of.name == case).unwrap();
        let values = case.values(([127, 0, 0, 1], 80).into(), 3, Path::new("/f"));
        let words = crate::catalogue::tool(tool).arguments(&values);
        words.unwrap().join(" ")
    }

    #[test]
    fn all_are_asked_for_the_same() {
        let hello = "http://127.0.0.1:80/hello";
        let cases = [
            (
                "oha",
                "-c 100 -z 3s -q 10000 --no-tui --latency-correction --output-format json",
            ),
            ("wrk", "-t 1 -c 100 -d 3s --timeout 10s --latency"),
            (
                "h2load",
                "--h1 -t 1 -c 100 -D 3 --rps=100 --log-file=/f/h2load.log",
            ),
            ("hey", "-z 3s -c 100 -q 100 -o csv"),
        ];
        for (tool, wanted) in cases {
            assert_eq!(line(tool, "even-10k"), format!("{wanted} {hello}"));
        }
        let vegeta = "attack -rate=10000/1s -duration=3s -connections=100 -max-connections=100 \
             -workers=100 -max-workers=100 -http2=false -targets=/f/vegeta.targets -output=/f/vegeta.results";
        assert_eq!(line("vegeta", "even-10k"), vegeta);
        let k6 = line("k6", "even-10k");
        let load = format!("-e RATE=10000 -e SECONDS=3 -e VUS=100 -e URL={hello} ");
        assert!(k6.contains(&load), "{k6}");
        assert!(line("k6", "stall-100ms").contains("-e VUS=300 "));
        let script = k6.rsplit(' ').next().unwrap();
        assert!(Path::new(script).is_file(), "{script}");
    }

    #[test]
    fn a_rate_is_shared_out_whole() {
        // 300 connections do not divide 10,000 requests a second; 250 do.
        assert!(line("hey", "stall-5ms").contains("-c 250 -q 40 "));
        assert!(line("h2load", "stall-5ms").contains("-c 250 "));
    }

    #[test]
    fn names_are_single_and_every_case_can_have_an_id() {
        for (place, case) in CASES.iter().enumerate() {
            let behind = &CASES[place + 1..];
            assert!(behind.iter().all(|other| other.name != case.name));
            let path = case.path_with("7");
            assert!(path.ends_with("?id=7") || path.ends_with("&id=7"), "{path}");
        }
    }
}

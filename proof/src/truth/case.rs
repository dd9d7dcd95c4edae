//! The cases: what the truth server does, and how it is asked. One row each.
//!
//! This is what the parts of the chore have in common: a case is carried out by weigh (`trial`) and by other tools
//! (`peers`), packets may be looked at meanwhile (`capture`), and what each says of it are the same five figures.

use crate::catalogue::Values;
pub use crate::catalogue::reports::{FIGURES, Percentiles};
use plan::Arrivals;
use std::net::SocketAddr;
use std::path::Path;
use units::Nanos;

/// How long answers are waited for in a case with timeouts.
pub const TIMEOUT: Nanos = Nanos::from_millis(100);

/// One behaviour of the server under one load.
#[derive(Debug)]
pub struct Case {
    /// As `--only` and the tables have it.
    pub name: &'static str,
    /// What `weigh serve --truth` gets beside address, seed and log.
    pub server: &'static str,
    /// What is asked for: path and query, without the id. With [`Case::path_with`] it has one.
    pub path: &'static str,
    /// Requests a second.
    pub rate: u64,
    /// By which law they are due.
    pub arrivals: Arrivals,
    /// Connections, all opened before the load.
    pub connections: u64,
    /// Length of a run.
    pub seconds: u32,
    /// What is to be looked at.
    pub nature: Nature,
    /// Whether packets are looked at too.
    pub packets: bool,
}

/// What is to be looked at in a case, beside the percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Only the percentiles.
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
    /// The path with `id` as the request's id, which may be a template's hole such as `{seq}`.
    pub fn path_with(&self, id: &str) -> String {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        format!("{}{mark}id={id}", self.path)
    }
}

/// What a tool is asked.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The case.
    pub case: &'static Case,
    /// Where the server listens.
    pub at: SocketAddr,
    /// Length of the run.
    pub seconds: u32,
    /// Where the tool may write.
    pub folder: &'a Path,
}

impl Ask<'_> {
    /// The same for the catalogue. The rate can also be shared among fewer connections, in whole numbers.
    pub fn values(&self) -> Values {
        let (connections, rate) = (self.case.connections, self.case.rate);
        let divides = |count: &u64| rate.is_multiple_of(*count);
        let sharers = (1..=connections.clamp(1, rate)).rev().find(divides);
        let sharers = sharers.unwrap_or(1);
        Values::of_load(self.at, self.case.path, self.folder)
            .with("connections", connections)
            .with("connections_300", connections.min(300))
            .with("rate", rate)
            .with("sharers", sharers)
            .with("share", rate / sharers)
            .with("seconds", self.seconds)
            .keeping(true)
    }
}

/// A case as the tables have it.
macro_rules! cases {
    ($($name:literal, $rate:literal $arrivals:ident, $connections:literal, $seconds:literal s, $server:literal, $path:literal, $nature:ident $packets:literal;)*) => {
        &[$(Case {
            name: $name,
            server: $server,
            path: $path,
            rate: $rate,
            arrivals: Arrivals::$arrivals,
            connections: $connections,
            seconds: $seconds,
            nature: Nature::$nature,
            packets: $packets,
        }),*]
    };
}

/// All of them. A run is as long as p99.9 wants (10,000 samples beyond none, so that ten lie beyond it) and as a few
/// periods of its stalls; what cannot have that in some seconds does without p99.9.
#[rustfmt::skip]
pub static CASES: &[Case] = cases! {
    "even-1k",      1_000 Constant,   50, 10 s, "",                                     "/hello", Sending false;
    "random-1k",    1_000 Poisson,    50, 11 s, "",                                     "/hello", Sending false;
    "even-10k",    10_000 Constant,  100,  2 s, "",                                     "/hello", Sending false;
    "random-10k",  10_000 Poisson,   100,  5 s, "",                                     "/hello", Sending true;
    "even-30k",    30_000 Constant,  200,  2 s, "",                                     "/hello", Sending false;
    "random-30k",  30_000 Poisson,   200,  5 s, "",                                     "/hello", Sending false;
    "stall-1ms",   10_000 Poisson,   200,  2 s, "--stall 1ms/10ms",                     "/hello", Plain   false;
    "stall-5ms",   10_000 Poisson,   300,  2 s, "--stall 5ms/250ms",                    "/hello", Plain   true;
    "stall-100ms", 10_000 Poisson,  2000,  3 s, "--stall 100ms/1s",                     "/hello", Plain   false;
    "exponential",  5_000 Poisson,   200,  3 s, "",  "/delay?law=exponential&mean=2ms",              Plain   true;
    "lognormal",    5_000 Poisson,   300,  3 s, "",  "/delay?law=lognormal&median=1ms&sigma=1",      Plain   false;
    "bimodal",      5_000 Constant,  300,  3 s, "",  "/delay?law=bimodal&low=200us&high=20ms&share=0.02", Plain false;
    "queue-fixed-50",        2_500 Poisson,  300, 5 s, "--capacity 5k/s",                       "/hello", Queue false;
    "queue-fixed-80",        4_000 Poisson,  300, 3 s, "--capacity 5k/s",                       "/hello", Queue false;
    "queue-exponential-50",  2_500 Poisson,  300, 5 s, "--capacity 5k/s --service exponential", "/hello", Queue false;
    "queue-exponential-80",  4_000 Poisson,  300, 3 s, "--capacity 5k/s --service exponential", "/hello", Queue false;
    "few-connections",       2_000 Poisson,   12, 6 s, "",  "/delay?law=constant&mean=5ms",               Plain false;
    "timeouts",              1_000 Poisson,  300, 4 s, "",  "/delay?law=bimodal&low=200us&high=400ms&share=0.02", Timeouts false;
    "overload",             10_000 Poisson,  500, 2 s, "--capacity 5k/s",                       "/hello", Overload false;
    "stopped",               5_000 Poisson, 1000, 3 s, "",                                      "/hello", Stopped false;
};

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
        let ask = Ask {
            case: CASES.iter().find(|of| of.name == case).unwrap(),
            at: ([127, 0, 0, 1], 80).into(),
            seconds: 3,
            folder: Path::new("/f"),
        };
        let words = crate::catalogue::tool(tool).arguments(&ask.values());
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

//! Other load generators: how each is asked for a case, and how its report is read.
//!
//! None of them is required: one that is not installed is left out. Each gets what lets it do its best: its own way to
//! a rate, raw samples where it writes them, all percentiles where it can be asked for them. What it cannot do stays as
//! it is and is told ([`Peer::way`]): most keep an even rate and time from when they got round to sending; wrk has no
//! rate at all. Their truth is that of their own run, so that each is held only against what it met.
//!
//! ab and httperf are not among them: ab has no rate, and neither prints a percentile of an open loop (ab: whole
//! milliseconds of a closed one; httperf: a median).

mod reports;

use super::case::{Ask, Percentiles};
use crate::programs::{self, root};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Connections that k6 may use at most: each is a virtual machine for scripts, of some megabytes.
const VUS_MAX: u64 = 300;
/// Where k6's script lies, which is the same for all cases.
const K6_SCRIPT: &str = "proof/src/truth/peers/even.js";

/// A load generator that is not ours.
pub struct Peer {
    /// As the tables have it.
    pub name: &'static str,
    /// What is started.
    pub program: &'static str,
    /// By what it sends, and from when on it counts.
    pub way: &'static str,
    /// What makes it say its version; none if nothing does.
    version: Option<&'static str>,
    /// Its arguments for a case.
    pub arguments: fn(&Ask<'_>) -> Vec<String>,
    /// A file that it wants in the folder.
    input: Option<Input>,
    /// The file there that it writes.
    output: Option<&'static str>,
    /// What it says of latency. None where it has said nothing.
    parse: fn(&Said<'_>) -> Option<Percentiles>,
}

/// A file's name, and what stands there.
type Input = (&'static str, fn(&Ask<'_>) -> String);

/// What a tool has left behind.
pub struct Said<'a> {
    /// On standard output and standard error.
    pub text: &'a str,
    /// The folder where it may write.
    pub folder: &'a Path,
}

/// Those that there are.
pub static PEERS: &[Peer] = &[
    Peer {
        name: "oha",
        program: "oha",
        way: "even rate over all connections, from due (--latency-correction)",
        version: Some("--version"),
        arguments: oha,
        input: None,
        output: None,
        parse: |said| reports::oha(said.text),
    },
    Peer {
        name: "wrk",
        program: "wrk",
        way: "no rate: a closed loop, from sent",
        version: Some("-v"),
        arguments: wrk,
        input: None,
        output: None,
        parse: |said| reports::wrk(said.text),
    },
    Peer {
        name: "h2load",
        program: "h2load",
        way: "even rate of each connection, from sent",
        version: Some("--version"),
        arguments: h2load,
        input: None,
        output: Some(H2LOAD_LOG),
        parse: |said| reports::h2load(&read(said, H2LOAD_LOG)?),
    },
    Peer {
        name: "hey",
        program: "hey",
        way: "even rate of each connection, from sent, to 0.1 ms",
        version: None,
        arguments: hey,
        input: None,
        output: None,
        parse: |said| reports::hey(said.text),
    },
    Peer {
        name: "vegeta",
        program: "vegeta",
        way: "even rate over all connections, from sent",
        version: Some("-version"),
        arguments: vegeta,
        input: Some((VEGETA_TARGETS, |ask| format!("GET {}\n", url(ask)))),
        output: Some(VEGETA_RESULTS),
        parse: |said| reports::vegeta(&encoded(said)?),
    },
    Peer {
        name: "k6",
        program: "k6",
        way: "even rate over all connections, from sent; what finds none free is dropped",
        version: Some("version"),
        arguments: k6,
        input: None,
        output: Some(K6_SUMMARY),
        parse: |said| reports::k6(&read(said, K6_SUMMARY)?),
    },
];

/// Files in the folder.
const H2LOAD_LOG: &str = "h2load.log";
const VEGETA_TARGETS: &str = "vegeta.targets";
const VEGETA_RESULTS: &str = "vegeta.results";
const K6_SUMMARY: &str = "k6.json";

impl Peer {
    /// Whether it can be started here.
    pub fn is_installed(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(self.program).is_file())
    }

    /// What it says of itself.
    pub fn version(&self) -> String {
        let ask = |version| programs::version(self.program.as_ref(), version);
        let said = self.version.and_then(ask);
        said.unwrap_or_else(|| "of unknown version".to_owned())
    }

    /// Writes what it wants to find in the folder, and removes what it has left there before, which must not be taken for
    /// its word once more. To be called before it is started.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn prepare(&self, ask: &Ask<'_>) -> Result<()> {
        if let Some(name) = self.output {
            let _ = std::fs::remove_file(ask.folder.join(name)); // usually there is none
        }
        let Some((name, text)) = self.input else {
            return Ok(());
        };
        let path = ask.folder.join(name);
        std::fs::write(&path, text(ask))
            .with_context(|| format!("{} could not be written", path.display()))
    }

    /// What it says of latency, out of what it has printed (`text`) and left in `folder`. None where it has said nothing.
    pub fn said(&self, text: &str, folder: &Path) -> Option<Percentiles> {
        (self.parse)(&Said { text, folder })
    }
}

fn oha(ask: &Ask<'_>) -> Vec<String> {
    let (connections, rate) = (ask.case.connections, ask.case.rate);
    let load = format!("-c {connections} -z {}s -q {rate}", ask.seconds);
    let how = "--no-tui --latency-correction --output-format json";
    words(&format!("{load} {how}"), &url(ask))
}

fn wrk(ask: &Ask<'_>) -> Vec<String> {
    let (connections, seconds) = (ask.case.connections, ask.seconds);
    let load = format!("-t 1 -c {connections} -d {seconds}s --timeout 10s --latency");
    words(&load, &url(ask))
}

fn h2load(ask: &Ask<'_>) -> Vec<String> {
    let (connections, each) = shared(ask);
    let (seconds, log) = (ask.seconds, ask.folder.join(H2LOAD_LOG));
    let load = format!("--h1 -t 1 -c {connections} -D {seconds} --rps={each}");
    let mut words = words(&load, &url(ask));
    words.insert(0, format!("--log-file={}", log.display()));
    words
}

fn hey(ask: &Ask<'_>) -> Vec<String> {
    let (connections, each) = shared(ask);
    let seconds = ask.seconds;
    let load = format!("-z {seconds}s -c {connections} -q {each} -o csv");
    words(&load, &url(ask))
}

fn vegeta(ask: &Ask<'_>) -> Vec<String> {
    let file = |name| ask.folder.join(name).display().to_string();
    let (rate, seconds, most) = (ask.case.rate, ask.seconds, ask.case.connections);
    let most =
        format!("-connections={most} -max-connections={most} -workers={most} -max-workers={most}");
    let load = format!("attack -rate={rate}/1s -duration={seconds}s {most} -http2=false");
    let mut words = words(&load, &format!("-targets={}", file(VEGETA_TARGETS)));
    words.push(format!("-output={}", file(VEGETA_RESULTS)));
    words
}

fn k6(ask: &Ask<'_>) -> Vec<String> {
    let vus = ask.case.connections.min(VUS_MAX);
    let (rate, seconds) = (ask.case.rate, ask.seconds);
    let how = "run --quiet --no-usage-report --address localhost:0";
    let load = format!("-e RATE={rate} -e SECONDS={seconds} -e VUS={vus}");
    let figures = "--summary-trend-stats med,p(90),p(99),p(99.9),max";
    let mut words = words(
        &format!("{how} {figures} {load} -e"),
        &format!("URL={}", url(ask)),
    );
    let summary = ask.folder.join(K6_SUMMARY).display().to_string();
    words.extend(["--summary-export".to_owned(), summary]);
    words.push(root().join(K6_SCRIPT).display().to_string());
    words
}

/// Connections that a rate can be shared among in whole numbers, and what each has of it.
fn shared(ask: &Ask<'_>) -> (u64, u64) {
    let rate = ask.case.rate;
    let most = ask.case.connections.clamp(1, rate);
    let divides = |count: &u64| rate.is_multiple_of(*count);
    let connections = (1..=most).rev().find(divides).unwrap_or(1);
    (connections, rate / connections)
}

fn url(ask: &Ask<'_>) -> String {
    format!("http://{}{}", ask.at, ask.case.path)
}

fn words(line: &str, last: &str) -> Vec<String> {
    let words = line.split_whitespace().chain([last]);
    words.map(str::to_owned).collect()
}

fn read(said: &Said<'_>, name: &str) -> Option<String> {
    std::fs::read_to_string(said.folder.join(name)).ok()
}

/// vegeta's results as it spells them out itself: a line for each request.
fn encoded(said: &Said<'_>) -> Option<String> {
    let results = said.folder.join(VEGETA_RESULTS);
    let output = Command::new("vegeta")
        .args(["encode", "-to", "csv"])
        .arg(results)
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;

    fn ask(name: &str, folder: &'static Path) -> Ask<'static> {
        Ask {
            case: CASES.iter().find(|case| case.name == name).unwrap(),
            at: ([127, 0, 0, 1], 80).into(),
            seconds: 3,
            folder,
        }
    }

    fn line(peer: &str, case: &str) -> String {
        let peer = PEERS.iter().find(|of| of.name == peer).unwrap();
        let ask = ask(case, Path::new("/f"));
        (peer.arguments)(&ask).join(" ")
    }

    #[test]
    fn all_are_asked_for_the_same() {
        let hello = "http://127.0.0.1:80/hello";
        let cases = [
            (
                "oha",
                format!(
                    "-c 100 -z 3s -q 10000 --no-tui --latency-correction --output-format json {hello}"
                ),
            ),
            (
                "wrk",
                format!("-t 1 -c 100 -d 3s --timeout 10s --latency {hello}"),
            ),
            (
                "h2load",
                format!("--log-file=/f/h2load.log --h1 -t 1 -c 100 -D 3 --rps=100 {hello}"),
            ),
            ("hey", format!("-z 3s -c 100 -q 100 -o csv {hello}")),
            (
                "vegeta",
                "attack -rate=10000/1s -duration=3s -connections=100 -max-connections=100 \
                 -workers=100 -max-workers=100 -http2=false -targets=/f/vegeta.targets \
                 -output=/f/vegeta.results"
                    .to_owned(),
            ),
        ];
        for (peer, wanted) in cases {
            assert_eq!(line(peer, "even-10k"), wanted);
        }
        let k6 = line("k6", "even-10k");
        let load = format!("-e RATE=10000 -e SECONDS=3 -e VUS=100 -e URL={hello} ");
        assert!(k6.contains(&load), "{k6}");
        assert!(line("k6", "stall-100ms").contains("-e VUS=300 "));
        assert!(root().join(K6_SCRIPT).is_file());
    }

    #[test]
    fn a_rate_is_shared_out_whole() {
        // 300 connections do not divide 10,000 requests a second; 250 do.
        assert!(line("hey", "stall-5ms").contains("-c 250 -q 40 "));
        assert!(line("h2load", "stall-5ms").contains("-c 250 "));
    }

    #[test]
    fn what_a_tool_wants_is_there_and_what_it_left_before_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path: &'static Path = Box::leak(folder.path().to_owned().into_boxed_path());
        let left = [H2LOAD_LOG, VEGETA_RESULTS, K6_SUMMARY];
        for name in left {
            std::fs::write(path.join(name), "old").unwrap();
        }
        for peer in PEERS {
            peer.prepare(&ask("exponential", path)).unwrap();
        }
        let text = |name| std::fs::read_to_string(path.join(name)).unwrap();
        assert!(left.iter().all(|name| !path.join(name).exists()));
        let wanted = "GET http://127.0.0.1:80/delay?law=exponential&mean=2ms\n";
        assert_eq!(text(VEGETA_TARGETS), wanted);
    }

    #[test]
    fn a_tool_that_left_nothing_has_said_nothing() {
        for peer in PEERS {
            assert_eq!(peer.said("", Path::new("/nowhere")), None, "{}", peer.name);
        }
    }
}

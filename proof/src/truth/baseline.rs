//! The baseline: what weigh says of a server that answers at once, beside what the least client there can be says.
//!
//! Against such a server a latency is mostly the kernel and the instrument. How much of it is weigh's is what this
//! shows: a paced client of bare system calls (`bench`), with the same rate, connections and way of waiting, takes
//! turns with weigh against the same server. Its figures are raw and sorted; weigh's are what weigh reports.
//!
//! Client and server have a CPU each, and the priority that all measured processes get here. Runs are short and many,
//! because Linux takes the CPU from a real-time process that has not slept for 0.95 s while anybody else waits for it
//! (for 50 ms): on a busy machine that would be all that a long run shows of one that stays awake.

use super::setup::Setup;
use crate::columns::markdown;
use crate::cost::series::{in_turn, median};
use crate::machine::Machine;
use crate::programs;
use crate::serving::{Bare, pinned};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::net::SocketAddr;
use units::Percentile;

/// How often the figures of weigh may be those of the bare client.
const MOST: f64 = 1.2;
/// Exchanges a second, on how many connections.
const RATE: u64 = 10_000;
const CONNECTIONS: u64 = 100;
/// Milliseconds that are counted, and those before that are not: 2000 exchanges, of which 20 lie beyond p99. Short, and
/// many: what the machine itself does now and then (a thread of the kernel's memory management takes a CPU for some
/// milliseconds of each second where this was measured) is then in few of the runs, and not p99 of most of them.
const WINDOW_MS: u64 = 200;
const WARM_UP_MS: u64 = 100;

/// How both wait.
const WAITS: [&str; 2] = ["asleep", "awake"];

/// Median and 99th percentile, in nanoseconds.
type Figures = [f64; 2];
/// What they are called.
const NAMES: [&str; 2] = ["p50", "p99"];

/// Runs of both, neighbours in time.
#[derive(Debug, Clone, Copy)]
struct Pair {
    wait: &'static str,
    weigh: Figures,
    bare: Figures,
}

/// What all pairs have shown.
#[derive(Debug)]
pub struct Baseline {
    pairs: Vec<Pair>,
}

/// Measures `pairs` pairs of each way of waiting.
///
/// # Errors
/// Something could not be built or started, or has not said what it should.
pub fn measure(setup: &Setup, pairs: u32) -> Result<Baseline> {
    let place = Place::new(setup)?;
    let mut baseline = Baseline { pairs: Vec::new() };
    for round in 0..pairs {
        for wait in WAITS {
            // Each comes first in turn.
            let weigh_first = round.is_multiple_of(2);
            let (weigh, bare) = in_turn(weigh_first, || place.weigh(wait), || place.bare(wait))?;
            baseline.pairs.push(Pair { wait, weigh, bare });
        }
    }
    Ok(baseline)
}

impl Baseline {
    /// The page's section.
    pub fn section(&self) -> String {
        let text = format!(
            "## The floor\n\nA server that answers at once, {RATE} requests/s evenly spaced over {CONNECTIONS} \
             connections: weigh (`--server none`) beside a paced client of bare system calls, in turn, {} runs of {WINDOW_MS} \
             ms each, both asleep until something happens, or both awake all the time. Medians over the runs, in microseconds; weigh's may be {MOST} \
             times the other's. (`cargo xtask truth --floor` measures this section by itself.)\n\n",
            self.pairs.len() / 2
        );
        let row = |line: Line| {
            let mark = if line.is_within() { "" } else { " **✗**" };
            let ratio = format!("{:.2}{mark}", line.ratio());
            let [weigh, bare] = [line.weigh, line.bare].map(|nanos| format!("{:.1}", nanos / 1e3));
            [line.wait, line.name, &weigh, &bare, &ratio]
                .map(str::to_owned)
                .into()
        };
        text + &markdown(
            &["", "", "weigh", "bare client", "ratio"],
            self.lines().map(row),
        )
    }

    /// Fails where a figure is above its bound.
    ///
    /// # Errors
    /// One is, with a sentence for each.
    pub fn verdict(&self) -> Result<()> {
        let above = self.lines().filter(|line| !line.is_within()).map(|line| {
            let (name, wait, ratio) = (line.name, line.wait, line.ratio());
            format!(
                "the floor's {name}, {wait}, is {ratio:.2} times a bare client's; {MOST} may be"
            )
        });
        let wrongs: Vec<String> = above.collect();
        ensure!(wrongs.is_empty(), "{}", wrongs.join("; "));
        Ok(())
    }

    fn lines(&self) -> impl Iterator<Item = Line> {
        let lines = WAITS
            .iter()
            .flat_map(|wait| (0..2).map(move |place| (*wait, place)));
        lines.map(|(wait, place)| {
            let pairs = || self.pairs.iter().filter(|pair| pair.wait == wait);
            Line {
                wait,
                name: NAMES[place],
                weigh: median(pairs().map(|pair| pair.weigh[place]).collect()),
                bare: median(pairs().map(|pair| pair.bare[place]).collect()),
            }
        })
    }
}

/// One comparison: medians over the runs.
struct Line {
    wait: &'static str,
    name: &'static str,
    weigh: f64,
    bare: f64,
}

impl Line {
    fn ratio(&self) -> f64 {
        self.weigh / self.bare
    }

    /// Also not where nothing was measured, and the ratio is no number.
    fn is_within(&self) -> bool {
        self.ratio() <= MOST
    }
}

/// Where both run: CPUs, and the server.
struct Place<'a> {
    setup: &'a Setup,
    client_cpu: u32,
    at: SocketAddr,
    /// It ends when it is dropped.
    _server: Bare,
}

impl Place<'_> {
    fn new(setup: &Setup) -> Result<Place<'_>> {
        programs::build("bench", &["bare_client", "bare_responder", "pinned"])?;
        let machine = Machine::look()?;
        let mut server = setup.command(&programs::path("bare_responder")?);
        let cpu = machine.responder().to_string();
        server.extend(["127.0.0.1:0".to_owned(), "--cpu".to_owned(), cpu]);
        let (_server, at) = Bare::responder(&server)?;
        Ok(Place {
            setup,
            client_cpu: machine.client(),
            at,
            _server,
        })
    }

    fn bare(&self, wait: &str) -> Result<Figures> {
        let (client, at) = (programs::path("bare_client")?, self.at);
        let skip = RATE * WARM_UP_MS / 1000;
        let all = RATE * WINDOW_MS / 1000 + skip;
        let spin = if wait == WAITS[1] { " --spin" } else { "" };
        let words = format!("{at} -c {CONNECTIONS} -n {all} --rate {RATE} --skip {skip}{spin}");
        let words = words.split(' ').map(OsString::from);
        let words = std::iter::once(client.into_os_string()).chain(words);
        let text = pinned(self.setup.priority, self.client_cpu, words)?.text;
        printed(&text).with_context(|| format!("the bare client prints no figures: {text}"))
    }

    fn weigh(&self, wait: &str) -> Result<Figures> {
        let spin = if wait == WAITS[1] { "always" } else { "never" };
        let run = self.setup.record_on(
            self.client_cpu,
            &format!(
                "run http://{}/ --rate {RATE} --arrivals constant --connections {CONNECTIONS} --threads 1 --connect eager \
                 --warmup {WARM_UP_MS}ms --duration {WINDOW_MS}ms --rounds 1 --quiet --server none --spin {spin}",
                self.at
            ),
        )?;
        let summary = run.summary.context("weigh has measured nothing")?;
        let nanos = |percentile| Some(summary.latency_us.at(percentile)? * 1e3);
        let figures = nanos(Percentile::P50).zip(nanos(Percentile::P99));
        figures
            .map(<[f64; 2]>::from)
            .context("weigh reports no figures")
    }
}

/// p50 and p99 as the bare client prints them.
fn printed(text: &str) -> Option<Figures> {
    let line = text.lines().find(|line| line.starts_with("p50 "))?;
    let figure = |name: &str| {
        let mut parts = line.split(", ");
        let figure = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix(' '))?;
        figure.strip_suffix(" ns")?.parse::<f64>().ok()
    };
    Some([figure(NAMES[0])?, figure(NAMES[1])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(weigh_awake: Figures) -> Baseline {
        let pair = |wait, weigh, bare| Pair { wait, weigh, bare };
        Baseline {
            pairs: vec![
                pair(WAITS[0], [60e3, 110e3], [60e3, 100e3]),
                pair(WAITS[0], [62e3, 119e3], [60e3, 100e3]),
                pair(WAITS[0], [999e3, 999e3], [1e3, 1e3]),
                pair(WAITS[1], weigh_awake, [10e3, 20e3]),
            ],
        }
    }

    #[test]
    fn medians_are_compared_and_only_what_is_above_the_bound_is_wrong() {
        baseline([12e3, 24e3]).verdict().unwrap();
        let error = baseline([12.1e3, 24e3]).verdict().unwrap_err();
        let wanted = "the floor's p50, awake, is 1.21 times a bare client's; 1.2 may be";
        assert_eq!(error.to_string(), wanted);
    }

    #[test]
    fn the_section_marks_what_is_above_the_bound() {
        let text = baseline([12e3, 30e3]).section();
        assert!(
            text.contains("| asleep | p50 | 62.0 | 60.0 | 1.03 |\n"),
            "{text}"
        );
        assert!(
            text.contains("| awake | p99 | 30.0 | 20.0 | 1.50 **✗** |\n"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_measured_is_no_success() {
        let error = Baseline { pairs: Vec::new() }.verdict().unwrap_err();
        assert_eq!(error.to_string().matches("is NaN times").count(), 4);
    }

    #[test]
    fn the_bare_clients_figures_are_read() {
        let text = "p50 64681 ns, p90 71782 ns, p99 120504 ns, p99.9 673435 ns, max 1573850 ns\n\
                    25000 exchanges, 1 us user, 2 us system, 3 us wall\n\n{\"wall_us\": 5}\n";
        assert_eq!(printed(text), Some([64_681.0, 120_504.0]));
        assert_eq!(printed("25000 exchanges, 1 us user"), None);
    }
}

//! The floor: what weigh says of a server that answers at once, beside what the least client there can be says.
//!
//! Against such a server a latency is mostly the kernel and the instrument. How much of it is weigh's is what this
//! shows: a paced client of bare system calls (`bench`), with the same rate, connections and way of waiting, takes
//! turns with weigh against the same server. Its figures are raw and sorted; weigh's are what weigh reports.
//!
//! Client and server have a CPU each, and the priority that all measured processes get here. Runs are short and many,
//! because Linux takes the CPU from a real-time process that has not slept for 0.95 s while anybody else waits for it
//! (for 50 ms): on a busy machine that would be all that a long run shows of one that stays awake.

use super::means::{Means, in_turn};
use crate::machine::Machine;
use crate::programs;
use crate::serving::Responder;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Asleep,
    Awake,
}

/// Median and 99th percentile, in nanoseconds.
type Figures = [f64; 2];
/// What they are called.
const NAMES: [&str; 2] = ["p50", "p99"];

/// Runs of both, neighbours in time.
#[derive(Debug, Clone, Copy)]
struct Pair {
    wait: Wait,
    weigh: Figures,
    bare: Figures,
}

/// What all pairs have shown.
#[derive(Debug)]
pub struct Floor {
    pairs: Vec<Pair>,
}

/// Measures `pairs` pairs of each way of waiting.
///
/// # Errors
/// Something could not be built or started, or has not said what it should.
pub fn measure(means: &Means, pairs: u32) -> Result<Floor> {
    let place = Place::new(means)?;
    let mut floor = Floor { pairs: Vec::new() };
    for round in 0..pairs {
        for wait in [Wait::Asleep, Wait::Awake] {
            // Each comes first in turn.
            let weigh_first = round.is_multiple_of(2);
            let (weigh, bare) = in_turn(weigh_first, || place.weigh(wait), || place.bare(wait))?;
            floor.pairs.push(Pair { wait, weigh, bare });
        }
    }
    Ok(floor)
}

impl Floor {
    /// The page's section.
    pub fn section(&self) -> String {
        let mut text = format!(
            "## The floor\n\nA server that answers at once, {RATE} requests/s evenly spaced over {CONNECTIONS} \
             connections: weigh (`--server none`) beside a paced client of bare system calls, in turn, {} runs of {WINDOW_MS} \
             ms each, both asleep until something happens, or both awake all the time. Medians over the runs, in microseconds; weigh's may be {MOST} \
             times the other's. (`cargo xtask truth --floor` measures this section by itself.)\n\n| | | weigh | bare client | ratio |\n|---|---|---|---|---|\n",
            self.pairs.len() / 2
        );
        for line in self.lines() {
            let mark = if line.is_within() { "" } else { " **✗**" };
            text += &format!(
                "| {} | {} | {:.1} | {:.1} | {:.2}{mark} |\n",
                line.wait.name(),
                line.name,
                line.weigh / 1e3,
                line.bare / 1e3,
                line.ratio()
            );
        }
        text
    }

    /// Whether all is within its bound.
    ///
    /// # Errors
    /// It is not; what, is in the text.
    pub fn verdict(&self) -> Result<()> {
        let wrongs = self.wrongs();
        ensure!(wrongs.is_empty(), "{}", wrongs.join("; "));
        Ok(())
    }

    /// What is above its bound, a sentence each.
    fn wrongs(&self) -> Vec<String> {
        let lines = self.lines().into_iter();
        let above = lines.filter(|line| !line.is_within());
        let sentence = |line: Line| {
            let (name, wait, ratio) = (line.name, line.wait.name(), line.ratio());
            format!(
                "the floor's {name}, {wait}, is {ratio:.2} times a bare client's; {MOST} may be"
            )
        };
        above.map(sentence).collect()
    }

    fn lines(&self) -> Vec<Line> {
        let line = |wait, place: usize| {
            let pairs = || self.pairs.iter().filter(move |pair| pair.wait == wait);
            Line {
                wait,
                name: NAMES[place],
                weigh: median(pairs().map(|pair| pair.weigh[place]).collect()),
                bare: median(pairs().map(|pair| pair.bare[place]).collect()),
            }
        };
        let waits = [Wait::Asleep, Wait::Awake].into_iter();
        waits
            .flat_map(|wait| (0..NAMES.len()).map(move |place| line(wait, place)))
            .collect()
    }
}

/// One comparison: medians over the runs.
struct Line {
    wait: Wait,
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

impl Wait {
    fn name(self) -> &'static str {
        match self {
            Wait::Asleep => "asleep",
            Wait::Awake => "awake",
        }
    }
}

/// The lower one of two in the middle: no figure that nobody has measured. Not a number of none.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len().saturating_sub(1) / 2;
    figures.get(middle).copied().unwrap_or(f64::NAN)
}

/// Where both run: programs, CPUs, and the server.
struct Place<'a> {
    means: &'a Means,
    client_cpu: u32,
    bare: PathBuf,
    server: Responder,
}

impl Place<'_> {
    fn new(means: &Means) -> Result<Place<'_>> {
        programs::build("bench", &["bare_client", "bare_responder", "pinned"])?;
        let machine = Machine::look()?;
        let mut server = means.command(&programs::path("bare_responder")?);
        let cpu = machine.responder().to_string();
        server.extend(["127.0.0.1:0".to_owned(), "--cpu".to_owned(), cpu]);
        Ok(Place {
            means,
            client_cpu: machine.client(),
            bare: programs::path("bare_client")?,
            server: Responder::start(&server)?,
        })
    }

    fn bare(&self, wait: Wait) -> Result<Figures> {
        let skip = RATE * WARM_UP_MS / 1000;
        let all = RATE * WINDOW_MS / 1000 + skip;
        let mut words = format!(
            "{} {} -c {CONNECTIONS} -n {all} --rate {RATE} --skip {skip}",
            self.bare.display(),
            self.server.at
        );
        if wait == Wait::Awake {
            words.push_str(" --spin");
        }
        let text = self.means.run_on(self.client_cpu, &words)?;
        printed(&text).with_context(|| format!("the bare client says no figures: {text}"))
    }

    fn weigh(&self, wait: Wait) -> Result<Figures> {
        let record = self.means.folder().join("floor.json");
        let _ = std::fs::remove_file(&record); // an earlier run's must not be taken for this one's
        let spin = match wait {
            Wait::Asleep => "never",
            Wait::Awake => "always",
        };
        let words = format!(
            "{} run http://{}/ --rate {RATE} --arrivals constant --connections {CONNECTIONS} --threads 1 \
             --connect eager --warmup {WARM_UP_MS}ms --duration {WINDOW_MS}ms --rounds 1 --quiet --server none --spin {spin} --output {}",
            self.means.weigh.display(),
            self.server.at,
            record.display()
        );
        self.means.run_on(self.client_cpu, &words)?;
        let run = record::load(&record).context("weigh has left no record")?;
        let summary = run.summary.context("weigh has measured nothing")?;
        let of = summary.latency_us;
        let nanos = |micros: Option<f64>| micros.map(|micros| micros * 1e3);
        let figures = nanos(of.at(units::Percentile::P50))
            .zip(nanos(of.at(units::Percentile::P99)))
            .map(<[f64; 2]>::from);
        figures.context("weigh says no figures")
    }
}

/// p50 and p99 of what the bare client prints.
fn printed(text: &str) -> Option<Figures> {
    let line = text.lines().find(|line| line.starts_with("p50 "))?;
    let figure = |wanted: &str| {
        let words = line.split(", ").map(|part| part.split(' '));
        let mut parts = words.filter_map(|mut words| Some((words.next()?, words.next()?)));
        let (_, nanos) = parts.find(|(name, _)| *name == wanted)?;
        nanos.parse::<f64>().ok()
    };
    Some([figure(NAMES[0])?, figure(NAMES[1])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(weigh_awake: Figures) -> Floor {
        let pair = |wait, weigh, bare| Pair { wait, weigh, bare };
        Floor {
            pairs: vec![
                pair(Wait::Asleep, [60e3, 110e3], [60e3, 100e3]),
                pair(Wait::Asleep, [62e3, 119e3], [60e3, 100e3]),
                pair(Wait::Asleep, [999e3, 999e3], [1e3, 1e3]),
                pair(Wait::Awake, weigh_awake, [10e3, 20e3]),
            ],
        }
    }

    #[test]
    fn medians_are_compared_and_only_what_is_above_the_bound_is_wrong() {
        assert_eq!(floor([12e3, 24e3]).wrongs(), [""; 0]);
        let wrongs = floor([12.1e3, 24e3]).wrongs();
        let wanted = "the floor's p50, awake, is 1.21 times a bare client's; 1.2 may be";
        assert_eq!(wrongs, [wanted]);
    }

    #[test]
    fn the_section_marks_what_is_above_the_bound() {
        let text = floor([12e3, 30e3]).section();
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
        assert!(median(Vec::new()).is_nan());
        assert_eq!(median(vec![3.0, 1.0]), 1.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(Floor { pairs: Vec::new() }.wrongs().len(), 4);
    }

    #[test]
    fn the_bare_clients_figures_are_read() {
        let text = "p50 64681 ns, p90 71782 ns, p99 120504 ns, p99.9 673435 ns, max 1573850 ns\n\
                    25000 exchanges, 1 us user, 2 us system, 3 us wall\n\n{\"wall_us\": 5}\n";
        assert_eq!(printed(text), Some([64_681.0, 120_504.0]));
        assert_eq!(printed("25000 exchanges, 1 us user"), None);
    }
}

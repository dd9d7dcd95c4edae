//! `cargo xtask compare`: how often `weigh compare` finds what was planted, and how often it finds what is not there.
//!
//! Each comparison is one run of the program as a user types it, on the machine as it is. What is planted is work: its
//! share of the whole cost of a request depends on the machine, so that cost is measured first. Every comparison is a line
//! of a journal, so that the chore goes on where it was stopped; the table in docs/compare.md is written from the journal.

mod beside;
mod case;
mod killed;
mod page;
mod table;
mod trial;

use crate::catalogue::{read, write};
use crate::journal::Journal;
use crate::machine::Machine;
use crate::programs::{self, root};
use crate::serving::site::Site;
use anyhow::{Context, Result, bail, ensure};
use case::{CASES, Case};
use kernel::signals;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use trial::{How, uninterrupted};
use units::Nanos;

/// The page that has the table.
const PAGE: &str = "docs/compare.md";
/// The length of the comparison by which the cost of a request is found.
const BASE_TIME: Nanos = Nanos::from_secs(30);
/// The name of that comparison in the journal.
const BASE: &str = "base";

/// Count what comparisons find, and write the table of docs/compare.md.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Only these cases.
    #[arg(long, value_name = "CASE,...", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// Comparisons of each case, instead of the case's own number; with 0 the table is written of what the journal has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1000))]
    runs: Option<u32>,
    /// A look instead of a measurement: comparisons of this length, and the table is printed only.
    #[arg(long, value_name = "TIME")]
    time: Option<Nanos>,
    /// Journal to go on with; a new one is begun where there is none.
    #[arg(long, value_name = "FILE", default_value = "target/compare.ndjson")]
    journal: PathBuf,
    /// Try this program instead of building weigh.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// The names that `--only` takes.
fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

/// What was measured, as the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    case: String,
    /// The commit that was run.
    source: String,
    machine: String,
    /// The time of a look; none of a measurement.
    time: Option<Nanos>,
    #[serde(flatten)]
    outcome: Outcome,
}

/// What came of a row's case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A server with twice the work was compared with one with this work: how much more CPU time it took per request.
    Base {
        /// The work.
        work: Nanos,
        /// The ratio.
        ratio: Ratio,
    },
    /// A comparison.
    Compared(Compared),
    /// A comparison that was not carried out; why.
    Failed(String),
    /// weigh was killed.
    Killed(Killed),
}

/// A ratio and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    centre: f64,
    low: f64,
    high: f64,
}

/// What a comparison said of b against a.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Its first line.
    headline: String,
    /// The figure that decided.
    figure: String,
    /// The answer, by its name in JSON: `more`, `less`, ...
    said: String,
    /// Starts that count.
    starts: u32,
    ratio: Option<Ratio>,
    /// The smallest difference that is found in 80 %, as a share.
    detectable: Option<f64>,
    /// CPU time of other programs meanwhile, as a share of all CPUs.
    foreign: Option<f64>,
    /// What was planted; none where that is not known.
    planted: Option<Planted>,
    /// What another load generator found.
    beside: Option<Ratio>,
}

/// What b costs more than a.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// Work for each request, beyond a's.
    extra: Nanos,
    /// The whole of b's CPU time per request by a's.
    ratio: f64,
}

/// A comparison that was killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Killed {
    /// So long after its start.
    after_ms: u64,
    /// Processes that ran then, weigh among them.
    processes: u32,
    /// How long after the kill all of them were gone; none where they were not.
    gone_ms: Option<u64>,
    /// Those that were left.
    left: Vec<String>,
}

impl Compare {
    /// Runs what the journal lacks, and writes the table.
    ///
    /// # Errors
    /// A program that is named is not installed, weigh could not be started or failed at once, this was interrupted, or a
    /// file could not be written.
    pub fn run(&self) -> Result<()> {
        let program = programs::weigh(self.program.clone())?;
        signals::interrupts(); // caught from here on: servers are ended and folders removed
        let machine = Machine::look()?;
        println!("machine    {}", machine.sentence());
        let mut journal = Journal::open(&self.journal)?;
        let how = How {
            program,
            time: self.time,
        };
        self.fill(&self.cases()?, &how, &machine, &mut journal)?;
        let rows = journal.rows().iter().filter(|row| row.time == self.time);
        let text = page::text(&rows.collect::<Vec<_>>());
        println!("{text}");
        if self.time.is_some() {
            return Ok(());
        }
        let path = root().join(PAGE);
        write(&path, &page::inserted(&read(&path)?, &text)?)
    }

    /// The cases that are asked for and can be carried out.
    fn cases(&self) -> Result<Vec<&'static Case>> {
        let is_asked =
            |case: &&Case| self.only.is_empty() || self.only.iter().any(|name| name == case.name);
        let mut cases: Vec<&Case> = CASES.iter().filter(is_asked).collect();
        for case in cases.extract_if(.., |case| !case.missing().is_empty()) {
            let missing = case.missing().join(", ");
            ensure!(self.only.is_empty(), "{missing} is not installed");
            println!(
                "missing    {missing} is not installed, and {} was not run",
                case.name
            );
        }
        Ok(cases)
    }

    /// Runs what the journal lacks of these cases, each in turn, so that all of them see the same machine.
    fn fill(
        &self,
        cases: &[&Case],
        how: &How,
        machine: &Machine,
        journal: &mut Journal<Row>,
    ) -> Result<()> {
        loop {
            let mut is_done = true;
            for case in cases {
                let is_of = |row: &&Row| row.case == case.name && row.time == self.time;
                let done = u32::try_from(journal.rows().iter().filter(is_of).count())?;
                if done >= self.runs.unwrap_or(case.runs) {
                    continue;
                }
                is_done = false;
                uninterrupted()?;
                let planted = self.planted(case, how, machine, journal)?;
                let outcome = carried_out((case, done), planted, how)?;
                println!("{} {done}: {}", case.name, page::sentence(&outcome));
                if let (Outcome::Failed(why), 0) = (&outcome, done) {
                    bail!("{} cannot be carried out: {why}", case.name);
                }
                journal.push(self.row(case.name, machine, outcome))?;
            }
            if is_done {
                return Ok(());
            }
        }
    }

    fn row(&self, case: &str, machine: &Machine, outcome: Outcome) -> Row {
        let source = match self.program {
            Some(_) => "a program that was given",
            None => machine.commit(),
        };
        Row {
            case: case.to_owned(),
            source: source.to_owned(),
            machine: machine.hardware(),
            time: self.time,
            outcome,
        }
    }

    /// What is planted in a case; none where that is not known. The first time in this journal, for this source on this
    /// machine, the cost of a request is measured for it.
    fn planted(
        &self,
        case: &Case,
        how: &How,
        machine: &Machine,
        journal: &mut Journal<Row>,
    ) -> Result<Option<Planted>> {
        let Some(share) = case.planted else {
            return Ok(None);
        };
        let Some(work) = case.planted_on() else {
            return Ok(Some(Planted::NOTHING));
        };
        let like = self.row(BASE, machine, Outcome::Failed(String::new()));
        let base = journal.rows().iter().rev().find_map(|row| {
            let alike = Row {
                outcome: like.outcome.clone(),
                ..row.clone()
            } == like;
            match row.outcome {
                Outcome::Base { work: of, ratio } if alike && of == work => Some(ratio),
                _ => None,
            }
        });
        let ratio = match base {
            Some(ratio) => ratio,
            None => {
                let ratio = base_ratio(case, work, how)?;
                let outcome = Outcome::Base { work, ratio };
                println!("{BASE}: {}", page::sentence(&outcome));
                journal.push(self.row(BASE, machine, outcome))?;
                ratio
            }
        };
        Ok(Some(Planted::of(share / 100.0, work, ratio)))
    }
}

/// Compares a's work with twice as much.
fn base_ratio(case: &Case, work: Nanos, how: &How) -> Result<Ratio> {
    let how = How {
        program: how.program.clone(),
        time: how.time.or(Some(BASE_TIME)),
    };
    let mut site = Site::new()?;
    let mut side = |extra| case.a.command(&how.program, extra, &mut site);
    let sides = [side(Nanos::ZERO)?, side(work)?];
    let compared = match how.compare(case, &sides, &mut site)? {
        Outcome::Compared(compared) => compared,
        other => bail!(
            "the cost of a request could not be measured: {}",
            page::sentence(&other)
        ),
    };
    let ratio = compared.ratio.filter(|ratio| ratio.low > 1.0);
    ratio.with_context(|| format!("twice the work was not found: {}", compared.headline))
}

/// Carries out a case once, for the `number`th time.
fn carried_out(
    (case, number): (&Case, u32),
    planted: Option<Planted>,
    how: &How,
) -> Result<Outcome> {
    let mut site = Site::new()?; // for each comparison: what its servers write goes with it
    let extra = planted.map_or(Nanos::ZERO, |planted| planted.extra);
    let sides = [
        case.a.command(&how.program, Nanos::ZERO, &mut site)?,
        case.b.command(&how.program, extra, &mut site)?,
    ];
    if let Some(kills) = case.kills {
        return killed::run((case, kills, number), &sides, how, &mut site);
    }
    let mut outcome = how.compare(case, &sides, &mut site)?;
    if let Outcome::Compared(compared) = &mut outcome {
        compared.planted = planted;
        compared.beside = beside::measure(case, how, &mut site).unwrap_or_else(|error| {
            eprintln!("{}: {error:#}", case.name); // the comparison counts all the same
            None
        });
        uninterrupted()?;
    }
    Ok(outcome)
}

impl Planted {
    /// Both servers are the same.
    const NOTHING: Planted = Planted {
        extra: Nanos::ZERO,
        ratio: 1.0,
    };

    /// The extra work that makes `share` of the whole CPU time per request, where `work` more made it grow to `twice`. CPU
    /// time per request grows evenly with work, so that `work` is the share `twice - 1` of the whole. The ratio is that of
    /// whole nanoseconds.
    fn of(share: f64, work: Nanos, twice: Ratio) -> Planted {
        let each = (twice.centre - 1.0) / work.as_nanos() as f64;
        let extra = (share / each).round();
        Planted {
            extra: Nanos::from_nanos(extra as u64),
            ratio: 1.0 + extra * each,
        }
    }
}

impl Ratio {
    /// Whether the interval holds a ratio.
    fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// Half the width of the interval, on the log scale.
    fn half_width(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }

    /// Whether two independent measurements of one ratio differ by no more than the 95 % interval of their difference
    /// reaches: the root of the sum of both half widths' squares, on the log scale.
    fn agrees(&self, other: &Ratio) -> bool {
        let apart = (self.centre / other.centre).ln().abs();
        apart <= self.half_width().hypot(other.half_width())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(centre: f64, low: f64, high: f64) -> Ratio {
        Ratio { centre, low, high }
    }

    #[test]
    fn extra_work_is_a_share_of_the_whole_cost_and_not_of_the_work() {
        // 20 us of work make the whole 1.4 times as much: the whole is 50 us, and 2 % of it are 1 us.
        let work = Nanos::from_micros(20);
        let twice = ratio(1.4, 1.39, 1.41);
        let planted = Planted::of(0.02, work, twice);
        assert_eq!(planted.extra, Nanos::from_micros(1));
        assert!((planted.ratio - 1.02).abs() < 1e-12);
        // Rounded to a nanosecond: 333 ns of 50 us and 0.333 %.
        let planted = Planted::of(1.0 / 150.0, work, twice);
        assert_eq!(planted.extra, Nanos::from_nanos(333));
        assert!((planted.ratio - 1.006_66).abs() < 1e-9);
    }

    #[test]
    fn measurements_agree_within_the_interval_of_their_difference() {
        let one = ratio(1.0, 0.97_f64, 1.0 / 0.97);
        let at = |centre: f64| ratio(centre, centre * 0.96, centre / 0.96);
        // Half widths of 3.05 and 4.08 % make 5.10 %.
        let edge = 0.050_95_f64;
        assert!(one.agrees(&at((edge - 0.001).exp())));
        assert!(!one.agrees(&at((edge + 0.001).exp())));
        assert!(at((-edge + 0.001).exp()).agrees(&one));
        assert!(one.holds(0.97) && one.holds(1.03) && !one.holds(1.04));
    }

    #[test]
    fn a_row_of_each_kind_is_read_as_it_was_written() {
        let outcomes = [
            Outcome::Base {
                work: Nanos::from_micros(20),
                ratio: ratio(1.4, 1.39, 1.41),
            },
            Outcome::Failed("it could not".into()),
            Outcome::Compared(page::tests::compared("more", 1.02, Some(1.02))),
            Outcome::Killed(Killed {
                after_ms: 1,
                processes: 3,
                gone_ms: None,
                left: vec!["17 nginx".into()],
            }),
        ];
        for outcome in outcomes {
            let row = Row {
                case: "case".into(),
                source: "a1".into(),
                machine: "one".into(),
                time: Some(Nanos::from_secs(5)),
                outcome,
            };
            let line = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row, "{line}");
        }
    }
}

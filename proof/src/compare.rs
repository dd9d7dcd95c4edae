//! `cargo xtask compare`: how often `weigh compare` finds what was planted, and how often it finds what is not there.
//!
//! Each comparison is one run of the program as a user types it, on the machine as it is. What is planted is work: how much
//! makes a share of the whole cost of a request depends on the machine, so that cost is measured first. What the work is of
//! it depends on what the machine does at the time, so that each comparison is held beside the cost that it measured itself.
//! Every comparison is a line of a journal, so that the chore goes on where it was stopped; the table in docs/compare.md is
//! written from the journal.

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
    /// A server with this work was compared with itself: what a request costs.
    Base {
        /// The work.
        work: Nanos,
        /// CPU time per request, in microseconds.
        cost_us: f64,
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
    /// a's CPU time per request in microseconds, where that is the figure.
    cost_us: Option<f64>,
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
    /// The whole of b's CPU time per request by a's: 1 + `extra` by what a's requests cost in the same comparison; none
    /// where that is not known.
    ratio: Option<f64>,
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
                let extra = self.extra(case, how, machine, journal)?;
                let outcome = carried_out((case, done), extra, how)?;
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

    /// What b works more for each request in a case; none where that is not known. The first time in this journal, for
    /// this source on this machine, the cost of a request is measured for it.
    fn extra(
        &self,
        case: &Case,
        how: &How,
        machine: &Machine,
        journal: &mut Journal<Row>,
    ) -> Result<Option<Nanos>> {
        let Some(share) = case.planted else {
            return Ok(None);
        };
        let Some(work) = case.planted_on() else {
            return Ok(Some(Nanos::ZERO));
        };
        let like = self.row(BASE, machine, Outcome::Failed(String::new()));
        let base = journal.rows().iter().rev().find_map(|row| {
            let alike = Row {
                outcome: like.outcome.clone(),
                ..row.clone()
            } == like;
            match row.outcome {
                Outcome::Base { work: of, cost_us } if alike && of == work => Some(cost_us),
                _ => None,
            }
        });
        let cost_us = match base {
            Some(cost_us) => cost_us,
            None => {
                let cost_us = base_cost(case, how)?;
                let outcome = Outcome::Base { work, cost_us };
                println!("{BASE}: {}", page::sentence(&outcome));
                journal.push(self.row(BASE, machine, outcome))?;
                cost_us
            }
        };
        Ok(Some(extra(share / 100.0, cost_us)))
    }
}

/// The work that is `share` of a request that costs so many microseconds.
fn extra(share: f64, cost_us: f64) -> Nanos {
    Nanos::from_nanos((share * cost_us * 1e3).round() as u64)
}

/// Compares a with itself: what a request costs, in microseconds of CPU time.
fn base_cost(case: &Case, how: &How) -> Result<f64> {
    let how = How {
        program: how.program.clone(),
        time: how.time.or(Some(BASE_TIME)),
    };
    let mut site = Site::new()?;
    let mut side = || case.a.command(&how.program, Nanos::ZERO, &mut site);
    let sides = [side()?, side()?];
    let compared = match how.compare(case, &sides, &mut site)? {
        Outcome::Compared(compared) => compared,
        other => bail!(
            "the cost of a request could not be measured: {}",
            page::sentence(&other)
        ),
    };
    let cost = compared.cost_us;
    cost.with_context(|| format!("the cost of a request is not known: {}", compared.headline))
}

/// Carries out a case once, for the `number`th time.
fn carried_out((case, number): (&Case, u32), extra: Option<Nanos>, how: &How) -> Result<Outcome> {
    let mut site = Site::new()?; // for each comparison: what its servers write goes with it
    let sides = [
        case.a.command(&how.program, Nanos::ZERO, &mut site)?,
        case.b
            .command(&how.program, extra.unwrap_or_default(), &mut site)?,
    ];
    if let Some(kills) = case.kills {
        return killed::run((case, kills, number), &sides, how, &mut site);
    }
    let mut outcome = how.compare(case, &sides, &mut site)?;
    if let Outcome::Compared(compared) = &mut outcome {
        compared.planted = extra.map(|extra| Planted::of(extra, compared.cost_us));
        compared.beside = beside::measure(case, how, &mut site).unwrap_or_else(|error| {
            eprintln!("{}: {error:#}", case.name); // the comparison counts all the same
            None
        });
        uninterrupted()?;
    }
    Ok(outcome)
}

impl Planted {
    /// So much more work for requests that cost so many microseconds of CPU time without it.
    fn of(extra: Nanos, cost_us: Option<f64>) -> Planted {
        let ratio = match extra {
            Nanos::ZERO => Some(1.0),
            extra => cost_us.map(|cost| 1.0 + extra.as_nanos() as f64 / 1e3 / cost),
        };
        Planted { extra, ratio }
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
    fn extra_work_is_a_share_of_the_whole_cost_as_each_comparison_measured_it() {
        assert_eq!(extra(0.02, 50.0), Nanos::from_micros(1));
        assert_eq!(extra(1.0 / 150.0, 50.0), Nanos::from_nanos(333));
        let planted = |nanos, cost| Planted::of(Nanos::from_nanos(nanos), cost).ratio;
        assert!((planted(1000, Some(40.0)).unwrap() - 1.025).abs() < 1e-12);
        assert_eq!(planted(1000, None), None);
        assert_eq!([planted(0, None), planted(0, Some(40.0))], [Some(1.0); 2]);
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
                cost_us: 27.6,
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

//! `cargo xtask alarms`: how often weigh's verdicts on sound servers are wrong, and what its intervals hold.
//!
//! Many short runs as a user types them, without priorities or chosen CPUs, on the machine as it is (`idle`) and beside
//! two programs that use all the CPU they get (`busy`). Every run is a line of a journal, so that the chore goes on where
//! it was stopped; docs/alarms.md is written from the journal.

mod page;
mod trial;

use crate::catalogue::{self, Server, rows, text, write};
use crate::journal::Journal;
use crate::machine::Machine;
use crate::programs::{self, root};
use crate::serving::site::Site;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use trial::{Neighbours, Target};

/// The page, in docs/.
const PAGE: &str = "docs/alarms.md";

/// Count false alarms over many short runs, and write docs/alarms.md.
#[derive(Debug, clap::Args)]
pub struct Alarms {
    /// Only these groups of cases.
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    only: Vec<Group>,
    /// Only on the machine as it is, or only beside two programs that use all the CPU they get.
    #[arg(long)]
    beside: Option<Beside>,
    /// Runs of each case and neighbourhood, instead of the group's own number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// Journal to go on with; a new one is begun where there is none.
    #[arg(long, value_name = "FILE", default_value = "target/alarms.ndjson")]
    journal: PathBuf,
    /// Try this program instead of building weigh.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// What is asked of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Nothing is wrong, and nothing may be said to be.
    Healthy,
    /// A load under, near or over what the server can do.
    Overload,
    /// One server for all runs: the intervals should hold the mean of all.
    Intervals,
}

impl Group {
    /// Runs of each case in each neighbourhood.
    fn runs(self) -> u32 {
        match self {
            Group::Healthy => 30,
            Group::Overload => 60,
            Group::Intervals => 40,
        }
    }

    /// The neighbourhoods in which it is run.
    fn neighbourhoods(self) -> &'static [Beside] {
        match self {
            Group::Overload => &[Beside::Idle],
            Group::Healthy | Group::Intervals => &[Beside::Idle, Beside::Busy],
        }
    }
}

/// What else the machine does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Beside {
    /// What it does anyway.
    Idle,
    /// Two programs use all the CPU that they get.
    Busy,
}

/// A row of `catalogue/alarms.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    group: Group,
    #[serde(deserialize_with = "text")]
    name: &'static str,
    server: Option<String>,
    truth: Option<String>,
    path: String,
    load: String,
    /// Causes that may be named as the bottleneck; every one where none is listed.
    #[serde(default)]
    bottleneck: Vec<String>,
    #[serde(default = "one")]
    parallel: u32,
}

fn one() -> u32 {
    1
}

static CASES: LazyLock<Vec<Case>> =
    LazyLock::new(|| rows("case", include_str!("../catalogue/alarms.toml")));

/// One run, as the journal has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    case: String,
    beside: Beside,
    /// The commit that was run.
    commit: String,
    /// Exit status of `weigh run --require reliable`.
    status: i32,
    findings: Vec<Found>,
    /// Requests per second and CPU time per request: the value and its interval.
    intervals: BTreeMap<String, [f64; 3]>,
}

/// A finding of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    check: String,
    cause: String,
    grade: String,
}

impl Alarms {
    /// Runs what the journal lacks, and writes the page.
    ///
    /// # Errors
    /// A server or weigh could not be started, or a file not be written.
    pub fn run(&self) -> Result<()> {
        let program = programs::weigh(self.program.clone())?;
        let machine = Machine::look()?;
        println!("machine    {}", machine.sentence());
        let mut journal = Journal::open(&self.journal)?;
        let mut site = Site::new()?;
        let groups = [Group::Healthy, Group::Overload, Group::Intervals];
        let asked = |group: &Group| self.only.is_empty() || self.only.contains(group);
        for group in groups.into_iter().filter(asked) {
            for beside in group.neighbourhoods() {
                if self.beside.is_none_or(|asked| asked == *beside) {
                    self.fill(
                        group,
                        *beside,
                        (&program, &machine),
                        &mut site,
                        &mut journal,
                    )?;
                }
            }
        }
        let page = page::text(journal.rows(), &machine);
        println!("{page}");
        write(&root().join(PAGE), &page)
    }

    /// Runs what the journal lacks of a group's cases, each in turn.
    fn fill(
        &self,
        group: Group,
        beside: Beside,
        (program, machine): (&PathBuf, &Machine),
        site: &mut Site,
        journal: &mut Journal<Row>,
    ) -> Result<()> {
        let cases: Vec<&Case> = CASES.iter().filter(|case| case.group == group).collect();
        let wanted = self.runs.unwrap_or(group.runs());
        if group == Group::Intervals {
            forget_begun(&cases, beside, wanted, journal)?;
        }
        let _neighbours = Neighbours::start(beside, site)?;
        let mut shared = None;
        loop {
            let mut is_done = true;
            for case in &cases {
                let has = |row: &&Row| row.case == case.name && row.beside == beside;
                let done = u32::try_from(journal.rows().iter().filter(has).count())?;
                let count = case.parallel.min(wanted.saturating_sub(done));
                if count == 0 {
                    continue;
                }
                is_done = false;
                let mut targets = match shared.take() {
                    Some(targets) => targets,
                    None => Target::several(case, count, done, program, site)?,
                };
                let ended = trial::run(case, &mut targets, program)?;
                for (status, record) in ended {
                    let row = trial::row(case, beside, self.source(machine), status, &record)?;
                    println!("{:?} {} {done}: status {status}", beside, case.name);
                    journal.push(row)?;
                }
                shared = (group == Group::Intervals).then_some(targets);
            }
            if is_done {
                return Ok(());
            }
        }
    }

    /// What was built for the runs, as git names it.
    fn source<'a>(&self, machine: &'a Machine) -> &'a str {
        match self.program {
            Some(_) => "a program that was given",
            None => machine.commit(),
        }
    }
}

/// Leaves out of the journal the runs of a series that was not completed: its server is gone.
fn forget_begun(
    cases: &[&Case],
    beside: Beside,
    wanted: u32,
    journal: &mut Journal<Row>,
) -> Result<()> {
    for case in cases {
        let is_of = |row: &Row| row.case == case.name && row.beside == beside;
        if (journal.rows().iter().filter(|row| is_of(row)).count() as u32) < wanted {
            journal.retain(|row| !is_of(row))?;
        }
    }
    Ok(())
}

impl Case {
    /// The row of the server's catalogue; none of a truth server.
    fn row(&self) -> Result<Option<&'static Server>> {
        let Some(name) = &self.server else {
            ensure!(self.truth.is_some(), "{} has no server", self.name);
            return Ok(None);
        };
        Ok(Some(catalogue::named(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_one_server_and_the_numbers_of_runs_are_those_of_the_page() {
        let healthy = CASES.iter().filter(|case| case.group == Group::Healthy);
        let runs = Group::Healthy.runs() as usize * Group::Healthy.neighbourhoods().len();
        assert_eq!(healthy.count() * runs, 600);
        for case in CASES.iter() {
            assert_eq!(case.row().unwrap().is_some(), case.truth.is_none());
        }
        let intervals = CASES.iter().filter(|case| case.group == Group::Intervals);
        assert_eq!(intervals.count(), 1, "its server is shared by all runs");
    }
}

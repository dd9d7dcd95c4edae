//! `weigh sweep`: one server, many load levels; a line for each as it is measured.

use crate::beside::Beside;
use crate::exit::Exit;
use crate::progress::Bar;
use crate::settings::Given;
use crate::{generate, output, run};
use anyhow::{Error, Result, bail};
use campaign::{PlannedRound, View};
use engine::Progress;
use plan::Plan;
use record::{Finding, Round, Run, SaveError};
use report::Look;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What may be said anew of a sweep that goes on as it was recorded: what is shown of it, and where.
const ANEW: [&str; 14] = [
    "resume", "chart", "junit", "markdown", "json", "quiet", "verbose", "wide", "name", "require",
    "abort-if", "strict", "withhold", "dry-run",
];

/// Carries out what is `given`.
pub fn sweep(given: &Given) -> Result<Exit> {
    let how = &given.output;
    let earlier = how.resume.as_deref().map(earlier).transpose()?;
    let plan = match &earlier {
        Some((earlier, path)) => again(given, earlier, path)?,
        None => given.plan()?,
    };
    if how.dry_run {
        return run::dry_run(&plan.published());
    }
    let record = how.record.as_deref().or(how.resume.as_deref());
    let mut beside = how.beside.iter();
    beside.try_for_each(|file| file.try_place(record))?;
    let mut lines = Lines {
        bar: Bar::new(how.quiet),
        look: how.look(),
        are_shown: !how.json,
        rows: Vec::new(),
        unprinted: None,
    };
    let outcome = match earlier {
        Some((earlier, path)) => {
            let stop = kernel::signals::measuring();
            let generator = generate::command(&plan)?;
            campaign::resume(plan, earlier, &path, &generator, stop.flag(), &mut lines)?
        }
        None => run::carry_out_under(plan, how.record.clone(), &mut lines)?,
    };
    let shown = match how.json {
        true => run::show(&outcome, "json", how),
        false => lines.conclude(&outcome.run) && run::tell_record(&outcome, how),
    };
    let shown = Beside::written(&how.beside, &outcome.run, how.quiet) && shown;
    Ok(Exit::of(&outcome, shown))
}

/// The record that a sweep has left, and where. It may be named by its number or name in the list of records, and by its
/// journal.
fn earlier(record: &Path) -> Result<(Run, PathBuf)> {
    let path = crate::list::file(record)?;
    let name = path.to_string_lossy();
    let path = match name.strip_suffix(".journal") {
        Some(record) => PathBuf::from(record),
        None => path,
    };
    let run = campaign::load(&path)?;
    if !run.is_sweep() {
        bail!(
            "--resume {} is no sweep; `weigh run` measures it anew",
            path.display()
        );
    }
    if let Some(found) = campaign::contradiction(&run) {
        bail!("--resume {}: {found}; measure anew", path.display());
    }
    Ok((run, path))
}

/// The plan of the sweep that goes on: as it was recorded or, where the command is given again, as that says, which must
/// be the same.
fn again(given: &Given, earlier: &Run, path: &Path) -> Result<Plan> {
    let draft = &given.draft;
    if draft.urls.is_empty() && draft.requests_file.is_none() {
        if let Some(other) = given.names.iter().find(|name| !ANEW.contains(name)) {
            bail!(
                "--resume {} goes on with the sweep as it was recorded, which --{other} would change; leave that away, or \
                 give the whole command again",
                path.display(),
            );
        }
        let mut plan = earlier.plan.clone();
        plan.strict |= draft.plan.strict;
        plan.requirements
            .extend_from_slice(&draft.plan.requirements);
        plan.abort_if.extend_from_slice(&draft.plan.abort_if);
        plan.withhold.extend_from_slice(&draft.plan.withhold);
        if plan.withholds() {
            bail!(
                "--resume {} does not hold the credentials of its requests; give the whole command again",
                path.display()
            );
        }
        return Ok(plan);
    }
    let mut plan = given.plan()?;
    if draft.seed.is_none() {
        plan.seed = earlier.plan.seed;
    }
    Ok(plan)
}

/// Prints a line for each point when its rounds are measured, and shows progress below them.
struct Lines {
    bar: Bar,
    look: Look,
    are_shown: bool,
    /// On a terminal the points whose rows stand above the progress, without anything else between: a row that comes
    /// again is printed in the place of the one before.
    rows: Vec<usize>,
    /// Why a line could not be printed, if any.
    unprinted: Option<Error>,
}

impl Lines {
    fn print(&mut self, text: &str) {
        if self.are_shown
            && let Err(error) = self.bar.print(text)
        {
            self.unprinted.get_or_insert(error);
        }
    }

    /// Prints the row of a point, in place of the one that it had. A row that the terminal has scrolled away stays.
    fn print_row(&mut self, point: usize, row: &str) {
        let height = terminal_size::terminal_size().map_or(0, |(_, height)| usize::from(height.0));
        let known = self.rows.iter().rposition(|known| *known == point);
        match known.map(|place| self.rows.len() - place) {
            Some(up) if up + 2 < height => {
                // Up to its line, which is cleared, and down again.
                let down = "\n".repeat(up - 1);
                self.print(&format!("\x1b[{up}A\r\x1b[2K{row}{down}"));
            }
            _ => {
                self.print(row);
                self.rows.push(point);
            }
        }
    }

    /// What follows from all lines together; false when something could not be printed.
    fn conclude(mut self, run: &Run) -> bool {
        self.print(&report::sweep::foot(run, &self.look));
        match &self.unprinted {
            Some(error) => output::complain(error),
            None => return true,
        }
        false
    }
}

impl View for Lines {
    fn starting(&mut self, command: &str) {
        self.bar.starting(command);
    }

    fn begins(&mut self, run: &Run) {
        self.bar.begins(run);
        self.print(&report::sweep::head(run, &self.look));
    }

    fn round(&mut self, planned: &PlannedRound) {
        self.bar.round(planned);
    }

    fn progress(&mut self, planned: &PlannedRound, progress: Progress) {
        self.bar.progress(planned, progress);
    }

    fn wants_latency(&self) -> bool {
        self.bar.wants_latency()
    }

    fn measured(&mut self, round: &Round) {
        self.bar.measured(round);
    }

    fn point(&mut self, run: &Run, point: usize, findings: &[Finding]) {
        let row = report::sweep::line(run, point, findings, &self.look);
        match std::io::stdout().is_terminal() {
            true => self.print_row(point, &row),
            false => self.print(&row),
        }
    }

    fn twin_failed(&mut self, why: &str) {
        self.rows.clear();
        self.bar.twin_failed(why);
    }

    fn unjournaled(&mut self, error: &SaveError) {
        self.rows.clear();
        self.bar.unjournaled(error);
    }

    fn ends(&mut self) {
        self.bar.ends();
    }
}

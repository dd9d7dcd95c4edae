//! `weigh sweep`: one server, many load levels; a line for each as it is measured.

use crate::args::SweepFlags;
use crate::chart::Picture;
use crate::exit::Exit;
use crate::progress::Bar;
use crate::{generate, intent, output, run};
use anyhow::{Error, Result, bail};
use campaign::{Cell, View};
use engine::Progress;
use plan::Plan;
use record::{Finding, Round, Run, SaveError};
use report::Look;
use std::path::{Path, PathBuf};

/// What may be said anew of a sweep that goes on as it was recorded: what is shown of it, and where.
const ANEW: [&str; 7] = [
    "resume", "chart", "json", "quiet", "strict", "withhold", "dry_run",
];

/// Carries `flags` out, of which those of the names `given` stand on the command line.
pub fn sweep(flags: &SweepFlags, given: &[String]) -> Result<Exit> {
    let run = &flags.run;
    let earlier = flags.resume.as_deref().map(earlier).transpose()?;
    let plan = match &earlier {
        Some((earlier, path)) => again(flags, given, earlier, path)?,
        None => intent::sweep(flags)?,
    };
    if run.dry_run {
        return run::dry_run(&plan.published());
    }
    let record = run.output.as_deref().or(flags.resume.as_deref());
    run.chart
        .iter()
        .try_for_each(|chart| chart.try_place(record))?;
    let mut lines = Lines {
        bar: Bar::new(run.quiet),
        look: output::look(),
        are_shown: !run.json,
        unprinted: None,
    };
    let outcome = match earlier {
        Some((earlier, path)) => {
            let stop = kernel::signals::measuring();
            let generator = generate::command(&plan)?;
            campaign::resume(plan, earlier, &path, &generator, stop.flag(), &mut lines)?
        }
        None => run::carry_out_under(plan, run.output.clone(), &mut lines)?,
    };
    let shown = match run.json {
        true => run::show(&outcome, "json", run.quiet),
        false => lines.conclude(&outcome.run) && run::tell_record(&outcome, run.quiet),
    };
    let shown = Picture::drawn(run.chart.as_ref(), &outcome.run, run.quiet) && shown;
    Ok(Exit::of(&outcome, shown))
}

/// The record that a sweep has left, and where; its journal may be named instead.
fn earlier(path: &Path) -> Result<(Run, PathBuf)> {
    let name = path.to_string_lossy();
    let path = match name.strip_suffix(".journal") {
        Some(record) => PathBuf::from(record),
        None => path.to_owned(),
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
fn again(flags: &SweepFlags, given: &[String], earlier: &Run, path: &Path) -> Result<Plan> {
    if flags.run.urls.is_empty() && flags.run.urls_file.is_none() {
        // A group of flags is "given" with the first of its own.
        let is_flag = |name: &&String| name.starts_with(|first: char| first.is_lowercase());
        let mut other = given.iter().filter(is_flag);
        if let Some(other) = other.find(|name| !ANEW.contains(&name.as_str())) {
            bail!(
                "--resume {} goes on with the sweep as it was recorded, which --{} would change; leave that away, or give \
                 the whole command again",
                path.display(),
                other.replace('_', "-")
            );
        }
        let mut plan = earlier.plan.clone();
        plan.strict |= flags.run.strict;
        plan.withhold.extend_from_slice(&flags.run.withhold);
        if plan.withholds() {
            bail!(
                "--resume {} does not hold the credentials of its requests; give the whole command again",
                path.display()
            );
        }
        return Ok(plan);
    }
    let mut plan = intent::sweep(flags)?;
    if flags.run.seed.is_none() {
        plan.seed = earlier.plan.seed;
    }
    Ok(plan)
}

/// Prints a line for each point when its rounds are measured, and shows progress below them.
struct Lines {
    bar: Bar,
    look: Look,
    are_shown: bool,
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

    fn round(&mut self, cell: &Cell) {
        self.bar.round(cell);
    }

    fn progress(&mut self, cell: &Cell, progress: Progress) {
        self.bar.progress(cell, progress);
    }

    fn measured(&mut self, round: &Round) {
        self.bar.measured(round);
    }

    fn point(&mut self, run: &Run, point: usize, findings: &[Finding]) {
        self.print(&report::sweep::line(run, point, findings, &self.look));
    }

    fn twin_failed(&mut self, why: &str) {
        self.bar.twin_failed(why);
    }

    fn unjournaled(&mut self, error: &SaveError) {
        self.bar.unjournaled(error);
    }

    fn ends(&mut self) {
        self.bar.ends();
    }
}

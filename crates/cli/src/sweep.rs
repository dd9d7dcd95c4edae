//! `weigh sweep`: one server, many load levels; a line for each as it is measured.

use crate::args::SweepFlags;
use crate::exit::Exit;
use crate::progress::Bar;
use crate::{intent, output, run};
use anyhow::{Error, Result};
use campaign::{CampaignError, Cell, View};
use engine::Progress;
use record::{Finding, Round, Run, SaveError};
use report::Look;

/// Carries `flags` out.
pub fn sweep(flags: &SweepFlags) -> Result<Exit> {
    let plan = intent::sweep(flags)?;
    let run = &flags.run;
    if run.dry_run {
        return run::dry_run(&plan.published());
    }
    let mut lines = Lines {
        bar: Bar::new(run.quiet),
        look: output::look(),
        are_shown: !run.json,
        unprinted: None,
    };
    let outcome = run::carry_out_under(plan, run.output.clone(), &mut lines)?;
    let shown = match run.json {
        true => run::show(&outcome, "json", run.quiet),
        false => lines.conclude(&outcome.run) && run::tell_record(&outcome, run.quiet),
    };
    Ok(Exit::of(
        &outcome.run,
        shown && outcome.saved.is_ok(),
        run.strict,
    ))
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

    fn broken_off(&mut self, error: &CampaignError) {
        self.bar.broken_off(error);
    }

    fn unjournaled(&mut self, error: &SaveError) {
        self.bar.unjournaled(error);
    }

    fn ends(&mut self) {
        self.bar.ends();
    }
}

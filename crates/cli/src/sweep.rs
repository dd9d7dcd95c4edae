//! `weigh sweep`: one server, many load levels; a line for each as it is measured.

use crate::exit::Exit;
use crate::output_file::OutputFile;
use crate::progress::Bar;
use crate::settings::Given;
use crate::table::Table;
use crate::{generate, run};
use anyhow::{Result, bail};
use plan::Plan;
use record::Run;
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
    let resumed = earlier.as_ref().map(|(_, path)| path.as_path());
    OutputFile::check(&how.beside, how.record.as_deref().or(resumed))?;
    measure(given, earlier).inspect_err(|why| OutputFile::failed(&how.beside, why))
}

fn measure(given: &Given, earlier: Option<(Run, PathBuf)>) -> Result<Exit> {
    let how = &given.output;
    let plan = match &earlier {
        Some((earlier, path)) => again(given, earlier, path)?,
        None => given.plan()?,
    };
    if how.dry_run {
        return run::dry_run(&plan.published());
    }
    let mut bar = Bar::new(how.quiet);
    bar.table = (!how.json).then(|| Table::new(how.look()));
    let outcome = match earlier {
        Some((earlier, path)) => {
            let stop = kernel::signals::measuring();
            let generator = generate::command(&plan)?;
            campaign::resume(plan, earlier, &path, &generator, stop.flag(), &mut bar)?
        }
        None => run::carry_out(plan, how.record.clone(), &mut bar)?,
    };
    let shown = match bar.table {
        None => run::show(&outcome, "json", how),
        Some(table) => table.conclude(&outcome.run) && run::tell_record(&outcome, how),
    };
    let shown = OutputFile::written(&how.beside, &outcome.run, how.quiet) && shown;
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

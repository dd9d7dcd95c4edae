//! `weigh sweep`: one server, many load levels; a line for each as it is measured.

use crate::exit::Exit;
use crate::output_file::OutputFile;
use crate::progress::Bar;
use crate::settings::{Given, OUTPUT, Output};
use crate::table::Table;
use crate::{generate, run};
use anyhow::{Result, bail};
use plan::{Plan, Setting};
use record::Run;
use std::path::{Path, PathBuf};

/// Settings of the plan that change nothing of what is measured, beside those of what is printed.
const JUDGING: [&str; 5] = ["abort-if", "percentiles", "require", "strict", "withhold"];

/// Returns whether the option may be given for a sweep that goes on as it was recorded.
fn may_be_given(name: &str) -> bool {
    // The record stays where it is, and a single exchange is no sweep.
    let is_output = |row: &Setting<Output>| !["output", "show-exchange"].contains(&row.name);
    let mut output = OUTPUT.iter().filter(|row| is_output(row));
    JUDGING.contains(&name) || output.any(|row| row.name == name)
}

/// Carries out what is `given`.
pub fn sweep(given: &Given) -> Result<Exit> {
    let how = &given.output;
    let earlier = how.resume.as_deref().map(earlier).transpose()?;
    let resumed = earlier.as_ref().map(|(_, path)| path.as_path());
    let record = how.record.as_deref().or(resumed);
    OutputFile::check(&how.beside, record, &given.inputs())?;
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
    if how.show_exchange {
        let first = plan.levels().first().map(|level| plan.at(level));
        return run::show_exchange(first.unwrap_or(plan));
    }
    let mut bar = Bar::new(how);
    bar.table = (!how.json).then(|| Table::new(how.look()));
    let outcome = match earlier {
        Some((earlier, path)) => {
            let stop = kernel::signals::measuring();
            let generator = generate::command()?;
            campaign::resume(plan, earlier, &path, &generator, stop.flag(), &mut bar)?
        }
        None => run::carry_out(plan, how.record.clone(), &mut bar)?,
    };
    let shown = match bar.table {
        None => run::show(&outcome, "json", how),
        Some(table) => table.conclude(&outcome.run) && run::tell_record(&outcome, how),
    };
    let shown = OutputFile::written(&how.beside, &outcome, how.quiet) && shown;
    Ok(Exit::of(&outcome, shown))
}

/// The record that a sweep has left, and where. It may be named by its number or name in the list of records, and by its
/// journal.
fn earlier(record: &Path) -> Result<(Run, PathBuf)> {
    let found = crate::list::file(record)?;
    let run = campaign::load(&found)?;
    let name = found.to_string_lossy();
    let record = name.strip_suffix(".journal").map(PathBuf::from);
    let path = record.unwrap_or_else(|| found.clone());
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
        if let Some(other) = given.names.iter().find(|name| !may_be_given(name)) {
            bail!(
                "--resume {} goes on with the sweep as it was recorded, which --{other} would change; remove that, or \
                 give the whole command again",
                path.display(),
            );
        }
        let mut plan = earlier.plan.clone();
        plan.strict |= draft.plan.strict;
        if given.names.contains(&"percentiles") {
            plan.percentiles.clone_from(&draft.plan.percentiles);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use plan::settings::settings;

    #[test]
    fn the_page_lists_the_options_that_may_be_given_beside_resume() {
        let page = include_str!("../../../docs/sweep.md");
        let (_, page) = page.split_once("Besides RECORD only").unwrap();
        let (listed, _) = page.split_once(" may be given").unwrap();
        let mut listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        let names = settings().map(|row| row.name);
        let names = names.chain(OUTPUT.iter().map(|row| row.name));
        let allowed = names.filter(|name| *name != "resume" && may_be_given(name));
        let mut allowed: Vec<String> = allowed.map(|name| format!("--{name}")).collect();
        listed.sort_unstable();
        allowed.sort_unstable();
        assert_eq!(listed, allowed);
    }
}

//! `weigh report`: records again, in another form or just again.

use crate::args::ReportFlags;
use crate::exit::Exit;
use crate::output_file::OutputFile;
use crate::{list, output};
use anyhow::{Context, Result, anyhow, bail};
use record::Run;
use report::page::differences;
use std::io;
use std::path::Path;

/// Prints the records that `flags` name. One that cannot be read costs none of the others.
pub fn report(flags: &ReportFlags) -> Result<Exit> {
    if flags.diff {
        return diff(flags);
    }
    for requirement in &flags.require {
        campaign::check(requirement).map_err(|error| anyhow!("--require {error}"))?;
    }
    let newest;
    let files = if flags.files.is_empty() {
        let found = record::Library::of_user().newest();
        newest = [found.context("there is no record yet; make one with `weigh run URL`")?];
        if !newest[0].is_file() {
            bail!(
                "the newest record, {}, is gone; name another, see `weigh list`",
                newest[0].display()
            );
        }
        &newest[..]
    } else {
        &flags.files[..]
    };
    if let [file] = files
        && let Ok(path) = list::file(file)
        && record::holds_comparison(&path)
    {
        return comparison(&path, flags);
    }
    let mut runs = Vec::new();
    for file in files {
        match read(file) {
            Ok(run) => runs.push(judged(run, flags)),
            Err(error) => output::complain(&error),
        }
    }
    match (&flags.chart, &flags.get) {
        _ if runs.is_empty() => return Ok(Exit::COULD_NOT),
        (Some(chart), _) => {
            let run = only("--chart", &runs)?;
            OutputFile::check(std::slice::from_ref(chart), None, &[])?;
            chart.write(run, false)?;
        }
        (None, Some(name)) => return get(name, only("--get", &runs)?),
        (None, None) => output::print(&(flags.format.render)(&runs, &flags.look()))?,
    }
    Ok(match runs.len() < files.len() {
        true => Exit::COULD_NOT,
        false => exit(&runs),
    })
}

/// Prints the record of a comparison.
fn comparison(path: &Path, flags: &ReportFlags) -> Result<Exit> {
    let shown = path.display();
    if flags.get.is_some() || !flags.require.is_empty() || !flags.percentiles.is_empty() {
        bail!(
            "{shown} is a comparison, which has no --get, --require or --percentiles; take its figures from --format json"
        );
    }
    let comparison = record::load_comparison(path)?;
    if let Some(chart) = &flags.chart {
        OutputFile::check(std::slice::from_ref(chart), None, &[])?;
        let is_written = OutputFile::written_of_comparison(
            std::slice::from_ref(chart),
            &comparison,
            true,
            false,
        );
        return Ok(if is_written {
            Exit::YES
        } else {
            Exit::COULD_NOT
        });
    }
    let look = flags.look();
    let text = match flags.format.name {
        "text" => report::comparison::text(&comparison, &look),
        "json" => report::comparison::json(&comparison, &look),
        "csv" => report::comparison::csv(&comparison, &look),
        "markdown" => report::comparison::markdown(&comparison, &look),
        other => bail!(
            "{shown} is a comparison, which is printed as text, json, csv or markdown, not as {other}"
        ),
    };
    output::print(&text)?;
    Ok(Exit::YES)
}

/// Prints how two records differ in what they measured with.
fn diff(flags: &ReportFlags) -> Result<Exit> {
    let [a, b] = &flags.files[..] else {
        bail!("--diff takes two records, such as `weigh report --diff 41 42`");
    };
    let all = differences(&read(a)?, &read(b)?);
    let text = match flags.format.name {
        "text" => report::page_text(&report::page::diff(&all), &flags.look()),
        "json" => serde_json::to_string_pretty(&all)? + "\n",
        other => bail!("--diff is printed as text or json, not as {other}"),
    };
    output::print(&text)?;
    Ok(match all.comparable {
        true => Exit::YES,
        false => Exit::no("the records are not comparable"),
    })
}

/// Reads the record or journal that `word` means, `-` from standard input.
fn read(word: &Path) -> Result<Run> {
    Ok(match word == Path::new("-") {
        true => campaign::load_from(&mut io::stdin().lock(), Path::new("standard input"))?,
        false => campaign::load(&list::file(word)?)?,
    })
}

/// Judges `run` by further requirements as well, and summarises it with other percentiles where some are asked for.
fn judged(mut run: Run, flags: &ReportFlags) -> Run {
    if !flags.percentiles.is_empty() {
        run.plan.percentiles.clone_from(&flags.percentiles);
        run.plan.percentiles.sort_unstable();
        run.plan.percentiles.dedup();
        run.summarise();
    }
    run.plan.requirements.extend_from_slice(&flags.require);
    campaign::comply(&mut run);
    run
}

/// Prints the value of one figure.
fn get(name: &str, run: &Run) -> Result<Exit> {
    match campaign::value(run, name) {
        Ok(value) => output::print(&format!("{value}\n"))?,
        Err(exit) => return Ok(exit.into()),
    }
    Ok(Exit::YES)
}

/// The only record that was read.
fn only<'a>(option: &str, runs: &'a [Run]) -> Result<&'a Run> {
    match runs {
        [run] => Ok(run),
        _ => bail!("{option} takes one record at a time; name one"),
    }
}

/// Returns the lowest status other than 0 that the figures of the records give. Whether a campaign was interrupted is no
/// matter of reading its record.
fn exit(runs: &[Run]) -> Exit {
    let exits = runs.iter().filter_map(campaign::judgement);
    Exit::judged(exits.min_by_key(|exit| exit.status).as_ref())
}

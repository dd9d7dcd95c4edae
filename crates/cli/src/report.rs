//! `weigh report`: records again, in another form or just again.

use crate::args::ReportFlags;
use crate::chart::Picture;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context, Result, bail};
use record::Run;
use std::io;
use std::path::Path;

/// Prints the records that `flags` name. One that cannot be read costs none of the others.
pub fn report(flags: &ReportFlags) -> Result<Exit> {
    let newest;
    let files = if flags.files.is_empty() {
        let found = record::latest();
        newest = [found.context("there is no record yet; make one with `weigh run URL`")?];
        &newest[..]
    } else {
        &flags.files
    };
    let mut runs = Vec::new();
    for file in files {
        match read(file) {
            Ok(run) => runs.push(run),
            Err(error) => output::complain(&error),
        }
    }
    match &flags.chart {
        _ if runs.is_empty() => return Ok(Exit::COULD_NOT),
        Some(picture) => chart(picture, &runs)?,
        None => output::print(&(flags.format.render)(&runs, &output::look()))?,
    }
    Ok(match runs.len() < files.len() {
        true => Exit::COULD_NOT,
        false => exit(&runs),
    })
}

/// Reads a record or journal, `-` from standard input.
fn read(file: &Path) -> Result<Run> {
    Ok(match file == Path::new("-") {
        true => campaign::load_from(&mut io::stdin().lock(), Path::new("standard input"))?,
        false => campaign::load(file)?,
    })
}

/// Draws the only record.
fn chart(picture: &Picture, runs: &[Run]) -> Result<()> {
    let [run] = runs else {
        bail!("--chart draws one record at a time; name one");
    };
    picture.draw(run)
}

/// Returns the lowest status other than 0 that the figures of the records give. Whether a campaign was interrupted is no
/// matter of reading its record.
fn exit(runs: &[Run]) -> Exit {
    let judged = |run: &Run| campaign::judgement(run, run.plan.strict);
    let exits = runs.iter().filter_map(judged);
    Exit::judged(exits.min_by_key(|exit| exit.status).as_ref())
}

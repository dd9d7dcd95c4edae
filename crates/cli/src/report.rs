//! `weigh report`: records again, in another form or just again.

use crate::args::ReportFlags;
use crate::chart::Picture;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context, Result, bail};
use record::Run;

/// Draws the only record.
fn chart(picture: &Picture, runs: &[Run]) -> Result<()> {
    let [run] = runs else {
        bail!("--chart draws one record at a time; name one");
    };
    picture.draw(run)
}

/// What the figures of several records come to: the status of the first of them that is not 0. A record that was
/// interrupted is whole as a file, so that its figures alone count.
fn exit(runs: &[Run]) -> Exit {
    let judged = |run: &Run| campaign::judgement(run, run.plan.strict);
    let exits = runs.iter().filter_map(judged);
    Exit::judged(exits.min_by_key(|exit| exit.status).as_ref())
}

/// Prints the records that `flags` name.
pub fn report(flags: &ReportFlags) -> Result<Exit> {
    let newest;
    let files = if flags.files.is_empty() {
        let found = record::latest();
        newest = [found.context("there is no record yet; make one with `weigh run URL`")?];
        &newest[..]
    } else {
        &flags.files
    };
    let runs = files
        .iter()
        .map(|file| campaign::load(file))
        .collect::<Result<Vec<_>, _>>()?;
    match &flags.chart {
        Some(picture) => chart(picture, &runs)?,
        None => output::print(&(flags.format.render)(&runs, &output::look()))?,
    }
    Ok(exit(&runs))
}

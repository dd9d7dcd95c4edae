//! `weigh report`: records again, in another form or just again.

use crate::args::ReportFlags;
use crate::chart::Picture;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context, Result, bail};
use record::Run;

/// Draws the only record.
fn chart(picture: &Picture, runs: &[Run]) -> Result<Exit> {
    let [run] = runs else {
        bail!("--chart draws one record at a time; name one");
    };
    picture.draw(run)?;
    Ok(Exit::Measured)
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
        .map(|file| record::load(file))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(picture) = &flags.chart {
        return chart(picture, &runs);
    }
    output::print(&(flags.format.render)(&runs, &output::look()))?;
    Ok(Exit::Measured)
}

//! `weigh report`: records again, in another form or just again.

use crate::args::ReportFlags;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context, Result};

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
    output::print(&(flags.format.render)(&runs, &output::look()))?;
    Ok(Exit::Measured)
}

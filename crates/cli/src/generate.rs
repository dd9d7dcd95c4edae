//! `weigh generate`: a generator process, which measures one round. Only weigh itself calls it, so it stands in no help.

use crate::exit::Exit;
use anyhow::{Context, Result};
use kernel::signals;
use std::ffi::OsString;

/// Returns the command that starts a generator.
pub fn command() -> Result<Vec<OsString>> {
    let weigh = std::env::current_exe().context("weigh cannot find its own program file")?;
    Ok(vec![weigh.into(), "generate".into()])
}

/// Measures a round, or half of one, for the process that has started this one.
pub fn generate() -> Result<Exit> {
    let stop = signals::measuring().flag();
    campaign::generate(std::io::stdin(), &mut std::io::stdout(), stop, || {
        Exit::INTERRUPTED.now()
    })?;
    Ok(Exit::YES)
}

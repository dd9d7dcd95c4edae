//! `weigh generate`: one of the two generator processes of a `weigh run --two-generators`. Only weigh itself calls it, so it
//! stands in no help.

use crate::exit::Exit;
use anyhow::{Context, Result};
use kernel::signals;
use plan::Plan;
use std::ffi::OsString;

/// The command that starts a generator for `plan`; nothing where it needs none.
pub fn command(plan: &Plan) -> Result<Vec<OsString>> {
    if !plan.two_generators {
        return Ok(Vec::new());
    }
    let weigh = std::env::current_exe().context("weigh cannot find its own program file")?;
    Ok(vec![weigh.into(), "generate".into()])
}

/// Measures half a round for the process that has started this one.
pub fn generate() -> Result<Exit> {
    let stop = signals::measuring().flag();
    campaign::generate(std::io::stdin(), &mut std::io::stdout(), stop, || {
        Exit::INTERRUPTED.now()
    })?;
    Ok(Exit::YES)
}

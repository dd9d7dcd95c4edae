//! The command that starts weigh's own server, to be measured.

use anyhow::{Context, Result};
use plan::ServerCommand;
use units::Nanos;

/// Returns the command `weigh serve` with these arguments.
pub fn server(arguments: &[&str]) -> Result<ServerCommand> {
    let weigh = std::env::current_exe().context("weigh cannot find its own program file")?;
    let weigh = weigh
        .to_str()
        .context("the path of weigh's program file is no text")?;
    let first = [weigh, "serve"];
    let all = first.iter().chain(arguments);
    Ok(ServerCommand {
        argv: all.map(|word| (*word).to_owned()).collect(),
        ready_within: Nanos::from_secs(10),
        reference_server: true,
    })
}

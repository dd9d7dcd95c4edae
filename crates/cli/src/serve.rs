//! `weigh serve`: the reference server.

use crate::args::ServeFlags;
use crate::exit::Exit;
use crate::output;
use anyhow::Result;
use counterweight::{Config, Server};
use kernel::signals;

/// Serves until SIGTERM or Ctrl-C, then tells what it served.
pub fn serve(flags: &ServeFlags) -> Result<Exit> {
    let stop = signals::interrupts();
    let _ = kernel::limits::raise_open_files(); // with fewer, connections wait in the kernel
    let mut config = Config {
        listen: flags.listen.clone(),
        ..Config::default()
    };
    if let Some(workers) = flags.workers {
        config.workers = workers;
    }
    let server = Server::bind(&config)?;
    for address in server.addresses() {
        output::print(&format!("listening on {address}\n"))?;
    }
    let counts = server.run(stop.flag())?;
    output::print(&format!("{counts}\n"))?;
    Ok(Exit::Measured)
}

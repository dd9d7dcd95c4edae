//! `weigh doctor`: what is wrong with this machine for measuring. It changes nothing.

use crate::args::DoctorFlags;
use crate::exit::Exit;
use crate::output;
use anyhow::{Result, anyhow};
use doctor::Checkup;
use record::NetworkPath;
use report::{Detail, Look};
use units::Nanos;

/// How long it looks at what else runs.
const SPAN: Nanos = Nanos::from_secs(1);
/// Columns of the page, however wide the terminal is: commands are to be copied from it.
const WIDTH: usize = 80;

/// Examines this machine and, where `flags` name one, the path to a target.
pub fn doctor(flags: &DoctorFlags) -> Result<Exit> {
    let path = flags.target.as_deref().map(path).transpose()?;
    let checkup = Checkup::of(host::machine(), host::activity(SPAN), path);
    let text = match flags.json {
        true => serde_json::to_string_pretty(&checkup)? + "\n",
        false => {
            let look = output::look(Detail::default());
            let width = look.width.min(WIDTH);
            let page = report::page::checkup(&checkup, flags.verbose);
            report::page_text(&page, &Look { width, ..look })
        }
    };
    output::print(&text)?;
    let invalid = checkup.invalid();
    Ok(invalid.map_or(Exit::YES, |finding| Exit::no(&finding.headline)))
}

/// The path to the first address of `target`.
fn path(target: &str) -> Result<NetworkPath> {
    let url = plan::url::url(target)?;
    let addresses =
        kernel::resolve::resolve(&url.host, url.port).map_err(|error| anyhow!(error))?;
    Ok(host::path(target, addresses[0]))
}

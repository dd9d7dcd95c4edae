//! `cargo xtask`: every chore of the project is a subcommand here, and continuous integration runs the same ones.
//!
//! In scope: checking the tree (`tidy`), generating what is generated (`schema`), running what needs more than
//! `cargo test` (`fuzz`, `servers`), counting instructions and lines (`count`, `size`), and all of it in order (`ci`).
//! Measurements beside other tools and servers (`alarms`, `compare`, `cost`, `faults`, `observing`, `shield`, `truth`) are
//! passed on to `proof`.
//! Out of scope: anything a user of weigh runs. Nothing here is built into the binary, and no room depends on it.
//!
//! ```text
//! cargo xtask tidy            # the rules of the house
//! cargo xtask count           # instructions per request, compared with the kept number
//! cargo xtask ci              # everything, in the order in which it fails soonest
//! ```

mod cargo;
mod ci;
mod count;
mod fuzz;
mod schema;
mod servers;
mod size;
mod tidy;

use anyhow::Result;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// The project's chores.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "alarms, compare, cost, faults, observing, shield and truth are passed on to `proof`: cargo xtask truth --help"
)]
enum Chore {
    /// Run every check, in the order in which it fails soonest.
    Ci(ci::Ci),
    /// Check the rules of the house: edges between crates, sources, texts.
    Tidy,
    /// Write docs/record.schema.json from the record's types.
    Schema(schema::Schema),
    /// Count the instructions of an exchange in the thread's loop, on the simulated ring.
    Count(count::CountChore),
    /// Build the fuzz targets and run them for a bounded time.
    Fuzz(fuzz::Fuzz),
    /// Test against the real servers; a missing one is a failure, or said.
    Servers,
    /// Count the lines of code of each member: no blanks, no comments, tests apart.
    Size(size::Size),
    /// What `proof` measures: `alarms`, `compare`, `cost`, `faults`, `observing`, `shield`, `truth`.
    #[command(external_subcommand)]
    Proof(Vec<OsString>),
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::Ci(ci) => ci.run(),
        Chore::Size(size) => size.run(),
        Chore::Tidy => tidy::run(),
        Chore::Schema(schema) => schema.run(),
        Chore::Count(count) => count.run(),
        Chore::Fuzz(fuzz) => fuzz.run(),
        Chore::Proof(words) => proof(&words),
        Chore::Servers => servers::run_demanding(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `proof`, which says itself what is wrong and ends this process with its exit status.
fn proof(words: &[OsString]) -> Result<()> {
    let mut command = cargo::cargo(["run", "--quiet", "--package", "proof", "--"]);
    let status = command.current_dir(".").args(words).status()?;
    std::process::exit(status.code().unwrap_or(1))
}

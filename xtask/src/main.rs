//! `cargo xtask`: every chore of the project is a subcommand here, and continuous integration runs the same ones.
//!
//! In scope: checking the tree (`tidy`), generating what is generated (`schema`), running what needs more than
//! `cargo test` (`fuzz`, `servers`), what weigh costs (`cost`, `count`), what it and others count in bad worlds
//! (`faults`), whether looking at a server changes what is seen (`observing`), whether its server can be kept from serving (`shield`), whether what it says of latency is true (`truth`),
//! and all of it in order (`ci`).
//! Out of scope: anything a user of weigh runs. Nothing here is built into the binary, and no room depends on it.
//!
//! ```text
//! cargo xtask tidy            # the rules of the house
//! cargo xtask cost --quick    # what weigh costs, beside the least that is possible and beside others
//! cargo xtask count           # the same as a number of instructions, which is a ratchet
//! cargo xtask ci              # everything, in the order in which it fails soonest
//! ```

mod cargo;
mod ci;
mod cost;
mod count;
mod faults;
mod fuzz;
mod observing;
mod schema;
mod server_cost;
mod servers;
mod shield;
mod size;
mod tidy;
mod truth;

use anyhow::Result;
use clap::Parser;
use std::process::ExitCode;

/// The project's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Run every check, in the order in which it fails soonest.
    Ci(ci::Ci),
    /// Check the rules of the house: edges between crates, sources, texts.
    Tidy,
    /// Write docs/record.schema.json from the record's types.
    Schema(schema::Schema),
    /// Measure what weigh costs, beside a bare client and beside other tools; or its server, beside other servers.
    Cost(cost::CostChore),
    /// Count the instructions of an exchange in the thread's loop, on the simulated ring.
    Count(count::CountChore),
    /// Write docs/faults.md: bad servers, and what weigh and other tools counted.
    Faults(faults::Faults),
    /// Build the fuzz targets and run them for a bounded time.
    Fuzz(fuzz::Fuzz),
    /// Measure whether looking at a server changes what is seen.
    Observing(observing::Observing),
    /// Test against the real servers; a missing one is a failure.
    Servers,
    /// Attack `weigh serve` while an honest client asks: needs slowhttptest.
    Shield(shield::Shield),
    /// Count the lines of code of each member: no blanks, no comments, tests apart.
    Size(size::Size),
    /// Hold what weigh says of latency against what happened, and write docs/accuracy.md.
    Truth(truth::Truth),
}

fn main() -> ExitCode {
    match carry_out(Chore::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(chore: Chore) -> Result<()> {
    match chore {
        Chore::Ci(ci) => ci.run(),
        Chore::Size(size) => size.run(),
        Chore::Tidy => tidy::run(),
        Chore::Schema(schema) => schema.run(),
        Chore::Cost(cost) => cost.run(),
        Chore::Count(count) => count.run(),
        Chore::Faults(faults) => faults.run(),
        Chore::Fuzz(fuzz) => fuzz.run(),
        Chore::Observing(observing) => observing.run(),
        Chore::Servers => servers::run_demanding(),
        Chore::Shield(shield) => shield.run(),
        Chore::Truth(truth) => truth.run(),
    }
}

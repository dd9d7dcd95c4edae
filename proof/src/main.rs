//! `cargo xtask alarms | compare | cost | faults | observing | shield | truth`: measures weigh beside other tools and servers.
//!
//! In scope: how often its verdicts are wrong (`alarms`) and what its comparisons find (`compare`), what weigh and its server
//! cost (`cost`), what load generators count of misbehaving servers (`faults`),
//! whether monitoring a server changes its throughput (`observing`), whether slow attackers can keep the reference
//! server from serving (`shield`), and whether reported latency is true (`truth`).
//! Out of scope: checks of the source tree, which are chores of `xtask`; anything a user of weigh runs.
//!
//! ```text
//! cargo xtask cost --quick     # CPU time per request beside bare sockets and other tools
//! cargo xtask truth --quick    # reported latency beside a server's own log
//! ```

mod alarms;
mod binomial;
mod catalogue;
mod columns;
mod compare;
mod cost;
mod faults;
mod journal;
mod machine;
mod observing;
mod programs;
mod serving;
mod shield;
mod truth;

use clap::Parser;
use std::process::ExitCode;

/// Measurements of weigh beside other tools and servers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Proof {
    /// Count false alarms over many short runs, and write docs/alarms.md.
    Alarms(alarms::Alarms),
    /// Count what comparisons find of planted and of no differences, and write the table of docs/compare.md.
    Compare(compare::Compare),
    /// Measure what weigh costs, beside a bare client and beside other tools; or its server, beside other servers.
    Cost(cost::CostChore),
    /// Write docs/faults.md: misbehaving servers, and what weigh and other tools counted.
    Faults(faults::Faults),
    /// Measure whether monitoring a server changes its throughput.
    Observing(observing::Observing),
    /// Attack `weigh serve` while an honest client sends requests: needs slowhttptest.
    Shield(shield::Shield),
    /// Compare the latency that weigh reports with what happened, and write docs/accuracy.md.
    Truth(truth::Truth),
}

fn main() -> ExitCode {
    let result = match Proof::parse() {
        Proof::Alarms(alarms) => alarms.run(),
        Proof::Compare(compare) => compare.run(),
        Proof::Cost(cost) => cost.run(),
        Proof::Faults(faults) => faults.run(),
        Proof::Observing(observing) => observing.run(),
        Proof::Shield(shield) => shield.run(),
        Proof::Truth(truth) => truth.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

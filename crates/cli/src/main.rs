//! `weigh`: the honest measurement of HTTP servers.
//!
//! In scope: one file per verb, each turning flags into a plan, carrying it out and printing what came of it. Out of
//! scope: everything else; if a verb needs to know how something is done, it belongs into a room below.
#![forbid(unsafe_code)]

mod address;
mod args;
mod chart;
mod demo;
mod exit;
mod generate;
#[cfg(test)]
mod golden;
mod intent;
mod manual;
mod output;
mod progress;
mod report;
mod run;
mod serve;
mod sweep;
mod truth;
mod urls;

use args::{Cli, Verb};
use clap::{CommandFactory, FromArgMatches};
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::own_bugs();
    kernel::signals::outlive_file_limit();
    let matches = Cli::command().get_matches_from(args::with_verb(std::env::args_os().collect()));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.verb {
        None => demo::demo(),
        Some(Verb::Run(flags)) => run::run(&flags),
        Some(Verb::Sweep(flags)) => sweep::sweep(&flags, &args::given(&matches)),
        Some(Verb::Report(flags)) => report::report(&flags),
        Some(Verb::Serve(flags)) => serve::serve(&flags),
        Some(Verb::Completions(flags)) => manual::completions(&flags),
        Some(Verb::Man) => manual::man(),
        Some(Verb::Generate) => generate::generate(),
    };
    match result {
        Ok(exit) => exit.tell(),
        Err(error) => {
            output::complain(&error);
            let asked_to_stop = kernel::signals::interrupts().raised();
            let exit = if asked_to_stop {
                Exit::INTERRUPTED
            } else {
                Exit::COULD_NOT
            };
            exit.tell()
        }
    }
}

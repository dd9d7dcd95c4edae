//! `weigh`: the honest measurement of HTTP servers.
//!
//! In scope: one file per verb, each turning flags into a plan, carrying it out and printing what came of it. Out of
//! scope: everything else; if a verb needs to know how something is done, it belongs into a room below.
#![forbid(unsafe_code)]

mod args;
mod beside;
mod demo;
mod environment;
mod exit;
mod generate;
#[cfg(test)]
mod golden;
mod manual;
mod output;
mod progress;
mod report;
mod run;
mod serve;
mod settings;
mod sweep;
mod truth;
mod urls;

use args::{Cli, Verb};
use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::own_bugs();
    kernel::signals::outlive_file_limit();
    let cli = Cli::parse_from(args::with_verb(std::env::args_os().collect()));
    let result = match cli.verb {
        None => demo::demo(),
        Some(Verb::Run(flags)) => run::run(&flags.0),
        Some(Verb::Sweep(flags)) => sweep::sweep(&flags.0),
        Some(Verb::Report(flags)) => report::report(&flags),
        Some(Verb::Serve(flags)) => serve::serve(&flags),
        Some(Verb::Completions(flags)) => manual::completions(&flags),
        Some(Verb::Man(flags)) => manual::man(&flags),
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

//! `weigh`: the honest measurement of HTTP servers.
//!
//! In scope: one file per verb, each turning flags into a plan, carrying it out and printing what came of it. Out of
//! scope: everything else; if a verb needs to know how something is done, it belongs into a room below.
#![forbid(unsafe_code)]

mod args;
mod choice;
mod compare;
mod demo;
mod doctor;
mod dropin;
mod environment;
mod exit;
mod generate;
#[cfg(test)]
mod golden;
mod list;
mod manual;
mod output;
mod output_file;
mod progress;
mod reference;
mod refusal;
mod report;
mod run;
mod serve;
mod settings;
mod shorthand;
mod sweep;
mod table;
mod truth;
mod urls;

use args::{Cli, Verb};
use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::own_bugs();
    kernel::signals::outlive_file_limit();
    let argv = match shorthand::complete(std::env::args_os().collect(), &args::commands()) {
        Ok(argv) => argv,
        Err(meaningless) => return meaningless.report(),
    };
    let verb = match Cli::try_parse_from(argv) {
        Ok(cli) => cli.verb,
        Err(error) => return refusal::report(&error),
    };
    let result = match verb {
        Verb::Demo => demo::demo(),
        Verb::Run(flags) => run::run(&flags.0),
        Verb::Sweep(flags) => sweep::sweep(&flags.0),
        Verb::Compare(flags) => compare::compare(&flags),
        Verb::Report(flags) => report::report(&flags),
        Verb::List(flags) => list::list(flags.all),
        Verb::Doctor(flags) => doctor::doctor(&flags),
        Verb::Serve(flags) => serve::serve(&flags),
        Verb::As(flags) => dropin::carry(&flags),
        Verb::Dropins(flags) => dropin::link(&flags),
        Verb::Completions(flags) => manual::completions(&flags),
        Verb::Man(flags) => manual::man(&flags),
        Verb::Generate => generate::generate(),
    };
    match result {
        Ok(exit) => exit.report(),
        Err(error) => {
            output::complain(&error);
            let asked_to_stop = kernel::signals::interrupts().raised();
            let exit = if asked_to_stop {
                Exit::INTERRUPTED
            } else {
                Exit::COULD_NOT
            };
            exit.report()
        }
    }
}

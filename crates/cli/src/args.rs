//! The command line: one struct a verb, from which `--help`, the man page and the completions are made.

use crate::beside::Beside;
use crate::serve::ServeFlags;
use crate::settings::{RunFlags, SweepFlags};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use units::Nanos;

/// HTTP load generator that tells you how far its numbers can be trusted.
#[derive(Debug, Parser)]
#[command(name = "weigh", version, max_term_width = 110, after_help = EXAMPLES)]
pub struct Cli {
    /// Without a command, weigh starts its own server and measures it for about fifteen seconds.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

const EXAMPLES: &str = "\
Examples:
  weigh                                            weigh the built-in server, to see how it works
  weigh http://127.0.0.1:8080/100.html             weigh a server: 5 rounds of 5 s, 10 connections
  weigh run -c 100 -n 100k localhost:8080/         exactly 100 000 requests a round
  weigh run localhost:8080/ -- nginx -c my.conf    start the server, weigh it, stop it
  weigh report --format csv                        the last record again, as a table

`weigh run --help` explains every option.";

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Load a server, print the result and record it.
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_MORE)]
    Run(Box<RunFlags>),
    /// Load a server at many levels, print and record the curve.
    #[command(after_help = SWEEP_EXAMPLES, after_long_help = SWEEP_MORE)]
    Sweep(Box<SweepFlags>),
    /// Print records again, in any format.
    Report(ReportFlags),
    /// Serve a folder, or small built-in resources: the reference server.
    Serve(Box<ServeFlags>),
    /// Print a completion script for a shell.
    Completions(CompletionFlags),
    /// Print a man page: of weigh, or of one verb.
    Man(ManFlags),
    /// Measures half of a round for a `weigh run --two-generators`, which tells it what to do.
    #[command(hide = true)]
    Generate,
}

/// The name under which this program is the server alone.
const SERVER: &str = "counterweight";

/// Puts `run` in front when the first word is neither a verb nor an option: `weigh URL` means `weigh run URL`. A program
/// called `counterweight` serves, whatever its words.
pub fn with_verb(mut argv: Vec<OsString>) -> Vec<OsString> {
    let name = argv.first().map(Path::new).and_then(Path::file_name);
    if name.is_some_and(|name| name == SERVER) {
        // So that help and sentences name a command that there is.
        argv[0] = "weigh".into();
        argv.insert(1, "serve".into());
        return argv;
    }
    let verbs = [
        "run",
        "sweep",
        "report",
        "serve",
        "completions",
        "man",
        "generate",
        "help",
    ];
    let first = argv.get(1).and_then(|word| word.to_str());
    let is_target = |word: &str| !word.starts_with('-') && !verbs.contains(&word);
    let is_run_flag =
        |word: &str| word.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&word);
    if first.is_some_and(|word| is_target(word) || is_run_flag(word)) {
        argv.insert(1, "run".into());
    }
    argv
}

/// The examples of `-h`, and with them what only `--help` says.
macro_rules! help {
    ($short:ident, $long:ident, $examples:literal, $more:literal) => {
        const $short: &str = concat!(
            $examples,
            "\n\n`--help` lists all options, each with its details."
        );
        const $long: &str = concat!($examples, "\n\n", $more);
    };
}

help!(
    RUN_EXAMPLES,
    RUN_MORE,
    "\
Examples:
  weigh run http://127.0.0.1:8080/100.html -c 100 -d 10s
  weigh run localhost:8080/a localhost:8080/b --connect lazy --no-keepalive
  weigh run localhost:8080/ --rate 1k -d 30s
  weigh run localhost:8080/ --connection-rate 150 --requests-per-connection 10
  weigh run 'localhost:8080/item?id={seq}' -n 100k --expect 200
  weigh run localhost:8080/form --body 'name={random}' -H 'Content-Type: text/plain'
  weigh run localhost:8080/ -o nginx.json -- nginx -p . -c nginx.conf",
    "\
Numbers may be written 10k or 1m, times 500ms, 10s or 2m.

Exit status:
    0  yes: measured, and everything required is met
    1  no: a requirement is not met (by default at most 1 % of the requests may
       fail), nothing ended ok, or the campaign was ended early
    2  could not: the command, the target or the server is wrong, or the record
       could not be saved
    3  cannot tell: a required figure is void or missing, its interval contains
       the bound, or a search has no result
   70  a bug in weigh
  130  interrupted
Unless it is 0, a line on standard error says why."
);

help!(
    SWEEP_EXAMPLES,
    SWEEP_MORE,
    "\
Examples:
  weigh sweep localhost:8080/100.html -c 1..1000:10 -n 100k
  weigh sweep localhost:8080/ -c 1..512*2 --interleaved --order shuffled
  weigh sweep localhost:8080/ --rate 1k..20k:1k
  weigh sweep localhost:8080/ --slo 'p99<10ms,errors<1%' -d 5s
  weigh sweep localhost:8080/ -c 100 --workers 1,2,4 -- ./server -w {workers}",
    "\
Ranges: FROM..TO:STEP is FROM, FROM+STEP, ... up to TO; from 1 the first step
goes to STEP (1, 10, 20, ...). FROM..TO*FACTOR multiplies. 1,2,4 is a list.
With several ranges, every value of one is measured with every value of the
others. --connections, --rate, --connection-rate, --threads, --pipeline and
--workers take ranges."
);

/// `weigh report`
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Records or journals, - for standard input [default: the newest in the state directory].
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to lay them out: text, json, markdown, junit, csv, ...
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub format: &'static report::Format,
    /// Draw a chart of the record into this file, whose name ends in .svg or .png, instead of printing the record.
    #[arg(long, value_name = "FILE", value_parser = Beside::chart, conflicts_with = "format")]
    pub chart: Option<Beside>,
    /// Print the value of one figure, such as latency_us.p99, and nothing else; fail if it is missing, void or only a
    /// lower bound.
    #[arg(long, value_name = "FIGURE", conflicts_with_all = ["format", "chart", "require"])]
    pub get: Option<String>,
    /// Judge the records by this as well, such as 'p99<20ms,errors<0.1%'. May be given several times.
    #[arg(long, value_name = "FIGURE<BOUND", value_delimiter = ',')]
    pub require: Vec<plan::Requirement>,
}

/// `weigh completions`
#[derive(Debug, Args)]
pub struct CompletionFlags {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `weigh man`
#[derive(Debug, Args)]
pub struct ManFlags {
    /// The verb; without one, the page of weigh itself.
    #[arg(value_parser = ["run", "sweep", "report", "serve"])]
    pub verb: Option<String>,
}

/// Reads a span of time.
pub fn span(text: &str) -> Result<Nanos, String> {
    text.parse()
        .map_err(|error: units::ParseError| error.to_string())
}

fn format(name: &str) -> Result<&'static report::Format, String> {
    let names: Vec<&str> = report::FORMATS.iter().map(|format| format.name).collect();
    report::FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| {
            format!(
                "`{name}` is not a format; choose one of {}",
                names.join(", ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_flags_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_target_or_a_flag_alone_means_run() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["weigh"], &["weigh"]),
            (
                &["weigh", "localhost:80"],
                &["weigh", "run", "localhost:80"],
            ),
            (
                &["weigh", "-c", "5", "localhost"],
                &["weigh", "run", "-c", "5", "localhost"],
            ),
            (&["weigh", "report"], &["weigh", "report"]),
            (&["weigh", "--help"], &["weigh", "--help"]),
            (&["weigh", "-V"], &["weigh", "-V"]),
        ];
        for (given, wanted) in cases {
            let argv = with_verb(given.iter().map(OsString::from).collect());
            assert_eq!(argv, *wanted);
        }
    }
}

//! The command line: one struct a verb, from which `--help`, the man page and the completions are made.

use crate::choice::one_of;
use crate::output;
use crate::output_file::OutputFile;
use crate::serve::ServeFlags;
use crate::settings::{CompareFlags, LoadFlags};
use clap::builder::TypedValueParser;
use clap::{Args, CommandFactory, Parser, Subcommand};
use report::{Detail, Look};
use std::path::PathBuf;

/// HTTP load generator that tells you how far its numbers can be trusted.
#[derive(Debug, Parser)]
#[command(name = "weigh", version, max_term_width = 110, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  weigh demo                                       measure the built-in server, to see what it prints
  weigh http://127.0.0.1:8080/100.html             load a server: 5 rounds of 5 s, 10 connections
  weigh run -c 100 -n 100k localhost:8080/         exactly 100,000 requests a round
  weigh run localhost:8080/ -- nginx -c my.conf    start the server, load it, stop it
  weigh compare 'a=./a {port}' 'b=./b {port}'      which server costs less, and by how much
  weigh report --format csv                        the newest record again, as a table

`weigh run --help` explains every option.";

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure the built-in server, to see what weigh prints: about fifteen seconds.
    Demo,
    /// Load a server, print the result and record it; `weigh URL` is short for it.
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_MORE)]
    Run(Box<LoadFlags<false>>),
    /// Load a server at many levels, print and record the curve.
    #[command(after_help = SWEEP_EXAMPLES, after_long_help = SWEEP_MORE)]
    Sweep(Box<LoadFlags<true>>),
    /// Say which of several servers, configurations or commits costs less, by how much, and how sure that is.
    #[command(after_help = COMPARE_EXAMPLES, after_long_help = COMPARE_MORE)]
    Compare(Box<CompareFlags>),
    /// Print saved records again, in any format.
    Report(ReportFlags),
    /// List saved records.
    List(ListFlags),
    /// Say what is wrong with this machine for measuring, what it costs, and how to mend and undo it.
    #[command(after_help = DOCTOR_MORE)]
    Doctor(DoctorFlags),
    /// Serve a folder, or small built-in resources: the reference server.
    Serve(Box<ServeFlags>),
    /// Take the command line of another tool, and print what it would: `weigh as weighttp -n 1000 URL`.
    #[command(after_help = AS_MORE)]
    As(AsFlags),
    /// Put links into a folder by which other tools' command lines are taken without `weigh as`.
    Dropins(DropinsFlags),
    /// Print a completion script for a shell.
    Completions(CompletionFlags),
    /// Print a man page: of weigh, or of one verb.
    Man(ManFlags),
    /// Measures one round for a `weigh run`, which tells it what to do.
    #[command(hide = true)]
    Generate,
}

/// Returns the name of every command.
pub fn commands() -> Vec<String> {
    let command = Cli::command();
    let names = command
        .get_subcommands()
        .map(|each| each.get_name().to_owned());
    names.chain(["help".to_owned()]).collect()
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
  weigh run localhost:8080/form --body 'name={random}' -H 'Content-Type: application/x-www-form-urlencoded'
  weigh run localhost:8080/ -o nginx.json -- nginx -p . -c nginx.conf",
    "\
Numbers may be written 10k (thousand) or 1m (million), times 500ms, 10s or 2m
(minutes).

Exit status:
    0  yes: measured, and everything required is met
    1  no: a requirement is not met (by default at most 1 % of the requests may
       fail), no request succeeded, the server that weigh started has
       ended, or --abort-if ended the load
    2  could not: bad command line, target not reachable, unexpected first
       response, or the record could not be saved
    3  cannot tell: a required figure is invalid or missing, the bound lies within
       its confidence interval, or `weigh sweep --slo` could not decide
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

help!(
    COMPARE_EXAMPLES,
    COMPARE_MORE,
    "\
Examples:
  weigh compare 'a=./server-a {port}' 'b=./server-b {port}'
  weigh compare http://a:8080/ http://b:8080/ --rate 1k
  weigh compare 'old=./old {port}' 'new=./new {port}' --path /item -c 10,100
  weigh compare 'old=./old {port}' 'new=./new {port}' --max-regression 2%
  weigh compare --commits main HEAD --build make --run './server {port}'
  weigh compare 'a=./a {port}' 'b=./b {port}' --until 1%
  weigh compare 'a=./a {port}' 'b=./b {port}' --dry-run
  weigh compare compare.toml
  weigh compare before.json after.json",
    "\
All servers are up; one generator process loads them in turn, in slices of 100 ms
over connections that stay open, and all are started afresh several times. The
interval is that of the starts. `--dry-run` only starts them once and shows whether
their conditions are equal.

Exit status:
    0  compared; with --max-regression: not worse by more
    1  --max-regression: worse by more
    2  could not: bad command line, a server that does not answer, unequal
       conditions, or the record could not be saved
    3  --max-regression: cannot tell
   70  a bug in weigh
  130  interrupted"
);

/// `weigh report`
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Records: numbers or names (see `weigh list`), files of records or journals, - for standard input [default: the
    /// newest].
    #[arg(value_name = "RECORD")]
    pub files: Vec<PathBuf>,
    /// How to lay them out.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    pub format: &'static report::Format,
    /// Draw a chart of the record into this file, whose name ends in .svg or .png, instead of printing the record.
    #[arg(long, value_name = "FILE", value_parser = OutputFile::chart, conflicts_with = "format")]
    pub chart: Option<OutputFile>,
    /// Print the value of one figure, such as latency_us.p99, and nothing else; fail if it is missing, void or only a
    /// lower bound.
    #[arg(long, value_name = "FIGURE", conflicts_with_all = ["format", "chart", "require"])]
    pub get: Option<String>,
    /// Print only how weigh's version, machine and plan of two records differ, and whether that forbids comparing them.
    #[arg(long, conflicts_with_all = ["chart", "get", "require", "percentiles", "verbose", "quiet", "wide"])]
    pub diff: bool,
    /// Judge the records by this as well, such as 'p99<20ms,errors<0.1%'. May be given several times.
    #[arg(long, value_name = "CONDITION", value_delimiter = ',')]
    pub require: Vec<plan::Requirement>,
    /// Percentiles of latency to show, such as 50,75,95,99.99 [default: those of the record].
    #[arg(long, value_name = "P,...", value_delimiter = ',')]
    pub percentiles: Vec<units::Percentile>,
    /// Print everything that is known, as text.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print the result in five lines.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print every column of a sweep's table, however wide the terminal is.
    #[arg(long)]
    pub wide: bool,
}

impl ReportFlags {
    /// Returns how the text is to look.
    pub fn look(&self) -> Look {
        Look {
            is_wide: self.wide,
            ..output::look(Detail::of(self.quiet, self.verbose))
        }
    }
}

/// `weigh doctor`
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Look at the path to this server, too, with five connects: HOST, HOST:PORT or a URL.
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Print findings and facts as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print every check, and all advice that weigh refuses.
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
}

const DOCTOR_MORE: &str = "\
It changes nothing; `mend` and `undo` are commands for you to run. Exit status: 0,
or 1 where a finding makes measuring invalid.";

/// `weigh list`
#[derive(Debug, Args)]
pub struct ListFlags {
    /// List every record, not only the newest 20.
    #[arg(long)]
    pub all: bool,
}

/// `weigh as`
#[derive(Debug, Args)]
pub struct AsFlags {
    /// Print the `weigh run` command that makes the same load, and load nothing.
    #[arg(long)]
    pub translate: bool,
    /// The tool, with its options and operands.
    #[arg(
        value_name = "TOOL ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub words: Vec<String>,
}

const AS_MORE: &str = "\
The load is measured as by `weigh run`, and its record is kept; what is printed has the
tool's format. Where the tool's figure is wrong by construction, ours stands in its place,
and standard error says so; docs/dropins/ lists every difference.";

/// `weigh dropins`
#[derive(Debug, Args)]
pub struct DropinsFlags {
    /// The folder; it is made if there is none.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
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
    #[arg(value_parser = ["run", "demo", "sweep", "compare", "report", "list", "doctor", "serve", "as", "dropins", "man", "completions"])]
    pub verb: Option<String>,
}

/// Reads the name of a format.
fn formats() -> impl TypedValueParser<Value = &'static report::Format> {
    let formats = report::FORMATS.iter();
    one_of(formats.map(|format| (format, format.name, format.doc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_flags_is_sound() {
        Cli::command().debug_assert();
    }
}

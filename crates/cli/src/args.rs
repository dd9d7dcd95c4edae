//! The command line: one struct a verb, from which `--help`, the man page and the completions are made.

use crate::chart::Picture;
use crate::serve::ServeFlags;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use units::{Nanos, Rate, Series, parse_count};

/// Weighs HTTP servers: loads them, and says what the figures prove.
#[derive(Debug, Parser)]
#[command(name = "weigh", version, max_term_width = 110, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do; without one, weigh starts its own server and weighs it for about fifteen seconds.
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
    /// Loads one server and records what came of it.
    Run(Box<RunFlags>),
    /// Loads one server at many levels and records the whole curve.
    Sweep(Box<SweepFlags>),
    /// Prints records again.
    Report(ReportFlags),
    /// Serves a folder, or a few small built-in resources: the ruler every measurement is held against.
    Serve(Box<ServeFlags>),
    /// Prints a completion script for a shell.
    Completions(CompletionFlags),
    /// Prints the man page.
    Man,
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

/// `weigh run`
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunFlags {
    /// What to ask; a missing scheme means http. Several URLs of one server are asked in turn. {seq} in a URL or body
    /// becomes the exchange's number, {random} 16 random hexadecimal digits.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Connections over all threads, each asking again as soon as it has its answer; with a rate the most that may be
    /// open [default: 10; with a rate 1000, or half as many as files may be open].
    #[arg(short, long, value_name = "N", value_parser = series::<u32>, help_heading = "Load")]
    pub connections: Option<Series<u32>>,
    /// Exchanges a second over all threads, whatever the server does (an open loop): 10k, 0.5. Latency is then response
    /// time, from when each was due.
    #[arg(long, value_name = "R", value_parser = series::<Rate>, group = "schedule", help_heading = "Load")]
    pub rate: Option<Series<Rate>>,
    /// Connections a second over all threads, whatever the server does, as httperf's rate is: each is opened when it
    /// arrives, asks --requests-per-connection requests one after the other (1 unless you say otherwise), and is closed.
    #[arg(long, value_name = "R", value_parser = series::<Rate>, group = "schedule", help_heading = "Load")]
    pub connection_rate: Option<Series<Rate>>,
    /// By which law exchanges or connections are due with a rate: at random, as many users ask, or evenly spaced.
    #[arg(
        long,
        value_enum,
        default_value = "poisson",
        requires = "schedule",
        help_heading = "Load"
    )]
    pub arrivals: ArrivalsFlag,
    /// Generator threads [default: half the CPUs if the server is on this machine, else all; never more than
    /// connections].
    #[arg(short, long, value_name = "N", value_parser = series::<u32>, help_heading = "Load")]
    pub threads: Option<Series<u32>>,
    /// Exchanges in each round, exactly.
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count, conflicts_with = "duration", help_heading = "Load")]
    pub requests: Option<u64>,
    /// Length of each round's window [default: 5s; of a sweep 2s].
    #[arg(short, long, value_name = "TIME", value_parser = span, help_heading = "Load")]
    pub duration: Option<Nanos>,
    /// Measured repetitions, each with new connections [default: 5; of a sweep 3].
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Load")]
    pub rounds: Option<u32>,
    /// Load before each window, counted apart [default: 500ms, of a sweep 200ms; none with --requests].
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "Load")]
    pub warmup: Option<Nanos>,
    /// When connections are opened: all before the load, or each when its first request is due [default: eager; with a
    /// rate lazy].
    #[arg(long, value_enum, help_heading = "Load")]
    pub connect: Option<ConnectFlag>,
    /// Hold each generator thread on a CPU of its own.
    #[arg(long, help_heading = "Load")]
    pub pin: bool,
    /// The kernel's interface under each generator thread. On io_uring a batch of requests is one system call, and each
    /// counts as sent when it joins the batch, up to a batch's length early.
    #[arg(long, value_enum, default_value = "epoll", help_heading = "Load")]
    pub ring: RingFlag,
    /// How a generator thread waits: asleep, from which it wakes some ten microseconds late; or awake, which costs a
    /// CPU. docs/run.md says when to use which.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Load")]
    pub spin: SpinFlag,
    /// Measure each round once more with the load split over two generator processes, and say whether they got more than
    /// one: then one generator was the limit.
    #[arg(long, help_heading = "Load")]
    pub two_generators: bool,
    /// Seed of everything random [default: from the clock; the record holds it].
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub seed: Option<u64>,

    /// The method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "Request")]
    pub method: Option<String>,
    /// A header; replaces a default one of the same name. May be given several times.
    #[arg(
        short = 'H',
        long = "header",
        value_name = "NAME: VALUE",
        help_heading = "Request"
    )]
    pub headers: Vec<String>,
    /// The request's body, or @FILE for a file's contents.
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Request")]
    pub body: Option<String>,
    /// Credentials for Basic authentication.
    #[arg(long, value_name = "NAME:PASSWORD", help_heading = "Request")]
    pub user: Option<String>,
    /// A Cookie header.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Request")]
    pub cookie: Option<String>,
    /// Keep the values of this header or query parameter out of the record, too, or `body` for the body's text. Values
    /// whose name looks like a credential (token, key, password, cookie, ...) are always kept out; bodies are not. May be
    /// given several times.
    #[arg(long, value_name = "NAME", help_heading = "Request")]
    pub withhold: Vec<String>,
    /// Requests from a file, one a line, `[METHOD] PATH-OR-URL [BODY]`, read as they are needed, over and over.
    #[arg(long = "urls", value_name = "FILE", help_heading = "Request")]
    pub urls_file: Option<PathBuf>,

    /// A new connection for every request.
    #[arg(long, help_heading = "Connections")]
    pub no_keepalive: bool,
    /// The most requests on one connection.
    #[arg(long, value_name = "K", value_parser = parse_count, help_heading = "Connections")]
    pub requests_per_connection: Option<u64>,
    /// Requests under way on one connection at a time.
    #[arg(long, value_name = "P", default_value = "1", value_parser = series::<u32>, help_heading = "Connections")]
    pub pipeline: Series<u32>,
    /// Ask with HTTP/1.0.
    #[arg(long = "http1.0", help_heading = "Connections")]
    pub http10: bool,
    /// The longest an exchange may take from its first byte sent; what takes longer is cut off and counted.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span, help_heading = "Connections")]
    pub timeout: Nanos,
    /// The longest a connect may take.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span, help_heading = "Connections")]
    pub connect_timeout: Nanos,
    /// Local addresses to connect from, in turn.
    #[arg(
        long,
        value_name = "ADDR,...",
        value_delimiter = ',',
        help_heading = "Connections"
    )]
    pub source: Vec<IpAddr>,
    /// Connect to ADDR where the URL says HOST and PORT. May be given several times.
    #[arg(
        long,
        value_name = "HOST:PORT:ADDR",
        conflicts_with = "unix",
        help_heading = "Connections"
    )]
    pub resolve: Vec<String>,
    /// Connect to this Unix-domain socket, whatever host the URL names.
    #[arg(long, value_name = "PATH", help_heading = "Connections")]
    pub unix: Option<PathBuf>,

    /// What a right response is: statuses (200, 2xx, 200..204, several with commas) or @FILE for the one right body.
    /// May be given several times [default: 2xx and 3xx].
    #[arg(long, value_name = "STATUS|@FILE", help_heading = "Judgement")]
    pub expect: Vec<String>,
    /// Send the load even if the server does not respond to the probe as expected. Otherwise no load is sent then.
    #[arg(long, help_heading = "Judgement")]
    pub keep_going: bool,
    /// Errors allowed before the exit status is 1: a share of the requests such as 0.5%, or a number; of a sweep at each
    /// point.
    #[arg(long, value_name = "SHARE|N", default_value = "1%", value_parser = tolerance, help_heading = "Judgement")]
    pub max_errors: plan::Tolerance,
    /// Exit with status 3 when a finding makes a figure invalid.
    #[arg(long, help_heading = "Judgement")]
    pub strict: bool,

    /// Where the record goes [default: a new file in the state directory].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Draw a chart into this file, whose name ends in .svg or .png: of a sweep its curves, of a run its rounds over time.
    #[arg(long, value_name = "FILE", value_parser = Picture::named, conflicts_with_all = ["dry_run", "show_exchange"], help_heading = "Output")]
    pub chart: Option<Picture>,
    /// Print the record itself, as JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress and no remarks, only the result.
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Send one request and print both sides, instead of loading.
    #[arg(long, help_heading = "Output", conflicts_with = "dry_run")]
    pub show_exchange: bool,
    /// Print what would be done, instead of doing it.
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    /// The longest the started server may take until it answers.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = span, help_heading = "Connections")]
    pub ready_within: Nanos,

    /// Whose CPU time and memory are taken: a process (1234), a name (nginx), whoever listens on a port (:8080),
    /// cgroup:PATH, or none: where only a proxy is seen, or to see that observing changes nothing [default: COMMAND, or
    /// whoever listens where the target is, if that is this machine].
    #[arg(
        long,
        value_name = "PID|NAME|:PORT|cgroup:PATH|none",
        help_heading = "Judgement"
    )]
    pub server: Option<plan::Observe>,

    /// Start this server first, wait until it answers, and stop it afterwards with everything it started.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

const RUN_EXAMPLES: &str = "\
Examples:
  weigh run http://127.0.0.1:8080/100.html -c 100 -d 10s
  weigh run localhost:8080/a localhost:8080/b --connect lazy --no-keepalive
  weigh run localhost:8080/ --rate 1k -d 30s
  weigh run localhost:8080/ --connection-rate 150 --requests-per-connection 10 -n 50k
  weigh run 'localhost:8080/item?id={seq}' -n 100k --expect 200
  weigh run localhost:8080/form --body 'name={random}' -H 'Content-Type: application/x-www-form-urlencoded'
  weigh run localhost:8080/ -o nginx.json -- nginx -p . -c nginx.conf

Numbers may be written 10k or 1m, times 500ms, 10s or 2m.

Exit status: 0 measured, and everything required is met; 1 a requirement is not met: more errors than --max-errors
allows, nothing ended ok, the server that weigh started ended, no rate held --slo, or the record contradicts itself;
2 not carried out: the command, the target or the server is wrong, or the record could not be saved; 3 cannot tell:
--strict and a figure is invalid, or a search without an answer; 70 a bug of ours; 130 interrupted. Where it is not 0,
a line on standard error says why.";

/// The names of what stands on the command line after the verb, defaults not among them.
pub fn given(matches: &ArgMatches) -> Vec<String> {
    let verb = matches.subcommand().map(|(_, matches)| matches);
    let is_given = |matches: &ArgMatches, name: &str| {
        matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    let of = |matches: &ArgMatches| {
        let names = matches.ids().map(|id| id.as_str().to_owned());
        names.filter(|name| is_given(matches, name)).collect()
    };
    verb.map_or_else(Vec::new, of)
}

/// `weigh sweep`
#[derive(Debug, Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub struct SweepFlags {
    /// Everything that `weigh run` takes too; of the load, ranges and lists.
    #[command(flatten)]
    pub run: RunFlags,
    /// Workers of the server that is started: each number stands for {workers} in its command.
    #[arg(long, value_name = "N,...", value_parser = series::<u32>, help_heading = "Sweep")]
    pub workers: Option<Series<u32>>,
    /// In which order the points are measured.
    #[arg(long, value_enum, default_value = "up", help_heading = "Sweep")]
    pub order: OrderFlag,
    /// One round of every point, then the next round, so that what drifts meanwhile touches all points alike; otherwise
    /// all rounds of a point, then the next point.
    #[arg(long, help_heading = "Sweep")]
    pub interleaved: bool,
    /// Search for the highest rate at which this holds: p50, p90, p99, p99.9 or max of response time under a time, errors
    /// under a share; several with commas. The rates of --rate are tried upwards until it fails [default: doubled up to 1m, from 100 or
    /// from the lowest rate that five rounds can tell].
    #[arg(long, value_name = "CONDITION", value_parser = conditions, help_heading = "Sweep")]
    pub slo: Option<plan::Conditions>,
    /// Go on with a sweep that was stopped, where it stopped; alone, or with the command that it began with.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "output",
        help_heading = "Sweep"
    )]
    pub resume: Option<PathBuf>,
}

/// `--order`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderFlag {
    /// As the values are given.
    Up,
    /// The other way round.
    Down,
    /// At random, by the seed; with --interleaved anew in each round.
    Shuffled,
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  weigh sweep localhost:8080/100.html -c 1..1000:10 -n 100k
  weigh sweep localhost:8080/ -c 1..512*2 --rounds 5 --interleaved --order shuffled
  weigh sweep localhost:8080/ --rate 1k..20k:1k
  weigh sweep localhost:8080/ --slo 'p99<10ms,errors<1%' -d 5s
  weigh sweep localhost:8080/ -c 100 --workers 1,2,4,8 -- ./server --workers {workers}

Ranges: FROM..TO:STEP is FROM, FROM+STEP, ... up to TO, and from 1 the first step goes to STEP (1, 10, 20, ...);
FROM..TO*FACTOR multiplies; 1,2,4 is a list. Several ranges are combined: every value of one with every value of the
others. --connections, --rate, --threads, --pipeline and --workers take them.";

/// `weigh report`
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Records or journals, - for standard input [default: the newest in the state directory].
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to lay them out: text, json or csv.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub format: &'static report::Format,
    /// Draw a chart of the record into this file, whose name ends in .svg or .png, instead of printing the record.
    #[arg(long, value_name = "FILE", value_parser = Picture::named, conflicts_with = "format")]
    pub chart: Option<Picture>,
}

/// `weigh completions`
#[derive(Debug, Args)]
pub struct CompletionFlags {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// `--connect`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConnectFlag {
    /// All before the load begins, as wrk does.
    Eager,
    /// On the fly, inside the window, the request right after the handshake, as users do.
    Lazy,
}

/// `--arrivals`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsFlag {
    /// At random: exponential gaps, as of many users who know nothing of each other.
    Poisson,
    /// Evenly spaced.
    Constant,
}

/// `--ring`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RingFlag {
    /// epoll: a system call for each send and each receive.
    Epoll,
    /// io_uring, where the kernel has it (6.0) and allows it.
    #[value(name = "io_uring")]
    IoUring,
}

/// `--spin`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpinFlag {
    /// With --rate, where a CPU is free for it: awake shortly before an exchange is due and shortly after it was sent.
    Auto,
    /// Never asleep while the load runs.
    Always,
    /// Always asleep.
    Never,
}

/// Reads a number of things.
pub fn count(text: &str) -> Result<u32, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    u32::try_from(count).map_err(|_| format!("`{text}` is too large"))
}

fn conditions(text: &str) -> Result<plan::Conditions, String> {
    text.parse()
        .map_err(|error: plan::ConditionError| error.to_string())
}

/// Reads one value or several: `10`, `1,2,4`, `1..1000:10`, `1..1000*2`.
fn series<T>(text: &str) -> Result<Series<T>, String>
where
    Series<T>: FromStr<Err = units::ParseError>,
{
    text.parse()
        .map_err(|error: units::ParseError| error.to_string())
}

/// Reads a span of time.
pub fn span(text: &str) -> Result<Nanos, String> {
    text.parse()
        .map_err(|error: units::ParseError| error.to_string())
}

fn tolerance(text: &str) -> Result<plan::Tolerance, String> {
    let wrong = || format!("`{text}` is neither a share nor a number; write 0.5% or 100");
    match text.strip_suffix('%') {
        Some(percent) => match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(plan::Tolerance::Share(percent / 100.0))
            }
            _ => Err(wrong()),
        },
        None => parse_count(text)
            .map(plan::Tolerance::Count)
            .map_err(|_| wrong()),
    }
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

    #[test]
    fn tolerances_are_shares_or_numbers() {
        assert_eq!(tolerance("0.5%"), Ok(plan::Tolerance::Share(0.005)));
        assert_eq!(tolerance("1k"), Ok(plan::Tolerance::Count(1000)));
        for wrong in ["%", "101%", "-1%", "x", "NaN%"] {
            assert!(tolerance(wrong).is_err(), "{wrong}");
        }
    }
}

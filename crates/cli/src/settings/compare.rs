//! What `weigh compare` takes beside the settings of requests and connections.

use plan::Takes::{List, Nothing, Operands, Value, Values};
use plan::settings::keep;
use plan::{Budget, CpuPlacement, Deciding, Group, Setting, percent_share};
use std::str::FromStr;
use units::{Nanos, ParseError, Rate};

/// What a comparison's command line says of the comparison itself; a field is what the setting of its name says.
#[derive(Debug, Clone, Default)]
pub struct Comparing {
    pub servers: Vec<String>,
    pub commits: Vec<String>,
    pub build: Option<String>,
    pub run: Option<String>,
    pub bisect: bool,
    pub path: Option<String>,
    pub https: bool,
    /// Connections of the closed loops.
    pub connections: Vec<u32>,
    pub saturate: Option<u32>,
    pub threads: Option<u32>,
    /// Rates of the open loops, as given.
    pub rates: Vec<String>,
    pub time: Option<Nanos>,
    pub until: Option<f64>,
    pub precision: Option<f64>,
    pub decide_on: Option<Deciding>,
    pub max_regression: Option<f64>,
    pub aa: bool,
    pub all_pairs: bool,
    pub unequal: bool,
    pub cpus: CpuPlacement,
    /// Processes to observe, for each server that weigh does not start, in their order.
    pub observe: Vec<String>,
    pub resume: Option<std::path::PathBuf>,
    /// The file that holds it.
    pub file: Option<std::path::PathBuf>,
    /// The arguments that give all of it again, with what holds for the requests of all servers.
    pub arguments: Vec<String>,
}

impl Comparing {
    /// When the comparison of so many servers, those that repeat one included, is over.
    pub fn budget(&self, servers: usize) -> Budget {
        match (self.until, self.precision, self.time) {
            (Some(share), ..) => Budget::Until(share),
            (_, Some(share), _) => Budget::Precision(share),
            (.., Some(time)) => Budget::Time {
                time,
                starts: Budget::FEWEST,
            },
            _ => Budget::Time {
                time: Budget::TIME * servers as u64 / 2,
                starts: Budget::STARTS,
            },
        }
    }
}

/// A time in which something can be measured.
fn span(text: &str) -> Result<Nanos, String> {
    match read(text)? {
        Nanos::ZERO => Err("no time is left to compare in; give it some, such as 60s".to_owned()),
        span => Ok(span),
    }
}

fn read<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err = ParseError>,
{
    text.parse().map_err(|error: ParseError| error.to_string())
}

fn up_to(text: &str, most: u32, what: &str) -> Result<u32, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is no number of {what} from 1 to {most}"))
}

/// What all rows have in common.
const ROW: Setting<Comparing> = Setting {
    group: Group::Comparison,
    common: true,
    ..Setting::BASE
};

/// The settings of a comparison.
#[rustfmt::skip]
pub static COMPARE: &[Setting<Comparing>] = &[
    Setting { name: "servers", takes: Operands("SERVER"),
        help: "Servers to compare, each [NAME=]COMMAND with {port} in it, or [NAME=]URL.",
        long: "The first is the one that the others are compared with. A command is started by `sh -c` on a free port of \
               127.0.0.1, afresh for each start; a URL is asked as it is. Two records of `weigh run` (numbers, names or files, as \
               `weigh report` takes them) are compared, which is weaker; that of a comparison is printed again. A file such as \
               compare.toml holds a whole comparison: its keys are the names of these options, and options of the command line \
               win over it.",
        parse: |comparing, text| {
            comparing.servers.push(text.to_owned());
            Ok(())
        },
        ..ROW },
    Setting { name: "commits", takes: Values("REVISION"), needs: &["run"],
        help: "Compare the servers of commits of this repository: --commits main HEAD.",
        long: "The first is the one that the others are compared with; `.` is the working tree as it is. Each is built in a clone of \
               its own, nothing is written into your repository, and builds are kept for the next time.",
        parse: |comparing, text| {
            comparing.commits.push(text.to_owned());
            Ok(())
        },
        ..ROW },
    Setting { name: "build", takes: Value("COMMAND"), needs: &["commits"],
        help: "Command that builds the server of a commit.",
        computed: "nothing is built",
        parse: |comparing, text| keep(&mut comparing.build, Ok(Some(text.into()))),
        ..ROW },
    Setting { name: "run", takes: Value("COMMAND"), needs: &["commits"],
        help: "Command that starts the server of a commit, with {port} in it.",
        parse: |comparing, text| match text.contains("{port}") {
            true => keep(&mut comparing.run, Ok(Some(text.into()))),
            false => Err("write {port} where the command takes the port to listen on".into()),
        },
        ..ROW },
    Setting { name: "bisect", takes: Nothing, needs: &["commits"],
        help: "Exit as `git bisect run` wants it: 0 good, 1 bad, 125 cannot tell, 128 abort.",
        long: "git bisect run weigh compare --bisect --commits v1.0 HEAD --build make --run './server {port}'. Without \
               --max-regression it is 2%; half of the regression that is looked for is best.",
        parse: |comparing, _| keep(&mut comparing.bisect, Ok(true)),
        ..ROW },
    Setting { name: "path", takes: Value("PATH"),
        help: "Path that is asked of servers given as commands.",
        computed: "/",
        parse: |comparing, text| match text.starts_with('/') {
            true => keep(&mut comparing.path, Ok(Some(text.into()))),
            false => Err(format!("a path begins with /; write /{text}")),
        },
        ..ROW },
    Setting { name: "https", takes: Nothing,
        help: "Ask servers given as commands over https.",
        long: "Their certificates must be valid for 127.0.0.1, and trusted with --cacert; or use --insecure.",
        parse: |comparing, _| keep(&mut comparing.https, Ok(true)),
        ..ROW },
    Setting { name: "connections", short: Some('c'), takes: List("N,..."),
        help: "Connections of the closed loop; with several numbers, each is compared.",
        computed: "10",
        parse: |comparing, text| {
            comparing.connections.push(up_to(text, 10_000, "connections")?);
            Ok(())
        },
        ..ROW },
    Setting { name: "saturate", takes: Value("N"),
        help: "Compare saturated servers as well: N connections, in alternating windows of 1 s.",
        long: "The number of connections should be more than a server needs to use all of its CPUs; where the generator is saturated \
               before the servers are, that is said.",
        parse: |comparing, text| keep(&mut comparing.saturate, up_to(text, 10_000, "connections").map(Some)),
        ..ROW },
    Setting { name: "threads", short: Some('t'), takes: Value("N"),
        help: "Generator threads; more than one only for servers that one cannot saturate.",
        computed: "1",
        parse: |comparing, text| keep(&mut comparing.threads, up_to(text, 64, "threads").map(Some)),
        ..ROW },
    Setting { name: "rate", takes: List("R,..."),
        help: "Compare latency at this common rate as well, in slices of 1 s.",
        long: "An open loop: requests are sent by a schedule, the same number to each server, and latency counts from the \
               scheduled time.",
        parse: |comparing, text| {
            let _: Rate = read(text)?;
            comparing.rates.push(text.to_owned());
            Ok(())
        },
        ..ROW },
    Setting { name: "time", takes: Value("TIME"),
        help: "How long to compare, or with --until and --precision at most.",
        long: "No start begins that would end later, but there are at least three, because fewer give no interval.",
        computed: "one minute for two servers, and at least eight starts",
        parse: |comparing, text| keep(&mut comparing.time, span(text).map(Some)),
        ..ROW },
    Setting { name: "until", takes: Value("SHARE"), excludes: &["precision"],
        help: "Go on until a difference of this share, such as 2%, is found or ruled out.",
        long: "It is looked at after 8, 12, 18, 27 and 40 starts, each time at a fifth of 5 %, so that looking several times finds \
               no more false differences.",
        parse: |comparing, text| keep(&mut comparing.until, percent_share(text).map(Some)),
        ..ROW },
    Setting { name: "precision", takes: Value("SHARE"),
        help: "Go on until half of the interval is at most 0.7 of this share, such as 1%.",
        long: "A difference of that share is then found in eight of ten comparisons.",
        parse: |comparing, text| keep(&mut comparing.precision, percent_share(text).map(Some)),
        ..ROW },
    Setting { name: "decide-on", takes: Value("FIGURE"),
        help: "Figure of the first line: cpu_us_per_request, p50, throughput or memory.",
        computed: "cpu_us_per_request where all servers are observed, else p50",
        parse: |comparing, text| keep(&mut comparing.decide_on, text.parse().map(Some)),
        ..ROW },
    Setting { name: "max-regression", takes: Value("SHARE"),
        help: "Fail where another server is worse than the first by more than this share.",
        long: "Exit status 1 when the interval lies wholly beyond it, 3 when it cannot tell, otherwise 0.",
        parse: |comparing, text| keep(&mut comparing.max_regression, percent_share(text).map(Some)),
        ..ROW },
    Setting { name: "aa", takes: Nothing,
        help: "Run the first server a second time under another name, to measure bias.",
        long: "The difference of a server from itself is no noise, which the interval holds already, but what the comparison \
               favours.",
        parse: |comparing, _| keep(&mut comparing.aa, Ok(true)),
        ..ROW },
    Setting { name: "all-pairs", takes: Nothing,
        help: "Compare each server with every other, with ranks.",
        parse: |comparing, _| keep(&mut comparing.all_pairs, Ok(true)),
        ..ROW },
    Setting { name: "unequal", takes: Nothing,
        help: "Compare servers although their conditions differ.",
        long: "Otherwise a comparison of servers whose status, body, protocol, compression, keep-alive, logging or workers differ is \
               refused.",
        parse: |comparing, _| keep(&mut comparing.unequal, Ok(true)),
        ..ROW },
    Setting { name: "cpus", takes: Value("auto|one|shared|CPUS"),
        help: "Where generator and servers run: on one CPU, anywhere, or the generator on CPUS such as 0,4-5.",
        long: "With CPUS the servers run on the others. `one` brings all together on the last CPU for slices of 100 ms, where CPU time \
               per request scatters least, and lets them run anywhere in windows of 1 s. `auto` gives the generator a core for itself \
               where four CPUs or more can be used, and is `one` with fewer. Only of servers that weigh starts.",
        computed: "auto",
        parse: |comparing, text| keep(&mut comparing.cpus, text.parse()),
        ..ROW },
    Setting { name: "server", takes: Values("PID|NAME|:PORT|cgroup:PATH|none"),
        help: "Processes of a server that is given as a URL; once for all, or once for each URL.",
        computed: "the process that listens at the target, if it is on this machine",
        parse: |comparing, text| {
            comparing.observe.push(text.to_owned());
            Ok(())
        },
        ..ROW },
    Setting { name: "resume", takes: Value("RECORD"),
        help: "Go on with an interrupted comparison.",
        parse: |comparing, text| keep(&mut comparing.resume, Ok(Some(text.into()))),
        ..ROW },
];

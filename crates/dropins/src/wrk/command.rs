//! The command line, read and refused as wrk does.

use super::units::{read_metric, read_seconds};
use crate::getopt::{Long, Word, Wrong, getopt, shortened};
use crate::{Said, Settings};
use scripting::{Script, Url};
use std::path::PathBuf;

/// Options of wrk, and those that wrk2 has beside them.
const OPTIONS: &str = "t:c:d:s:H:T:Lrvh";
const OF_WRK2: &str = "UBR:";
const LONGS: [Long; 9] = [
    ("connections", true, 'c'),
    ("duration", true, 'd'),
    ("threads", true, 't'),
    ("script", true, 's'),
    ("header", true, 'H'),
    ("latency", false, 'L'),
    ("timeout", true, 'T'),
    ("help", false, 'h'),
    ("version", false, 'v'),
];
const LONGS_OF_WRK2: [Long; 3] = [
    ("u_latency", false, 'U'),
    ("batch_latency", false, 'B'),
    ("rate", true, 'R'),
];

/// Whose command line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Wrk,
    Wrk2,
}

/// A load in its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) tool: Tool,
    /// Requests/s, of wrk2.
    rate: u64,
    /// Whether service times are wanted beside response times, of wrk2.
    pub(super) has_service: bool,
    pub(super) threads: u64,
    pub(super) connections: u64,
    pub(super) seconds: u64,
    timeout: u64,
    pub(super) has_latency: bool,
    headers: Vec<String>,
    pub(super) url: String,
    /// The script, the words for it, and how many requests it makes at a time.
    script: Option<PathBuf>,
    words: Vec<String>,
    pipeline: u32,
}

/// Reads the words; what is printed instead where nothing is to be loaded.
pub(super) fn read(tool: Tool, words: &[String]) -> Result<Command, Said> {
    let usage = |before: &str, complaint: &str| usage(tool, before, complaint);
    let mut command = Command {
        tool,
        rate: 0,
        has_service: false,
        threads: 2,
        connections: 10,
        seconds: 10,
        timeout: 2,
        has_latency: false,
        headers: Vec::new(),
        url: String::new(),
        script: None,
        words: Vec::new(),
        pipeline: 1,
    };
    let (mut options, mut longs) = (OPTIONS.to_owned(), LONGS.to_vec());
    if tool == Tool::Wrk2 {
        options += OF_WRK2;
        longs.extend(LONGS_OF_WRK2);
    }
    let words = shortened(words, &longs).map_err(|wrong| usage("", &complaint(&wrong)))?;
    let reading = getopt(&words, &options);
    let mut about = "";
    for word in reading.options {
        if word == Word::Flag('v') {
            about = tool.about();
            continue;
        }
        command.take(word).map_err(|said| Said {
            out: about.to_owned() + &said.out,
            ..said
        })?;
    }
    // What stands behind the URL is for the script.
    let Some(url) = reading.operands.first() else {
        return Err(usage(about, ""));
    };
    if command.threads == 0 || command.seconds == 0 {
        return Err(usage(about, ""));
    }
    if tool == Tool::Wrk2 && command.rate == 0 {
        return Err(usage(
            about,
            "Throughput MUST be specified with the --rate or -R option\n",
        ));
    }
    if !is_url(url) {
        return Err(usage(about, &format!("invalid URL: {url}\n")));
    }
    if command.connections < command.threads {
        return Err(usage(about, "number of connections must be >= threads\n"));
    }
    (*url).clone_into(&mut command.url);
    let words = &reading.operands[1..];
    command.words = words.iter().map(|word| (*word).to_owned()).collect();
    command.load_script().map_err(|why| Said {
        out: about.to_owned(),
        err: format!("{why}\n"),
        status: 1,
        ..Said::default()
    })?;
    Ok(command)
}

/// What getopt says.
fn complaint(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Unknown(name) => format!("wrk: unrecognized option '{name}'\n"),
        Wrong::Ambiguous(name) => format!("wrk: option '{name}' is ambiguous\n"),
        Wrong::Lacking(name) => format!("wrk: option '--{name}' requires an argument\n"),
        Wrong::Needless(name) => format!("wrk: option '--{name}' doesn't allow an argument\n"),
    }
}

/// Whether it has a scheme and a host.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://");
    let rest = rest.or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', ':']))
}

impl Command {
    fn take(&mut self, word: Word<'_>) -> Result<(), Said> {
        let tool = self.tool;
        let usage = |before: &str, complaint: &str| usage(tool, before, complaint);
        let read = |place: &mut u64, value: Option<u64>| match value {
            Some(value) => {
                *place = value;
                Ok(())
            }
            None => Err(usage("", "")),
        };
        match word {
            Word::Value('t', value) => read(&mut self.threads, read_metric(value)),
            Word::Value('c', value) => read(&mut self.connections, read_metric(value)),
            Word::Value('d', value) => read(&mut self.seconds, read_seconds(value)),
            Word::Value('T', value) => read(&mut self.timeout, read_seconds(value)),
            Word::Value('H', value) => {
                self.headers.push(value.to_owned());
                Ok(())
            }
            Word::Value('R', value) => read(&mut self.rate, read_metric(value)),
            Word::Flag('L') => {
                self.has_latency = true;
                Ok(())
            }
            Word::Flag('U') => {
                (self.has_latency, self.has_service) = (true, true);
                Ok(())
            }
            Word::Flag('B') => Err(Said {
                err: "wrk: weigh does not take -B: it has no latency of batches; -U shows service times beside response times\n"
                    .to_owned(),
                status: 1,
                ..Said::default()
            }),
            Word::Value('s', path) => {
                self.script = Some(path.into());
                Ok(())
            }
            Word::Unknown(letter) => {
                Err(usage("", &format!("wrk: invalid option -- '{letter}'\n")))
            }
            Word::Lacking(letter) => Err(usage(
                "",
                &format!("wrk: option requires an argument -- '{letter}'\n"),
            )),
            Word::Flag(_) | Word::Value(..) => Err(usage("", "")),
        }
    }

    /// Finds out whether the script can be run, and how many requests it makes at a time.
    fn load_script(&mut self) -> Result<(), String> {
        let Some(path) = &self.script else {
            return Ok(());
        };
        let name = path.display().to_string();
        let text = scripting::read(path)?;
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("http", &self.url));
        let end = rest.find('/').unwrap_or(rest.len());
        let headers = self
            .headers
            .iter()
            .filter_map(|header| header.split_once(':'));
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let script = Script::load(&scripting::Settings {
            name: &name,
            text: &text,
            arguments: &self.words,
            url: Url {
                scheme,
                authority: &rest[..end],
                path: if end < rest.len() { &rest[end..] } else { "/" },
            },
            headers: &headers,
            threads: 1,
        });
        self.pipeline = script?.pipeline()?;
        Ok(())
    }

    /// The settings of `weigh run` that make the same load.
    pub(super) fn settings(&self) -> Settings {
        let mut all: Settings = vec![
            ("url", self.url.clone()),
            ("connections", self.connections.to_string()),
            ("threads", self.threads.to_string()),
            ("duration", format!("{}s", self.seconds)),
            ("timeout", format!("{}s", self.timeout.max(1))),
            ("expect", "100..399".to_owned()),
        ];
        if self.tool == Tool::Wrk2 {
            all.push(("rate", self.rate.to_string()));
            all.push(("arrivals", "constant".to_owned()));
        }
        if self.url.starts_with("https://") {
            all.push(("insecure", String::new()));
        }
        all.extend(self.headers.iter().map(|header| ("header", header.clone())));
        if let Some(path) = &self.script {
            all.push(("script", path.display().to_string()));
            all.extend(self.words.iter().map(|word| ("script-arg", word.clone())));
        }
        if self.pipeline > 1 {
            all.push(("pipeline", self.pipeline.to_string()));
        }
        all.extend(crate::ONE_ROUND.map(|(name, value)| (name, value.to_owned())));
        all
    }
}

/// The usage, behind what is said before, and a complaint.
fn usage(tool: Tool, before: &str, complaint: &str) -> Said {
    let (script, rate) = match tool {
        Tool::Wrk => ("", ""),
        Tool::Wrk2 => (
            "    -U, --u_latency        Print uncorrected latency statistics\n",
            "    -R, --rate        <T>  work rate (throughput)\n                           in requests/sec (total)\n                           [Required Parameter]\n",
        ),
    };
    Said {
        out: format!("{before}{USAGE}{script}{USAGE_TIMEOUT}{rate}{USAGE_END}"),
        err: complaint.to_owned(),
        status: 1,
        ..Said::default()
    }
}

impl Tool {
    fn about(self) -> &'static str {
        match self {
            Tool::Wrk => concat!(
                "wrk 4.1.0 (weigh ",
                env!("CARGO_PKG_VERSION"),
                ") [epoll]\n"
            ),
            Tool::Wrk2 => concat!(
                "wrk 4.0.0 (weigh ",
                env!("CARGO_PKG_VERSION"),
                ") [epoll]\n"
            ),
        }
    }
}

/// Ours: what is taken.
const USAGE: &str = "\
Usage: wrk <options> <url>
  Options:
    -c, --connections <N>  Connections to keep open
    -d, --duration    <T>  Duration of test
    -t, --threads     <N>  Number of threads to use

    -s, --script      <S>  Load Lua script file
    -H, --header      <H>  Add header to request
        --latency          Print latency statistics
";
const USAGE_TIMEOUT: &str = "        --timeout     <T>  Socket/request timeout
    -v, --version          Print version details
";
const USAGE_END: &str = "
  Numeric arguments may include a SI unit (1k, 1M, 1G)
  Time arguments may include a time unit (2s, 2m, 2h)
";

//! The command line, read and refused as weighttp does.

use crate::getopt::{Word, atoi, getopt};
use crate::{Said, Settings};

/// Which of its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// That of 0.4.
    Text,
    /// That of 0.5.
    Json,
}

impl Version {
    /// The first line, and the empty one behind it.
    fn banner(self) -> &'static str {
        match self {
            Version::Text => {
                "weighttp 0.4 - a lightweight and simple webserver benchmarking tool\n\n"
            }
            Version::Json => {
                "\nweighttp 0.5 - lightweight and simple webserver benchmarking tool\n\n"
            }
        }
    }

    fn number(self) -> &'static str {
        match self {
            Version::Text => "0.4",
            Version::Json => "0.5",
        }
    }

    /// Its options. (The ':' before them: what lacks its value is passed over.)
    fn options(self) -> &'static str {
        match self {
            Version::Text => "hv6kn:t:c:H:",
            Version::Json => "hVikqdlr6FSa:m:n:t:c:b:e:p:s:u:A:B:C:H:K:P:T:X:",
        }
    }
}

/// A load in its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) version: Version,
    pub(super) requests: u64,
    pub(super) threads: u64,
    pub(super) clients: u64,
    pub(super) is_quiet: bool,
    keeps_alive: bool,
    url: String,
    headers: Vec<String>,
    /// What only 0.5 takes, as settings.
    more: Settings,
}

/// Reads the words; what is printed instead where nothing is to be loaded.
pub(super) fn read(words: &[String]) -> Result<Command, Said> {
    let (version, words) = version(words)?;
    let reading = getopt(&words, version.options());
    let mut command = Command {
        version,
        requests: 0,
        threads: 1,
        clients: 1,
        is_quiet: false,
        keeps_alive: false,
        url: String::new(),
        headers: Vec::new(),
        more: Vec::new(),
    };
    for word in reading.options {
        command.take(word)?;
    }
    match reading.operands[..] {
        [] => return Err(command.refuse("missing url argument\n")),
        [url] => command.url = url.to_owned(),
        _ => return Err(command.refuse("too many arguments\n")),
    }
    command.check()?;
    Ok(command)
}

/// Takes `--dropin-version N` out of the words.
fn version(words: &[String]) -> Result<(Version, Vec<String>), Said> {
    const OPTION: &str = "--dropin-version";
    let mut rest = words.to_vec();
    let Some(place) = rest.iter().position(|word| word == OPTION) else {
        return Ok((Version::Text, rest));
    };
    let version = match rest.get(place + 1).map(String::as_str) {
        Some("0.4") => Version::Text,
        Some("0.5") => Version::Json,
        _ => {
            return Err(Said {
                err: format!("weigh: {OPTION} must be 0.4 or 0.5\n"),
                status: 2,
                ..Said::default()
            });
        }
    };
    rest.drain(place..place + 2);
    Ok((version, rest))
}

impl Command {
    fn take(&mut self, word: Word<'_>) -> Result<(), Said> {
        let count = |value: &str| match value.bytes().all(|byte| byte.is_ascii_digit()) {
            true => value.parse().unwrap_or(u64::MAX),
            false => u64::MAX,
        };
        let small = |value: &str| u64::try_from(atoi(value)).unwrap_or(u64::MAX);
        match word {
            Word::Flag('h') => return Err(self.say(help(self.version))),
            Word::Flag('v' | 'V') => return Err(self.say(&self.about())),
            Word::Flag('k') => self.keeps_alive = true,
            Word::Value('n', value) => self.requests = count(value),
            Word::Value('t', value) => self.threads = small(value),
            Word::Value('c', value) => self.clients = small(value),
            Word::Value('H', value) => self.headers.push(value.to_owned()),
            Word::Flag('q') => self.is_quiet = true,
            Word::Flag('d' | 'l' | 'r' | 'S') => {} // what they leave out is not printed anyway, or they say nothing in 0.5
            Word::Flag('i') => self.add("method", "HEAD"),
            Word::Value('m', value) => self.add("method", value),
            Word::Value('K', value) => self.add("pipeline", value),
            Word::Value('C', value) => self.headers.push(format!("Cookie: {value}")),
            Word::Value('T', value) => self.headers.push(format!("Content-Type: {value}")),
            Word::Value('A', value) => self.add("user", value),
            Word::Value('p', value) => self.send("POST", value),
            Word::Value('u', value) => self.send("PUT", value),
            Word::Value('s', value) => self.add("timeout", &format!("{value}s")),
            Word::Value('B', value) => self.add("source", value),
            Word::Flag(letter) | Word::Value(letter, _) => return Err(self.cannot(letter)),
            Word::Unknown(letter) => return Err(self.refuse(&format!("unkown option: -{letter}"))),
            Word::Lacking(_) => {}
        }
        Ok(())
    }

    fn add(&mut self, name: &'static str, value: &str) {
        self.more.push((name, value.to_owned()));
    }

    fn send(&mut self, method: &str, file: &str) {
        self.add("method", method);
        self.add("body", &format!("@{file}"));
    }

    fn check(&self) -> Result<(), Said> {
        let wrong = if self.threads == 0 {
            "thread count has to be > 0\n"
        } else if self.clients == 0 {
            "number of concurrent clients has to be > 0\n"
        } else if self.requests == 0 {
            "number of requests has to be > 0\n"
        } else if self.requests == u64::MAX
            || self.threads > self.requests
            || self.threads > self.clients
            || self.clients > self.requests
        {
            "insane arguments\n"
        } else if self.url.starts_with("https://") {
            return Err(Said {
                out: self.version.banner().to_owned(),
                err: "error: no ssl support yet\n".to_owned(),
                status: 1,
                ..Said::default()
            });
        } else {
            return Ok(());
        };
        Err(self.refuse(wrong))
    }

    /// The settings of `weigh run` that make the same load.
    pub(super) fn settings(&self) -> Settings {
        let mut all: Settings = vec![
            ("url", self.url.clone()),
            ("requests", self.requests.to_string()),
            ("connections", self.clients.to_string()),
            ("threads", self.threads.to_string()),
        ];
        let is_agent = |header: &String| header.to_ascii_lowercase().starts_with("user-agent:");
        if !self.headers.iter().any(is_agent) {
            let agent = format!("User-Agent: weighttp/{}", self.version.number());
            all.push(("header", agent));
        }
        all.extend(self.headers.iter().map(|header| ("header", header.clone())));
        if !self.keeps_alive {
            all.push(("no-keepalive", String::new()));
        }
        all.extend(self.more.iter().cloned());
        all.extend(crate::ONE_ROUND.map(|(name, value)| (name, value.to_owned())));
        all
    }

    /// So many of `all` for each thread: the first have one more where they cannot have the same.
    pub(super) fn share(&self, all: u64, thread: u64) -> u64 {
        all / self.threads + u64::from(thread < all % self.threads)
    }

    /// The lines that name the threads.
    pub(super) fn spawning(&self) -> String {
        let line = |thread: u64| {
            let (clients, requests) = (
                self.share(self.clients, thread),
                self.share(self.requests, thread),
            );
            let thread = thread + 1;
            format!(
                "spawning thread #{thread}: {clients} concurrent requests, {requests} total requests\n"
            )
        };
        (0..self.threads).map(line).collect()
    }

    /// The first line of all that it prints.
    pub(super) fn banner(&self) -> &'static str {
        self.version.banner()
    }

    fn about(&self) -> String {
        let (number, weigh) = (self.version.number(), env!("CARGO_PKG_VERSION"));
        format!("version:    {number}\nbuild-date: (weigh {weigh})\n\n")
    }

    fn say(&self, text: &str) -> Said {
        Said::out(self.version.banner().to_owned() + text)
    }

    fn refuse(&self, why: &str) -> Said {
        Said {
            out: self.version.banner().to_owned() + help(self.version),
            err: format!("error: {why}\n"),
            status: 1,
            ..Said::default()
        }
    }

    /// What the original can and we do not.
    fn cannot(&self, letter: char) -> Said {
        let instead = match letter {
            '6' => "write the address into the URL: weigh run 'http://[::1]:80/'",
            'X' => "use weigh run --unix PATH; proxies are not supported",
            'P' => "proxies are not supported",
            'e' => "use weigh run --json, and weigh report --format csv",
            'a' => "use weigh run --duration",
            'b' | 'F' => "weigh has no option for it",
            _ => "see weigh run --help",
        };
        Said {
            out: self.version.banner().to_owned(),
            err: format!("error: weigh does not take -{letter} of weighttp; {instead}\n"),
            status: 1,
            ..Said::default()
        }
    }
}

fn help(version: Version) -> &'static str {
    match version {
        Version::Text => HELP,
        Version::Json => HELP_JSON,
    }
}

const HELP: &str = "\
weighttp <options> <url>
  -n num   number of requests    (mandatory)
  -t num   threadcount           (default: 1)
  -c num   concurrent clients    (default: 1)
  -k       keep alive            (default: no)
  -6       use ipv6              (default: no)
  -H str   add header to request
  -h       show help and exit
  -v       show version and exit

example: weighttpd -n 10000 -c 10 -t 2 -k -H \"User-Agent: foo\" localhost/index.html

";

/// Ours: help is for people.
const HELP_JSON: &str = "\
weighttp <options> <url>
  -n num    number of requests (mandatory)
  -t num    threads (default: 1)
  -c num    concurrent clients (default: 1)
  -k        keep alive
  -K num    requests pipelined on a connection
  -i, -m M  method HEAD, or M
  -H str    add header to request
  -C str    cookie
  -A u:p    basic authentication
  -p file   POST the file; -u file: PUT it; -T type: its content type
  -B addr   local addresses
  -s secs   timeout of a request
  -q        no progress
  -h, -V    show help, or version, and exit

";

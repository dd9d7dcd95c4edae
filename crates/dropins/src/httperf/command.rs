//! The command line, read and refused as httperf does, and the load that it asks for.

use super::wset::WorkingSet;
use crate::long::{Long, Takes, options};
use crate::printf::{decimal, trimmed, whole};
use crate::{Said, Settings};

/// What httperf takes.
const LONGS: [Long; 38] = [
    ("add-header", Takes::Value),
    ("burst-length", Takes::Value),
    ("client", Takes::Value),
    ("close-with-reset", Takes::Nothing),
    ("debug", Takes::Value),
    ("failure-status", Takes::Value),
    ("help", Takes::Nothing),
    ("hog", Takes::Nothing),
    ("http-version", Takes::Value),
    ("max-connections", Takes::Value),
    ("max-piped-calls", Takes::Value),
    ("method", Takes::Value),
    ("no-host-hdr", Takes::Nothing),
    ("num-calls", Takes::Value),
    ("num-conns", Takes::Value),
    ("period", Takes::Value),
    ("port", Takes::Value),
    ("print-reply", Takes::Perhaps),
    ("print-request", Takes::Perhaps),
    ("rate", Takes::Value),
    ("recv-buffer", Takes::Value),
    ("retry-on-failure", Takes::Nothing),
    ("send-buffer", Takes::Value),
    ("server", Takes::Value),
    ("server-name", Takes::Value),
    ("session-cookies", Takes::Nothing),
    ("ssl", Takes::Nothing),
    ("ssl-ciphers", Takes::Value),
    ("ssl-no-reuse", Takes::Nothing),
    ("think-timeout", Takes::Value),
    ("timeout", Takes::Value),
    ("uri", Takes::Value),
    ("verbose", Takes::Nothing),
    ("version", Takes::Nothing),
    ("wlog", Takes::Value),
    ("wsess", Takes::Value),
    ("wsesslog", Takes::Value),
    ("wset", Takes::Value),
];
const SHORTS: [(char, Long); 4] = [
    ('d', ("debug", Takes::Value)),
    ('h', ("help", Takes::Nothing)),
    ('v', ("verbose", Takes::Nothing)),
    ('V', ("version", Takes::Nothing)),
];
/// Sizes of socket buffers that it asks the kernel for where nothing is said.
pub(super) const SEND_BUFFER: u64 = 4096;
pub(super) const RECEIVE_BUFFER: u64 = 16384;
/// In place of no time limit, which weigh does not have.
const NO_LIMIT_SECONDS: f64 = 86_400.0;

/// How connections are spaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spacing {
    /// Each begins when the one before it is over.
    Sequential,
    /// Evenly, so many a second.
    Even(f64),
    /// At random, with this mean time between two of them, in seconds.
    Exponential(f64),
}

/// A load in its words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Command {
    pub(super) is_verbose: bool,
    pub(super) is_hog: bool,
    pub(super) think_timeout: f64,
    pub(super) timeout: f64,
    pub(super) client: (u64, u64),
    pub(super) server: String,
    pub(super) server_name: Option<String>,
    port: Option<u16>,
    pub(super) uri: String,
    pub(super) failure_status: u64,
    pub(super) version: (u64, u64),
    pub(super) max_connections: u64,
    pub(super) max_piped_calls: u64,
    pub(crate) spacing: Spacing,
    pub(super) retries: bool,
    pub(super) is_encrypted: bool,
    pub(super) resumes: bool,
    pub(super) header: Option<String>,
    pub(super) method: Option<String>,
    pub(crate) connections: u64,
    pub(crate) calls: u64,
    pub(super) burst: u64,
    pub(super) working_set: Option<WorkingSet>,
    /// What it says on standard error before the load.
    pub(super) notices: String,
}

impl Default for Command {
    fn default() -> Command {
        Command {
            is_verbose: false,
            is_hog: false,
            think_timeout: 0.0,
            timeout: 0.0,
            client: (0, 1),
            server: "localhost".to_owned(),
            server_name: None,
            port: None,
            uri: "/".to_owned(),
            failure_status: 0,
            version: (1, 1),
            max_connections: 0,
            max_piped_calls: 0,
            spacing: Spacing::Sequential,
            retries: false,
            is_encrypted: false,
            resumes: true,
            header: None,
            method: None,
            connections: 1,
            calls: 1,
            burst: 1,
            working_set: None,
            notices: String::new(),
        }
    }
}

/// Reads the words; what is printed instead where nothing is to be loaded.
pub(crate) fn read(words: &[String]) -> Result<Command, Said> {
    let mut command = Command::default();
    for item in options(words, &LONGS, &SHORTS) {
        let (name, value) = item.map_err(|why| error(&why))?;
        match value {
            Some(value) => command.take(name, &value)?,
            None => command.switch(name)?,
        }
    }
    command.check()?;
    Ok(command)
}

impl Command {
    fn switch(&mut self, name: &'static str) -> Result<(), Said> {
        match name {
            "help" => return Err(Said::out(USAGE)),
            "version" => return Err(Said::out(ABOUT)),
            "hog" => self.is_hog = true,
            "retry-on-failure" => self.retries = true,
            "ssl" => self.is_encrypted = true,
            "ssl-no-reuse" => self.resumes = false,
            "verbose" => self.is_verbose = true,
            name => return Err(cannot(name)),
        }
        Ok(())
    }

    fn take(&mut self, name: &'static str, value: &str) -> Result<(), Said> {
        let illegal = |what: &str| error(&format!("illegal {what} {value}"));
        let count = |what: &str| whole(value).ok_or_else(|| illegal(what));
        let seconds = |what: &str| decimal(value).ok_or_else(|| illegal(what));
        match name {
            "server" => value.clone_into(&mut self.server),
            "server-name" => self.server_name = Some(value.to_owned()),
            "uri" => value.clone_into(&mut self.uri),
            "method" => self.method = Some(value.to_owned()),
            "add-header" => self.header = Some(value.to_owned()),
            "num-calls" => self.calls = count("number of calls")?,
            "num-conns" => self.connections = count("number of connections")?,
            "max-connections" => self.max_connections = count("max. # of connection")?,
            "max-piped-calls" => self.max_piped_calls = count("max. # of piped calls")?,
            "timeout" => self.timeout = seconds("connect timeout")?,
            "think-timeout" => self.think_timeout = seconds("think timeout value")?,
            "port" => {
                let port = whole(value).and_then(|port| port.try_into().ok());
                self.port = Some(port.ok_or_else(|| illegal("port number"))?);
            }
            "burst-length" => match count("burst-length")? {
                0 => return Err(illegal("burst-length")),
                burst => self.burst = burst,
            },
            "failure-status" => match count("failure status")? {
                0 => return Err(illegal("failure status")),
                status => self.failure_status = status,
            },
            "http-version" => {
                let parts = value.split_once('.');
                let parts = parts.and_then(|(major, minor)| Some((whole(major)?, whole(minor)?)));
                self.version = parts.ok_or_else(|| illegal("version number"))?;
            }
            "rate" => {
                let rate = seconds("request rate")?;
                self.spacing = match rate > 0.0 {
                    true => Spacing::Even(rate),
                    false => Spacing::Sequential,
                };
            }
            "period" => self.spacing = period(value)?,
            "client" => self.client = client(value)?,
            "wset" => self.working_set = Some(WorkingSet::read(value).map_err(|why| error(&why))?),
            "send-buffer" if whole(value) == Some(SEND_BUFFER) => {}
            "recv-buffer" if whole(value) == Some(RECEIVE_BUFFER) => {}
            "debug" => self.notices += "httperf: sorry, need to recompile with -DDEBUG on...\n",
            name => return Err(cannot(name)),
        }
        Ok(())
    }

    /// What only weigh refuses.
    fn check(&self) -> Result<(), Said> {
        let is_scheduled = self.spacing != Spacing::Sequential;
        let why = if self.calls == 0 || self.connections == 0 {
            "weigh sends at least one request: --num-calls and --num-conns must be at least 1"
        } else if self.connections.checked_mul(self.calls).is_none() {
            "--num-conns times --num-calls is more than weigh can count; lower one of them"
        } else if !self.uri.starts_with('/') {
            "weigh needs a --uri that begins with /"
        } else if ![(1, 0), (1, 1)].contains(&self.version) {
            "weigh speaks HTTP/1.0 and HTTP/1.1: --http-version must be 1.0 or 1.1"
        } else if self.burst > 1 && is_scheduled {
            "weigh does not take --burst-length with --rate or --period: a request behind another would wait for it. Remove \
             --burst-length, or the rate"
        } else {
            return Ok(());
        };
        Err(error(why))
    }

    /// The port, 80 or 443 where none is given.
    pub(super) fn port(&self) -> u16 {
        let usual = if self.is_encrypted { 443 } else { 80 };
        self.port.unwrap_or(usual)
    }

    /// Requests of all connections together.
    pub(crate) fn requests(&self) -> u64 {
        self.connections.saturating_mul(self.calls)
    }

    /// The settings of `weigh run` that make the same load.
    pub(crate) fn settings(&self) -> Result<Settings, Said> {
        let mut all = self.urls()?;
        let mut add = |name, value: String| all.push((name, value));
        match self.spacing {
            Spacing::Sequential => add("connections", "1".to_owned()),
            Spacing::Even(rate) => {
                add("connection-rate", a_second(rate));
                add("arrivals", "constant".to_owned());
            }
            Spacing::Exponential(mean) => {
                add("connection-rate", a_second(1.0 / mean));
                add("arrivals", "poisson".to_owned());
            }
        }
        add("requests-per-connection", self.calls.to_string());
        add("requests", self.requests().to_string());
        if self.burst > 1 {
            add("pipeline", self.burst.min(self.calls).to_string());
        }
        add("threads", "1".to_owned());
        add("timeout", self.limit(self.timeout + self.think_timeout));
        add("connect-timeout", self.limit(self.timeout));
        add("expect", "100..999".to_owned());
        if self.version == (1, 0) {
            add("http1.0", String::new());
        }
        if self.is_encrypted {
            add("insecure", String::new());
            let resumes = if self.resumes { "on" } else { "off" };
            add("tls-resume", resumes.to_owned());
        }
        if let Some(method) = &self.method {
            add("method", method.clone());
        }
        add("header", "User-Agent: httperf/0.9.0".to_owned());
        let name = self.server_name.clone().unwrap_or_else(|| self.host());
        add("header", format!("Host: {name}"));
        let headers = self.header.as_deref().map_or(String::new(), unescaped);
        for line in headers.lines().filter(|line| !line.is_empty()) {
            add("header", line.to_owned());
        }
        all.extend(crate::ONE_ROUND.map(|(name, value)| (name, value.to_owned())));
        Ok(all)
    }

    fn urls(&self) -> Result<Settings, Said> {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let place = format!("{scheme}://{}:{}", self.host(), self.port());
        let paths = match &self.working_set {
            None => vec![self.uri.clone()],
            Some(set) => {
                let paths = set.paths(&self.uri, self.client, self.requests());
                paths.map_err(|why| error(&why))?
            }
        };
        let urls = paths
            .into_iter()
            .map(|path| ("url", format!("{place}{path}")));
        Ok(urls.collect())
    }

    /// The server as a URL has it.
    fn host(&self) -> String {
        match self.server.contains(':') && !self.server.starts_with('[') {
            true => format!("[{}]", self.server),
            false => self.server.clone(),
        }
    }

    /// A time limit; where `--timeout` sets none, a long one.
    fn limit(&self, seconds: f64) -> String {
        let seconds = match self.timeout > 0.0 {
            true => seconds,
            false => NO_LIMIT_SECONDS,
        };
        format!("{}ms", (seconds * 1e3).ceil().max(1.0))
    }
}

/// A rate in the form that weigh reads.
fn a_second(rate: f64) -> String {
    trimmed(&format!("{rate:.6}")).to_owned()
}

/// The value of `--period`.
fn period(text: &str) -> Result<Spacing, Said> {
    let (letter, rest) = match text.chars().next() {
        Some(letter) if !letter.is_ascii_digit() => (letter, &text[letter.len_utf8()..]),
        _ => ('d', text),
    };
    let seconds = || {
        let seconds = decimal(rest).filter(|seconds| *seconds >= 0.0);
        seconds.ok_or_else(|| error(&format!("illegal mean interarrival time {rest}")))
    };
    match letter.to_ascii_lowercase() {
        'd' => Ok(match seconds()? {
            0.0 => Spacing::Sequential,
            seconds => Spacing::Even(1.0 / seconds),
        }),
        'e' => Ok(match seconds()? {
            0.0 => Spacing::Sequential,
            seconds => Spacing::Exponential(seconds),
        }),
        'u' => Err(error(
            "weigh does not take --period u: use --period e with the mean time between two connections, which spaces them at random",
        )),
        _ => Err(error(&format!(
            "illegal interarrival distribution '{letter}' in {text}"
        ))),
    }
}

/// The value of `--client`.
fn client(text: &str) -> Result<(u64, u64), Said> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit());
    let (id, rest) = text.split_at(digits.unwrap_or(text.len()));
    let id = whole(id).ok_or_else(|| error(&format!("bad client id (rest: `{text}')")))?;
    let Some(clients) = rest.strip_prefix('/') else {
        return Err(error(&format!(
            "client id not followed by `/' (rest: `{rest}')"
        )));
    };
    let number = whole(clients).filter(|number| id < *number);
    let number =
        number.ok_or_else(|| error(&format!("bad number of clients (rest: `{clients}')")))?;
    Ok((id, number))
}

/// The text of `--add-header` with its escapes: `\n` ends a line as HTTP does, `\a` is a line feed, `\101` a letter by its octal code.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push_str("\r\n"),
            Some('r') => plain.push('\r'),
            Some('a') => plain.push('\n'),
            Some(digit @ '0'..='7') => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                while let Some(next) = letters.peek().and_then(|next| next.to_digit(8)) {
                    code = (code * 8 + next) & 0xff;
                    letters.next();
                }
                plain.extend(char::from_u32(code));
            }
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
    }
    plain
}

/// A complaint of httperf's form.
pub(super) fn error(why: &str) -> Said {
    Said {
        err: format!("httperf: {why}\n"),
        status: 1,
        ..Said::default()
    }
}

/// What the original can and we do not.
fn cannot(name: &str) -> Said {
    let instead = match name {
        "wsess" | "wsesslog" | "session-cookies" => {
            "weigh has no sessions with think times; use --num-calls for several requests on a connection"
        }
        "wlog" => "use weigh run --urls FILE, with a path on each line",
        "print-reply" | "print-request" => "use weigh run --show-exchange",
        "close-with-reset" => "weigh closes connections as TCP does",
        "no-host-hdr" => "weigh always sends Host; --server-name changes it",
        "send-buffer" | "recv-buffer" => "weigh leaves the size of buffers to the kernel",
        "ssl-ciphers" => "server and weigh agree on TLS 1.2 or 1.3 and a cipher by themselves",
        _ => "see weigh run --help",
    };
    error(&format!("weigh does not take --{name}: {instead}"))
}

const ABOUT: &str = concat!(
    "httperf: httperf-0.9.0 (weigh ",
    env!("CARGO_PKG_VERSION"),
    ") without DEBUG without TIME_SYSCALLS.\n"
);

/// Ours: what is taken.
const USAGE: &str = "\
Usage: httperf [-hdvV] [--add-header S] [--burst-length N] [--client N/N]
\t[--debug N] [--failure-status N] [--help] [--hog]
\t[--http-version S] [--max-connections N] [--max-piped-calls N]
\t[--method S] [--num-calls N] [--num-conns N] [--period [d|e]T]
\t[--port N] [--rate X] [--retry-on-failure] [--server S]
\t[--server-name S] [--ssl] [--ssl-no-reuse] [--think-timeout X]
\t[--timeout X] [--uri S] [--verbose] [--version] [--wset N,X]
";

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Result<Command, Said> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
    }

    fn settings(line: &str) -> Settings {
        command(line).unwrap().settings().unwrap()
    }

    #[track_caller]
    fn assert_has(line: &str, wanted: &[(&'static str, &str)]) {
        let all = settings(line);
        for (name, value) in wanted {
            let pair = (*name, (*value).to_owned());
            assert!(all.contains(&pair), "{line}: {pair:?} of {all:?}");
        }
    }

    #[test]
    fn connections_by_a_rate_become_an_open_loop_of_connections() {
        assert_has(
            "--server h --port 81 --uri /a --num-conn 500 --num-call 10 --ra 200 --timeo 5",
            &[
                ("url", "http://h:81/a"),
                ("connection-rate", "200"),
                ("arrivals", "constant"),
                ("requests-per-connection", "10"),
                ("requests", "5000"),
                ("timeout", "5000ms"),
                ("connect-timeout", "5000ms"),
                ("header", "Host: h"),
            ],
        );
        assert_has(
            "--period e0.3 --think-timeout 2 --timeout 1",
            &[
                ("connection-rate", "3.333333"),
                ("arrivals", "poisson"),
                ("timeout", "3000ms"),
            ],
        );
        assert_has("--period d0.25", &[("connection-rate", "4")]);
    }

    #[test]
    fn without_a_rate_connections_follow_one_another() {
        for line in ["", "--rate 0", "--period 0", "--rate=-4"] {
            let all = settings(line);
            assert!(
                all.contains(&("connections", "1".to_owned())),
                "{line}: {all:?}"
            );
            assert!(
                all.iter().all(|(name, _)| *name != "connection-rate"),
                "{line}"
            );
        }
        assert_has(
            "--num-calls 6 --burst 2 --ssl --ssl-no-reuse",
            &[
                ("url", "https://localhost:443/"),
                ("pipeline", "2"),
                ("tls-resume", "off"),
                ("timeout", "86400000ms"),
            ],
        );
    }

    #[test]
    fn added_headers_are_taken_apart_at_their_escapes() {
        let words = ["--add-header", r"X-A: 1\nX-B: \101b\n"].map(str::to_owned);
        let all = read(&words).unwrap().settings().unwrap();
        for line in ["X-A: 1", "X-B: Ab"] {
            assert!(all.contains(&("header", line.to_owned())), "{all:?}");
        }
    }

    #[test]
    fn the_first_wrong_word_is_refused_as_httperf_does() {
        let cases = [
            ("--rate abc --foo", "illegal request rate abc"),
            ("--foo --rate abc", "unrecognized option '--foo'"),
            ("--num-conns 5x", "illegal number of connections 5x"),
            ("--num-calls x", "illegal number of calls x"),
            ("--port 70000", "illegal port number 70000"),
            ("--burst-length 0", "illegal burst-length 0"),
            ("--period x5", "illegal interarrival distribution 'x' in x5"),
            ("--period e", "illegal mean interarrival time "),
            ("--client 2", "client id not followed by `/' (rest: `')"),
            ("--client 2/2", "bad number of clients (rest: `2')"),
            ("--http-version 1", "illegal version number 1"),
            ("--timeout 5s", "illegal connect timeout 5s"),
            (
                "--wset 5",
                "bad target miss rate (2nd parameter) in --wset arg (rest: `5')",
            ),
            ("--wsess 1,2,3", "weigh does not take --wsess: "),
            ("--wsesslog 1,2,f", "weigh does not take --wsesslog: "),
            ("--print-reply=body", "weigh does not take --print-reply: "),
            ("--recv-buffer 1", "weigh does not take --recv-buffer: "),
            ("--burst 2 --rate 5", "weigh does not take --burst-length"),
            ("--num-calls 0", "weigh sends at least one request"),
        ];
        for (line, wanted) in cases {
            let said = command(line).unwrap_err();
            assert_eq!(said.status, 1, "{line}");
            assert!(
                said.err.starts_with(&format!("httperf: {wanted}")),
                "{line}: {}",
                said.err
            );
        }
        assert_eq!(command("--help").unwrap_err().status, 0);
    }
}

//! The command line, read and refused as ab does.

use super::text::BANNER;
use crate::getopt::{Word, atoi, getopt_in_front};
use crate::{Said, Settings};

/// What ab takes.
const OPTIONS: &str = "n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:";
/// The most connections that it takes.
const CONCURRENCY_MOST: i64 = 20_000;
/// Requests of a load that has a time limit.
const TIMED_REQUESTS: u64 = 50_000;
/// Up to so many requests nothing is said of the progress.
const QUIET_UP_TO: u64 = 150;
/// EINVAL: what ab ends with where it prints its usage.
const INVALID: u8 = 22;

/// A load in its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) requests: u64,
    pub(super) concurrency: u64,
    seconds: Option<u64>,
    timeout: u64,
    pub(super) keeps_alive: bool,
    pub(super) is_variable: bool,
    is_quiet: bool,
    pub(super) is_html: bool,
    /// Attributes of `<table>`, `<tr>` and `<td>`.
    pub(super) attributes: [String; 3],
    pub(super) has_estimators: bool,
    pub(super) has_percentiles: bool,
    pub(super) csv: Option<String>,
    method: Option<String>,
    body: Option<String>,
    content_type: Option<String>,
    headers: Vec<String>,
    cookies: Vec<String>,
    more: Settings,
    url: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

/// Reads the words; what is printed instead where nothing is to be loaded.
pub(super) fn read(words: &[String]) -> Result<Command, Said> {
    let mut command = Command {
        requests: 1,
        concurrency: 1,
        timeout: 30,
        has_estimators: true,
        has_percentiles: true,
        ..Command::default()
    };
    let reading = getopt_in_front(words, OPTIONS);
    // It complains of a word that it does not know, and goes on with those behind.
    let mut complaint = String::new();
    for word in reading.options {
        match word {
            Word::Unknown(letter) => complaint = format!("ab: illegal option -- {letter}\n"),
            Word::Lacking(letter) => {
                complaint = format!("ab: option requires an argument -- {letter}\n");
            }
            Word::Flag(letter) => command.switch(letter)?,
            Word::Value(letter, value) => command.take(letter, value)?,
        }
    }
    let [url] = reading.operands[..] else {
        return Err(usage(&format!(
            "{complaint}ab: wrong number of arguments\n"
        )));
    };
    if !command.locate(url) {
        return Err(usage(&format!("{complaint}ab: invalid URL\n")));
    }
    command.check()?;
    Ok(command)
}

impl Command {
    fn switch(&mut self, letter: char) -> Result<(), Said> {
        match letter {
            'k' => self.keeps_alive = true,
            'l' => self.is_variable = true,
            'q' => self.is_quiet = true,
            'w' => self.is_html = true,
            'S' => self.has_estimators = false,
            'd' => self.has_percentiles = false,
            'i' => self.ask("HEAD", "Cannot mix HEAD with other methods\n")?,
            'r' => {} // weigh never ends at an error
            'V' => return Err(Said::out(BANNER)),
            'h' => return Err(usage("")),
            letter => return Err(cannot(letter)),
        }
        Ok(())
    }

    fn take(&mut self, letter: char, value: &str) -> Result<(), Said> {
        match letter {
            'n' => {
                self.requests = u64::try_from(atoi(value)).unwrap_or(0);
                if self.requests == 0 {
                    return Err(error("Invalid number of requests\n"));
                }
            }
            'c' => match atoi(value) {
                ..0 => self.concurrency = u64::MAX,
                number => self.concurrency = number.unsigned_abs(),
            },
            't' => {
                self.seconds = u64::try_from(atoi(value)).ok();
                self.requests = TIMED_REQUESTS;
            }
            's' => self.timeout = u64::try_from(atoi(value)).unwrap_or(0),
            'B' => self.add("source", value),
            'p' => self.send("POST", value)?,
            'u' => self.send("PUT", value)?,
            'm' => self.method = Some(value.to_owned()),
            'T' => self.content_type = Some(value.to_owned()),
            'C' => self.cookies.push(value.to_owned()),
            'H' => self.headers.push(value.to_owned()),
            'A' => self.add("user", value),
            'e' => self.csv = Some(value.to_owned()),
            'x' | 'y' | 'z' => {
                self.is_html = true;
                let place = usize::from(letter as u8 - b'x');
                value.clone_into(&mut self.attributes[place]);
            }
            'v' if atoi(value) < 2 => {}
            'E' => {
                self.add("cert", value);
                self.add("key", value);
            }
            'f' if value == "ALL" => {}
            letter => return Err(cannot(letter)),
        }
        Ok(())
    }

    fn add(&mut self, name: &'static str, value: &str) {
        self.more.push((name, value.to_owned()));
    }

    fn ask(&mut self, method: &str, otherwise: &str) -> Result<(), Said> {
        if self.method.is_some() {
            return Err(error(otherwise));
        }
        self.method = Some(method.to_owned());
        Ok(())
    }

    fn send(&mut self, method: &str, file: &str) -> Result<(), Said> {
        if self.method.as_deref() == Some("HEAD") {
            return Err(error(&format!("Cannot mix {method} with HEAD\n")));
        }
        self.ask(method, "Cannot mix POST with other methods\n")?;
        if let Err(why) = std::fs::metadata(file) {
            let why = match why.kind() {
                std::io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                std::io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
                _ => why.to_string(),
            };
            let text = format!("ab: Could not open POST data file ({file}): {why}");
            return Err(error(&text));
        }
        self.body = Some(file.to_owned());
        Ok(())
    }

    /// Takes the URL apart; false where ab would not. It wants a path.
    fn locate(&mut self, url: &str) -> bool {
        let (rest, usual) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (rest, 80),
            (_, Some(rest)) => (rest, 443),
            (None, None) => (url, 80),
        };
        let Some(place) = rest.find('/') else {
            return false;
        };
        let (authority, path) = rest.split_at(place);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
            _ => (authority, Some(usual)),
        };
        let Some(port) = port.filter(|_| !host.is_empty()) else {
            return false;
        };
        self.host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        (self.port, self.path, self.url) = (port, path.to_owned(), url.to_owned());
        true
    }

    fn check(&self) -> Result<(), Said> {
        let most = u64::try_from(CONCURRENCY_MOST).unwrap_or(u64::MAX);
        if self.concurrency == u64::MAX {
            return Err(usage(&format!(
                "ab: Invalid Concurrency [Range 0..{CONCURRENCY_MOST}]\n"
            )));
        }
        if self.concurrency > self.requests {
            return Err(usage(
                "ab: Cannot use concurrency level greater than total number of requests\n",
            ));
        }
        if self.concurrency > most {
            return Err(usage(&format!(
                "ab: Invalid Concurrency [Range 0..{CONCURRENCY_MOST}]\n"
            )));
        }
        Ok(())
    }

    /// After how many requests a line of progress is due; none where there are no such lines.
    pub(super) fn heartbeat(&self) -> Option<u64> {
        let is_told = !self.is_quiet && self.requests > QUIET_UP_TO;
        is_told.then(|| (self.requests / 10).max(100))
    }

    /// Whether requests have a body.
    pub(super) fn sends_body(&self) -> bool {
        self.body.is_some()
    }

    /// The settings of `weigh run` that make the same load.
    pub(super) fn settings(&self) -> Settings {
        let mut all: Settings = vec![
            ("url", self.url.clone()),
            ("connections", self.concurrency.max(1).to_string()),
            ("threads", "1".to_owned()),
            ("http1.0", String::new()),
            ("timeout", format!("{}s", self.timeout.max(1))),
            ("connect-timeout", format!("{}s", self.timeout.max(1))),
            ("expect", "100..999".to_owned()),
        ];
        all.push(match self.seconds {
            Some(seconds) => ("duration", format!("{}s", seconds.max(1))),
            None => ("requests", self.requests.to_string()),
        });
        if !self.keeps_alive {
            all.push(("no-keepalive", String::new()));
        }
        if self.url.starts_with("https://") {
            all.push(("insecure", String::new()));
        }
        let has = |name: &str| {
            let name = format!("{name}:");
            let mut headers = self.headers.iter();
            headers.any(|header| header.to_ascii_lowercase().starts_with(&name))
        };
        if !has("user-agent") {
            all.push(("header", "User-Agent: ApacheBench/2.3".to_owned()));
        }
        all.extend(self.method.iter().map(|method| ("method", method.clone())));
        if let Some(file) = &self.body {
            all.push(("body", format!("@{file}")));
            let kind = self.content_type.as_deref().unwrap_or("text/plain");
            all.push(("header", format!("Content-Type: {kind}")));
        }
        if !self.cookies.is_empty() {
            all.push(("header", format!("Cookie: {}", self.cookies.join("; "))));
        }
        all.extend(self.headers.iter().map(|header| ("header", header.clone())));
        all.extend(self.more.iter().cloned());
        all.extend(crate::ONE_ROUND.map(|(name, value)| (name, value.to_owned())));
        all
    }
}

/// A complaint without the usage.
fn error(why: &str) -> Said {
    Said {
        err: format!("{why}\n"),
        status: 1,
        ..Said::default()
    }
}

/// A complaint, if any, and the usage.
fn usage(complaint: &str) -> Said {
    Said {
        err: format!("{complaint}{USAGE}"),
        status: INVALID,
        ..Said::default()
    }
}

/// What the original can and we do not.
fn cannot(letter: char) -> Said {
    let instead = match letter {
        'g' => "weigh keeps distributions and not each request; -e has the percentiles",
        'b' => "weigh leaves the size of buffers to the kernel",
        'X' | 'P' => "proxies are not supported",
        'v' => "use weigh run --show-exchange",
        'I' => "weigh names the host to a server over TLS",
        'Z' | 'f' => "server and weigh agree on TLS 1.2 or 1.3 and a cipher by themselves",
        _ => "see weigh run --help",
    };
    error(&format!("ab: weigh does not take -{letter}: {instead}"))
}

/// Ours: what is taken, in ab's first two lines, which scripts may look for.
const USAGE: &str = "\
Usage: ab [options] [http[s]://]hostname[:port]/path
Options are:
    -n requests     Number of requests to perform
    -c concurrency  Number of multiple requests to make at a time
    -t timelimit    Seconds that the load takes
    -s timeout      Seconds to wait for a response, 30 by default
    -B address      Local address
    -p postfile     File to POST; -u putfile: to PUT; -T: its content type
    -i              HEAD instead of GET; -m method: another one
    -C -H -A        Cookie, header line, user:password
    -k              Keep connections open
    -l              Do not compare the lengths of responses
    -w -x -y -z     HTML tables, and attributes of table, tr, td
    -e filename     Percentiles as CSV
    -d -S -q        No percentiles, no deviations, no progress
    -E certfile     Client certificate and key
    -V -h           Version, this text
";

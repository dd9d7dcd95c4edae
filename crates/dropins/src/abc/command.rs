//! The command line, read and refused as abc does.

use crate::{ONE_ROUND, Said, Settings};

/// More steps than anyone waits for.
const MOST_STEPS: u64 = 10_000;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// The name of the server's processes; none where only requests are counted.
    pub(super) server: Option<String>,
    /// The range as it was given.
    range: Option<String>,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) step: u64,
    pub(super) requests: u64,
    pub(super) rounds: u64,
    pub(super) keeps_alive: bool,
    /// Host and port, as `127.0.0.1:80`.
    pub(super) place: String,
    pub(super) path: String,
}

/// Reads the words; what is printed instead where nothing is to be loaded.
pub(super) fn read(words: &[String]) -> Result<Command, Said> {
    let (server, range, url) = match words {
        [] => return Err(help("")),
        [url] if !url.contains('.') => return Err(help(&format!("bad URL: {url}\n\n"))),
        [url] => (None, None, url),
        [range, url] if range.starts_with('[') => (None, Some(range.clone()), url),
        [server, url] => (Some(server.clone()), None, url),
        [server, range, url] => (Some(server.clone()), Some(range.clone()), url),
        _ => return Err(help("* too many arguments\n\n")),
    };
    let (place, path) = located(url).ok_or_else(|| help(&format!("bad URL: {url}\n\n")))?;
    let mut command = Command {
        server,
        range: range.clone(),
        from: 0,
        to: 1000,
        step: 10,
        requests: 100_000,
        rounds: 3,
        keeps_alive: true,
        place,
        path,
    };
    if let Some(range) = range {
        command
            .limit(&range)
            .ok_or_else(|| help("* bad range\n\n"))?;
    }
    if command.to.saturating_sub(command.from) / command.step >= MOST_STEPS {
        return Err(refused(&format!(
            "abc: weigh measures at most {MOST_STEPS} steps; raise STEP"
        )));
    }
    Ok(command)
}

/// Host with port, and path, of a URL without a scheme.
fn located(url: &str) -> Option<(String, String)> {
    let (host, path) = url.split_at(url.find('/')?);
    let place = match host.split_once(':') {
        None => format!("{host}:80"),
        Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
        Some(_) => return None,
    };
    (!host.is_empty() && !host.starts_with(':')).then(|| (place, path.to_owned()))
}

impl Command {
    /// Takes `[FROM-TO:NBR[A]+STEPxITER]`.
    fn limit(&mut self, range: &str) -> Option<()> {
        let inner = range.strip_prefix('[')?.split_once(']')?.0;
        let (from, rest) = inner.split_once('-')?;
        let (to, rest) = rest.split_once(':')?;
        let (requests, rest) = rest.split_once('+')?;
        let (step, rounds) = rest.split_once('x')?;
        self.from = number(from);
        self.to = number(to);
        self.requests = number(requests);
        self.step = number(step);
        self.rounds = number(rounds);
        self.keeps_alive = requests.ends_with('A');
        (self.requests > 0 && self.step > 0 && self.rounds > 0).then_some(())
    }

    /// The concurrencies: those of the range, and 1 in place of 0.
    pub(super) fn steps(&self) -> Vec<u64> {
        let steps = (0..MOST_STEPS).map(|step| self.from + step * self.step);
        let steps = steps.take_while(|clients| *clients <= self.to);
        steps.map(|clients| clients.max(1)).collect()
    }

    /// The settings of `weigh run` that make the load of a step.
    pub(super) fn settings(&self, clients: u64) -> Settings {
        let mut all: Settings = vec![
            ("url", format!("http://{}{}", self.place, self.path)),
            ("requests", self.requests.to_string()),
            ("connections", clients.to_string()),
            ("header", "User-Agent: weighttp/0.4".to_owned()),
            ("header", "Accept-Encoding: gzip".to_owned()),
        ];
        if !self.keeps_alive {
            all.push(("no-keepalive", String::new()));
        }
        let common = ONE_ROUND.iter().map(|(name, value)| match *name {
            "rounds" => ("rounds", self.rounds.to_string()),
            "server" => ("server", self.server.clone().unwrap_or("none".to_owned())),
            name => (name, (*value).to_owned()),
        });
        all.extend(common);
        all
    }

    /// The name of the result file.
    pub(super) fn file(&self) -> String {
        let server = self.server.as_deref().unwrap_or("x");
        let path = self.path[1..].replace('/', "!");
        let range = self.range.as_deref().unwrap_or("(null)");
        format!("{server}_{path}{range}.csv")
    }

    /// What is printed before everything else, and only on standard output.
    pub(super) fn preface(&self) -> String {
        let letter = self.range.as_deref().and_then(|range| {
            let (before, _) = range.split_once('+')?;
            before.chars().last()
        });
        let letter = letter.map(|letter| format!("pSTEP[-2]: '{letter}'\n"));
        format!(" \n{}", letter.unwrap_or_default())
    }
}

/// Digits, and letters that multiply what stands before them; what follows is passed over.
fn number(text: &str) -> u64 {
    let most = u64::from(u32::MAX);
    let mut number = 0_u64;
    for letter in text.chars() {
        number = match letter {
            '0'..='9' => number * 10 + u64::from(letter as u8 - b'0'),
            'k' => number * 1_000,
            'm' => number * 1_000_000,
            'K' => number << 10,
            'M' => number << 20,
            _ => break,
        }
        .min(most);
    }
    number
}

fn refused(why: &str) -> Said {
    Said {
        out: " \n".to_owned(),
        err: format!("{why}\n"),
        status: 1,
        ..Said::default()
    }
}

/// A complaint, if any, and the usage.
fn help(complaint: &str) -> Said {
    Said {
        out: " \n".to_owned(),
        err: format!("{complaint}{USAGE}"),
        status: 1,
        ..Said::default()
    }
}

/// Ours, in abc's first line.
const USAGE: &str = "\
usage:

./abc [SERVER_NAME] [FROM-TO:NBR[A]+STEPxITERATIONS] <IP[:PORT]/URI>

  SERVER_NAME: name of the server's processes, for CPU and RAM
  FROM-TO    : concurrencies, in steps of STEP
  NBR        : requests of each load; with A on connections that are kept
  ITERATIONS : loads at each concurrency

Without a range it is [0-1000:100kA+10x3]. Numbers may end in k, m, K (1024) or M.

";

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Result<Command, Said> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
    }

    #[test]
    fn the_range_is_read_as_abc_reads_it() {
        let read = command("nginx [0-50:2kA+10x3] 127.0.0.1:8080/a/100.html").unwrap();
        assert_eq!(read.steps(), [1, 10, 20, 30, 40, 50]);
        assert_eq!(
            (read.requests, read.rounds, read.keeps_alive),
            (2000, 3, true)
        );
        assert_eq!(read.file(), "nginx_a!100.html[0-50:2kA+10x3].csv");
        assert_eq!(read.preface(), " \npSTEP[-2]: 'A'\n");
        let settings = read.settings(10);
        for pair in [("connections", "10"), ("rounds", "3"), ("server", "nginx")] {
            assert!(
                settings.contains(&(pair.0, pair.1.to_owned())),
                "{settings:?}"
            );
        }
        let read = command("[1-2K:1M+1kx1] 127.0.0.1/").unwrap();
        assert_eq!(read.steps(), [1, 1001, 2001]);
        assert_eq!((read.requests, read.keeps_alive), (1 << 20, false));
        assert_eq!(
            (read.place.as_str(), read.file().as_str()),
            ("127.0.0.1:80", "x_[1-2K:1M+1kx1].csv")
        );
        let names: Vec<&str> = read.settings(1).iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&"no-keepalive"));
    }

    #[test]
    fn without_a_range_it_is_a_hundred_steps_with_connections_that_are_kept() {
        let read = command("127.0.0.1:8080/100.html").unwrap();
        assert_eq!(
            (read.steps().len(), read.requests, read.keeps_alive),
            (101, 100_000, true)
        );
        assert_eq!(read.file(), "x_100.html(null).csv");
        assert_eq!(command("gwan h/").unwrap().server.as_deref(), Some("gwan"));
    }

    #[test]
    fn what_abc_refuses_is_refused_in_its_words() {
        let cases = [
            ("", "usage:\n\n./abc [SERVER_NAME]"),
            ("gwan", "bad URL: gwan\n\nusage:"),
            ("a b c d", "* too many arguments\n\nusage:"),
            ("[0-1000+10x3] 127.0.0.1/", "* bad range\n\nusage:"),
            ("[0-9:1k+0x3] 127.0.0.1/", "* bad range\n\nusage:"),
            ("http://127.0.0.1/", "bad URL: http://127.0.0.1/\n\nusage:"),
            (
                "gwan [0-1m:1+1x1] 127.0.0.1/",
                "abc: weigh measures at most",
            ),
        ];
        for (line, wanted) in cases {
            let said = command(line).unwrap_err();
            assert_eq!((said.status, said.out.as_str()), (1, " \n"), "{line}");
            assert!(said.err.starts_with(wanted), "{line}: {}", said.err);
        }
    }
}

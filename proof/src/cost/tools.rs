//! Who is compared: for each tool how it is asked for the same thing, and how its own word for what it did is read.
//!
//! A tool that cannot be asked for a thing is left out of it, with the reason, rather than asked for something else.

use crate::machine::Versions;
use crate::programs;
use anyhow::{Result, ensure};
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// What every tool is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Connections at a time.
    pub connections: u64,
    /// Exchanges, exactly.
    pub exchanges: u64,
    /// A new connection for each.
    pub close: bool,
    /// For the tool that knows only time.
    pub seconds: f64,
    /// Bytes of each answer's body.
    pub body: u64,
}

/// Answers with longer bodies come in several pieces, which the floor does not read.
const FLOOR_BODY_MAX: u64 = 16 * 1024;

/// What a tool left behind.
pub struct Said<'a> {
    /// On standard output.
    pub text: &'a str,
    /// In the file that weigh records to.
    pub record: &'a Path,
}

/// One tool.
pub struct Tool {
    /// What it is called here and, if it is not ours, on the machine.
    pub name: &'static str,
    /// Our own program behind it.
    ours: Option<&'static str>,
    /// What makes it say its version.
    version: &'static str,
    /// How it is asked for `Ask` of the server at the address; weigh records to the file.
    arguments: fn(&Ask, SocketAddr, &Path) -> Vec<String>,
    /// How many exchanges it says it made; none if any failed.
    done: fn(&Ask, &Said<'_>) -> Option<u64>,
    /// Why it cannot do without keep-alive.
    no_close: Option<&'static str>,
    /// Whether it can be asked for a number of exchanges.
    counts: bool,
    /// Whether it runs only where it is asked for by name.
    by_name: bool,
}

/// All of them; the first is what the others are held against.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "floor",
        ours: Some("bare_client"),
        version: "",
        arguments: |ask, at, _| {
            let close = ask.close.then_some("--close");
            words(&[
                &format!("{at} -c {} -n {}", ask.connections, ask.exchanges),
                close.unwrap_or(""),
            ])
        },
        done: |_, said| before(said.text, " exchanges,"),
        no_close: None,
        counts: true,
        by_name: false,
    },
    Tool {
        name: "weigh",
        ours: Some("weigh"),
        version: "",
        arguments: weigh,
        done: |_, said| recorded(said.record),
        no_close: None,
        counts: true,
        by_name: false,
    },
    Tool {
        name: "weigh-uring",
        ours: Some("weigh"),
        version: "",
        arguments: |ask, at, record| {
            let mut words = weigh(ask, at, record);
            words.extend(["--ring".to_owned(), "io_uring".to_owned()]);
            words
        },
        done: |_, said| recorded(said.record),
        no_close: None,
        counts: true,
        by_name: true,
    },
    Tool {
        name: "ab",
        ours: None,
        version: "-V",
        arguments: |ask, at, _| {
            let keep = (!ask.close).then_some("-k");
            let load = format!("-q -c {} -n {}", ask.connections, ask.exchanges);
            words(&[&load, keep.unwrap_or(""), &format!("http://{at}/")])
        },
        done: |ask, said| {
            let all = after(said.text, "Complete requests:")?;
            let kept = after(said.text, "Keep-Alive requests:").unwrap_or(0);
            let sound = after(said.text, "Failed requests:")? == 0 && (ask.close || kept == all);
            sound.then_some(all)
        },
        no_close: None,
        counts: true,
        by_name: false,
    },
    Tool {
        name: "wrk",
        ours: None,
        version: "-v",
        arguments: |ask, at, _| {
            let load = format!("-t 1 -c {} -d {}s", ask.connections, ask.seconds.ceil());
            asking_to_close(ask, words(&[&load, &format!("http://{at}/")]))
        },
        done: |_, said| {
            let failed = said.text.contains("Socket errors") || said.text.contains("Non-2xx");
            before(said.text, " requests in").filter(|_| !failed)
        },
        no_close: None,
        counts: false,
        by_name: false,
    },
    Tool {
        name: "httperf",
        ours: None,
        version: "-V",
        arguments: |ask, at, _| {
            let calls = ask.exchanges / ask.connections;
            let load = format!(
                "--num-conns {} --num-calls {calls} --rate 10000",
                ask.connections
            );
            words(&[
                &format!("--hog --server {} --port {}", at.ip(), at.port()),
                &load,
            ])
        },
        done: |_, said| {
            let failed = after(said.text, "Errors: total ")?;
            after(said.text, " replies ").filter(|_| failed == 0)
        },
        no_close: Some("it opens connections at a rate, not a number at a time"),
        counts: true,
        by_name: false,
    },
    Tool {
        name: "h2load",
        ours: None,
        version: "--version",
        arguments: |ask, at, _| {
            let load = format!("--h1 -t 1 -c {} -n {}", ask.connections, ask.exchanges);
            asking_to_close(ask, words(&[&load, &format!("http://{at}/")]))
        },
        done: |_, said| before(said.text, " succeeded"),
        no_close: None,
        counts: true,
        by_name: false,
    },
];

/// The tool that the others are held against: the floor, and weigh itself where the floor cannot go.
pub fn base(ask: &Ask) -> &'static Tool {
    match TOOLS[0].unable(ask) {
        None => &TOOLS[0],
        Some(_) => &TOOLS[1],
    }
}

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    TOOLS.iter().skip(1).map(|tool| tool.name).collect()
}

/// The tools that are installed, of those in `only` (of all, if it is empty), and the names of the others.
///
/// # Errors
/// A tool that was asked for by name is not installed.
pub fn present(only: &[String]) -> Result<(Vec<&'static Tool>, Vec<&'static str>)> {
    let wanted = |tool: &&Tool| {
        tool.name == TOOLS[0].name
            || (only.is_empty() && !tool.by_name)
            || only.iter().any(|name| name == tool.name)
    };
    let (present, missing): (Vec<_>, Vec<_>) = TOOLS
        .iter()
        .filter(wanted)
        .partition(|tool| tool.is_installed());
    let missing: Vec<&'static str> = missing.iter().map(|tool| tool.name).collect();
    ensure!(
        only.is_empty() || missing.is_empty(),
        "{} is not installed",
        missing.join(", ")
    );
    Ok((present, missing))
}

/// What those that are not ours say of themselves.
pub fn versions(tools: &[&'static Tool]) -> Versions {
    let others = tools.iter().filter(|tool| !tool.is_ours());
    others.map(|tool| (tool.name, tool.version())).collect()
}

impl Tool {
    /// Whether it is built here.
    pub fn is_ours(&self) -> bool {
        self.ours.is_some()
    }

    /// Whether it can be asked for a number of exchanges.
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Why it cannot be asked for `ask`.
    pub fn unable(&self, ask: &Ask) -> Option<&'static str> {
        if self.name == TOOLS[0].name && ask.body > FLOOR_BODY_MAX {
            return Some("it reads no answers that come in pieces");
        }
        self.no_close.filter(|_| ask.close)
    }

    /// The program and its arguments.
    ///
    /// # Errors
    /// It is ours, and cargo does not say where it lies.
    pub fn command(&self, ask: &Ask, at: SocketAddr, record: &Path) -> Result<Vec<String>> {
        let program = match self.ours {
            Some(program) => programs::path(program)?.display().to_string(),
            None => self.name.to_owned(),
        };
        let mut words = vec![program];
        words.extend((self.arguments)(ask, at, record));
        Ok(words)
    }

    /// How many exchanges it says it made well.
    pub fn done(&self, ask: &Ask, said: &Said<'_>) -> Option<u64> {
        (self.done)(ask, said)
    }

    /// What it says of itself.
    pub fn version(&self) -> String {
        let said = programs::version(OsStr::new(self.name), self.version);
        said.unwrap_or_else(|| "of unknown version".to_owned())
    }

    fn is_installed(&self) -> bool {
        self.is_ours() || Command::new(self.name).arg(self.version).output().is_ok()
    }
}

/// How weigh is asked.
fn weigh(ask: &Ask, at: SocketAddr, record: &Path) -> Vec<String> {
    let close = ask.close.then_some("--no-keepalive --connect lazy");
    let load = format!(
        "run http://{at}/ -c {} -n {} -t 1",
        ask.connections, ask.exchanges
    );
    let mut words = words(&[&load, "--rounds 1 --quiet", close.unwrap_or("")]);
    words.extend(["--output".to_owned(), record.display().to_string()]);
    words
}

fn words(parts: &[&str]) -> Vec<String> {
    let words = parts.iter().flat_map(|part| part.split_whitespace());
    words.map(str::to_owned).collect()
}

/// With the header that a tool without an option for it needs.
fn asking_to_close(ask: &Ask, mut words: Vec<String>) -> Vec<String> {
    if ask.close {
        words.extend(["-H".to_owned(), "Connection: close".to_owned()]);
    }
    words
}

/// The number right after `mark`.
fn after(text: &str, mark: &str) -> Option<u64> {
    let rest = text[text.find(mark)? + mark.len()..].trim_start();
    let end = rest
        .find(|of: char| !of.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The number right before `mark`.
fn before(text: &str, mark: &str) -> Option<u64> {
    let rest = &text[..text.find(mark)?];
    let digits = rest.trim_end_matches(|of: char| of.is_ascii_digit());
    rest[digits.len()..].parse().ok()
}

/// What weigh has recorded, if nothing failed.
fn recorded(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let run: serde_json::Value = serde_json::from_str(&text).ok()?;
    let summary = run.get("summary")?;
    let errors = summary.get("errors")?.get("total")?.as_u64()?;
    summary.get("ok")?.as_u64().filter(|_| errors == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn every_tools_word_is_read_and_a_failure_is_none() {
        let ab =
            "Complete requests:      300\nFailed requests:        0\nKeep-Alive requests:    300\n";
        let cases = [
            ("floor", "300 exchanges, 1 us user, 2 us system", Some(300)),
            ("floor", "", None),
            ("ab", ab, Some(300)),
            (
                "ab",
                &ab.replace("Keep-Alive requests:    300", "Keep-Alive requests:    299"),
                None,
            ),
            ("ab", &ab.replace("        0", "        1"), None),
            ("wrk", "  300 requests in 1.02s, 6.36MB read\n", Some(300)),
            (
                "wrk",
                "  300 requests in 1.02s\n  Socket errors: read 1\n",
                None,
            ),
            (
                "wrk",
                "  300 requests in 1.02s\n  Non-2xx or 3xx responses: 3\n",
                None,
            ),
            (
                "httperf",
                "connections 1 requests 9 replies 300 test\nErrors: total 0 client",
                Some(300),
            ),
            (
                "httperf",
                "connections 1 requests 9 replies 300 test\nErrors: total 2 client",
                None,
            ),
            (
                "h2load",
                "requests: 300 done, 300 succeeded, 0 failed",
                Some(300),
            ),
        ];
        let record = Path::new("/nowhere");
        for (name, text, wanted) in cases {
            let said = Said { text, record };
            let ask = Ask {
                connections: 1,
                exchanges: 300,
                close: false,
                seconds: 1.0,
                body: 100,
            };
            assert_eq!(tool(name).done(&ask, &said), wanted, "{name}: {text}");
        }
    }

    #[test]
    fn a_record_with_errors_is_no_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let cases = [
            (
                r#"{"summary": {"ok": 300, "errors": {"total": 0}}}"#,
                Some(300),
            ),
            (r#"{"summary": {"ok": 300, "errors": {"total": 1}}}"#, None),
            ("{}", None),
        ];
        for (text, wanted) in cases {
            std::fs::write(&path, text).unwrap();
            assert_eq!(recorded(&path), wanted, "{text}");
        }
    }

    #[test]
    fn all_are_asked_for_the_same() {
        let ask = Ask {
            connections: 10,
            exchanges: 300,
            close: false,
            seconds: 0.5,
            body: 100,
        };
        let at = "127.0.0.1:80".parse().unwrap();
        let line = |name: &str| (tool(name).arguments)(&ask, at, Path::new("r.json")).join(" ");
        assert_eq!(line("floor"), "127.0.0.1:80 -c 10 -n 300");
        assert_eq!(
            line("weigh"),
            "run http://127.0.0.1:80/ -c 10 -n 300 -t 1 --rounds 1 --quiet --output r.json"
        );
        assert_eq!(line("weigh-uring"), line("weigh") + " --ring io_uring");
        assert_eq!(base(&ask).name, "floor");
        assert_eq!(
            base(&Ask {
                body: 65_536,
                ..ask
            })
            .name,
            "weigh"
        );
        assert_eq!(line("ab"), "-q -c 10 -n 300 -k http://127.0.0.1:80/");
        assert_eq!(line("wrk"), "-t 1 -c 10 -d 1s http://127.0.0.1:80/");
        assert_eq!(
            line("httperf"),
            "--hog --server 127.0.0.1 --port 80 --num-conns 10 --num-calls 30 --rate 10000"
        );
        assert_eq!(
            line("h2load"),
            "--h1 -t 1 -c 10 -n 300 http://127.0.0.1:80/"
        );
    }
}

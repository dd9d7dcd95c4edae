//! Tools that are measured: those of the catalogue whose reports say how many requests they made.
//!
//! A tool that cannot be asked for a thing is left out of it, with the reason, rather than asked for something else.

use crate::catalogue::reports::Said;
use crate::catalogue::{self, TOOLS, Tool, Values, Versions, tool};
use anyhow::Result;
use std::net::SocketAddr;
use std::path::Path;

/// What every tool is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Connections at a time.
    pub connections: u64,
    /// Requests, exactly.
    pub exchanges: u64,
    /// A new connection for each.
    pub close: bool,
    /// For the tool that knows only time.
    pub seconds: f64,
    /// Bytes of each response's body.
    pub body: u64,
}

/// Responses with longer bodies come in several pieces, which the floor does not read.
const FLOOR_BODY_MAX: u64 = 16 * 1024;

/// What is least: the tool that the others are compared with.
const FLOOR: &str = "floor";

/// Returns the tool that the others are compared with: the floor, and weigh itself where the floor cannot go.
pub fn base(ask: &Ask) -> &'static Tool {
    match ask.refused_by(tool(FLOOR)) {
        None => tool(FLOOR),
        Some(_) => tool("weigh"),
    }
}

fn measured() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.counts())
}

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    let names = measured().map(|tool| tool.name);
    names.filter(|name| *name != FLOOR).collect()
}

/// Returns the tools that are installed, of those in `only` (of all, if it is empty), and the names of the others.
///
/// # Errors
/// A tool that was asked for by name is not installed.
pub fn present(only: &[String]) -> Result<(Vec<&'static Tool>, Vec<&'static str>)> {
    let wanted = measured().filter(|tool| {
        tool.name == FLOOR
            || (only.is_empty() && !tool.by_name)
            || only.iter().any(|name| name == tool.name)
    });
    catalogue::present(wanted, only, |tool| (tool.name, tool.is_installed()))
}

/// Returns what those that are not ours print about their versions.
pub fn versions(tools: &[&'static Tool]) -> Versions {
    let others = tools.iter().filter(|tool| !tool.ours);
    others.map(|tool| (tool.name, tool.version())).collect()
}

impl Ask {
    /// Why `tool` cannot be asked for this.
    pub fn refused_by(&self, tool: &'static Tool) -> Option<&'static str> {
        if tool.name == FLOOR && self.body > FLOOR_BODY_MAX {
            return Some("it reads no answers that come in pieces");
        }
        tool.no_close.as_deref().filter(|_| self.close)
    }

    /// The same for the catalogue.
    pub fn values(&self, at: SocketAddr, folder: &Path) -> Values {
        let calls = self.exchanges / self.connections;
        Values::of_load(at, "/", folder)
            .with("connections", self.connections)
            .with("requests", self.exchanges)
            .with("calls", calls)
            .with("sessions", self.exchanges / calls.max(1))
            .with("seconds", self.seconds.ceil())
            .keeping(!self.close)
    }

    /// Returns how many requests `tool` says it made; none if any failed, or was not made as it should be.
    pub fn done(&self, tool: &Tool, said: &Said<'_>) -> Option<u64> {
        let claim = tool.claim(said)?;
        let kept = self.close || claim.kept.is_none_or(|kept| kept == claim.ok);
        (claim.failed == 0 && kept).then_some(claim.ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: Ask = Ask {
        connections: 10,
        exchanges: 300,
        close: false,
        seconds: 0.5,
        body: 100,
    };

    #[test]
    fn every_report_is_read_and_a_failure_is_none() {
        let ab =
            "Complete requests:      300\nFailed requests:        0\nKeep-Alive requests:    300\n";
        let replies =
            "replies 300 test\nReply status: 1xx=0 2xx=300 3xx=0 4xx=0 5xx=0\nErrors: total ";
        let some = "requests: 300 total, 300 started, 300 done, 300 succeeded, 0 failed";
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
                "  300 requests in 1.02s\n  Socket errors: connect 0, read 1, write 0, timeout 0\n",
                None,
            ),
            (
                "wrk",
                "  300 requests in 1.02s\n  Non-2xx or 3xx responses: 3\n",
                None,
            ),
            ("httperf", &format!("{replies}0 client-timo 0"), Some(300)),
            ("httperf", &format!("{replies}2 client-timo 2"), None),
            ("h2load", some, Some(300)),
            ("h2load", &some.replace("0 failed", "1 failed"), None),
        ];
        let folder = Path::new("/nowhere");
        for (name, text, wanted) in cases {
            let said = Said { text, folder };
            assert_eq!(ASK.done(tool(name), &said), wanted, "{name}: {text}");
        }
    }

    #[test]
    fn all_are_asked_for_the_same() {
        let at = "127.0.0.1:80".parse().unwrap();
        let line = |ask: Ask, name: &str| {
            let values = ask.values(at, Path::new("f"));
            tool(name).arguments(&values).unwrap().join(" ")
        };
        let end = "--rounds 1 --quiet";
        let cases = [
            ("floor", "127.0.0.1:80 -c 10 -n 300".to_owned()),
            (
                "weigh",
                format!("run http://127.0.0.1:80/ -n 300 -c 10 -t 1 {end} --output f/weigh.json"),
            ),
            (
                "weigh-uring",
                format!(
                    "run http://127.0.0.1:80/ -n 300 -c 10 -t 1 {end} --ring io_uring --output f/weigh.json"
                ),
            ),
            ("ab", "-q -n 300 -c 10 -k http://127.0.0.1:80/".to_owned()),
            ("wrk", "-t 1 -c 10 -d 1s http://127.0.0.1:80/".to_owned()),
            (
                "httperf",
                "--hog --server 127.0.0.1 --port 80 --num-conns 10 --num-calls 30 --rate 10000"
                    .to_owned(),
            ),
            (
                "h2load",
                "--h1 -t 1 -c 10 -n 300 http://127.0.0.1:80/".to_owned(),
            ),
        ];
        for (name, wanted) in cases {
            assert_eq!(line(ASK, name), wanted);
        }
        let close = Ask { close: true, ..ASK };
        assert!(line(close, "weigh").contains("--no-keepalive --connect lazy"));
        assert!(line(close, "wrk").contains("-H Connection: close"));
        assert!(close.refused_by(tool("httperf")).is_some());
        assert_eq!(base(&ASK).name, "floor");
        let large = Ask {
            body: 65_536,
            ..ASK
        };
        assert_eq!(base(&large).name, "weigh");
    }
}

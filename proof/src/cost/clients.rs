//! Tools that are measured, each against a bare responder of its own, over TLS against `weigh serve`: those of the catalogue whose reports say how many
//! requests they made.
//!
//! A tool that cannot send a load is omitted, with the reason, rather than given another one. Each run gets a fresh
//! responder on a fresh port: so none inherits another's sockets in TIME_WAIT, and the responder's luck with its memory
//! is not one tool's for a whole point.

use super::calls::{Calls, read};
use super::handshakes::Handshake;
use super::point::{Side, Subject};
use super::series::Trial;
use super::{Bench, CostChore, Load};
use crate::catalogue::reports::ToolOutput;
use crate::catalogue::{Chosen, TOOLS, Tool, Values, chosen, tool};
use crate::programs;
use crate::serving::{Bare, pinned};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Connections that clients are measured with.
const CONNECTIONS: &[u64] = &[10, 100, 1000];
/// Requests of the first look, by which the others are chosen.
const LOOK: u64 = 20_000;
/// Most requests of one run: without keep-alive each needs a port, of which Linux has 28,232.
pub const MOST: u64 = 5_000_000;
pub const MOST_CLOSE: u64 = 20_000;
/// Runs of hardly any requests, that show the start alone.
pub const STARTS: u32 = 3;
/// Requests on which counts of system calls rest.
const COUNTED: [u64; 2] = [6_000, 1_000];
/// Responses with longer bodies come in several pieces, which the floor does not read.
const FLOOR_BODY_MAX: u64 = 16 * 1024;
/// The tool that the others are compared with: the least that is possible.
const FLOOR: &str = "floor";

/// Tools of the catalogue, which load a bare responder.
pub struct Clients;

/// Returns the name of the yardstick: the floor, and weigh itself where the floor cannot go.
fn yardstick(load: &Load) -> &'static str {
    match load.refused_by(tool(FLOOR)) {
        None => FLOOR,
        Some(_) => "weigh",
    }
}

fn measured() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.counts())
}

/// The names that `--only` takes.
pub fn names() -> Vec<&'static str> {
    let names = measured().map(|tool| tool.name);
    names.filter(|name| *name != FLOOR).collect()
}

impl Side for Clients {
    fn kind(&self) -> &'static str {
        "tool"
    }

    fn chosen(&self, chore: &CostChore) -> Result<Chosen> {
        let only = &chore.only;
        let wanted = measured().filter(|tool| {
            tool.name == FLOOR
                || (only.is_empty() && !tool.by_name)
                || only.iter().any(|name| name == tool.name)
        });
        let rows = wanted.map(|tool| {
            let version = (!tool.ours).then(|| (tool.name, tool.version()));
            (tool.name, tool.is_installed(), version)
        });
        chosen(rows, only)
    }

    fn subjects(
        &self,
        chore: &CostChore,
        _: &Bench,
        names: &[&'static str],
    ) -> Result<Vec<Subject>> {
        let connections = match chore.connections[..] {
            [] => CONNECTIONS,
            ref connections => connections,
        };
        let kind = match (chore.close, chore.tls) {
            (true, false) => "a new connection for each request",
            (false, false) => "keep-alive",
            (true, true) => "a new connection for each request, https",
            (false, true) => "keep-alive, https",
        };
        let subject = |connections: u64| {
            let load = Load {
                close: chore.close,
                tls: chore.tls,
                seconds: chore.seconds(),
                body: chore.body,
                ..Load::of(connections)
            };
            let least = if load.body > LOOK { 0 } else { LOOK };
            let most = if load.close { MOST_CLOSE } else { MOST };
            Subject {
                name: "client",
                title: format!(
                    "{connections} connections, {kind}, bodies of {} bytes",
                    load.body
                ),
                yardstick: yardstick(&load),
                names: names.to_vec(),
                // Fewer of large ones.
                look: (LOOK / (1 + load.body / 1024)).max(connections).max(100),
                bounds: (least.max(2 * connections), most),
                load,
            }
        };
        Ok(connections.iter().copied().map(subject).collect())
    }

    fn refusal(&self, _: &Bench, name: &'static str, load: &Load) -> Option<String> {
        load.refused_by(tool(name)).map(str::to_owned)
    }

    fn run(&self, bench: &Bench, name: &'static str, load: &Load, round: u32) -> Result<Trial> {
        let trial = run_under(&[], bench, tool(name), load);
        let trial = trial.with_context(|| format!("{name} at {} connections", load.connections));
        Ok(Trial { round, ..trial? })
    }

    fn starts(&self, bench: &Bench, name: &'static str, load: &Load) -> Result<Vec<Trial>> {
        let load = Load {
            exchanges: load.connections,
            ..*load
        };
        let rounds = 0..if tool(name).timed { 0 } else { STARTS };
        let run = |round| self.run(bench, name, &load, round);
        rounds.map(run).collect()
    }

    /// Two runs with different numbers of requests are subtracted, so that what a start asks of the kernel is not taken
    /// for a request's.
    fn calls(&self, bench: &Bench, name: &'static str, load: &Load, quick: bool) -> Result<Calls> {
        let tool = tool(name);
        let few = load.connections * 2;
        let more = COUNTED[usize::from(quick)].div_ceil(load.connections) * load.connections;
        let (after, made) = count(bench, tool, load, few + more)?;
        let (before, base) = match tool.timed {
            false => count(bench, tool, load, few)?,
            // It runs as long as it likes: all calls are taken for its requests'.
            true => (BTreeMap::new(), 0),
        };
        Ok(Calls::between(name, (before, base), (after, made)))
    }
}

/// The calls of one run, and its requests.
fn count(
    bench: &Bench,
    tool: &'static Tool,
    load: &Load,
    exchanges: u64,
) -> Result<(BTreeMap<String, u64>, u64)> {
    let file = bench.site.borrow_mut().home()?.join("strace");
    let under = ["strace", "-f", "-c", "-o", &file.display().to_string()].map(str::to_owned);
    let load = Load { exchanges, ..*load };
    let trial = run_under(&under, bench, tool, &load);
    let trial = trial.with_context(|| format!("{} under strace", tool.name))?;
    Ok((read(&fs::read_to_string(&file)?)?, trial.exchanges))
}

/// Runs `tool` once as an argument of the command `under`.
fn run_under(under: &[String], bench: &Bench, tool: &'static Tool, load: &Load) -> Result<Trial> {
    let (_responder, at) = Bare::responder(&match load.tls {
        true => bench.secure_responder()?,
        false => bench.responder(load)?,
    })?;
    let folder = bench.site.borrow_mut().home()?;
    let command = tool.command(&load.values(at, &folder), &folder)?;
    let ended = pinned(&[], bench.cpus.client, under.iter().chain(&command))?;
    let all = || format!("{}{}", ended.text, ended.complaint);
    ensure!(ended.cost.status == 0, "it failed:\n{}", all());
    let (text, folder) = (ended.text.as_str(), folder.as_path());
    let done = load.done(tool, &ToolOutput { text, folder });
    let done = done.with_context(|| format!("something failed:\n{}", all()))?;
    let wanted = load.exchanges;
    ensure!(
        tool.timed || done == wanted,
        "{} was to send {wanted} requests and sent {done}",
        tool.name
    );
    Ok(Trial {
        name: tool.name,
        round: 0,
        beside: None,
        exchanges: done,
        response_bytes: None,
        wall_us: ended.cost.wall_us,
        cpu_us: ended.cost.user_us + ended.cost.system_us,
        system_us: Some(ended.cost.system_us),
        memory_kb: Some(ended.cost.peak_kb),
    })
}

impl Bench {
    /// The command of the server that clients load over TLS.
    ///
    /// # Errors
    /// The path of this program is unknown.
    pub fn secure_responder(&self) -> Result<Vec<String>> {
        let (cpu, weigh) = (self.cpus.server, programs::path("weigh")?);
        let serve = "serve --tls self-signed --workers 1 --listen 127.0.0.1:0";
        Ok(words(&format!(
            "taskset -c {cpu} {} {serve}",
            weigh.display()
        )))
    }

    /// The command of the one that they load without.
    fn responder(&self, load: &Load) -> Result<Vec<String>> {
        let (cpu, body) = (self.cpus.server, load.body);
        let responder = programs::path("bare_responder")?;
        let close = if load.close { " --close" } else { "" };
        let line = format!(
            "{} 127.0.0.1:0 --cpu {cpu} --body {body}{close}",
            responder.display()
        );
        Ok(words(&line))
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

impl Load {
    /// Why `tool` cannot send this.
    fn refused_by(&self, tool: &'static Tool) -> Option<&'static str> {
        if tool.name == FLOOR && self.body > FLOOR_BODY_MAX {
            return Some("it reads no responses that come in pieces");
        }
        if self.handshake.is_none() && tool.no_plain.is_some() {
            return tool.no_plain.as_deref();
        }
        let no_close = tool.no_close.as_deref().filter(|_| self.close);
        no_close.or(tool.no_tls.as_deref().filter(|_| self.tls))
    }

    /// The same for the catalogue.
    fn values(&self, at: SocketAddr, folder: &Path) -> Values {
        let calls = self.exchanges / self.connections;
        let path = match self.tls {
            true => format!("/bytes/{}", self.body),
            false => "/".to_owned(),
        };
        let values = Values::of_load(at, &path, folder)
            .with("connections", self.connections)
            .with("requests", self.exchanges)
            .with("calls", calls)
            .with("sessions", self.exchanges / calls.max(1))
            .with("seconds", self.seconds.ceil())
            .keeping(!self.close)
            .with_handshake(self.handshake.map(Handshake::name));
        match self.tls {
            true => values.encrypted(),
            false => values,
        }
    }

    /// Returns how many requests `tool` says it made; none if any failed, or was not made as it should be.
    fn done(&self, tool: &Tool, output: &ToolOutput<'_>) -> Option<u64> {
        let claim = tool.claim(output)?;
        let kept = self.close || claim.kept.is_none_or(|kept| kept == claim.ok);
        let shaken = self
            .handshake
            .is_none_or(|kind| claim.handshakes.is_some_and(|all| kind.is_all(all)));
        (claim.failed == 0 && kept && shaken).then_some(claim.ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        exchanges: 300,
        seconds: 0.5,
        ..Load::of(10)
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
            (
                "oha",
                r#"{"statusCodeDistribution": {"200": 300}, "errorDistribution": {}}"#,
                Some(300),
            ),
            ("h2load", some, Some(300)),
            ("h2load", &some.replace("0 failed", "1 failed"), None),
        ];
        let folder = Path::new("/nowhere");
        for (name, text, wanted) in cases {
            let output = ToolOutput { text, folder };
            assert_eq!(LOAD.done(tool(name), &output), wanted, "{name}: {text}");
        }
    }

    #[test]
    fn all_get_the_same_load() {
        let at = "127.0.0.1:80".parse().unwrap();
        let line = |load: Load, name: &str| {
            let values = load.values(at, Path::new("f"));
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
            assert_eq!(line(LOAD, name), wanted);
        }
        let close = Load {
            close: true,
            ..LOAD
        };
        assert!(line(close, "weigh").contains("--no-keepalive --connect lazy"));
        assert!(line(close, "wrk").contains("-H Connection: close"));
        assert!(close.refused_by(tool("httperf")).is_some());
        assert_eq!(yardstick(&LOAD), "floor");
        let resumed = Load {
            tls: true,
            handshake: Some(Handshake::Resumed),
            ..close
        };
        assert!(line(resumed, "weigh").contains("--insecure --tls-resume on --rounds"));
        let s_time = line(resumed, "s_time");
        assert!(s_time.starts_with("s_time -connect 127.0.0.1:80 -www /bytes/100 -tls1_3"));
        assert!(s_time.ends_with("-time 1 -reuse"), "{s_time}");
        let tls = Load { tls: true, ..LOAD };
        assert!(tls.refused_by(tool("s_time")).is_some());
        let wanted = "run https://127.0.0.1:80/bytes/100 -n 300 -c 10 -t 1 --insecure --rounds 1";
        assert!(
            line(tls, "weigh").starts_with(wanted),
            "{}",
            line(tls, "weigh")
        );
        assert!(line(tls, "wrk").ends_with("-d 1s https://127.0.0.1:80/bytes/100"));
        assert!(tls.refused_by(tool("httperf")).is_some());
        assert_eq!(yardstick(&tls), "weigh");
        let large = Load {
            body: 65_536,
            ..LOAD
        };
        assert_eq!(yardstick(&large), "weigh");
    }
}

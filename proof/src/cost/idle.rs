//! What idle connections cost in memory, on both sides, with TLS and without: weigh opens them and hardly uses them.
//!
//! Counted is by how much the anonymous pages of all processes of a side grow from a hundred connections to many: what a
//! process allocates with its first ones is left out. (So are pages of files: weigh on both sides has one program, whose pages are
//! private to a process until the other has them too. The kernel's part of a connection is the same for all.) The connections
//! have made their handshakes and sent nothing yet, but for one request a second over all of them. `--memory` counts otherwise:
//! there each connection has had a response.

use super::memory::Failed;
use super::series::median;
use super::{Bench, Load};
use crate::catalogue::{Memory, Server, named};
use crate::columns::aligned;
use crate::programs;
use crate::serving::running::Footprint;
use crate::serving::secure::shaken;
use crate::serving::{start, until};
use anyhow::{Context, Result, ensure};
use kernel::process::Child;
use serde::Serialize;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use units::Nanos;

/// Connections from which the growth is counted: fewer have what a process allocates once.
const FEW: u64 = 100;
/// Connections that are held.
const CONNECTIONS: [u64; 2] = [1_000, 10_000];
/// Starts of each server with each number of them.
const STARTS: u32 = 5;
/// Seconds for which weigh holds them once all are open.
const HELD: u32 = 4;
/// How long it may take until all are open, and until weigh has ended.
const PATIENCE: Duration = Duration::from_secs(90);
/// Both sides are at rest when they take less CPU time than this in so long.
const LOOK: Duration = Duration::from_millis(200);
const REST: Nanos = Nanos::from_millis(4);

/// The memory of one idle connection.
#[derive(Debug, Serialize)]
pub struct Idle {
    /// The server's name.
    pub server: &'static str,
    /// Whether over TLS.
    pub tls: bool,
    /// Connections that were open.
    pub connections: u64,
    /// Growth of the server for each, in bytes.
    pub server_bytes: f64,
    /// Growth of weigh for each, in bytes.
    pub client_bytes: f64,
}

/// Measures those of the servers `names` whose idle connections are of interest.
pub fn measure(bench: &Bench, names: &[&'static str], quick: bool) -> (Vec<Idle>, Failed) {
    let (mut idles, mut failed) = (Vec::new(), Failed::new());
    let servers = names.iter().map(|name| named(name));
    let servers = servers.filter(|server| server.memory == Memory::Idle);
    let kinds: Vec<_> = servers
        .flat_map(|server| [false, true].map(|tls| (server, tls)))
        .collect();
    for _ in 0..if quick { 1 } else { STARTS } {
        for (server, tls) in &kinds {
            match one(bench, server, *tls) {
                Ok(all) => idles.extend(all),
                Err(error) => failed.push((server.name, format!("{error:#}"))),
            }
        }
    }
    (idles, failed)
}

/// One start of a server, with more and more connections.
fn one(bench: &Bench, server: &'static Server, tls: bool) -> Result<Vec<Idle>> {
    let load = Load { tls, ..Load::of(1) };
    let mut running = bench.start(server, &load, 1)?;
    let folder = bench.site.borrow_mut().home()?;
    let (at, child) = (running.at, &mut running.child);
    let mut hold = |connections| {
        let hold = Hold {
            at,
            path: server.path,
            tls,
            connections,
            record: folder.join("weigh.json").display().to_string(),
        };
        let held = hold.carry_out(&folder, child);
        held.with_context(|| format!("{connections} connections"))
    };
    let first = hold(FEW)?;
    let idle = |connections: u64| {
        let held = hold(connections)?;
        let growth = |side: usize| {
            let kb = held[side].anonymous_kb as f64 - first[side].anonymous_kb as f64;
            kb * 1024.0 / (connections - FEW) as f64
        };
        Ok(Idle {
            server: server.name,
            tls,
            connections,
            server_bytes: growth(0),
            client_bytes: growth(1),
        })
    };
    CONNECTIONS.into_iter().map(idle).collect()
}

/// Connections that weigh is to hold.
struct Hold {
    at: SocketAddr,
    path: &'static str,
    tls: bool,
    connections: u64,
    record: String,
}

impl Hold {
    fn command(&self) -> Result<Vec<String>> {
        let (at, path, connections) = (self.at, self.path, self.connections);
        let (scheme, trust) = match self.tls {
            true => ("https", "--insecure --tls-resume off"),
            false => ("http", ""),
        };
        let line = format!(
            "run {scheme}://{at}{path} {trust} --rate 1 --arrivals constant -c {connections} --connect eager -t 1 \
             --warmup 100ms --duration {HELD}s --rounds 1 --server none --spin never --connect-timeout 60s --quiet"
        );
        let mut command = vec![programs::path("weigh")?.display().to_string()];
        command.extend(line.split_whitespace().map(str::to_owned));
        command.extend(["--output".to_owned(), self.record.clone()]);
        Ok(command)
    }

    /// Opens them, and returns the memory of the server and of weigh while nothing happens.
    fn carry_out(&self, folder: &Path, server: &mut Child) -> Result<[Footprint; 2]> {
        let _ = fs::remove_file(&self.record); // usually there is none
        let words = folder.join("words");
        let mut weigh = start(self.command()?, &words)?;
        let said = || fs::read_to_string(&words).unwrap_or_default();
        let mut last = None;
        let held = until(PATIENCE, LOOK, || {
            ensure!(weigh.exited().is_none(), "weigh has ended: {}", said());
            let open = descriptors(&weigh.pids());
            let now = server.cpu() + weigh.cpu();
            let before = last.replace(now);
            let is_rest = before.is_some_and(|before| now.saturating_sub(before) < REST);
            if open <= self.connections || !is_rest {
                return Ok(None);
            }
            let both = [server.pids(), weigh.pids()].map(|pids| Footprint::of(&pids));
            Ok(both[0].zip(both[1]).map(|(server, weigh)| [server, weigh]))
        })?;
        let held = held.context("the connections were not opened in time")?;
        ensure!(
            weigh.exited().is_none(),
            "weigh has ended meanwhile: {}",
            said()
        );
        let ended = until(PATIENCE, LOOK, || Ok(weigh.exited()))?;
        let is_well = ended.is_some_and(|status| status.success());
        ensure!(is_well, "weigh has not ended well: {}", said());
        self.check()?;
        Ok(held)
    }

    /// Checks that all of them were open when the window began, with a handshake each, and none was lost.
    fn check(&self) -> Result<()> {
        let run = record::load(Path::new(&self.record))?;
        let round = run.points.first().and_then(|point| point.rounds.first());
        let tally = &round.context("no round was measured")?.tally;
        let connects = &tally.connects;
        let (open, lost) = (connects.open_at_start, connects.lost_idle);
        let wanted = self.connections;
        ensure!(
            open == wanted && lost == 0,
            "{open} of {wanted} connections were open, {lost} were lost"
        );
        match self.tls {
            true => shaken(tally, wanted),
            false => Ok(()),
        }
    }
}

/// The descriptors of the thread that has the most: each of weigh's has a table of its own, and those that load are in a process
/// of their own.
fn descriptors(pids: &[u32]) -> u64 {
    let tasks = pids
        .iter()
        .filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    let tasks = tasks.flatten().flatten();
    // A thread may end meanwhile.
    let all = tasks.filter_map(|task| fs::read_dir(task.path().join("fd")).ok());
    all.map(|all| all.count() as u64).max().unwrap_or(0)
}

/// Returns them as a table: medians over the starts, and of TLS what it adds.
pub fn table(idles: &[Idle], failed: &Failed) -> String {
    let head = ["", "connections", "server, bytes each", "weigh, bytes each"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut kinds: Vec<(&str, bool, u64)> = Vec::new();
    for idle in idles {
        let kind = (idle.server, idle.tls, idle.connections);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    for kind in kinds {
        let own = idles
            .iter()
            .filter(|it| (it.server, it.tls, it.connections) == kind);
        let (server, tls, connections) = kind;
        let scheme = if tls { "https" } else { "http" };
        rows.push(vec![
            format!("{server}, {scheme}"),
            connections.to_string(),
            spread(own.clone().map(|idle| idle.server_bytes)),
            spread(own.map(|idle| idle.client_bytes)),
        ]);
    }
    let failed = failed.iter();
    let failed = failed.map(|(name, why)| format!("{name:<16} not measured: {why}\n"));
    let title = "memory of an idle connection, one worker: median over the starts, and range\n";
    title.to_owned() + &aligned(&rows) + &failed.collect::<String>()
}

/// `613 (600..650)`: the median, and the range.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.0} ({low:.0}..{high:.0})", median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_median_and_the_range_of_one_kind() {
        let idle = |tls, server_bytes| Idle {
            server: "nginx",
            tls,
            connections: 1000,
            server_bytes,
            client_bytes: 10.0,
        };
        let idles = [
            idle(false, 3.0),
            idle(true, 9.0),
            idle(false, 1.0),
            idle(false, 2.0),
        ];
        let failed = vec![("h2o", "it has ended".to_owned())];
        let text = table(&idles, &failed);
        let lines: Vec<String> = text
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let wanted = [
            "nginx, http 1000 2 (1..3) 10 (10..10)",
            "nginx, https 1000 9 (9..9) 10 (10..10)",
            "h2o not measured: it has ended",
        ];
        assert_eq!(lines, wanted);
    }
}

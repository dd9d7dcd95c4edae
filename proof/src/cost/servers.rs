//! Servers that are measured, each loaded by the bare client.
//!
//! Servers are compared within a class, because what a server does for a file decides what it costs. Each run gets a
//! fresh server on a fresh port, so that the server's luck with its memory is not that of a whole point. Before the run
//! is measured the client warms the server up.

use super::calls::{Calls, read};
use super::clients::{MOST, MOST_CLOSE};
use super::point::{Side, Subject};
use super::series::Trial;
use super::{Bench, CostChore, Load};
use crate::catalogue::{Chosen, Class, SERVERS, Server, chosen, floor, named};
use crate::programs;
use crate::serving::running::{Request, Running};
use crate::serving::secure::{AGREED, Loading};
use crate::serving::{LOOK, pinned, start, until};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use units::Nanos;

/// Connections that servers are measured with, and with large files.
const CONNECTIONS: u64 = 100;
const CONNECTIONS_LARGE: u64 = 10;
/// Requests of a first look that takes about a tenth of a second.
const FIRST: u64 = 20_000;
const FIRST_PIPELINED: u64 = 200_000;
/// The server that the others are compared with over TLS, where there is no floor.
const SECURE_YARDSTICK: &str = "weigh-file";
/// Requests on each connection before the measured ones: more than any of the servers needs to have its memory.
const WARM_UP: u64 = 20;
/// Requests on which counts of system calls rest.
const COUNTED: [u64; 2] = [6_000, 1_000];
/// How long strace may take to be everywhere, and to print its counts.
const PATIENCE: Duration = Duration::from_secs(10);
const GRACE: Nanos = Nanos::from_secs(10);

/// Name, path, length in 10^6 bytes, and requests of the first look, of large files.
const LARGE: [(&str, &str, usize, u64); 2] = [
    ("1 MB", "/1M.bin", 1, 200),
    ("100 MB", "/100M.bin", 100, CONNECTIONS_LARGE),
];

/// Servers of the catalogue, loaded by the bare client.
pub struct Servers;

/// The names that `--servers` takes.
pub fn names() -> Vec<&'static str> {
    SERVERS[1..].iter().map(|server| server.name).collect()
}

/// Chooses the servers of `only` (all, if it is empty), and the floor.
fn present(only: &[String]) -> Result<Chosen> {
    present_of(SERVERS.iter(), floor().name, only)
}

/// The same over TLS: no floor, and of one class, because what is embedded or cached has the same way through TLS.
fn present_over_tls(only: &[String]) -> Result<Chosen> {
    let is_able = |it: &&Server| it.speaks_tls() && it.class == Class::OpenFile;
    let unable = |name: &&String| !SERVERS.iter().filter(is_able).any(|it| it.name == **name);
    if let Some(name) = only.iter().find(unable) {
        bail!("{name} is not measured over TLS");
    }
    present_of(SERVERS.iter().filter(is_able), SECURE_YARDSTICK, only)
}

fn present_of(
    all: impl Iterator<Item = &'static Server>,
    yardstick: &str,
    only: &[String],
) -> Result<Chosen> {
    let wanted = all.filter(|server| {
        let is_named = only.iter().any(|name| name == server.name);
        only.is_empty() || is_named || server.name == yardstick
    });
    chosen(
        wanted.map(|it| (it.name, it.is_installed(), it.version())),
        only,
    )
}

impl Side for Servers {
    fn kind(&self) -> &'static str {
        "server"
    }

    fn chosen(&self, chore: &CostChore) -> Result<Chosen> {
        match chore.tls || chore.idle {
            true => present_over_tls(&chore.servers),
            false => present(&chore.servers),
        }
    }

    fn subjects(
        &self,
        chore: &CostChore,
        bench: &Bench,
        names: &[&'static str],
    ) -> Result<Vec<Subject>> {
        let connections = match chore.connections[..] {
            [] => CONNECTIONS,
            [connections] => connections,
            _ => bail!("--server takes one number of --connections"),
        };
        if chore.tls {
            return subjects_over_tls(chore, bench, connections, names);
        }
        let subject = |name, title: &str, load: Load, without: &[Class]| Subject {
            name,
            title: format!("{} connections, {title}", load.connections),
            yardstick: floor().name,
            names: of_classes(names, |class| !without.contains(&class)),
            look: FIRST,
            bounds: (1, if load.close { MOST_CLOSE } else { MOST }),
            load,
        };
        let small = Load::of(connections);
        let (close, depth) = (true, chore.pipeline.unwrap_or(1));
        let mut all = Vec::new();
        if !chore.close && !chore.is_special() {
            all.push(subject("keep-alive", "keep-alive", small, &[]));
        }
        if chore.close {
            let title = "a new connection for each request";
            all.push(subject(
                "close",
                title,
                Load { close, ..small },
                &[Class::Uncached],
            ));
        }
        let pipelined = [
            ("pipeline, embedded", "nginx-return", Class::Embedded),
            ("pipeline, files", "nginx", Class::OpenFile),
        ];
        for (name, yardstick, class) in pipelined.into_iter().filter(|_| depth > 1) {
            let title = format!("{depth} requests at once, {class}");
            all.push(Subject {
                yardstick,
                names: of_classes(names, |of| of == class),
                look: FIRST_PIPELINED,
                ..subject(name, &title, Load { depth, ..small }, &[])
            });
        }
        for (name, path, millions, look) in LARGE.into_iter().filter(|_| chore.large) {
            bench.site.borrow().add_large(&path[1..], millions)?;
            let load = Load {
                path: Some(path),
                body: millions as u64 * 1_000_000,
                ..Load::of(CONNECTIONS_LARGE)
            };
            all.push(Subject {
                yardstick: "nginx",
                names: of_classes(names, |of| of == Class::OpenFile),
                look,
                ..subject(name, &format!("files of {name}"), load, &[])
            });
        }
        Ok(all)
    }

    fn refusal(&self, bench: &Bench, name: &'static str, load: &Load) -> Option<String> {
        let started = bench.start(named(name), load, 1);
        started.err().map(|error| format!("{error:#}"))
    }

    fn run(&self, bench: &Bench, name: &'static str, load: &Load, round: u32) -> Result<Trial> {
        let mut running = bench.start(named(name), load, 1)?;
        let warm_up = WARM_UP.max(load.depth);
        let each = if load.is_large() { 1 } else { warm_up };
        let warm = bench.load(name, &running, load, load.connections * each);
        warm.with_context(|| running.state())?;
        let mut loaded = |exchanges| {
            let before = running.cpu_at_rest();
            let wall_us = bench.load(name, &running, load, exchanges);
            let wall_us = wall_us.with_context(|| running.state())?;
            anyhow::Ok((running.cpu_at_rest().saturating_sub(before), wall_us))
        };
        // Over TLS a load begins with its handshakes, which are no part of a request: what a first request on each
        // connection costs with them is subtracted.
        let (firsts, handshakes) = match load.tls {
            true => (load.connections, loaded(load.connections)?.0),
            false => (0, Nanos::ZERO),
        };
        let (cpu, wall_us) = loaded(load.exchanges + firsts)?;
        let cpu = cpu.saturating_sub(handshakes);
        let wall_us = wall_us * load.exchanges as f64 / (load.exchanges + firsts) as f64;
        let memory = running.footprint();
        Ok(Trial {
            name,
            round,
            beside: None,
            exchanges: load.exchanges,
            response_bytes: Some(running.response.bytes),
            wall_us,
            cpu_us: cpu.as_micros_f64(),
            system_us: None,
            memory_kb: memory.map(|memory| memory.pss_kb as f64),
        })
    }

    fn starts(&self, _: &Bench, _: &'static str, _: &Load) -> Result<Vec<Trial>> {
        Ok(Vec::new()) // what a server's start costs is no part of its runs
    }

    /// strace is attached to all processes of the server while it is loaded.
    fn calls(&self, bench: &Bench, name: &'static str, load: &Load, quick: bool) -> Result<Calls> {
        let few = load.connections * load.depth;
        let wanted = match load.is_large() {
            // A large response has so many calls of its own that few responses show them.
            true => few,
            false => COUNTED[usize::from(quick)],
        };
        let many = few + wanted.div_ceil(few) * few;
        let mut running = bench.start(named(name), load, 1)?;
        bench.load(name, &running, load, few)?;
        let before = attached(bench, name, &mut running, load, few)?;
        let after = attached(bench, name, &mut running, load, many)?;
        Ok(Calls::between(name, (before, few), (after, many)))
    }
}

/// The subjects over TLS: the small file, or large ones, on connections that are kept.
fn subjects_over_tls(
    chore: &CostChore,
    bench: &Bench,
    connections: u64,
    names: &[&'static str],
) -> Result<Vec<Subject>> {
    let is_other = chore.close || chore.pipeline.is_some() || chore.memory;
    ensure!(
        !is_other,
        "over TLS servers are measured with keep-alive, --large and --idle"
    );
    let small = ("keep-alive", Load::of(connections), FIRST);
    let mut files = match chore.is_special() {
        true => Vec::new(),
        false => vec![small],
    };
    for (name, path, millions, look) in LARGE.into_iter().filter(|_| chore.large) {
        bench.site.borrow().add_large(&path[1..], millions)?;
        let load = Load {
            path: Some(path),
            body: millions as u64 * 1_000_000,
            ..Load::of(CONNECTIONS_LARGE)
        };
        files.push((name, load, look));
    }
    let subject = |(name, load, look): (&str, Load, u64)| Subject {
        name: "https",
        title: format!(
            "{} connections, {name}, https ({AGREED}), loaded by weigh, less the handshakes",
            load.connections
        ),
        yardstick: SECURE_YARDSTICK,
        names: names.to_vec(),
        look,
        bounds: (1, MOST),
        load: Load { tls: true, ..load },
    };
    Ok(files.into_iter().map(subject).collect())
}

/// Those of `names` that are of a wanted class.
fn of_classes(names: &[&'static str], wants: impl Fn(Class) -> bool) -> Vec<&'static str> {
    let names = names.iter().copied();
    names.filter(|name| wants(named(name).class)).collect()
}

/// The calls that the server makes for `exchanges` requests.
fn attached(
    bench: &Bench,
    name: &'static str,
    running: &mut Running,
    load: &Load,
    exchanges: u64,
) -> Result<BTreeMap<String, u64>> {
    running.cpu_at_rest();
    let home = bench.site.borrow_mut().home()?;
    let (words, summary) = (home.join("words"), home.join("summary"));
    let pids = running.child.pids();
    let shown = summary.display().to_string();
    let command = ["strace", "-f", "-c", "-o", &shown].map(str::to_owned);
    let pid_arguments = pids.iter().map(|pid| format!("-p{pid}"));
    let mut strace = start(command.into_iter().chain(pid_arguments), &words)?;
    wait_for_all(&words, pids.len())?;
    let loaded = bench.load(name, running, load, exchanges);
    running.cpu_at_rest();
    strace.stop(GRACE);
    loaded?;
    read(&fs::read_to_string(&summary)?)
}

/// Waits until strace has printed that it sees so many processes.
fn wait_for_all(words: &Path, processes: usize) -> Result<()> {
    let all = until(PATIENCE, LOOK, || {
        let text = fs::read_to_string(words)?;
        let refused = text.contains("Operation not permitted");
        ensure!(!refused, "strace may not look at a server: {}", text.trim());
        Ok((attachments(&text) >= processes).then_some(()))
    })?;
    all.context("strace hangs")
}

fn attachments(text: &str) -> usize {
    let is_one = |line: &&str| line.starts_with("strace: Process ") && line.contains(" attached");
    text.lines().filter(is_one).count()
}

impl Bench {
    /// Starts `server` with so many workers, for `load`.
    ///
    /// # Errors
    /// It does not come to respond, or sends another body.
    pub fn start(&self, server: &'static Server, load: &Load, workers: u32) -> Result<Running> {
        let mut site = self.site.borrow_mut();
        let request = Request {
            path: load.path.unwrap_or(server.path),
            close: load.close,
            tls: load.tls.then_some(self.cpus.client),
        };
        let running = Running::start(server, &mut site, self.cpus, workers, request);
        let running = running.with_context(|| format!("{} cannot serve", server.name))?;
        let (name, body, wanted) = (server.name, running.response.body as u64, load.body);
        ensure!(
            body == wanted,
            "{name} sends {body} bytes instead of {wanted}"
        );
        Ok(running)
    }

    /// Returns the command of a bare client that sends so many requests.
    ///
    /// # Errors
    /// The path of this program is unknown.
    pub fn client(
        &self,
        name: &str,
        running: &Running,
        load: &Load,
        exchanges: u64,
    ) -> Result<Vec<OsString>> {
        let line = format!(
            "{} -c {} -n {exchanges} --path {} --size {} --depth {}{}{}",
            running.at,
            load.connections,
            load.path.unwrap_or(named(name).path),
            running.response.bytes,
            load.depth,
            if load.close { " --close" } else { "" },
            if load.is_large() { " --drop" } else { "" },
        );
        let client = programs::path("bare_client")?.into_os_string();
        let words = line.split(' ').map(OsString::from);
        Ok([client].into_iter().chain(words).collect())
    }

    /// Lets the bare client send requests, over TLS weigh, and returns how long it took, in µs.
    ///
    /// # Errors
    /// It complained: a response was not the known one.
    fn load(&self, name: &str, running: &Running, load: &Load, exchanges: u64) -> Result<f64> {
        if load.tls {
            let loading = Loading {
                cpu: self.cpus.client,
                folder: &self.site.borrow_mut().home()?,
                at: running.at,
                path: load.path.unwrap_or(named(name).path),
                connections: load.connections,
                requests: exchanges,
            };
            return Ok(loading.carry_out(None)?.wall_us);
        }
        let command = self.client(name, running, load, exchanges)?;
        let ended = pinned(&[], self.cpus.client, command)?;
        wall_us(&ended.text).with_context(|| {
            let (text, complaint) = (&ended.text, &ended.complaint);
            format!("{name}: the client failed: {text}{complaint}")
        })
    }
}

/// How long it took by the bare client's own clock.
fn wall_us(text: &str) -> Option<f64> {
    let (before, _) = text.split_once(" us wall")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_is_there_when_it_has_named_every_process() {
        let text = "strace: Process 17 attached\nstrace: Process 18 attached with 3 threads\n\
                    strace: Process 17 detached\n";
        assert_eq!(attachments(text), 2);
        assert_eq!(attachments(""), 0);
    }

    #[test]
    fn the_clients_time_is_read_and_its_silence_is_none() {
        let output = "300 exchanges, 1 us user, 2 us system, 1500 us wall\n\n{\"wall_us\": 9}\n";
        assert_eq!(wall_us(output), Some(1500.0));
        assert_eq!(wall_us("\n{\"wall_us\": 9, \"status\": 256}\n"), None);
    }

    #[test]
    fn a_server_that_is_named_is_taken_with_the_floor() {
        let only = ["weigh".to_owned()];
        let chosen = present(&only).unwrap();
        assert_eq!(chosen.names, [floor().name, "weigh"]);
        assert!(chosen.missing.is_empty());
    }
}

//! One run of the bare client against a server of its own, and what it cost the server.
//!
//! Each run gets a fresh server on a fresh port, as `cost` gives each tool a fresh responder: so the server's luck with
//! its memory is not that of a whole point. Before the run is measured the client warms the server up.

use super::running::{Cpus, Running, Wish};
use super::site::Site;
use crate::catalogue::Server;
use crate::machine::Machine;
use crate::programs;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Exchanges on each connection before the measured ones: more than any of the servers needs to have its memory.
const WARM_UP: u64 = 20;

/// What every server is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Connections at a time.
    pub connections: u64,
    /// Exchanges, exactly.
    pub exchanges: u64,
    /// A new connection for each.
    pub close: bool,
    /// Requests that are sent at once.
    pub depth: u64,
    /// What is asked for; none: what the server's row says.
    pub path: Option<&'static str>,
    /// Bytes of the body that is to come.
    pub body: usize,
    /// Whether bodies are so large that the client leaves them in the kernel.
    pub is_large: bool,
}

/// What one run has cost a server.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// Which.
    pub server: &'static Server,
    /// In which round.
    pub round: u32,
    /// Of the yardstick: whose neighbour it was.
    pub beside: Option<&'static str>,
    /// Exchanges that were made.
    pub exchanges: u64,
    /// Bytes of each answer.
    #[serde(rename = "response_bytes")]
    pub bytes: usize,
    /// CPU time of the server's processes.
    pub cpu_us: f64,
    /// From the client's start to its end.
    pub wall_us: f64,
    /// The server's memory after the run.
    pub pss_kb: Option<u64>,
}

impl Trial {
    /// The server's CPU time for an exchange in µs.
    pub fn cpu_us_per_exchange(&self) -> f64 {
        self.cpu_us / self.exchanges as f64
    }

    /// The server's CPU time for a gigabyte (10^9 bytes) in s.
    pub fn cpu_s_per_gigabyte(&self) -> f64 {
        self.cpu_us / self.all_bytes() * 1e3
    }

    /// Exchanges each second.
    pub fn per_second(&self) -> f64 {
        self.exchanges as f64 / self.wall_us * 1e6
    }

    /// Megabytes (10^6 bytes) each second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.all_bytes() / self.wall_us
    }

    /// Memory in MB (10^6 bytes); not a number where it is not known.
    pub fn pss_mb(&self) -> f64 {
        self.pss_kb.map_or(f64::NAN, |kb| kb as f64 * 1.024e-3)
    }

    fn all_bytes(&self) -> f64 {
        self.exchanges as f64 * self.bytes as f64
    }

    /// A run of one exchange that cost `cpu_us` and took as long.
    #[cfg(test)]
    pub fn example(name: &str, round: u32, cpu_us: f64) -> Trial {
        Trial {
            server: crate::catalogue::named(name),
            round,
            beside: None,
            exchanges: 1,
            bytes: 200,
            cpu_us,
            wall_us: cpu_us,
            pss_kb: None,
        }
    }
}

/// Where servers run, and what asks them.
pub struct Bench {
    /// Who runs where.
    pub cpus: Cpus,
    pinned: PathBuf,
    client: PathBuf,
    /// What is served.
    pub site: RefCell<Site>,
}

impl Bench {
    /// The programs must have been built. From here on this process runs on the client's CPU.
    ///
    /// # Errors
    /// Cargo does not say where they lie, or the CPU is not to be had.
    pub fn new(machine: &Machine) -> Result<Bench> {
        let cpus = Cpus {
            server: machine.responder(),
            client: machine.client(),
        };
        kernel::affinity::pin(cpus.client).context("the client's CPU is not to be had")?;
        // Where that fails the client says that it cannot have ten thousand connections.
        let _ = kernel::limits::raise_open_files();
        Ok(Bench {
            cpus,
            pinned: programs::path("pinned")?,
            client: programs::path("bare_client")?,
            site: RefCell::new(Site::new()?),
        })
    }

    /// Starts `server` with so many workers, for what `ask` asks.
    ///
    /// # Errors
    /// It does not come to answer, or answers another thing.
    pub fn start(&self, server: &'static Server, ask: &Ask, workers: u32) -> Result<Running> {
        let mut site = self.site.borrow_mut();
        let wish = Wish {
            home: site.home()?,
            site: site.path(),
            workers,
            path: ask.path.unwrap_or(server.path),
            close: ask.close,
        };
        let running = Running::start(server, &wish, self.cpus)
            .with_context(|| format!("{} cannot serve", server.name))?;
        let body = running.answer.body;
        ensure!(
            body == ask.body,
            "{} answers with {body} bytes instead of {}",
            server.name,
            ask.body
        );
        Ok(running)
    }

    /// The command of a bare client that asks `exchanges` times, ended after two minutes whatever happens.
    pub fn client(&self, server: &Server, running: &Running, ask: &Ask, exchanges: u64) -> Command {
        let mut command = Command::new(&self.pinned);
        command.arg(self.cpus.client.to_string()).arg(&self.client);
        command.args(client_arguments(server, running, ask, exchanges));
        command.stdin(Stdio::null());
        command
    }

    /// Lets the bare client ask, and says for how long it did, in µs.
    ///
    /// # Errors
    /// It complained: an answer was not the known one.
    pub fn load(
        &self,
        server: &'static Server,
        running: &Running,
        ask: &Ask,
        exchanges: u64,
    ) -> Result<f64> {
        let output = self
            .client(server, running, ask, exchanges)
            .output()
            .context("`pinned` could not be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        wall_us(&text).with_context(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!("{}: the client failed: {text}{complaint}", server.name)
        })
    }

    /// Runs `server` once.
    ///
    /// # Errors
    /// It does not serve, or something else than it did at first.
    pub fn run(&self, server: &'static Server, ask: &Ask, round: u32) -> Result<Trial> {
        let mut running = self.start(server, ask, 1)?;
        let wall_us = self.load(server, &running, ask, warm_up(ask));
        wall_us.with_context(|| running.state())?;
        let before = running.cpu_at_rest();
        let wall_us = self.load(server, &running, ask, ask.exchanges);
        let wall_us = wall_us.with_context(|| running.state())?;
        let cpu = running.cpu_at_rest().saturating_sub(before);
        let memory = running.footprint();
        Ok(Trial {
            server,
            round,
            beside: None,
            exchanges: ask.exchanges,
            bytes: running.answer.bytes,
            cpu_us: cpu.as_micros_f64(),
            wall_us,
            pss_kb: memory.map(|memory| memory.pss_kb),
        })
    }
}

fn warm_up(ask: &Ask) -> u64 {
    match ask.is_large {
        true => ask.connections,
        false => ask.connections * WARM_UP.max(ask.depth),
    }
}

fn client_arguments(server: &Server, running: &Running, ask: &Ask, exchanges: u64) -> Vec<String> {
    let mut words = vec![running.at.to_string()];
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    add("-c", ask.connections.to_string());
    add("-n", exchanges.to_string());
    add("--path", ask.path.unwrap_or(server.path).to_owned());
    add("--size", running.answer.bytes.to_string());
    add("--depth", ask.depth.to_string());
    words.extend(ask.close.then(|| "--close".to_owned()));
    words.extend(ask.is_large.then(|| "--drop".to_owned()));
    words
}

/// The bare client's own word for how long it took.
fn wall_us(text: &str) -> Option<f64> {
    let (before, _) = text.split_once(" us wall")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_time_is_read_and_its_silence_is_none() {
        let said = "300 exchanges, 1 us user, 2 us system, 1500 us wall\n\n{\"wall_us\": 9}\n";
        assert_eq!(wall_us(said), Some(1500.0));
        assert_eq!(wall_us("\n{\"wall_us\": 9, \"status\": 256}\n"), None);
    }

    #[test]
    fn figures_are_of_an_exchange_or_of_a_gigabyte() {
        let trial = Trial {
            exchanges: 1000,
            bytes: 1_000_000,
            cpu_us: 100_000.0,
            wall_us: 500_000.0,
            ..Trial::example("weigh-file", 0, 1.0)
        };
        assert_eq!(trial.cpu_us_per_exchange(), 100.0);
        assert_eq!(trial.per_second(), 2000.0);
        assert_eq!(trial.cpu_s_per_gigabyte(), 0.1);
        assert_eq!(trial.megabytes_per_second(), 2000.0);
        assert!(trial.pss_mb().is_nan());
    }
}

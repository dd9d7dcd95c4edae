//! `cargo xtask cost`: the cost of weigh to the machine it runs on, beside the least that is possible and beside others.
//!
//! A generator that costs more than the server measures itself. The least is a bare program (`bench`), and everything is a
//! ratio to it, never a time to pass: each round runs every tool once, in rotating order, and right before it or right
//! after it the floor, both against a bare responder on a CPU of its own. What disturbs the machine for a while disturbs
//! both, what disturbs it for a moment spoils one ratio of many, and a median does not care. The raw figures go to
//! `--json`. With `--server` it is the other way round: servers are measured, and a bare client loads them.
//!
//! CPU time and peak memory of a tool are those of its whole process as wait4 returns them, start and report included; its
//! start is measured apart and shown. Requests/s are requests over the process's wall time. System calls come from extra
//! runs under strace, which are too slow to be timed.
//!
//! In scope: CPU time, rates, memory, bytes and system calls. Out of scope: whether servers respond as they should beyond
//! "a 200 of the expected length"; their tests see to that.

// In reading order: runs in turn, and their ratios,
pub mod series;
// one load and all runs with it,
mod point;
// of clients,
mod clients;
// and their handshakes,
mod handshakes;
// or of servers,
mod servers;
// system calls,
mod calls;
// what needs no load,
mod memory;
// what idle connections need,
mod idle;
// what is to be reached,
mod goals;
// and all of it for people.
mod table;

use crate::catalogue::write;
use crate::machine::Machine;
use crate::programs;
use crate::serving::running::Cpus;
use crate::serving::site::{SMALL, Site};
use anyhow::{Result, ensure};
use clients::Clients;
use handshakes::{Handshake, Handshakes};
use point::{Point, Side};
use serde_json::json;
use servers::Servers;
use std::cell::RefCell;
use std::path::PathBuf;

/// A look: rounds, and seconds of each run.
const ROUNDS_QUICK: u32 = 3;
const SECONDS_QUICK: f64 = 0.15;

/// Measure what weigh costs, beside a bare client and beside other tools; or its server, beside other servers.
#[derive(Debug, clap::Args)]
pub struct CostChore {
    /// Rounds; every tool or server runs once in each.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// Seconds that one run of the floor takes, about; the others make as many requests.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// A look instead of a measurement: three short rounds.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    pub quick: bool,
    /// Numbers of connections [default: 10,100,1000; of servers, one number: 100].
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub connections: Vec<u64>,
    /// Open a new connection for every request.
    #[arg(long)]
    pub close: bool,
    /// Bytes of each response's body. Beyond 16384 there is no floor, and the others are compared with weigh itself.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=10_000_000),
          conflicts_with = "server")]
    pub body: u64,
    /// Load https: `weigh serve` instead of the bare responder, and the others are compared with weigh itself. Of servers:
    /// loaded by weigh, compared with `weigh serve`.
    #[arg(long)]
    pub tls: bool,
    /// Measure what full and resumed TLS handshakes cost, beside `openssl s_time`.
    #[arg(long, requires = "tls", conflicts_with_all = ["server", "connections", "close", "body", "only"])]
    handshakes: bool,
    /// Only these beside the floor.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = clients::names(), conflicts_with = "server")]
    pub only: Vec<String>,
    /// Omit the runs under strace.
    #[arg(long)]
    no_calls: bool,
    /// Write every run's figures here.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure servers instead of clients. Without one of the flags below and --close: with keep-alive, by classes.
    #[arg(long, help_heading = "Servers")]
    server: bool,
    /// Only these beside the floor.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = servers::names(), requires = "server",
          help_heading = "Servers")]
    pub servers: Vec<String>,
    /// Send so many requests at once.
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, default_missing_value = "64", requires = "server",
          value_parser = clap::value_parser!(u64).range(2..=1024), help_heading = "Servers")]
    pub pipeline: Option<u64>,
    /// Request files of 1 MB and 100 MB.
    #[arg(long, requires = "server", help_heading = "Servers")]
    pub large: bool,
    /// Measure memory: after the start, and for each of 10,000 idle connections.
    #[arg(long, requires = "server", help_heading = "Servers")]
    pub memory: bool,
    /// Measure the memory of 1,000 and of 10,000 idle connections, on both sides, with TLS and without.
    #[arg(long, requires = "server", help_heading = "Servers")]
    pub idle: bool,
}

/// The load of one run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Connections at a time.
    pub connections: u64,
    /// Requests, exactly.
    pub exchanges: u64,
    /// A new connection for each.
    pub close: bool,
    /// Bytes of each response's body.
    pub body: u64,
    /// For the tool that knows only time.
    pub seconds: f64,
    /// Over TLS.
    pub tls: bool,
    /// Handshakes of this kind are what is measured.
    pub handshake: Option<Handshake>,
    /// Requests that are sent at once.
    pub depth: u64,
    /// The large file that is requested of servers, whose body the client leaves in the kernel; none: what the server's
    /// row says.
    pub path: Option<&'static str>,
}

impl Load {
    /// One request on each of so many connections, for the small file.
    pub const fn of(connections: u64) -> Load {
        Load {
            connections,
            exchanges: connections,
            close: false,
            tls: false,
            body: SMALL as u64,
            seconds: 1.0,
            handshake: None,
            depth: 1,
            path: None,
        }
    }

    /// Whether large files are requested.
    pub fn is_large(&self) -> bool {
        self.path.is_some()
    }
}

/// Where runs take place.
pub struct Bench {
    /// The CPUs.
    pub cpus: Cpus,
    /// What servers serve, and where programs write.
    pub site: RefCell<Site>,
}

impl CostChore {
    /// Measures and shows; the raw figures go to `--json`.
    ///
    /// # Errors
    /// A program did not build, one that was asked for by name is not there, or one could not be measured.
    pub fn run(&self) -> Result<()> {
        programs::build("cli", &["weigh"])?;
        programs::build("bench", &["bare_client", "bare_responder", "pinned"])?;
        let side: &dyn Side = match (self.server, self.handshakes) {
            (true, _) => &Servers,
            (false, true) => &Handshakes,
            (false, false) => &Clients,
        };
        let chosen = side.chosen(self)?;
        let machine = Machine::look()?;
        print!(
            "{}",
            machine.text(side.kind(), &chosen.versions, &chosen.missing)
        );
        let bench = Bench {
            cpus: Cpus::of(&machine)?,
            site: RefCell::new(Site::new()?),
        };
        let counts_calls = !self.no_calls && calls::has_strace();
        let mut points = Vec::new();
        for subject in side.subjects(self, &bench, &chosen.names)? {
            let point = Point::measure(side, subject, &bench, self, counts_calls)?;
            println!("\n{}", table::text(&point));
            points.push(point);
        }
        if !points.is_empty() {
            println!("{}", table::LEGEND);
        }
        let mut failed: usize = points.iter().map(|point| point.failed.len()).sum();
        let (mut needs, mut without) = (Vec::new(), Vec::new());
        if self.memory {
            (needs, without) = memory::measure(&bench, &chosen.names, self.quick);
            println!("\n{}", table::memory(&needs, &without));
        }
        failed += without.len();
        let mut idles = Vec::new();
        if self.idle {
            let without;
            (idles, without) = idle::measure(&bench, &chosen.names, self.quick);
            println!("\n{}", idle::table(&idles, &without));
            failed += without.len();
        }
        if let Some(path) = &self.json {
            let value = json!({
                "machine": machine.value(&chosen.versions),
                "missing": chosen.missing,
                "points": points.iter().map(Point::value).collect::<Vec<_>>(),
                "memory": needs,
                "idle": idles,
            });
            write(path, &(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
        let is_whole = failed == 0 || !self.server;
        ensure!(
            is_whole,
            "{failed} servers that are installed could not be measured"
        );
        Ok(())
    }

    /// Whether something else is to be measured of servers than requests over kept connections.
    pub fn is_special(&self) -> bool {
        self.pipeline.is_some() || self.large || self.memory || self.idle
    }

    /// Rounds; every tool, or server, runs once in each.
    fn rounds(&self) -> u32 {
        match self.quick {
            true => ROUNDS_QUICK,
            false => self.rounds,
        }
    }

    /// Seconds that one run of the yardstick takes, about.
    fn seconds(&self) -> f64 {
        match self.quick {
            true => SECONDS_QUICK,
            false => self.seconds,
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=10.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number from 0.01 to 10".to_owned()),
    }
}

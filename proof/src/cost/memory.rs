//! What servers need in memory: after their start, and for connections on which nothing happens.
//!
//! Counted are the pages of their processes (the kernel's part of a connection is the same for all). After the start that
//! is the proportional share, in which libraries that others use too count in parts; for connections it is the growth of
//! the pages that no other process has.

use super::{Bench, Load};
use crate::catalogue::{Memory, Server, named};
use crate::serving::Bare;
use anyhow::{Context, Result};
use serde::Serialize;
use std::process::Command;

/// Connections that are held, and the server's workers: as the goals say.
const CONNECTIONS: u64 = 10_000;
const WORKERS: u32 = 2;
/// Starts of each server; a start is much like another.
const STARTS: u32 = 3;

/// The memory of a server after one start.
#[derive(Debug, Serialize)]
pub struct Need {
    /// The server's name.
    pub server: &'static str,
    /// Its workers.
    pub workers: u32,
    /// After the start and its first two responses, in kilobytes.
    pub pss_kb: u64,
    /// Number of its processes.
    pub processes: usize,
    /// Growth for each idle connection, each of which has had one response, in bytes.
    pub bytes_per_idle_connection: Option<f64>,
}

/// Servers that could not be measured, and why.
pub type Failed = Vec<(&'static str, String)>;

/// Measures those of the servers `names` whose memory is of interest.
pub fn measure(bench: &Bench, names: &[&'static str], quick: bool) -> (Vec<Need>, Failed) {
    let (mut needs, mut failed) = (Vec::new(), Vec::new());
    let servers = names.iter().map(|name| named(name));
    for server in servers.filter(|server| server.memory != Memory::No) {
        let starts = (0..if quick { 1 } else { STARTS }).map(|_| one(bench, server));
        match starts.collect::<Result<Vec<Need>>>() {
            Ok(all) => needs.extend(all),
            Err(error) => failed.push((server.name, format!("{error:#}"))),
        }
    }
    (needs, failed)
}

fn one(bench: &Bench, server: &'static Server) -> Result<Need> {
    let load = Load::of(CONNECTIONS);
    let mut running = bench.start(server, &load, WORKERS)?;
    running.cpu_at_rest();
    let before = running.footprint().context("the kernel does not tell")?;
    let mut need = Need {
        server: server.name,
        workers: WORKERS,
        pss_kb: before.pss_kb,
        processes: before.processes,
        bytes_per_idle_connection: None,
    };
    if server.memory == Memory::Idle {
        let client = bench.client(server.name, &running, &load, CONNECTIONS)?;
        let held = Bare::holding(Command::new(&client[0]).args(&client[1..]), "idle")?;
        running.cpu_at_rest();
        let after = running.footprint().context("the kernel does not tell")?;
        held.let_go()?;
        let growth = after.private_kb as f64 - before.private_kb as f64;
        need.bytes_per_idle_connection = Some(growth * 1024.0 / CONNECTIONS as f64);
    }
    Ok(need)
}

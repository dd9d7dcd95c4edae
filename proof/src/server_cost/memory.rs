//! What servers need in memory: after their start, and for connections on which nothing happens.
//!
//! Counted is what their processes have of their own (the kernel's part of a connection is the same for all). After the
//! start that is the proportional share, in which libraries that others use too count in parts; for connections it is
//! the growth of what nobody else has.

use super::held::Held;
use super::point::Failure;
use super::trial::{Ask, Bench};
use crate::catalogue::{Memory, Server};
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Connections that are held, and what the server is told to have: as the goals say.
const CONNECTIONS: u64 = 10_000;
const WORKERS: u32 = 2;
/// Starts of each server; a start is much like another.
const STARTS: u32 = 3;

/// What one start has shown.
pub struct Need {
    /// Whose.
    pub server: &'static Server,
    /// After the start and its first two answers, in kilobytes.
    pub pss_kb: u64,
    /// Processes that it is.
    pub processes: usize,
    /// Growth for each idle connection, each of which has had one answer, in bytes.
    pub bytes_each: Option<f64>,
}

impl Need {
    /// For programs.
    pub fn value(&self) -> Value {
        json!({
            "server": self.server.name,
            "workers": WORKERS,
            "pss_kb": self.pss_kb,
            "processes": self.processes,
            "idle_connections": CONNECTIONS,
            "bytes_per_idle_connection": self.bytes_each,
        })
    }
}

/// Asks all of `servers` that have to do with it; says who failed, and why.
///
/// # Errors
/// There are too few descriptors.
pub fn measure(
    bench: &Bench,
    servers: &[&'static Server],
    quick: bool,
) -> Result<(Vec<Need>, Vec<Failure>)> {
    let (mut needs, mut failed) = (Vec::new(), Vec::new());
    let asked = servers.iter().filter(|server| server.memory != Memory::No);
    for server in asked {
        for _ in 0..if quick { 1 } else { STARTS } {
            match one(bench, server) {
                Ok(need) => needs.push(need),
                Err(error) => {
                    failed.push((*server, format!("{error:#}")));
                    break;
                }
            }
        }
    }
    Ok((needs, failed))
}

fn one(bench: &Bench, server: &'static Server) -> Result<Need> {
    let ask = Ask {
        connections: CONNECTIONS,
        exchanges: CONNECTIONS,
        close: false,
        depth: 1,
        path: None,
        body: super::site::SMALL,
        is_large: false,
    };
    let mut running = bench.start(server, &ask, WORKERS)?;
    running.cpu_at_rest();
    let before = running.footprint().context("the kernel does not tell")?;
    let mut need = Need {
        server,
        pss_kb: before.pss_kb,
        processes: before.processes,
        bytes_each: None,
    };
    if server.memory == Memory::Idle {
        let held = Held::new(bench.client(server, &running, &ask, CONNECTIONS), "idle")?;
        running.cpu_at_rest();
        let after = running.footprint().context("the kernel does not tell")?;
        held.let_go()?;
        let growth = after.private_kb as f64 - before.private_kb as f64;
        need.bytes_each = Some(growth * 1024.0 / CONNECTIONS as f64);
    }
    Ok(need)
}

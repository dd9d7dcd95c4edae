//! `cargo xtask cost --server`: what `weigh serve` costs, beside the least that is possible and beside other servers.
//!
//! The other half of `cost`: there tools are measured and a bare responder serves, here servers are measured and a bare
//! client asks. It runs on one CPU and the server on another, and the rest is as there: every run of a server has one
//! of the yardstick beside it, in rotating order, and what is shown are medians of their ratios. Servers are compared
//! within a class, because what a server does for a file decides what it costs.
//!
//! In scope: CPU time, rates, memory, bytes and system calls of servers that are installed. Out of scope: whether they
//! answer rightly beyond "a 200 of the right length"; the tests see to that.

// In reading order: what is served,
pub mod site;
// what they answer,
pub mod answer;
// one that runs,
pub mod running;
// clients that only hold connections,
pub mod held;
// one run,
mod trial;
// what it asks of the kernel,
mod calls;
// many runs,
mod point;
// what needs none,
mod memory;
// what is to be reached,
mod goals;
// and what came of it all.
mod table;

use crate::catalogue::{self, Class, SERVERS, Server, Versions};
use crate::cost::{CostChore, calls as client_calls};
use crate::machine::Machine;
use crate::programs;
use anyhow::{Context, Result, ensure};
use point::Point;
use serde_json::{Value, json};
use std::fs;
use trial::Bench;

/// What `--servers` may name.
pub fn names() -> Vec<&'static str> {
    SERVERS[1..].iter().map(|server| server.name).collect()
}

/// Returns the servers that are installed, of those in `only` (of all, if it is empty), and the names of the others.
///
/// # Errors
/// One that was asked for by name is not installed.
fn present(only: &[String]) -> Result<(Vec<&'static Server>, Vec<&'static str>)> {
    let wanted = SERVERS.iter().filter(|server| {
        let is_named = only.iter().any(|name| name == server.name);
        only.is_empty() || is_named || server.class == Class::Floor
    });
    catalogue::present(wanted, only, |it| (it.name, it.is_installed()))
}

/// The measurement of servers: what the chore's flags ask for.
pub struct ServerCost<'a> {
    /// The flags.
    pub chore: &'a CostChore,
    /// Connections at a time.
    pub connections: u64,
    /// Whether system calls are counted.
    pub counts_calls: bool,
}

impl ServerCost<'_> {
    /// Measures and shows; the raw figures go to `--json`.
    ///
    /// # Errors
    /// A program did not build, a server that was asked for by name is not there, or one could not be measured.
    pub fn run(mut self) -> Result<()> {
        programs::build("cli", &["weigh"])?;
        programs::build("bench", &["bare_client", "bare_responder", "pinned"])?;
        let (present, missing) = present(&self.chore.of_servers.servers)?;
        let machine = Machine::look()?;
        let versions: Versions = present.iter().filter_map(|it| it.version()).collect();
        print!("{}", machine.text("server", &versions, &missing));
        self.counts_calls &= client_calls::has_strace();
        let bench = Bench::new(&machine)?;
        let (value, failed) = self.measure(&bench, &present)?;
        if let Some(path) = &self.chore.json {
            let value = json!({
                "machine": machine.value(&versions),
                "missing": missing,
                "measured": value,
            });
            fs::write(path, serde_json::to_string_pretty(&value)? + "\n")
                .with_context(|| format!("{} could not be written", path.display()))?;
        }
        ensure!(
            failed == 0,
            "{failed} servers that are installed could not be measured"
        );
        Ok(())
    }

    /// All subjects in turn, each shown when it is done: their values, and how many servers failed.
    fn measure(&self, bench: &Bench, present: &[&'static Server]) -> Result<(Value, usize)> {
        let mut failed = 0;
        let mut points = Vec::new();
        for subject in point::subjects(self, bench)? {
            let point = subject.measure(bench, present, self)?;
            println!("\n{}", table::text(&point));
            show(&goals::of_point(&point));
            failed += point.failed.len();
            points.push(point);
        }
        if !points.is_empty() {
            println!("{}", table::LEGEND);
        }
        let mut needs = Vec::new();
        if self.chore.of_servers.memory {
            let (measured, without) = memory::measure(bench, present, self.chore.quick)?;
            println!("\n{}", table::memory(&measured, &without));
            show(&goals::of_memory(&measured));
            failed += without.len();
            needs = measured;
        }
        let value = json!({
            "points": points.iter().map(Point::value).collect::<Vec<_>>(),
            "memory": needs.iter().map(memory::Need::value).collect::<Vec<_>>(),
        });
        Ok((value, failed))
    }
}

fn show(lines: &[String]) {
    for line in lines {
        println!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_named_is_taken_with_the_floor() {
        let only = ["weigh".to_owned()];
        let (present, missing) = present(&only).unwrap();
        assert_eq!(present, [catalogue::floor(), catalogue::named("weigh")]);
        assert!(missing.is_empty());
    }
}

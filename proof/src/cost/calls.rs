//! System calls of an exchange, as strace counts them.
//!
//! Two runs with different numbers of exchanges are subtracted, so that what a start asks of the kernel is not taken for
//! an exchange's. Under strace a client is so slow that there is always something to receive: waits are shared by more
//! exchanges than in a timed run.

use super::tools::Ask;
use super::trial::Bench;
use crate::catalogue::Tool;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

/// Exchanges on which the counts rest.
const EXCHANGES: u64 = 6_000;
const EXCHANGES_QUICK: u64 = 1_000;

/// Calls fewer than this in an exchange are not worth a name.
const WORTH: f64 = 0.005;

/// What one tool asks of the kernel.
pub struct Calls {
    /// Whose.
    pub tool: &'static str,
    /// Calls of one exchange, by name.
    by_name: BTreeMap<String, f64>,
}

impl Calls {
    /// Of the exchanges that one run made more than another: both with the calls that were counted.
    pub fn between(
        tool: &'static str,
        (before, few): (BTreeMap<String, u64>, u64),
        (after, many): (BTreeMap<String, u64>, u64),
    ) -> Calls {
        let each = |(name, calls): (String, u64)| {
            let more = calls as f64 - *before.get(&name).unwrap_or(&0) as f64;
            (name, more / (many - few) as f64)
        };
        Calls {
            tool,
            by_name: after.into_iter().map(each).collect(),
        }
    }

    /// Of one exchange.
    pub fn total(&self) -> f64 {
        self.by_name.values().sum()
    }

    /// By name, the most frequent first.
    pub fn text(&self) -> String {
        let mut calls: Vec<(&String, &f64)> = self.by_name.iter().collect();
        calls.sort_by(|a, b| b.1.total_cmp(a.1));
        let calls = calls.iter().filter(|(_, count)| **count >= WORTH);
        calls
            .map(|(name, count)| format!("{name} {count:.2}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// For programs.
    pub fn value(&self) -> Value {
        json!({ "tool": self.tool, "per_exchange": self.total(), "by_name": self.by_name })
    }
}

/// Counts for every tool; nothing where there is no strace.
///
/// # Errors
/// A tool failed.
pub fn all(bench: &Bench, tools: &[&'static Tool], ask: &Ask, quick: bool) -> Result<Vec<Calls>> {
    if !has_strace() {
        return Ok(Vec::new());
    }
    let exchanges = if quick { EXCHANGES_QUICK } else { EXCHANGES };
    let counted = tools.iter().map(|tool| one(bench, tool, ask, exchanges));
    counted.collect()
}

/// Whether there is strace; a line says so where there is none.
pub fn has_strace() -> bool {
    let answer = Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = answer.is_ok_and(|status| status.success());
    if !there {
        println!("missing    strace is not installed: no system calls were counted");
    }
    there
}

fn one(bench: &Bench, tool: &'static Tool, ask: &Ask, exchanges: u64) -> Result<Calls> {
    let few = ask.connections * 2;
    let many = few + exchanges.div_ceil(ask.connections) * ask.connections;
    let (after, made) = count(bench, tool, ask, many)?;
    let (before, base) = match tool.timed {
        false => count(bench, tool, ask, few)?,
        // It runs as long as it likes: all calls are taken for its exchanges'.
        true => (BTreeMap::new(), 0),
    };
    Ok(Calls::between(tool.name, (before, base), (after, made)))
}

/// The calls of one run, and its exchanges.
fn count(
    bench: &Bench,
    tool: &'static Tool,
    ask: &Ask,
    exchanges: u64,
) -> Result<(BTreeMap<String, u64>, u64)> {
    let file = bench.file("strace.txt");
    let under = ["strace", "-f", "-c", "-o"].map(str::to_owned).to_vec();
    let under = [under, vec![file.display().to_string()]].concat();
    let ask = Ask { exchanges, ..*ask };
    let trial = bench
        .run_under(&under, tool, &ask, 0)
        .with_context(|| format!("{} under strace", tool.name))?;
    let text = fs::read_to_string(&file)?;
    let calls = read(&text);
    ensure!(!calls.is_empty(), "strace counted nothing:\n{text}");
    Ok((calls, trial.exchanges))
}

/// Lines of `% time, seconds, usecs/call, calls, [errors,] syscall`, between two rulers.
pub fn read(text: &str) -> BTreeMap<String, u64> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, calls) = (words.last()?, words.get(3)?.parse().ok()?);
        (*name != "total").then(|| ((*name).to_owned(), calls))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "% time     seconds  usecs/call     calls    errors syscall\n\
        ------ ----------- ----------- --------- --------- ----------------\n \
        61.24    0.064141          32      2000           sendto\n \
        37.60    0.039387          19      2010        10 recvfrom\n  \
        0.00    0.000000           0         1           close\n\
        ------ ----------- ----------- --------- --------- ----------------\n\
        100.00    0.104742          25      4011        10 total\n";

    #[test]
    fn the_summary_is_read_with_and_without_errors() {
        let calls = read(TEXT);
        let wanted = [("close", 1), ("recvfrom", 2010), ("sendto", 2000)];
        let wanted = wanted.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(calls, wanted.into());
    }

    #[test]
    fn rare_calls_count_but_have_no_name() {
        let calls = Calls {
            tool: "floor",
            by_name: [
                ("sendto".into(), 1.0),
                ("recvfrom".into(), 1.25),
                ("brk".into(), 0.001),
            ]
            .into(),
        };
        assert_eq!(calls.text(), "recvfrom 1.25, sendto 1.00");
        assert!((calls.total() - 2.251).abs() < 1e-9);
    }
}

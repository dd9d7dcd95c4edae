//! System calls of a request, as strace counts them, of a client or of a server.
//!
//! Two counts with different numbers of requests are subtracted, so that what a start asks of the kernel is not taken for
//! a request's. Under strace a program is so slow that there is always something to receive: waits are shared by more
//! requests than in a timed run.

use crate::programs;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Calls fewer than this in a request are not worth a name.
const WORTH: f64 = 0.005;

/// System calls of one tool or server.
pub struct Calls {
    /// Its name.
    pub name: &'static str,
    /// Calls of one request, by name.
    by_name: BTreeMap<String, f64>,
}

impl Calls {
    /// Returns those of the requests that one run made more than another, each with the calls that were counted.
    pub fn between(
        name: &'static str,
        (before, few): (BTreeMap<String, u64>, u64),
        (after, many): (BTreeMap<String, u64>, u64),
    ) -> Calls {
        let each = |(call, calls): (String, u64)| {
            let more = calls as f64 - *before.get(&call).unwrap_or(&0) as f64;
            (call, more / (many - few) as f64)
        };
        Calls {
            name,
            by_name: after.into_iter().map(each).collect(),
        }
    }

    /// Calls of one request.
    pub fn total(&self) -> f64 {
        self.by_name.values().sum()
    }

    /// By name, the most frequent first.
    pub fn text(&self) -> String {
        let mut calls: Vec<(&String, &f64)> = self.by_name.iter().collect();
        calls.retain(|(_, count)| **count >= WORTH);
        calls.sort_by(|a, b| b.1.total_cmp(a.1));
        let calls = calls
            .iter()
            .map(|(name, count)| format!("{name} {count:.2}"));
        calls.collect::<Vec<_>>().join(", ")
    }

    /// For programs.
    pub fn value(&self) -> Value {
        json!({ "name": self.name, "per_exchange": self.total(), "by_name": self.by_name })
    }
}

/// Whether there is strace; a line says so where there is none.
pub fn has_strace() -> bool {
    let there = programs::find("strace").is_some();
    if !there {
        println!("missing    strace is not installed: no system calls were counted");
    }
    there
}

/// Reads lines of `% time, seconds, usecs/call, calls, [errors,] syscall`, between two rulers.
///
/// # Errors
/// There are none.
pub fn read(text: &str) -> Result<BTreeMap<String, u64>> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, calls) = (words.last()?, words.get(3)?.parse().ok()?);
        (*name != "total").then(|| ((*name).to_owned(), calls))
    };
    let calls: BTreeMap<String, u64> = text.lines().filter_map(row).collect();
    ensure!(!calls.is_empty(), "strace counted nothing:\n{text}");
    Ok(calls)
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
        let calls = read(TEXT).unwrap();
        let wanted = [("close", 1), ("recvfrom", 2010), ("sendto", 2000)];
        let wanted = wanted.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(calls, wanted.into());
        assert!(read("").is_err());
    }

    #[test]
    fn rare_calls_count_but_have_no_name() {
        let calls = Calls {
            name: "floor",
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

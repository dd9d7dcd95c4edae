//! Processes that a test looks for: children of weigh, and whatever a server has started.

use crate::bench::{Bench, PATIENCE, lives};
use std::fs;
use std::time::{Duration, Instant};

/// How often it is looked whether a condition holds that gives no sign.
const LOOK: Duration = Duration::from_millis(5);

/// The process id that a server under test wrote into the file `name`.
#[track_caller]
pub fn id_in(bench: &Bench, name: &str) -> u32 {
    let text = fs::read_to_string(bench.path(name)).unwrap();
    text.trim().parse().unwrap()
}

/// Waits until `condition` holds, which gives no other sign.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come true");
        std::thread::park_timeout(LOOK); // not a wait for the condition, but the interval of asking
    }
}

/// Waits until the journal of `run.json` has `rounds` rounds.
#[track_caller]
pub fn rounds_are_over(bench: &Bench, rounds: usize) {
    let journal = bench.path("run.json.journal");
    let lines = || fs::read(&journal).unwrap_or_default();
    let is_over = || lines().iter().filter(|byte| **byte == b'\n').count() > rounds;
    wait_until("so many rounds", is_over);
}

/// The living processes that `parent` has started.
pub fn children(parent: u32) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after = stat.rsplit(") ").next().unwrap_or_default().to_owned();
        after.split(' ').nth(1) == Some(&parent.to_string())
    };
    ids.filter(is_child).filter(|id| lives(*id)).collect()
}

/// Waits until none of `ids` lives.
#[track_caller]
pub fn all_end(ids: &[u32]) {
    wait_until("the end of all processes", || {
        ids.iter().all(|id| !lives(*id))
    });
}

//! Command lines of other tools, and their reports: any words are read or refused, and what is loaded can be reported.
//!
//! The first byte says which tool; the words behind it end with a zero byte each.
#![no_main]

use dropins::{DROPINS, Reading, Said};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// As many loads are looked at.
const LOADS_MOST: usize = 20;

/// Runs to report: one that went well, one with errors, one in which nothing was measured.
fn runs() -> &'static [record::Run] {
    static RUNS: OnceLock<Vec<record::Run>> = OnceLock::new();
    RUNS.get_or_init(|| vec![record::example::ok(), record::example::empty()])
}

/// What is said ends, and is of a kind that a terminal takes.
fn look(said: &Said) {
    assert!(said.out.len() + said.err.len() < 1 << 24);
}

fuzz_target!(|input: &[u8]| {
    let Some((tool, words)) = input.split_first() else {
        return;
    };
    let Ok(words) = std::str::from_utf8(words) else {
        return;
    };
    let dropin = &DROPINS[usize::from(*tool) % DROPINS.len()];
    let words: Vec<String> = words.split('\0').map(str::to_owned).collect();
    match (dropin.read)(&words) {
        Reading::Said(said) => look(&said),
        Reading::Load(mut report) => {
            let loads = report.loads().len();
            assert!(loads > 0, "it asks for a load");
            for load in (0..loads).take(LOADS_MOST) {
                look(&report.begins(load));
                look(&report.progress(load, 1));
                let run = &runs()[load % runs().len()];
                look(&report.ends(load, run));
            }
            look(&report.failed(0, "it is not there"));
        }
    }
});

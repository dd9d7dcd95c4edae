//! Whatever is done to a connection in whatever order: every opened exchange is done exactly once, and what is offered
//! for sending is what was opened.
#![no_main]

#[path = "../../crates/wire/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| oracle::operations::run(script));

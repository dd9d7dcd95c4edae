//! `cargo xtask truth`: whether what weigh says of latency is true, and how far it is off.
//!
//! A server that writes down what became of each request (`weigh serve --truth`) is asked in open loop, case by case.
//! What a generator then says is held against that log, by sorting.

#![allow(dead_code, reason = "the parts come to be used one by one")]

// In reading order: what is tried,
pub mod case;
// by whom else,
pub mod peers;
// and looked at how else.
pub mod capture;

use anyhow::Result;
use case::CASES;

/// Hold what weigh says of latency against what happened, and write docs/accuracy.md.
#[derive(Debug, clap::Args)]
pub struct Truth {
    /// Only say which cases there are.
    #[arg(long)]
    list: bool,
}

impl Truth {
    /// Measures and shows.
    pub fn run(&self) -> Result<()> {
        for case in CASES {
            println!(
                "{:<22} {:>6}/s {:<9} {:>5} connections {:>3} s  {} {}",
                case.name,
                case.rate,
                case.arrivals,
                case.connections,
                case.seconds,
                case.path,
                case.server
            );
        }
        Ok(())
    }
}

//! `cargo xtask truth`: whether what weigh says of latency is true, and how far it is off.
//!
//! A server that writes down what became of each request (`weigh serve --truth`) is asked in open loop, case by case.
//! What a generator then says is held against that log, by sorting: for weigh when each answer left less when its
//! request was due, for others less when it arrived.
//!
//! In scope: how true the figures are, and whether what was sent was sent as meant. Out of scope: what it costs
//! (`cost`), and what is made of servers that misbehave (`faults`).

#![allow(dead_code, reason = "the page comes to use the rest")]

// In reading order: what is tried,
pub mod case;
// with what,
mod means;
// against whom,
mod server;
// what was to happen,
mod schedule;
// and did,
mod lindley;
mod noise;
mod samples;
mod sending;
// by whom else,
pub mod peers;
// looked at how else;
pub mod capture;
// one run,
mod trial;
// how far off it may be,
mod judge;
// several runs,
mod outcome;
// and what came of it all.
mod table;

use anyhow::{Result, ensure};
use case::{CASES, Case};
use means::{Means, SEED};
use outcome::Outcome;
use peers::{PEERS, Peer};
use trial::Order;

/// Runs of every case, of which the one in the middle decides.
const ROUNDS: u32 = 3;
/// A look: seconds of each run, and one of each.
const SECONDS_QUICK: u32 = 1;

/// Hold what weigh says of latency against what happened, and write docs/accuracy.md.
#[derive(Debug, clap::Args)]
pub struct Truth {
    /// Only these cases; nothing is written.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// Length of every run, instead of the case's own.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: Option<u32>,
    /// Runs of every case by every tool.
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=15))]
    rounds: u32,
    /// A look instead of a proof: every case once, for a second; nothing is written.
    #[arg(long, conflicts_with_all = ["seconds", "rounds"])]
    quick: bool,
    /// Only weigh, no other load generators; nothing is written.
    #[arg(long)]
    alone: bool,
    /// Only say which cases there are.
    #[arg(long)]
    list: bool,
}

fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

impl Truth {
    /// Measures and shows.
    ///
    /// # Errors
    /// A figure of weigh's is outside its bound, or something could not be run.
    pub fn run(&self) -> Result<()> {
        if self.list {
            list();
            return Ok(());
        }
        let means = Means::built()?;
        println!("priority   {}", means.priority_text());
        println!("{}", table::head());
        let mut outcomes = Vec::new();
        for case in CASES.iter().filter(|case| self.wants(case)) {
            let outcome = self.outcome(&means, case)?;
            println!("{}", table::text(&outcome));
            outcomes.push(outcome);
        }
        verdict(&outcomes)
    }

    fn wants(&self, case: &Case) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == case.name)
    }

    fn outcome(&self, means: &Means, case: &'static Case) -> Result<Outcome> {
        let mut trials = Vec::new();
        for round in 0..self.rounds() {
            let order = Order {
                means,
                seconds: self.seconds(case),
                round,
                seed: SEED + u64::from(round),
            };
            trials.push(order.weigh(case)?);
            for peer in self.peers() {
                trials.push(order.peer(case, peer)?);
            }
        }
        Ok(Outcome { case, trials })
    }

    fn peers(&self) -> impl Iterator<Item = &'static Peer> {
        let is_wanted = !self.alone;
        PEERS
            .iter()
            .filter(move |peer| is_wanted && peer.is_installed())
    }

    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    fn seconds(&self, case: &Case) -> u32 {
        match (self.quick, self.seconds) {
            // A server that stands still for a second needs some time beside that.
            (true, _) if case.nature == case::Nature::Stopped => case.seconds,
            (true, _) => SECONDS_QUICK,
            (false, seconds) => seconds.unwrap_or(case.seconds),
        }
    }
}

fn list() {
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
}

fn verdict(outcomes: &[Outcome]) -> Result<()> {
    let wrong = outcomes.iter().filter(|it| !it.wrongs().is_empty());
    let wrong: Vec<&str> = wrong.map(|outcome| outcome.case.name).collect();
    ensure!(
        wrong.is_empty(),
        "what weigh says is not true enough: {}",
        wrong.join(", ")
    );
    println!("weigh is within its bounds in all {} cases", outcomes.len());
    Ok(())
}

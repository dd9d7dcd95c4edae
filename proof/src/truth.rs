//! `cargo xtask truth`: whether what weigh says of latency is true, and how far it is off.
//!
//! A server that writes down what became of each request (`weigh serve --truth`) is asked in open loop, case by case.
//! What a generator then says is compared with that log, by sorting: for weigh when each answer left less when its
//! request was due, for others less when it arrived.
//!
//! In scope: how true the figures are, and whether what was sent was sent as meant. Out of scope: what it costs
//! (`cost`), and what is made of servers that misbehave (`faults`).

// In reading order: what is tried,
pub mod case;
// with what,
pub mod setup;
// against whom,
mod server;
// what was to happen,
mod schedule;
// and did,
mod lindley;
mod noise;
mod samples;
mod sending;
// looked at how else;
pub mod capture;
// how low it may be,
mod baseline;
// one run,
mod trial;
// how far off it may be,
mod judge;
// over TLS too,
mod tls;
// several runs,
mod outcome;
// and what came of it all: at once,
mod table;
// for readers,
mod page;
// and to judge again by;
mod raw;
// and whether a lie would be found out.
mod mutants;

use crate::catalogue::{TOOLS, Tool, ensure_none, read, write};
use crate::machine::Machine;
use crate::programs::root;
use anyhow::{Context, Result};
use baseline::Baseline;
use case::{CASES, Case, Nature};
use outcome::Outcome;
use page::Setting;
use setup::{SEED, Setup};
use std::fs;
use std::path::PathBuf;
use tls::Encrypted;
use trial::Order;

/// Runs of every case, of which the one in the middle decides.
const ROUNDS: u32 = 3;
/// The longest run of another tool: enough for all stalls, and for p99.9 wherever the rate is not the lowest.
const SECONDS_OF_PEERS: u32 = 3;
/// Pairs of runs for the baseline, of each way of waiting.
const PAIRS: u32 = 15;
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
    /// Try this weigh instead of building one; nothing is written.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Only say which cases there are.
    #[arg(long)]
    list: bool,
    /// Only the floor: beside a paced client of bare system calls; its section of docs/accuracy.md is written anew.
    #[arg(long, conflicts_with_all = ["only", "seconds", "check_page"])]
    floor: bool,
    /// Over TLS: weigh alone, its bounds wider by what TLS takes at a tenth of the rate; writes docs/accuracy-tls.md.
    #[arg(long, conflicts_with_all = ["floor", "alone", "check_page"])]
    tls: bool,
    /// Run nothing; only say whether docs/accuracy.md has every case, and nothing of ours outside its bounds; docs/accuracy-tls.md too, where
    /// it is.
    #[arg(long, conflicts_with_all = ["only", "quick"])]
    check_page: bool,
    /// Build weighs that lie, and see whether each is found out.
    #[arg(long, conflicts_with_all = ["only", "quick", "seconds", "rounds", "check_page", "tls"])]
    mutants: bool,
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
            CASES.iter().for_each(list);
            return Ok(());
        }
        if self.check_page {
            return check_pages();
        }
        if self.mutants {
            return mutants::run();
        }
        let setup = Setup::of(self.program.clone())?;
        let machine = Machine::look()?;
        println!("machine    {}", machine.sentence());
        println!("priority   {}", setup.priority_text());
        let mut outcomes = Vec::new();
        if !self.floor {
            println!("{}", table::head());
            for case in CASES.iter().filter(|case| self.wants(case)) {
                let outcome = self.outcome(&setup, case)?;
                println!("{}", table::text(&outcome));
                outcomes.push(outcome);
            }
            if !self.is_whole() {
                return verdict(&outcomes);
            }
        }
        if self.tls {
            publish_tls(&self.setting(&setup, &machine, String::new()), &outcomes)?;
            return verdict(&outcomes);
        }
        let baseline = baseline::measure(&setup, if self.quick { 1 } else { PAIRS })?;
        println!("{}", baseline.section());
        if !self.floor {
            publish(
                &self.setting(&setup, &machine, baseline.section()),
                &outcomes,
            )?;
            verdict(&outcomes)?;
        } else if self.is_whole() {
            publish_baseline(&baseline)?;
        }
        baseline.verdict()
    }

    /// Whether this is what is published, and nothing less.
    fn is_whole(&self) -> bool {
        let is_other = self.program.is_some() || self.alone || !self.only.is_empty();
        let is_less = self.quick || self.seconds.is_some() || self.rounds < ROUNDS;
        !is_other && !is_less
    }

    fn setting(&self, setup: &Setup, machine: &Machine, baseline: String) -> Setting {
        let version = |peer: &Tool| format!("{} ({}; {})", peer.name, peer.version(), peer.way);
        Setting {
            machine: machine.sentence(),
            commit: machine.commit().to_owned(),
            priority: setup.priority_text(),
            versions: self.peers().map(version).collect(),
            rounds: self.rounds(),
            baseline,
        }
    }

    fn wants(&self, case: &Case) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == case.name)
    }

    fn outcome(&self, setup: &Setup, case: &'static Case) -> Result<Outcome> {
        let (mut trials, mut pairs) = (Vec::new(), Vec::new());
        for round in 0..self.rounds() {
            let mut order = Order {
                setup,
                seconds: self.seconds(case),
                round,
                seed: SEED + u64::from(round),
                spin: trial::AWAKE,
                tls: self.tls,
            };
            trials.push(order.weigh(case)?);
            if self.tls && case.nature != Nature::Overload {
                pairs.push(order.at_a_tenth(case)?);
            }
            order.seconds = order.seconds.min(SECONDS_OF_PEERS);
            for peer in self.peers().filter(|_| case.nature != Nature::Overload) {
                trials.push(order.peer(case, peer)?);
            }
        }
        Ok(Outcome {
            case,
            trials,
            encrypted: self.tls.then_some(Encrypted { pairs }),
        })
    }

    fn peers(&self) -> impl Iterator<Item = &'static Tool> + '_ {
        let peers = TOOLS.iter().filter(|tool| tool.has_latency());
        peers.filter(|peer| !self.alone && !self.tls && peer.is_installed())
    }

    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    fn seconds(&self, case: &Case) -> u32 {
        match (self.quick, self.seconds) {
            // A server that stands still for a second needs some time beside that.
            (true, _) if case.nature == Nature::Stopped => case.seconds,
            (true, _) => SECONDS_QUICK,
            (false, seconds) => seconds.unwrap_or(case.seconds),
        }
    }
}

fn list(case: &Case) {
    let (name, arrivals, connections) = (case.name, case.arrivals, case.connections);
    println!(
        "{name:<22} {:>6}/s {arrivals:<9} {connections:>5} connections {:>3} s  {} {}",
        case.rate, case.seconds, case.path, case.server
    );
}

/// Writes the page, and the raw data beside it.
fn publish(setting: &Setting, outcomes: &[Outcome]) -> Result<()> {
    write(&published(), &page::text(setting, outcomes))?;
    publish_raw(["runs.tsv", "samples.tsv"], outcomes)
}

/// The same of the page over TLS. Nothing of the other is touched.
fn publish_tls(setting: &Setting, outcomes: &[Outcome]) -> Result<()> {
    write(&root().join(tls::PAGE), &tls::text(setting, outcomes))?;
    publish_raw(["runs-tls.tsv", "samples-tls.tsv"], outcomes)
}

fn publish_raw([runs, samples]: [&str; 2], outcomes: &[Outcome]) -> Result<()> {
    let folder = published().with_extension("");
    let made = fs::create_dir_all(&folder);
    made.with_context(|| format!("{} could not be made", folder.display()))?;
    write(&folder.join(runs), &raw::runs(outcomes))?;
    write(&folder.join(samples), &raw::samples(outcomes))
}

/// Checks the published pages. Until the cases were run over TLS there is one.
fn check_pages() -> Result<()> {
    page::check(page::PAGE, page::COMMAND, &read(&published())?)?;
    let encrypted = root().join(tls::PAGE);
    match encrypted.exists() {
        true => page::check(tls::PAGE, tls::COMMAND, &read(&encrypted)?),
        false => Ok(()),
    }
}

/// Writes the baseline's section of the page anew, where there is a page.
fn publish_baseline(baseline: &Baseline) -> Result<()> {
    match fs::read_to_string(published()) {
        Ok(text) => write(
            &published(),
            &page::with_section(&text, &baseline.section()),
        ),
        Err(_) => Ok(()),
    }
}

fn published() -> PathBuf {
    root().join(page::PAGE)
}

fn verdict(outcomes: &[Outcome]) -> Result<()> {
    let wrong = outcomes.iter().filter(|it| !it.wrongs().is_empty());
    let wrong = wrong.map(|outcome| outcome.case.name);
    ensure_none("what weigh says is not true enough", wrong)?;
    println!("weigh is within its bounds in all {} cases", outcomes.len());
    Ok(())
}

//! `cargo xtask observing`: whether monitoring a server changes its throughput.
//!
//! weigh loads its own server in short runs, in one with an eye on the server's processes and in the next with none
//! (`--server none`), each first in turn. Two neighbours in time have the same disturbances, so that their ratio shows
//! what looking does; of the pairs' ratios the median and its interval are shown. The generator is one thread on one
//! CPU, which the thread that looks has to share: so it is where looking would be seen first.

use crate::cost::series::{in_turn, median, shown};
use crate::machine::Machine;
use crate::programs;
use crate::serving::{listening, start};
use crate::truth::setup::Setup;
use anyhow::{Context, Result, ensure};
use kernel::process::Child;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The most of one CPU that looking may take.
const MOST: f64 = 0.005;
/// Fewer pairs have no interval.
const PAIRS_LEAST: i64 = 6;

/// Measure whether monitoring a server changes its throughput.
#[derive(Debug, clap::Args)]
pub struct Observing {
    /// Pairs of runs, one that looks at the server and one that does not.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(PAIRS_LEAST..=1000))]
    pairs: u32,
    /// Milliseconds that each run measures.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(100..=10_000))]
    window_ms: u32,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Idle children that the server has beside itself, which are looked at too.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    children: u32,
    /// Try this program instead of building weigh.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    /// Requests a second.
    rps: f64,
    /// The share of a CPU that looking took; none where it was not looked at.
    observing: Option<f64>,
    /// Processes that were looked at.
    processes: u32,
}

/// Two runs, neighbours in time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    on: Sample,
    off: Sample,
}

impl Observing {
    /// Measures and shows.
    ///
    /// # Errors
    /// Looking changed the throughput beyond what the interval allows, or took too much; or something could not be run.
    pub fn run(&self) -> Result<()> {
        programs::build("bench", &["pinned"])?;
        let setup = Setup::of(self.program.clone())?;
        let machine = Machine::look()?;
        println!("machine    {}", machine.sentence());
        println!("priority   {}", setup.priority_text());
        let (_server, at) = server(&setup, machine.responder(), self.children)?;
        let run = |looks| {
            let eye = if looks { "" } else { "--server none" };
            let arguments = format!(
                "run http://{at}/100.html --connections {} --threads 1 --warmup 100ms --duration {}ms --rounds 1 --quiet {eye}",
                self.connections, self.window_ms
            );
            seen(&setup.record_on(machine.client(), &arguments)?, looks)
        };
        let mut pairs = Vec::new();
        for round in 0..self.pairs {
            // Each comes first in turn.
            let (on, off) = in_turn(round.is_multiple_of(2), || run(true), || run(false))?;
            pairs.push(Pair { on, off });
        }
        println!("{}", text(&pairs));
        verdict(&pairs)
    }
}

/// What all pairs have shown, for people.
fn text(pairs: &[Pair]) -> String {
    let of = |rps: fn(&Pair) -> f64| median(pairs.iter().map(rps).collect());
    let processes = pairs.iter().map(|pair| pair.on.processes).max();
    let shares = shares(pairs);
    format!(
        "{} pairs, {} processes looked at\nrequests/s {:.0} looking, {:.0} not looking: ratio {}\nlooking    {:.3} % of \
         a CPU (median), {:.3} % (most); {} % may be",
        pairs.len(),
        processes.unwrap_or_default(),
        of(|pair| pair.on.rps),
        of(|pair| pair.off.rps),
        shown(&ratios(pairs)),
        median(shares.clone()) * 100.0,
        shares.into_iter().fold(0.0, f64::max) * 100.0,
        MOST * 100.0,
    )
}

/// Whether looking changes nothing.
fn verdict(pairs: &[Pair]) -> Result<()> {
    let ratios = ratios(pairs);
    let interval = stats::median_interval(&ratios).context("too few pairs")?;
    ensure!(
        (interval.low..=interval.high).contains(&1.0),
        "looking at the server changed its requests/s: {}",
        shown(&ratios)
    );
    let (share, most) = (median(shares(pairs)) * 100.0, MOST * 100.0);
    ensure!(
        share < most,
        "looking took {share:.3} % of a CPU; {most} % may be"
    );
    Ok(())
}

fn ratios(pairs: &[Pair]) -> Vec<f64> {
    let ratio = |pair: &Pair| pair.on.rps / pair.off.rps;
    pairs.iter().map(ratio).collect()
}

fn shares(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().filter_map(|pair| pair.on.observing).collect()
}

/// Starts the server with its idle children, and waits until it listens.
fn server(setup: &Setup, cpu: u32, children: u32) -> Result<(Child, SocketAddr)> {
    // The children are of the shell, and so of what it turns into.
    let script = format!(
        "i=0; while [ $i -lt {children} ]; do tail -f /dev/null & i=$((i+1)); done; exec {} serve --listen 127.0.0.1:0 \
         --workers 1",
        setup.server.display()
    );
    let mut command = setup.command(&programs::path("pinned")?);
    command.extend([cpu.to_string(), "sh".into(), "-c".into(), script]);
    let words = setup.folder().join("observed.words");
    let mut server = start(command, &words)?;
    let at = listening(&mut server, &words)?;
    Ok((server, at))
}

/// What a run has shown, which did what it was asked to.
fn seen(run: &record::Run, looks: bool) -> Result<Sample> {
    let round = run.points.first().and_then(|point| point.rounds.first());
    let round = round.context("weigh has measured nothing")?;
    ensure!(round.tally.errors() == 0, "some requests failed");
    ensure!(
        round.footprint.is_some() == looks,
        "weigh looked at the server where it should not have, or did not where it should: {:?}",
        run.observed
    );
    let budget = round.budget.context("Linux does not tell the budget")?;
    let observing = budget.observing.as_secs_f64() / budget.wall.as_secs_f64();
    Ok(Sample {
        rps: round.rps(),
        observing: looks.then_some(observing),
        processes: round.footprint.as_ref().map_or(0, |print| print.processes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64], observing: f64) -> Vec<Pair> {
        let sample = |rps, observing| Sample {
            rps,
            observing,
            processes: 1,
        };
        let pair = |ratio: &f64| Pair {
            on: sample(ratio * 1000.0, Some(observing)),
            off: sample(1000.0, None),
        };
        ratios.iter().map(pair).collect()
    }

    #[test]
    fn only_a_ratio_beyond_its_interval_or_a_dear_look_is_wrong() {
        let even = [0.99, 1.01, 0.98, 1.02, 1.0, 0.995, 1.005];
        assert!(verdict(&pairs(&even, 0.004)).is_ok());
        let dear = verdict(&pairs(&even, 0.006)).unwrap_err().to_string();
        assert_eq!(dear, "looking took 0.600 % of a CPU; 0.5 % may be");
        let slower = even.map(|ratio| ratio * 0.95);
        let slower = verdict(&pairs(&slower, 0.001)).unwrap_err().to_string();
        assert!(
            slower.starts_with("looking at the server changed its requests/s: 0.950"),
            "{slower}"
        );
        assert!(verdict(&pairs(&even[..2], 0.0)).is_err());
    }

    #[test]
    fn the_text_has_both_figures_and_the_ratio() {
        let text = text(&pairs(&[1.0; 8], 0.001));
        assert!(
            text.contains("1000 looking, 1000 not looking: ratio 1.000 (1.000..1.000)"),
            "{text}"
        );
        assert!(text.contains("0.100 % of a CPU"), "{text}");
    }

    #[test]
    fn a_run_that_did_not_look_as_it_was_asked_to_is_no_run() {
        let run = record::example::ok();
        assert!(seen(&run, false).is_err());
    }
}

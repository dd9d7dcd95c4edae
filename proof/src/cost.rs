//! `cargo xtask cost`: what weigh costs the machine it runs on, beside the least that is possible and beside others.
//!
//! A generator that costs more than the server measures itself. The least is a bare program of ours (`bench`), and
//! everything is a ratio to it, never a time to pass: each round runs every tool once, in rotating order, and right
//! before it or right after it the floor, both against a bare responder on a CPU of its own. What disturbs the machine
//! for a while disturbs both, what disturbs it for a moment spoils one ratio of many, and a median does not care. The
//! raw figures go to `--json`.
//!
//! CPU time and peak memory are those of the tool's whole process as wait4 tells them, start and report included; what
//! of it is start is measured apart and shown. Requests/s are exchanges over the process's wall time. System calls come
//! from extra runs under strace, which are too slow to be timed.

// In reading order: what runs,
mod tools;
// how one of them runs once,
mod trial;
// what is asked of the kernel,
pub mod calls;
// and what came of it all.
pub mod table;

use crate::catalogue::Tool;
use crate::machine::Machine;
use crate::programs;
use crate::server_cost::{self, ServerCost};
use anyhow::{Context, Result, ensure};
use calls::Calls;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tools::Ask;
use trial::{Bench, Trial};

/// A look: rounds, and seconds of each run.
const ROUNDS_QUICK: u32 = 3;
const SECONDS_QUICK: f64 = 0.15;

/// Connections that clients are measured with, and servers.
const CONNECTIONS: &[u64] = &[10, 100, 1000];
const CONNECTIONS_OF_SERVERS: u64 = 100;

/// Exchanges of the first look, by which the others are chosen.
const LOOK: u64 = 20_000;

/// Most exchanges of one run: without keep-alive each needs a port, of which Linux has 28,232.
const EXCHANGES_MAX: u64 = 5_000_000;
const EXCHANGES_MAX_CLOSE: u64 = 20_000;

/// Runs of hardly any exchanges, that show the start alone.
const STARTS: u32 = 3;

/// Measure what weigh costs, beside a bare client and beside other tools; or its server, beside other servers.
#[derive(Debug, clap::Args)]
pub struct CostChore {
    /// Rounds; every tool runs once in each.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// Seconds that one run of the floor takes, about; the others make as many exchanges.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// A look instead of a measurement: three short rounds.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    pub quick: bool,
    /// Numbers of connections [default: 10,100,1000; of servers, one number: 100].
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=10_000))]
    connections: Vec<u64>,
    /// A new connection for every exchange.
    #[arg(long)]
    pub close: bool,
    /// Bytes of each answer's body. Beyond 16384 there is no floor, and weigh itself is what the others are held against.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=10_000_000),
          conflicts_with = "server")]
    body: u64,
    /// Only these beside the floor.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = tools::names(), conflicts_with = "server")]
    only: Vec<String>,
    /// Leave the runs under strace out.
    #[arg(long)]
    no_calls: bool,
    /// Write every run's figures here.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// What is only asked of servers.
    #[command(flatten)]
    pub of_servers: OfServers,
}

/// What is only asked of servers.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Servers")]
pub struct OfServers {
    /// Measure servers instead of clients. Without one of the flags below and --close: with keep-alive, by classes.
    #[arg(long)]
    server: bool,
    /// Only these beside the floor.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = server_cost::names(), requires = "server")]
    pub servers: Vec<String>,
    /// Send so many requests at once.
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, default_missing_value = "64", requires = "server",
          value_parser = clap::value_parser!(u64).range(2..=1024))]
    pub pipeline: Option<u64>,
    /// Ask for files of 1 MB and 100 MB.
    #[arg(long, requires = "server")]
    pub large: bool,
    /// Look at memory: after the start, and for each of 10,000 idle connections.
    #[arg(long, requires = "server")]
    pub memory: bool,
}

impl OfServers {
    /// Whether something else is asked for than requests over kept connections.
    pub fn is_any(&self) -> bool {
        self.pipeline.is_some() || self.large || self.memory
    }
}

/// What one number of connections has shown.
pub struct Point {
    /// Connections at a time.
    connections: u64,
    /// Whether each exchange had its own.
    close: bool,
    /// Exchanges of each run.
    exchanges: u64,
    /// Bytes of each answer's body.
    body: u64,
    /// What the others are held against.
    base: &'static str,
    /// Every timed run, in the order in which they ran.
    trials: Vec<Trial>,
    /// Runs of hardly any exchanges.
    starts: Vec<Trial>,
    /// What was counted under strace.
    calls: Vec<Calls>,
}

impl CostChore {
    /// Measures and shows.
    pub fn run(&self) -> Result<()> {
        match self.of_servers.server {
            true => self.measure_servers(),
            false => self.measure_clients(),
        }
    }

    fn measure_servers(&self) -> Result<()> {
        let connections = match self.connections[..] {
            [] => CONNECTIONS_OF_SERVERS,
            [connections] => connections,
            _ => anyhow::bail!("--server takes one number of --connections"),
        };
        let servers = ServerCost {
            chore: self,
            connections,
            counts_calls: !self.no_calls,
        };
        servers.run()
    }

    fn measure_clients(&self) -> Result<()> {
        programs::build("cli", &["weigh"])?;
        programs::build("bench", &["bare_client", "bare_responder", "pinned"])?;
        let machine = Machine::look()?;
        let (present, missing) = tools::present(&self.only)?;
        let versions = tools::versions(&present);
        print!("{}", machine.text("tool", &versions, &missing));
        let bench = Bench::new(&machine)?;
        let mut points = Vec::new();
        let connections = match self.connections[..] {
            [] => CONNECTIONS,
            ref connections => connections,
        };
        for &connections in connections {
            let point = self.point(&bench, &present, connections)?;
            println!("\n{}", table::text(&point, &present));
            points.push(point);
        }
        println!("{}", table::legend(self.close));
        if let Some(path) = &self.json {
            let value = json!({
                "machine": machine.value(&versions),
                "missing": missing,
                "points": points.iter().map(Point::value).collect::<Vec<_>>(),
            });
            fs::write(path, serde_json::to_string_pretty(&value)? + "\n")
                .with_context(|| format!("{} could not be written", path.display()))?;
        }
        Ok(())
    }

    /// Rounds; every tool, or server, runs once in each.
    pub fn rounds(&self) -> u32 {
        match self.quick {
            true => ROUNDS_QUICK,
            false => self.rounds,
        }
    }

    /// Seconds that one run of the yardstick takes, about.
    pub fn seconds(&self) -> f64 {
        match self.quick {
            true => SECONDS_QUICK,
            false => self.seconds,
        }
    }

    fn point(&self, bench: &Bench, tools: &[&'static Tool], connections: u64) -> Result<Point> {
        let ask = self.ask(bench, connections)?;
        let able: Vec<&'static Tool> = tools
            .iter()
            .copied()
            .filter(|tool| ask.refused_by(tool).is_none())
            .collect();
        let calls = match self.no_calls {
            true => Vec::new(),
            false => calls::all(bench, &able, &ask, self.quick)?,
        };
        let mut point = Point {
            connections,
            close: self.close,
            exchanges: ask.exchanges,
            body: ask.body,
            base: tools::base(&ask).name,
            trials: Vec::new(),
            starts: starts(bench, &able, &ask)?,
            calls,
        };
        for round in 0..self.rounds() {
            for (place, tool) in order(&able, &ask, round).into_iter().enumerate() {
                let floor_first = (round as usize + place).is_multiple_of(2);
                point
                    .trials
                    .extend(pair(bench, tool, &ask, round, floor_first)?);
            }
        }
        Ok(point)
    }

    /// As many exchanges as the floor makes in the time that one run may take.
    fn ask(&self, bench: &Bench, connections: u64) -> Result<Ask> {
        let seconds = self.seconds();
        let mut ask = Ask {
            connections,
            // Fewer of large ones.
            exchanges: (LOOK / (1 + self.body / 1024)).max(connections).max(100),
            close: self.close,
            seconds,
            body: self.body,
        };
        let look = bench.run(tools::base(&ask), &ask, 0)?;
        let most = match self.close {
            true => EXCHANGES_MAX_CLOSE,
            false => EXCHANGES_MAX,
        };
        let exchanges = (look.per_second() * seconds) as u64;
        let least = if self.body > LOOK { 0 } else { LOOK };
        // Whole numbers on each connection, because httperf can do nothing else.
        let each = exchanges.clamp(least, most).div_ceil(connections).max(2);
        ask.exchanges = each * connections;
        Ok(ask)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=10.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number from 0.01 to 10".to_owned()),
    }
}

/// One run of a tool and one of what it is held against, neighbours in time.
fn pair(
    bench: &Bench,
    tool: &'static Tool,
    ask: &Ask,
    round: u32,
    floor_first: bool,
) -> Result<[Trial; 2]> {
    let floor = || {
        let mut trial = bench.run(tools::base(ask), ask, round)?;
        trial.beside = Some(tool.name);
        anyhow::Ok(trial)
    };
    Ok(match floor_first {
        true => [floor()?, bench.run(tool, ask, round)?],
        false => [bench.run(tool, ask, round)?, floor()?],
    })
}

/// The tools beside what they are held against, in the order of `round`.
fn order(tools: &[&'static Tool], ask: &Ask, round: u32) -> Vec<&'static Tool> {
    let tools = tools.iter().copied();
    let beside = tools.filter(|tool| tool.name != tools::base(ask).name);
    turned(beside.collect(), round)
}

/// All in the order of `round`: each comes first in turn, and every other round runs backwards, so that each follows each
/// other about as often as it precedes it.
pub fn turned<T>(mut all: Vec<T>, round: u32) -> Vec<T> {
    let turn = round as usize % all.len().max(1);
    all.rotate_left(turn);
    if round % 2 == 1 {
        all.reverse();
    }
    all
}

/// What a run costs that asks for nothing much.
fn starts(bench: &Bench, tools: &[&'static Tool], ask: &Ask) -> Result<Vec<Trial>> {
    let ask = Ask {
        exchanges: ask.connections,
        ..*ask
    };
    let mut trials = Vec::new();
    for tool in tools.iter().filter(|tool| !tool.timed) {
        for round in 0..STARTS {
            trials.push(bench.run(tool, &ask, round)?);
        }
    }
    Ok(trials)
}

impl Point {
    /// The rounds that were run.
    fn rounds(&self) -> usize {
        let rounds = self.trials.iter().map(|trial| trial.round);
        rounds.max().map_or(0, |last| last as usize + 1)
    }

    /// The timed runs of one tool, by round.
    fn of(&self, tool: &str) -> Vec<&Trial> {
        let trials = self.trials.iter();
        trials.filter(|trial| trial.tool == tool).collect()
    }

    fn value(&self) -> serde_json::Value {
        json!({
            "connections": self.connections,
            "close": self.close,
            "exchanges": self.exchanges,
            "body": self.body,
            "runs": self.trials,
            "starts": self.starts,
            "calls": self.calls.iter().map(Calls::value).collect::<Vec<_>>(),
        })
    }
}

/// A check that what a tool says it did is what it was asked to do.
fn ensure_all(tool: &str, done: u64, ask: &Ask) -> Result<()> {
    ensure!(
        done == ask.exchanges,
        "{tool} was asked for {} exchanges and made {done}",
        ask.exchanges
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_comes_first_in_its_turn_and_none_is_left_out() {
        let tools: Vec<&'static Tool> = crate::catalogue::TOOLS
            .iter()
            .filter(|tool| ["floor", "weigh", "ab", "wrk"].contains(&tool.name))
            .collect();
        let ask = Ask {
            connections: 1,
            exchanges: 1,
            close: false,
            seconds: 1.0,
            body: 100,
        };
        let names = |round| {
            order(&tools, &ask, round)
                .iter()
                .map(|tool| tool.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["weigh", "ab", "wrk"]);
        assert_eq!(names(1), ["weigh", "wrk", "ab"]);
        assert_eq!(names(2), ["wrk", "weigh", "ab"]);
        assert_eq!(names(3), ["wrk", "ab", "weigh"]);
    }
}

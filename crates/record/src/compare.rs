//! The record of a comparison: what was planned, what each start of the servers measured in slices, and what went wrong.
//!
//! ```text
//! start: all servers fresh, one generator process
//!   block: one load
//!     cycle: every server once, in random order
//!       slice: one server loaded for 100 ms or more, and let to finish what is in flight
//! ```
//!
//! What follows from it (ratios, intervals, answers) is computed from the slices and not recorded beside them.

mod answers;
mod conditions;
mod readings;
mod records;
mod reliability;
mod seen;
#[cfg(test)]
mod tests;

pub use answers::{
    Answers, Control, FigureAnswers, Rank, Rating, RatioScatter, Regressed, RegressionAnswer, Said,
    StartsRatio, Versus,
};
pub use conditions::{Condition, Equality};
pub use records::{ComparedRun, InvalidFigures, NamedRun};
pub use reliability::{Doubt, Reason, Reliability};

use crate::{Handshakes, Machine, Observed, Probe};
use plan::{ComparePlan, Endpoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Everything that was planned, found and counted in one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this form: [`Comparison::VERSION`].
    pub comparison: u32,
    /// Version of weigh that wrote it.
    pub weigh: String,
    /// When it began: seconds since 1970, UTC.
    pub started_unix: u64,
    /// What was intended.
    pub plan: ComparePlan,
    /// Where.
    pub machine: Machine,
    /// What is known of each server of the plan, in its order, from the first start in which it was there.
    pub servers: Vec<Contender>,
    /// The CPUs of the servers and of the generator, where they did not share all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<CpuSplit>,
    /// The starts, in their order; those that were not finished are not among them.
    pub starts: Vec<FreshStart>,
    /// How long it took so far, everything included.
    pub elapsed: Nanos,
    /// Whether it was stopped before it was over.
    pub interrupted: bool,
    /// Why it ended before it was over, where no signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_off: Option<String>,
}

impl Comparison {
    /// The version of the form that this program writes.
    pub const VERSION: u32 = 1;

    /// The TLS handshakes of `server` in all starts that count for it; none without https.
    pub fn handshakes(&self, server: usize) -> Option<Handshakes> {
        let of_starts = self.starts.iter().filter_map(|start| {
            let of_start = start.servers.get(server)?;
            of_start
                .handshakes
                .as_ref()
                .filter(|_| of_start.void.is_none())
        });
        Handshakes::sum(of_starts)
    }

    /// Whether its parts fit together: every list of servers is as long as that of the plan, and no start has more blocks.
    pub(crate) fn is_sound(&self) -> bool {
        let (servers, blocks) = (self.plan.servers.len(), self.plan.blocks.len());
        let is_whole = |cycle: &Cycle| cycle.slices.len() == servers;
        let is_start = |start: &FreshStart| {
            let cycles = start.blocks.iter().flat_map(|block| &block.cycles);
            start.servers.len() == servers
                && start.blocks.len() <= blocks
                && cycles.into_iter().all(is_whole)
        };
        let repeats = self.plan.servers.iter().filter_map(|server| server.repeats);
        servers > 0
            && self.servers.len() == servers
            && self.starts.iter().all(is_start)
            && repeats.into_iter().all(|place| (place as usize) < servers)
    }
}

/// What is known of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// Its first response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Its processes, or why they are not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Its conditions, to be held beside those of the others.
    pub conditions: Conditions,
    /// Why it is not compared; none where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// The record of a run by itself that its figures are from; none of a server that was loaded in turn with the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<ComparedRun>,
}

/// What must be equal for a comparison to be one of servers and not of their settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Length and CRC-32 of the body.
    pub body: Option<(u64, u32)>,
    /// The response's status.
    pub status: Option<u16>,
    /// The protocol of the response, such as `HTTP/1.1`.
    pub protocol: Option<String>,
    /// The Content-Encoding of the body; none where it is sent as it is.
    pub compression: Option<String>,
    /// Whether a connection is kept for the next request.
    pub keep_alive: Option<bool>,
    /// Processes that take part of the load; none where they are not observed, or where one of several threads may be as many workers.
    pub workers: Option<u32>,
    /// Threads of the one process that each of the servers is, where all are the same program: what tells workers apart then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Bytes that the server writes into files for each request, in thousandths; none where that is not observed.
    pub logged_millibytes: Option<u64>,
    /// Bytes of a whole response.
    pub response_bytes: Option<u64>,
}

/// Which CPUs are whose. Where both have the same one, that is so in short slices, and in windows of a second they share all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSplit {
    /// The servers'.
    pub servers: Vec<u32>,
    /// The generator's.
    pub generator: Vec<u32>,
}

impl CpuSplit {
    /// Whether servers and generator are together on one CPU.
    pub fn is_one(&self) -> bool {
        self.servers == self.generator
    }
}

/// What one start of all servers measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreshStart {
    /// Its number, from 0.
    pub index: u32,
    /// How long it took, everything included.
    pub took: Nanos,
    /// Of each server: what became of it.
    pub servers: Vec<StartedServer>,
    /// What each block of the plan measured; those that the start did not come to are missing.
    pub blocks: Vec<BlockOfStart>,
    /// CPU time of other programs in its slices, as a share of all CPUs; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<f64>,
    /// CPU time that the hypervisor gave to others, as a share of all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
}

/// One server in one start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedServer {
    /// Where it listened.
    pub endpoint: Option<Endpoint>,
    /// CPU time that it took while nothing was asked of it, as a share of one CPU; none where it was not observed.
    pub idle: Option<f64>,
    /// Its memory after the load, as PSS in bytes; none where that may not be read.
    pub memory: Option<u64>,
    /// The TLS handshakes of its connections, those of the warm-up too; none without https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
    /// Why nothing of this start counts for it, such as that it died; none where it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

/// One load in one start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockOfStart {
    /// Cycles before the measured ones, until every server was steady.
    pub warm_up: u32,
    /// Whether all became so.
    pub steady: bool,
    /// The measured cycles, all of them.
    pub cycles: Vec<Cycle>,
}

/// Every server once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycle {
    /// The servers in the order in which they were loaded.
    pub order: Vec<u32>,
    /// The slice of each server, by its place in the plan; none of one that is void or excluded.
    pub slices: Vec<Option<Slice>>,
}

/// One server under load for a moment: counts of all requests that were sent in it, followed to their end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// Requests that ended ok.
    pub ok: u64,
    /// Requests that did not.
    pub errors: u64,
    /// Those of `ok` that ended while new ones were still sent.
    pub in_window: u64,
    /// How long new ones were sent.
    pub window: Nanos,
    /// The server's CPU time, until what was in flight had ended; none where it is not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<Nanos>,
    /// The generator's CPU time.
    pub generator_cpu: Nanos,
    /// Percentiles of latency: p50, and p90 and p99 where the samples carry them. In a closed loop from sent to done, in an open one
    /// from scheduled to done.
    pub latency: [Option<Nanos>; 3],
    /// Bytes that were received.
    pub received: u64,
    /// Connections that were opened in it: more than none says that the server closes them.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub connects: u64,
    /// Length and CRC-32 of the first request's usual body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<(u64, u32)>,
    /// What the first error was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the server's CPU time may be more, because one of its processes came or went.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub lower_bound: bool,
}

impl Slice {
    /// The server's CPU time for each request that ended ok, in microseconds; none where that is not known.
    pub fn cpu_us(&self) -> Option<f64> {
        let cpu = self
            .server_cpu
            .filter(|cpu| *cpu > Nanos::ZERO && self.ok > 0)?;
        Some(cpu.as_nanos() as f64 / 1e3 / self.ok as f64)
    }

    /// The generator's CPU time for each request, in microseconds.
    pub fn generator_us(&self) -> Option<f64> {
        let is_known = self.generator_cpu > Nanos::ZERO && self.ok > 0;
        is_known.then(|| self.generator_cpu.as_nanos() as f64 / 1e3 / self.ok as f64)
    }

    /// Requests a second; none where none ended.
    pub fn throughput(&self) -> Option<f64> {
        let is_known = self.in_window > 0 && self.window > Nanos::ZERO;
        is_known.then(|| self.in_window as f64 / self.window.as_secs_f64())
    }

    /// Median latency in microseconds; none where too few requests ended.
    pub fn p50_us(&self) -> Option<f64> {
        self.latency[0].map(|p50| p50.as_nanos() as f64 / 1e3)
    }
}

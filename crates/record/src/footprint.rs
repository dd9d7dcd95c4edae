//! What the server's processes cost meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What the server's processes cost during the window; memory beside it, around it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// CPU time of the whole process tree, by the clocks that `clock` names.
    pub cpu: Nanos,
    /// The part of it spent in the server's own code. The kernel divides `cpu` by where its ticks fell, so that it is
    /// roughly right at best; none where too few fell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user: Option<Nanos>,
    /// The part of it spent in the kernel, likewise: the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_kernel: Option<Nanos>,
    /// Whose clocks `cpu` was read from.
    #[serde(default, skip_serializing_if = "CpuClock::is_default")]
    pub clock: CpuClock,
    /// Processes of the tree at the end of the window.
    pub processes: u32,
    /// Threads of those processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Files and sockets that they hold open after the drain; none where others' may not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
    /// How often its threads gave up a CPU, or had it taken; of threads that ended meanwhile, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// What it held in memory; none where that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// CPUs that the server may use: its affinity mask, or its group's quota where that is less.
    pub cpus_allowed: f64,
    /// The CPUs of its affinity mask, ascending; empty where that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Length of the window.
    pub wall: Nanos,
    /// Whether processes came or went whose CPU time nobody kept, so that some of it may be missing.
    pub lower_bound: bool,
}

/// Whose clocks a CPU time was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuClock {
    /// Those of the processes, to the nanosecond; what parents keep of their ended children, to two ticks each.
    #[default]
    Processes,
    /// That of their control group, which keeps what ended.
    Cgroup,
}

impl CpuClock {
    /// Whether it is the one that records need not name.
    fn is_default(&self) -> bool {
        *self == CpuClock::default()
    }
}

/// Times that threads stopped running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because another was to have the CPU.
    pub forced: u64,
}

/// Memory of a process tree in bytes, as PSS: what several processes share is counted once, in equal parts. Each is none
/// where nobody looked, or might.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Before the campaign's load.
    pub rest: Option<u64>,
    /// Before the round.
    pub before: Option<u64>,
    /// After the drain, while connections are still open.
    pub after: Option<u64>,
    /// Connections that were open at `after`.
    pub connections: u64,
}

impl Memory {
    /// The largest of those that are known.
    pub fn peak(&self) -> Option<u64> {
        [self.rest, self.before, self.after]
            .into_iter()
            .flatten()
            .max()
    }
}

impl Footprint {
    /// CPU time as a share of all CPUs the server may use; 0 over no time.
    pub fn busy(&self) -> f64 {
        let there_was = self.wall.as_secs_f64() * self.cpus_allowed;
        if there_was > 0.0 {
            self.cpu.as_secs_f64() / there_was
        } else {
            0.0
        }
    }
}

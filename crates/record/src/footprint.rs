//! What the server's processes cost meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What the server's processes cost during the window. Known for servers that weigh started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// CPU time of the whole process tree, by process CPU clocks.
    pub cpu: Nanos,
    /// Processes of the tree at the end of the window.
    pub processes: u32,
    /// CPUs that the server may use: its affinity mask, or its group's quota where that is less.
    pub cpus_allowed: f64,
    /// The CPUs of its affinity mask, ascending; empty where that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Length of the window.
    pub wall: Nanos,
    /// Whether processes came or went meanwhile, so that some CPU time may be missing.
    pub lower_bound: bool,
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

//! The environment as disclosed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine the generator ran on: the basic facts. A fact that could not be read is none, never a guess.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// CPU model as /proc/cpuinfo names it.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus_online: u32,
    /// CPUs this process may run on.
    pub cpus_allowed: Vec<u32>,
    /// CPUs' worth of time that the control group allows, if it limits them.
    pub cpu_quota: Option<f64>,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Name of the distribution.
    pub distribution: Option<String>,
    /// The hypervisor, or `none`; none where it cannot be told.
    pub virtualised: Option<String>,
    /// Source of the kernel's clock.
    pub clocksource: Option<String>,
    /// What one reading of the clock costs, in nanoseconds (median).
    pub clock_reading_ns: u64,
    /// Open files this process may have: the soft limit as found, and what it was raised to (the hard limit, unless that
    /// was not allowed).
    pub open_files: (u64, u64),
    /// Local ports that connects may use, first and last.
    pub local_ports: (u16, u16),
    /// The most connections that may wait to be accepted (net.core.somaxconn).
    pub somaxconn: Option<u64>,
    /// Load average over one minute before the run.
    pub load_average: Option<f64>,
}

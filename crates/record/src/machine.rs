//! The environment as disclosed.

use crate::Setup;
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
    /// How it is built and configured; none in records of versions before 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
}

impl Machine {
    /// The first fact in which `other` is another machine, or the same one set up otherwise; what differs from minute to
    /// minute (load, what a clock reading costs) is no such fact.
    pub fn differs_from(&self, other: &Machine) -> Option<&'static str> {
        let facts = [
            ("the CPU model", self.cpu_model == other.cpu_model),
            ("the number of CPUs", self.cpus_online == other.cpus_online),
            (
                "the CPUs that may be used",
                self.cpus_allowed == other.cpus_allowed,
            ),
            ("the CPU quota", self.cpu_quota == other.cpu_quota),
            ("the frequency governor", self.governor == other.governor),
            ("the memory", self.memory_bytes == other.memory_bytes),
            ("the kernel", self.kernel == other.kernel),
            ("the distribution", self.distribution == other.distribution),
            ("the hypervisor", self.virtualised == other.virtualised),
            ("the clock source", self.clocksource == other.clocksource),
            (
                "the limit of open files",
                self.open_files.1 == other.open_files.1,
            ),
            (
                "the range of local ports",
                self.local_ports == other.local_ports,
            ),
            ("net.core.somaxconn", self.somaxconn == other.somaxconn),
        ];
        let differs = facts.into_iter().find(|(_, is_same)| !is_same);
        differs.map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_another_by_what_stays_and_not_by_what_passes() {
        let machine = Machine::default();
        let later = Machine {
            load_average: Some(3.0),
            clock_reading_ns: 80,
            ..Machine::default()
        };
        assert_eq!(machine.differs_from(&later), None);
        let other = Machine {
            kernel: Some("7.0".into()),
            ..Machine::default()
        };
        assert_eq!(machine.differs_from(&other), Some("the kernel"));
    }
}

//! How a machine is built and configured, beyond the basic facts of [`Machine`](crate::Machine).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hardware, kernel and settings of the generator's machine, as far as they can move a figure. A fact that could not be
/// read is missing, and `not_readable` has its file where permission was denied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setup {
    /// CPU packages that are online.
    pub sockets: Option<u32>,
    /// CPU cores that are online.
    pub cores: Option<u32>,
    /// Whether cores run several hardware threads (SMT).
    pub smt: Option<bool>,
    /// NUMA nodes that are online.
    pub numa_nodes: Option<u32>,
    /// Caches of the first CPU, such as `L3 32768K, 8 CPUs`.
    pub caches: Vec<String>,
    /// Revision of the CPU's microcode.
    pub microcode: Option<String>,
    /// Driver that sets the CPU frequency.
    pub frequency_driver: Option<String>,
    /// Frequency governors in use on any CPU.
    pub governors: Vec<String>,
    /// Whether CPUs may exceed their base frequency (turbo, boost).
    pub turbo: Option<Switch>,
    /// Control groups that limit this process.
    pub control_group: ControlGroup,
    /// Mitigations of CPU vulnerabilities, by vulnerability; without those that do not affect this CPU.
    pub mitigations: BTreeMap<String, String>,
    /// Boot parameters that can move a figure, such as `mitigations=off`.
    pub boot_parameters: Vec<String>,
    /// Build options of the kernel that can move a figure, such as `CONFIG_HZ=250`.
    pub kernel_options: Vec<String>,
    /// Clock sources that the kernel offers.
    pub clocksources: Vec<String>,
    /// Settings of the kernel (sysctl), by name, as it writes them.
    pub sysctls: BTreeMap<String, String>,
    /// Packet filters and captures.
    pub packets: Packets,
    /// Linux security modules.
    pub security_modules: Vec<String>,
    /// Whether SELinux enforces its policy.
    pub selinux_enforcing: Option<bool>,
    /// The current tracer of ftrace; `nop` is none.
    pub tracer: Option<String>,
    /// Whether trace events are on: 0 none, 1 all, X some.
    pub trace_events: Option<String>,
    /// The process that traces this one (strace, a debugger); 0 is none.
    pub traced_by: Option<u32>,
    /// Memory of the machine.
    pub memory: SystemMemory,
    /// Share of the last 10 s in which some task waited for `cpu`, `memory` or `io`, in percent (PSI).
    pub pressure: BTreeMap<String, f64>,
    /// Files that exist and need more permissions than this process had.
    pub not_readable: Vec<String>,
}

impl Setup {
    /// Returns the number that the kernel's setting `name` is; of several, the one at `index`.
    pub fn sysctl(&self, name: &str, index: usize) -> Option<u64> {
        let value = self.sysctls.get(name)?;
        value.split_ascii_whitespace().nth(index)?.parse().ok()
    }
}

/// A setting that is on or off, and the file that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Whether it is on.
    pub on: bool,
    /// Its file.
    pub file: String,
    /// The text of the file.
    pub value: String,
}

/// What the control groups of this process limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ControlGroup {
    /// Versions of control groups that are mounted: `v1`, `v2`.
    pub versions: Vec<String>,
    /// The lowest CPU quota: the file that sets it, and its text. What it allows is in `cpu_quota` of the machine.
    pub cpu_quota: Option<Limit>,
    /// The lowest limit of memory.
    pub memory: Option<Limit>,
}

/// A limit, and the file that sets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// What it allows: CPUs, or bytes.
    pub allows: f64,
    /// The file.
    pub file: String,
    /// The text of the file.
    pub value: String,
}

/// Packet filters and captures of this network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Packets {
    /// Tables of iptables that are loaded, IPv4 and IPv6 (those of nftables cannot be read from files).
    pub iptables: Option<Vec<String>>,
    /// Loaded kernel modules that filter packets.
    pub modules: Option<Vec<String>>,
    /// Connections that are tracked.
    pub tracked: Option<u64>,
    /// Connections that can be tracked.
    pub tracked_max: Option<u64>,
    /// Sockets that receive every packet of an interface, such as tcpdump's.
    pub captures: Option<u32>,
}

/// Memory of the machine, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SystemMemory {
    /// Available without swapping.
    pub available: Option<u64>,
    /// Size of the swap space.
    pub swap: Option<u64>,
    /// Swap space in use.
    pub swap_used: Option<u64>,
    /// Huge pages that are reserved.
    pub huge_pages: Option<u64>,
    /// Mode of transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
}

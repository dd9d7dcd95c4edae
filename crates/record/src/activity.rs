//! What a look at the machine beside a measurement found: what ran, and the path to a target. Of these only the link to the
//! target is part of a Run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What ran on the machine during a span in which weigh was at rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Activity {
    /// Length of the span, in nanoseconds.
    pub span: Nanos,
    /// CPUs of the machine.
    pub cpus: u32,
    /// CPUs' worth of time that other programs and the kernel took.
    pub busy: f64,
    /// CPUs' worth of time that the hypervisor gave to other virtual machines.
    pub stolen: f64,
    /// The programs that took most of `busy`, the busiest first.
    pub programs: Vec<Program>,
}

/// A program that ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Program {
    /// Name of its processes, as the kernel cuts it off (15 bytes).
    pub name: String,
    /// Numbers of its processes, the busiest first.
    pub pids: Vec<u32>,
    /// CPUs' worth of time that all of them took.
    pub cpus: f64,
}

/// The network path to a target, and what some connects took.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NetworkPath {
    /// The target as the user named it.
    pub target: String,
    /// The address, with its port.
    pub address: String,
    /// The link to it.
    #[serde(flatten)]
    pub link: Link,
    /// What each connect took, in nanoseconds: about one round trip.
    pub connects: Vec<Nanos>,
    /// Why a connect failed.
    pub failed: Option<String>,
}

/// The link that packets to an address take. A fact that could not be read is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Whether the address is on this machine.
    pub loopback: bool,
    /// The interface by the routing table.
    pub interface: Option<String>,
    /// Speed in Mbit/s as the driver of a device states it; none of a virtual interface (veth, bridge, tunnel), whose
    /// driver states a made-up one.
    pub link_mbits: Option<u64>,
    /// Whether the link sends and receives in turns.
    pub half_duplex: Option<bool>,
    /// The largest packet in bytes (MTU).
    pub mtu: Option<u64>,
}

//! What a look at the machine beside a measurement found: what ran, and the path to a target. Neither is part of a Run.

use serde::Serialize;
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
    /// Whether the target is on this machine.
    pub loopback: bool,
    /// The interface by the routing table.
    pub interface: Option<String>,
    /// Speed of the link in Mbit/s, where the driver says it.
    pub link_mbits: Option<u64>,
    /// Whether the link sends and receives in turns.
    pub half_duplex: Option<bool>,
    /// The largest packet in bytes (MTU).
    pub mtu: Option<u64>,
    /// What each connect took, in nanoseconds: about one round trip.
    pub connects: Vec<Nanos>,
    /// Why a connect failed.
    pub failed: Option<String>,
}

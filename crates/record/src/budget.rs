//! Where the machine's CPU time went during a window, and what its network had to say.

use crate::summary::share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Where all CPU time of the machine went during the window, between two looks at /proc/stat. The kernel samples these
/// by ticks, and may be wrong for what runs between them; `generator` and `server` are exact clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Between the two looks.
    pub wall: Nanos,
    /// CPUs that are counted.
    pub cpus: u32,
    /// This process, by its own clock: the threads that load, and the one that observes.
    pub generator: Nanos,
    /// The part of `generator` that observing took.
    pub observing: Nanos,
    /// The server, by its footprint's clocks; none where it was not observed.
    pub server: Option<Nanos>,
    /// All processes in their own code, those of low priority among them.
    pub user: Nanos,
    /// All processes in the kernel.
    pub system: Nanos,
    /// The kernel's deferred work, most of it the network's.
    pub softirq: Nanos,
    /// Interrupts.
    pub irq: Nanos,
    /// What the hypervisor gave to others.
    pub steal: Nanos,
    /// Nothing to do, or waiting for disks.
    pub idle: Nanos,
    /// Whether this kernel keeps `softirq` and `irq` out of the clocks of the processes that they interrupt; none where
    /// it does not say. Where it does not keep them out, part of `softirq` is in `generator` and `server` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_apart: Option<bool>,
}

impl Budget {
    /// Everything else that ran: neither generator nor server, nor softirq, irq and steal. None where the server was
    /// not observed, whose time would be in it.
    pub fn other(&self) -> Option<Nanos> {
        let known = self.generator + self.server?;
        let processes = self.user + self.system;
        let ran = match self.irq_apart {
            Some(false) => processes + self.softirq + self.irq,
            _ => processes,
        };
        Some(ran.saturating_sub(known))
    }

    /// `part` as a share of all CPU time that there was; 0 over no time.
    pub fn share(&self, part: Nanos) -> f64 {
        let there_was = self.wall.as_secs_f64() * f64::from(self.cpus);
        share(part.as_secs_f64(), there_was)
    }
}

/// What the kernel's network counted during the window, in the network namespace of weigh: of all its connections, not
/// only of the server's. Each is none where the kernel does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounters {
    /// Connections that came while a listener's queue was full.
    pub listen_overflows: Option<u64>,
    /// Connections that a listener lost for whatever reason, those among them.
    pub listen_drops: Option<u64>,
    /// Handshakes that were sent again.
    pub syn_retransmits: Option<u64>,
    /// Segments that were sent again, those among them.
    pub retransmits: Option<u64>,
    /// Sockets in TIME_WAIT, first and last.
    pub time_wait: Option<(u64, u64)>,
    /// Bytes of memory that TCP holds, first and last.
    pub tcp_memory: Option<(u64, u64)>,
    /// Bytes of memory in use on the whole machine, weigh's among them: all there is less what is available, first and
    /// last.
    #[serde(default)]
    pub system_memory: Option<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_ran_is_what_processes_took_without_us_and_the_server() {
        let millis = Nanos::from_millis;
        let budget = Budget {
            wall: millis(1_000),
            cpus: 2,
            generator: millis(300),
            server: Some(millis(500)),
            user: millis(400),
            system: millis(450),
            softirq: millis(100),
            irq: millis(10),
            ..Budget::default()
        };
        let cases = [
            (budget, Some(millis(50))),
            (
                Budget {
                    irq_apart: Some(true),
                    ..budget
                },
                Some(millis(50)),
            ),
            (
                Budget {
                    irq_apart: Some(false),
                    ..budget
                },
                Some(millis(160)),
            ),
            (
                Budget {
                    user: millis(100),
                    ..budget
                },
                Some(Nanos::ZERO),
            ),
            (
                Budget {
                    server: None,
                    ..budget
                },
                None,
            ),
        ];
        for (budget, wanted) in cases {
            assert_eq!(budget.other(), wanted, "{budget:?}");
        }
        assert!((budget.share(millis(500)) - 0.25).abs() < 1e-12);
        assert_eq!(Budget::default().share(millis(500)), 0.0);
    }
}

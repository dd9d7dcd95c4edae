//! What CPU quotas withheld meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A CPU quota that held for processes during the window, set by their control group or by an ancestor of it, and how
/// often it was used up between two readings at the window's edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// CPUs' worth of time that it allows to all processes of the group together.
    pub cpus: f64,
    /// The folder of the group that sets it.
    pub group: String,
    /// Periods of the quota in which the group had something to run.
    pub periods: u64,
    /// Those of them in which the quota was used up, so that the kernel stopped the group until the next.
    pub throttled: u64,
    /// How long the group was stopped; the kernel adds up its CPUs, so that it may exceed the window.
    pub time: Nanos,
}

impl Quota {
    /// The quota of `quotas` that stopped its group for the longest; none where none did.
    pub fn most_throttled<'a>(quotas: impl Iterator<Item = &'a Quota>) -> Option<&'a Quota> {
        let stopped = quotas.filter(|quota| quota.throttled > 0);
        stopped.max_by_key(|quota| quota.time)
    }

    /// Both together, of the same group in two windows.
    pub fn plus(self, other: Quota) -> Quota {
        Quota {
            periods: self.periods.saturating_add(other.periods),
            throttled: self.throttled.saturating_add(other.throttled),
            time: self.time + other.time,
            ..self
        }
    }
}

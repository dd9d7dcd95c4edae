//! How the generator accounts for itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Where one generator thread's time went during the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadAccounts {
    /// The thread, from 0.
    pub thread: u32,
    /// The CPU it was pinned to, if it was.
    pub cpu_pinned: Option<u32>,
    /// Length of the window.
    pub wall: Nanos,
    /// CPU time in its own code, by the kernel's division of `cpu` (sampled by ticks, so only roughly right).
    pub user: Nanos,
    /// CPU time in the kernel, likewise.
    pub system: Nanos,
    /// CPU time by the thread's own CPU clock: exact.
    pub cpu: Nanos,
    /// Time in which it could have run but had to wait for a CPU (schedstat); none where Linux does not tell.
    pub run_queue_wait: Option<Nanos>,
    /// Turns of its loop.
    pub turns: Turns,
}

/// Turns of a thread's loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// Times it waited for the kernel.
    pub waits: u64,
    /// Completions those waits brought.
    pub completions: u64,
}

impl ThreadAccounts {
    /// The share of the window in which the thread was running or wanted to: (CPU + run-queue wait) / wall; 0
    /// over no time.
    pub fn busy(&self) -> f64 {
        let wanted = self.cpu + self.run_queue_wait.unwrap_or(Nanos::ZERO);
        if self.wall > Nanos::ZERO {
            wanted.as_secs_f64() / self.wall.as_secs_f64()
        } else {
            0.0
        }
    }

    /// Time it had nothing to do: the rest of the window.
    pub fn waiting(&self) -> Nanos {
        self.wall
            .saturating_sub(self.cpu + self.run_queue_wait.unwrap_or(Nanos::ZERO))
    }
}

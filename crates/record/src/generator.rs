//! How the generator accounts for itself.

use crate::round::is_default;
use crate::summary::share;
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
    /// Time in which it asked the kernel again and again for nothing, instead of sleeping, because it busy-polled:
    /// part of `cpu` and `run_queue_wait`.
    #[serde(default, skip_serializing_if = "is_default", alias = "spun")]
    pub busy_polled: Nanos,
    /// When it busy-polls.
    #[serde(default, skip_serializing_if = "is_default", alias = "awake")]
    pub busy_poll: BusyPoll,
    /// Turns of its loop.
    pub turns: Turns,
    /// When it did not run though it could have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paused: Paused,
}

/// Pauses of a thread, from the window's start until its drain was over: it did not run though it neither slept nor waited
/// for a CPU, because its process was stopped (SIGSTOP, Ctrl-Z) or frozen, or its machine halted. Those shorter than 10 ms
/// are not noticed, and of each up to 10 ms may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paused {
    /// How many.
    pub count: u64,
    /// Their lengths together, at least.
    pub total: Nanos,
    /// The longest of them, at least.
    pub longest: Nanos,
}

impl Paused {
    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Counts one of `length`.
    pub fn add(&mut self, length: Nanos) {
        if length > Nanos::ZERO {
            self.count += 1;
            self.total += length;
            self.longest = self.longest.max(length);
        }
    }
}

/// When a thread busy-polls instead of sleeping: what `--spin` comes to on that machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyPoll {
    /// It sleeps whenever it waits.
    #[default]
    Never,
    /// For so long before an exchange is scheduled, and after one was sent that is not answered yet.
    Near(Nanos),
    /// While the load runs.
    Always,
}

impl BusyPoll {
    /// Whether it sleeps whenever it waits.
    pub fn is_never(&self) -> bool {
        *self == BusyPoll::Never
    }
}

/// Turns of a thread's loop, without those that only found nothing because it busy-polled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// Times it waited for the kernel.
    pub waits: u64,
    /// Completions those waits brought.
    pub completions: u64,
}

/// Of a thread that busy-polled nearly always the rest is a small difference of large times, and tells nothing.
const WORKED_LEAST: f64 = 0.01;

impl ThreadAccounts {
    /// The share of the window in which the thread was running or wanted to, deliberate spinning excluded: (CPU +
    /// run-queue wait - busy-polled) / wall; 0 over no time.
    pub fn wanted(&self) -> f64 {
        let ran = self.cpu + self.run_queue_wait.unwrap_or(Nanos::ZERO);
        let wanted = ran.saturating_sub(self.busy_polled);
        share(wanted.as_secs_f64(), self.wall.as_secs_f64())
    }

    /// The share of the window in which the thread ran, busy-polling excluded; 0 over no time, and where hardly anything
    /// else is left.
    pub fn busy(&self) -> f64 {
        let ran = self.worked().unwrap_or(Nanos::ZERO);
        share(ran.as_secs_f64(), self.wall.as_secs_f64())
    }

    /// CPU time without busy-polling; none where hardly anything else is left of it.
    ///
    /// With spinning it is an estimate: spinning is measured by the clock, and others had the CPU in a part of that,
    /// which is taken to be the part in which they had it while the thread wanted to run.
    pub fn worked(&self) -> Option<Nanos> {
        if self.busy_polled == Nanos::ZERO {
            return Some(self.cpu);
        }
        let cpu = self.cpu.as_nanos() as f64;
        let wanted = cpu + self.run_queue_wait.unwrap_or(Nanos::ZERO).as_nanos() as f64;
        let worked = cpu - self.busy_polled.as_nanos() as f64 * cpu / wanted.max(1.0);
        (worked > 0.0 && worked >= WORKED_LEAST * cpu).then(|| Nanos::from_nanos(worked as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_on_purpose_is_not_being_busy() {
        let thread = |busy_polled| ThreadAccounts {
            wall: Nanos::from_millis(100),
            cpu: Nanos::from_millis(80),
            run_queue_wait: Some(Nanos::from_millis(10)),
            busy_polled: Nanos::from_millis(busy_polled),
            ..ThreadAccounts::default()
        };
        for (busy_polled, wanted, busy) in [
            (0, 0.9, 0.8),
            (45, 0.45, 0.4),
            (90, 0.0, 0.0),
            (91, 0.0, 0.0),
        ] {
            let thread = thread(busy_polled);
            assert!((thread.wanted() - wanted).abs() < 1e-12, "{busy_polled}");
            assert!((thread.busy() - busy).abs() < 1e-12, "{busy_polled}");
        }
    }

    #[test]
    fn of_spinning_only_what_ran_is_taken_off_and_a_rest_of_nothing_is_unknown() {
        let ms = Nanos::from_millis;
        for (cpu, wait, busy_polled, worked) in [
            (80, Some(20), 0, Some(80)),
            (80, Some(0), 60, Some(20)),
            (80, None, 60, Some(20)),
            // Of 100 ms in which it wanted to run it ran 80: so it did of the 60 and of the 90.
            (80, Some(20), 60, Some(32)),
            (80, Some(20), 90, Some(8)),
            (100, Some(0), 99, Some(1)),
            (1_000, Some(0), 991, None),
            (80, Some(20), 100, None),
            (80, Some(20), 110, None),
            (0, Some(0), 5, None),
        ] {
            let thread = ThreadAccounts {
                cpu: ms(cpu),
                run_queue_wait: wait.map(ms),
                busy_polled: ms(busy_polled),
                ..ThreadAccounts::default()
            };
            let near = |nanos: Nanos| Nanos::from_millis((nanos.as_nanos() + 500_000) / 1_000_000);
            assert_eq!(
                thread.worked().map(near),
                worked.map(ms),
                "{cpu} {wait:?} {busy_polled}"
            );
        }
    }

    #[test]
    fn a_thread_that_slept_is_written_down_as_before() {
        let text = serde_json::to_string(&ThreadAccounts::default()).unwrap();
        assert!(
            !text.contains("busy_polled") && !text.contains("busy_poll"),
            "{text}"
        );
        let busy_poll = ThreadAccounts {
            busy_polled: Nanos::from_nanos(7),
            busy_poll: BusyPoll::Near(Nanos::from_micros(100)),
            ..ThreadAccounts::default()
        };
        let text = serde_json::to_string(&busy_poll).unwrap();
        assert!(
            text.contains(r#""busy_polled":7,"busy_poll":{"near":100000}"#),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<ThreadAccounts>(&text).unwrap(),
            busy_poll
        );
    }
}

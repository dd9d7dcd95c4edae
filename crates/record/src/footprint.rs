//! What the server's processes cost meanwhile.

use crate::round::is_default;
use crate::summary::share;
use crate::{Quota, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What the server's processes cost during the window; memory beside it, around it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// CPU time of the whole process tree, by the clocks that `clock` names.
    pub cpu: Nanos,
    /// Where the kernel's samples found it; none where an account was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Whose clocks `cpu` was read from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock: CpuClock,
    /// Processes of the tree at the end of the window.
    pub processes: u32,
    /// Threads of those processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Files and sockets that they hold open after the drain; none where others' may not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
    /// How often its threads gave up a CPU, or had it taken; of threads that ended meanwhile, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// How its worker processes shared the work; none where no two processes have the same parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// How the threads of its busiest process shared the work; none of one with a single thread, where there are more than
    /// 256 to read, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_workers: Option<Workers>,
    /// Regular files that it had open for writing before the round and that grew until the drain was over, warm-up
    /// included; at most [`Footprint::MOST_GROWN`], the fastest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grown: Vec<GrownFile>,
    /// What it held in memory; none where that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// CPUs that the server may use: its affinity mask, or what its quotas allow where that is less.
    pub cpus_allowed: f64,
    /// The CPU quotas of its groups and of their ancestors, the nearest first, and how often they throttled it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// The CPUs of its affinity mask, ascending; empty where that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// From the first reading of the clocks to the last.
    pub wall: Nanos,
    /// When the clocks were read, on the monotonic clock; none in records that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Window>,
    /// Whether processes came or went whose CPU time was not kept, so that some of it may be missing.
    pub lower_bound: bool,
}

/// CPU time of the processes that have the same parent, of several such groups the largest; or of the threads of one process.
/// Those that came or went in the window are not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// How many there were.
    pub count: u32,
    /// CPU time of all.
    pub cpu: Nanos,
    /// CPU time of the busiest.
    pub busiest: Nanos,
    /// The number of equally busy ones that would do the same: the square of the sum over the sum of squares.
    pub effective: f64,
}

impl Workers {
    /// Returns how workers that took these CPU times shared the work; none for fewer than two.
    pub fn of(each: &[Nanos]) -> Option<Workers> {
        let squares: f64 = each.iter().map(|cpu| cpu.as_secs_f64().powi(2)).sum();
        let cpu: Nanos = each.iter().copied().sum();
        (each.len() > 1).then(|| Workers {
            count: each.len() as u32,
            cpu,
            busiest: each.iter().copied().max().unwrap_or_default(),
            effective: share(cpu.as_secs_f64().powi(2), squares),
        })
    }
}

/// A regular file that grew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrownFile {
    /// Where it is.
    pub path: String,
    /// Bytes that it grew by.
    pub bytes: u64,
}

/// CPU time as the kernel samples it: by where its ticks fell, mostly 10 ms of them each, so that it is roughly right at
/// best, and nothing of a short time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// In code of its own.
    pub user: Nanos,
    /// In the kernel.
    pub kernel: Nanos,
}

impl Sampled {
    /// Less than ten ticks cannot be divided.
    const DIVISIBLE: Nanos = Nanos::from_millis(100);

    /// Both together, over several rounds or threads.
    pub fn plus(self, other: Sampled) -> Sampled {
        Sampled {
            user: self.user + other.user,
            kernel: self.kernel + other.kernel,
        }
    }

    /// `cpu` divided as the samples are, into what the server's own code took and what the kernel did; none where there
    /// are too few of them.
    pub fn divide(self, cpu: Nanos) -> Option<(Nanos, Nanos)> {
        let all = self.user + self.kernel;
        if all < Self::DIVISIBLE {
            return None;
        }
        let share = self.user.as_secs_f64() / all.as_secs_f64();
        let user = Nanos::from_nanos((cpu.as_nanos() as f64 * share).round() as u64).min(cpu);
        Some((user, cpu.saturating_sub(user)))
    }
}

/// Whose clocks a CPU time was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuClock {
    /// Those of the processes, to the nanosecond; what parents keep of their ended children, to two ticks each.
    #[default]
    Processes,
    /// That of their control group, which keeps what ended.
    Cgroup,
}

/// Times that threads stopped running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because another was to have the CPU.
    pub forced: u64,
}

/// Memory of a process tree in bytes, as PSS: what several processes share is counted once, in equal parts. Each is none
/// where it was not read, or may not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Before the campaign's load.
    pub rest: Option<u64>,
    /// Before the round.
    pub before: Option<u64>,
    /// After the drain, while connections are still open.
    pub after: Option<u64>,
    /// Connections that were open at `after`.
    pub connections: u64,
}

impl Memory {
    /// The largest of those that are known.
    pub fn peak(&self) -> Option<u64> {
        [self.rest, self.before, self.after]
            .into_iter()
            .flatten()
            .max()
    }
}

impl Footprint {
    /// The most files in `grown`.
    pub const MOST_GROWN: usize = 4;

    /// Whether its CPU time is that of `window`: the first reading left out at most a tenth of it, and so did the last,
    /// which went beyond it by no more either. `is_over` says that nothing was left to do after the window, so that a late
    /// last reading does no harm.
    pub(crate) fn covers(&self, window: Window, is_over: bool) -> bool {
        let slack = Nanos::from_nanos(window.span().as_nanos() / 10);
        let read = self.read.unwrap_or(Window {
            start: window.start,
            end: window.start + self.wall,
        });
        let is_whole = read.start - window.start <= slack && window.end - read.end <= slack;
        is_whole && (is_over || read.end - window.end <= slack)
    }

    /// CPU time as a share of all CPUs the server may use; 0 over no time.
    pub fn busy(&self) -> f64 {
        let there_was = self.wall.as_secs_f64() * self.cpus_allowed;
        share(self.cpu.as_secs_f64(), there_was)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_covers_a_window_of_which_neither_edge_was_missed_by_more_than_a_tenth() {
        let at = |millis| units::Instant::ZERO + Nanos::from_millis(millis);
        let window = |start, end| Window {
            start: at(start),
            end: at(end),
        };
        for (start, end, is_over, wanted) in [
            (1_000, 1_236, false, true),
            (1_023, 1_259, false, true),
            (1_024, 1_236, true, false),
            (1_234, 1_236, true, false), // as has happened
            (1_000, 1_212, true, false),
            (1_000, 1_260, false, false),
            (1_000, 9_000, true, true),
        ] {
            let mut print = Footprint {
                read: Some(window(start, end)),
                ..Footprint::default()
            };
            let covers = print.covers(window(1_000, 1_236), is_over);
            assert_eq!(covers, wanted, "{start} {end} {is_over}");
            print.read = None;
            print.wall = Nanos::from_millis(1);
            assert!(!print.covers(window(1_000, 1_236), true), "an older record");
        }
    }

    #[test]
    fn workers_count_as_many_as_equally_busy_ones_that_do_the_same() {
        let millis = |each: &[u64]| -> Vec<Nanos> {
            each.iter().map(|cpu| Nanos::from_millis(*cpu)).collect()
        };
        for (each, effective) in [
            (&[500_u64, 500][..], 2.0),
            (&[900, 0, 0, 0], 1.0),
            (&[600, 200], 1.6),
            (&[0, 0], 0.0),
        ] {
            let workers = Workers::of(&millis(each)).unwrap();
            assert!((workers.effective - effective).abs() < 1e-9, "{workers:?}");
            assert_eq!(workers.cpu.as_nanos(), each.iter().sum::<u64>() * 1_000_000);
        }
        assert_eq!(Workers::of(&millis(&[900])), None);
    }

    #[test]
    fn the_division_follows_the_samples_where_there_are_enough() {
        let cpu = Nanos::from_millis(1_000);
        for (user, kernel, wanted) in [
            (600, 200, Some(750)),
            (0, 100, Some(0)),
            (100, 0, Some(1_000)),
            (60, 30, None),
            (0, 0, None),
        ] {
            let sampled = Sampled {
                user: Nanos::from_millis(user),
                kernel: Nanos::from_millis(kernel),
            };
            let found = sampled.divide(cpu);
            assert_eq!(found.map(|(user, _)| user.as_nanos() / 1_000_000), wanted);
            assert!(found.is_none_or(|(user, kernel)| user + kernel == cpu));
        }
    }
}

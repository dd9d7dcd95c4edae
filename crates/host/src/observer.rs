//! What a server costs between two moments.
//!
//! It looks twice, not ten times a second: the clocks of processes only rise, so the difference is exact, and nothing of
//! the observing happens while the load runs.

use crate::cpus;
use crate::files::Root;
use kernel::process::Child;
use record::Footprint;
use units::{Instant, Nanos};

/// A server whose footprint is being taken.
#[derive(Debug)]
pub struct Watch {
    cpus_allowed: f64,
    cpus: Vec<u32>,
    start: Reading,
}

/// What the server's processes have cost so far, and which they are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    at: Instant,
    cpu: Nanos,
    /// Ascending.
    pids: Vec<u32>,
}

impl Watch {
    /// Begins to take the footprint of `server` and of all that it started.
    pub fn start(server: &mut Child) -> Watch {
        // Its control group is taken for ours, as it is unless the command itself moved elsewhere.
        let quota = kernel::affinity::quota();
        let cpus = cpus::allowed(&Root::machine(), server.id());
        // One that has just ended may use what it was given: what we may use.
        let cpus = cpus.unwrap_or_else(kernel::affinity::allowed);
        let allowed = cpus.len() as f64;
        Watch {
            cpus_allowed: quota.map_or(allowed, |quota| quota.min(allowed)),
            cpus,
            start: Reading::of(server),
        }
    }

    /// What `server` has cost since [`Watch::start`].
    pub fn stop(self, server: &mut Child) -> Footprint {
        let footprint = Reading::of(server).since(&self.start, self.cpus_allowed);
        Footprint {
            cpus: self.cpus,
            ..footprint
        }
    }
}

impl Reading {
    fn of(server: &mut Child) -> Reading {
        let (pids, cpu) = (server.pids(), server.cpu());
        Reading {
            at: kernel::clock::now(),
            cpu,
            pids,
        }
    }

    fn since(&self, start: &Reading, cpus_allowed: f64) -> Footprint {
        Footprint {
            cpu: self.cpu.saturating_sub(start.cpu),
            processes: self.pids.len() as u32,
            cpus_allowed,
            cpus: Vec::new(),
            wall: self.at - start.at,
            // One that came and went within the window is seen only by its parent's accounts, in ticks; and one that
            // went may have taken its last ticks with it.
            lower_bound: self.pids != start.pids,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::process::Start;

    fn reading(at: u64, cpu: u64, pids: &[u32]) -> Reading {
        Reading {
            at: Instant::from_nanos(at),
            cpu: Nanos::from_nanos(cpu),
            pids: pids.to_vec(),
        }
    }

    #[test]
    fn a_footprint_is_the_difference_of_two_readings() {
        let footprint = reading(1_100, 70, &[4, 5]).since(&reading(100, 20, &[4, 5]), 2.0);
        let wanted = Footprint {
            cpu: Nanos::from_nanos(50),
            processes: 2,
            cpus_allowed: 2.0,
            cpus: Vec::new(),
            wall: Nanos::from_nanos(1_000),
            lower_bound: false,
        };
        assert_eq!(footprint, wanted);
        assert!((footprint.busy() - 0.025).abs() < 1e-12);
    }

    #[test]
    fn processes_that_came_or_went_make_it_a_lower_bound() {
        let start = reading(100, 20, &[4, 5]);
        let cases: &[(&[u32], bool)] = &[
            (&[4, 5], false),
            (&[4], true),
            (&[4, 5, 6], true),
            (&[4, 6], true),
            (&[], true),
        ];
        for (pids, wanted) in cases {
            let footprint = reading(200, 10, pids).since(&start, 1.0);
            assert_eq!(footprint.lower_bound, *wanted, "{pids:?}");
            assert_eq!(
                footprint.cpu,
                Nanos::ZERO,
                "a clock that seems to run back is no cost"
            );
        }
    }

    fn shell(script: &str) -> Child {
        let command = ["sh", "-c", script].map(Into::into).to_vec();
        Child::start(Start {
            command,
            ..Start::default()
        })
        .unwrap()
    }

    #[test]
    fn what_a_busy_process_burns_is_in_its_footprint() {
        let mut child = shell("while :; do :; done");
        let watch = Watch::start(&mut child);
        let (before, deadline) = (child.cpu(), kernel::clock::now() + Nanos::from_secs(20));
        let wanted = Nanos::from_millis(30);
        while child.cpu().saturating_sub(before) < wanted && kernel::clock::now() < deadline {
            std::thread::yield_now();
        }
        let footprint = watch.stop(&mut child);
        child.stop(Nanos::from_millis(100));
        assert!(footprint.cpu >= wanted, "{footprint:?}");
        assert!(
            footprint.cpu <= footprint.wall + Nanos::from_millis(10),
            "{footprint:?}"
        );
        assert_eq!((footprint.processes, footprint.lower_bound), (1, false));
        assert!(footprint.cpus_allowed > 0.0);
        assert!(footprint.cpus_allowed <= kernel::affinity::allowed().len() as f64);
    }

    #[test]
    fn a_server_that_ended_meanwhile_is_seen_to_be_gone() {
        let mut child = shell("while :; do :; done");
        let watch = Watch::start(&mut child);
        child.stop(Nanos::from_secs(5));
        let footprint = watch.stop(&mut child);
        assert_eq!((footprint.processes, footprint.lower_bound), (0, true));
    }
}

//! What a server takes while several are loaded in turn: its CPU time over a slice, and what it writes.
//!
//! A slice is short, and the server is idle at both of its edges: no process is looked at in between, and what looking costs
//! falls outside.

use crate::files::Root;
use crate::ledger::Ledger;
use crate::observer::Server;
use crate::written::{self, Written};
use kernel::process::{Sampling, Stat, ticks_of};
use std::collections::BTreeMap;
use units::Nanos;

/// A server's CPU time since a moment.
#[derive(Debug)]
pub struct CpuSpan {
    ledger: Ledger,
}

impl CpuSpan {
    /// Begins now.
    pub fn open(mut server: Server<'_>) -> CpuSpan {
        let uptime = ticks_of(kernel::clock::since_boot());
        CpuSpan {
            ledger: Ledger::open(server.sample(), uptime),
        }
    }

    /// Ends now: the CPU time of all of its processes, and whether some of it may be missing, because a process came or went.
    pub fn close(self, mut server: Server<'_>) -> (Nanos, bool) {
        let keeps_all = matches!(server, Server::Started(_));
        let taken = self.ledger.close(&server.sample(), keeps_all);
        (taken.cpu, taken.lower_bound)
    }
}

/// Regular files that a server has open for writing, with their sizes at a moment.
#[derive(Debug)]
pub struct WrittenFiles {
    files: Vec<Written>,
}

impl WrittenFiles {
    /// Those that it has open now.
    pub fn open(mut server: Server<'_>) -> WrittenFiles {
        let pids = server.pids();
        WrittenFiles {
            files: written::open(&Root::machine(), &pids),
        }
    }

    /// Bytes by which they have grown since.
    pub fn grown(&self) -> u64 {
        let grown = written::grown(&Root::machine(), &self.files);
        grown.iter().map(|file| file.bytes).sum()
    }
}

/// How a server shares its work, as far as its processes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Team {
    /// Processes with the same parent, of the largest such group: its workers; 1 where there is no group.
    pub processes: u32,
    /// Threads of the process that has most.
    pub threads: u32,
}

impl Team {
    /// That of `server` now.
    pub fn of(server: &mut Server<'_>) -> Team {
        Team::among(&server.stats(Sampling::Full))
    }

    fn among(stats: &[Stat]) -> Team {
        let living = || stats.iter().filter(|stat| !stat.zombie);
        let mut groups: BTreeMap<u32, u32> = BTreeMap::new();
        let is_member = |pid: u32| living().any(|stat| stat.process.pid == pid);
        for stat in living().filter(|stat| is_member(stat.parent)) {
            *groups.entry(stat.parent).or_default() += 1;
        }
        Team {
            processes: groups.into_values().max().unwrap_or(1),
            threads: living().map(|stat| stat.threads).max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Found;
    use kernel::process::{Child, Start};
    use std::fs;
    use std::time::{Duration, Instant};

    fn started(script: &str) -> Child {
        let command = ["sh", "-c", script].map(Into::into).to_vec();
        Child::start(Start {
            command,
            ..Start::default()
        })
        .unwrap()
    }

    #[track_caller]
    fn wait_until(mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "it never was so"
            );
            std::thread::park_timeout(Duration::from_millis(10)); // not a wait for it, but the interval of asking
        }
    }

    #[test]
    fn the_cpu_time_of_a_span_is_that_of_the_server_and_of_nothing_before() {
        let mut busy = started("while :; do :; done");
        let span = CpuSpan::open(Server::Started(&mut busy));
        wait_until(|| busy.cpu() > Nanos::from_millis(50));
        let (first, is_less) = span.close(Server::Started(&mut busy));
        assert!(first >= Nanos::from_millis(40) && !is_less, "{first:?}");
        let before = busy.cpu();
        let span = CpuSpan::open(Server::Started(&mut busy));
        let (second, _) = span.close(Server::Started(&mut busy));
        assert!(second <= busy.cpu().saturating_sub(before), "{second:?}");
    }

    #[test]
    fn what_a_server_writes_is_counted_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let (log, go) = (folder.path().join("log"), folder.path().join("go"));
        let script = format!(
            "exec 3>>{0}; printf before >&3; while [ ! -e {1} ]; do sleep 0.01; done; printf 1234567 >&3; exec sleep 600",
            log.display(),
            go.display()
        );
        let mut server = started(&script);
        wait_until(|| fs::read(&log).is_ok_and(|text| text == b"before"));
        let files = WrittenFiles::open(Server::Started(&mut server));
        assert_eq!(files.grown(), 0);
        fs::write(&go, "").unwrap();
        wait_until(|| files.grown() > 0);
        assert_eq!(files.grown(), 7);
    }

    #[test]
    fn workers_are_the_largest_group_of_siblings() {
        let mut server = started("for i in 1 2 3; do sleep 600 & done; wait");
        let mut team = Team {
            processes: 0,
            threads: 0,
        };
        wait_until(|| {
            team = Team::of(&mut Server::Started(&mut server));
            team.processes == 3
        });
        assert_eq!(team.threads, 1);
        let mut alone = started("exec sleep 600");
        let mut found = Found::by_pid(alone.id()).unwrap();
        wait_until(|| Team::of(&mut Server::Found(&mut found)).threads == 1);
        assert_eq!(Team::of(&mut Server::Started(&mut alone)).processes, 1);
    }
}

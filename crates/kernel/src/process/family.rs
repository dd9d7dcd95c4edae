//! Processes as /proc shows them, and as the system calls on them want them.

use crate::accounts::{self, Usage};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::process::{pidfd_open, pidfd_send_signal, set_child_subreaper};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use units::Nanos;

/// A process beyond doubt: a number that is given away again has another start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Since boot, in ticks of the kernel.
    pub start_ticks: u64,
    /// Its number.
    pub pid: u32,
}

impl Process {
    /// Sends a signal, to this process or to none. That it is gone already is as good.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = number(self.pid) else { return };
        let _ = match pidfd_open(pid, PidfdFlags::empty()) {
            // From here on the number is bound; was it ours when it was bound?
            Ok(process) if self.is_there() => pidfd_send_signal(process, signal),
            // Kernels before 5.3, with a moment in between in which the number could change hands.
            Err(rustix::io::Errno::NOSYS) if self.is_there() => kill_process(pid, signal),
            _ => Ok(()),
        };
    }

    fn is_there(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.process == self)
    }
}

/// What /proc says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Which one it is.
    pub process: Process,
    /// The process that started it, or the one that adopted it as an orphan.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// It has ended, and its parent has not waited for it yet.
    pub zombie: bool,
    /// Its threads; of a zombie one.
    pub threads: u32,
    /// Its own CPU time, each part cut off to whole ticks (of 10 ms as a rule).
    pub own: Usage,
    /// That of the children that it has waited for, and of those that they had.
    pub children: Usage,
}

impl Stat {
    /// What /proc says about process `pid`; none when there is none.
    pub fn read(pid: u32) -> Option<Stat> {
        // A name may be any bytes.
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Stat::parse(&String::from_utf8_lossy(&text))
    }

    /// One line of proc_pid_stat(5). The name, in brackets, may contain anything, brackets and spaces too.
    pub fn parse(text: &str) -> Option<Stat> {
        let (pid, _) = text.split_once(' ')?;
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let usage = |index: usize| {
            let (user, system) = (span_of(number(index)?), span_of(number(index + 1)?));
            Some(Usage { user, system })
        };
        Some(Stat {
            process: Process {
                start_ticks: number(19)?,
                pid: pid.parse().ok()?,
            },
            parent: number(1)? as u32,
            group: number(2)? as u32,
            session: number(3)? as u32,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            threads: number(17)? as u32,
            own: usage(11)?,
            children: usage(13)?,
        })
    }

    /// Its own CPU time, exact where it can be had.
    pub fn own_cpu(&self) -> Nanos {
        accounts::process_cpu(self.process.pid).unwrap_or_else(|| self.own.cpu())
    }

    /// Its own CPU time and that of the children it has waited for.
    pub(super) fn cpu(&self) -> Nanos {
        self.own_cpu() + self.children.cpu()
    }
}

/// So many ticks as a span.
pub fn span_of(ticks: u64) -> Nanos {
    let per_second = u128::from(rustix::param::clock_ticks_per_second().max(1));
    let nanos = u128::from(ticks) * 1_000_000_000 / per_second;
    Nanos::from_nanos(nanos.min(u128::from(u64::MAX)) as u64)
}

/// How many ticks a span is, cut off below.
pub fn ticks_of(span: Nanos) -> u64 {
    let tick = span_of(1).as_nanos().max(1);
    span.as_nanos() / tick
}

/// The process or thread that was started last, wherever on the machine (or in this namespace of processes): while it
/// stays the same, no process or thread was started. None where the kernel does not tell.
pub fn newest() -> Option<u32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let newest = text.split_ascii_whitespace().nth(4)?.parse().ok()?;
    (newest > 0).then_some(newest)
}

/// The numbers of all processes that can be seen.
pub fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(pid).collect()
}

/// All processes as last read, so that a second sample need not read again what cannot have changed.
#[derive(Debug, Default)]
pub struct Census {
    stats: BTreeMap<u32, Stat>,
}

/// Which processes a [`Census`] reads again.
#[derive(Debug, Clone, Copy)]
pub enum Sampling {
    /// All of them.
    Full,
    /// Those that are known to belong to the sampled server, and new ones; all others are taken as they were. (Should a
    /// number have been given to another process since, that one is taken for the former until the next full sample.)
    Known,
}

impl Census {
    /// All processes that can be seen; those that are `known` are read with either kind of sampling.
    pub fn sample(&mut self, sampling: Sampling, known: &BTreeSet<Process>) -> Vec<Stat> {
        let is_kept = |stat: &&Stat| match sampling {
            Sampling::Full => false,
            Sampling::Known => !known.contains(&stat.process),
        };
        let stats = pids().into_iter().filter_map(|pid| {
            let kept = self.stats.get(&pid).filter(is_kept).copied();
            kept.or_else(|| Stat::read(pid))
        });
        self.stats = stats.map(|stat| (stat.process.pid, stat)).collect();
        self.stats.values().copied().collect()
    }
}

/// The mark that a process bears: its soft RLIMIT_RSS, if it has one.
pub(super) fn mark(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max resident set"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Gives the calling process its mark, unless a hard limit is in the way (then only its relations show which server it belongs to).
/// Safe between fork and exec: two system calls, no memory.
pub(super) fn bear_mark(mark: u64) {
    let limit = getrlimit(Resource::Rss);
    if limit.maximum.is_none_or(|most| most >= mark) {
        let current = Some(mark);
        let _ = setrlimit(Resource::Rss, Rlimit { current, ..limit });
    }
}

/// Makes this process adopt its orphaned descendants, and makes the kernel report how its children end: where SIGCHLD was
/// inherited as ignored, the kernel would reap them unseen.
pub(super) fn become_reaper() {
    let _ = set_child_subreaper(Some(getpid())); // kernels since 3.4 have it
    if crate::signals::is_ignored(libc::SIGCHLD) {
        // SAFETY: takes numbers only.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// How our child `pid` has ended, without reaping it.
pub(super) fn peek(pid: u32) -> Option<ExitStatus> {
    let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(number(pid)?), flags).ok()??;
    let raw = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) if status.dumped() => signal | 0x80,
        (None, signal) => signal?,
    };
    Some(ExitStatus::from_raw(raw))
}

/// A process's number as system calls take it.
fn number(pid: u32) -> Option<Pid> {
    Pid::from_raw(pid as i32)
}

/// Reaps our child `pid`, if it has ended: how, and what it and all it had waited for have cost.
pub(super) fn reap(pid: u32) -> Option<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: rusage is plain old data; all zeroes is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `status` and `usage` outlive the call and are what the call fills.
    let reaped = unsafe { libc::wait4(pid as libc::pid_t, &mut status, libc::WNOHANG, &mut usage) };
    (reaped > 0).then(|| (ExitStatus::from_raw(status), Usage::of(&usage)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_brackets_does_not_shift_the_fields() {
        let text = "17 (a) Z (b 9 9) S 3 4 5 0 -1 0 0 0 0 0 10 20 30 40 20 0 8 0 777 0 0\n";
        let wanted = Stat {
            process: Process {
                start_ticks: 777,
                pid: 17,
            },
            parent: 3,
            group: 4,
            session: 5,
            zombie: false,
            threads: 8,
            own: Usage {
                user: span_of(10),
                system: span_of(20),
            },
            children: Usage {
                user: span_of(30),
                system: span_of(40),
            },
        };
        assert_eq!(Stat::parse(text), Some(wanted));
        assert_eq!(Stat::parse("17 (a) S 3 4"), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let me = Stat::read(std::process::id()).unwrap();
        let all = Census::default().sample(Sampling::Full, &BTreeSet::new());
        assert!(all.iter().any(|stat| stat.process == me.process));
    }

    #[test]
    fn a_second_look_reads_those_who_are_wanted_and_who_have_come() {
        let mut census = Census::default();
        census.sample(Sampling::Full, &BTreeSet::new());
        let me = std::process::id();
        let known = BTreeSet::from([Stat::read(me).unwrap().process]);
        // What was read is replaced by what no file says.
        for stat in census.stats.values_mut() {
            stat.threads = u32::MAX;
        }
        let mut sleeper = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let stats = census.sample(Sampling::Known, &known);
        let of = |pid: u32| stats.iter().find(|stat| stat.process.pid == pid).unwrap();
        assert!(of(me).threads < u32::MAX && of(sleeper.id()).threads == 1);
        assert_eq!(of(1).threads, u32::MAX);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let stats = census.sample(Sampling::Known, &BTreeSet::new());
        assert!(stats.iter().all(|stat| stat.process.pid != sleeper.id()));
    }

    #[test]
    fn a_number_with_another_start_gets_no_signal() {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let real = Stat::read(sleeper.id()).unwrap().process;
        let earlier = Process {
            start_ticks: real.start_ticks - 1,
            ..real
        };
        earlier.signal(Signal::KILL);
        assert!(sleeper.try_wait().unwrap().is_none() && real.is_there());
        real.signal(Signal::TERM);
        assert_eq!(sleeper.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}

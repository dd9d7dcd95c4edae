//! Which processes belong to a started command, and the ending of them all.

use super::family::{self, Census, Process, Sampling, Stat};
use crate::clock;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::thread;
use units::Nanos;

/// How often a tree that is ending is looked at.
const LOOK: Nanos = Nanos::from_millis(2);

/// The processes of one command: whatever descends from it by parents, is in its group or session, bears its mark, or
/// was once seen to belong to it.
#[derive(Debug)]
pub(super) struct Tree {
    /// The process that was started, where it is known.
    leader: Option<Process>,
    mark: u64,
    /// The start before which no process can belong to it, in ticks since boot.
    since: u64,
    /// All that belonged to it at the last sample.
    known: BTreeSet<Process>,
    census: Census,
}

impl Tree {
    /// The tree of `leader`, if that is known, whose processes bear `mark` and have started at `since` or later.
    pub(super) fn new(leader: Option<Process>, mark: u64, since: u64) -> Tree {
        Tree {
            leader,
            mark,
            since,
            known: leader.into_iter().collect(),
            census: Census::default(),
        }
    }

    /// Whether a process belongs to the tree of which `members` are known.
    pub(super) fn owns(&self, stat: &Stat, members: &BTreeSet<u32>) -> bool {
        let leads = |pid: u32| self.leader.is_some_and(|leader| leader.pid == pid);
        let is_related = || {
            members.contains(&stat.parent)
                || leads(stat.group)
                || leads(stat.session)
                || family::mark(stat.process.pid) == Some(self.mark)
        };
        let is_younger = stat.process.start_ticks >= self.since;
        self.known.contains(&stat.process) || (is_younger && is_related())
    }

    /// All processes of the tree as they are now, the living and the ended.
    pub(super) fn sample(&mut self, sampling: Sampling) -> Vec<Stat> {
        let all = self.census.sample(sampling, &self.known);
        self.members(&all)
    }

    /// Those of `all` that belong to the tree.
    fn members(&mut self, all: &[Stat]) -> Vec<Stat> {
        let namesake = |leader: &Process| {
            let mut processes = all.iter().map(|stat| stat.process);
            processes.any(|process| process.pid == leader.pid && process != *leader)
        };
        // A number is given away again when its group and its session are empty: a namesake's are not ours.
        self.leader = self.leader.filter(|leader| !namesake(leader));
        let members = belonging(all, |stat, pids| self.owns(stat, pids));
        self.known = members.iter().map(|stat| stat.process).collect();
        members
    }
}

/// Returns the processes of `all` that belong to one family: `owns` says so of a process, given the numbers of those that
/// are known to. Repeated until none is added, since parents may come after their children in the list.
pub fn belonging(all: &[Stat], owns: impl Fn(&Stat, &BTreeSet<u32>) -> bool) -> Vec<Stat> {
    let mut members: Vec<Stat> = Vec::new();
    let mut pids = BTreeSet::new();
    loop {
        let before = members.len();
        for stat in all {
            if !pids.contains(&stat.process.pid) && owns(stat, &pids) {
                pids.insert(stat.process.pid);
                members.push(*stat);
            }
        }
        if members.len() == before {
            return members;
        }
    }
}

/// Sends `signal` once to each process that `sample` finds, newcomers too, until all that it finds have `ended` or
/// `patience` is over. Returns those that still live.
pub(super) fn end(
    mut sample: impl FnMut() -> Vec<Stat>,
    ended: impl Fn(&Stat) -> bool,
    signal: Signal,
    patience: Nanos,
) -> Vec<u32> {
    let deadline = clock::now() + patience;
    let mut told = BTreeSet::new();
    loop {
        let there = sample();
        if there.iter().all(&ended) || (!told.is_empty() && clock::now() >= deadline) {
            return living(&there);
        }
        for stat in there.iter().filter(|stat| !stat.zombie) {
            if told.insert(stat.process) {
                stat.process.signal(signal);
            }
        }
        // Grandchildren end without a sign to us (a pidfd tells of one process, not of those it starts meanwhile).
        thread::sleep(LOOK.to_std());
    }
}

/// The numbers of those that have not ended.
pub fn living(stats: &[Stat]) -> Vec<u32> {
    let alive = stats.iter().filter(|stat| !stat.zombie);
    alive.map(|stat| stat.process.pid).collect()
}

//! What a tree of processes took between two moments, while some of them come and go.
//!
//! Two sums are kept, and the larger is the answer. The first is of the *edges*: each process's own clock, what it keeps of
//! the children it has waited for (in ticks), and what the processes took that we have reaped ourselves, at the end less
//! at the start. A process that ends moves from its own clock into its parent's account, so that this sum loses nothing,
//! as long as a process of the tree waits for each that ends. The second is of the clocks *seen*: of each process that was
//! there at one of the samples, the last reading less the first. It does not depend on waiting, but what a process took
//! between its last sample and its end is not in it.
//!
//! Where an account can have been lost (an orphan was adopted by a process outside of the tree, or a parent ignores
//! SIGCHLD), the sum is a lower bound, and says so.

use kernel::accounts::Usage;
use kernel::process::{Process, Stat, span_of};
use record::{Sampled, Workers};
use std::collections::BTreeMap;
use units::Nanos;

/// How far the two sums may lie apart by what ticks cut off: of user and kernel, of each process that keeps accounts.
const CUT_OFF_TICKS: u64 = 2;

/// A process, with its exact clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessSample {
    pub(crate) stat: Stat,
    pub(crate) cpu: Nanos,
}

impl ProcessSample {
    pub(crate) fn of(stat: Stat) -> ProcessSample {
        ProcessSample {
            stat,
            cpu: stat.own_cpu(),
        }
    }
}

/// All processes of a tree at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeSample {
    pub(crate) samples: Vec<ProcessSample>,
    /// CPU time of the processes that we have reaped so far.
    pub(crate) reaped: Usage,
}

/// What a tree took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) cpu: Nanos,
    /// Where the ticks fell, unless an account was lost.
    pub(crate) sampled: Option<Sampled>,
    pub(crate) lower_bound: bool,
}

/// One process of the tree: its clock when it was first met, and when it was last seen.
#[derive(Debug, Clone, Copy)]
struct Entry {
    process: Process,
    base: Nanos,
    last: Nanos,
    is_gone: bool,
}

/// A tree between two moments.
#[derive(Debug)]
pub(crate) struct Ledger {
    first: TreeSample,
    /// When it was opened, in ticks since boot: a process that started later took nothing before.
    opened_ticks: u64,
    entries: BTreeMap<u32, Entry>,
    /// CPU time of processes whose number was given to another.
    buried: Nanos,
    /// CPU time before the window of older processes that joined the tree within it.
    brought: Nanos,
    is_changed: bool,
}

impl Ledger {
    /// Opens the account of all processes in `first`, at `opened_ticks` since boot.
    pub(crate) fn open(first: TreeSample, opened_ticks: u64) -> Ledger {
        let entry = |sample: &ProcessSample| {
            let entry = Entry {
                process: sample.stat.process,
                base: sample.cpu,
                last: sample.cpu,
                is_gone: false,
            };
            (entry.process.pid, entry)
        };
        Ledger {
            entries: first.samples.iter().map(entry).collect(),
            first,
            opened_ticks,
            buried: Nanos::ZERO,
            brought: Nanos::ZERO,
            is_changed: false,
        }
    }

    /// Those that were there when last seen.
    pub(crate) fn living(&self) -> Vec<u32> {
        let living = self.entries.iter().filter(|(_, entry)| !entry.is_gone);
        living.map(|(pid, _)| *pid).collect()
    }

    /// The clock of `pid` shows `cpu`, or there is none any more.
    pub(crate) fn read(&mut self, pid: u32, cpu: Option<Nanos>) {
        let Some(entry) = self.entries.get_mut(&pid) else {
            return;
        };
        match cpu {
            Some(cpu) if cpu >= entry.last => entry.last = cpu,
            // Gone, or gone and its number given to another whose clock shows less.
            _ => {
                entry.is_gone = true;
                self.is_changed = true;
            }
        }
    }

    /// Adds a process of the tree, or updates it if it is known already.
    pub(crate) fn meet(&mut self, sample: &ProcessSample) {
        let Process { pid, start_ticks } = sample.stat.process;
        match self.entries.get_mut(&pid) {
            Some(entry) if entry.process == sample.stat.process => {
                (entry.last, entry.is_gone) = (entry.last.max(sample.cpu), false);
                return;
            }
            Some(entry) => self.buried += entry.last.saturating_sub(entry.base),
            None => {}
        }
        let is_new = start_ticks >= self.opened_ticks;
        if !is_new {
            self.brought += sample.cpu + sample.stat.children.cpu();
        }
        let entry = Entry {
            process: sample.stat.process,
            base: if is_new { Nanos::ZERO } else { sample.cpu },
            last: sample.cpu,
            is_gone: false,
        };
        self.entries.insert(pid, entry);
        self.is_changed = true;
    }

    /// How the processes with the same parent shared the work so far, of the largest such group; `last` has all processes
    /// now. Those that came or went meanwhile are left out.
    pub(crate) fn workers(&self, last: &TreeSample) -> Option<Workers> {
        let mut groups: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
        for sample in last.samples.iter().filter(|sample| !sample.stat.zombie) {
            let first = self.first.samples.iter();
            let mut first = first.filter(|first| first.stat.process == sample.stat.process);
            if let Some(first) = first.next() {
                let group = groups.entry(sample.stat.parent).or_default();
                group.push(sample.cpu.saturating_sub(first.cpu));
            }
        }
        Workers::of(groups.values().max_by_key(|group| group.len())?)
    }

    /// Closes the account: `last` has all processes now. `keeps_all` says that we reap all orphans, and that no process of
    /// the tree ignores SIGCHLD.
    pub(crate) fn close(mut self, last: &TreeSample, keeps_all: bool) -> Taken {
        for sample in &last.samples {
            self.meet(sample);
        }
        let is_there = |process: Process| {
            last.samples
                .iter()
                .any(|sample| sample.stat.process == process)
        };
        self.is_changed |= self.entries.values().any(|entry| !is_there(entry.process));
        let differences = self
            .entries
            .values()
            .map(|entry| entry.last.saturating_sub(entry.base));
        let seen = differences.sum::<Nanos>() + self.buried;
        let edges = edge(last).saturating_sub(edge(&self.first) + self.brought);
        let cpu = edges.max(seen);
        let keepers = self.entries.len() as u64;
        let slack = span_of(CUT_OFF_TICKS * keepers);
        let is_lost = if keeps_all {
            edges + slack < seen
        } else {
            self.is_changed || kept(last) != kept(&self.first)
        };
        Taken {
            cpu,
            sampled: sampled_between(parts(&self.first), parts(last)),
            lower_bound: is_lost,
        }
    }
}

/// The sum at an edge.
fn edge(tree: &TreeSample) -> Nanos {
    let samples = tree.samples.iter();
    let there: Nanos = samples
        .map(|sample| sample.cpu + sample.stat.children.cpu())
        .sum();
    there + tree.reaped.cpu()
}

/// What parents keep of their children.
fn kept(tree: &TreeSample) -> Nanos {
    let samples = tree.samples.iter();
    samples.map(|sample| sample.stat.children.cpu()).sum()
}

/// User's and the kernel's parts at an edge.
fn parts(tree: &TreeSample) -> Sampled {
    let samples = tree.samples.iter();
    let usages = samples.flat_map(|sample| [sample.stat.own, sample.stat.children]);
    let mut sum = tree.reaped;
    usages.for_each(|usage| sum.add(usage));
    Sampled {
        user: sum.user,
        kernel: sum.system,
    }
}

/// What was sampled from `first` to `last`; none where an account was lost in between.
pub(crate) fn sampled_between(first: Sampled, last: Sampled) -> Option<Sampled> {
    let is_whole = last.user >= first.user && last.kernel >= first.kernel;
    is_whole.then(|| Sampled {
        user: last.user.saturating_sub(first.user),
        kernel: last.kernel.saturating_sub(first.kernel),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that started at tick `start`, whose clock shows `cpu` ms and which keeps `kept` ticks of its children.
    fn sample(pid: u32, start: u64, cpu: u64, kept: u64) -> ProcessSample {
        let text = format!(
            "{pid} (x) S 1 1 1 0 0 0 0 0 0 0 {} 0 0 {kept} 0 0 1 0 {start} 0",
            cpu / 10
        );
        let stat = Stat::parse(&text).unwrap();
        ProcessSample {
            stat,
            cpu: Nanos::from_millis(cpu),
        }
    }

    fn tree(samples: &[ProcessSample]) -> TreeSample {
        TreeSample {
            samples: samples.to_vec(),
            ..TreeSample::default()
        }
    }

    fn millis(taken: Taken) -> (u64, bool) {
        (taken.cpu.as_nanos() / 1_000_000, taken.lower_bound)
    }

    #[test]
    fn those_that_stay_are_charged_the_difference_of_their_clocks() {
        for keeps_all in [true, false] {
            let ledger = Ledger::open(tree(&[sample(7, 1, 100, 50), sample(8, 1, 30, 0)]), 100);
            let last = tree(&[sample(7, 1, 350, 50), sample(8, 1, 90, 0)]);
            assert_eq!(millis(ledger.close(&last, keeps_all)), (310, false));
        }
    }

    #[test]
    fn workers_are_the_children_of_one_parent_that_were_there_all_the_time() {
        let child = |pid: u32, parent: u32, cpu: u64| {
            let mut sample = sample(pid, 1, cpu, 0);
            sample.stat.parent = parent;
            sample
        };
        let first = [
            child(7, 1, 100),
            child(8, 7, 30),
            child(9, 7, 10),
            child(10, 8, 5),
        ];
        let ledger = Ledger::open(tree(&first), 100);
        let last = tree(&[
            child(7, 1, 900),
            child(8, 7, 130),
            child(9, 7, 10),
            child(11, 7, 50),
        ]);
        let workers = ledger.workers(&last).unwrap();
        let [cpu, busiest] = [workers.cpu, workers.busiest].map(|cpu| cpu.as_nanos() / 1_000_000);
        assert_eq!(
            (workers.count, cpu, busiest, workers.effective),
            (2, 100, 100, 1.0)
        );
        let alone = Ledger::open(tree(&first[..1]), 100);
        assert_eq!(alone.workers(&tree(&first[..1])), None);
    }

    #[test]
    fn a_child_that_came_and_went_is_in_what_its_parent_keeps() {
        for (keeps_all, lower_bound) in [(true, false), (false, true)] {
            let ledger = Ledger::open(tree(&[sample(7, 1, 100, 0)]), 100);
            let last = tree(&[sample(7, 1, 110, 20)]);
            assert_eq!(millis(ledger.close(&last, keeps_all)), (210, lower_bound));
        }
    }

    #[test]
    fn a_child_that_was_there_before_counts_from_then_on_even_when_it_is_reaped() {
        let mut ledger = Ledger::open(tree(&[sample(7, 1, 100, 0), sample(8, 1, 900, 0)]), 100);
        ledger.read(8, Some(Nanos::from_millis(950)));
        ledger.read(8, None);
        // 1000 ms were its whole life, of which 100 fell into the window.
        let last = tree(&[sample(7, 1, 110, 100)]);
        assert_eq!(millis(ledger.close(&last, true)), (110, false));
    }

    #[test]
    fn what_nobody_kept_is_known_from_the_last_look_and_is_a_lower_bound() {
        for keeps_all in [true, false] {
            let mut ledger = Ledger::open(tree(&[sample(7, 1, 100, 0)]), 100);
            ledger.meet(&sample(9, 120, 40, 0));
            ledger.read(9, Some(Nanos::from_millis(300)));
            ledger.read(9, None);
            let last = tree(&[sample(7, 1, 150, 0)]);
            assert_eq!(
                millis(ledger.close(&last, keeps_all)),
                (350, true),
                "{keeps_all}"
            );
        }
    }

    #[test]
    fn whoever_is_older_than_the_window_is_charged_from_when_it_was_met() {
        let mut ledger = Ledger::open(tree(&[]), 100);
        ledger.meet(&sample(9, 99, 5_000, 0));
        let last = tree(&[sample(9, 99, 5_030, 0)]);
        assert_eq!(millis(ledger.close(&last, false)), (30, true));
    }

    #[test]
    fn a_number_that_is_given_to_another_does_not_take_the_first_ones_time() {
        let mut ledger = Ledger::open(tree(&[sample(7, 1, 100, 0)]), 100);
        ledger.read(7, Some(Nanos::from_millis(180)));
        let last = tree(&[sample(7, 150, 20, 0)]);
        assert_eq!(millis(ledger.close(&last, false)), (100, true));
    }

    #[test]
    fn those_whom_we_reaped_are_charged_once() {
        let mut ledger = Ledger::open(tree(&[sample(7, 1, 100, 0)]), 100);
        ledger.meet(&sample(9, 120, 60, 0));
        ledger.read(9, None);
        let mut last = tree(&[sample(7, 1, 150, 0)]);
        last.reaped = Usage {
            user: Nanos::from_millis(50),
            system: Nanos::from_millis(20),
        };
        assert_eq!(millis(ledger.close(&last, true)), (120, false));
    }

    #[test]
    fn an_account_that_was_lost_leaves_nothing_to_divide() {
        let ticks = |user, system| Sampled {
            user: span_of(user),
            kernel: span_of(system),
        };
        let between = sampled_between(ticks(10, 5), ticks(70, 25));
        assert_eq!(between, Some(ticks(60, 20)));
        assert_eq!(sampled_between(ticks(7, 0), ticks(6, 90)), None);
    }
}

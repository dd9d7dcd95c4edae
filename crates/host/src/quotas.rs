//! The CPU quotas of processes over a window: what they allow, and how often they throttled.
//!
//! Which groups have a quota is found before the window; at its edges only their counters are read, and none where
//! there is no quota.

use crate::files::{Root, fact};
use kernel::quota::{self, Throttling};
use record::Quota;
use std::collections::BTreeMap;

/// The quotas that hold for some processes.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// Each group's once, with its counters when the window was opened.
    limits: Vec<(quota::Quota, Option<Throttling>)>,
    cpus: Option<f64>,
}

impl Quotas {
    /// Those of this process.
    pub(crate) fn own(root: &Root) -> Quotas {
        Quotas::from(vec![quota::of(root.folder(), None)])
    }

    /// Those of the processes `pids`, each by its own group.
    pub(crate) fn of(root: &Root, pids: &[u32]) -> Quotas {
        // Most are in one group, which is to be looked for once.
        let groups: BTreeMap<String, u32> = pids
            .iter()
            .filter_map(|pid| Some((root.text(format!("/proc/{pid}/cgroup"))?, *pid)))
            .collect();
        let each = groups.into_values();
        Quotas::from(
            each.map(|pid| quota::of(root.folder(), Some(pid)))
                .collect(),
        )
    }

    /// Those of processes of which each has one of `chains`: the quotas of its group and its ancestors, nearest first.
    fn from(chains: Vec<Vec<quota::Quota>>) -> Quotas {
        let each: Vec<&[quota::Quota]> = chains.iter().map(Vec::as_slice).collect();
        let cpus = allowed(&each).filter(|_| !chains.is_empty());
        let mut limits: Vec<(quota::Quota, Option<Throttling>)> = Vec::new();
        for quota in chains.into_iter().flatten() {
            if !limits.iter().any(|(known, _)| known.group == quota.group) {
                limits.push((quota, None));
            }
        }
        Quotas { limits, cpus }
    }

    /// The CPUs' worth of time that all the processes together are allowed; none without a quota.
    pub(crate) fn cpus(&self) -> Option<f64> {
        self.cpus
    }

    /// The window opens.
    pub(crate) fn open(&mut self, root: &Root) {
        for (quota, first) in &mut self.limits {
            *first = quota.throttling(root.folder());
        }
    }

    /// The window has closed: how often each quota has throttled since.
    pub(crate) fn close(&self, root: &Root) -> Vec<Quota> {
        let recorded = |(quota, first): &(quota::Quota, Option<Throttling>)| {
            let last = quota.throttling(root.folder());
            let both = first.as_ref().zip(last);
            let since = both.map(|(first, last)| last.since(first));
            let since = since.unwrap_or_default();
            Quota {
                cpus: quota.cpus,
                group: fact(&quota.group.display().to_string()).unwrap_or_default(),
                periods: since.periods,
                throttled: since.throttled,
                time: since.time,
            }
        };
        self.limits.iter().map(recorded).collect()
    }
}

/// Returns what processes with these chains of quotas, nearest first, are allowed together: of each outermost group its
/// own quota, or what the groups in it are allowed if that is less. None if one of the processes has no quota.
fn allowed(chains: &[&[quota::Quota]]) -> Option<f64> {
    let mut groups: Vec<(&quota::Quota, Vec<&[quota::Quota]>)> = Vec::new();
    for chain in chains {
        let (outermost, inner) = chain.split_last()?;
        match groups
            .iter_mut()
            .find(|(known, _)| known.group == outermost.group)
        {
            Some((_, members)) => members.push(inner),
            None => groups.push((outermost, vec![inner])),
        }
    }
    let least = |(own, inner): &(&quota::Quota, Vec<_>)| {
        allowed(inner).map_or(own.cpus, |inner| inner.min(own.cpus))
    };
    Some(groups.iter().map(least).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Fixture, fixture};
    use units::Nanos;

    const MOUNT: &str = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    /// A machine with nested groups of version 2: `shop` may use 0.3 CPUs, `shop/web` and `shop/db` 0.2 each.
    fn shop() -> Fixture {
        fixture(&[
            ("proc/self/mountinfo", MOUNT),
            ("proc/self/cgroup", "0::/tools\n"),
            ("proc/1/cgroup", "0::/shop/web\n"),
            ("proc/2/cgroup", "0::/shop/web\n"),
            ("proc/3/cgroup", "0::/shop/db\n"),
            ("proc/4/cgroup", "0::/tools\n"),
            ("sys/fs/cgroup/shop/cpu.max", "30000 100000\n"),
            ("sys/fs/cgroup/shop/web/cpu.max", "20000 100000\n"),
            ("sys/fs/cgroup/shop/db/cpu.max", "20000 100000\n"),
            ("sys/fs/cgroup/tools/cpu.max", "max 100000\n"),
        ])
    }

    #[test]
    fn what_processes_are_allowed_together_follows_from_the_groups_of_each() {
        let tree = shop();
        let cpus = |pids: &[u32]| Quotas::of(&tree.root, pids).cpus();
        assert_eq!(cpus(&[1]), Some(0.2));
        assert_eq!(cpus(&[1, 2]), Some(0.2), "they share one group");
        assert_eq!(
            cpus(&[1, 2, 3]),
            Some(0.3),
            "not 0.4, because of the parent"
        );
        assert_eq!(cpus(&[1, 4]), None, "one of them has no quota");
        assert_eq!((cpus(&[4]), cpus(&[9]), cpus(&[])), (None, None, None));
        assert_eq!(Quotas::own(&tree.root).cpus(), None);
    }

    #[test]
    fn groups_of_several_parents_are_allowed_what_each_parent_leaves_them() {
        let tree = fixture(&[
            ("proc/self/mountinfo", MOUNT),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/1/cgroup", "0::/a/x\n"),
            ("proc/2/cgroup", "0::/a/y\n"),
            ("proc/3/cgroup", "0::/b/z\n"),
            ("proc/4/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.max", "75000 100000\n"),
            ("sys/fs/cgroup/a/x/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/y/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/b/cpu.max", "200000 100000\n"),
            ("sys/fs/cgroup/b/z/cpu.max", "50000 100000\n"),
        ]);
        let cpus = |pids: &[u32]| Quotas::of(&tree.root, pids).cpus();
        assert_eq!(cpus(&[1, 2, 3]), Some(1.25), "0.75 of a, 0.5 of b");
        assert_eq!(cpus(&[1, 3]), Some(1.0));
        assert_eq!(cpus(&[1, 4]), Some(0.75), "one is in the parent itself");
    }

    #[test]
    fn what_is_throttled_between_the_readings_is_told_of_each_group_once() {
        let tree = shop();
        let stat = |path: &str, periods: u64, throttled: u64, micros: u64| {
            let text = format!(
                "nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {micros}\n"
            );
            let path = tree.path(&format!("sys/fs/cgroup/{path}/cpu.stat"));
            std::fs::write(path, text).unwrap();
        };
        stat("shop", 10, 5, 100);
        stat("shop/web", 70, 60, 5_000);
        let mut quotas = Quotas::of(&tree.root, &[1, 2]);
        quotas.open(&tree.root);
        stat("shop", 30, 5, 100);
        stat("shop/web", 90, 79, 1_505_000);
        let quota = |group: &str, cpus, throttled, millis| Quota {
            cpus,
            group: format!("/sys/fs/cgroup/{group}"),
            periods: 20,
            throttled,
            time: Nanos::from_millis(millis),
        };
        let wanted = [quota("shop/web", 0.2, 19, 1_500), quota("shop", 0.3, 0, 0)];
        assert_eq!(quotas.close(&tree.root), wanted);
        let mut none = Quotas::own(&tree.root);
        none.open(&tree.root);
        assert_eq!(none.close(&tree.root), []);
    }
}

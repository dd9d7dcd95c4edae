//! Control groups: what they have cost, and which processes are in them.
//!
//! A group's clock keeps what ended processes took, which no process's clock does. There are two kinds: version 2, with
//! one tree for everything (`cpu.stat`), and version 1, with a tree for each matter (`cpuacct.usage`).

use crate::files::{Root, field};
use record::Sampled;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use units::Nanos;

/// Where groups are mounted, by every distribution's custom.
const MOUNT: &str = "/sys/fs/cgroup";
/// The trees in it: version 2's, which may be beside those of version 1, and version 1's accounts of CPU time.
const TREES: [&str; 4] = ["", "unified", "cpuacct", "cpu,cpuacct"];
/// The most groups below one that are looked into.
const MOST_GROUPS: usize = 1024;

/// A control group that keeps accounts of CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup {
    folder: PathBuf,
    is_v2: bool,
}

/// What a group has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// In all.
    pub(crate) cpu: Nanos,
    /// In code of its own, and in the kernel; none where the group does not divide.
    pub(crate) sampled: Option<Sampled>,
}

impl Cgroup {
    /// The group that is called `path`: a folder of its own, or its name below where groups are mounted.
    pub(crate) fn named(root: &Root, path: &Path) -> Option<Cgroup> {
        let below = path.strip_prefix("/").unwrap_or(path);
        let mount = Path::new(MOUNT);
        let below_mount = TREES.map(|tree| mount.join(tree).join(below));
        let mut places = std::iter::once(path.to_owned()).chain(below_mount);
        places.find_map(|folder| Cgroup::at(root, &folder))
    }

    fn at(root: &Root, folder: &Path) -> Option<Cgroup> {
        let kinds = [true, false].map(|is_v2| Cgroup {
            folder: folder.to_owned(),
            is_v2,
        });
        let mut kinds = kinds.into_iter();
        kinds.find(|group| group.accounts(root).is_some())
    }

    /// The group that process `pid` is in, unless that is the root group.
    pub(crate) fn of(root: &Root, pid: u32) -> Option<Cgroup> {
        let text = root.text(format!("/proc/{pid}/cgroup"))?;
        text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (matters, path) = rest.split_once(':')?;
            let keeps = matters.is_empty() || matters.split(',').any(|matter| matter == "cpuacct");
            let path = path.trim_start_matches('/');
            // What lies outside of our own namespace of groups begins with `..`.
            let is_own = keeps && !path.is_empty() && !path.starts_with("..");
            is_own.then(|| Cgroup::named(root, Path::new(path)))?
        })
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        self.folder.display().to_string()
    }

    /// What it has cost so far; none when it has gone, or keeps no accounts.
    pub(crate) fn accounts(&self, root: &Root) -> Option<Accounts> {
        let stat = match self.is_v2 {
            true => root.text(self.folder.join("cpu.stat"))?,
            false => String::new(),
        };
        let value = |newer: &str, older: &str| match self.is_v2 {
            true => keyed(&stat, newer).map(Nanos::from_micros),
            false => root.number(self.folder.join(older)).map(Nanos::from_nanos),
        };
        let user = value("user_usec", "cpuacct.usage_user");
        let kernel = value("system_usec", "cpuacct.usage_sys");
        Some(Accounts {
            cpu: value("usage_usec", "cpuacct.usage")?,
            sampled: user
                .zip(kernel)
                .map(|(user, kernel)| Sampled { user, kernel }),
        })
    }

    /// All processes in it and in the groups below it.
    pub(crate) fn pids(&self, root: &Root) -> BTreeSet<u32> {
        let mut pids = BTreeSet::new();
        let mut folders = vec![self.folder.clone()];
        let mut left = MOST_GROUPS;
        while let Some(folder) = folders.pop() {
            let text = root.text(folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(
                text.lines()
                    .filter_map(|line| line.trim().parse::<u32>().ok()),
            );
            for name in root.entries(&folder).unwrap_or_default() {
                let below = folder.join(name);
                if left > 0 && root.entries(&below).is_ok() {
                    left -= 1;
                    folders.push(below);
                }
            }
        }
        pids
    }
}

/// The number on the line of `text` that begins with `name` and a blank.
fn keyed(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(key, _)| *key == name)?;
    value.trim().parse().ok()
}

/// What one number of KiB is in bytes, as `field` of a file such as smaps_rollup has it.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let number: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn a_group_of_either_kind_is_found_by_either_name_and_read() {
        let tree = fixture(&[
            (
                "sys/fs/cgroup/web/cpu.stat",
                "usage_usec 1500\nuser_usec 500\nsystem_usec 1000\nnr_periods 0\n",
            ),
            ("sys/fs/cgroup/web/cgroup.procs", "7\n8\n"),
            ("sys/fs/cgroup/web/below/cgroup.procs", "9\nnonsense\n"),
            ("sys/fs/cgroup/cpu,cpuacct/old/cpuacct.usage", "77\n"),
            ("sys/fs/cgroup/cpu,cpuacct/old/cgroup.procs", ""),
            ("sys/fs/cgroup/bare/cgroup.procs", "1\n"),
        ]);
        let of = |path: &str| Cgroup::named(&tree.root, Path::new(path));
        for path in ["/web", "web", "/sys/fs/cgroup/web", "/web/"] {
            let group = of(path).unwrap();
            let wanted = Accounts {
                cpu: Nanos::from_micros(1_500),
                sampled: Some(Sampled {
                    user: Nanos::from_micros(500),
                    kernel: Nanos::from_micros(1_000),
                }),
            };
            assert_eq!(group.accounts(&tree.root), Some(wanted), "{path}");
            assert_eq!(group.pids(&tree.root), [7, 8, 9].into());
        }
        let old = of("/old").unwrap().accounts(&tree.root);
        assert_eq!(
            old,
            Some(Accounts {
                cpu: Nanos::from_nanos(77),
                sampled: None
            })
        );
        assert_eq!((of("/bare"), of("/none")), (None, None));
    }

    #[test]
    fn the_group_of_a_process_is_its_own_and_never_everybodys() {
        let files = [
            ("sys/fs/cgroup/web/cpu.stat", "usage_usec 1\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
            ("sys/fs/cgroup/cpuacct/old/cpuacct.usage", "1\n"),
            ("proc/1/cgroup", "0::/\n"),
            ("proc/2/cgroup", "0::/web\n"),
            ("proc/3/cgroup", "4:memory:/web\n3:cpu,cpuacct:/old\n0::/\n"),
            ("proc/4/cgroup", "0::/../other\n"),
            ("proc/5/cgroup", "nonsense\n0:/web\n"),
            ("proc/6/cgroup", "4:memory:/web\n"),
        ];
        let tree = fixture(&files);
        let of = |pid| Cgroup::of(&tree.root, pid).map(|group| group.name());
        let found: Vec<Option<String>> = (1..=7).map(of).collect();
        let some = |name: &str| Some(format!("/sys/fs/cgroup/{name}"));
        assert_eq!(
            found,
            [
                None,
                some("web"),
                some("cpuacct/old"),
                None,
                None,
                None,
                None
            ]
        );
    }
}

//! CPU quotas: how much CPU time control groups allow a process, and how often they throttled it.
//!
//! A quota of any ancestor group holds for a process too, so all of them are read, up to the root of what is mounted.
//! Both versions of control groups are read, also side by side: of version 1 the tree of the `cpu` controller
//! (`cpu.cfs_quota_us`), of version 2 the only tree (`cpu.max`). It reads files below a root, so that tests can show it
//! trees that this machine does not have.
//!
//! ```
//! let quotas = kernel::quota::of(std::path::Path::new("/"), None);
//! assert!(quotas.iter().all(|quota| quota.cpus > 0.0));
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use units::Nanos;

/// The CPU quota of one control group.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// CPUs' worth of time that it allows to all processes of the group together, such as 1.5.
    pub cpus: f64,
    /// The folder of the group.
    pub group: PathBuf,
    version: Version,
}

/// How often a group has used its quota up, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which it had something to run.
    pub periods: u64,
    /// Those of them in which its quota was used up, so that it was stopped until the next.
    pub throttled: u64,
    /// How long it was stopped; the kernel adds up its CPUs.
    pub time: Nanos,
}

/// The version of control groups, each with files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A tree for each controller.
    One,
    /// One tree for all controllers.
    Two,
}

/// The CPUs' worth of time that the quotas of this process allow: the lowest of them. None without a quota, or where
/// none can be seen from here.
pub fn own() -> Option<f64> {
    lowest(&of(Path::new("/"), None))
}

/// The lowest of `quotas`, in CPUs.
fn lowest(quotas: &[Quota]) -> Option<f64> {
    let cpus = quotas.iter().map(|quota| quota.cpus);
    cpus.min_by(f64::total_cmp)
}

/// The quotas that hold for process `pid`, or for this process: of its group and of each ancestor that has one, the
/// nearest first. Files are read below `root`.
pub fn of(root: &Path, pid: Option<u32>) -> Vec<Quota> {
    let quota = |(version, group): (Version, PathBuf)| {
        let cpus = version.cpus(root, &group)?;
        Some(Quota {
            cpus,
            group,
            version,
        })
    };
    let groups = groups(root, pid, "cpu").into_iter();
    groups.filter_map(quota).collect()
}

/// The folders of the control groups in which `controller` can limit process `pid`, or this process: of its group and of
/// each ancestor, the nearest first. Files are read below `root`.
pub fn groups(root: &Path, pid: Option<u32>, controller: &str) -> Vec<(Version, PathBuf)> {
    let text = |path: &str| fs::read_to_string(at(root, Path::new(path)));
    let groups = match pid {
        Some(pid) => text(&format!("/proc/{pid}/cgroup")),
        None => text("/proc/self/cgroup"),
    };
    let (Ok(groups), Ok(mounts)) = (groups, text("/proc/self/mountinfo")) else {
        return Vec::new();
    };
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::read).collect();
    let folders = |line| folders(line, controller, &mounts, pid.is_none());
    groups.lines().flat_map(folders).collect()
}

impl Quota {
    /// How often it has throttled its group so far; none where that cannot be read. Files are read below `root`.
    pub fn throttling(&self, root: &Path) -> Option<Throttling> {
        let text = fs::read_to_string(at(root, &self.group.join("cpu.stat"))).ok()?;
        let value = |name: &str| -> Option<u64> {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
        };
        let time = match self.version {
            Version::One => value("throttled_time").map(Nanos::from_nanos),
            Version::Two => value("throttled_usec").map(Nanos::from_micros),
        };
        Some(Throttling {
            periods: value("nr_periods")?,
            throttled: value("nr_throttled")?,
            time: time?,
        })
    }
}

impl Throttling {
    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Throttling) -> Throttling {
        Throttling {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            time: self.time.saturating_sub(earlier.time),
        }
    }
}

impl Version {
    /// The quota of the group in `folder`, in CPUs; none where it has none.
    fn cpus(self, root: &Path, folder: &Path) -> Option<f64> {
        let read = |name| fs::read_to_string(at(root, &folder.join(name))).ok();
        match self {
            Version::One => ratio(
                read("cpu.cfs_quota_us")?.trim(), // -1 for none
                read("cpu.cfs_period_us")?.trim(),
            ),
            Version::Two => {
                let text = read("cpu.max")?; // "max" for none
                let (quota, period) = text.trim().split_once(' ')?;
                ratio(quota, period)
            }
        }
    }
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// Where the file at `path` lies when the tree begins at `root`.
fn at(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The folders of the group that a line of /proc/PID/cgroup names (`number:controllers:path`, without controllers for
/// version 2) and of its ancestors, as far as they can be seen; none of a tree without `controller`.
fn folders(
    line: &str,
    controller: &str,
    mounts: &[Mount<'_>],
    is_own: bool,
) -> Vec<(Version, PathBuf)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    let version = match controllers {
        "" => Version::Two,
        _ if controllers.split(',').any(|name| name == controller) => Version::One,
        _ => return Vec::new(),
    };
    let serving = || {
        mounts
            .iter()
            .filter(|mount| mount.serves(version, controller))
    };
    let found = serving().find_map(|mount| mount.folders(Path::new(path)));
    // In a container our own path may lie outside of what is mounted; then what is mounted is our group.
    let fallback = || {
        let mount = serving().next().filter(|_| is_own)?;
        Some(vec![mount.point.to_owned()])
    };
    let folders = found.or_else(fallback).unwrap_or_default();
    folders
        .into_iter()
        .map(|folder| (version, folder))
        .collect()
}

/// One line of /proc/self/mountinfo, as far as it matters here.
struct Mount<'a> {
    /// The part of the hierarchy that is mounted,
    root: &'a Path,
    /// and where.
    point: &'a Path,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn read(line: &str) -> Option<Mount<'_>> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut kind = kind.split(' ');
        Some(Mount {
            root: Path::new(place.next()?),
            point: Path::new(place.next()?),
            kind: kind.next()?,
            options: kind.nth(1).unwrap_or(""),
        })
    }

    fn serves(&self, version: Version, controller: &str) -> bool {
        let mut options = self.options.split(',');
        match self.kind {
            "cgroup2" => version == Version::Two,
            "cgroup" => version == Version::One && options.any(|option| option == controller),
            _ => false,
        }
    }

    /// The folders of group `path` and of its ancestors; none where it lies outside of what is mounted.
    fn folders(&self, path: &Path) -> Option<Vec<PathBuf>> {
        let inside = path.strip_prefix(self.root).ok()?;
        let is_seen = !inside.components().any(|part| part.as_os_str() == "..");
        // By its components, or joining nothing would leave a slash at the end.
        let folder = |below: &Path| self.point.join(below).components().collect();
        is_seen.then(|| inside.ancestors().map(folder).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mounts of a machine with both versions.
    const MOUNTS: &str = "30 29 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        31 30 0:28 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n\
        32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:2 - cgroup cgroup rw,cpu,cpuacct\n\
        33 30 0:30 / /sys/fs/cgroup/unified rw shared:3 - cgroup2 cgroup2 rw\n";
    const V1: &str = "sys/fs/cgroup/cpu,cpuacct";
    const V2: &str = "sys/fs/cgroup/unified";

    /// A tree of files in a temporary folder that goes when it is dropped.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, mounts: &str, files: &[(String, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("quota-{name}-{}", std::process::id()));
            let tree = Tree(root);
            tree.write("proc/self/mountinfo", mounts);
            for (path, text) in files {
                tree.write(path, text);
            }
            tree
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// CPUs and group of each quota of a process that is in `groups`.
        fn quotas(&self, groups: &str) -> Vec<(f64, String)> {
            self.write("proc/7/cgroup", groups);
            let shown = |quota: &Quota| (quota.cpus, quota.group.display().to_string());
            of(&self.0, Some(7)).iter().map(shown).collect()
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn quota(cpus: f64, group: &str) -> (f64, String) {
        (cpus, format!("/{group}"))
    }

    #[test]
    fn the_quotas_of_a_group_and_of_all_its_ancestors_are_found_the_nearest_first() {
        let files = [
            (format!("{V2}/a/b/c/cpu.max"), "80000 100000\n"),
            (format!("{V2}/a/b/cpu.max"), "max 100000\n"),
            (format!("{V2}/a/cpu.max"), "20000 100000\n"),
            (format!("{V2}/other/cpu.max"), "10000 100000\n"),
            (format!("{V1}/x/y/cpu.cfs_quota_us"), "50000\n"),
            (format!("{V1}/x/y/cpu.cfs_period_us"), "100000\n"),
            (format!("{V1}/x/cpu.cfs_quota_us"), "-1\n"),
            (format!("{V1}/x/cpu.cfs_period_us"), "100000\n"),
            (format!("{V1}/cpu.cfs_quota_us"), "300000\n"),
            (format!("{V1}/cpu.cfs_period_us"), "100000\n"),
        ];
        let tree = Tree::new("nested", MOUNTS, &files);
        let nested = [
            quota(0.8, &format!("{V2}/a/b/c")),
            quota(0.2, &format!("{V2}/a")),
        ];
        assert_eq!(tree.quotas("4:memory:/m\n0::/a/b/c\n"), nested);
        let older = [quota(0.5, &format!("{V1}/x/y")), quota(3.0, V1)];
        assert_eq!(
            tree.quotas("4:memory:/m\n1:cpu,cpuacct:/x/y\n0::/\n"),
            older
        );
        let both: Vec<_> = older.iter().chain(&nested).cloned().collect();
        assert_eq!(tree.quotas("1:cpu,cpuacct:/x/y\n0::/a/b/c\n"), both);
        assert_eq!(lowest(&of(&tree.0, Some(7))), Some(0.2));
        for nothing in ["", "nonsense", "0:/a", "5:cpuset:/a\n", "0::/b\n"] {
            assert_eq!(tree.quotas(nothing), [], "{nothing}");
        }
        assert_eq!(of(&tree.0, Some(8)), [], "there is no such process");
    }

    #[test]
    fn in_a_container_the_mount_is_our_own_group_and_nobody_elses() {
        let mounts = "41 31 0:38 /far/away /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let files = [
            ("sys/fs/cgroup/cpu.max".to_owned(), "400000 100000\n"),
            ("sys/fs/cgroup/in/cpu.max".to_owned(), "100000 100000\n"),
        ];
        let tree = Tree::new("container", mounts, &files);
        let whole = quota(4.0, "sys/fs/cgroup");
        assert_eq!(
            tree.quotas("0::/far/away/in\n"),
            [quota(1.0, "sys/fs/cgroup/in"), whole]
        );
        for elsewhere in ["0::/elsewhere\n", "0::/../host\n", "0::/far/away/../x\n"] {
            assert_eq!(tree.quotas(elsewhere), [], "{elsewhere}");
        }
        tree.write("proc/self/cgroup", "0::/elsewhere\n");
        let ours = of(&tree.0, None);
        assert_eq!((ours.len(), lowest(&ours)), (1, Some(4.0)));
    }

    #[test]
    fn throttling_is_read_of_both_versions_in_their_own_units() {
        let newer = "usage_usec 9\nnr_periods 50\nnr_throttled 40\nthrottled_usec 3000000\n";
        let older = "nr_periods 50\nnr_throttled 40\nthrottled_time 3000000000\nnr_bursts 0\n";
        let files = [
            (format!("{V2}/a/cpu.max"), "20000 100000\n"),
            (format!("{V2}/a/cpu.stat"), newer),
            (format!("{V1}/x/cpu.cfs_quota_us"), "20000\n"),
            (format!("{V1}/x/cpu.cfs_period_us"), "100000\n"),
            (format!("{V1}/x/cpu.stat"), older),
        ];
        let tree = Tree::new("throttling", MOUNTS, &files);
        let wanted = Throttling {
            periods: 50,
            throttled: 40,
            time: Nanos::from_secs(3),
        };
        for groups in ["0::/a\n", "1:cpu:/x\n"] {
            tree.write("proc/7/cgroup", groups);
            let found = of(&tree.0, Some(7)).remove(0).throttling(&tree.0).unwrap();
            assert_eq!(found, wanted, "{groups}");
            let earlier = Throttling {
                periods: 10,
                ..Throttling::default()
            };
            assert_eq!(found.since(&earlier).periods, 40);
        }
        tree.write(&format!("{V2}/a/cpu.stat"), "usage_usec 9\n");
        tree.write("proc/7/cgroup", "0::/a\n");
        assert_eq!(of(&tree.0, Some(7))[0].throttling(&tree.0), None);
    }
}

//! Where this process may run: which CPUs, and how much of them.

use crate::Errno;
use std::fs;
use std::path::{Path, PathBuf};

/// CPUs that one word of a mask stands for.
const WORD: usize = u64::BITS as usize;
/// Words of the largest mask that is tried: 65 536 CPUs.
const WORDS_MAX: usize = 1024;

fn try_allowed() -> Result<Vec<u32>, Errno> {
    let mut words = 16;
    loop {
        let mut mask = vec![0u64; words];
        // SAFETY: pointer and size are those of the mask; the kernel fills at most so much.
        let result = unsafe { libc::sched_getaffinity(0, words * 8, mask.as_mut_ptr().cast()) };
        match Errno::check(result) {
            Ok(_) => return Ok(cpus(&mask)),
            // The kernel's mask is larger than ours.
            Err(Errno::EINVAL) if words < WORDS_MAX => words *= 2,
            Err(error) => return Err(error),
        }
    }
}

/// The CPUs that the calling thread may run on, ascending; where the kernel does not tell, as many as the standard
/// library sees.
pub fn allowed() -> Vec<u32> {
    try_allowed().unwrap_or_else(|_| {
        let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        (0..count).collect()
    })
}

fn cpus(mask: &[u64]) -> Vec<u32> {
    let set = |index: &usize| mask[index / WORD] >> (index % WORD) & 1 == 1;
    (0..mask.len() * WORD)
        .filter(set)
        .map(|index| index as u32)
        .collect()
}

/// Lets the calling thread run on `cpu` only.
///
/// # Errors
/// EINVAL when there is no such CPU, or it is not allowed.
pub fn pin(cpu: u32) -> Result<(), Errno> {
    let index = cpu as usize;
    if index >= WORDS_MAX * WORD {
        return Err(Errno::EINVAL);
    }
    let mut mask = vec![0u64; index / WORD + 1];
    mask[index / WORD] = 1 << (index % WORD);
    // SAFETY: pointer and size are those of the mask, which the kernel only reads.
    let result = unsafe { libc::sched_setaffinity(0, mask.len() * 8, mask.as_ptr().cast()) };
    Errno::check(result).map(drop)
}

/// How many CPUs' worth of time the control groups allow, such as 1.5: the least on the way up to the root. None when
/// no limit is set, or none can be seen from here.
pub fn quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    quota_of(&groups, &mounts)
}

fn quota_of(groups: &str, mounts: &str) -> Option<f64> {
    let limits = groups.lines().filter_map(|line| limit_of(line, mounts));
    limits.min_by(f64::total_cmp)
}

/// The limit of one line of /proc/self/cgroup: `number:controllers:path`, with no controllers for version 2.
fn limit_of(line: &str, mounts: &str) -> Option<f64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let version_2 = controllers.is_empty();
    if !version_2 && !controllers.split(',').any(|name| name == "cpu") {
        return None;
    }
    let mount = mounts
        .lines()
        .filter_map(Mount::read)
        .find(|mount| mount.serves(version_2))?;
    let read = if version_2 { limit_v2 } else { limit_v1 };
    let limits = mount
        .folders(path)
        .into_iter()
        .filter_map(|folder| read(&folder));
    limits.min_by(f64::total_cmp)
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

    fn serves(&self, version_2: bool) -> bool {
        match self.kind {
            "cgroup2" => version_2,
            "cgroup" => !version_2 && self.options.split(',').any(|option| option == "cpu"),
            _ => false,
        }
    }

    /// The folders of group `path` and of all above it that can be seen. In a container `path` may lie outside of
    /// what is mounted; then what is mounted is our group.
    fn folders(&self, path: &str) -> Vec<PathBuf> {
        let inside = Path::new(path)
            .strip_prefix(self.root)
            .unwrap_or(Path::new(""));
        inside
            .ancestors()
            .map(|folder| self.point.join(folder))
            .collect()
    }
}

/// `cpu.max`: quota or "max", and period.
fn limit_v2(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota, period)
}

/// `cpu.cfs_quota_us` (-1 for none) and `cpu.cfs_period_us`.
fn limit_v1(folder: &Path) -> Option<f64> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    ratio(
        read("cpu.cfs_quota_us")?.trim(),
        read("cpu.cfs_period_us")?.trim(),
    )
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_allowed_its_cpu_alone() {
        let all = try_allowed().unwrap();
        let last = *all.last().unwrap();
        let seen = std::thread::spawn(move || pin(last).map(|()| allowed()))
            .join()
            .unwrap();
        assert_eq!(seen, Ok(vec![last]));
        assert_eq!(allowed(), all, "other threads stay as they were");
        assert_eq!(pin(65_535), Err(Errno::EINVAL));
        assert_eq!(pin(u32::MAX), Err(Errno::EINVAL));
    }

    #[test]
    fn a_mask_is_read_over_its_words() {
        assert_eq!(cpus(&[0b101, 1 << 63]), [0, 2, 127]);
    }

    /// A tree of control groups in a temporary folder: files with their text.
    fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("kernel-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_least_quota_on_the_way_up_counts() {
        let files = [
            ("a/b/cpu.max", "max 100000\n"),
            ("a/cpu.max", "150000 100000\n"),
            ("cpu.max", "400000 100000\n"),
        ];
        let root = tree("v2", &files);
        let mount = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw", root.display());
        assert_eq!(quota_of("0::/a/b\n", &mount), Some(1.5));
        assert_eq!(quota_of("0::/\n", &mount), Some(4.0));
        assert_eq!(quota_of("0::/a/b\n", ""), None);
        let inner = format!(
            "41 31 0:38 /far/away {} rw - cgroup2 cgroup2 rw",
            root.display()
        );
        assert_eq!(quota_of("0::/elsewhere\n", &inner), Some(4.0));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_older_control_groups_are_read_too() {
        let files = [
            ("x/cpu.cfs_quota_us", "50000\n"),
            ("x/cpu.cfs_period_us", "100000\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
        ];
        let root = tree("v1", &files);
        let point = root.display();
        let mounts = format!(
            "35 31 0:32 / /nowhere rw shared:1 - cgroup cgroup rw,memory\n\
             32 31 0:29 / {point} rw shared:2 - cgroup cgroup rw,cpu,cpuacct\n"
        );
        let groups = |path| format!("4:memory:/\n1:cpu,cpuacct:{path}\n0::/\n");
        assert_eq!(quota_of(&groups("/x"), &mounts), Some(0.5));
        assert_eq!(quota_of(&groups("/"), &mounts), None);
        fs::remove_dir_all(root).unwrap();
    }
}

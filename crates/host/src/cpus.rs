//! Which CPUs there are, and how much of them a process may use.

use crate::files::{Root, field};
use std::collections::BTreeSet;

/// The highest number a CPU can have: far above what Linux can be built for (8192).
const HIGHEST: u32 = u16::MAX as u32;

/// The numbers in a list such as `0-3,8`; none when it is no such list.
pub(crate) fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > HIGHEST {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup(); // so that a list that repeats itself stays as short as there are CPUs
    Some(cpus)
}

/// The CPUs that are online.
pub(crate) fn online(root: &Root) -> Option<Vec<u32>> {
    parse_list(&root.text("/sys/devices/system/cpu/online")?)
}

/// The CPUs of the core that `cpu` belongs to: several where cores run several hardware threads; `cpu` alone where the kernel
/// does not tell.
pub fn core(cpu: u32) -> Vec<u32> {
    siblings(&Root::machine(), cpu).unwrap_or_else(|| vec![cpu])
}

/// Lets every thread of process `pid` run on `cpus` only, and what they start from now on; threads that end meanwhile, or that
/// are not ours to move, stay as they are ([`allowed`] tells).
pub fn move_to(pid: u32, cpus: &[u32]) {
    let mut moved = BTreeSet::new();
    // A thread that was not moved yet may have started another since they were listed: until there is none that is new.
    loop {
        let names = Root::machine().entries(format!("/proc/{pid}/task"));
        let threads = names.unwrap_or_default().into_iter();
        let threads = threads.filter_map(|name| name.parse::<u32>().ok());
        let new: Vec<u32> = threads.filter(|thread| moved.insert(*thread)).collect();
        if new.is_empty() {
            return;
        }
        for thread in new {
            let _ = kernel::affinity::move_to(thread, cpus);
        }
    }
}

/// The CPUs that the main thread of process `pid` may run on, of those that are online; none when it is gone.
pub fn allowed(pid: u32) -> Option<Vec<u32>> {
    allowed_by(&Root::machine(), pid)
}

fn siblings(root: &Root, cpu: u32) -> Option<Vec<u32>> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    parse_list(&root.text(path)?).filter(|siblings| siblings.contains(&cpu))
}

/// The CPUs that process `pid` may run on: those of its affinity mask that are online. None when its mask cannot be read.
pub(crate) fn allowed_by(root: &Root, pid: u32) -> Option<Vec<u32>> {
    let status = root.text(format!("/proc/{pid}/status"))?;
    let mut allowed = parse_list(field(&status, "Cpus_allowed_list")?)?;
    if let Some(online) = online(root) {
        allowed.retain(|cpu| online.binary_search(cpu).is_ok()); // the mask may name CPUs that could be plugged in
    }
    Some(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn lists_of_cpus_are_read_and_anything_else_is_not() {
        let cases: &[(&str, Option<&[u32]>)] = &[
            ("0\n", Some(&[0])),
            ("0-3,8", Some(&[0, 1, 2, 3, 8])),
            ("8,0-1,1", Some(&[0, 1, 8])),
            ("", Some(&[])),
            ("0-", None),
            ("3-0", None),
            ("a", None),
            ("-1", None),
            ("0-4294967295", None),
            ("0-99999999999999999999", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_list(text).as_deref(), *wanted, "{text:?}");
        }
        let long = "0-65535,".repeat(8);
        assert_eq!(parse_list(&long).unwrap().len(), 65_536);
    }

    #[test]
    fn a_process_is_moved() {
        let all = kernel::affinity::allowed();
        let last = *all.last().unwrap();
        let mut child = kernel::process::Child::start(kernel::process::Start {
            command: ["sleep", "600"].map(Into::into).to_vec(),
            ..Default::default()
        })
        .unwrap();
        for cpus in [vec![last], all] {
            move_to(child.id(), &cpus);
            assert_eq!(allowed(child.id()), Some(cpus));
        }
        child.stop(units::Nanos::ZERO);
        assert_eq!(allowed(child.id()), None, "it is gone");
    }

    #[test]
    fn a_core_is_the_cpus_that_share_it() {
        let path = "sys/devices/system/cpu/cpu5/topology/thread_siblings_list";
        let of = |text| siblings(&fixture(&[(path, text)]).root, 5);
        assert_eq!(of("1,5\n"), Some(vec![1, 5]));
        assert_eq!((of("0-1\n"), of("nonsense")), (None, None));
        assert_eq!(siblings(&fixture(&[]).root, 5), None);
        assert!(core(0).contains(&0));
    }

    #[test]
    fn a_process_may_run_on_what_is_online_of_its_mask() {
        let status = (
            "proc/7/status",
            "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t1-7\n",
        );
        let online = ("sys/devices/system/cpu/online", "0-3\n");
        let nonsense = ("proc/7/status", "Cpus_allowed_list:\tnonsense\n");
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a [u32]>);
        let cases: &[Case<'_>] = &[
            (&[status, online], Some(&[1, 2, 3])),
            (&[status], Some(&[1, 2, 3, 4, 5, 6, 7])),
            (&[online], None),
            (&[nonsense], None),
        ];
        for (files, wanted) in cases {
            let found = allowed_by(&fixture(files).root, 7);
            assert_eq!(found.as_deref(), *wanted, "{files:?}");
        }
    }
}

//! What processes hold: memory, descriptors, and how often their threads were switched.
//!
//! Memory is PSS, the one figure of /proc that adds up over processes: a page that several map is divided among them.
//! (Adding up resident sizes would count what workers share once for each.) Reading it walks the page tables, and holds
//! a lock that the process needs to map memory, so it is read around rounds and never within one.

use crate::cgroup::kibibytes;
use crate::files::{Root, field};
use record::{Process, Switches, Workers};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use units::Nanos;

/// The most threads that are read at an edge of a window: each takes some ten microseconds.
const MOST_THREADS: usize = 256;
/// The most processes whose memory is read.
const MOST_PROCESSES: usize = 4096;

/// The PSS of `pids` together in bytes; none where one of them may not be read. A process that has ended holds nothing.
pub(crate) fn pss(root: &Root, pids: &[u32]) -> Option<u64> {
    if pids.is_empty() || pids.len() > MOST_PROCESSES {
        return None;
    }
    pids.iter().map(|pid| pss_of(root, *pid)).sum()
}

/// One that is about to end has given its memory back already while it still counts as living: its file is then empty,
/// or reading it fails otherwise than by what we may not do.
fn pss_of(root: &Root, pid: u32) -> Option<u64> {
    match root.read(format!("/proc/{pid}/smaps_rollup")) {
        Ok(rollup) if rollup.is_empty() => Some(0),
        Ok(rollup) => kibibytes(&rollup, "Pss"),
        Err(ErrorKind::NotFound | ErrorKind::PermissionDenied) => is_gone(root, pid).then_some(0),
        Err(_) => Some(0),
    }
}

/// Whether a process is no more, or only waits to be asked how it ended.
fn is_gone(root: &Root, pid: u32) -> bool {
    let status = root.text(format!("/proc/{pid}/status"));
    status.is_none_or(|status| {
        field(&status, "State").is_none_or(|state| state.starts_with(['Z', 'X']))
    })
}

/// How many descriptors `pids` hold together; none where one may not be looked at.
pub(crate) fn descriptors(root: &Root, pids: &[u32]) -> Option<u64> {
    let of = |pid: &u32| match root.entries(format!("/proc/{pid}/fd")) {
        Ok(entries) => Some(entries.len() as u64),
        Err(_) => is_gone(root, *pid).then_some(0),
    };
    pids.iter().map(of).sum()
}

/// A thread, with what it did so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadSample {
    pid: u32,
    task: u32,
    switches: Switches,
    /// CPU time; none of the only thread of a process, and where Linux does not say it.
    cpu: Option<Nanos>,
}

/// The threads of `pids`; none where there are too many to read at an edge of a window.
pub(crate) fn threads(root: &Root, pids: &[u32]) -> Option<Vec<ThreadSample>> {
    let mut all = Vec::new();
    for pid in pids {
        let tasks = root
            .entries(format!("/proc/{pid}/task"))
            .unwrap_or_default();
        if all.len() + tasks.len() > MOST_THREADS {
            return None;
        }
        let of = |task: &String| {
            let status = root.text(format!("/proc/{pid}/task/{task}/status"))?;
            let number = |name: &str| field(&status, name)?.parse().ok();
            let switches = Switches {
                voluntary: number("voluntary_ctxt_switches")?,
                forced: number("nonvoluntary_ctxt_switches")?,
            };
            let cpu = || {
                let text = root.text(format!("/proc/{pid}/task/{task}/schedstat"))?;
                let ran = text.split_ascii_whitespace().next()?.parse().ok()?;
                Some(Nanos::from_nanos(ran))
            };
            Some(ThreadSample {
                pid: *pid,
                task: task.parse().ok()?,
                switches,
                cpu: (tasks.len() > 1).then(cpu).flatten(),
            })
        };
        all.extend(tasks.iter().filter_map(of));
    }
    Some(all)
}

/// What was added between `first` and `last`; of threads that came meanwhile, all.
pub(crate) fn switched(first: &[ThreadSample], last: &[ThreadSample]) -> Switches {
    let mut sum = Switches::default();
    for now in last {
        let before = first.iter().find(|other| other.task == now.task);
        let before = before.map_or(Switches::default(), |before| before.switches);
        sum.voluntary += now.switches.voluntary.saturating_sub(before.voluntary);
        sum.forced += now.switches.forced.saturating_sub(before.forced);
    }
    sum
}

/// How the threads of one process shared the work between `first` and `last`: of the process whose threads took most CPU
/// time. Threads that came or went meanwhile are left out.
pub(crate) fn shared(first: &[ThreadSample], last: &[ThreadSample]) -> Option<Workers> {
    let mut processes: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
    for now in last {
        let before = first
            .iter()
            .find(|other| (other.pid, other.task) == (now.pid, now.task));
        if let Some((before, now_cpu)) = before.and_then(|before| before.cpu).zip(now.cpu) {
            let each = processes.entry(now.pid).or_default();
            each.push(now_cpu.saturating_sub(before));
        }
    }
    let each = processes.values().map(|each| Workers::of(each));
    each.flatten().max_by_key(|workers| workers.cpu)
}

/// Process `pid` as it is shown at the head of a table.
pub(crate) fn process(root: &Root, pid: u32) -> Option<Process> {
    let status = root.text(format!("/proc/{pid}/status"))?;
    let program = root.link(format!("/proc/{pid}/exe"));
    Some(Process {
        pid,
        name: root.fact(format!("/proc/{pid}/comm"))?,
        program: program.and_then(|path| crate::files::fact(&path.to_string_lossy())),
        threads: field(&status, "Threads")
            .and_then(|number| number.parse().ok())
            .unwrap_or(1),
        pss_bytes: pss_of(root, pid),
        open_files: open_files(&root.text(format!("/proc/{pid}/limits")).unwrap_or_default()),
    })
}

/// The soft limit on open files, of /proc/PID/limits.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn memory_adds_up_over_processes_and_who_has_gone_holds_none() {
        let rollup = "00400000-7fff rollup\nRss:  900 kB\nPss:   40 kB\nPss_Dirty:  8 kB\n";
        let tree = fixture(&[
            ("proc/7/smaps_rollup", rollup),
            ("proc/8/smaps_rollup", rollup),
            ("proc/9/smaps_rollup", ""),
            ("proc/9/status", "Name:\tx\nState:\tZ (zombie)\n"),
            ("proc/10/status", "Name:\tx\nState:\tS (sleeping)\n"),
            ("proc/11/smaps_rollup", "Pss: 18446744073709551615 kB\n"),
            ("proc/12/smaps_rollup", ""),
            ("proc/12/status", "Name:\tx\nState:\tR (running)\n"),
            ("proc/11/status", "Name:\tState:\tZ\nState:\tR (running)\n"),
        ]);
        let cases: &[(&[u32], Option<u64>)] = &[
            (&[], None),
            (&[7], Some(40 << 10)),
            (&[7, 8], Some(80 << 10)),
            (&[7, 9, 999], Some(40 << 10)),
            (&[7, 12], Some(40 << 10)), // it is about to end
            (&[7, 10], None),           // it lives and is hidden from us
            (&[11], None),
        ];
        for (pids, wanted) in cases {
            assert_eq!(pss(&tree.root, pids), *wanted, "{pids:?}");
        }
    }

    #[test]
    fn switches_and_cpu_time_are_of_all_threads_and_count_from_the_first_sample() {
        let status = |voluntary, forced| {
            format!(
                "Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{forced}\n"
            )
        };
        let (one, two) = (status(5, 1), status(7, 2));
        let tree = fixture(&[
            ("proc/7/task/7/status", &one),
            ("proc/7/task/70/status", &two),
            ("proc/7/task/7/schedstat", "900 5 1\n"),
            ("proc/7/task/70/schedstat", "300 5 1\n"),
            ("proc/8/task/8/status", &two),
            ("proc/8/task/8/schedstat", "7777 5 1\n"),
            ("proc/7/task/71/status", "nonsense"),
        ]);
        let found = threads(&tree.root, &[7, 999]).unwrap();
        assert_eq!(found.len(), 2);
        let thread = |pid, task, [voluntary, forced]: [u64; 2], cpu| ThreadSample {
            pid,
            task,
            switches: Switches { voluntary, forced },
            cpu: Some(Nanos::from_nanos(cpu)),
        };
        let before = [thread(7, 7, [3, 1], 100), thread(9, 99, [9, 9], 100)];
        assert_eq!(
            switched(&before, &found),
            Switches {
                voluntary: 9,
                forced: 2
            }
        );
        assert_eq!(switched(&found, &before[..1]), Switches::default());
        let whole = threads(&tree.root, &[7, 8]).unwrap();
        assert_eq!(whole[2].cpu, None, "the only thread of its process");
        assert_eq!(shared(&before, &whole), None, "one was there before");
        let before = [before[0].clone(), thread(7, 70, [0, 0], 200)];
        let shared = shared(&before, &whole).unwrap();
        let nanos = [shared.cpu, shared.busiest].map(Nanos::as_nanos);
        assert_eq!((shared.count, nanos), (2, [900, 800]));
    }

    #[test]
    fn a_process_is_shown_with_a_name_that_steers_no_terminal() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max open files            1024                 unlimited            files\n";
        let tree = fixture(&[
            ("proc/7/comm", "a) (b\x1b[2J\n"),
            ("proc/7/status", "Name:\ta\nThreads:\t12\n"),
            ("proc/7/smaps_rollup", "Pss: 4 kB\n"),
            ("proc/7/limits", limits),
        ]);
        let wanted = Process {
            pid: 7,
            name: "a) (b [2J".into(),
            program: None,
            threads: 12,
            pss_bytes: Some(4096),
            open_files: Some(1024),
        };
        assert_eq!(process(&tree.root, 7), Some(wanted));
        assert_eq!(process(&tree.root, 8), None);
        assert_eq!(
            open_files("Max open files unlimited unlimited files\n"),
            None
        );
    }

    #[test]
    fn this_process_has_memory_and_descriptors() {
        let (root, me) = (Root::machine(), [std::process::id()]);
        assert!(pss(&root, &me) > Some(0) && descriptors(&root, &me) > Some(2));
        assert!(!threads(&root, &me).unwrap().is_empty());
    }
}

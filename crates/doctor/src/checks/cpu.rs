//! The CPUs: which there are, which may be used, and how fast they run.

use super::Check;
use crate::finding::{Source, caveat, note, write};
use units::number;

/// CPUs up to which generator and server stand in each other's way.
const FEW: f64 = 2.0;

pub(super) const VIRTUAL_MACHINE: Check = Check {
    name: "virtual machine",
    reads: "the flag `hypervisor` of /proc/cpuinfo, DMI names, clock sources",
    finds: "the machine is virtual",
    judge: |facts| {
        let by = facts
            .machine
            .virtualised
            .as_deref()
            .filter(|by| *by != "none")?;
        let by: String = by.chars().take(20).collect();
        let published = Source::Published("arXiv 2001.05811, on clouds");
        let finding = caveat(format!(
            "virtual machine ({by}): frequency and neighbours are hidden"
        ));
        let what = "runs in turns were 2.3 to 12.5 times as accurate as separate ones";
        let finding = finding.costs(0.2, what, published);
        Some(finding.mend("Measure on hardware of your own, or compare in turns (--interleaved)"))
    },
};

pub(super) const FEW_CPUS: Check = Check {
    name: "few CPUs",
    reads: "the CPUs that weigh may use, its CPU quota, whether the target is on this machine",
    finds: "two CPUs or less for the generator and the server",
    judge: |facts| {
        let usable = facts
            .usable_cpus()
            .filter(|cpus| *cpus <= FEW && facts.is_server_here())?;
        let cpus = match usable == 1.0 {
            true => "1 CPU".to_owned(),
            false => format!("{} CPUs", (usable * 100.0).round() / 100.0),
        };
        let finding = caveat(format!("{cpus} for generator and server, if both run here"));
        let what = "throughput is that of half a machine, latency has waits for a CPU";
        let finding = finding.costs(0.5, what, Source::Guess);
        Some(finding.mend("Run the generator on another machine, or use few threads (--threads 1)"))
    },
};

pub(super) const QUOTA: Check = Check {
    name: "CPU quota",
    reads: "cpu.max (control groups v2) or cpu.cfs_quota_us (v1) of weigh's group and its ancestors",
    finds: "a quota below the CPUs that weigh may use",
    judge: |facts| {
        let quota = facts.machine.cpu_quota?;
        let cpus = facts.machine.cpus_allowed.len() as f64;
        if quota >= cpus {
            return None;
        }
        let share = 1.0 - quota / cpus;
        let finding = caveat(format!(
            "a CPU quota allows {quota:.2} of {}",
            number(cpus as u64, "CPU")
        ));
        let what = "stops of up to 100 ms where it is used up; weigh counts them";
        let finding = finding.costs(
            share,
            what,
            Source::Published("Linux, cgroup-v2.rst, cpu.max"),
        );
        Some(
            match facts
                .setup()
                .and_then(|setup| setup.control_group.cpu_quota.as_ref())
            {
                Some(limit) => {
                    let unlimited = if limit.file.ends_with("cpu.max") {
                        "max"
                    } else {
                        "-1"
                    };
                    finding.mend_and_undo(write(&limit.file, unlimited, &limit.value))
                }
                None => finding.mend("Raise the quota of the container or service"),
            },
        )
    },
};

pub(super) const MASK: Check = Check {
    name: "CPU mask",
    reads: "the CPUs that weigh may run on, and those online",
    finds: "fewer may be used than are online",
    judge: |facts| {
        let (allowed, online) = (
            facts.machine.cpus_allowed.len(),
            facts.machine.cpus_online as usize,
        );
        if allowed == 0 || allowed >= online {
            return None;
        }
        let finding = note(format!(
            "weigh may run on {allowed} of {online} CPUs (affinity or cpuset)"
        ));
        let what = "none if it is meant so; else CPUs that are left idle";
        let finding = finding.costs(1.0 - allowed as f64 / online as f64, what, Source::Measured);
        let ranges = facts.machine.cpus_allowed.iter().map(u32::to_string);
        let ranges: Vec<String> = ranges.collect();
        Some(finding.mend_and_undo((
            format!("taskset -pc 0-{} $$", online - 1),
            format!("taskset -pc {} $$", ranges.join(",")),
        )))
    },
};

pub(super) const GOVERNOR: Check = Check {
    name: "governor",
    reads: "cpufreq/scaling_governor of every CPU",
    finds: "a governor other than performance",
    judge: |facts| {
        let governors = &facts.setup()?.governors;
        let others: Vec<&str> = governors
            .iter()
            .map(String::as_str)
            .filter(|it| *it != "performance")
            .collect();
        if others.is_empty() {
            return None;
        }
        let finding = caveat(format!(
            "frequency governor {}: speed follows the load",
            others.join(", ")
        ));
        let what = "latency at low load, and differences between rounds";
        let finding = finding.costs(0.15, what, Source::Guess);
        let files = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        let (mend, undo) = write(files, "performance", others[0]);
        Some(match governors.len() {
            1 => finding.mend_and_undo((mend, undo)),
            _ => {
                finding.mend_and_undo((mend, format!("write back what `grep . {files}` says now")))
            }
        })
    },
};

pub(super) const TURBO: Check = Check {
    name: "turbo",
    reads: "intel_pstate/no_turbo or cpufreq/boost",
    finds: "turbo is on, on real hardware",
    judge: |facts| {
        let turbo = facts.setup()?.turbo.as_ref().filter(|turbo| turbo.on)?;
        let off = if turbo.value == "0" { "1" } else { "0" };
        let finding = note("turbo is on: speed depends on temperature and on busy cores");
        let what = "differences between rounds; off for comparisons, on for absolute figures";
        let finding = finding.costs(0.1, what, Source::Guess);
        let is_real = facts.machine.virtualised.as_deref() == Some("none");
        is_real.then(|| finding.mend_and_undo(write(&turbo.file, off, &turbo.value)))
    },
};

pub(super) const SMT: Check = Check {
    name: "SMT",
    reads: "/sys/devices/system/cpu/smt/active",
    finds: "cores run two threads each",
    judge: |facts| {
        facts.setup()?.smt.filter(|on| *on)?;
        let finding = note("SMT: two threads share a core, so CPUs are not independent");
        let what = "a generator on the sibling of a server's CPU slows it";
        let finding = finding.costs(0.1, what, Source::Guess);
        let file = "/sys/devices/system/cpu/smt/control";
        Some(finding.mend_and_undo(write(file, "off", "on")))
    },
};

pub(super) const NUMA: Check = Check {
    name: "NUMA",
    reads: "/sys/devices/system/node/online",
    finds: "several nodes",
    judge: |facts| {
        let nodes = facts.setup()?.numa_nodes.filter(|nodes| *nodes > 1)?;
        let finding = note(format!(
            "{nodes} NUMA nodes: memory of another node is slower"
        ));
        let what = "differences between runs, by where the kernel puts processes";
        let finding = finding.costs(0.1, what, Source::Guess);
        Some(
            finding
                .mend("numactl --cpunodebind=0 --membind=0 weigh ...   # and the server likewise"),
        )
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds, found};
    use super::*;
    use record::Grade::{Caveat, Note};
    use record::{Limit, NetworkPath, Switch};

    #[test]
    fn a_virtual_machine_is_named_and_real_or_unknown_hardware_is_not() {
        finds(
            &VIRTUAL_MACHINE,
            &[
                (
                    |made| made.machine.virtualised = Some("KVM".into()),
                    Some((
                        Caveat,
                        "virtual machine (KVM): frequency and neighbours are hidden",
                    )),
                ),
                (|made| made.machine.virtualised = Some("none".into()), None),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn few_cpus_matter_where_the_server_may_be_here() {
        fn on(made: &mut Made, loopback: bool) {
            made.machine.cpus_allowed = vec![0, 1];
            made.path.insert(NetworkPath::default()).link.loopback = loopback;
        }
        finds(
            &FEW_CPUS,
            &[
                (
                    |made| on(made, true),
                    Some((Caveat, "2 CPUs for generator and server, if both run here")),
                ),
                (|made| on(made, false), None),
                (|made| made.machine.cpus_allowed = vec![0, 1, 2], None),
                (
                    |made| {
                        (made.machine.cpus_allowed, made.machine.cpu_quota) =
                            (vec![0, 1, 2], Some(1.0))
                    },
                    Some((Caveat, "1 CPU for generator and server, if both run here")),
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn a_quota_is_lifted_and_set_again_in_the_files_of_its_version() {
        fn quota(made: &mut Made, cpus: f64) {
            (made.machine.cpus_allowed, made.machine.cpu_quota) = (vec![0, 1], Some(cpus));
        }
        let headline = "a CPU quota allows 0.50 of 2 CPUs";
        finds(
            &QUOTA,
            &[
                (|made| quota(made, 0.5), Some((Caveat, headline))),
                (|made| quota(made, 2.0), None),
                (|_| (), None),
            ],
        );
        for (file, value, mend, undo) in [
            (
                "/g/cpu.max",
                "50000 100000",
                "echo max | sudo tee /g/cpu.max",
                "echo 50000 100000 | sudo tee /g/cpu.max",
            ),
            (
                "/g/cpu.cfs_quota_us",
                "50000",
                "echo -1 | sudo tee /g/cpu.cfs_quota_us",
                "echo 50000 | sudo tee /g/cpu.cfs_quota_us",
            ),
        ] {
            let found = found(&QUOTA, |made| {
                quota(made, 0.5);
                made.setup.control_group.cpu_quota = Some(Limit {
                    allows: 0.5,
                    file: file.into(),
                    value: value.into(),
                });
            });
            let found = found.unwrap();
            assert_eq!(
                (found.mend.as_deref(), found.undo.as_deref()),
                (Some(mend), Some(undo))
            );
        }
    }

    #[test]
    fn a_mask_is_widened_and_narrowed_again() {
        let headline = "weigh may run on 2 of 4 CPUs (affinity or cpuset)";
        finds(
            &MASK,
            &[
                (
                    |made| (made.machine.cpus_allowed, made.machine.cpus_online) = (vec![1, 3], 4),
                    Some((Note, headline)),
                ),
                (
                    |made| (made.machine.cpus_allowed, made.machine.cpus_online) = (vec![0, 1], 2),
                    None,
                ),
                (|made| made.machine.cpus_online = 2, None),
            ],
        );
        let found = found(&MASK, |made| {
            (made.machine.cpus_allowed, made.machine.cpus_online) = (vec![1, 3], 4)
        })
        .unwrap();
        assert_eq!(found.mend.as_deref(), Some("taskset -pc 0-3 $$"));
        assert_eq!(found.undo.as_deref(), Some("taskset -pc 1,3 $$"));
    }

    #[test]
    fn any_governor_but_performance_is_found_and_can_be_set_back() {
        fn governors(made: &mut Made, names: &[&str]) {
            made.setup.governors = names.iter().map(|name| (*name).to_owned()).collect();
        }
        let headline = "frequency governor powersave: speed follows the load";
        finds(
            &GOVERNOR,
            &[
                (
                    |made| governors(made, &["powersave"]),
                    Some((Caveat, headline)),
                ),
                (
                    |made| governors(made, &["performance", "powersave"]),
                    Some((Caveat, headline)),
                ),
                (|made| governors(made, &["performance"]), None),
                (|_| (), None),
            ],
        );
        let undo = found(&GOVERNOR, |made| governors(made, &["powersave"]))
            .unwrap()
            .undo;
        let files = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        assert_eq!(undo, Some(format!("echo powersave | sudo tee {files}")));
    }

    #[test]
    fn turbo_is_noted_on_real_hardware_only() {
        fn turbo(made: &mut Made, on: bool, by: &str) {
            made.machine.virtualised = Some(by.into());
            let value = if on { "0" } else { "1" }.into();
            let file = "/no_turbo".into();
            made.setup.turbo = Some(Switch { on, file, value });
        }
        let headline = "turbo is on: speed depends on temperature and on busy cores";
        finds(
            &TURBO,
            &[
                (|made| turbo(made, true, "none"), Some((Note, headline))),
                (|made| turbo(made, false, "none"), None),
                (|made| turbo(made, true, "KVM"), None),
                (|made| made.machine.virtualised = Some("none".into()), None),
            ],
        );
        let found = found(&TURBO, |made| turbo(made, true, "none")).unwrap();
        assert_eq!(found.mend.as_deref(), Some("echo 1 | sudo tee /no_turbo"));
        assert_eq!(found.undo.as_deref(), Some("echo 0 | sudo tee /no_turbo"));
    }

    #[test]
    fn shared_cores_and_several_nodes_are_noted() {
        let headline = "SMT: two threads share a core, so CPUs are not independent";
        finds(
            &SMT,
            &[
                (|made| made.setup.smt = Some(true), Some((Note, headline))),
                (|made| made.setup.smt = Some(false), None),
                (|_| (), None),
            ],
        );
        let headline = "2 NUMA nodes: memory of another node is slower";
        finds(
            &NUMA,
            &[
                (
                    |made| made.setup.numa_nodes = Some(2),
                    Some((Note, headline)),
                ),
                (|made| made.setup.numa_nodes = Some(1), None),
                (|_| (), None),
            ],
        );
    }
}

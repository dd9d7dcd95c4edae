//! The kernel: its clock, what watches it, and how it was built and started.

use super::Check;
use crate::finding::{Source, caveat, invalid, note, write};

/// Nanoseconds that a reading of the clock may take: the threshold of the check `clock` of measured rounds.
const CLOCK_MOST_NS: u64 = 200;
/// Build options that make a kernel slow.
const SLOW_OPTIONS: [&str; 3] = ["CONFIG_KASAN=y", "CONFIG_KCSAN=y", "CONFIG_PROVE_LOCKING=y"];

pub(super) const CLOCK: Check = Check {
    name: "clock",
    reads: "the clock source, and what a reading of CLOCK_MONOTONIC takes (measured)",
    finds: "a reading takes more than 200 ns, so that it is a system call",
    judge: |facts| {
        let cost = facts.machine.clock_reading_ns;
        let source = facts.machine.clocksource.as_deref().unwrap_or("unknown");
        if cost <= CLOCK_MOST_NS {
            return None;
        }
        let finding = caveat(format!(
            "reading the clock takes {cost} ns (clock source {source})"
        ));
        let what = format!("{} ns of CPU time for each request", 2 * cost);
        let finding = finding.costs(0.1, what, Source::Measured);
        let has_tsc = facts
            .setup()
            .is_some_and(|setup| setup.clocksources.iter().any(|it| it == "tsc"));
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        Some(match has_tsc && source != "tsc" {
            true => finding.mend_and_undo(write(file, "tsc", source)),
            false => finding.mend("Measure on a machine whose kernel offers the clock source tsc"),
        })
    },
};

pub(super) const TRACED: Check = Check {
    name: "traced",
    reads: "TracerPid of /proc/self/status",
    finds: "a debugger or strace traces weigh",
    judge: |facts| {
        let by = facts.setup()?.traced_by.filter(|pid| *pid > 0)?;
        let finding = invalid(format!(
            "process {by} traces weigh: every system call stops it"
        ));
        let finding = finding.costs(0.9, "the generator is several times as slow", Source::Guess);
        Some(finding.mend("Run weigh without strace or debugger"))
    },
};

pub(super) const TRACING: Check = Check {
    name: "tracing",
    reads: "current_tracer and events/enable of /sys/kernel/tracing (readable by root)",
    finds: "a tracer or trace events are on",
    judge: |facts| {
        let setup = facts.setup()?;
        let tracer = setup.tracer.as_deref().filter(|tracer| *tracer != "nop");
        let events = setup
            .trace_events
            .as_deref()
            .filter(|events| *events != "0");
        let finding = |what: String| {
            caveat(what).costs(0.2, "CPU time in every traced function", Source::Guess)
        };
        let folder = "/sys/kernel/tracing";
        match (tracer, events) {
            (Some(tracer), _) => {
                let finding = finding(format!("the kernel's tracer {tracer} is on"));
                Some(finding.mend_and_undo(write(
                    &format!("{folder}/current_tracer"),
                    "nop",
                    tracer,
                )))
            }
            (None, Some(_)) => {
                let file = format!("{folder}/set_event");
                let mend = format!("sudo cat {file} > events && echo | sudo tee {file}");
                let undo = format!("sudo tee {file} < events");
                Some(
                    finding("trace events of the kernel are on".into()).mend_and_undo((mend, undo)),
                )
            }
            (None, None) => None,
        }
    },
};

pub(super) const DEBUG: Check = Check {
    name: "debug kernel",
    reads: "the kernel's build options (/boot/config-*, /proc/config.gz)",
    finds: "KASAN, KCSAN or PROVE_LOCKING is built in",
    judge: |facts| {
        let options = &facts.setup()?.kernel_options;
        let slow: Vec<&str> = SLOW_OPTIONS
            .into_iter()
            .filter(|slow| options.iter().any(|it| it == slow))
            .collect();
        let finding = caveat(format!("debug kernel: {}", slow.join(", ")));
        let finding = finding.costs(0.6, "every system call is slower", Source::Guess);
        (!slow.is_empty()).then(|| finding.mend("Boot a kernel without these options"))
    },
};

pub(super) const MITIGATIONS: Check = Check {
    name: "mitigations",
    reads: "the boot parameters (/proc/cmdline)",
    finds: "mitigations=off",
    judge: |facts| {
        let is_off = facts
            .setup()?
            .boot_parameters
            .iter()
            .any(|it| it == "mitigations=off");
        let finding = note("mitigations=off: faster than a machine in production");
        let what = "throughput is higher, by 28 % for one HTTP server";
        let source = Source::Published("talawah.io, Extreme HTTP Performance Tuning");
        let finding = finding.costs(0.25, what, source);
        is_off.then(|| finding.mend("Remove mitigations=off from the boot parameters, and boot"))
    },
};

pub(super) const HUGE_PAGES: Check = Check {
    name: "huge pages",
    reads: "/sys/kernel/mm/transparent_hugepage/enabled",
    finds: "the mode is `always`",
    judge: |facts| {
        let mode = facts.setup()?.memory.transparent_huge_pages.as_deref();
        let finding = note("transparent huge pages are always on");
        let what = "a server's memory grows in steps of 2 MiB; stalls of compaction";
        let finding = finding.costs(0.05, what, Source::Guess);
        let file = "/sys/kernel/mm/transparent_hugepage/enabled";
        (mode == Some("always")).then(|| finding.mend_and_undo(write(file, "madvise", "always")))
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds, found};
    use super::*;
    use record::Grade::{Caveat, Invalid, Note};

    #[test]
    fn a_slow_clock_is_changed_for_tsc_where_the_kernel_has_it() {
        fn clock(made: &mut Made, cost: u64) {
            made.machine.clock_reading_ns = cost;
            made.machine.clocksource = Some("hpet".into());
        }
        finds(
            &CLOCK,
            &[
                (
                    |made| clock(made, 201),
                    Some((Caveat, "reading the clock takes 201 ns (clock source hpet)")),
                ),
                (|made| clock(made, 200), None),
                (|_| (), None),
            ],
        );
        let found = found(&CLOCK, |made| {
            clock(made, 900);
            made.setup.clocksources = vec!["tsc".into(), "hpet".into()];
        });
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let found = found.unwrap();
        assert_eq!(found.mend, Some(format!("echo tsc | sudo tee {file}")));
        assert_eq!(found.undo, Some(format!("echo hpet | sudo tee {file}")));
    }

    #[test]
    fn tracing_of_weigh_is_fatal_and_of_the_kernel_expensive() {
        finds(
            &TRACED,
            &[
                (
                    |made| made.setup.traced_by = Some(9),
                    Some((
                        Invalid,
                        "process 9 traces weigh: every system call stops it",
                    )),
                ),
                (|made| made.setup.traced_by = Some(0), None),
                (|_| (), None),
            ],
        );
        finds(
            &TRACING,
            &[
                (
                    |made| made.setup.tracer = Some("function".into()),
                    Some((Caveat, "the kernel's tracer function is on")),
                ),
                (
                    |made| made.setup.trace_events = Some("X".into()),
                    Some((Caveat, "trace events of the kernel are on")),
                ),
                (
                    |made| {
                        (made.setup.tracer, made.setup.trace_events) =
                            (Some("nop".into()), Some("0".into()))
                    },
                    None,
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn how_the_kernel_was_built_and_started_is_judged_by_its_words() {
        fn built(made: &mut Made, option: &str) {
            made.setup.kernel_options = vec!["CONFIG_HZ=250".into(), option.into()];
        }
        finds(
            &DEBUG,
            &[
                (
                    |made| built(made, "CONFIG_KASAN=y"),
                    Some((Caveat, "debug kernel: CONFIG_KASAN=y")),
                ),
                (|made| built(made, "CONFIG_PREEMPT=y"), None),
                (|_| (), None),
            ],
        );
        let headline = "mitigations=off: faster than a machine in production";
        finds(
            &MITIGATIONS,
            &[
                (
                    |made| made.setup.boot_parameters = vec!["mitigations=off".into()],
                    Some((Note, headline)),
                ),
                (
                    |made| made.setup.boot_parameters = vec!["mitigations=auto".into()],
                    None,
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn huge_pages_are_noted_where_they_are_always_on() {
        fn mode(made: &mut Made, mode: &str) {
            made.setup.memory.transparent_huge_pages = Some(mode.into());
        }
        finds(
            &HUGE_PAGES,
            &[
                (
                    |made| mode(made, "always"),
                    Some((Note, "transparent huge pages are always on")),
                ),
                (|made| mode(made, "madvise"), None),
                (|_| (), None),
            ],
        );
    }
}

//! What else uses the machine.

use super::Check;
use crate::Facts;
use crate::finding::{Finding, Source, caveat, invalid};
use units::percent;

/// Share of the CPUs that other programs may use: the threshold of the check `kernel` of measured rounds.
const OTHERS_MOST: f64 = 0.05;
/// Share from which measuring is of no use: less than half of the machine is left.
const OTHERS_INVALID: f64 = 0.5;
/// Percent of the last 10 s in which tasks may wait for a CPU.
const CPU_PRESSURE_MOST: f64 = 10.0;
/// What to do about programs that cannot be named.
const WAIT: &str = "Wait until the machine is idle: top";
/// Processes that one command pauses.
const MOST_PIDS: usize = 8;
/// Share of the CPU time that the hypervisor may take.
const STEAL_MOST: f64 = 0.005;
/// Percent of the last 10 s in which tasks may wait for memory.
const PRESSURE_MOST: f64 = 1.0;
/// Share of the memory that must be available.
const AVAILABLE_LEAST: f64 = 0.05;

pub(super) const OTHER_PROGRAMS: Check = Check {
    name: "other programs",
    reads: "/proc/stat and the CPU time of all processes over a second, some avg10 of /proc/pressure/cpu",
    finds: "5 % of the CPUs are busy, or tasks waited for one 10 % of the time; half of them busy make results invalid",
    judge: |facts| busy(facts).or_else(|| waiting(facts)),
};

/// Finds programs that run now.
fn busy(facts: &Facts<'_>) -> Option<Finding> {
    let activity = facts.activity.filter(|it| it.cpus > 0)?;
    let share = (activity.busy / f64::from(activity.cpus)).min(1.0);
    let busiest = activity.programs.first();
    let named = busiest.map_or(String::new(), |it| {
        format!(", most {} {:.2}", it.name, it.cpus)
    });
    let cpus = units::number(activity.cpus.into(), "CPU");
    let headline = format!("{:.2} of {cpus} are busy{named}", activity.busy);
    let finding = match share {
        share if share >= OTHERS_INVALID => invalid(headline),
        share if share >= OTHERS_MOST => caveat(headline),
        _ => return None,
    };
    let what = format!("{} of the CPU time, which varies", percent(share));
    let finding = finding.costs(share, what, Source::Measured);
    Some(match busiest {
        Some(program) => {
            let pids = program.pids.iter().take(MOST_PIDS).map(u32::to_string);
            let pids = pids.collect::<Vec<_>>().join(" ");
            finding.mend_and_undo((
                format!("kill -STOP {pids}   # pauses {}", program.name),
                format!("kill -CONT {pids}"),
            ))
        }
        None => finding.mend(WAIT),
    })
}

/// Finds programs that ran just before, and may again.
fn waiting(facts: &Facts<'_>) -> Option<Finding> {
    let share = *facts.setup()?.pressure.get("cpu")?;
    let headline = format!("tasks waited for a CPU in {share:.1} % of the last 10 s");
    let what = "waits of the generator and the server, if it goes on";
    let finding = caveat(headline).costs((share / 100.0).min(1.0), what, Source::Measured);
    (share >= CPU_PRESSURE_MOST).then(|| finding.mend(WAIT))
}

pub(super) const STEAL: Check = Check {
    name: "steal",
    reads: "/proc/stat over a second in which weigh rests",
    finds: "0.5 % of the CPU time went to other virtual machines",
    judge: |facts| {
        let activity = facts.activity.filter(|it| it.cpus > 0)?;
        let share = (activity.stolen / f64::from(activity.cpus)).min(1.0);
        let headline = format!(
            "the hypervisor takes {} of the CPU time (steal)",
            percent(share)
        );
        let finding = caveat(headline)
            .costs(
                share,
                "latency and throughput follow other virtual machines",
                Source::Measured,
            )
            .mend("Measure on a machine or an instance with CPUs of its own");
        (share >= STEAL_MOST).then_some(finding)
    },
};

pub(super) const MEMORY: Check = Check {
    name: "memory",
    reads: "MemAvailable of /proc/meminfo, some avg10 of /proc/pressure/memory",
    finds: "less than 5 % is available, or tasks waited for memory 1 % of the time",
    judge: |facts| {
        let setup = facts.setup()?;
        let pressure = setup.pressure.get("memory").copied().unwrap_or(0.0);
        let available = setup.memory.available.zip(facts.machine.memory_bytes);
        let headline = match available {
            Some((bytes, all)) if (bytes as f64) < all as f64 * AVAILABLE_LEAST => {
                format!("only {} of memory are available", units::bytes(bytes))
            }
            _ if pressure >= PRESSURE_MOST => {
                format!("tasks waited for memory in {pressure:.1} % of the last 10 s")
            }
            _ => return None,
        };
        let finding =
            caveat(headline).costs(0.3, "stalls while memory is reclaimed", Source::Guess);
        Some(finding.mend("End what holds memory: ps -eo pid,rss,comm --sort=-rss | head"))
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::{Made, finds, found};
    use super::*;
    use record::Grade::{Caveat, Invalid};
    use record::Program;

    #[test]
    fn other_programs_are_named_with_what_they_take() {
        fn busy(made: &mut Made, busy: f64) {
            (made.activity.cpus, made.activity.busy) = (2, busy);
        }
        finds(
            &OTHER_PROGRAMS,
            &[
                (|made| busy(made, 0.09), None),
                (
                    |made| busy(made, 0.1),
                    Some((Caveat, "0.10 of 2 CPUs are busy")),
                ),
                (
                    |made| busy(made, 1.0),
                    Some((Invalid, "1.00 of 2 CPUs are busy")),
                ),
                (|_| (), None),
            ],
        );
        fn waited(made: &mut Made, share: f64) {
            made.setup.pressure.insert("cpu".into(), share);
        }
        let headline = "tasks waited for a CPU in 10.0 % of the last 10 s";
        finds(
            &OTHER_PROGRAMS,
            &[
                (|made| waited(made, 10.0), Some((Caveat, headline))),
                (|made| waited(made, 9.9), None),
            ],
        );
        let named = |made: &mut Made| {
            busy(made, 0.5);
            let (pids, name, cpus) = (vec![7, 8], "rustc".into(), 0.4);
            made.activity.programs = vec![Program { name, pids, cpus }];
        };
        let found = found(&OTHER_PROGRAMS, named).unwrap();
        assert_eq!(found.headline, "0.50 of 2 CPUs are busy, most rustc 0.40");
        assert_eq!(
            found.mend.as_deref(),
            Some("kill -STOP 7 8   # pauses rustc")
        );
        assert_eq!(found.undo.as_deref(), Some("kill -CONT 7 8"));
    }

    #[test]
    fn steal_counts_from_half_a_percent_on() {
        let wanted = "the hypervisor takes 0.5 % of the CPU time (steal)";
        finds(
            &STEAL,
            &[
                (
                    |made| (made.activity.cpus, made.activity.stolen) = (2, 0.01),
                    Some((Caveat, wanted)),
                ),
                (
                    |made| (made.activity.cpus, made.activity.stolen) = (2, 0.009),
                    None,
                ),
                (|_| (), None),
            ],
        );
    }

    #[test]
    fn memory_is_short_by_what_is_available_or_by_waiting() {
        fn memory(made: &mut Made, available: u64) {
            made.machine.memory_bytes = Some(100 << 20);
            made.setup.memory.available = Some(available << 20);
        }
        fn waiting(made: &mut Made, share: f64) {
            made.setup.pressure.insert("memory".into(), share);
        }
        finds(
            &MEMORY,
            &[
                (
                    |made| memory(made, 4),
                    Some((Caveat, "only 4.00 MiB of memory are available")),
                ),
                (|made| memory(made, 5), None),
                (
                    |made| waiting(made, 1.0),
                    Some((Caveat, "tasks waited for memory in 1.0 % of the last 10 s")),
                ),
                (|made| waiting(made, 0.9), None),
                (|_| (), None),
            ],
        );
    }
}

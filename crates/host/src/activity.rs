//! What runs on this machine while weigh is at rest: how busy the CPUs are, and with what.

use crate::counters::{between, cpu_time};
use crate::files::Root;
use kernel::process::{self, Process, Stat};
use record::{Activity, Program};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::Nanos;

/// The most programs that are named.
const MOST_PROGRAMS: usize = 5;
/// CPUs' worth of time below which a program is not named.
const NAMED_FROM: f64 = 0.01;

/// Returns what ran during `span` from now on, which it waits for; none where Linux does not say.
pub fn activity(span: Nanos) -> Option<Activity> {
    let (start, first, before) = (kernel::clock::now(), cpu_time()?, cpu_of_processes());
    kernel::clock::sleep_until(start + span);
    let (last, after) = (cpu_time()?, cpu_of_processes());
    let span = kernel::clock::now() - start;
    let total = between(&first, &last);
    let cpus = |time: Nanos| time.as_secs_f64() / span.as_secs_f64().max(1e-9);
    let processes = taken(&before, &after);
    let own = processes.iter().find(|(pid, _)| *pid == std::process::id());
    let own = own.map_or(Nanos::ZERO, |(_, time)| *time);
    let busy = total.user + total.system + total.softirq + total.irq;
    Some(Activity {
        span,
        cpus: total.cpus,
        busy: cpus(busy.saturating_sub(own)),
        stolen: cpus(total.steal),
        programs: named(processes, cpus, |pid| {
            Root::machine().fact(format!("/proc/{pid}/comm"))
        }),
    })
}

/// CPU time of each process so far.
fn cpu_of_processes() -> BTreeMap<Process, Nanos> {
    let stats = process::pids().into_iter().filter_map(Stat::read);
    stats.map(|stat| (stat.process, stat.own_cpu())).collect()
}

/// CPU time of each process from `first` to `last`, by its number. A process that is not in `first` started in between.
fn taken(first: &BTreeMap<Process, Nanos>, last: &BTreeMap<Process, Nanos>) -> Vec<(u32, Nanos)> {
    let since = |(process, cpu): (&Process, &Nanos)| {
        let before = first.get(process).copied().unwrap_or(Nanos::ZERO);
        (process.pid, cpu.saturating_sub(before))
    };
    last.iter().map(since).collect()
}

/// The programs that took most, without this one. `name` returns that of a process; what has ended has none.
fn named(
    mut processes: Vec<(u32, Nanos)>,
    cpus: impl Fn(Nanos) -> f64,
    name: impl Fn(u32) -> Option<String>,
) -> Vec<Program> {
    processes.retain(|(pid, time)| *pid != std::process::id() && *time > Nanos::ZERO);
    processes.sort_by_key(|(_, time)| Reverse(*time));
    let mut programs: BTreeMap<String, Program> = BTreeMap::new();
    for (pid, time) in processes {
        let Some(name) = name(pid) else { continue };
        let program = programs.entry(name.clone()).or_default();
        program.name = name;
        program.pids.push(pid);
        program.cpus += cpus(time);
    }
    let mut programs: Vec<Program> = programs.into_values().collect();
    programs.retain(|program| program.cpus >= NAMED_FROM);
    programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    programs.truncate(MOST_PROGRAMS);
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_with_all_its_processes_and_a_new_one_counts_from_its_start() {
        let process = |pid, start_ticks| Process { start_ticks, pid };
        let millis = Nanos::from_millis;
        let first = BTreeMap::from([(process(1, 5), millis(900)), (process(7, 6), millis(10))]);
        let last = BTreeMap::from([
            (process(1, 5), millis(1_000)),
            (process(7, 99), millis(400)), // its number was given to another
            (process(8, 99), millis(2)),
        ]);
        let taken = taken(&first, &last);
        assert_eq!(taken, [(1, millis(100)), (7, millis(400)), (8, millis(2))]);
        let name = |pid| (pid != 1).then(|| format!("program {}", pid / 7));
        let named = named(taken, |time| time.as_secs_f64(), name);
        let wanted = Program {
            name: "program 1".into(),
            pids: vec![7, 8],
            cpus: 0.402,
        };
        assert_eq!(named, [wanted]);
    }

    #[test]
    fn this_machine_says_how_busy_it_is() {
        let found = activity(Nanos::from_millis(20)).unwrap();
        assert!(
            found.span >= Nanos::from_millis(20) && found.cpus > 0,
            "{found:?}"
        );
        // Ticks of 10 ms are as long as half of the span.
        let most = 2.0 * f64::from(found.cpus);
        assert!((0.0..=most).contains(&found.busy), "{found:?}");
    }
}

//! What the server cost at one load level: CPU time by request, memory, and where the machine's time went.

use super::results::listed;
use super::{Item, Role, Row};
use crate::phrase::rate as per_second;
use figures::Figures;
use record::{Budget, KernelCounters, Round};
use units::{Nanos, count, micros, number, percent};

/// Every row that has something to say; none where the server was not observed.
pub(super) fn rows(of: &Figures<'_>) -> Vec<Row> {
    let rows = [cpu(of), memory(of), budget(of.rounds), network(of.rounds)];
    rows.into_iter().flatten().collect()
}

/// CPU time by request, with its interval, and the same the other way round.
fn cpu(of: &Figures<'_>) -> Option<Row> {
    let per = of.summary.per_request.as_ref()?;
    let cost = of.cost.as_ref()?;
    let (least, most) = if per.lower_bound {
        (">= ", "<= ")
    } else {
        ("", "")
    };
    let mut items = vec![Item::strong(format!("{least}{}", micros(per.cpu_us.mean)))];
    if let (Some(low), Some(high)) = (per.cpu_us.low, per.cpu_us.high) {
        items.push(Item::interval((micros(low), micros(high))));
    }
    let inverse = per_second(per.requests_per_cpu_s.mean);
    items.push(Item::plain(format!(
        "{most}{inverse} requests per CPU-second"
    )));
    if let (Some(user), Some(kernel)) = (cost.cpu_user_s, cost.cpu_kernel_s) {
        items.push(Item::dim(split(user, kernel)));
    }
    Some(Row::new("CPU/request", items))
}

/// Shares of CPU time in user code and in the kernel.
pub(super) fn split(user: f64, kernel: f64) -> String {
    let share = user / (user + kernel);
    format!("user {}, kernel {}", percent(share), percent(1.0 - share))
}

/// Its memory, and what else a server holds.
fn memory(of: &Figures<'_>) -> Option<Row> {
    let parts = [
        ("at rest", "pss_bytes.rest"),
        ("before", "pss_bytes.before"),
        ("after", "pss_bytes.after"),
        ("peak", "pss_bytes.peak"),
    ];
    let mut items = listed(of, parts);
    let mut rounds = of.rounds.iter().rev();
    let last = rounds.find_map(|round| round.footprint.as_ref())?;
    if items.is_empty() {
        return None;
    }
    let threads = last.threads.map(|threads| number(threads.into(), "thread"));
    let files = last.descriptors.map(|files| number(files, "descriptor"));
    items.extend(threads.into_iter().chain(files).map(Item::plain));
    Some(Row::new("memory", items))
}

/// Where the machine's CPU time went: the medians over rounds. Not of windows too short for ticks.
fn budget(rounds: &[Round]) -> Option<Row> {
    let share = |of: fn(&Budget) -> Option<Nanos>| {
        let each = |round: &Round| {
            let budget = round.budget.as_ref();
            let budget = budget.filter(|budget| budget.wall >= SHOWN_FROM)?;
            Some(budget.share(of(budget)?))
        };
        Round::typical(rounds, each).map(percent)
    };
    let parts = [
        ("generator", share(|budget| Some(budget.generator))),
        ("server", share(|budget| budget.server)),
        ("softirq", share(|budget| Some(budget.softirq + budget.irq))),
        ("steal", share(|budget| Some(budget.steal))),
        ("other", share(Budget::other)),
    ];
    let items = Item::each(Role::Plain, parts);
    (!items.is_empty()).then(|| Row::new("machine", items))
}

/// Ticks are 10 ms each: over less than a hundred of them shares are off by more than one per cent.
const SHOWN_FROM: Nanos = Nanos::from_secs(1);

/// What the kernel's network had to say, where it did.
fn network(rounds: &[Round]) -> Option<Row> {
    let sum = |of: fn(&KernelCounters) -> Option<u64>| {
        let counters = rounds.iter().filter_map(|round| round.kernel.as_ref());
        let sum: u64 = counters.filter_map(of).sum();
        (sum > 0).then(|| count(sum))
    };
    let counts = [
        ("listen overflows", sum(|kernel| kernel.listen_overflows)),
        ("listen drops", sum(|kernel| kernel.listen_drops)),
        ("SYN retransmits", sum(|kernel| kernel.syn_retransmits)),
        ("TCP retransmits", sum(|kernel| kernel.retransmits)),
    ];
    let items = Item::each(Role::Warning, counts);
    (!items.is_empty()).then(|| Row::new("network", items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Memory, example};

    fn shown(rounds: &[Round], label: &str) -> Option<String> {
        let mut run = example::ok();
        let point = &mut run.points[0];
        (point.rounds, point.summary, point.footprint) = (rounds.to_vec(), None, None);
        let row = rows(&Figures::of(&run, 0).unwrap())
            .into_iter()
            .find(|row| row.label == label)?;
        let words =
            |item: &Item| -> String { item.0.iter().map(|span| span.text.as_str()).collect() };
        Some(row.items.iter().map(words).collect::<Vec<_>>().join("  "))
    }

    fn rounds() -> Vec<Round> {
        let mut rounds = example::ok().points.remove(0).rounds;
        for round in &mut rounds {
            let wall = round.window.span();
            let print = round.footprint.as_mut().unwrap();
            print.threads = Some(12);
            print.memory = Some(Memory {
                rest: Some(1 << 20),
                before: Some(2 << 20),
                after: Some(3 << 20),
                connections: 10,
            });
            round.budget = Some(Budget {
                wall,
                cpus: 4,
                generator: wall / 5,
                server: Some(wall),
                user: wall,
                system: wall / 5,
                ..Budget::default()
            });
        }
        rounds
    }

    #[test]
    fn nothing_is_shown_of_a_server_that_was_not_observed() {
        let run = example::errors();
        assert!(rows(&Figures::of(&run, 0).unwrap()).is_empty());
    }

    #[test]
    fn memory_threads_and_the_machine_stand_beside_what_a_request_costs() {
        let mut rounds = rounds();
        let memory = shown(&rounds, "memory").unwrap();
        assert_eq!(
            memory,
            "at rest 1.00 MiB  before 2.00 MiB  after 3.00 MiB  peak 3.00 MiB  12 threads"
        );
        let machine = shown(&rounds, "machine").unwrap();
        assert_eq!(
            machine,
            "generator 5.0 %  server 25 %  softirq 0 %  steal 0 %  other 0 %"
        );
        rounds
            .iter_mut()
            .for_each(|round| round.budget.as_mut().unwrap().wall = Nanos::from_millis(999));
        assert_eq!(shown(&rounds, "machine"), None);
    }

    #[test]
    fn a_lower_bound_of_what_a_request_costs_is_an_upper_one_of_requests() {
        let mut rounds = rounds();
        let cpu = shown(&rounds, "CPU/request").unwrap();
        assert!(
            cpu.contains("requests per CPU-second") && !cpu.contains('='),
            "{cpu}"
        );
        rounds[0].footprint.as_mut().unwrap().lower_bound = true;
        let cpu = shown(&rounds, "CPU/request").unwrap();
        assert!(cpu.starts_with(">= ") && cpu.contains("<= "), "{cpu}");
    }

    #[test]
    fn the_network_is_shown_only_where_it_had_something_to_say() {
        let mut rounds = rounds();
        rounds[0].kernel = Some(KernelCounters {
            listen_overflows: Some(0),
            ..KernelCounters::default()
        });
        assert_eq!(shown(&rounds, "network"), None);
        rounds[1].kernel = Some(KernelCounters {
            listen_overflows: Some(7),
            ..KernelCounters::default()
        });
        assert_eq!(
            shown(&rounds, "network").as_deref(),
            Some("listen overflows 7")
        );
    }
}

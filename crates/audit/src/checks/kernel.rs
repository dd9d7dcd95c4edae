//! Did the network lose connections, or did something else use the CPUs?

use super::prelude::*;
use record::{Budget, KernelCounters};

pub(super) const CHECK: Check = Check {
    name: "kernel",
    question: "Did the network lose connections, or did something else use the CPUs?",
    looks_at: "Counters of the kernel over the windows: connections that met a full listen queue, TCP retransmits, \
               and the CPU time that the hypervisor (steal) and other programs took, as a share of the machine's. \
               The network counters include other programs of the same network namespace. What other programs took \
               is a difference of ticks and clocks, so it is rough.",
    thresholds: &[
        threshold(
            "connections that met a full listen queue, more than",
            || "0".to_owned(),
            "each is delayed by a second or more",
        ),
        guess(
            "stolen CPU time, or that of other programs, from (median of the rounds)",
            || percent(OTHERS_MOST),
        ),
    ],
    false_alarms: "listen queues and steal: none by chance, they are counters. Other programs: simulation of 10,000 runs of \
                   five rounds of 1 s, of which others take 1 % and ticks of 10 ms sample the rest, which a test repeats: \
                   up to 3 % of runs with 2 CPUs, 0.5 % with 4; with 2 CPUs and 5 s none. On a crowded machine 99.5 % of \
                   612 windows, where other programs did run",
    power: "the same simulation where others take 10 %: over 99 % of runs; every full listen queue that is counted",
    effect: "Full listen queues, steal and other programs give requests/s and latency a caveat. Retransmits are a note.",
    remedy: "Raise the server's backlog and net.core.somaxconn. Measure on a machine of your own, and stop other \
             programs.",
    cause: Cause::Network,
    judge,
};

/// Share of the machine's CPU time from which steal and other programs are reported.
const OTHERS_MOST: f64 = 0.05;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.rounds.unwrap_or_default();
    let found = [
        overflows(rounds),
        resent(rounds),
        stolen(rounds),
        others(rounds),
    ];
    found.into_iter().flatten().collect()
}

/// The sum of a counter over the rounds that know it.
fn total(rounds: &[Round], of: fn(&KernelCounters) -> Option<u64>) -> u64 {
    let counters = rounds.iter().filter_map(|round| round.kernel.as_ref());
    counters.filter_map(of).fold(0, u64::saturating_add)
}

fn overflows(rounds: &[Round]) -> Option<Finding> {
    let overflows = total(rounds, |kernel| kernel.listen_overflows);
    let headline = format!(
        "{} a full listen queue",
        counted(overflows, "connection met", "connections met")
    );
    let sentence = format!("{headline}, which delays each by a second or more");
    let finding = caveat(SPEED, headline, sentence)
        .remedy("Raise the server's listen backlog, and net.core.somaxconn")
        .evidence([
            ("listen overflows", overflows as f64),
            (
                "listen drops",
                total(rounds, |kernel| kernel.listen_drops) as f64,
            ),
        ]);
    (overflows > 0).then_some(finding)
}

fn resent(rounds: &[Round]) -> Option<Finding> {
    let segments = total(rounds, |kernel| kernel.retransmits);
    let handshakes = total(rounds, |kernel| kernel.syn_retransmits);
    let sentence = format!(
        "{} ({} SYN): each can delay a request by 200 ms (SYN: 1 s)",
        number(segments, "TCP retransmit"),
        count(handshakes)
    );
    let finding = note(sentence).evidence([
        ("retransmits", segments as f64),
        ("SYN retransmits", handshakes as f64),
    ]);
    (segments > 0).then_some(finding)
}

/// The median over rounds of what `part` is of the machine's CPU time, where it is too much.
fn too_much(rounds: &[Round], part: impl Fn(&Budget) -> Option<Nanos>) -> Option<f64> {
    let share = |round: &Round| {
        let budget = round
            .budget
            .as_ref()
            .filter(|budget| budget.wall >= Round::SHARES_FROM)?;
        Some(budget.share(part(budget)?))
    };
    Round::typical(rounds, share).filter(|share| *share >= OTHERS_MOST)
}

fn stolen(rounds: &[Round]) -> Option<Finding> {
    let share = too_much(rounds, |budget| Some(budget.steal))?;
    let headline = format!("the hypervisor took {} of the CPU time", percent(share));
    let sentence = format!("{headline} for other virtual machines (steal)");
    let finding = caveat(SPEED, headline, sentence).because(Cause::CpuTaken);
    let finding = finding.remedy("Measure on a machine without other virtual machines");
    Some(finding.evidence([("steal", share)]))
}

fn others(rounds: &[Round]) -> Option<Finding> {
    let share = too_much(rounds, Budget::other)?;
    let headline = format!(
        "other programs used {} of the machine's CPU time",
        percent(share)
    );
    let finding = caveat(SPEED, headline.clone(), headline).because(Cause::CpuTaken);
    let finding = finding.remedy("Stop other programs; `top` lists them");
    Some(finding.evidence([("other", share)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, bare_round, healthy, simulated};
    use record::{Grade, Run};
    use units::Nanos;

    fn run(change: impl Fn(&mut KernelCounters, &mut Budget)) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            let mut kernel = KernelCounters {
                listen_overflows: Some(0),
                listen_drops: Some(0),
                ..KernelCounters::default()
            };
            let mut budget = Budget {
                wall: Nanos::from_secs(1),
                cpus: 4,
                generator: Nanos::from_millis(400),
                server: Some(Nanos::from_millis(970)),
                user: Nanos::from_millis(500),
                system: Nanos::from_millis(870),
                ..Budget::default()
            };
            change(&mut kernel, &mut budget);
            (round.kernel, round.budget) = (Some(kernel), Some(budget));
        }
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn a_quiet_machine_passes_and_so_does_one_of_which_nothing_is_known() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&run(|_, _| {})), []);
    }

    #[test]
    fn one_connection_before_a_full_queue_qualifies() {
        let found = found(&run(|kernel, _| kernel.listen_overflows = Some(1)));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Caveat));
        assert!(
            found[0]
                .sentence
                .starts_with("5 connections met a full listen queue"),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn segments_that_were_sent_again_are_noted() {
        let found = found(&run(|kernel, _| {
            (kernel.retransmits, kernel.syn_retransmits) = (Some(2), Some(1));
        }));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Note));
        assert!(found[0].sentence.starts_with("10 TCP retransmits (5 SYN)"));
    }

    #[test]
    fn what_others_took_is_told_from_a_twentieth_of_the_machine_on() {
        type Change = fn(&mut KernelCounters, &mut Budget);
        let cases: &[(Change, usize)] = &[
            (|_, budget| budget.steal = Nanos::from_millis(199), 0),
            (|_, budget| budget.steal = Nanos::from_millis(200), 1),
            (|_, budget| budget.user += Nanos::from_millis(199), 0),
            (|_, budget| budget.user += Nanos::from_millis(200), 1),
            (
                |_, budget| (budget.user, budget.server) = (Nanos::from_secs(3), None),
                0,
            ),
            (
                |_, budget| {
                    (budget.wall, budget.steal) = (Nanos::from_millis(9), Nanos::from_secs(1))
                },
                0,
            ),
        ];
        for (index, (change, wanted)) in cases.iter().enumerate() {
            let found = found(&run(change));
            assert_eq!(found.len(), *wanted, "case {index}: {found:?}");
            assert!(found.iter().all(|each| each.grade() == Grade::Caveat));
        }
    }

    /// Five rounds of so many seconds on so many CPUs, half of whose time generator and server take, and `taken` of it
    /// others. Ticks find a CPU busy at random (in truth they are evenly spaced, which scatters less).
    fn sampled(chance: &mut Chance, cpus: u32, secs: u64, taken: f64) -> Vec<Round> {
        let wall = Nanos::from_secs(secs);
        let ticks = 100.0 * f64::from(cpus) * secs as f64;
        let round = |()| {
            let busy = 0.5 + taken;
            let found = ticks * busy + (ticks * busy * (1.0 - busy)).sqrt() * chance.normal();
            let budget = Budget {
                wall,
                cpus,
                generator: Nanos::from_millis((ticks * 2.5) as u64),
                server: Some(Nanos::from_millis((ticks * 2.5) as u64)),
                user: Nanos::from_millis((found.max(0.0) * 10.0) as u64),
                ..Budget::default()
            };
            Round {
                budget: Some(budget),
                ..bare_round()
            }
        };
        [(); 5].map(round).to_vec()
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for (cpus, secs, taken, from, to) in [
            (2, 1, 0.01, 0.005, 0.03),
            (4, 1, 0.01, 0.0, 0.005),
            (2, 5, 0.01, 0.0, 0.0),
            (2, 1, 0.10, 0.99, 1.0),
        ] {
            let found = simulated(|chance| others(&sampled(chance, cpus, secs, taken)).is_some());
            assert!(
                (from..=to).contains(&found),
                "{cpus} CPUs, {secs} s, {taken}: {found}"
            );
        }
    }
}

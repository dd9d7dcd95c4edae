//! Did one of the server's workers do most of the work?

use super::prelude::*;
use record::Workers;

pub(super) const CHECK: Check = Check {
    name: "workers",
    question: "Did one of the server's worker processes do most of the work?",
    looks_at: "The CPU time of each process with the same parent, over the window (median of the rounds). It \
               matters only where the busiest is saturated, and two workers or more have a CPU and a connection. Threads \
               of one process are not told apart.",
    thresholds: &[
        threshold(
            "CPU time of the busiest worker, of one CPU, from",
            || percent(BUSY_LEAST),
            "as for the generator's busiest thread, see `limit`",
        ),
        guess(
            "share of all workers' CPU time that the busiest took, from",
            || percent(SHARE_LEAST),
        ),
    ],
    false_alarms: "simulation of 10,000 servers whose kernel spreads connections over four workers at random \
                   (SO_REUSEPORT), which a test repeats: under 0.5 % with 10 connections, none with 20",
    power: "every saturated worker that did at least that share",
    effect: "A note: every figure stands, and requests/s is that of one worker.",
    remedy: "Spread connections over the workers.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// The busiest worker is saturated.
const BUSY_LEAST: f64 = 0.85;
/// It did most of the work.
const SHARE_LEAST: f64 = 0.80;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.rounds?;
    let typical = |of: &dyn Fn(&Workers, f64) -> f64| {
        let each = |round: &Round| {
            let print = round.priced()?;
            let wall = print.wall.as_secs_f64();
            (wall > 0.0).then_some(of(print.workers.as_ref()?, wall))
        };
        Round::typical(rounds, each)
    };
    let busiest = typical(&|workers, wall| workers.busiest.as_secs_f64() / wall)?;
    let all = typical(&|workers, wall| workers.cpu.as_secs_f64() / wall)?;
    let effective = typical(&|workers, _| workers.effective)?;
    let count_all = typical(&|workers, _| f64::from(workers.count))?;
    let cpus = Round::typical(rounds, |round| Some(round.footprint.as_ref()?.cpus_allowed))?;
    let connections = evidence
        .connections()
        .map_or(f64::INFINITY, |(_, busy)| busy.into());
    let usable = count_all.min(cpus).min(connections);
    if usable < 2.0 || busiest < BUSY_LEAST || busiest < SHARE_LEAST * all {
        return None;
    }
    let others = (all - busiest) / (count_all - 1.0);
    let sentence = format!(
        "one of {} did {} of the work: it used {} of one CPU, the others {} each",
        number(count_all as u64, "worker"),
        percent(busiest / all),
        percent(busiest),
        percent(others),
    );
    let remedy =
        "Spread connections over the workers: SO_REUSEPORT, an accept mutex, or more connections";
    Some(note(sentence).remedy(remedy).evidence([
        ("workers", count_all),
        ("workers that could be busy", usable),
        ("effective number", effective),
        ("busiest, of one CPU", busiest),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy};
    use record::Grade;

    /// The healthy run, whose server may use so many CPUs and whose workers were so busy, in percent.
    fn found(cpus: f64, busy: &[u64]) -> Option<Finding> {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            let print = round.footprint.as_mut().unwrap();
            let each: Vec<Nanos> = busy
                .iter()
                .map(|percent| Nanos::from_millis(percent * 10))
                .collect();
            (print.cpus_allowed, print.workers) = (cpus, Workers::of(&each));
        }
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn one_worker_that_does_nearly_all_is_noted() {
        let finding = found(4.0, &[97, 3, 2, 4]).unwrap();
        let wanted =
            "one of 4 workers did 92 % of the work: it used 97 % of one CPU, the others 3.0 % each";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Note)
        );
    }

    #[test]
    fn equal_idle_and_few_workers_are_healthy() {
        for (cpus, busy) in [
            (4.0, &[97, 90, 95, 93][..]),
            (4.0, &[97, 90, 0, 0]),
            (4.0, &[60, 1, 1, 1]),
            (1.0, &[97, 1, 1, 1]),
            (4.0, &[97]),
        ] {
            assert_eq!(found(cpus, busy), None, "{busy:?}");
        }
    }

    #[test]
    fn connections_spread_at_random_are_rarely_one_sided() {
        for (connections, most) in [(20, 0.0001), (10, 0.005)] {
            let mut chance = Chance::seeded();
            let found = (0..10_000).filter(|_| {
                let mut each = [0_u32; 4];
                (0..connections).for_each(|_| each[(chance.uniform() * 4.0) as usize] += 1);
                each.iter()
                    .any(|each| f64::from(*each) >= SHARE_LEAST * f64::from(connections))
            });
            let share = found.count() as f64 / 10_000.0;
            assert!(share < most, "{connections}: {share}");
        }
    }
}

//! Did the generator's threads get a CPU when they needed one?

use super::prelude::*;
use super::quota;

pub(super) const CHECK: Check = Check {
    name: "waiting",
    question: "Did the generator's threads get a CPU when they needed one?",
    looks_at: "The time that generator threads could run but waited for a CPU (schedstat), as a share of all \
               threads' time: the median over complete rounds of 10 ms and more. A thread that waits reads its clock \
               later, so the wait counts as the server's time. Waits for a CPU quota belong to `quota`.",
    thresholds: &[guess("share of time waited, over", || percent(WAIT_MOST))],
    false_alarms: "simulation of 10,000 runs of five rounds of 1 s in which a thread waits at random times, 4 ms in the mean \
                   (exponential), which a test repeats: where it waits 2 % of the time under 0.5 % of runs; on a crowded \
                   machine 96 % of 612 windows, where the waiting was real",
    power: "the same simulation: where it waits 8 % of the time over 95 % of runs",
    effect: "Latency gets a caveat.",
    remedy: "Use fewer --threads or another machine, or give generator and server CPUs of their own.",
    cause: Cause::GeneratorStarved,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// More waiting than this share of the threads' time is in the latencies.
const WAIT_MOST: f64 = 0.05;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.rounds?;
    if quota::of_generator(rounds).is_some() {
        return None; // what it waited for was its quota
    }
    let share = share(rounds).filter(|share| *share > WAIT_MOST)?;
    let headline = format!(
        "the load generator waited for a CPU {} of the time",
        percent(share)
    );
    let sentence = format!("{headline}, and latency includes these waits");
    let finding = caveat(&[Figure::Latency], headline, sentence).remedy(relief(evidence));
    Some(finding.evidence([("share of time waited for a CPU", share)]))
}

/// Whether the generator's threads had to wait for a CPU for longer than this check lets pass.
pub(super) fn is_long(rounds: &[Round]) -> bool {
    share(rounds).is_some_and(|share| share > WAIT_MOST)
}

/// What gives threads that wait a CPU.
pub(super) fn relief(evidence: &Evidence<'_>) -> String {
    let fewer = match evidence.plan().map_or(0, |plan| plan.threads()) {
        0 | 1 => "",
        _ => "fewer --threads, ",
    };
    format!("Use {fewer}another machine, or separate CPUs for generator and server")
}

/// The share of all threads' time that they waited for a CPU, in the typical round.
fn share(rounds: &[Round]) -> Option<f64> {
    Round::typical(rounds, Round::waited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{bare_round, busy_thread, healthy, simulated};
    use record::{Grade, Run};

    /// A run with two threads, of which one waited for a CPU this long in each second.
    fn run(waited: Option<Nanos>) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.threads = vec![busy_thread(0.1), busy_thread(0.1)];
            round.threads[1].run_queue_wait = waited;
        }
        run.plan.threads = 2;
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn up_to_five_per_cent_of_all_threads_time_pass() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&run(None)), [], "where Linux does not tell");
        assert_eq!(found(&run(Some(Nanos::from_millis(100)))), []);
        let found = found(&run(Some(Nanos::from_micros(100_001))));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Caveat));
        assert_eq!(found[0].effects.figures(), [Figure::Latency]);
    }

    #[test]
    fn how_much_is_said_and_what_to_do() {
        let mut run = run(Some(Nanos::from_millis(146)));
        let found_of_two = found(&run);
        assert_eq!(
            found_of_two[0].sentence,
            "the load generator waited for a CPU 7.3 % of the time, and latency includes these waits"
        );
        assert!(
            found_of_two[0]
                .remedy
                .as_ref()
                .unwrap()
                .starts_with("Use fewer --threads")
        );
        run.plan.threads = 1;
        assert!(
            found(&run)[0]
                .remedy
                .as_ref()
                .unwrap()
                .starts_with("Use another machine")
        );
    }

    #[test]
    fn one_disturbed_round_does_not_decide_and_one_too_short_has_no_say() {
        let mut run = run(Some(Nanos::from_millis(500)));
        for round in &mut run.points[0].rounds[..3] {
            round.threads[1].run_queue_wait = Some(Nanos::ZERO);
        }
        assert_eq!(found(&run), []);
        for round in &mut run.points[0].rounds[..3] {
            let just_less = Round::SHARES_FROM.saturating_sub(Nanos::from_nanos(1));
            round
                .threads
                .iter_mut()
                .for_each(|thread| thread.wall = just_less);
        }
        assert_eq!(found(&run).len(), 1);
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for (per_second, from, to) in [(5.0, 0.0, 0.005), (20.0, 0.95, 1.0)] {
            let found = simulated(|chance| {
                let rounds = [(); 5].map(|()| {
                    let (mut at, mut waited) = (chance.exponential(), 0.0);
                    while at < per_second {
                        waited += 0.004 * chance.exponential();
                        at += chance.exponential();
                    }
                    let mut thread = busy_thread(0.4);
                    thread.run_queue_wait = Some(Nanos::from_nanos((waited * 1e9) as u64));
                    Round {
                        threads: vec![thread],
                        ..bare_round()
                    }
                });
                let rounds = Some(&rounds[..]);
                judge(&Evidence {
                    rounds,
                    ..Evidence::default()
                })
                .is_some()
            });
            assert!((from..=to).contains(&found), "{per_second}: {found}");
        }
    }
}

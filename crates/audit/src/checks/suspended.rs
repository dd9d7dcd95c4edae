//! Was the machine awake all the time?

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "suspended",
    question: "Was the machine awake all the time?",
    looks_at: "CLOCK_BOOTTIME against CLOCK_MONOTONIC at the start and end of each round. All time stamps come from \
               CLOCK_MONOTONIC, which stands still while the machine is suspended; the other goes on. A virtual \
               machine that its host halts may not notice it.",
    thresholds: &[guess(
        "difference between the clocks in a round, over",
        || span(Round::SLEPT_OVER),
    )],
    false_alarms: "none by chance: without a suspension two readings of the clocks agree to about 0.1 us, which is the best \
                   of several",
    power: "every suspension of more than the threshold; a virtual machine that its host halts may not notice it",
    effect: "Every figure is void: latencies, rates and timeouts of such a round mean nothing.",
    remedy: "Measure again, and keep the machine awake: systemd-inhibit weigh run ...",
    cause: Cause::Paused,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.rounds.unwrap_or_default();
    let slept = rounds.iter().filter(|round| round.was_suspended());
    slept.map(found).collect()
}

fn found(round: &Round) -> Finding {
    let headline = format!("the machine was suspended for {}", span(round.suspended));
    let sentence = format!(
        "{headline} during round {}, and its clock stopped",
        round.number()
    );
    let evidence = [("suspended, s", round.suspended.as_secs_f64())];
    void(ALL, headline, sentence).evidence(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::Grade;
    use units::Nanos;

    #[test]
    fn a_round_in_which_the_machine_slept_makes_every_figure_worthless() {
        let most = Round::SLEPT_OVER.as_nanos();
        for (suspended, wanted) in [(0, 0), (most, 0), (most + 1, 1), (3_600_000_000_000, 1)] {
            let mut run = healthy();
            run.points[0].rounds[2].suspended = Nanos::from_nanos(suspended);
            let found = CHECK.findings(&Evidence::of(&run, &run.points[0]));
            assert_eq!(found.len(), wanted, "{suspended}");
            for finding in found {
                assert_eq!(
                    (finding.grade(), &finding.effects.figures()[..]),
                    (Grade::Invalid, ALL)
                );
                assert!(
                    finding
                        .sentence
                        .ends_with("during round 3, and its clock stopped")
                );
                assert!(
                    finding
                        .remedy
                        .is_some_and(|remedy| remedy.contains("keep the machine awake"))
                );
            }
        }
    }
}

//! Did weigh itself run all the time?

use super::prelude::*;
use plan::Load;
use record::{Paused, Quota};

pub(super) const CHECK: Check = Check {
    name: "paused",
    question: "Did weigh itself run all the time?",
    looks_at: "Whether each generator thread runs, every 10 ms. Time beyond that which is neither its CPU time nor \
               waiting for a CPU is a pause: SIGSTOP, Ctrl-Z, a frozen container, a halted machine. It looks as if \
               the server had stalled, so `omission` leaves it out of the stalls, `overload` leaves its rounds out, \
               and a timeout that it caused is blamed on the generator. Pauses by a CPU quota belong to `quota`.",
    thresholds: &[
        threshold(
            "a pause lasts at least",
            || "10 ms".to_owned(),
            "weigh looks that often",
        ),
        threshold(
            "share of the windows in an open loop, over",
            || percent(PAUSED_MOST),
            "a p99 would show no more of it",
        ),
    ],
    false_alarms: "none by chance: it is time in which a thread that was to run by an alarm neither ran nor waited for a \
                   CPU; a wait of 10 ms for a disk or for memory is such a time too",
    power: "every pause of over 20 ms; of shorter ones those that last 10 ms beyond the next look",
    effect: "Requests/s and latency get a caveat. In an open loop with longer pauses latency is void, because that \
             many requests were sent, or their responses read, late.",
    remedy: "Measure again without the interruption.",
    cause: Cause::Paused,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// The share of the windows in which the generator may be paused in an open loop: a p99 would show no more of it.
const PAUSED_MOST: f64 = 0.01;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.rounds?;
    let paused = rounds.iter().filter(|round| is_paused(round));
    let (mut all, mut longest) = (Paused::default(), None);
    for round in paused {
        let paused = round.paused();
        if paused.longest > all.longest {
            longest = Some(round.index);
        }
        all.count += paused.count;
        all.total += paused.total;
        all.longest = all.longest.max(paused.longest);
    }
    let windows: Nanos = rounds.iter().map(|round| round.window.span()).sum();
    let share = all.total.as_secs_f64() / windows.as_secs_f64().max(1e-9);
    Some(finding(evidence, all, longest?, share))
}

/// Whether the generator was paused in `round`, by something else than its CPU quota.
pub(super) fn is_paused(round: &Round) -> bool {
    let paused = round.paused();
    let throttled = Quota::most_throttled(round.quotas.iter());
    let by_quota = throttled.is_some_and(|quota| quota.time * 2 >= paused.total);
    !paused.is_none() && !by_quota
}

fn finding(evidence: &Evidence<'_>, all: Paused, longest: u32, share: f64) -> Finding {
    let round = count(u64::from(longest) + 1);
    let extent = match all.count {
        1 => format!("for at least {} in round {round}", span(all.total)),
        _ => format!(
            "{}, for at least {} in all, the longest {} in round {round}",
            number(all.count, "time"),
            span(all.total),
            span(all.longest)
        ),
    };
    let headline = format!("weigh itself was paused for {}", span(all.total));
    let sentence = format!(
        "weigh itself was paused {extent}: {} of the time (a signal such as SIGSTOP, a frozen container, a halted \
         machine), which looks like a stall of the server",
        percent(share)
    );
    let is_open = evidence.load.is_some_and(Load::is_open);
    let finding = if is_open && share > PAUSED_MOST {
        void(&[Figure::Latency], headline, sentence).and(Effect::Caveat, &[Figure::Rps])
    } else {
        caveat(SPEED, headline, sentence)
    };
    finding.evidence([
        ("pauses", all.count as f64),
        ("paused, s", all.total.as_secs_f64()),
        ("longest pause, s", all.longest.as_secs_f64()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{healthy, open_loop};
    use record::{Grade, Run};

    fn paused(count: u64, total: u64, longest: u64) -> Paused {
        Paused {
            count,
            total: Nanos::from_millis(total),
            longest: Nanos::from_millis(longest),
        }
    }

    /// `run` (five rounds of a second), whose second round had these pauses on one of its two threads.
    fn with(mut run: Run, paused: Paused) -> Run {
        let round = &mut run.points[0].rounds[1];
        round.threads.push(round.threads[0].clone());
        round.threads[1].paused = paused;
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn a_pause_touches_both_figures_and_makes_latency_of_an_open_loop_worthless_above_one_per_cent()
    {
        assert_eq!(found(&healthy()), []);
        let both: &[Figure] = &[Figure::Rps, Figure::Latency];
        for (run, total, grade, touched) in [
            (healthy(), 900, Grade::Caveat, both),
            (open_loop(), 50, Grade::Caveat, both),
            (open_loop(), 51, Grade::Invalid, both),
        ] {
            let found = found(&with(run, paused(1, total, total)));
            assert_eq!(
                (found[0].grade(), &found[0].effects.figures()[..]),
                (grade, touched)
            );
            let wanted = format!("weigh itself was paused for at least {total}.0 ms in round 2: ");
            let shown = found[0].sentence.replace("900 ms", "900.0 ms");
            assert!(shown.starts_with(&wanted), "{shown}");
        }
    }

    #[test]
    fn several_pauses_are_told_together() {
        let mut run = with(healthy(), paused(2, 300, 200));
        run.points[0].rounds[3].threads[0].paused = paused(1, 250, 250);
        let found = found(&run);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.starts_with(
                "weigh itself was paused 3 times, for at least 550 ms in all, the longest 250 ms in round 4: "
            ),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn what_a_quota_withheld_is_no_pause() {
        for (throttled, wanted) in [(100, 1), (150, 0)] {
            let mut run = with(healthy(), paused(3, 300, 100));
            run.points[0].rounds[1].quotas = vec![Quota {
                throttled: 3,
                time: Nanos::from_millis(throttled),
                ..Quota::default()
            }];
            assert_eq!(found(&run).len(), wanted, "{throttled}");
        }
    }
}

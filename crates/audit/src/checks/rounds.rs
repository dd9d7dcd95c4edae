//! Did requests end ok in every round?

use super::prelude::*;
use record::Kind;

pub(super) const CHECK: Check = Check {
    name: "rounds",
    question: "Did requests end ok in every round?",
    looks_at: "Complete rounds in which no request ended ok inside the window, or, where no round is complete, partial \
               rounds with nothing but errors. The mean over such a round and the others is the rate of neither: 0 \
               belongs neither among repetitions nor on a scale of logarithms.",
    thresholds: &[],
    false_alarms: "2.2 % of windows of 0.3 s with pinned threads on a crowded machine, in which indeed nothing ended",
    power: "every round without a response",
    effect: "Requests/s and its interval are void.",
    remedy: "See whether the server still runs, and what its log says. Where responses came only after the window, \
             measure longer than a response takes.",
    cause: Cause::Errors,
    judge,
};

/// The most rounds that are named.
const LISTED: usize = 5;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut rounds = evidence.complete().unwrap_or_default();
    if rounds.is_empty() {
        let cut = evidence.rounds.unwrap_or_default().iter();
        rounds = cut.filter(|round| only_failed(round)).collect();
    }
    let without = rounds.iter().filter(|round| round.tally.ok_in_window == 0);
    let (late, dead): (Vec<&Round>, Vec<&Round>) =
        without.partition(|round| round.tally.ok > 0 || round.tally.scheduled == 0);
    let dead = (!dead.is_empty()).then(|| nothing(&dead, rounds.len()));
    let late = (!late.is_empty()).then(|| too_late(&late, rounds.len()));
    dead.into_iter().chain(late).collect()
}

/// Nothing succeeded, and requests failed that no interrupt cut off.
fn only_failed(round: &Round) -> bool {
    let failed = reasons::by_kind(&round.tally, |kind| !kind.is_censored());
    round.tally.ok == 0 && !failed.is_empty()
}

fn nothing(dead: &[&Round], complete: usize) -> Finding {
    let mut tally = Tally::default();
    dead.iter()
        .for_each(|round| tally.faults.merge(&round.tally.faults));
    let most = reasons::most(&tally);
    let why = most.map_or(String::new(), |kind| {
        format!("; mostly because {}", reasons::because(kind))
    });
    let remedy = if most.is_some_and(reasons::is_answer) {
        "Look at a response with --show-exchange, or name the expected status with --expect"
    } else if most == Some(Kind::Certificate) {
        reasons::CHANGED_CERTIFICATE
    } else {
        "Check whether the server still runs, and its log"
    };
    let headline = format!("no request succeeded in {}", named(dead, complete));
    let sentence = format!("{headline}{why}");
    void(&[Figure::Rps, Figure::Interval], headline, sentence)
        .remedy(remedy)
        .evidence(counts(dead, complete))
}

fn too_late(late: &[&Round], complete: usize) -> Finding {
    let afterwards: u64 = late
        .iter()
        .map(|round| round.tally.ok)
        .fold(0, u64::saturating_add);
    let headline = format!(
        "no request fits into the window in {}",
        named(late, complete)
    );
    let sentence = match afterwards {
        0 => format!("{headline}: none began in it"),
        _ => {
            let after = number(afterwards, "request");
            format!("{headline}; {after} succeeded after it")
        }
    };
    void(&[Figure::Rps, Figure::Interval], headline, sentence)
        .because(Cause::ShortWindow)
        .remedy("Measure longer than a response takes, with --duration")
        .options("--duration 30s")
        .evidence(counts(late, complete))
}

fn counts(rounds: &[&Round], complete: usize) -> [(&'static str, f64); 2] {
    [
        ("rounds without an ok ending", rounds.len() as f64),
        ("complete rounds", complete as f64),
    ]
}

/// `round 2`, `rounds 2 and 4`, `any of the 5 rounds`.
fn named(rounds: &[&Round], complete: usize) -> String {
    match rounds {
        [only] => format!("round {}", only.number()),
        all if all.len() == complete => {
            format!("any of the {} rounds", count(complete as u64))
        }
        some => {
            let numbers = some.iter().map(|round| round.number());
            format!("rounds {}", list_some(numbers.collect(), LISTED, "other"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{fail, healthy, round};
    use record::{Blame, Grade, Kind, Run};
    use units::Nanos;

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    /// The healthy run, in whose rounds of these numbers nothing ended well and one exchange failed.
    fn dead(rounds: &[usize], kind: Kind, status: u16) -> Run {
        let mut run = healthy();
        for &at in rounds {
            let tally = &mut run.points[0].rounds[at].tally;
            *tally = Tally::default();
            fail(tally, kind, status);
        }
        run
    }

    #[test]
    fn one_good_ending_in_each_round_is_enough_and_none_voids_the_rate() {
        for (ok, findings) in [(1, 0), (0, 1)] {
            let mut run = healthy();
            let tally = &mut run.points[0].rounds[1].tally;
            (tally.ok, tally.ok_in_window) = (ok, ok);
            let found = found(&run);
            assert_eq!(found.len(), findings, "{found:?}");
            for finding in found {
                assert_eq!(finding.grade(), Grade::Invalid);
                assert_eq!(finding.effects.figures(), [Figure::Rps, Figure::Interval]);
                assert_eq!(finding.sentence, "no request succeeded in round 2");
            }
        }
    }

    #[test]
    fn a_partial_round_counts_where_none_is_complete_and_it_has_nothing_but_failures() {
        for (kind, findings) in [(Kind::Status5xx, 1), (Kind::Unfinished, 0)] {
            let mut run = dead(&[0], kind, 503);
            run.points[0].rounds[0].partial = true;
            assert_eq!(found(&run).len(), 0, "the others are complete");
            run.points[0].rounds.truncate(1);
            let found = found(&run);
            assert_eq!(found.len(), findings, "{kind:?}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|finding| finding.grade() == Grade::Invalid)
            );
        }
    }

    #[test]
    fn a_round_without_any_request_has_too_short_a_window() {
        let mut run = healthy();
        run.points[0].rounds[1].tally = Tally::default();
        let found = &found(&run)[0];
        assert_eq!(found.cause, Cause::ShortWindow);
        assert_eq!(
            found.sentence,
            "no request fits into the window in round 2: none began in it"
        );
    }

    #[test]
    fn the_rounds_are_named_with_the_reason() {
        let cases: &[(&[usize], &str)] = &[
            (
                &[1],
                "no request succeeded in round 2; mostly because the connection was reset",
            ),
            (
                &[1, 3],
                "no request succeeded in rounds 2 and 4; mostly because the connection was reset",
            ),
            (
                &[0, 1, 2, 3, 4],
                "no request succeeded in any of the 5 rounds; mostly because the connection was reset",
            ),
        ];
        for (rounds, wanted) in cases {
            assert_eq!(found(&dead(rounds, Kind::Reset, 0))[0].sentence, *wanted);
        }
        let mut run = healthy();
        run.points[0].rounds = (0..9).map(round).collect();
        for round in &mut run.points[0].rounds[1..] {
            (round.tally.ok, round.tally.ok_in_window) = (0, 0);
        }
        assert_eq!(
            found(&run)[0].sentence,
            "no request succeeded in rounds 2, 3, 4, 5, 6 and 3 others"
        );
    }

    #[test]
    fn a_dead_server_and_a_wrong_answer_have_different_remedies() {
        let remedy = |kind, status| found(&dead(&[2], kind, status))[0].remedy.clone().unwrap();
        assert!(remedy(Kind::ConnectRefused, 0).starts_with("Check whether the server still runs"));
        assert!(remedy(Kind::Status4xx, 404).contains("--expect"));
    }

    #[test]
    fn the_reason_is_that_of_those_rounds_alone() {
        let mut run = dead(&[1], Kind::Reset, 0);
        let tally = &mut run.points[0].rounds[0].tally;
        tally.scheduled += 9;
        tally.observe_never_sent(9, Nanos::from_secs(1), Blame::Server);
        assert!(
            found(&run)[0]
                .sentence
                .ends_with("the connection was reset")
        );
    }

    #[test]
    fn what_ended_well_after_its_window_needs_a_longer_one() {
        let mut run = healthy();
        run.points[0].rounds[1].tally.ok_in_window = 0;
        let found = found(&run);
        assert_eq!(
            found[0].sentence,
            "no request fits into the window in round 2; 10,000 requests succeeded after it"
        );
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Invalid));
    }

    #[test]
    fn a_partial_round_has_no_say() {
        let mut run = dead(&[4], Kind::Reset, 0);
        run.points[0].rounds[4].partial = true;
        assert_eq!(found(&run), []);
    }
}

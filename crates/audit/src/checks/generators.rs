//! Do two generator processes get more requests/s than one?

use super::prelude::*;
use record::{Ratio, SplitGenerators};

pub(super) const CHECK: Check = Check {
    name: "generators",
    question: "Do two generator processes get more requests/s than one?",
    looks_at: "With --two-generators, the ratio of requests/s with two generator processes to requests/s with one, \
               over the pairs of complete rounds, with its 95 % interval. In an open loop also the ratio of p99.",
    thresholds: &[
        guess(
            "more requests/s with two, and the whole interval above 1",
            || percent(MOVED),
        ),
        guess(
            "room in the interval above 1 for \"one was not the bottleneck\"",
            || percent(UNSURE),
        ),
        threshold(
            "lower p99 with two, and the whole interval under 1",
            || percent(LOWER),
            "a guess; p99 varies more than a rate",
        ),
    ],
    false_alarms: "at most 2.5 %: it takes a whole interval of 95 % above 1",
    power: "low for differences under 5 %: five pairs with a scatter of 3 % mostly tell nothing",
    effect: "More requests/s with two: one generator was the bottleneck, and requests/s is a lower bound. Lower p99 \
             with two: latency gets a caveat. Anything else is a note. Under three pairs there is no interval, and \
             nothing follows.",
    remedy: "Give the generator more --threads or CPUs, or load from several machines.",
    cause: Cause::Other,
    judge,
};

/// Requests per second that differ by no more than this are the same.
const MOVED: f64 = 0.02;
/// An interval that reaches further than this above one decides nothing.
const UNSURE: f64 = 0.05;
/// A 99th percentile varies more than a rate: it must be lower by more than this.
const LOWER: f64 = 0.10;

/// Meaning of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    Up,
    Down,
    Not,
    Unknown,
}

/// Whether what is measured with two generators is more than with one, by more than `least`.
fn moved(ratio: &Ratio, least: f64) -> Moved {
    let low = ratio.low.unwrap_or(0.0);
    let high = ratio.high.unwrap_or(f64::INFINITY);
    if low > 1.0 && ratio.centre > 1.0 + least {
        Moved::Up
    } else if high < 1.0 && ratio.centre < 1.0 / (1.0 + least) {
        Moved::Down
    } else if high <= 1.0 + UNSURE {
        Moved::Not
    } else {
        Moved::Unknown
    }
}

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (Some(split), Some(rounds)) = (evidence.split, evidence.rounds) else {
        return Vec::new();
    };
    let rate = match split.rps(rounds) {
        Some(ratio) => Some(compared(&ratio)),
        None => split.pairs(rounds).next().map(|_| nothing()),
    };
    let is_open = evidence.load.is_some_and(plan::Load::is_open);
    let p99 = split.latency_p99(rounds).filter(|_| is_open);
    let latency = p99.as_ref().and_then(quicker);
    rate.into_iter()
        .chain(latency)
        .chain(failed(split))
        .collect()
}

/// `1.31 times the requests/s of one (95 % interval 1.28 .. 1.35, 5 pairs of rounds)`
fn times(ratio: &Ratio, of: &str) -> String {
    let pairs = counted(ratio.pairs.into(), "pair of rounds", "pairs of rounds");
    let centre = ratio.centre;
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!("{centre:.3} times {of} (95 % interval {low:.3} .. {high:.3}, {pairs})")
        }
        _ => format!("{centre:.3} times {of} ({pairs})"),
    }
}

fn compared(ratio: &Ratio) -> Finding {
    let got = format!(
        "two generators got {}",
        times(ratio, "the requests/s of one")
    );
    let finding = match moved(ratio, MOVED) {
        Moved::Up => {
            let sentence = format!("{got}, so one was the bottleneck");
            let headline = format!("two generators get {:.2} times the requests/s", ratio.centre);
            lower_bound(headline, sentence).because(Cause::GeneratorSaturated)
        }
        Moved::Down => note(format!(
            "{got}: two use more of the machine than one, which leaves open whether one was the bottleneck"
        ))
        .remedy("Compare with generators and server on CPUs of their own"),
        Moved::Not => note(format!("{got}, so one was not the bottleneck")),
        Moved::Unknown => note(format!(
            "{got}, which leaves open whether one was the bottleneck"
        ))
        .remedy("Measure more --rounds, or longer ones"),
    };
    evidence_of(finding, ratio)
}

fn evidence_of(finding: Finding, ratio: &Ratio) -> Finding {
    let finding = finding.evidence([("ratio", ratio.centre), ("pairs", ratio.pairs.into())]);
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => finding.evidence([("low", low), ("high", high)]),
        _ => finding,
    }
}

fn nothing() -> Finding {
    note("one and two generators cannot be compared: a round has no ok response")
}

/// Where two generators see shorter response times, the difference was not the server's.
fn quicker(ratio: &Ratio) -> Option<Finding> {
    let is_quicker = moved(ratio, LOWER) == Moved::Down;
    is_quicker.then(|| {
        let sentence = format!(
            "p99 with two generators is {}, so the generator causes a part of it",
            times(ratio, "that with one")
        );
        let headline = "the load generator causes a part of p99";
        let finding = caveat(&[Figure::Latency], headline, sentence).because(Cause::GeneratorLate);
        evidence_of(finding, ratio)
    })
}

fn failed(split: &SplitGenerators) -> Option<Finding> {
    let why = split.failed.as_ref()?;
    Some(note(format!(
        "only {} could be measured with two generators: {why}; requests of the failed round are not counted",
        number(split.rounds.len() as u64, "round")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{healthy, open_loop};
    use record::{Grade, Round, Run};
    use units::Nanos;

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    /// The healthy run, each round of which two generators do in a window of `1/ratio`.
    fn doubled(mut run: Run, ratios: &[f64]) -> Run {
        let rounds: Vec<Round> = run.points[0]
            .rounds
            .iter()
            .zip(ratios)
            .map(scaled)
            .collect();
        run.points[0].split_mut().rounds = rounds;
        run.plan.two_generators = true;
        run.summarise();
        run
    }

    fn scaled((round, ratio): (&Round, &f64)) -> Round {
        let mut round = round.clone();
        let span = Nanos::from_nanos((1e9 / ratio) as u64);
        round.window.end = round.window.start + span;
        round
    }

    #[test]
    fn a_run_by_one_generator_is_not_asked() {
        assert_eq!(found(&healthy()), []);
    }

    #[test]
    fn the_answer_depends_on_the_ratio_and_its_interval() {
        use Grade::{Caveat, Note};
        let cases: &[(&[f64], Grade, &str)] = &[
            (
                &[1.3, 1.31, 1.29, 1.3, 1.3],
                Caveat,
                ", so one was the bottleneck",
            ),
            (
                &[1.3, 1.3001],
                Note,
                "(2 pairs of rounds), which leaves open whether",
            ),
            (&[1.3], Note, "which leaves open whether"),
            (&[1.021; 5], Caveat, ", so one was the bottleneck"),
            (&[1.019; 5], Note, ", so one was not the bottleneck"),
            (
                &[1.0, 1.01, 0.99, 1.0, 1.0],
                Note,
                ", so one was not the bottleneck",
            ),
            (&[0.981; 5], Note, ", so one was not the bottleneck"),
            (&[0.979; 5], Note, "two use more of the machine than one"),
            (
                &[0.7, 0.71, 0.72, 0.7, 0.7],
                Note,
                "which leaves open whether",
            ),
            // Beyond chance it is neither more nor less, but the interval has room for much more.
            (
                &[1.3, 0.8, 1.2, 1.0, 1.1],
                Note,
                "which leaves open whether",
            ),
            (&[1.0, 1.0], Note, "which leaves open whether"),
        ];
        for (ratios, grade, wanted) in cases {
            let found = found(&doubled(healthy(), ratios));
            assert_eq!(found.len(), 1, "{ratios:?}: {found:?}");
            assert_eq!(
                found[0].grade(),
                *grade,
                "{ratios:?}: {}",
                found[0].sentence
            );
            assert!(
                found[0].sentence.contains(wanted),
                "{ratios:?}: {}",
                found[0].sentence
            );
            let touches = if *grade == Note {
                &[][..]
            } else {
                &[Figure::Rps]
            };
            assert_eq!(found[0].effects.figures(), touches);
        }
    }

    #[test]
    fn an_interval_with_room_for_a_twentieth_more_is_narrow_enough() {
        let ratio = |high| Ratio {
            centre: 1.0,
            low: Some(0.95),
            high: Some(high),
            pairs: 5,
        };
        assert_eq!(moved(&ratio(1.05), MOVED), Moved::Not);
        assert_eq!(moved(&ratio(1.050_001), MOVED), Moved::Unknown);
    }

    #[test]
    fn the_interval_and_the_number_of_pairs_are_said() {
        let found = found(&doubled(healthy(), &[1.3, 1.31, 1.29]));
        let sentence = &found[0].sentence;
        assert!(
            sentence.starts_with(
                "two generators got 1.300 times the requests/s of one (95 % interval 1.2"
            ) && sentence.contains("3 pairs of rounds)"),
            "{sentence}"
        );
        assert_eq!(found[0].evidence.len(), 4);
    }

    #[test]
    fn in_an_open_loop_a_part_of_p99_that_two_generators_do_not_have_is_ones_own() {
        for (shrink, findings) in [(100, 1), (91, 1), (90, 2), (50, 2)] {
            let mut run = doubled(open_loop(), &[1.0; 5]);
            for round in &mut run.points[0].split_mut().rounds {
                let open = round.tally.open.as_mut().unwrap();
                let mut shrunk = stats::Histogram::new();
                (0..1_000).for_each(|_| shrunk.record(199_000 * shrink / 100));
                open.response = shrunk;
            }
            for round in &mut run.points[0].rounds {
                let open = round.tally.open.as_mut().unwrap();
                open.response = stats::Histogram::new();
                (0..1_000).for_each(|_| open.response.record(199_000));
            }
            let found = found(&run);
            assert_eq!(found.len(), findings, "{shrink} %: {found:?}");
            let wanted = (Grade::Caveat, vec![Figure::Latency]);
            let latency = found.get(1);
            assert!(
                latency.is_none_or(|each| (each.grade(), each.effects.figures()) == wanted),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_failed_is_said_and_what_was_measured_before_it_is_compared() {
        let mut run = doubled(healthy(), &[1.0, 1.0, 1.0]);
        run.points[0].split_mut().failed = Some("one of them died".into());
        let found = found(&run);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[1].sentence,
            "only 3 rounds could be measured with two generators: one of them died; requests of the failed round are not \
             counted"
        );
        assert_eq!(found[1].grade(), Grade::Note);
    }

    #[test]
    fn rounds_in_which_nothing_ended_well_have_no_ratio() {
        let mut run = doubled(healthy(), &[1.0; 5]);
        run.points[0].split_mut().rounds[2].tally.ok_in_window = 0;
        let found = found(&run);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.contains("cannot be compared"),
            "{found:?}"
        );
    }
}

//! Does the server's memory grow from round to round?

use super::prelude::*;
use units::bytes;

pub(super) const CHECK: Check = Check {
    name: "memory",
    question: "Does the server's memory grow from round to round?",
    looks_at: "The server's own memory (PSS) after each complete round of one load level, in the order of the rounds: \
               the same load should find it where the round before left it. Mann and Kendall's trend test, with its \
               exact law. Under five rounds no trend is rare enough.",
    thresholds: &[
        threshold(
            "chance that as many pairs of rounds rise in random order, at most",
            || percent(CHANCE_MOST),
            "exact: five rounds must all rise (1 of 120 orders)",
        ),
        guess("growth from the first round to the last, from", || {
            percent(GROWTH_LEAST)
        }),
        guess("and from", || bytes(BYTES_LEAST)),
    ],
    false_alarms: "by the exact law at most 1 % where memory only scatters; a heap or a cache that still fills is found \
                   too, and not told from a leak",
    power: "simulation, five rounds, which a test repeats: growth of three times the scatter in each round is found in \
            over 80 % of runs, of once the scatter in under 40 %",
    effect: "A note: every figure stands.",
    remedy: "Measure longer, with --duration or --rounds, and see whether it levels off.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Chance of a false alarm.
const CHANCE_MOST: f64 = 0.01;
/// Less growth than this share is not worth a note.
const GROWTH_LEAST: f64 = 0.05;
/// Nor is less than so many bytes.
const BYTES_LEAST: u64 = 1 << 20;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.complete()?;
    let held = |round: &&Round| round.footprint.as_ref()?.memory?.after;
    let held: Option<Vec<u64>> = rounds.iter().map(held).collect();
    let held = held?;
    let (first, last) = (*held.first()?, *held.last()?);
    let grown = last.checked_sub(first)?;
    if !is_rising(&held) || grown < BYTES_LEAST || (grown as f64) < GROWTH_LEAST * first as f64 {
        return None;
    }
    let requests: u64 = rounds[1..]
        .iter()
        .map(|round| round.tally.requests())
        .fold(0, u64::saturating_add);
    let each = grown as f64 / requests.max(1) as f64;
    let sentence = format!(
        "the server's memory grew over {}: {} after the first, {} after the last, {} a request",
        number(held.len() as u64, "round"),
        bytes(first),
        bytes(last),
        bytes(each.round() as u64),
    );
    let remedy = "Measure longer, with --rounds 20, and see whether it levels off (a heap or a cache that fills) or \
                  not (a leak)";
    Some(note(sentence).remedy(remedy).evidence([
        ("bytes after the first round", first as f64),
        ("bytes after the last round", last as f64),
        ("bytes a request", each),
    ]))
}

fn is_rising(held: &[u64]) -> bool {
    let values: Vec<f64> = held.iter().map(|bytes| *bytes as f64).collect();
    stats::rising_chance(&values).is_some_and(|chance| chance <= CHANCE_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy};
    use record::{Grade, Memory};

    fn found(mebibytes: &[u64]) -> Option<Finding> {
        let mut run = healthy();
        for (round, held) in run.points[0].rounds.iter_mut().zip(mebibytes) {
            let memory = Memory {
                after: Some(held << 20),
                ..Memory::default()
            };
            round.footprint.as_mut().unwrap().memory = Some(memory);
        }
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn memory_that_rises_with_every_round_is_noted_with_its_bytes_a_request() {
        let finding = found(&[40, 44, 50, 51, 80]).unwrap();
        let wanted = "the server's memory grew over 5 rounds: 40.0 MiB after the first, 80.0 MiB after the last, 1.02 KiB a \
                      request";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Note)
        );
    }

    #[test]
    fn memory_that_stays_scatters_or_grows_little_is_healthy() {
        for held in [
            [40, 40, 40, 40, 40],
            [40, 44, 43, 50, 80],
            [100, 101, 102, 103, 104],
            [80, 51, 50, 44, 40],
        ] {
            assert_eq!(found(&held), None, "{held:?}");
        }
        assert_eq!(found(&[40, 44]), None, "the other rounds do not know it");
    }

    /// The share of 10,000 runs of five rounds that are found to rise by `growth` a round, in units of the scatter.
    fn simulated(growth: f64) -> f64 {
        let mut chance = Chance::seeded();
        let found = (0..10_000).filter(|_| {
            let held = [0.0, 1.0, 2.0, 3.0, 4.0]
                .map(|round| 1e6 + 1e3 * (growth * round + chance.normal()));
            is_rising(&held.map(|held| held as u64))
        });
        found.count() as f64 / 10_000.0
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        assert!(simulated(0.0) <= 0.01);
        assert!(simulated(3.0) > 0.8);
        assert!(simulated(1.0) < 0.4);
    }
}

//! Did requests/s change while it was measured?

use super::bins::{Bins, bins};
use super::modes;
use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "drift",
    question: "Did requests/s change within a round, or drift from round to round?",
    looks_at: "Closed loops. Within a round: the ok endings in bins of 100 ms (30 whole bins or more). The sum of their \
               ranks up to each bin is compared with that of a series without a change but with the same memory from \
               bin to bin (AR(1), of all rounds), so that neither a stall nor a slow wave is a change. Over rounds: \
               Mann and Kendall's trend test of requests/s. Where there are two states (see `modes`), their switches \
               are no change.",
    thresholds: &[
        threshold(
            "largest change of ranks, in standard deviations, over",
            || CHANGE_LEAST.to_string(),
            "simulation: 1 % of runs of five rounds with the strongest memory, AR(1) of 0.8",
        ),
        guess("bins before the change, and after it, from", || {
            SEGMENT_LEAST.to_string()
        }),
        threshold(
            "chance that as many pairs of rounds rise (or fall) in random order, at most",
            || percent(CHANCE_MOST),
            "exact: five rounds must all rise (1 of 120 orders)",
        ),
        guess("change of requests/s, from", || percent(SIZE_LEAST)),
    ],
    false_alarms: "simulation of 2,000 runs of five rounds of 50 bins with a scatter of 20 %, normal, skewed or with \
                   stalls, AR(1) 0 to 0.8, which a test repeats: a change in at most 1.5 % of runs, and in at most \
                   0.2 % up to 0.3; a trend by the exact law in 1.7 %",
    power: "the same simulation with AR(1) 0.3: a change in the middle of one round by three times the scatter is found \
            in over 90 % of runs, by twice in over half, by once in under 10 %",
    effect: "Requests/s and latency get a caveat: they are means of what was before and after.",
    remedy: "Look at what else ran, and at the server's log, at that time; give a longer --warmup where requests/s rises \
             at first. Measure again.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Standard deviations of the sum of ranks.
const CHANGE_LEAST: f64 = 5.6;
/// A shorter part of a round is a stall or a burst.
const SEGMENT_LEAST: usize = 5;
/// Chance of a trend by accident, in each direction.
const CHANCE_MOST: f64 = 0.01;
/// A smaller change is not worth a caveat.
const SIZE_LEAST: f64 = 0.10;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let bins = bins(evidence);
    let change = match modes::states(&bins) {
        Some(_) => None,
        None => changed(&bins),
    };
    change.or_else(|| trend(evidence))
}

fn changed(bins: &[Bins<'_>]) -> Option<Finding> {
    let series: Vec<&[f64]> = bins.iter().map(|bins| &bins.rates[..]).collect();
    let changes = changes(&series);
    let worst = changes
        .iter()
        .max_by(|one, other| one.strength.total_cmp(&other.strength))?;
    let of = &bins[worst.series];
    let at = of.width * worst.first as u64;
    let [before, after] = [worst.before, worst.after].map(units::rate);
    let also = match changes.len() as u64 - 1 {
        0 => String::new(),
        others => format!(" (also in {})", number(others, "other round")),
    };
    let headline = format!("requests/s changed from {before} to {after}");
    let sentence = format!(
        "requests/s changed at {:.1} s of round {} from {before} to {after}{also}",
        at.as_secs_f64(),
        of.round.number(),
    );
    Some(caveat(SPEED, headline, sentence).evidence([
        ("seconds into the round", at.as_secs_f64()),
        ("requests/s before", worst.before),
        ("requests/s after", worst.after),
        ("change of ranks, standard deviations", worst.strength),
    ]))
}

fn trend(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.complete()?;
    if evidence.load?.is_open() {
        return None;
    }
    let rates: Vec<f64> = rounds.iter().map(|round| round.rps()).collect();
    let (first, last) = (*rates.first()?, *rates.last()?);
    let negated: Vec<f64> = rates.iter().map(|rate| -rate).collect();
    let chance = stats::rising_chance(&rates)?.min(stats::rising_chance(&negated)?);
    if chance > CHANCE_MOST || !is_large(first, last) {
        return None;
    }
    let [from, to] = [first, last].map(units::rate);
    let headline = format!("requests/s drifts over the rounds from {from} to {to}");
    let remedy = "Give a longer --warmup where requests/s rises; where it falls, look at memory, temperature and other \
                  programs";
    let finding = caveat(SPEED, headline.clone(), headline).remedy(remedy);
    Some(finding.evidence([
        ("requests/s in the first round", first),
        ("requests/s in the last round", last),
    ]))
}

fn is_large(before: f64, after: f64) -> bool {
    (after / before - 1.0).abs() >= SIZE_LEAST
}

/// A change within one of several series.
#[derive(Debug, PartialEq)]
struct Change {
    series: usize,
    /// Its first value after the change.
    first: usize,
    /// Standard deviations of the change of ranks.
    strength: f64,
    /// The medians on either side.
    before: f64,
    after: f64,
}

/// The strongest split of a series of ranks.
struct Split {
    first: usize,
    /// Change of the sum of ranks, in units of its variance being that of independent ranks.
    jump: f64,
    /// Ranks less the mean of their side.
    rest: Vec<f64>,
}

/// Returns the series that change, each at its strongest split.
fn changes(series: &[&[f64]]) -> Vec<Change> {
    let splits: Vec<Split> = series.iter().filter_map(|values| split(values)).collect();
    if splits.len() < series.len() {
        return Vec::new(); // one is too short
    }
    let memory = memory(&splits);
    let change = |(at, (split, values)): (usize, (&Split, &&[f64]))| {
        let squares: f64 = split.rest.iter().map(|rest| rest * rest).sum();
        let variance = squares / (values.len() as f64 - 2.0) * (1.0 + memory) / (1.0 - memory);
        let strength = if variance > 0.0 {
            split.jump / variance.sqrt()
        } else {
            f64::MAX
        };
        let (before, after) = values.split_at(split.first);
        let (before, after) = (stats::median(before)?, stats::median(after)?);
        let is_change = strength > CHANGE_LEAST && is_large(before, after);
        is_change.then_some(Change {
            series: at,
            first: split.first,
            strength,
            before,
            after,
        })
    };
    splits
        .iter()
        .zip(series)
        .enumerate()
        .filter_map(change)
        .collect()
}

/// The correlation of neighbours in what the splits leave over, corrected for its bias in short series.
fn memory(splits: &[Split]) -> f64 {
    let (mut lagged, mut squares, mut length) = (0.0, 0.0, f64::INFINITY);
    for Split { rest, .. } in splits {
        lagged += rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        squares += rest.iter().map(|rest| rest * rest).sum::<f64>();
        length = length.min(rest.len() as f64);
    }
    let found = if squares > 0.0 { lagged / squares } else { 0.0 };
    (found + (3.0 + 6.0 * found) / length).clamp(0.0, 0.9)
}

fn split(values: &[f64]) -> Option<Split> {
    let ranks = ranks(values);
    let n = ranks.len();
    let mut sum: f64 = ranks.iter().take(SEGMENT_LEAST - 1).sum();
    let mut best = (0.0, None);
    for first in SEGMENT_LEAST..=n.checked_sub(SEGMENT_LEAST)? {
        sum += ranks[first - 1];
        let jump = sum.abs() / (first as f64 * (n - first) as f64 / n as f64).sqrt();
        if best.1.is_none() || jump > best.0 {
            best = (jump, Some(first));
        }
    }
    let first = best.1?;
    let (before, after) = ranks.split_at(first);
    let rest = [before, after].map(|side| {
        let mean = stats::mean(side).unwrap_or_default();
        side.iter().map(move |rank| rank - mean)
    });
    Some(Split {
        first,
        jump: best.0,
        rest: rest.into_iter().flatten().collect(),
    })
}

/// Ranks less their mean; equals have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equals in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let mean = before as f64 + (equals.len() as f64 - 1.0) / 2.0;
        equals
            .iter()
            .for_each(|at| ranks[*at] = mean - (values.len() as f64 - 1.0) / 2.0);
        before += equals.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy};
    use record::{Grade, Run, Series};

    /// The healthy run with rounds of 5 s, whose second has these endings in each bin, and the others 5,000.
    fn run(second: impl Fn(u64) -> u64) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.window.end = round.window.start + Nanos::from_secs(5);
            let mut series = Series::default();
            for bin in 0..50 {
                let ok = if round.index == 1 {
                    second(bin)
                } else {
                    5_000 + bin * 7 % 10
                };
                series.add(Series::INTERVAL * bin, ok, 0);
            }
            round.tally.ok_in_window = series.ok.iter().sum();
            round.tally.series = series;
        }
        run
    }

    fn found(run: &Run) -> Option<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn a_change_within_a_round_is_told_with_time_and_rates() {
        let finding = found(&run(|bin| {
            if bin < 32 {
                6_900 + bin % 7
            } else {
                5_000 + bin % 7
            }
        }))
        .unwrap();
        let wanted = "requests/s changed at 3.2 s of round 2 from 69,030 to 50,035";
        assert_eq!(finding.sentence, wanted);
        assert_eq!(
            (finding.grade(), finding.effects.figures()),
            (Grade::Caveat, SPEED.to_vec())
        );
    }

    #[test]
    fn steady_rounds_small_changes_stalls_and_levels_of_rounds_are_none() {
        let cases: [fn(u64) -> u64; 5] = [
            |bin| 5_000 + bin * 7 % 10,
            |_| 5_000,
            |bin| if bin < 25 { 5_000 } else { 4_600 },
            |bin| {
                if (20..23).contains(&bin) {
                    0
                } else {
                    5_000 + bin * 7 % 10
                }
            },
            |bin| 3_000 + bin * 7 % 10,
        ];
        for (at, case) in cases.into_iter().enumerate() {
            assert_eq!(found(&run(case)), None, "{at}");
        }
    }

    #[test]
    fn rounds_that_fall_one_after_the_other_drift() {
        for (times, is_found) in [(400, true), (200, false)] {
            let mut run = healthy();
            for round in &mut run.points[0].rounds {
                round.tally.ok_in_window = 10_000 - times * u64::from(round.index);
            }
            let finding = found(&run);
            assert_eq!(finding.is_some(), is_found, "{finding:?}");
            let wanted = "requests/s drifts over the rounds from 10,000 to 8,400";
            assert!(finding.is_none_or(|finding| finding.sentence == wanted));
        }
    }

    #[test]
    fn a_rate_that_follows_a_schedule_is_not_judged() {
        let mut run = run(|bin| if bin < 32 { 6_900 } else { 5_000 });
        run.points[0].level.load = crate::fixture::open_loop().points[0].level.load;
        assert_eq!(found(&run), None);
    }

    /// How values scatter, with mean 0 and about standard deviation 1.
    type Scatter = fn(&mut Chance) -> f64;
    const NORMAL: Scatter = Chance::normal;
    const SKEWED: Scatter = |chance| 1.0 - chance.exponential();
    const STALLS: Scatter = |chance| {
        let stall = if chance.uniform() < 0.05 {
            5.0 * chance.exponential()
        } else {
            0.0
        };
        chance.normal() - stall
    };

    /// The share of 2,000 runs of five rounds of 50 bins that are found to change; the third does so by `change`.
    fn simulated(scatter: Scatter, memory: f64, change: f64) -> f64 {
        let mut chance = Chance::seeded();
        let found = (0..2_000).filter(|_| {
            let rounds = [0.0, 0.0, change, 0.0, 0.0].map(|change| {
                let mut state = scatter(&mut chance);
                let mut next = |bin: usize| {
                    state = memory * state + (1.0 - memory * memory).sqrt() * scatter(&mut chance);
                    let moved = if bin < 25 { 0.0 } else { change };
                    (0.2 * (state + moved)).exp()
                };
                (0..50).map(&mut next).collect::<Vec<f64>>()
            });
            let series: Vec<&[f64]> = rounds.iter().map(|round| &round[..]).collect();
            !changes(&series).is_empty()
        });
        found.count() as f64 / 2_000.0
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        for scatter in [NORMAL, SKEWED, STALLS] {
            for (memory, most) in [(0.0, 0.002), (0.3, 0.002), (0.5, 0.015), (0.8, 0.015)] {
                let alarms = simulated(scatter, memory, 0.0);
                assert!(alarms <= most, "{memory}: {alarms}");
            }
        }
        let power = [3.0, 2.0, 1.0].map(|change| simulated(NORMAL, 0.3, change));
        assert!(
            power[0] > 0.9 && power[1] > 0.5 && power[2] < 0.1,
            "{power:?}"
        );
    }
}

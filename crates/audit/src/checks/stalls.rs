//! Did the server stop responding in the middle of a round?

use super::overload;
use super::prelude::*;
use plan::{Load, Stop};
use record::{Series, Summary};

pub(super) const CHECK: Check = Check {
    name: "stalls",
    question: "Did the server stop responding in the middle of a round?",
    looks_at: "In a closed loop whose record has no stalls (see `omission`): the longest run of empty bins in the \
               series of endings (100 ms, wider in long rounds) after the first ending. The last bin of a window \
               counts only where it is whole. With a number of requests, more must have ended after the gap than \
               could be in flight in it. In an open loop, whose percentiles show stalls: whether it fell behind its \
               schedule only near the end of the windows, which looks like the start of an overload.",
    thresholds: &[
        threshold(
            "mean endings in bins that are not empty, from",
            || ENDINGS_LEAST.to_string(),
            "at random times, one bin in 20,000 would then be empty",
        ),
        threshold(
            "the gap is longer than this share of the round's requests took",
            || percent(SHOWN),
            "the percentiles show what more requests met",
        ),
    ],
    false_alarms: "simulation of 10,000 runs of five rounds of 50 bins with ten endings each at random times, which a test \
                   repeats: at most 1.5 % of runs (by the exact law 1.1 %)",
    power: "every stall of two bins, which empties one; of one and a half bins half, as the same test shows",
    effect: "In a closed loop latency gets a caveat, in an open loop requests/s too.",
    remedy: "Look for the cause in the server, or in its machine. In an open loop, measure longer to see whether it \
             recovers.",
    cause: Cause::CoordinatedOmission,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Under this many endings in the mean bin that has any, an empty bin is no wonder.
const ENDINGS_LEAST: f64 = 10.0;
/// What is slower than this share of the exchanges is hardly shown by the percentiles.
const SHOWN: f64 = 0.90;

/// A span in which nothing ended.
struct Stall {
    round: u32,
    length: Nanos,
    /// Endings in the mean bin that has any.
    endings: f64,
}

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    if evidence.load.is_some_and(Load::is_open) {
        // Everything that was due meanwhile is in the percentiles, but not what came of it after the window.
        return overload::late_stall(evidence);
    }
    let knows_gaps = |summary: &Summary| summary.coordinated_omission.is_some();
    if evidence.summary.as_ref().is_some_and(knows_gaps) {
        return None; // they are judged by what they hide
    }
    let rounds = evidence.complete().unwrap_or_default();
    let stragglers = stragglers(evidence);
    let stalls: Vec<Stall> = rounds
        .iter()
        .filter_map(|round| stall(round, stragglers))
        .collect();
    let longest = stalls.iter().rev().max_by_key(|stall| stall.length)?;
    Some(finding(longest, stalls.len() as u64 - 1))
}

/// With a number of requests, how many endings after a gap may be of exchanges that were under way in it while none was
/// left to be asked; none where there always was one.
fn stragglers(evidence: &Evidence<'_>) -> Option<u64> {
    let (plan, (_, busy)) = (evidence.plan()?, evidence.connections()?);
    let capacity = u64::from(busy) * u64::from(plan.protocol.pipeline);
    matches!(plan.stop, Stop::Requests(_)).then_some(capacity)
}

fn finding(longest: &Stall, others: u64) -> Finding {
    let length = longest.length.as_nanos() / 1_000_000;
    let also = match others {
        0 => String::new(),
        _ => format!(" (also in {})", number(others, "other round")),
    };
    let headline = format!("1 stall of {} ms; a closed loop hides it", count(length));
    let sentence = format!(
        "a stall of at least {} ms in round {}{also}: a closed loop sends nothing during a stall (coordinated \
         omission), so the percentiles hardly show it",
        count(length),
        u64::from(longest.round) + 1,
    );
    caveat(&[Figure::Latency], headline, sentence)
        .remedy("Look for the cause in the server and on its machine")
        .evidence([
            ("longest stall, ms", length as f64),
            ("endings per bin that is not empty", longest.endings),
            ("rounds with a stall", (others + 1) as f64),
        ])
}

/// The longest span of a round in which nothing ended, where endings were to be expected.
fn stall(round: &Round, stragglers: Option<u64>) -> Option<Stall> {
    let filled = filled(&round.tally.series);
    let sum: u64 = filled
        .iter()
        .fold(0, |sum, (_, endings)| sum.saturating_add(*endings));
    let endings = sum as f64 / filled.len() as f64;
    let length = round.tally.series.interval * empty(round, &filled, sum, stragglers)?;
    let usual = Nanos::from_nanos(round.tally.service.quantile(SHOWN)?);
    let is_stall = length > Nanos::ZERO && length > usual && endings >= ENDINGS_LEAST;
    is_stall.then_some(Stall {
        round: round.index,
        length,
        endings,
    })
}

/// The bins in which something ended: their numbers and how much.
fn filled(series: &Series) -> Vec<(u64, u64)> {
    let bins = series.ok.iter().zip(&series.errors).zip(0..);
    bins.map(|((ok, errors), bin)| (bin, ok.saturating_add(*errors)))
        .filter(|(_, endings)| *endings > 0)
        .collect()
}

/// The longest run of empty bins after the first that is not; `sum` endings there were in all.
fn empty(round: &Round, filled: &[(u64, u64)], sum: u64, stragglers: Option<u64>) -> Option<u64> {
    let (last, _) = filled.last()?;
    let mut before: u64 = 0;
    let between = filled.windows(2).filter_map(|pair| {
        before = before.saturating_add(pair[0].1);
        (sum - before > stragglers.unwrap_or(0)).then(|| pair[1].0 - pair[0].0 - 1)
    });
    // A number of requests ends its window with the last ending, so that nothing is empty behind it.
    let whole = round.window.span().as_nanos() / round.tally.series.interval.as_nanos();
    let behind = stragglers.map_or(whole.saturating_sub(last + 1), |_| 0);
    between.chain([behind]).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{bare_round, healthy, simulated};
    use record::{Grade, Run};

    /// A series with so many endings in each of its bins.
    fn series(bins: &[u64]) -> Series {
        let mut series = Series::default();
        for (bin, &endings) in bins.iter().enumerate().filter(|(_, endings)| **endings > 0) {
            series.add(Series::INTERVAL * bin as u64, endings - 1, 1);
        }
        series
    }

    /// The healthy run (p90 190 us), whose second round had so many endings in each bin, the last of them not whole.
    fn run(bins: &[u64]) -> Run {
        let mut run = healthy();
        let round = &mut run.points[0].rounds[1];
        round.tally.series = series(bins);
        let span = (Series::INTERVAL * bins.len() as u64).saturating_sub(Nanos::from_nanos(1));
        round.window.end = round.window.start + span;
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        Vec::from_iter(judge(&Evidence::of(run, &run.points[0])))
    }

    #[test]
    fn one_whole_empty_bin_between_endings_is_a_stall() {
        let cases: &[(&[u64], Option<&str>)] = &[
            (&[], None),
            (&[50], None),
            (&[50, 50, 50, 50], None),
            (&[50, 1, 50, 50], None),
            (
                &[50, 0, 50, 50],
                Some("a stall of at least 100 ms in round 2:"),
            ),
            (
                &[50, 0, 50, 0, 0, 0, 1],
                Some("a stall of at least 300 ms in round 2:"),
            ),
            // Before the first ending nothing can be told, nor of a last bin that is not whole.
            (&[0, 0, 50, 50], None),
            (&[50, 50, 0], None),
            (
                &[50, 50, 0, 0, 0],
                Some("a stall of at least 200 ms in round 2:"),
            ),
        ];
        for (bins, wanted) in cases {
            let mut run = run(bins);
            // A file may hold empty bins at the end, too.
            let series = &mut run.points[0].rounds[1].tally.series;
            series.ok.resize(bins.len(), 0);
            series.errors.resize(bins.len(), 0);
            let found = found(&run);
            assert_eq!(found.is_empty(), wanted.is_none(), "{bins:?}: {found:?}");
            if let (Some(finding), Some(wanted)) = (found.first(), wanted) {
                assert!(finding.sentence.starts_with(wanted), "{}", finding.sentence);
                assert_eq!(finding.grade(), Grade::Caveat);
                assert_eq!(finding.effects.figures(), [Figure::Latency]);
            }
        }
    }

    #[test]
    fn where_few_endings_are_to_be_expected_an_empty_bin_means_nothing() {
        assert_eq!(found(&run(&[10, 0, 10])).len(), 1);
        assert_eq!(found(&run(&[10, 0, 9])), []);
    }

    #[test]
    fn a_gap_that_the_percentiles_show_is_no_stall() {
        for (nine_of_ten, findings) in [(99, 1), (101, 0)] {
            let mut run = run(&[50, 0, 50]);
            let service = &mut run.points[0].rounds[1].tally.service;
            *service = stats::Histogram::default();
            (0..10).for_each(|_| service.record(nine_of_ten * 1_000_000));
            assert_eq!(found(&run).len(), findings, "{nine_of_ten} ms");
        }
    }

    #[test]
    fn waiting_for_the_last_of_a_number_of_requests_is_no_stall() {
        // Ten connections; so ten endings may all be of exchanges that were under way in the gap.
        for (after, pipeline, findings) in [(10, 1, 0), (11, 1, 1), (11, 2, 0), (21, 2, 1)] {
            let mut run = run(&[5_000, 0, 0, after]);
            assert_eq!(
                found(&run).len(),
                1,
                "a duration leaves something to be asked"
            );
            run.plan.stop = Stop::Requests(10_000);
            run.plan.protocol.pipeline = pipeline;
            assert_eq!(
                found(&run).len(),
                findings,
                "{after} after it, {pipeline} deep"
            );
        }
    }

    #[test]
    fn the_longest_gap_is_named_and_wider_bins_are_wider_gaps() {
        let mut run = run(&[50, 0, 50]);
        let wide = &mut run.points[0].rounds[3].tally.series;
        *wide = series(&[50, 0, 0, 50]);
        wide.interval = Series::INTERVAL * 8;
        let found = found(&run);
        assert!(
            found[0]
                .sentence
                .starts_with("a stall of at least 1,600 ms in round 4 (also in 1 other round):"),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn in_an_open_loop_the_percentiles_show_a_stall() {
        let mut run = run(&[50, 0, 50]);
        run.points[0].level.load = Load::Open {
            rate: units::Rate::per_second(1_000),
            of: plan::Arriving::Exchanges,
            arrivals: plan::Arrivals::Poisson,
            connections: 10,
        };
        assert_eq!(found(&run), []);
    }

    #[test]
    fn where_the_gaps_themselves_are_known_another_check_judges_them() {
        let mut run = run(&[50, 0, 50]);
        for round in &mut run.points[0].rounds {
            round.tally.stalls = Some(Box::default());
        }
        assert_eq!(found(&run), []);
    }

    #[test]
    fn a_round_that_was_cut_short_has_no_say() {
        let mut run = run(&[50, 0, 50]);
        run.points[0].rounds[1].partial = true;
        assert_eq!(found(&run), []);
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        let mut round = bare_round();
        round.window.end = round.window.start + Series::INTERVAL * 50;
        round.tally.service.record(1_000_000);
        let mut is_found = |bins: &[u64]| {
            round.tally.series = series(bins);
            stall(&round, None).is_some()
        };
        let alarms = simulated(|chance| {
            let mut random = |_| {
                let (mut at, mut endings) = (chance.exponential(), 0);
                while at < ENDINGS_LEAST {
                    at += chance.exponential();
                    endings += 1;
                }
                endings
            };
            (0..5).any(|_| is_found(&std::array::from_fn::<u64, 50, _>(&mut random)))
        });
        assert!((0.005..=0.015).contains(&alarms), "{alarms}");
        for (length, from, to) in [(2.0, 1.0, 1.0), (1.5, 0.45, 0.55)] {
            let found = simulated(|chance| {
                let start = 10.0 + chance.uniform();
                let is_empty = |bin: f64| start <= bin && bin + 1.0 <= start + length;
                let bins = (0..50).map(|bin| if is_empty(f64::from(bin)) { 0 } else { 20 });
                is_found(&bins.collect::<Vec<u64>>())
            });
            assert!((from..=to).contains(&found), "{length}: {found}");
        }
    }
}

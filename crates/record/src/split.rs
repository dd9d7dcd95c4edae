//! The same load by two generators, compared with one: was the generator the limit?
//!
//! Each round of a point has a twin, measured right before or after it: the same connections or the same schedule, split
//! over two generator processes. They are compared pair by pair, so that what drifts from pair to pair (the clock speed,
//! the neighbours, a cache that fills) is in both sides and cancels out.

use crate::{Round, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What two generators did with a point's load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitGenerators {
    /// Its rounds, each the twin of the point's round of the same number.
    pub rounds: Vec<Round>,
    /// What follows from them.
    pub summary: Option<Summary>,
    /// Requests per second of two generators by those of one.
    pub rps_ratio: Option<Ratio>,
    /// The 99th percentile of latency with two generators by that with one.
    pub latency_p99_ratio: Option<Ratio>,
    /// Why no further round could be measured, if it was so. What its processes had sent by then is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// How two generators compare with one in some figure, over pairs of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The geometric mean of the pairs' ratios.
    pub centre: f64,
    /// Lower end of its 95 % interval; null under two pairs.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Pairs of complete rounds that it rests on.
    pub pairs: u32,
}

impl Ratio {
    /// The ratio over `pairs` of values, each of two generators and of one; none where there is no pair, or a value that
    /// is not positive. The interval is Student's on the logarithms of the ratios.
    fn of(pairs: &[(f64, f64)]) -> Option<Ratio> {
        let ratios: Vec<f64> = pairs.iter().map(|(two, one)| two / one).collect();
        let is_sound = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        if !ratios.iter().all(is_sound) {
            return None;
        }
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let interval = stats::log_t_interval(&ratios);
        Some(Ratio {
            centre: stats::mean(&logarithms)?.exp(),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            pairs: u32::try_from(ratios.len()).ok()?,
        })
    }
}

impl SplitGenerators {
    /// Recomputes all that follows from the rounds: its own, and the point's.
    pub fn compare(&mut self, point: &[Round]) {
        self.summary = Summary::of(&self.rounds);
        self.rps_ratio = self.rps(point);
        self.latency_p99_ratio = self.latency_p99(point);
    }

    /// Requests per second by those of the point's own rounds.
    pub fn rps(&self, point: &[Round]) -> Option<Ratio> {
        self.ratio(point, |round| Some(round.rps()))
    }

    /// The 99th percentile of latency by that of the point's own rounds, where samples carry both.
    pub fn latency_p99(&self, point: &[Round]) -> Option<Ratio> {
        self.ratio(point, |round| {
            let nanos = round.tally.latency().quantile_if_carried(0.99)?;
            Some(nanos as f64)
        })
    }

    /// The ratio of `figure` over the pairs of complete rounds that have it on both sides.
    fn ratio(&self, point: &[Round], figure: impl Fn(&Round) -> Option<f64>) -> Option<Ratio> {
        let pairs: Vec<(f64, f64)> = self
            .pairs(point)
            .filter_map(|(two, one)| Some((figure(two)?, figure(one)?)))
            .collect();
        Ratio::of(&pairs)
    }

    /// The complete rounds of two generators, each with its complete twin among those of one.
    pub fn pairs<'a>(&'a self, point: &'a [Round]) -> impl Iterator<Item = (&'a Round, &'a Round)> {
        let complete = |round: &&Round| !round.partial;
        self.rounds.iter().filter(complete).filter_map(move |two| {
            let one = point.iter().find(|one| one.index == two.index)?;
            (!one.partial).then_some((two, one))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tally, Window};
    use units::{Instant, Nanos};

    fn round(index: u32, ok_in_window: u64) -> Round {
        Round {
            index,
            window: Window {
                start: Instant::from_nanos(5),
                end: Instant::from_nanos(5) + Nanos::from_secs(1),
            },
            tally: Tally {
                ok_in_window,
                ..Tally::default()
            },
            ..Round::default()
        }
    }

    fn compared(two: Vec<Round>, one: &[Round]) -> SplitGenerators {
        let mut split = SplitGenerators {
            rounds: two,
            ..SplitGenerators::default()
        };
        split.compare(one);
        split
    }

    #[test]
    fn rounds_are_compared_by_their_numbers_whatever_their_order() {
        let one = [round(0, 100), round(1, 1_000), round(2, 10)];
        let two = vec![round(1, 2_000), round(2, 20), round(0, 200)];
        let ratio = compared(two, &one).rps_ratio.unwrap();
        assert!((ratio.centre - 2.0).abs() < 1e-12, "{ratio:?}");
        // All pairs say 2, though the rounds themselves differ by ten.
        let width = ratio.high.unwrap() / ratio.low.unwrap();
        assert!((width - 1.0).abs() < 1e-9 && ratio.pairs == 3, "{ratio:?}");
    }

    #[test]
    fn three_pairs_give_the_interval_computed_by_hand() {
        let one = [round(0, 100), round(1, 100), round(2, 100)];
        let two = vec![round(0, 100), round(1, 110), round(2, 121)];
        let ratio = compared(two, &one).rps_ratio.unwrap();
        // Logarithms 0, ln 1.1 and 2 ln 1.1: mean and standard deviation ln 1.1, t for two degrees of freedom 4.302653.
        let factor = (4.302_653 * 1.1_f64.ln() / 3_f64.sqrt()).exp();
        assert!((ratio.centre - 1.1).abs() < 1e-9);
        assert!((ratio.high.unwrap() / (1.1 * factor) - 1.0).abs() < 1e-4);
        assert!((ratio.low.unwrap() / (1.1 / factor) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_round_that_was_cut_short_or_has_no_twin_is_not_compared() {
        let partial = |round: Round| Round {
            partial: true,
            ..round
        };
        let one = [round(0, 100), partial(round(1, 1)), round(2, 100)];
        let two = vec![
            round(0, 110),
            round(1, 999),
            partial(round(2, 1)),
            round(7, 5),
        ];
        let ratio = compared(two, &one).rps_ratio.unwrap();
        assert_eq!((ratio.pairs, ratio.low, ratio.high), (1, None, None));
        assert!((ratio.centre - 1.1).abs() < 1e-12);
    }

    #[test]
    fn there_is_no_ratio_to_nothing_nor_of_a_percentile_that_is_not_carried() {
        for (two, one) in [(0, 100), (100, 0), (0, 0)] {
            let split = compared(vec![round(0, two)], &[round(0, one)]);
            assert_eq!(split.rps_ratio, None, "{two} to {one}");
        }
        let split = compared(vec![round(0, 5)], &[round(0, 5)]);
        assert!(split.rps_ratio.is_some() && split.latency_p99_ratio.is_none());
        assert_eq!(compared(Vec::new(), &[round(0, 5)]).rps_ratio, None);
    }
}

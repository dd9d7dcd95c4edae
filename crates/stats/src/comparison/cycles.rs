//! From the cycles of a start to its one value; and how many cycles a start should have.

use crate::chi_squared::by_chance;
use crate::summary;
use std::f64::consts::{FRAC_PI_2, SQRT_2};

/// The fewest cycles of a start: a median of fewer is hardly more robust than a mean.
const CYCLES_MIN: u32 = 8;
/// The most cycles of a start.
const CYCLES_MAX: u32 = 50;
/// The smallest scatter between starts that is believed. A few starts often show none by chance, which would ask for
/// endless cycles.
const SD_START_MIN: f64 = 0.002;
/// The quantile of 90 % of the standard normal distribution.
const ONE_IN_TEN: f64 = 1.281_551_565_5;
/// From the median absolute deviation of normal values to their standard deviation: `1 / Phi^-1(3/4)`.
const NORMAL: f64 = 1.4826;

/// Returns the value of one start: the median over its cycles of `ln b - ln a`, where each pair `(a, b)` has one
/// cycle's figure of server A and of server B, in the same unit.
///
/// Exchanging a and b in all pairs negates it exactly. None for no pairs, and where a figure is not positive and
/// finite: it has no logarithm, and leaving its cycle out here would choose cycles by their outcome. A cycle in which
/// one side has no figure is the caller's to leave out, and to count.
///
/// ```
/// let cycles = [(14.5, 14.8), (14.6, 14.9), (29.0, 14.7)]; // A was disturbed in the third
/// assert_eq!(stats::comparison::median_of_cycles(&cycles), Some(14.9_f64.ln() - 14.6_f64.ln()));
/// ```
pub fn median_of_cycles(pairs: &[(f64, f64)]) -> Option<f64> {
    summary::median(&log_ratios(pairs)?)
}

fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let log_ratio = |(a, b): &(f64, f64)| (*a > 0.0 && *b > 0.0).then(|| b.ln() - a.ln());
    pairs.iter().map(log_ratio).collect()
}

/// How log ratios scatter, as standard deviations on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Of one cycle's `ln B - ln A` within a start: that of normal values with the same median absolute deviation. The
    /// plain standard deviation is decided by single disturbed slices, which hardly move a median: on recorded slices,
    /// in CPU time per request, it is 0.11 and this 0.038; medians over 25 cycles scatter by 0.0078, where the two
    /// predict 0.028 and 0.0096.
    pub pair: f64,
    /// What one server's fresh start adds; 0 where cycles alone explain how the starts differ.
    pub start: f64,
    /// What it adds at least, with a confidence of 90 %. A few starts often differ much by chance, and starts that were cut short for
    /// that would lose more than those that are longer than they need be.
    pub start_at_least: f64,
}

impl Scatter {
    /// Estimates it from starts, each with its cycles as pairs of figures of A and B. None for fewer than two starts,
    /// and where one of them has no value ([`median_of_cycles`]).
    ///
    /// The medians of starts vary by `2 start^2 + pi/2 pair^2 / cycles`: each of the two servers starts once, and a
    /// median of normal values varies pi/2 times as much as their mean. A few starts tell `start` only to a factor of
    /// two or so; `start_at_least` takes off what one set of starts in ten varies more by chance.
    pub fn of(starts: &[Vec<(f64, f64)>]) -> Option<Scatter> {
        let (mut medians, mut distances) = (Vec::new(), Vec::new());
        for pairs in starts {
            let ratios = log_ratios(pairs)?;
            let median = summary::median(&ratios)?;
            medians.push(median);
            distances.extend(ratios.iter().map(|ratio| (ratio - median).abs()));
        }
        let pair = NORMAL * summary::median(&distances)?;
        let cycles = distances.len() as f64 / starts.len() as f64;
        let between = summary::standard_deviation(&medians)?.powi(2);
        let start = |between: f64| {
            let own = (between - FRAC_PI_2 * pair * pair / cycles).max(0.0) / 2.0;
            own.sqrt()
        };
        let chance = by_chance((medians.len() - 1) as f64, ONE_IN_TEN);
        Some(Scatter {
            pair,
            start: start(between),
            start_at_least: start(between / chance),
        })
    }
}

/// Returns the number of cycles per start that gives the narrowest interval for a given total time: `sqrt(cost_start /
/// cost_cycle) * sd_pair / (sqrt 2 * sd_start)`, rounded up, and 8 to 50 (Kalibera and Jones, "Rigorous benchmarking in
/// reasonable time", 2013).
///
/// `cost_start` is the time that a start takes beside its cycles and `cost_cycle` that of one cycle, in the same unit.
/// `sd_pair` and `sd_start` are those of [`Scatter`]; an `sd_start` under 0.002 is taken for 0.002. 8 where the costs
/// make no number.
pub fn cycles_per_start(cost_start: f64, cost_cycle: f64, sd_pair: f64, sd_start: f64) -> u32 {
    let scatter = sd_pair / (SQRT_2 * sd_start.max(SD_START_MIN));
    let best = (cost_start / cost_cycle).sqrt() * scatter;
    (best.ceil() as u32).clamp(CYCLES_MIN, CYCLES_MAX) // what is not a number becomes 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn a_start_is_the_median_of_its_cycles() {
        let e = 1_f64.exp();
        type Case<'a> = (&'a [(f64, f64)], Option<f64>);
        let cases: &[Case] = &[
            (&[], None),
            (&[(1.0, e)], Some(1.0)),
            (&[(1.0, e), (1.0, 1.0)], Some(0.5)),
            (&[(e, 1.0), (1.0, e), (1.0, 1e9)], Some(1.0)),
            (&[(7.0, 7.0)], Some(0.0)),
            (&[(1.0, e), (0.0, 1.0)], None),
            (&[(1.0, e), (1.0, 0.0)], None),
            (&[(1.0, e), (1.0, -1.0)], None),
            (&[(1.0, e), (f64::NAN, 1.0)], None),
            (&[(1.0, e), (1.0, f64::INFINITY)], None),
            (&[(1.0, e), (f64::INFINITY, f64::INFINITY)], None),
        ];
        for (pairs, wanted) in cases {
            assert_eq!(median_of_cycles(pairs), *wanted, "{pairs:?}");
        }
    }

    proptest! {
        #[test]
        fn exchanging_the_servers_negates_a_start_exactly(
            pairs in proptest::collection::vec((1e-9..1e9_f64, 1e-9..1e9_f64), 1..60),
        ) {
            let exchanged: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let (there, back) = (median_of_cycles(&pairs).unwrap(), median_of_cycles(&exchanged).unwrap());
            prop_assert!(there == 0.0 && back == 0.0 || there.to_bits() == (-back).to_bits(), "{} {}", there, back);
        }
    }

    #[test]
    fn scatter_of_cycles_and_of_starts_is_told_apart() {
        for (pair, start) in [(0.04, 0.01), (0.04, 0.0), (0.0, 0.01)] {
            let mut noise = Noise::new(3);
            let starts: Vec<Vec<(f64, f64)>> = (0..2_000)
                .map(|_| {
                    let own = start * SQRT_2 * noise.normal();
                    let cycles = (0..25).map(|_| (1.0, (own + pair * noise.normal()).exp()));
                    cycles.collect()
                })
                .collect();
            let scatter = Scatter::of(&starts).unwrap();
            // Distances are from each start's own median, which 25 cycles draw nearer by 3 %.
            assert!(
                (scatter.pair - pair).abs() < 0.05 * pair + 1e-12,
                "{scatter:?}"
            );
            assert!((scatter.start - start).abs() < 0.002, "{scatter:?}");
            assert!(scatter.start_at_least <= scatter.start, "{scatter:?}");
        }
    }

    #[test]
    fn what_starts_add_at_least_is_less_than_what_they_add_in_nine_of_ten() {
        let mut noise = Noise::new(5);
        let is_less = |_: &u32| {
            let starts: Vec<Vec<(f64, f64)>> = (0..3)
                .map(|_| vec![(1.0, (0.01 * SQRT_2 * noise.normal()).exp()); 25])
                .collect();
            Scatter::of(&starts).unwrap().start_at_least < 0.01
        };
        let share = (0..10_000).filter(is_less).count() as f64 / 10_000.0;
        assert!((0.89..0.92).contains(&share), "{share}");
    }

    #[test]
    fn scatter_takes_two_starts_with_values() {
        let start = vec![(1.0, 2.0), (1.0, 2.1)];
        assert!(Scatter::of(&[start.clone(), start.clone()]).is_some());
        assert_eq!(Scatter::of(std::slice::from_ref(&start)), None);
        assert_eq!(Scatter::of(&[start.clone(), vec![]]), None);
        assert_eq!(Scatter::of(&[start, vec![(0.0, 1.0)]]), None);
    }

    #[test]
    fn cycles_are_those_computed_by_hand() {
        // sqrt(6 / 0.24) = 5: 5 * 0.0396 / (1.41421 * 0.005) = 28.0014, 5 * 0.0395 / ... = 27.93
        let cases = [
            (6.0, 0.24, 0.0396, 0.005, 29),
            (6.0, 0.24, 0.0395, 0.005, 28),
            (6.0, 0.24, 0.01, 0.005, 8), // 7.1
            (6.0, 0.24, 0.0115, 0.005, 9),
            (6.0, 0.24, 0.0700, 0.005, 50), // 49.5
            (6.0, 0.24, 0.2, 0.005, 50),
            (6.0, 0.24, 0.01, 0.002, 18),
            (6.0, 0.24, 0.01, 0.0, 18),
            (6.0, 0.0, 0.01, 0.005, 50),
            (f64::NAN, 0.24, 0.01, 0.005, 8),
        ];
        for (cost_start, cost_cycle, sd_pair, sd_start, wanted) in cases {
            let found = cycles_per_start(cost_start, cost_cycle, sd_pair, sd_start);
            assert_eq!(
                found, wanted,
                "{cost_start} {cost_cycle} {sd_pair} {sd_start}"
            );
        }
    }
}

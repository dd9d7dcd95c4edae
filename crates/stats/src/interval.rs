//! How far the truth may lie from what a few rounds showed.
//!
//! Rates and times are compared by ratios and their noise is multiplicative, so the interval is
//! Student's, on the logarithms: `exp(m ± t * s / sqrt(n))` with m and s the mean and the sample
//! standard deviation of the n logarithms, t the two-sided 95 % point for n - 1 degrees of freedom.
//! Its centre is the geometric mean, and it is symmetric in ratio, never below zero.
//!
//! It assumes that the logarithms are independent and about normal. Rounds of one server start
//! share that start: their interval is about repeating within it, and says nothing about another
//! start.
//!
//! (Student, "The probable error of a mean", Biometrika 6, 1908. A bootstrap would assume less, but
//! of five rounds it has only five values to draw from, and its intervals are too narrow.)

use crate::summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, PI};

/// The share of intervals that hold the truth, unless another is asked for: 95 %.
pub const CONFIDENCE: f64 = 0.95;

/// More degrees of freedom are taken for this many, which moves t by less than one part in 10^5 and
/// bounds the work.
const FREEDOM_MAX: u32 = 1_000_000;

/// The fewest values that an interval rests on. Of two it would reach from nothing to many times either.
const VALUES_MIN: usize = 3;

/// A middle and its 95 % interval: `0 < low <= centre <= high`, all finite, from `n >= 3` values. That is what
/// [`log_t_interval`] and [`median_interval`] make; reading one from a record does not check it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The geometric mean, or the median.
    pub centre: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many values it rests on.
    pub n: u32,
}

/// The 95 % interval of Student's t on the logarithms of `values`; none for fewer than three values,
/// for one that is not positive and finite, and where an end could not be written as a number.
///
/// ```
/// let rounds = [41_200.0, 40_900.0, 41_500.0, 41_100.0, 41_300.0];
/// let interval = stats::log_t_interval(&rounds).unwrap();
/// assert!(interval.low < 41_200.0 && 41_200.0 < interval.high);
/// assert!(stats::log_t_interval(&rounds[..2]).is_none());
/// ```
pub fn log_t_interval(values: &[f64]) -> Option<Interval> {
    if values.len() < VALUES_MIN || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let TInterval { mean, reach, .. } = t_interval(&logarithms, CONFIDENCE)?;
    let interval = Interval {
        centre: mean.exp(),
        low: (mean - reach).exp(),
        high: (mean + reach).exp(),
        n: u32::try_from(values.len()).ok()?,
    };
    (interval.low > 0.0 && interval.high.is_finite()).then_some(interval)
}

/// Student's interval of a mean: `mean - reach` to `mean + reach`.
pub(crate) struct TInterval {
    /// The mean of the values.
    pub(crate) mean: f64,
    /// Their sample standard deviation.
    pub(crate) deviation: f64,
    /// `t * deviation / sqrt(n)`, for n - 1 degrees of freedom.
    pub(crate) reach: f64,
}

/// Student's interval of the mean of `values`, as they are; none for fewer than two, for one that is not finite, and for
/// a confidence that is not between 0 and 1.
pub(crate) fn t_interval(values: &[f64], confidence: f64) -> Option<TInterval> {
    let n = u32::try_from(values.len()).ok()?;
    let mean = summary::mean(values)?;
    let deviation = summary::standard_deviation(values)?;
    let reach = student_t(n - 1, confidence)? * deviation / f64::from(n).sqrt();
    Some(TInterval {
        mean,
        deviation,
        reach,
    })
}

/// The median of `values` and an interval that holds the true median with a probability of at least 95 %, whatever the
/// values' law: between two of the values themselves, equally many in from either end (Conover, "Practical
/// Nonparametric Statistics", 3.2). One value that something else disturbed moves neither. None for fewer than six
/// values, which cannot promise as much, and for one that is not positive and finite.
///
/// ```
/// let ratios = [1.04, 1.05, 1.04, 1.06, 1.05, 1.90, 1.03, 1.05, 1.04];
/// let interval = stats::median_interval(&ratios).unwrap();
/// assert_eq!((interval.low, interval.centre, interval.high), (1.04, 1.05, 1.06));
/// ```
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let centre = summary::median(values)?;
    let n = u32::try_from(values.len()).ok()?;
    let rank = median_rank(n)? as usize;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        centre,
        low: sorted[rank],
        high: sorted[sorted.len() - 1 - rank],
        n,
    })
}

/// How many of `n` values may lie on either side of a median's interval: the most for which the chance that more than
/// so many fair coins of `n` show heads, and more than so many tails, is not under 95 %.
fn median_rank(n: u32) -> Option<u32> {
    let half = (1.0 - CONFIDENCE) / 2.0;
    let mut term = f64::from(n) * 0.5_f64.ln(); // logarithms: 0.5 to the 1,075th is 0 in an f64
    let mut below = term.exp();
    let mut rank = None;
    for heads in 0..n / 2 {
        if below > half {
            break;
        }
        rank = Some(heads);
        term += (f64::from(n - heads) / f64::from(heads + 1)).ln();
        below += term.exp();
    }
    rank
}

/// The two-sided point of Student's t: the t for which `|T| <= t` with probability `confidence`,
/// where T has `freedom` degrees of freedom. None for 0 degrees and for a confidence that is not
/// between 0 and 1.
///
/// Found by bisecting the exact probability over the angle `atan(t / sqrt(freedom))`, which lies
/// between 0 and a right angle whatever t is. More than a million degrees are taken for a million.
pub fn student_t(freedom: u32, confidence: f64) -> Option<f64> {
    if freedom == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let freedom = freedom.min(FREEDOM_MAX);
    let (mut below, mut above) = (0.0, FRAC_PI_2);
    loop {
        let angle: f64 = f64::midpoint(below, above);
        if angle <= below || angle >= above {
            return Some(f64::from(freedom).sqrt() * angle.tan());
        }
        if probability(freedom, angle) < confidence {
            below = angle;
        } else {
            above = angle;
        }
    }
}

/// `P(|T| <= sqrt(freedom) * tan(angle))`, by the finite sums for whole degrees of freedom:
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 (odd) and 26.7.4 (even). All
/// terms are positive, so nothing cancels.
fn probability(freedom: u32, angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // Odd: cos + 2/3 cos^3 + (2*4)/(3*5) cos^5 + ... up to cos^(freedom - 2); nothing for freedom 1.
    // Even: 1 + 1/2 cos^2 + (1*3)/(2*4) cos^4 + ... up to cos^(freedom - 2).
    let (first, shift) = if odd { (cos, 1) } else { (1.0, 0) };
    let mut term = first;
    let mut sum = 0.0;
    for at in 1..=freedom / 2 {
        sum += term;
        let above = 2 * at + shift;
        term *= cos * cos * f64::from(above - 1) / f64::from(above);
    }
    if odd {
        (angle + sin * sum) * 2.0 / PI
    } else {
        sin * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two-sided 95 % points as statistical tables print them, for 1 to 30 degrees of freedom.
    const TABLE: [f64; 30] = [
        12.706, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739,
        2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];

    fn printed(value: f64, digits: i32) -> f64 {
        (value * 10_f64.powi(digits)).round() / 10_f64.powi(digits)
    }

    #[test]
    fn t_is_that_of_the_published_tables() {
        assert_eq!(printed(student_t(1, 0.95).unwrap(), 3), TABLE[0]);
        for (at, wanted) in TABLE.iter().enumerate().skip(1) {
            let freedom = at as u32 + 1;
            assert_eq!(
                printed(student_t(freedom, 0.95).unwrap(), 4),
                *wanted,
                "{freedom}"
            );
        }
    }

    #[test]
    fn t_holds_for_other_confidences_and_many_degrees() {
        let cases: &[(u32, f64, f64, i32)] = &[
            (40, 0.95, 2.0211, 4),
            (60, 0.95, 2.0003, 4),
            (120, 0.95, 1.9799, 4),
            (1_000_000, 0.95, 1.96, 4),
            (999_999, 0.95, 1.96, 4),
            (u32::MAX, 0.95, 1.96, 4),
            (1, 0.5, 1.0, 9),
            (1, 0.9, 6.314, 3),
            (1, 0.99, 63.657, 3),
            (1, 0.999, 636.619, 3),
            (2, 0.99, 9.925, 3),
            (5, 0.99, 4.032, 3),
            (10, 0.9, 1.812, 3),
            (30, 0.999, 3.646, 3),
        ];
        for (freedom, confidence, wanted, digits) in cases {
            let t = student_t(*freedom, *confidence).unwrap();
            assert_eq!(printed(t, *digits), *wanted, "{freedom} at {confidence}");
        }
    }

    #[test]
    fn t_exists_only_for_degrees_of_freedom_and_a_share() {
        for (freedom, confidence) in [(0, 0.95), (5, 0.0), (5, 1.0), (5, f64::NAN), (5, -0.5)] {
            assert_eq!(
                student_t(freedom, confidence),
                None,
                "{freedom} at {confidence}"
            );
        }
    }

    #[test]
    fn an_interval_is_the_one_computed_by_hand() {
        // Logarithms 0, 1, 2: mean 1, deviation 1, t of 2 degrees 4.302653, so 1 ± 4.302653 /
        // sqrt(3) = 1 ± 2.484138.
        let interval = log_t_interval(&[1.0, 1_f64.exp(), 2_f64.exp()]).unwrap();
        assert_eq!(interval.n, 3);
        assert!((interval.centre.ln() - 1.0).abs() < 1e-12);
        assert!((interval.low.ln() + 1.484_138).abs() < 1e-6);
        assert!((interval.high.ln() - 3.484_138).abs() < 1e-6);
    }

    #[test]
    fn a_median_lies_between_the_values_that_printed_tables_name() {
        // n, and how many values lie outside on either side at 95 %, as tables of the sign test print them.
        let cases = [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(2)),
            (15, Some(3)),
            (20, Some(5)),
            (25, Some(7)),
            (1_075, Some(504)), // 0.5 to its power is 0 in an f64
            (1_100, Some(517)),
        ];
        for (n, wanted) in cases {
            assert_eq!(median_rank(n), wanted, "{n}");
        }
        assert_eq!(median_interval(&[1.0; 5]), None);
        assert_eq!(median_interval(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), None);
    }

    #[test]
    fn equal_values_give_a_width_of_zero() {
        let interval = log_t_interval(&[8.0; 5]).unwrap();
        assert!(
            (interval.high / interval.low - 1.0).abs() < 1e-12
                && (interval.centre - 8.0).abs() < 1e-12
        );
    }

    #[test]
    fn no_interval_without_three_positive_finite_values() {
        let cases: &[&[f64]] = &[
            &[],
            &[5.0],
            &[5.0, 5.0],
            &[5.0, 7.0],
            &[5.0, 5.0, 0.0],
            &[5.0, 5.0, -1.0],
            &[5.0, 5.0, f64::NAN],
            &[5.0, 5.0, f64::INFINITY],
            &[1e-300, 1.0, 1e300],
        ];
        for values in cases {
            assert_eq!(log_t_interval(values), None, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn an_interval_is_ordered_and_scales_with_its_values(
            values in proptest::collection::vec(1.0..1e6_f64, 3..20),
            factor in 1e-3..1e3_f64,
        ) {
            let interval = log_t_interval(&values).unwrap();
            prop_assert!(interval.low <= interval.centre && interval.centre <= interval.high);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let scaled = log_t_interval(&scaled).unwrap();
            prop_assert!((scaled.centre / interval.centre / factor - 1.0).abs() < 1e-9);
            prop_assert!((scaled.low / interval.low / factor - 1.0).abs() < 1e-6);
            prop_assert!((scaled.high / interval.high / factor - 1.0).abs() < 1e-6);
        }
    }
}

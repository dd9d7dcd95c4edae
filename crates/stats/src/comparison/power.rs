//! What a number of starts can find, and how many starts something takes.

use super::groups::student;
use super::{CONFIDENCE, Difference};
use crate::student_t;

/// More starts than this are not worth naming: 10,000 of 6 s take 17 hours.
const STARTS_MAX: u32 = 10_000;

/// With which probability a comparison is to find a difference, and at which confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// The confidence of its interval.
    pub confidence: f64,
    /// The probability that the interval excludes 0 on the right side; above 0.5 and below 1.
    pub power: f64,
}

impl Default for Power {
    /// 80 % at a confidence of 95 %.
    fn default() -> Power {
        Power {
            confidence: CONFIDENCE,
            power: 0.8,
        }
    }
}

impl Power {
    /// Returns the smallest difference that `n` starts find with this power, as a share: `exp((t + t') sd / sqrt n) -
    /// 1`, with the two-sided t of the confidence and the one-sided t' of the power for n - 1 degrees of freedom; `sd`
    /// is the standard deviation of the starts' log ratios. None for fewer than two starts, and where it would not be a
    /// finite number, 0 or more.
    ///
    /// (An approximation of the noncentral t distribution. By simulation at 95 %, the power is 81 % for 8 starts.)
    pub fn detectable(&self, n: u32, sd: f64) -> Option<f64> {
        let share = self.distance(n, sd)?.exp_m1();
        share.is_finite().then_some(share)
    }

    /// The same on the log scale.
    pub(super) fn distance(&self, n: u32, sd: f64) -> Option<f64> {
        let freedom = n.checked_sub(1)?;
        let of_interval = student_t(freedom, self.confidence)?;
        let of_power = student_t(freedom, 2.0 * self.power - 1.0)?;
        let distance = (of_interval + of_power) * sd / f64::from(n).sqrt();
        (distance >= 0.0).then_some(distance)
    }

    /// Returns the smallest difference that values which scatter as those of `difference` find with this power, as a share: the
    /// same for two groups of values, with the degrees of freedom that their interval has. `difference` is at this confidence. None
    /// where it would not be a finite number.
    pub fn detectable_by(&self, difference: &Difference) -> Option<f64> {
        let of_interval = student(difference.freedom, self.confidence)?;
        let of_power = student(difference.freedom, 2.0 * self.power - 1.0)?;
        let share = (difference.half_width * (1.0 + of_power / of_interval)).exp_m1();
        share.is_finite().then_some(share)
    }

    /// Returns the fewest starts, at least 2, that find `difference`, a share, with this power, where `sd` is the
    /// standard deviation of the starts' log ratios. None where it would take more than 10,000.
    pub fn starts_needed(&self, sd: f64, difference: f64) -> Option<u32> {
        let finds = |n: u32| {
            self.detectable(n, sd)
                .is_some_and(|share| share <= difference)
        };
        let (mut few, mut enough) = (1, STARTS_MAX);
        if !finds(enough) {
            return None;
        }
        while enough - few > 1 {
            let between = few.midpoint(enough);
            match finds(between) {
                true => enough = between,
                false => few = between,
            }
        }
        Some(enough)
    }
}

/// Returns the smallest difference that `n` starts find with a power of 80 % at 95 %, as a share
/// ([`Power::detectable`]).
///
/// ```
/// let share = stats::comparison::detectable(7, 0.01).unwrap();
/// assert!((share - 0.0127).abs() < 0.0001);
/// ```
pub fn detectable(n: u32, sd: f64) -> Option<f64> {
    Power::default().detectable(n, sd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn what_is_detectable_is_the_one_computed_by_hand() {
        // Tables of t for 7 degrees: 2.365 two-sided 95 %, 3.499 two-sided 99 %, 0.896 one-sided 80 %.
        let near = |found: Option<f64>, wanted: f64| {
            assert!((found.unwrap() - wanted).abs() < 1e-5, "{found:?}")
        };
        near(
            detectable(8, 0.01),
            ((2.3646 + 0.8960) * 0.01 / 8_f64.sqrt()).exp_m1(),
        );
        let strict = Power {
            confidence: 0.99,
            ..Power::default()
        };
        near(
            strict.detectable(8, 0.01),
            ((3.4995 + 0.8960) * 0.01 / 8_f64.sqrt()).exp_m1(),
        );
        assert_eq!(detectable(8, 0.0), Some(0.0));
        for (n, sd) in [
            (0, 0.01),
            (1, 0.01),
            (8, -0.01),
            (8, f64::NAN),
            (8, f64::INFINITY),
            (2, 1e9),
        ] {
            assert_eq!(detectable(n, sd), None, "{n} {sd}");
        }
    }

    #[test]
    fn starts_needed_are_the_fewest_that_detect() {
        for (sd, difference) in [(0.01, 0.01), (0.01, 0.02), (0.05, 0.01), (0.02, 0.1)] {
            let n = Power::default().starts_needed(sd, difference).unwrap();
            assert!(
                detectable(n, sd).unwrap() <= difference,
                "{sd} {difference}"
            );
            assert!(
                detectable(n - 1, sd).is_none_or(|share| share > difference),
                "{sd} {difference}"
            );
        }
        // (1.96 + 0.84)^2 = 7.85, and two more for the scatter being estimated.
        assert_eq!(Power::default().starts_needed(0.01, 0.01), Some(10));
        assert_eq!(Power::default().starts_needed(0.0, 0.01), Some(2));
        for (sd, difference) in [(0.5, 0.01), (0.01, 0.0), (0.01, -0.1), (f64::NAN, 0.1)] {
            assert_eq!(
                Power::default().starts_needed(sd, difference),
                None,
                "{sd} {difference}"
            );
        }
    }

    #[test]
    fn the_detectable_difference_is_found_in_about_four_of_five_comparisons() {
        let mut noise = Noise::new(5);
        for n in [8, 12, 30] {
            let truth = detectable(n, 0.02).unwrap().ln_1p();
            let is_found = |_: &u32| {
                let values: Vec<f64> = (0..n).map(|_| truth + 0.02 * noise.normal()).collect();
                Difference::of(&values, CONFIDENCE).unwrap().low() > 0.0
            };
            let found = (0..10_000).filter(is_found).count();
            assert!((7_850..8_300).contains(&found), "{n}: {found} of 10,000");
        }
    }
}

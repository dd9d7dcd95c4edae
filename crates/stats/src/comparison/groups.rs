//! The difference of two groups of values that have nothing in common: those of two separate runs.
//!
//! Nothing pairs a value of one with a value of the other, so what disturbs both does not cancel out. The interval is
//! Welch's, which does not take the groups to scatter alike: `mean b - mean a ± t * sqrt(va / na + vb / nb)`, with t for
//! Satterthwaite's degrees of freedom (B. L. Welch, "The generalization of 'Student's' problem when several different
//! population variances are involved", Biometrika 34, 1947). It assumes that the values of each group are independent and
//! about normal. By simulation it then holds the truth in 95 % for groups of 5 and 5; in 96.5 % for 3 and 3, in 92.7 % for 3 and 20.

use super::Difference;
use crate::{student_t, summary};

impl Difference {
    /// Returns by how much the mean of `b` is more than that of `a`, both logarithms of a figure, one for each round or start.
    /// None for a group of fewer than two values, for one that is not finite, and for a confidence that is not between 0 and 1.
    ///
    /// It speaks of the rounds of these two runs only: what the machine did between them is in the difference, and not in the
    /// interval. Exchanged groups give the negated difference exactly.
    ///
    /// ```
    /// use stats::comparison::{CONFIDENCE, Difference};
    ///
    /// let (before, after) = ([10.0_f64, 10.1, 9.9], [11.0_f64, 11.2, 10.9, 11.1]);
    /// let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    /// let difference = Difference::between(&logarithms(&before), &logarithms(&after), CONFIDENCE).unwrap();
    /// assert!(difference.low() > 0.0 && (difference.ratio() - 1.105).abs() < 0.001);
    /// ```
    pub fn between(a: &[f64], b: &[f64], confidence: f64) -> Option<Difference> {
        let group = |values: &[f64]| {
            let n = u32::try_from(values.len()).ok()?;
            let variance = summary::standard_deviation(values)?.powi(2);
            Some((n, summary::mean(values)?, variance))
        };
        let ((na, mean_a, va), (nb, mean_b, vb)) = (group(a)?, group(b)?);
        let (of_a, of_b) = (va / f64::from(na), vb / f64::from(nb));
        let freedom = match of_a + of_b > 0.0 {
            true => {
                let each = |part: f64, n: u32| part.powi(2) / f64::from(n - 1);
                (of_a + of_b).powi(2) / (each(of_a, na) + each(of_b, nb))
            }
            false => f64::from(na + nb - 2),
        };
        Some(Difference {
            n: na.min(nb),
            mean: mean_b - mean_a,
            sd: (va + vb).sqrt(),
            freedom,
            half_width: student(freedom, confidence)? * (of_a + of_b).sqrt(),
            signed_rank: None,
        })
    }
}

/// The two-sided point of Student's t for a number of degrees of freedom that need not be whole: its logarithm is taken to be
/// linear in `1 / freedom` between the whole numbers beside it. That is too large by less than 1 % from 2 degrees on, and never
/// too small.
pub(super) fn student(freedom: f64, confidence: f64) -> Option<f64> {
    let below = freedom.floor().max(1.0);
    let [low, high] = [below as u32, below as u32 + 1].map(|whole| student_t(whole, confidence));
    let (low, high) = (low?.ln(), high?.ln());
    let inverse = |freedom: f64| 1.0 / freedom;
    let way =
        (inverse(below) - inverse(freedom.max(1.0))) / (inverse(below) - inverse(below + 1.0));
    Some((low + way * (high - low)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{CONFIDENCE, Power};
    use crate::noise::Noise;
    use proptest::prelude::*;
    use std::ops::RangeInclusive;

    #[test]
    fn a_difference_of_groups_is_the_one_computed_by_hand() {
        // Means 2 and 5, variances 1 and 8/3: of the means 1/3 and 2/3. 1 / (1/9/2 + 4/9/3) = 4.909 degrees of freedom.
        let difference =
            Difference::between(&[1.0, 2.0, 3.0], &[5.0, 3.0, 7.0, 5.0], CONFIDENCE).unwrap();
        let variance_b: f64 = 8.0 / 3.0;
        let (of_a, of_b) = (1.0_f64 / 3.0, variance_b / 4.0);
        let freedom = (of_a + of_b).powi(2) / (of_a.powi(2) / 2.0 + of_b.powi(2) / 3.0);
        let near =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        assert_eq!((difference.n, difference.signed_rank), (3, None));
        near(difference.mean, 3.0);
        near(difference.sd, (1.0 + variance_b).sqrt());
        near(difference.freedom, freedom);
        near(freedom, 4.909_090_909_090_909);
        // Between t of 4 and of 5 degrees, 2.7764 and 2.5706.
        let t = difference.half_width / (of_a + of_b).sqrt();
        assert!((2.5706..2.59).contains(&t), "{t}");
    }

    #[test]
    fn t_of_degrees_between_whole_ones_is_a_little_large_and_never_small() {
        for whole in [1, 2, 5, 30] {
            let (found, wanted) = (
                student(whole.into(), CONFIDENCE),
                student_t(whole, CONFIDENCE),
            );
            assert!(
                (found.unwrap() / wanted.unwrap() - 1.0).abs() < 1e-12,
                "{whole}"
            );
        }
        // By numerical integration of the density.
        for (freedom, wanted) in [
            (2.5, 3.574_655),
            (4.5, 2.658_912),
            (6.25, 2.423_381),
            (7.9, 2.311_095),
        ] {
            let found = student(freedom, CONFIDENCE).unwrap();
            let more = found / wanted - 1.0;
            assert!((-1e-5..0.01).contains(&more), "{freedom}: {found} {more}");
        }
    }

    #[test]
    fn groups_that_do_not_scatter_have_an_interval_of_no_width() {
        let difference = Difference::between(&[1.0; 3], &[2.0; 4], CONFIDENCE).unwrap();
        assert_eq!(
            (difference.mean, difference.half_width, difference.freedom),
            (1.0, 0.0, 5.0)
        );
        let one = Difference::between(&[1.0; 3], &[2.0, 2.1, 2.2, 2.3], CONFIDENCE).unwrap();
        assert!((one.freedom - 3.0).abs() < 1e-9, "{one:?}");
    }

    #[test]
    fn there_is_none_of_a_group_with_fewer_than_two_finite_values() {
        let cases: &[(&[f64], &[f64])] = &[
            (&[], &[1.0, 2.0]),
            (&[1.0, 2.0], &[1.0]),
            (&[1.0, f64::NAN], &[1.0, 2.0]),
        ];
        for (a, b) in cases {
            assert_eq!(Difference::between(a, b, CONFIDENCE), None, "{a:?} {b:?}");
        }
        assert_eq!(Difference::between(&[1.0, 2.0], &[1.0, 2.0], 1.0), None);
    }

    /// So many rounds of either run: their number and how much they scatter, on the log scale.
    type Groups = [(usize, f64); 2];

    fn drawn(noise: &mut Noise, groups: Groups, truth: f64) -> Difference {
        let [a, b] = groups.map(|(n, sd)| {
            let values: Vec<f64> = (0..n).map(|_| sd * noise.normal()).collect();
            values
        });
        let b: Vec<f64> = b.iter().map(|value| value + truth).collect();
        Difference::between(&a, &b, CONFIDENCE).unwrap()
    }

    #[test]
    fn intervals_of_two_groups_hold_the_truth_as_often_as_they_say() {
        let truth = 0.02;
        // Few values, or numbers of them that are far apart, promise less.
        let (usual, few) = (9_350..=9_650, 9_200..=9_700);
        let cases: [(Groups, &RangeInclusive<usize>); 5] = [
            ([(5, 0.01), (5, 0.01)], &usual),
            ([(5, 0.01), (5, 0.04)], &usual),
            ([(10, 0.01), (4, 0.03)], &usual),
            ([(3, 0.01), (3, 0.01)], &few),
            ([(3, 0.01), (20, 0.01)], &few),
        ];
        for (groups, wanted) in cases {
            let mut noise = Noise::new(11);
            let holds = |_: &u32| {
                let found = drawn(&mut noise, groups, truth);
                found.low() <= truth && truth <= found.high()
            };
            let held = (0..10_000).filter(holds).count();
            assert!(wanted.contains(&held), "{groups:?}: {held} of 10,000");
        }
    }

    #[test]
    fn a_difference_that_is_detectable_between_groups_is_found_in_about_four_of_five() {
        for groups in [[(5, 0.01), (5, 0.01)], [(10, 0.02), (5, 0.01)]] {
            let mut noise = Noise::new(12);
            // What is detectable follows from the scatter that is known here, not from that of each pair of runs.
            let error = groups.map(|(n, sd)| sd * sd / n as f64);
            let of_each = |part: f64, n: usize| part.powi(2) / (n - 1) as f64;
            let sum = error[0] + error[1];
            let freedom =
                sum.powi(2) / (of_each(error[0], groups[0].0) + of_each(error[1], groups[1].0));
            let known = Difference {
                freedom,
                half_width: student(freedom, CONFIDENCE).unwrap() * sum.sqrt(),
                ..drawn(&mut noise, groups, 0.0)
            };
            let truth = Power::default().detectable_by(&known).unwrap().ln_1p();
            let found = (0..10_000)
                .filter(|_| drawn(&mut noise, groups, truth).low() > 0.0)
                .count();
            assert!(
                (7_600..8_400).contains(&found),
                "{groups:?}: {found} of 10,000"
            );
        }
    }

    proptest! {
        #[test]
        fn exchanged_groups_give_the_negated_difference_exactly(
            a in proptest::collection::vec(-1.0..1.0_f64, 2..12),
            b in proptest::collection::vec(-1.0..1.0_f64, 2..12),
        ) {
            let there = Difference::between(&a, &b, CONFIDENCE).unwrap();
            let back = Difference::between(&b, &a, CONFIDENCE).unwrap();
            prop_assert_eq!(there.reversed(), back);
        }
    }
}

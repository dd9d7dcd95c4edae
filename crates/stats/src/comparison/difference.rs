//! The difference of two servers with its interval over starts.

use super::signed_rank;
use crate::interval;

/// By which share the width of the signed-rank interval must differ from that of Student's for both to be printed.
const WIDTHS_DIFFER: f64 = 0.2;

/// How much more of one figure server B has than server A, as `ln B - ln A`, with an interval over the starts of the
/// comparison. It speaks of any start of these two servers on this machine, as far as the starts were independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// How many starts it rests on; at least 2. Of two groups, how many the smaller has.
    pub n: u32,
    /// The mean of their log ratios; of two groups the difference of their means.
    pub mean: f64,
    /// The sample standard deviation of their log ratios; of two groups that of a value of one less a value of the other.
    pub sd: f64,
    /// Degrees of freedom of the interval: n - 1; of two groups Satterthwaite's.
    pub freedom: f64,
    /// Half the width of Student's interval on the log scale: `t * sd / sqrt(n)`; of two groups that of Welch's.
    pub half_width: f64,
    /// Lower and upper end of the signed-rank interval at the same confidence, on the log scale. None where so few
    /// starts cannot promise the confidence (fewer than 6 at 95 %), for more than 200, and of two groups.
    pub signed_rank: Option<(f64, f64)>,
}

impl Difference {
    /// Returns the difference that `values` show: one log ratio `ln B - ln A` for each start ([`median_of_cycles`]).
    /// None for fewer than two values, for one that is not finite, and for a confidence that is not between 0 and 1.
    ///
    /// Negated values give the negated difference exactly. Two starts do make an interval, a very wide one; how many a
    /// verdict takes is the caller's to say.
    ///
    /// [`median_of_cycles`]: super::median_of_cycles
    pub fn of(values: &[f64], confidence: f64) -> Option<Difference> {
        let student = interval::t_interval(values, confidence)?;
        let n = u32::try_from(values.len()).ok()?;
        Some(Difference {
            n,
            mean: student.mean,
            sd: student.deviation,
            freedom: f64::from(n - 1),
            half_width: student.reach,
            signed_rank: signed_rank::interval(values, confidence),
        })
    }

    /// The lower end of Student's interval, on the log scale.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end of Student's interval, on the log scale.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// B / A: the geometric mean over starts.
    pub fn ratio(&self) -> f64 {
        self.mean.exp()
    }

    /// Lower and upper end of Student's interval, as ratios B / A.
    pub fn ratio_interval(&self) -> (f64, f64) {
        (self.low().exp(), self.high().exp())
    }

    /// The largest difference in either direction that Student's interval does not exclude, as a share: 0.02 where one
    /// server may have 2 % more than the other, whichever it is.
    pub fn largest(&self) -> f64 {
        self.low().abs().max(self.high().abs()).exp_m1()
    }

    /// The difference with the servers exchanged: `ln A - ln B`.
    pub fn reversed(&self) -> Difference {
        Difference {
            mean: -self.mean,
            signed_rank: self.signed_rank.map(|(low, high)| (-high, -low)),
            ..*self
        }
    }

    /// Whether the signed-rank interval is wider or narrower than Student's by more than 20 %, so that both should be
    /// printed: the starts' values are not about normal, or too few to tell. False where there is no signed-rank
    /// interval.
    pub fn differs_by_ranks(&self) -> bool {
        let width = 2.0 * self.half_width;
        self.signed_rank
            .is_some_and(|(low, high)| (high - low - width).abs() > WIDTHS_DIFFER * width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::CONFIDENCE;
    use proptest::prelude::*;

    #[test]
    fn a_difference_is_the_one_computed_by_hand() {
        // Mean 0.02, squares about it 0.0002 in sum, so sd 0.01; t of 2 degrees 4.302653, so 4.302653 * 0.01 / sqrt(3)
        // = 0.0248414.
        let difference = Difference::of(&[0.01, 0.02, 0.03], CONFIDENCE).unwrap();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-7, "{found}");
        assert_eq!((difference.n, difference.signed_rank), (3, None));
        near(difference.mean, 0.02);
        near(difference.sd, 0.01);
        near(difference.half_width, 0.024_841_4);
        near(difference.ratio(), 1.020_201_3);
        near(difference.ratio_interval().0, 0.995_170_3);
        near(difference.ratio_interval().1, 1.045_861_9);
        near(difference.largest(), 0.045_861_9);
        near(difference.reversed().largest(), 0.045_861_9);
    }

    #[test]
    fn there_is_none_for_fewer_than_two_finite_values() {
        let cases: &[&[f64]] = &[&[], &[0.1], &[0.1, f64::NAN], &[0.1, f64::INFINITY]];
        for values in cases {
            assert_eq!(Difference::of(values, CONFIDENCE), None, "{values:?}");
        }
        assert_eq!(Difference::of(&[0.1, 0.2], 1.0), None);
        // t of 1 degree is 12.706, and sd / sqrt(2) half the distance of the two.
        let two = Difference::of(&[0.1, 0.2], CONFIDENCE).unwrap();
        assert!((two.half_width - 0.635_31).abs() < 1e-5, "{two:?}");
    }

    #[test]
    fn widths_that_differ_by_more_than_a_fifth_are_told_either_way() {
        let difference = Difference {
            n: 8,
            mean: 0.0,
            sd: 1.0,
            freedom: 7.0,
            half_width: 1.0,
            signed_rank: None,
        };
        let with = |reach: f64| Difference {
            signed_rank: Some((-reach, reach)),
            ..difference
        };
        assert!(!difference.differs_by_ranks());
        assert!(!with(1.19).differs_by_ranks() && !with(0.81).differs_by_ranks());
        assert!(with(1.21).differs_by_ranks() && with(0.79).differs_by_ranks());
        // One start of twelve far away: Student's interval grows with it, that of ranks hardly.
        let mut values = [
            0.010, 0.012, 0.009, 0.011, 0.010, 0.008, 0.011, 0.012, 0.009, 0.010, 0.011, 0.013,
        ];
        assert!(
            !Difference::of(&values, CONFIDENCE)
                .unwrap()
                .differs_by_ranks()
        );
        values[4] = 0.2;
        assert!(
            Difference::of(&values, CONFIDENCE)
                .unwrap()
                .differs_by_ranks()
        );
    }

    proptest! {
        #[test]
        fn negated_values_give_the_negated_difference_exactly(
            values in proptest::collection::vec(-1.0..1.0_f64, 2..30),
        ) {
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let there = Difference::of(&values, CONFIDENCE).unwrap();
            let back = Difference::of(&negated, CONFIDENCE).unwrap();
            prop_assert_eq!(there.reversed(), back);
            prop_assert_eq!((there.low(), there.largest()), (-back.high(), back.largest()));
        }
    }
}

//! What is said of a difference whose starts were counted beforehand.

use super::Difference;

/// The share under which a difference is never called one: 0.25 %. Two processes of the same nginx differed by up to
/// 0.26 % in CPU time per request, systematically, as far as 16 starts could tell.
pub const MARGIN: f64 = 0.0025;

/// Returns the share beyond which a difference counts: 0.25 %, or as far as the interval of the A/A arm reaches where
/// that is more. The A/A arm is a server measured against itself under two names, so whatever lies in its interval may
/// be bias of the method.
pub fn margin(aa: Option<&Difference>) -> f64 {
    aa.map_or(0.0, Difference::largest).max(MARGIN)
}

/// The answer of a comparison. Numbers are shares: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// B has more than A, by more than the margin.
    More,
    /// B has less than A, by more than the margin.
    Less,
    /// The two differ by no more than this, in either direction.
    NoDifferenceLargerThan(f64),
    /// None of these can be said.
    CannotTell {
        /// A difference of this size is not excluded.
        hidden: f64,
    },
}

/// More or less, if the interval lies wholly beyond `margin`, a share, on one side.
pub(super) fn beyond(difference: &Difference, margin: f64) -> Option<Answer> {
    let margin = margin.ln_1p();
    if difference.low() > margin {
        Some(Answer::More)
    } else {
        (difference.high() < -margin).then_some(Answer::Less)
    }
}

/// What a comparison says whose number of starts was fixed beforehand, in shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedBudget {
    /// A difference counts beyond this: [`MARGIN`], or with an A/A arm [`margin`].
    pub margin: f64,
    /// The largest difference of which it is still worth saying that there is none larger.
    pub bound: f64,
}

impl Default for FixedBudget {
    /// A margin of 0.25 % and a bound of 2 %.
    fn default() -> FixedBudget {
        FixedBudget {
            margin: MARGIN,
            bound: 0.02,
        }
    }
}

impl FixedBudget {
    /// Returns the answer, by Student's interval alone:
    /// - more or less, where the whole interval lies beyond the margin on that side;
    /// - otherwise no difference larger than the interval's farther end, where that is at most the bound;
    /// - otherwise cannot tell: a difference as large as the farther end could be hidden.
    ///
    /// The second does not say that the servers are equal: an interval of 0.1 to 1.5 % is "no difference larger than
    /// 1.5 %".
    pub fn answer(&self, difference: &Difference) -> Answer {
        let largest = difference.largest();
        beyond(difference, self.margin).unwrap_or(match largest <= self.bound {
            true => Answer::NoDifferenceLargerThan(largest),
            false => Answer::CannotTell { hidden: largest },
        })
    }
}

/// Whether B is worse than A, the baseline, by more than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regression {
    /// The whole interval lies within the limit.
    Within,
    /// The whole interval lies beyond the limit.
    Beyond,
    /// The limit lies in the interval.
    CannotTell,
}

impl Regression {
    /// Compares a difference in a figure of which more is worse with `limit`, a share: 0.02 allows 2 % more. For a
    /// figure of which less is worse pass [`Difference::reversed`]; 0.02 then allows A to have 2 % more than B. However
    /// much better B is, it is within.
    pub fn of(difference: &Difference, limit: f64) -> Regression {
        let limit = limit.ln_1p();
        if difference.low() > limit {
            Regression::Beyond
        } else if difference.high() <= limit {
            Regression::Within
        } else {
            Regression::CannotTell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A difference whose interval has these ends, as shares of A.
    fn interval(low: f64, high: f64) -> Difference {
        let (low, high) = (low.ln_1p(), high.ln_1p());
        Difference {
            n: 8,
            mean: low.midpoint(high),
            sd: 0.01,
            freedom: 7.0,
            half_width: (high - low) / 2.0,
            signed_rank: None,
        }
    }

    /// A share to five digits.
    fn share(value: f64) -> f64 {
        (value * 1e5).round() / 1e5
    }

    #[test]
    fn the_first_line_has_three_forms_and_each_begins_where_it_says() {
        let less = |share: f64| 1.0 / (1.0 + share) - 1.0; // so much less, that A has so much more
        let cases = [
            (interval(0.002_51, 0.05), Answer::More),
            (
                interval(0.002_49, 0.05),
                Answer::CannotTell { hidden: 0.05 },
            ),
            (
                interval(0.002_49, 0.019_99),
                Answer::NoDifferenceLargerThan(0.019_99),
            ),
            (
                interval(0.002_49, 0.020_01),
                Answer::CannotTell { hidden: 0.020_01 },
            ),
            (interval(less(0.05), less(0.002_51)), Answer::Less),
            (
                interval(less(0.05), less(0.002_49)),
                Answer::CannotTell { hidden: 0.05 },
            ),
            (
                interval(less(0.019_99), 0.01),
                Answer::NoDifferenceLargerThan(0.019_99),
            ),
            (
                interval(less(0.020_01), 0.01),
                Answer::CannotTell { hidden: 0.020_01 },
            ),
            (interval(0.3, 0.4), Answer::More),
            (interval(0.0, 0.0), Answer::NoDifferenceLargerThan(0.0)),
        ];
        for (difference, wanted) in cases {
            let found = match FixedBudget::default().answer(&difference) {
                Answer::NoDifferenceLargerThan(largest) => {
                    Answer::NoDifferenceLargerThan(share(largest))
                }
                Answer::CannotTell { hidden } => Answer::CannotTell {
                    hidden: share(hidden),
                },
                answer => answer,
            };
            assert_eq!(found, wanted, "{difference:?}");
        }
    }

    #[test]
    fn the_margin_is_as_far_as_the_a_a_arm_reaches_and_never_under_a_quarter_per_cent() {
        let cases = [
            (None, 0.002_5),
            (Some(interval(-0.001, 0.002_4)), 0.002_5),
            (Some(interval(-0.001, 0.004)), 0.004),
            (Some(interval(1.0 / 1.006 - 1.0, 0.001)), 0.006),
        ];
        for (aa, wanted) in cases {
            assert_eq!(share(margin(aa.as_ref())), wanted, "{aa:?}");
        }
        let budget = FixedBudget {
            margin: margin(Some(&interval(-0.001, 0.004))),
            ..FixedBudget::default()
        };
        assert_eq!(budget.answer(&interval(0.004_1, 0.05)), Answer::More);
        assert_ne!(budget.answer(&interval(0.003_9, 0.05)), Answer::More);
    }

    #[test]
    fn a_regression_lies_wholly_beyond_the_limit_or_wholly_within() {
        let cases = [
            (0.020_1, 0.03, Regression::Beyond),
            (0.019_9, 0.03, Regression::CannotTell),
            (0.01, 0.020_1, Regression::CannotTell),
            (0.01, 0.019_9, Regression::Within),
            (-0.5, 0.019_9, Regression::Within),
            (-0.5, -0.4, Regression::Within),
            (-0.5, 0.5, Regression::CannotTell),
        ];
        for (low, high, wanted) in cases {
            let found = Regression::of(&interval(low, high), 0.02);
            assert_eq!(found, wanted, "{low} {high}");
        }
        // Of requests/s less is worse.
        let fewer = interval(-0.05, -0.03);
        assert_eq!(Regression::of(&fewer.reversed(), 0.02), Regression::Beyond);
        assert_eq!(Regression::of(&fewer, 0.02), Regression::Within);
    }
}

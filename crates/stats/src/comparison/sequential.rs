//! When to stop, where the number of starts follows from what they show.
//!
//! Looking after each of 6 to 60 starts, and stopping at the first interval without 0, calls two equal servers
//! different in 27 % of comparisons. So [`Sequential`] has five looks fixed beforehand, which share alpha: by
//! Bonferroni's bound it is wrong at most as often as one look would be, whatever the looks have in common.
//! [`Precision`] stops on the width alone, which hardly depends on where the middle lies, so that its interval keeps
//! its confidence without a correction.

use super::answer::beyond;
use super::{Answer, CONFIDENCE, Difference, MARGIN, Power, margin, share_alpha};
use crate::interval;

/// The numbers of starts after which [`Sequential`] looks, each 1.5 times the one before.
const LOOKS: [usize; 5] = [8, 12, 18, 27, 40];

/// The fewest starts after which any rule stops.
const STARTS_MIN: usize = LOOKS[0];

/// Goes on until it can tell whether two servers differ, by looking after 8, 12, 18, 27 and 40 starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequential {
    /// The difference that matters, as a share: 0.02 is 2 %.
    pub difference: f64,
    /// The confidence of all looks together; higher than 0.95 where several figures may decide ([`share_alpha`]).
    pub confidence: f64,
}

impl Sequential {
    /// The rule for a difference that matters, a share, at 95 % over all looks.
    pub fn new(difference: f64) -> Sequential {
        Sequential {
            difference,
            confidence: CONFIDENCE,
        }
    }

    /// The confidence of the interval at each look: 99 %, so that those of all looks together hold the truth with a
    /// probability of 95 %. The interval that is printed at the end has it too, and that of the A/A arm.
    pub fn look_confidence(&self) -> f64 {
        share_alpha(self.confidence, LOOKS.len() as u32)
    }

    /// The number of starts at the first look after `starts`; none after the last.
    pub fn next_look(starts: usize) -> Option<usize> {
        LOOKS.into_iter().find(|look| *look > starts)
    }

    /// Returns the answer to the starts so far, one log ratio `ln B - ln A` each; none where it is to go on. Call it
    /// after each start.
    ///
    /// The margin d is the largest of half the difference that matters (on the log scale), 0.25 %, and how far the A/A
    /// arm's interval reaches at [`Sequential::look_confidence`] ([`margin`]). At a look the answer is more or less,
    /// where the whole interval lies beyond d on that side, or no difference larger than d, where it lies within;
    /// neither while d is above the difference that matters. After the last look it is cannot tell; starts beyond that
    /// are not looked at.
    pub fn answer(&self, values: &[f64], aa: Option<&Difference>) -> Option<Answer> {
        let n = values.len().min(LOOKS[LOOKS.len() - 1]);
        if !LOOKS.contains(&n) {
            return None;
        }
        let difference = Difference::of(&values[..n], self.look_confidence());
        let decided = difference.and_then(|difference| self.decided(&difference, margin(aa)));
        let hidden = difference.map_or(f64::INFINITY, |difference| difference.largest());
        let is_last = Sequential::next_look(n).is_none();
        decided.or(is_last.then_some(Answer::CannotTell { hidden }))
    }

    fn decided(&self, difference: &Difference, margin: f64) -> Option<Answer> {
        let margin = margin.max((self.difference.ln_1p() / 2.0).exp_m1());
        if margin > self.difference {
            return None;
        }
        let within = difference.largest() < margin;
        beyond(difference, margin).or(within.then_some(Answer::NoDifferenceLargerThan(margin)))
    }

    /// Returns the smallest difference that matters, as a share, for which `starts` starts tell with a probability of
    /// about 80 % that there is none if there is none, and that there is one if it is as large; `sd` is the standard
    /// deviation of the starts' log ratios. None for fewer starts than the first look, and for an `sd` that is not 0 or
    /// more and finite.
    ///
    /// It counts the last look that so many starts reach, and no A/A arm; one that scatters like the comparison itself
    /// changes little. By simulation of normal values, none is told in 75 % (8 starts) to 82 % (40), and a difference
    /// in 87 to 92 %.
    pub fn smallest_decidable(starts: usize, sd: f64, confidence: f64) -> Option<f64> {
        let look = *LOOKS.iter().rfind(|look| **look <= starts)? as u32;
        let confidence = share_alpha(confidence, LOOKS.len() as u32);
        let found = |power: f64| Power { confidence, power }.distance(look, sd);
        // The end of an interval must be on the right side of the margin: one end for a difference. For none it is
        // both, each of which may fail in 10 %.
        let (one, both) = (found(0.8)?, found(0.9)?);
        let least = MARGIN.ln_1p();
        let smallest = match both <= least {
            true => least + one,
            false => 2.0 * both,
        };
        let smallest = smallest.exp_m1().max(MARGIN);
        smallest.is_finite().then_some(smallest)
    }
}

/// Goes on until the interval is narrow enough, whatever it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The difference that is to be found with a power of about 80 %, as a share: 0.01 is 1 %.
    pub width: f64,
    /// The confidence of the interval.
    pub confidence: f64,
}

impl Precision {
    /// Half the width of an interval, by the difference that it finds with a power of 80 %: `t / (t + 0.84)`, about.
    const HALF_WIDTH: f64 = 0.7;
    /// Further starts after the first interval that is narrow enough, because that one tends to be narrow by chance.
    const STARTS_MORE: usize = 2;

    /// The rule for a difference to be found, a share, at 95 %.
    pub fn new(width: f64) -> Precision {
        Precision {
            width,
            confidence: CONFIDENCE,
        }
    }

    /// Whether the starts so far, one log ratio each, are enough: two starts ago or earlier, but from 8 starts on, half
    /// the width of Student's interval was at most 0.7 of the difference to be found. Call it after each start.
    pub fn is_reached(&self, values: &[f64]) -> bool {
        let narrow = Precision::HALF_WIDTH * self.width.ln_1p();
        let is_narrow = |n: usize| {
            interval::t_interval(&values[..n], self.confidence)
                .is_some_and(|interval| interval.reach <= narrow)
        };
        let looked = (values.len() + 1).saturating_sub(Precision::STARTS_MORE);
        (STARTS_MIN..looked).any(is_narrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` values with this mean and standard deviation, both of which they have exactly; `n` is even.
    fn values(n: usize, mean: f64, sd: f64) -> Vec<f64> {
        let reach = sd * ((n - 1) as f64 / n as f64).sqrt();
        let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..n).map(|place| mean + reach * sign(place)).collect()
    }

    /// Student's t at 99 % for 7 and 39 degrees of freedom, by the root of 8 and 40.
    const REACH_8: f64 = 3.4995 / 2.828_43;
    const REACH_40: f64 = 2.7079 / 6.324_56;

    fn is_none_larger(answer: Option<Answer>, wanted: f64) -> bool {
        matches!(answer, Some(Answer::NoDifferenceLargerThan(margin)) if (margin - wanted).abs() < 1e-6)
    }

    #[test]
    fn looks_are_after_8_12_18_27_and_40_starts_only() {
        let rule = Sequential::new(0.02);
        assert!((rule.look_confidence() - 0.99).abs() < 1e-12);
        let clear = [0.5; 50];
        let looks = (0..40).filter(|n| rule.answer(&clear[..*n], None).is_some());
        assert_eq!(looks.collect::<Vec<usize>>(), [8, 12, 18, 27]);
        // The last look is also the answer to what came after it.
        let late = [&values(40, 0.0, 1.0)[..], &clear].concat();
        let answer = rule.answer(&late, None).unwrap();
        assert!(
            matches!(answer, Answer::CannotTell { hidden } if (hidden - (REACH_40.exp() - 1.0)).abs() < 1e-4)
        );
        assert_eq!(rule.answer(&late[..39], None), None);
        let next = [0, 7, 8, 39, 40].map(Sequential::next_look);
        assert_eq!(next, [Some(8), Some(8), Some(12), Some(40), None]);
    }

    #[test]
    fn answers_begin_on_the_margin_of_half_the_difference() {
        let (rule, half) = (Sequential::new(0.02), 1.02_f64.ln() / 2.0);
        let sd = 0.004;
        let reach = REACH_8 * sd;
        let answer = |mean: f64| rule.answer(&values(8, mean, sd), None);
        assert_eq!(answer(half + reach + 1e-5), Some(Answer::More));
        assert_eq!(answer(half + reach - 1e-5), None);
        assert_eq!(answer(-half - reach - 1e-5), Some(Answer::Less));
        assert_eq!(answer(-half - reach + 1e-5), None);
        let share = half.exp_m1();
        assert!(is_none_larger(answer(half - reach - 1e-5), share));
        assert!(is_none_larger(answer(reach - half + 1e-5), share));
        assert_eq!(answer(half - reach + 1e-5), None);
        assert_eq!(answer(reach - half - 1e-5), None);
    }

    #[test]
    fn the_margin_is_never_under_a_quarter_per_cent_nor_above_the_difference() {
        let still = |rule: Sequential, mean: f64| rule.answer(&[mean; 8], None);
        // Half of 0.4 % is under the margin, which holds.
        assert!(is_none_larger(
            still(Sequential::new(0.004), 0.002_4),
            0.002_5
        ));
        assert_eq!(still(Sequential::new(0.004), 0.002_6), Some(Answer::More));
        // With 0.2 % the margin is above the difference: nothing is said before the last look.
        let rule = Sequential::new(0.002);
        assert_eq!(still(rule, 0.5), None);
        let last = rule.answer(&[0.001; 40], None).unwrap();
        assert!(matches!(last, Answer::CannotTell { hidden } if (hidden - 0.001).abs() < 1e-5));
    }

    #[test]
    fn the_margin_reaches_as_far_as_the_a_a_arm() {
        let rule = Sequential::new(0.02);
        let reach = |reach: f64| {
            Difference::of(
                &values(8, 0.003, (reach - 0.003) / REACH_8),
                rule.look_confidence(),
            )
        };
        let answer = |mean: f64, aa: Option<Difference>| rule.answer(&[mean; 8], aa.as_ref());
        let (fine, coarse, blind) = (reach(0.009), reach(0.015), reach(0.020));
        assert_eq!(answer(0.011, None), Some(Answer::More));
        assert_eq!(answer(0.011, fine), Some(Answer::More));
        assert!(
            is_none_larger(answer(0.0149, coarse), 0.015_f64.exp_m1())
                && answer(0.0151, coarse) == Some(Answer::More)
        );
        assert_eq!(answer(0.5, blind), None);
    }

    #[test]
    fn the_smallest_decidable_difference_is_the_one_computed_by_hand() {
        // One-sided t of 7 degrees: 0.896 of 80 %, 1.415 of 90 %. By the root of 8, with an sd of 0.01: 0.0155 and
        // 0.01738.
        let cases = [
            (7, 0.01, None),
            (8, 0.01, Some((2.0 * 0.017_375_f64).exp_m1())),
            (11, 0.01, Some((2.0 * 0.017_375_f64).exp_m1())),
            // 0.001 of that lies under the margin: 0.0024969 + 0.00155.
            (8, 0.001, Some(0.004_051_f64.exp_m1())),
            (8, 0.0, Some(0.002_5)),
            (8, -1.0, None),
            (8, f64::NAN, None),
            (8, f64::INFINITY, None),
        ];
        for (starts, sd, wanted) in cases {
            let found = Sequential::smallest_decidable(starts, sd, CONFIDENCE);
            match (found, wanted) {
                (Some(found), Some(wanted)) => {
                    assert!((found - wanted).abs() < 1e-5, "{starts} {sd}: {found}")
                }
                (found, wanted) => assert_eq!(found, wanted, "{starts} {sd}"),
            }
        }
    }

    #[test]
    fn a_width_is_reached_two_starts_after_it_was_narrow_enough() {
        let t = 2.3646 / 8_f64.sqrt(); // of 7 degrees, by the root of 8
        let narrow = 0.7 * 1.01_f64.ln() / t;
        let rule = Precision::new(0.01);
        let with =
            |sd: f64, then: &[f64]| rule.is_reached(&[&values(8, 0.3, sd)[..], then].concat());
        assert!(with(0.999 * narrow, &[0.3, 0.3]));
        assert!(!with(0.999 * narrow, &[0.3]));
        assert!(!with(1.001 * narrow, &[0.3, 0.3]));
        // Narrow once is enough, whatever the further starts are.
        assert!(with(0.999 * narrow, &[3.0, -3.0]));
        assert!(!rule.is_reached(&[0.3; 9]) && rule.is_reached(&[0.3; 10]));
        assert!(!rule.is_reached(&[]));
    }
}

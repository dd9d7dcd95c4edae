//! Popularity: how often each of many resources is requested, so that a working set is measured, and not one file or only
//! cache misses.
//!
//! Ranks are drawn by rejection and inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", 1996): no table, whatever the number of resources.

use crate::template::draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How often resources are requested, by their rank: the first is the most popular.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Popularity {
    /// Zipf's law: the resource of rank `k` as often as `1 / k^exponent`.
    Zipf(f64),
}

/// A higher exponent requests hardly anything but the first.
const EXPONENT_MOST: f64 = 10.0;

impl FromStr for Popularity {
    type Err = String;

    /// Reads `zipf:1.0`.
    fn from_str(text: &str) -> Result<Popularity, String> {
        let exponent = text
            .strip_prefix("zipf:")
            .and_then(|exponent| exponent.parse().ok())
            .filter(|exponent| (0.0..=EXPONENT_MOST).contains(exponent));
        exponent.map(Popularity::Zipf).ok_or_else(|| {
            format!("`{text}` is no popularity; write zipf:EXPONENT from 0 to {EXPONENT_MOST}, such as zipf:1.0")
        })
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Popularity::Zipf(exponent) = self;
        write!(f, "zipf:{exponent}")
    }
}

/// Draws ranks of so many resources.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    number: f64,
    exponent: f64,
    /// The integral of the law up to the first rank, less what that has, and up to the last.
    ends: [f64; 2],
    /// A rank that is so near is right without a look at the law.
    near: f64,
}

impl Ranks {
    /// Returns the ranks of `number` resources.
    pub fn new(popularity: Popularity, number: u64) -> Ranks {
        let Popularity::Zipf(exponent) = popularity;
        let mut ranks = Ranks {
            number: number.max(1) as f64,
            exponent,
            ends: [0.0; 2],
            near: 0.0,
        };
        ranks.ends = [
            ranks.integral(1.5) - 1.0,
            ranks.integral(ranks.number + 0.5),
        ];
        ranks.near = 2.0 - ranks.inverse(ranks.integral(2.5) - ranks.law(2.0));
        ranks
    }

    /// Returns the rank, from 0, that `bits` draw, in 12 to 26 ns (exponents of 0.8 to 1.2, on a virtual machine); with
    /// [`Ranks::new`], which a range in a template makes anew, 30 to 185 ns.
    pub fn draw(&self, mut bits: u64) -> u64 {
        let [first, last] = self.ends;
        loop {
            let uniform = ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            let area = last + uniform * (first - last);
            let place = self.inverse(area);
            let rank = place.round().clamp(1.0, self.number);
            if rank - place <= self.near || area >= self.integral(rank + 0.5) - self.law(rank) {
                return rank as u64 - 1;
            }
            bits = draw(bits, 0);
        }
    }

    fn law(&self, rank: f64) -> f64 {
        (-self.exponent * rank.ln()).exp()
    }

    /// The integral of the law from 1 on, also where the exponent is 1.
    fn integral(&self, to: f64) -> f64 {
        let log = to.ln();
        let power = (1.0 - self.exponent) * log;
        let factor = if power.abs() > 1e-8 {
            power.exp_m1() / power
        } else {
            1.0 + power / 2.0
        };
        factor * log
    }

    /// The inverse of [`Ranks::integral`].
    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.exponent)).max(-1.0);
        let factor = if power.abs() > 1e-8 {
            power.ln_1p() / power
        } else {
            1.0 - power / 2.0
        };
        (factor * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of so many draws of `number` ranks against Zipf's law, and its degrees of freedom. Ranks of which
    /// fewer than five are expected are counted together.
    fn chi_square(exponent: f64, number: u64, draws: u64, law: f64) -> (f64, f64) {
        let ranks = Ranks::new(Popularity::Zipf(exponent), number);
        let mut counts = vec![0_u64; number as usize];
        (0..draws).for_each(|index| counts[ranks.draw(draw(4711, index)) as usize] += 1);
        let weight = |rank: usize| (rank as f64 + 1.0).powf(-law);
        let whole: f64 = (0..number as usize).map(weight).sum();
        let (mut sum, mut cells, mut seen, mut wanted) = (0.0, 0.0, 0.0, 0.0);
        for (rank, count) in counts.iter().enumerate() {
            seen += *count as f64;
            wanted += weight(rank) / whole * draws as f64;
            if wanted >= 5.0 {
                sum += (seen - wanted) * (seen - wanted) / wanted;
                (cells, seen, wanted) = (cells + 1.0, 0.0, 0.0);
            }
        }
        (sum, cells - 1.0)
    }

    #[test]
    fn ranks_follow_zipfs_law_and_no_other() {
        for (exponent, number) in [(1.0, 10_000), (0.8, 1_000), (1.3, 50), (0.0, 100), (1.0, 2)] {
            let (sum, freedom) = chi_square(exponent, number, 100_000, exponent);
            // Four standard deviations.
            let most = freedom + 4.0 * (2.0 * freedom).sqrt();
            assert!(sum < most, "{exponent} {number}: {sum} of {freedom}");
            let (sum, freedom) = chi_square(exponent, number, 100_000, exponent + 0.05);
            let most = freedom + 4.0 * (2.0 * freedom).sqrt();
            assert!(sum > most, "{exponent} {number}: {sum} of {freedom}");
        }
    }

    #[test]
    fn one_resource_and_very_many_have_ranks() {
        for exponent in [0.0, 0.5, 1.0, 10.0] {
            let popularity = Popularity::Zipf(exponent);
            for number in [1, 1 << 52] {
                let ranks = Ranks::new(popularity, number);
                assert!((0..1_000).all(|index| ranks.draw(draw(1, index)) < number));
            }
        }
    }

    #[test]
    fn a_popularity_is_read_as_it_is_shown_or_refused() {
        for text in ["zipf:1", "zipf:0.8", "zipf:0"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
        for text in [
            "", "zipf", "zipf:", "zipf:-1", "zipf:11", "zipf:NaN", "uniform",
        ] {
            let why = text.parse::<Popularity>().unwrap_err();
            assert!(why.ends_with("such as zipf:1.0"), "{why}");
        }
    }
}

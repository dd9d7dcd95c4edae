//! Chance that can be repeated: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! 2014). Good enough to pick faults, too plain to hide any.

/// A stream of numbers that its seed determines.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound` (zero for zero). The bias is below bound / 2^64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `chance`. Impossible and certain things draw nothing.
    pub(super) fn happens(&mut self, chance: f64) -> bool {
        match chance {
            never if never <= 0.0 => false,
            always if always >= 1.0 => true,
            _ => ((self.number() >> 11) as f64) < chance * (1u64 << 53) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1234567);
        let first: Vec<u64> = (0..3).map(|_| random.number()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, published);
    }

    #[test]
    fn what_has_one_chance_in_four_happens_about_so_often() {
        let mut random = Random::new(1);
        let hits = (0..10_000).filter(|_| random.happens(0.25)).count();
        // Four standard deviations of the binomial distribution: 4 * sqrt(10000 * 0.25 * 0.75) = 173.
        assert!(hits.abs_diff(2_500) < 173, "{hits}");
        assert!(!random.happens(0.0) && random.happens(1.0));
        assert!((0..1000).all(|_| random.below(7) < 7) && random.below(0) == 0);
    }
}

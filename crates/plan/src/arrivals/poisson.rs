//! A Poisson process: times between arrivals are exponential and independent, as with many independent users.
//!
//! Gap `k` is `-ln(u) / rate` with a uniform `u` that is drawn for the number `k` alone, so that a schedule follows from
//! its seed. Gaps are added in parts of 2^-32 ns: what is lost by rounding is nothing in the mean, and no sum of floats
//! grows coarser while it gets longer. Each thread adds up all gaps and not only its own, some 20 ns for each arrival of
//! the others.

use super::{Instants, Process};
use crate::Arrivals;
use crate::template::draw;
use units::{Nanos, Rate};

/// Keeps the draws apart from those of `{random}`, which have the same seed and the same numbers.
const STREAM: u64 = 0x6475_6520_6174_2e2e;

/// The process.
pub(crate) struct Poisson;

impl Process for Poisson {
    fn written(&self) -> String {
        "poisson".to_owned()
    }

    fn words(&self) -> String {
        "Poisson".to_owned()
    }

    fn after_a_rate(&self) -> String {
        "at random (Poisson)".to_owned()
    }

    fn steady(&self) -> Arrivals {
        Arrivals::Poisson
    }

    fn dispersion(&self) -> f64 {
        1.0
    }

    fn instants(&self, rate: Rate, seed: u64) -> Box<dyn Instants> {
        Box::new(Random::new(rate, seed))
    }
}

/// The instants of a random rate.
#[derive(Debug, Clone)]
pub(super) struct Random {
    /// The mean gap, in parts of 2^-32 ns.
    mean: f64,
    seed: u64,
    next: u64,
    /// The last instant, in the same parts.
    sum: u128,
}

impl Random {
    pub(super) fn new(rate: Rate, seed: u64) -> Random {
        Random {
            mean: 1e9 / rate.as_f64() * (1_u64 << 32) as f64,
            seed: seed ^ STREAM,
            next: 0,
            sum: 0,
        }
    }

    /// The gap before arrival `number`, in mean gaps.
    fn gap(&self, number: u64) -> f64 {
        // One of 2^53 values above 0, up to 1: so the logarithm is finite, and 36.7 at most.
        let uniform = ((draw(self.seed, number) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

impl Iterator for Random {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let gap = self.gap(self.next) * self.mean;
        self.next = self.next.wrapping_add(1);
        self.sum = self.sum.saturating_add(gap as u128);
        let nanos = u64::try_from(self.sum >> 32).unwrap_or(u64::MAX);
        Some(Nanos::from_nanos(nanos))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Seeds that the distribution is tried on; fixed, so that what holds once holds always.
    pub(in crate::arrivals) const SEEDS: [u64; 5] = [0, 1, 42, 1_000_003, u64::MAX];

    fn due(rate: &str, seed: u64) -> Random {
        Random::new(rate.parse().unwrap(), seed)
    }

    #[test]
    fn counts_in_bins_scatter_as_much_as_their_mean() {
        const BINS: usize = 4_000;
        let width = Nanos::from_millis(10);
        for seed in SEEDS {
            let mut counts = vec![0_u32; BINS];
            let mut pacing = due("1k", seed);
            while let Some(bin) = pacing
                .next()
                .map(|due| (due.as_nanos() / width.as_nanos()) as usize)
                .filter(|bin| *bin < BINS)
            {
                counts[bin] += 1;
            }
            let mean = counts.iter().sum::<u32>() as f64 / BINS as f64;
            let squares = counts
                .iter()
                .map(|count| (f64::from(*count) - mean).powi(2));
            let dispersion = squares.sum::<f64>() / (BINS - 1) as f64 / mean;
            // Of a Poisson process it is 1, with a standard deviation of sqrt(2 / bins) = 0.022.
            assert!((dispersion - 1.0).abs() < 0.09, "{seed}: {dispersion}");
            assert!((mean / 10.0 - 1.0).abs() < 0.02, "{seed}: {mean}");
        }
    }

    /// Anderson and Darling's statistic of gaps against the exponential distribution with a known mean, which exceeds 3.86 once in
    /// a hundred times (Stephens 1974).
    pub(in crate::arrivals) fn anderson_darling(mut gaps: Vec<f64>, mean: f64) -> f64 {
        gaps.sort_by(f64::total_cmp);
        let number = gaps.len() as f64;
        let below = |gap: f64| -(-gap / mean).exp_m1();
        let pairs = gaps.iter().zip(gaps.iter().rev()).zip(1..);
        let sum: f64 = pairs
            .map(|((low, high), rank)| f64::from(2 * rank - 1) * (below(*low).ln() - high / mean))
            .sum();
        -number - sum / number
    }

    #[test]
    fn gaps_are_exponential() {
        for (rate, mean) in [("1k", 1e6), ("30k", 1e9 / 3e4), ("0.5", 2e9)] {
            for seed in SEEDS {
                let due: Vec<f64> = due(rate, seed)
                    .take(2_001)
                    .map(|due| due.as_nanos() as f64)
                    .collect();
                let gaps = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let statistic = anderson_darling(gaps, mean);
                assert!(statistic < 3.86, "{rate} {seed}: {statistic}");
            }
        }
    }

    #[test]
    fn the_test_for_exponential_gaps_finds_out_those_that_are_not() {
        let even = vec![1e6; 200];
        let uniform: Vec<f64> = (0..200).map(|step| f64::from(step) * 1e4 + 1.0).collect();
        let twice: Vec<f64> = (1..=200)
            .map(|step| -2e6 * (f64::from(step) / 201.0).ln())
            .collect();
        for gaps in [even, uniform, twice] {
            assert!(anderson_darling(gaps, 1e6) > 3.86);
        }
    }

    #[test]
    fn one_gap_says_nothing_of_the_next() {
        for seed in SEEDS {
            let pacing = due("1", seed);
            let gaps: Vec<f64> = (0..10_000).map(|number| pacing.gap(number) - 1.0).collect();
            let lagged: f64 = gaps.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let squares: f64 = gaps.iter().map(|gap| gap * gap).sum();
            // Its standard deviation is 1 / sqrt(10,000).
            assert!(
                (lagged / squares).abs() < 0.04,
                "{seed}: {}",
                lagged / squares
            );
        }
    }

    #[test]
    fn other_seeds_give_other_schedules_and_random_urls_others_again() {
        let first = |seed| due("1", seed).next();
        assert_ne!(first(1), first(2));
        assert_ne!(draw(7 ^ STREAM, 3), draw(7, 3));
    }

    #[test]
    fn no_gap_is_endless_nor_nothing_for_ever() {
        let pacing = due("1", 1);
        assert!((0..100_000).all(|number| (0.0..37.0).contains(&pacing.gap(number))));
        let last = Random {
            sum: u128::MAX - 5,
            ..pacing
        };
        assert_eq!(last.clone().next(), Some(Nanos::from_nanos(u64::MAX)));
    }
}

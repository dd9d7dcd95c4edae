//! Raw samples: sorted, and their percentiles by nearest rank. Nothing of `stats` is used, since that is among what is
//! tried here.

use super::case::Percentiles;
use units::Nanos;

/// So many samples must lie beyond a percentile for it to say anything; weigh's own rule.
const BEYOND: u64 = 10;
/// Of a run's sorted samples one in a thousandth is kept for the raw data.
const KEPT: usize = 1000;

/// Spans of time, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples(Vec<Nanos>);

impl FromIterator<Nanos> for Samples {
    fn from_iter<I: IntoIterator<Item = Nanos>>(spans: I) -> Samples {
        let mut spans: Vec<Nanos> = spans.into_iter().collect();
        spans.sort_unstable();
        Samples(spans)
    }
}

impl Samples {
    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The five figures, as far as the samples carry them.
    pub fn percentiles(&self) -> Percentiles {
        let [p50, p90, p99, p999] = [500, 900, 990, 999].map(|mille| self.carried(mille));
        Percentiles {
            p50,
            p90,
            p99,
            p999,
            max: self.0.last().copied(),
        }
    }

    /// The percentile of `mille` thousandths, where enough samples lie beyond it.
    fn carried(&self, mille: u64) -> Option<Nanos> {
        let carries = self.count() * (1000 - mille) >= BEYOND * 1000;
        carries.then(|| self.rank(mille))
    }

    /// Nearest rank: the smallest sample that at least `mille` thousandths of all are not above.
    fn rank(&self, mille: u64) -> Nanos {
        let rank = (self.count() * mille).div_ceil(1000).max(1);
        self.0[rank as usize - 1]
    }

    /// The smallest, then one for each thousandth: enough to draw the distribution again.
    pub fn thinned(&self) -> Vec<Nanos> {
        if self.0.len() <= KEPT {
            return self.0.clone();
        }
        (0..=KEPT as u64).map(|mille| self.rank(mille)).collect()
    }

    /// The mean in nanoseconds; none of no samples.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.0.iter().map(|span| span.as_nanos() as f64).sum();
        (!self.0.is_empty()).then(|| sum / self.0.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upto(count: u64) -> Samples {
        (1..=count).rev().map(Nanos::from_nanos).collect()
    }

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let figures = upto(20_000).percentiles();
        let nanos = |nanos| Some(Nanos::from_nanos(nanos));
        assert_eq!(
            figures.all(),
            [10_000, 18_000, 19_800, 19_980, 20_000].map(nanos)
        );
        assert_eq!(upto(1001).percentiles().p50, nanos(501));
        assert_eq!(upto(1001).percentiles().p99, nanos(991));
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let carried = |count| {
            let figures = upto(count).percentiles();
            figures.all().iter().flatten().count()
        };
        let cases = [
            (0, 0),
            (1, 1),
            (19, 1),
            (20, 2),
            (99, 2),
            (100, 3),
            (999, 3),
            (1000, 4),
            (9_999, 4),
            (10_000, 5),
        ];
        for (count, figures) in cases {
            assert_eq!(carried(count), figures, "{count}");
        }
    }

    #[test]
    fn thinned_samples_keep_both_ends() {
        let thinned = upto(20_000).thinned();
        assert_eq!(thinned.len(), 1001);
        let ends = [thinned[0], thinned[500], thinned[1000]].map(Nanos::as_nanos);
        assert_eq!(ends, [1, 10_000, 20_000]);
        assert_eq!(upto(10).thinned().len(), 10);
        assert_eq!(upto(3).mean(), Some(2.0));
        assert_eq!(upto(0).mean(), None);
    }
}

//! Raw samples: sorted, and their percentiles by nearest rank. Nothing of `stats` is used, since that is among what is
//! tried here.

use super::case::Percentiles;
use units::Nanos;

/// So many samples must lie beyond a percentile for it to say anything; weigh's own rule.
const BEYOND: u64 = 10;
/// The thousandths of a run's sorted samples that are kept for the raw data: each hundredth, and more of the tail.
fn kept() -> impl Iterator<Item = u64> {
    (0..1000).step_by(10).chain(991..=1000)
}

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
        [p50, p90, p99, p999, self.0.last().copied()]
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

    /// The smallest, each hundredth, and each thousandth of the last: enough to draw the distribution again. With the
    /// thousandth that each stands for; nothing of no samples.
    pub fn thinned(&self) -> impl Iterator<Item = (u64, Nanos)> {
        let kept = kept().filter(|_| !self.0.is_empty());
        kept.map(|mille| (mille, self.rank(mille)))
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
        assert_eq!(figures, [10_000, 18_000, 19_800, 19_980, 20_000].map(nanos));
        assert_eq!(upto(1001).percentiles()[0], nanos(501));
        assert_eq!(upto(1001).percentiles()[2], nanos(991));
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let carried = |count| {
            let figures = upto(count).percentiles();
            figures.iter().flatten().count()
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
        let samples = upto(20_000);
        let thinned: Vec<(u64, u64)> = samples
            .thinned()
            .map(|(mille, span)| (mille, span.as_nanos()))
            .collect();
        assert_eq!(thinned.len(), 110);
        let some = [0, 50, 99, 100, 109].map(|place| thinned[place]);
        let wanted = [
            (0, 1),
            (500, 10_000),
            (990, 19_800),
            (991, 19_820),
            (1000, 20_000),
        ];
        assert_eq!(some, wanted);
        assert_eq!(upto(0).thinned().count(), 0);
        assert_eq!(upto(3).mean(), Some(2.0));
        assert_eq!(upto(0).mean(), None);
    }
}

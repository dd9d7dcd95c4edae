//! Response times by when exchanges were scheduled: whether they grow with the length of the run.

use crate::series::halve;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Add;
use units::{Instant, Nanos};

/// Sums of response times, in bins of equal width from the start of the window, by when exchanges were scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// When the first bin begins: the start of the window; of rounds that were added up, that of the first.
    pub start: Instant,
    /// Width of a bin.
    pub interval: Nanos,
    /// Exchanges in each bin: ok and censored ones.
    pub count: Vec<u64>,
    /// Their response times (or ages) together; as long as `count`.
    pub sum: Vec<Nanos>,
}

impl Default for Growth {
    fn default() -> Self {
        Growth {
            start: Instant::ZERO,
            interval: Growth::INTERVAL,
            count: Vec::new(),
            sum: Vec::new(),
        }
    }
}

impl Growth {
    /// The width that it begins with: 64 bins are a second and more.
    pub const INTERVAL: Nanos = Nanos::from_millis(25);
    /// The most bins, enough for a straight line through them; a longer window doubles their width instead.
    pub const MOST_BINS: usize = 64;

    /// Counts an exchange that was scheduled at `scheduled`.
    pub fn add(&mut self, scheduled: Instant, response: Nanos) {
        self.put(scheduled - self.start, 1, response);
    }

    fn put(&mut self, offset: Nanos, count: u64, sum: Nanos) {
        let mut bin = offset.as_nanos() / self.interval.as_nanos();
        while bin >= Self::MOST_BINS as u64 {
            self.coarsen();
            bin /= 2;
        }
        let bin = bin as usize;
        if bin >= self.count.len() {
            self.count.resize(bin + 1, 0);
            self.sum.resize(bin + 1, Nanos::ZERO);
        }
        self.count[bin] = self.count[bin].saturating_add(count);
        self.sum[bin] += sum;
    }

    /// Adds another's, in the wider of both intervals, bin by bin, whenever each began.
    pub fn merge(&mut self, other: &Growth) {
        let mut other = other.clone();
        if self.count.is_empty() {
            self.start = other.start;
        }
        while self.interval < other.interval {
            self.coarsen();
        }
        while other.interval < self.interval {
            other.coarsen();
        }
        for (bin, (&count, &sum)) in other.count.iter().zip(&other.sum).enumerate() {
            self.put(self.interval * bin as u64, count, sum);
        }
    }

    /// By how much response time grew for each second that exchanges were scheduled later, in seconds: the slope of the least
    /// squares through the exchanges, each in the middle of its bin. None where all are in one bin.
    pub fn slope(&self) -> Option<f64> {
        self.slope_of(self.count.len())
    }

    /// The same over the first three quarters of the bins: what a stall near the end leaves out.
    pub fn early_slope(&self) -> Option<f64> {
        self.slope_of(self.count.len() * 3 / 4)
    }

    /// Returns the exchanges that were scheduled in `[from, to)` of the window, to the width of a bin.
    pub fn between(&self, from: Nanos, to: Nanos) -> Growth {
        let mut part = self.clone();
        for bin in 0..part.count.len() {
            let at = self.interval * bin as u64 + self.interval / 2;
            if at < from || at >= to {
                (part.count[bin], part.sum[bin]) = (0, Nanos::ZERO);
            }
        }
        part
    }

    fn slope_of(&self, first: usize) -> Option<f64> {
        let bins = || self.count.iter().zip(&self.sum).zip(0..).take(first);
        let middle = |bin: u32| (f64::from(bin) + 0.5) * self.interval.as_secs_f64();
        let (mut number, mut at, mut took) = (0.0, 0.0, 0.0);
        for ((&count, sum), bin) in bins() {
            number += count as f64;
            at += count as f64 * middle(bin);
            took += sum.as_secs_f64();
        }
        let (at, took) = (at / number, took / number);
        let (mut both, mut square) = (0.0, 0.0);
        for ((&count, sum), bin) in bins() {
            let away = middle(bin) - at;
            both += away * (sum.as_secs_f64() - count as f64 * took);
            square += count as f64 * away * away;
        }
        (square > 0.0).then(|| both / square)
    }

    /// Whether it is one that [`Growth::add`] can have made, as for [`crate::Series`].
    pub(crate) fn is_sound(&self) -> bool {
        let first = Self::INTERVAL.as_nanos();
        let doubled = (0..30).any(|times| self.interval.as_nanos() == first << times);
        doubled && self.count.len() == self.sum.len() && self.count.len() <= Self::MOST_BINS
    }

    fn coarsen(&mut self) {
        halve(&mut self.count, u64::saturating_add);
        halve(&mut self.sum, Nanos::add);
        self.interval = self.interval * 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second each at ten a second, of so many milliseconds.
    fn growth(millis: impl Fn(u64) -> u64, seconds: u64) -> Growth {
        let mut growth = Growth::default();
        for tenth in 0..seconds * 10 {
            growth.add(
                Instant::ZERO + Nanos::from_millis(tenth * 100),
                Nanos::from_millis(millis(tenth)),
            );
        }
        growth
    }

    #[test]
    fn the_slope_is_how_much_longer_it_takes_for_each_second_later() {
        for seconds in [3, 40, 1_000] {
            let steady = growth(|_| 70, seconds).slope().unwrap();
            assert!(steady.abs() < 1e-9, "{steady}");
            // 50 ms longer every tenth of a second.
            let growing = growth(|tenth| 3 + 50 * tenth, seconds).slope().unwrap();
            assert!((growing - 0.5).abs() < 0.01, "{seconds} s: {growing}");
        }
        assert_eq!(growth(|_| 1, 0).slope(), None);
        let mut one = Growth::default();
        one.add(Instant::ZERO, Nanos::from_secs(1));
        assert_eq!(one.slope(), None);
    }

    #[test]
    fn what_grows_in_the_last_quarter_only_has_no_early_slope() {
        let late = growth(|tenth| 3 + 50 * tenth.saturating_sub(32), 4);
        assert!(late.slope().unwrap() > 0.01);
        assert!(late.early_slope().unwrap().abs() < 1e-9);
        let steady = growth(|tenth| 3 + 50 * tenth, 4).early_slope().unwrap();
        assert!((steady - 0.5).abs() < 0.01, "{steady}");
    }

    #[test]
    fn a_long_window_widens_the_bins_and_merging_keeps_every_exchange() {
        let mut long = growth(|_| 2, 500);
        assert!(long.count.len() <= Growth::MOST_BINS && long.is_sound());
        long.merge(&growth(|_| 4, 1));
        assert!(long.is_sound());
        assert_eq!(long.count.iter().sum::<u64>(), 5_010);
        assert_eq!(
            long.sum.iter().copied().sum::<Nanos>(),
            Nanos::from_millis(10_040)
        );
        let mut short = growth(|_| 4, 1);
        short.merge(&growth(|_| 2, 500));
        assert_eq!(short, long);
    }
}

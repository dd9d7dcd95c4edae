//! Endings over time, in bins of 100 ms (doubled as often as needed to keep a round's bins few).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Endings over the window, in bins of equal width from its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Width of a bin.
    pub interval: Nanos,
    /// Ok endings in each bin.
    pub ok: Vec<u64>,
    /// Faults in each bin; as long as `ok`.
    pub errors: Vec<u64>,
}

impl Default for Series {
    fn default() -> Self {
        Series {
            interval: Series::INTERVAL,
            ok: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl Series {
    /// The width that a series begins with.
    pub const INTERVAL: Nanos = Nanos::from_millis(100);
    /// The most bins; a longer window doubles their width instead.
    pub const MOST_BINS: usize = 4096;

    /// Counts endings in the bin that `offset` after the start of the window falls into.
    pub fn add(&mut self, offset: Nanos, ok: u64, errors: u64) {
        let mut bin = offset.as_nanos() / self.interval.as_nanos();
        while bin >= Self::MOST_BINS as u64 {
            self.coarsen();
            bin /= 2;
        }
        let bin = bin as usize;
        if bin >= self.ok.len() {
            self.ok.resize(bin + 1, 0);
            self.errors.resize(bin + 1, 0);
        }
        self.ok[bin] = self.ok[bin].saturating_add(ok);
        self.errors[bin] = self.errors[bin].saturating_add(errors);
    }

    /// All endings, of both kinds.
    pub fn endings(&self) -> u64 {
        let counts = self.ok.iter().chain(&self.errors);
        counts.copied().fold(0, u64::saturating_add)
    }

    /// Adds another's counts, in the wider of both intervals.
    pub fn merge(&mut self, other: &Series) {
        let mut other = other.clone();
        while self.interval < other.interval {
            self.coarsen();
        }
        while other.interval < self.interval {
            other.coarsen();
        }
        for (bin, (&ok, &errors)) in other.ok.iter().zip(&other.errors).enumerate() {
            self.add(self.interval * bin as u64, ok, errors);
        }
    }

    /// Whether it is one that [`Series::add`] can have made: a width doubled from the first, as many bins of both
    /// kinds, and not too many. (With any other width, merging would find no common one.)
    pub(crate) fn is_sound(&self) -> bool {
        let first = Self::INTERVAL.as_nanos();
        let doubled = (0..30).any(|times| self.interval.as_nanos() == first << times);
        doubled && self.ok.len() == self.errors.len() && self.ok.len() <= Self::MOST_BINS
    }

    fn coarsen(&mut self) {
        halve(&mut self.ok, u64::saturating_add);
        halve(&mut self.errors, u64::saturating_add);
        self.interval = self.interval * 2;
    }
}

/// Adds each two neighbouring bins.
pub(crate) fn halve<T: Copy>(bins: &mut Vec<T>, add: fn(T, T) -> T) {
    let pairs = bins.chunks(2).map(|pair| pair.iter().copied().reduce(add));
    *bins = pairs.flatten().collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_window_widens_the_bins_and_keeps_every_ending() {
        let mut series = Series::default();
        for second in 0..2_000 {
            series.add(Nanos::from_secs(second), 3, 1);
        }
        assert!(series.ok.len() <= Series::MOST_BINS);
        assert_eq!(series.interval, Nanos::from_millis(800));
        assert_eq!(series.ok.iter().sum::<u64>(), 6_000);
        assert_eq!(series.errors.iter().sum::<u64>(), 2_000);
    }

    #[test]
    fn merging_unequal_widths_keeps_every_ending_in_its_place() {
        let mut fine = Series::default();
        fine.add(Nanos::from_millis(250), 1, 0);
        let mut coarse = Series::default();
        coarse.add(Nanos::from_secs(700), 1, 0);
        fine.merge(&coarse);
        assert_eq!(fine.interval, coarse.interval);
        assert_eq!((fine.ok[1], fine.ok[3500]), (1, 1));
    }
}

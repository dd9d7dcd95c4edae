//! Requests that were cut off before their end was known, and what they leave open of a distribution that holds their ages.

use crate::{Statistic, Tally};
use stats::Histogram;
use units::{Nanos, micros};

/// Censored samples of a distribution. Each took at least its age; the true times may be anything from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Censored {
    /// How many there are.
    pub count: u64,
    /// The smallest age.
    pub from: Nanos,
}

impl Censored {
    /// Returns the censored samples of `times`, which holds the times of `ok` requests and the ages of the others; none
    /// where there is none.
    pub fn of(times: &Histogram, ok: u64, from: Option<Nanos>) -> Option<Censored> {
        let count = times.count().saturating_sub(ok).max(1);
        Some(Censored { count, from: from? })
    }

    /// Returns the censored samples of what is called latency in `tally`.
    pub fn of_latency(tally: &Tally) -> Option<Censored> {
        Censored::of(tally.latency(), tally.ok, tally.latency_censored_from())
    }

    /// Returns an upper bound of quantile `p` in nanoseconds: the value that many ranks higher, because without the censored
    /// samples no rank moves by more; none where the bound is infinite.
    pub fn upper(self, times: &Histogram, p: f64) -> Option<u64> {
        self.upper_at(times, stats::rank(times.count(), p)?.max(1))
    }

    fn upper_at(self, times: &Histogram, rank: u64) -> Option<u64> {
        let value = times.value_at_rank(rank)?;
        match value < self.from.as_nanos() {
            true => Some(value),
            false => times.value_at_rank(rank.checked_add(self.count)?),
        }
    }

    /// Returns whether the figure of `times` is only a lower bound, so that a printed value may be too small. The mean is one;
    /// the others where their two bounds differ in print.
    pub fn bounds(self, times: &Histogram, figure: Statistic) -> bool {
        let rank = match figure {
            Statistic::Mean => return true,
            Statistic::Min => Some(1),
            Statistic::Max => Some(times.count()),
            Statistic::At(p) => stats::rank(times.count(), p.quantile()),
        };
        let shown = |nanos: Option<u64>| nanos.map(|nanos| micros(nanos as f64 / 1e3));
        rank.is_some_and(|rank| {
            shown(times.value_at_rank(rank)) != shown(self.upper_at(times, rank))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Percentile;

    /// A thousand times of 1 to 1000 us, the last of which are the ages of so many censored ones.
    fn bounded(censored: u64, from: u64) -> Vec<Statistic> {
        let mut times = Histogram::default();
        (1..=1_000 - censored).for_each(|us| times.record(us * 1_000));
        times.record_n(from * 1_000, censored);
        let censored = Censored::of(&times, 1_000 - censored, Some(Nanos::from_micros(from)));
        let all = [Percentile::P50, Percentile::P90, Percentile::P99].map(Statistic::At);
        let mut all = [&[Statistic::Min, Statistic::Mean, Statistic::Max], &all[..]].concat();
        all.retain(|figure| censored.unwrap().bounds(&times, *figure));
        all
    }

    #[test]
    fn one_that_was_cut_off_early_bounds_no_percentile_that_its_neighbour_shows_as_well() {
        let ends = [Statistic::Mean, Statistic::Max];
        let p = Statistic::At;
        assert_eq!(bounded(1, 2_000), ends);
        // p50 is 499 or 500 us: that differs in print.
        assert_eq!(
            bounded(1, 1),
            [
                &ends[..],
                &[p(Percentile::P50), p(Percentile::P90), p(Percentile::P99)]
            ]
            .concat()
        );
        assert_eq!(
            bounded(20, 2_000),
            [&ends[..], &[p(Percentile::P99)]].concat()
        );
    }

    #[test]
    fn a_percentile_below_which_nothing_was_cut_off_is_what_it_is() {
        let mut times = Histogram::default();
        times.record_n(500_000, 100_000);
        times.record_n(700_000, 100);
        times.record(400_000);
        let one = Censored::of(&times, 100_100, Some(Nanos::from_micros(400))).unwrap();
        assert_eq!(one.count, 1);
        assert!(
            !one.bounds(&times, Statistic::At(Percentile::P50)),
            "500 us with it and without it"
        );
        assert_eq!(one.upper(&times, 0.5), times.quantile(0.5));
        assert_eq!(one.upper(&times, 1.0), None, "it may have taken for ever");
        assert!(one.bounds(&times, Statistic::Min));
    }
}

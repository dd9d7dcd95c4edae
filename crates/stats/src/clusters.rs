//! How far values that come one after the other are alike: counts of coarse classes of values over bins of time, and from them
//! the effective number of samples.

use crate::chi_squared::by_chance;
use crate::layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By how many bits a class is coarser than a slot of the histogram: 8 classes to each doubling.
pub(crate) const COARSER: u32 = 7;

/// How many classes there are.
pub const CLASSES: usize = (layout::LAST >> COARSER) + 1;

/// Counts of values by class in bins of time. Bins lie on the clock, so that threads of one round add up and rounds stay
/// apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clusters {
    /// Width of a bin, in nanoseconds.
    interval: u64,
    /// Bins by their number since the clock's zero, each with pairs of class and count, ascending.
    bins: BTreeMap<u64, Vec<(u16, u64)>>,
}

impl Default for Clusters {
    fn default() -> Clusters {
        Clusters {
            interval: Clusters::INTERVAL,
            bins: BTreeMap::new(),
        }
    }
}

impl Clusters {
    /// The width that bins begin with: 100 ms, in nanoseconds.
    pub const INTERVAL: u64 = 100_000_000;
    /// The most bins of one thread; a longer window doubles their width instead.
    pub const MOST_BINS: usize = 20;

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Adds `counts`, one for each class, at the time `at` in nanoseconds.
    pub fn add(&mut self, at: u64, counts: &[u32]) {
        let filled = counts.iter().zip(0u16..).filter(|(count, _)| **count > 0);
        let pairs = filled.map(|(count, class)| (class, u64::from(*count)));
        let bin = self.bins.entry(at / self.interval()).or_default();
        merge(bin, pairs);
        while self.bins.len() > Self::MOST_BINS {
            self.coarsen();
        }
    }

    /// The width of a bin, in nanoseconds.
    pub fn interval(&self) -> u64 {
        self.interval.max(1)
    }

    /// Returns the class of a value.
    pub fn class_of(value: u64) -> usize {
        layout::slot(value) >> COARSER
    }

    /// Returns the start of each bin with values, in nanoseconds, and their mean, each value taken as the middle of its class.
    pub fn means(&self) -> impl Iterator<Item = (u64, f64)> {
        let edge = |class: usize| layout::low(class << COARSER) as f64;
        let middle = move |class: u16| edge(class.into()).midpoint(edge(usize::from(class) + 1));
        self.bins.iter().filter_map(move |(bin, pairs)| {
            let sum: f64 = pairs
                .iter()
                .map(|(class, count)| middle(*class) * *count as f64)
                .sum();
            let count: f64 = pairs.iter().map(|(_, count)| *count as f64).sum();
            (count > 0.0).then(|| (bin.saturating_mul(self.interval()), sum / count))
        })
    }

    /// Adds another's counts, in the wider of both intervals.
    pub fn merge(&mut self, other: &Clusters) {
        let mut other = other.clone();
        while self.interval < other.interval {
            self.coarsen();
        }
        while other.interval < self.interval {
            other.coarsen();
        }
        for (bin, pairs) in other.bins {
            merge(self.bins.entry(bin).or_default(), pairs.into_iter());
        }
    }

    fn coarsen(&mut self) {
        self.interval = self.interval.saturating_mul(2);
        for (bin, pairs) in std::mem::take(&mut self.bins) {
            merge(self.bins.entry(bin / 2).or_default(), pairs.into_iter());
        }
    }

    /// Returns the index of dispersion of the values above their quantile `p` over the bins, at least 1: the variance of their
    /// number by what independent values would have. It is 1 where chance explains a greater one in more than one case of a
    /// hundred, and where there is only one bin or class.
    ///
    /// `sum((c - e)^2 / (e p)) / (B - 1)` over B bins, of which each has c values above the quantile and e expected (Cox and
    /// Lewis, "The Statistical Analysis of Series of Events", 1966, 6.3; the share p for values that are drawn and not
    /// counted). The quantile is the edge of classes next to it.
    pub fn dispersion(&self, p: f64) -> f64 {
        let Some(edge) = self.edge(p) else {
            return 1.0;
        };
        let each = self.bins.values().map(|pairs| {
            let of = |counted: fn(u16, u16) -> bool| {
                let some = pairs.iter().filter(|(class, _)| counted(*class, edge));
                some.map(|(_, count)| *count as f64).sum::<f64>()
            };
            (of(|_, _| true), of(|class, edge| class >= edge))
        });
        let each: Vec<(f64, f64)> = each.filter(|(all, _)| *all > 0.0).collect();
        let all: f64 = each.iter().map(|(all, _)| all).sum();
        let above: f64 = each.iter().map(|(_, above)| above).sum();
        let free = each.len() as f64 - 1.0;
        if free < 1.0 || above <= 0.0 || above >= all {
            return 1.0;
        }
        let share = above / all;
        let squares = each.iter().map(|(all, above)| {
            let expected = all * share;
            (above - expected).powi(2) / (expected * (1.0 - share))
        });
        let index = squares.sum::<f64>() / free;
        if index > by_chance(free, ONE_IN_A_HUNDRED) {
            index
        } else {
            1.0
        }
    }

    /// The first class above the quantile `p`: of all edges the one above which the share of values is nearest to `1 - p`, by
    /// their ratio. None without an edge between values.
    fn edge(&self, p: f64) -> Option<u16> {
        let mut classes: BTreeMap<u16, u64> = BTreeMap::new();
        for (class, count) in self.bins.values().flatten() {
            let sum = classes.entry(*class).or_default();
            *sum = sum.saturating_add(*count);
        }
        let all: f64 = classes.values().map(|count| *count as f64).sum();
        let wanted = (1.0 - p) * all;
        let mut above = 0.0;
        let edges = classes.iter().rev().map(|(class, count)| {
            above += *count as f64;
            (*class, (above / wanted).ln().abs())
        });
        let edges: Vec<(u16, f64)> = edges.collect();
        let inner = &edges[..edges.len().saturating_sub(1)]; // below the lowest class lies nothing
        let nearest = inner.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map(|(class, _)| *class)
    }
}

/// The normal deviate that one in a hundred exceeds.
const ONE_IN_A_HUNDRED: f64 = 2.326;

fn merge(bin: &mut Vec<(u16, u64)>, more: impl Iterator<Item = (u16, u64)>) {
    for (class, count) in more {
        match bin.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(place) => bin[place].1 = bin[place].1.saturating_add(count),
            Err(place) => bin.insert(place, (class, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Chance(u64);

    impl Chance {
        fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn exponential(&mut self, mean: f64) -> f64 {
            -mean * (1.0 - self.uniform()).ln()
        }
    }

    /// Values with their times, in nanoseconds.
    fn clusters(values: impl Iterator<Item = (u64, u64)>) -> Clusters {
        let mut all = Clusters::default();
        for (at, value) in values {
            let mut counts = [0u32; CLASSES];
            counts[Clusters::class_of(value)] = 1;
            all.add(at, &counts);
        }
        all
    }

    #[test]
    fn independent_values_are_worth_their_number() {
        let mut wrong = 0;
        for seed in 0..200 {
            let mut chance = Chance(seed);
            let values =
                (0..2_000).map(|number| (number * 1_000_000, chance.exponential(1e6) as u64));
            let found = clusters(values);
            wrong += u32::from(found.dispersion(0.99) > 1.0);
        }
        assert!(wrong <= 10, "{wrong} of 200: one in a hundred is meant");
    }

    #[test]
    fn values_of_a_stall_are_worth_few() {
        let mut chance = Chance(1);
        let values = (0..10_000u64).map(|number| {
            let stalled = (5_000..5_200).contains(&number);
            let value = chance.exponential(1e6) + if stalled { 2e7 } else { 0.0 };
            (number * 200_000, value as u64)
        });
        let found = clusters(values);
        let index = found.dispersion(0.99);
        assert!(index > 50.0, "{index}");
        assert_eq!(found.dispersion(1.0), found.dispersion(0.9999));
    }

    /// Response times of a queue with one server (M/M/1, 5,000 requests, rounds of 1 s at 80 % of 1,000/s): intervals by ranks
    /// with the effective number hold the true p90 in more than 85 % of 200 runs; with the plain number in fewer than 70 %.
    #[test]
    fn with_the_effective_number_intervals_hold_the_percentile_of_a_queue() {
        let (rate, service) = (800.0, 1e9 / 1_000.0);
        let truth = -(0.1f64.ln()) * service / (1.0 - 0.8);
        let (mut held, mut plain) = (0, 0);
        for seed in 0..200 {
            let mut chance = Chance(seed);
            let (mut now, mut free) = (0.0f64, 0.0f64);
            let mut times: Vec<u64> = Vec::new();
            let values: Vec<(u64, u64)> = (0..6_000)
                .map(|_| {
                    now += chance.exponential(1e9 / rate);
                    free = free.max(now) + chance.exponential(service);
                    (free as u64, (free - now) as u64)
                })
                .skip(1_000)
                .collect();
            let found = clusters(values.iter().copied());
            times.extend(values.iter().map(|(_, time)| time));
            times.sort_unstable();
            let holds = |number: f64| {
                let half = 1.96 * (0.9 * 0.1 / number).sqrt();
                let at = |share: f64| times[((share * 5_000.0) as usize).min(4_999)] as f64;
                at(0.9 - half) <= truth && truth <= at(0.9 + half)
            };
            held += u32::from(holds(5_000.0 / found.dispersion(0.9)));
            plain += u32::from(holds(5_000.0));
        }
        assert!(held > 170 && plain < 140, "{held} {plain}");
    }

    #[test]
    fn threads_add_up_and_long_windows_get_wider_bins() {
        let one = clusters((0..100).map(|number| (number * 50_000_000, 1_000)));
        assert!(one.bins.len() <= Clusters::MOST_BINS && one.interval > Clusters::INTERVAL);
        let mut sum = clusters([(10, 1_000), (20, 9_000)].into_iter());
        sum.merge(&one);
        let counted: u64 = sum.bins.values().flatten().map(|(_, count)| count).sum();
        assert_eq!((counted, sum.interval), (102, one.interval));
        assert_eq!(clusters([].into_iter()).dispersion(0.5), 1.0);
    }
}

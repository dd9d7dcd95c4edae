//! How many samples had which value, to 0.1 %.
//!
//! It knows no clock and no unit beyond "whole numbers"; the callers record nanoseconds. Quantiles
//! of several histograms are never averaged: histograms are merged, which loses nothing, and then
//! asked. (Our own rather than the `hdrhistogram` crate, which the tests hold it against: that one
//! can fail on a value, and keeps neither the sum nor the exact extremes.)

use crate::clusters;
use crate::form::Form;
use crate::layout::{self, LAST, SLOTS, TOP};
use crate::packed::Packed;
use crate::rank;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// A count stops here: the largest that HdrHistogram's V2 form can carry.
const COUNT_TOP: u64 = i64::MAX as u64;

/// Counts of values in 1 ..= 2^36 at three significant digits, with the exact count, minimum,
/// maximum and sum.
///
/// A new histogram holds no memory. It has two forms, which hold the same. *Dense*, while samples
/// are recorded: the first one allocates 216 KiB of zeros. (Pages fresh from the kernel cost nothing
/// until they are written; memory that the allocator had before is cleared first, so count on 216
/// KiB.) *Packed*, after [`Histogram::pack`] and when read from a record: about a byte for each bucket
/// that holds samples, so that thousands can be kept. A sample that is added to a packed histogram makes
/// it dense again.
///
/// Recording takes about 2.5 ns (a 2-core virtual machine, values spread over two decades) and never
/// fails: a value above [`Histogram::TOP`] goes into the last bucket and is counted in `saturated`; 0
/// has a bucket of its own. A count stops at 2^63 - 1 and the sum at 2^64 - 1.
///
/// Law: `record` and `merge` only add, so the order and the grouping of samples leave no trace but
/// the form, by which no two histograms differ.
///
/// ```
/// let mut latency = stats::Histogram::new();
/// (1..=100).for_each(|value| latency.record(value));
/// assert_eq!(latency.quantile(0.5), Some(50));
/// assert_eq!(latency.quantile_if_carried(0.99), None); // 100 samples do not carry a p99
/// ```
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Form")]
#[schemars(
    with = "Form",
    description = "Samples counted by value. Values are whole numbers (nanoseconds, where they are times), to 0.1\n%; `min`, \
                   `max`, `count` and `sum` are exact."
)]
pub struct Histogram {
    /// Dense: one count a slot of [`layout`]. Empty before the first sample, and in a packed one; then the bounds check
    /// of recording is the test for that.
    slots: Box<[u64]>,
    /// The counts of a packed one. Empty in a dense one.
    packed: Packed,
    count: u64,
    /// Subset of `count`: values above [`TOP`], all in the last slot.
    saturated: u64,
    /// `u64::MAX` when empty.
    min: u64,
    /// 0 when empty.
    max: u64,
    sum: u64,
    /// Values for which recording only adds: smallest and largest. They lie between the extremes, so that those stay as
    /// they are; the range is empty before the first sample and where a count could reach its stop.
    usual: (u64, u64),
}

/// No value is in it.
const NONE: (u64, u64) = (1, 0);

/// One bucket that holds samples. Buckets follow each other in rising order and do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value that falls into it.
    pub low: u64,
    /// The largest value that falls into it; for the last bucket, which is open, the maximum
    /// recorded.
    pub high: u64,
    /// How many samples it holds; never 0.
    pub count: u64,
}

/// What a histogram of at least one sample keeps exactly, beside its buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    pub(crate) saturated: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) sum: u64,
}

impl Histogram {
    /// The largest value told apart from larger ones: 2^36, about 69 s in nanoseconds.
    pub const TOP: u64 = TOP;

    /// A histogram without samples and without memory.
    pub fn new() -> Self {
        Histogram {
            slots: Box::default(),
            packed: Packed::default(),
            count: 0,
            saturated: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            usual: NONE,
        }
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_class(value);
    }

    /// Adds one sample. Returns the class that it has in [`Clusters`](crate::Clusters), which costs least where its slot is known;
    /// of a value above the top it is no class.
    #[inline]
    pub fn record_class(&mut self, value: u64) -> usize {
        let (low, high) = self.usual;
        let slot = layout::slot(value);
        match self.slots.get_mut(slot) {
            Some(count) if low <= value && value <= high => {
                *count += 1;
                self.count += 1;
                self.sum = self.sum.saturating_add(value);
            }
            _ => self.record_rarity(value),
        }
        slot >> clusters::COARSER
    }

    /// The first sample, a new extreme, one into a packed histogram, one above [`TOP`], or one that could be too many.
    #[cold]
    fn record_rarity(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Adds `n` samples of one value; none when `n` is 0.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.raise(layout::slot(value.min(TOP)), n);
        self.count = plus(self.count, n);
        self.saturated = plus(self.saturated, if value > TOP { n } else { 0 });
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value.saturating_mul(n));
        self.usual = self.usual();
    }

    /// Up to half of its stop a count cannot reach it in steps of one: at one in a nanosecond that takes 146 years.
    fn usual(&self) -> (u64, u64) {
        match self.count <= COUNT_TOP / 2 {
            true => (self.min, self.max.min(TOP)),
            false => NONE,
        }
    }

    /// Adds every sample of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (slot, count) in other.filled() {
            self.raise(slot, count);
        }
        self.count = plus(self.count, other.count);
        self.saturated = plus(self.saturated, other.saturated);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.usual = self.usual();
    }

    /// Returns the samples that came after `earlier`, a copy of this histogram as it was then. Extremes and sum are what
    /// the buckets say.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut before = earlier.filled().peekable();
        let later = self.filled().filter_map(|(slot, count)| {
            while before.next_if(|(known, _)| *known < slot).is_some() {}
            let known = before.next_if(|(known, _)| *known == slot);
            let more = count.saturating_sub(known.map_or(0, |(_, count)| count));
            (more > 0).then_some((slot, more))
        });
        Histogram::from_filled(&later.collect::<Vec<_>>())
    }

    /// Packs it: for a histogram that is kept.
    pub fn pack(&mut self) {
        if !self.slots.is_empty() {
            *self = self.packed();
        }
    }

    /// Returns a packed copy.
    pub fn packed(&self) -> Histogram {
        Histogram {
            slots: Box::default(),
            packed: self.filled().collect(),
            ..*self
        }
    }

    /// Samples recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Samples above [`Histogram::TOP`]: a subset of [`Histogram::count`].
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// True before the first sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The smallest sample, exact.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest sample, exact, also where it saturated.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sum of all samples, exact below `u64::MAX`, where it stops.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The arithmetic mean, from the exact sum; none when empty, or when the sum reached its stop
    /// and is no longer exact.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0 && self.sum < u64::MAX).then(|| self.sum as f64 / self.count as f64)
    }

    /// The `p`-quantile by nearest rank: the value of rank `ceil(p * count)`. None when empty or
    /// for a `p` outside 0 ..= 1.
    ///
    /// What is reported is the largest value that shares the sample's bucket, as HdrHistogram does,
    /// but never more than the exact maximum: not below the true sample, and above it by less than
    /// 0.1 %. A quantile that falls among saturated samples is reported as the maximum, which is
    /// not below it either.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        self.value_at_rank(rank(self.count, p)?.max(1))
    }

    /// [`Histogram::quantile`] where the samples [carry](crate::carries) it, else none.
    pub fn quantile_if_carried(&self, p: f64) -> Option<u64> {
        rank::carries(self.count, p).then(|| self.quantile(p))?
    }

    /// The value of the sample of a rank in 1 ..= count (1 is the smallest), with the precision of
    /// [`Histogram::quantile`]; none for any other rank.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen: u64 = 0;
        for (slot, count) in self.filled() {
            seen = plus(seen, count);
            if seen >= rank {
                return Some(self.high(slot));
            }
        }
        unreachable!("the counts of the slots add up to `count`")
    }

    /// Samples at or below `value`. Those that share its bucket count as below, so the answer is
    /// exact for a value that is the upper bound of a bucket, and else too high by what lies
    /// between the two. Above [`Histogram::TOP`] saturated samples count only once `value` has
    /// reached the maximum, so there it is a lower bound.
    pub fn count_at_or_below(&self, value: u64) -> u64 {
        if value >= self.max {
            return self.count;
        }
        if value >= TOP {
            return self.count - self.saturated;
        }
        let end = layout::slot(value);
        self.filled()
            .take_while(|(slot, _)| *slot <= end)
            .map(|(_, count)| count)
            .fold(0, plus)
    }

    /// The buckets that hold samples, from the lowest to the highest.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.filled().map(|(slot, count)| Bucket {
            low: layout::low(slot),
            high: if slot == LAST {
                self.max
            } else {
                layout::high(slot)
            },
            count,
        })
    }

    /// Returns a histogram of these slots, which are in rising order, and their counts, of which
    /// none is 0. Extremes and sum are what the buckets say, as [`Histogram::from_hdr`] describes.
    pub(crate) fn from_filled(filled: &[(usize, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(slot, count) in filled {
            let low = layout::low(slot);
            let high = layout::high(slot).min(layout::low(LAST));
            histogram.count = plus(histogram.count, count);
            histogram.min = histogram.min.min(low);
            histogram.max = high;
            histogram.sum = histogram
                .sum
                .saturating_add(count.saturating_mul(low.midpoint(high)));
        }
        histogram.packed = filled.iter().copied().collect();
        histogram
    }

    /// Replaces what the buckets only bound by the exact figures, which the caller has found to
    /// agree with them.
    pub(crate) fn sharpened(mut self, exact: Exact) -> Histogram {
        self.saturated = exact.saturated;
        self.min = exact.min;
        self.max = exact.max;
        self.sum = exact.sum;
        self
    }

    /// True once samples may have been left uncounted.
    pub(crate) fn count_is_full(&self) -> bool {
        self.count == COUNT_TOP
    }

    /// Returns the memory that it holds beside its own size, in bytes: 216 KiB when dense.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.slots) + self.packed.bytes()
    }

    /// The slots that hold samples, in rising order; of a dense one looks only at those between the extremes.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let span = if self.slots.is_empty() {
            0..0
        } else {
            slot_of(self.min)..slot_of(self.max) + 1
        };
        let start = span.start;
        let counts = self.slots[span].iter().enumerate();
        counts
            .filter(|(_, count)| **count > 0)
            .map(move |(at, count)| (start + at, *count))
            .chain(self.packed.iter())
    }

    fn high(&self, slot: usize) -> u64 {
        layout::high(slot).min(self.max)
    }

    /// Adds to one slot. A slot is missing only before the first sample and in packed form, so the
    /// bounds check is the test for that.
    #[inline]
    fn raise(&mut self, slot: usize, n: u64) {
        match self.slots.get_mut(slot) {
            Some(count) => *count = plus(*count, n),
            None => self.raise_first(slot, n),
        }
    }

    #[cold]
    fn raise_first(&mut self, slot: usize, n: u64) {
        let mut slots = vec![0; SLOTS].into_boxed_slice();
        let packed = std::mem::take(&mut self.packed);
        packed.iter().for_each(|(slot, n)| slots[slot] = n);
        slots[slot] = plus(slots[slot], n);
        self.slots = slots;
    }
}

impl PartialEq for Histogram {
    /// Whether both hold the same, in whatever form.
    fn eq(&self, other: &Histogram) -> bool {
        let exact = |each: &Histogram| (each.count, each.saturated, each.min, each.max, each.sum);
        exact(self) == exact(other) && self.filled().eq(other.filled())
    }
}

impl Eq for Histogram {}

/// The slot of any value, saturated ones included.
fn slot_of(value: u64) -> usize {
    layout::slot(value.min(TOP))
}

/// Adds counts; stops at [`COUNT_TOP`].
#[inline]
fn plus(count: u64, n: u64) -> u64 {
    count.saturating_add(n).min(COUNT_TOP)
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    /// One line, not 27 649 counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("max", &self.max())
            .field("sum", &self.sum)
            .field("saturated", &self.saturated)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// Values of every magnitude, saturated ones among them.
    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![
            (0_u32..40, any::<u64>())
                .prop_map(|(bits, noise)| (1 << bits) | (noise & ((1 << bits) - 1))),
            (TOP - 2)..=(TOP + 2),
            0_u64..3,
        ]
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(value(), 0..200)
    }

    #[test]
    fn an_empty_histogram_has_no_figures_and_no_memory() {
        let mut empty = Histogram::new();
        empty.record_n(7, 0);
        empty.merge(&Histogram::default());
        assert!(empty.is_empty() && empty.heap_bytes() == 0);
        assert_eq!((empty.min(), empty.max(), empty.mean()), (None, None, None));
        assert_eq!((empty.quantile(0.5), empty.value_at_rank(1)), (None, None));
        assert_eq!(
            (empty.count_at_or_below(u64::MAX), empty.buckets().count()),
            (0, 0)
        );
        assert_eq!(empty, Histogram::new());
    }

    #[test]
    fn figures_of_one_to_a_hundred_are_those_computed_by_hand() {
        let histogram = of(&(1..=100).collect::<Vec<_>>());
        assert_eq!(
            (histogram.count(), histogram.sum(), histogram.mean()),
            (100, 5_050, Some(50.5))
        );
        let cases: &[(f64, u64)] = &[
            (0.0, 1),
            (0.01, 1),
            (0.011, 2),
            (0.5, 50),
            (0.55, 55),
            (0.9, 90),
            (0.99, 99),
            (1.0, 100),
        ];
        for (p, wanted) in cases {
            assert_eq!(histogram.quantile(*p), Some(*wanted), "p {p}");
        }
        assert_eq!(
            (histogram.quantile(-0.1), histogram.quantile(f64::NAN)),
            (None, None)
        );
        assert_eq!(histogram.quantile_if_carried(0.9), Some(90));
        assert_eq!(histogram.quantile_if_carried(0.91), None);
        assert_eq!(
            (histogram.value_at_rank(0), histogram.value_at_rank(101)),
            (None, None)
        );
    }

    #[test]
    fn a_quantile_is_the_upper_bound_of_its_bucket_but_not_above_the_maximum() {
        let histogram = of(&[1_000_000, 2_000_000]);
        // Steps of 512 from 2^19 to 2^20: 1953 * 512 + 511.
        assert_eq!(histogram.quantile(0.5), Some(1_000_447));
        assert_eq!(histogram.quantile(1.0), Some(2_000_000));
    }

    #[test]
    fn values_above_the_top_saturate_and_are_counted() {
        let histogram = of(&[5, TOP, TOP + 1, u64::MAX]);
        assert_eq!((histogram.count(), histogram.saturated()), (4, 2));
        assert_eq!(histogram.max(), Some(u64::MAX));
        assert_eq!((histogram.sum(), histogram.mean()), (u64::MAX, None));
        assert_eq!(
            histogram.quantile(0.5),
            Some(u64::MAX),
            "the last bucket is open"
        );
        let below: Vec<u64> = [4, 5, TOP - 1, TOP, TOP + 1, u64::MAX]
            .map(|at| histogram.count_at_or_below(at))
            .to_vec();
        assert_eq!(below, [0, 1, 1, 2, 2, 4]);
        let last = histogram.buckets().last();
        assert_eq!(
            last,
            Some(Bucket {
                low: TOP,
                high: u64::MAX,
                count: 3
            })
        );
    }

    #[test]
    fn counts_stop_instead_of_wrapping() {
        let mut histogram = Histogram::new();
        histogram.record_n(3, u64::MAX);
        histogram.record(3);
        histogram.record(9);
        assert_eq!((histogram.count(), histogram.sum()), (COUNT_TOP, u64::MAX));
        let twin = histogram.clone();
        histogram.merge(&twin);
        assert_eq!(histogram.count(), COUNT_TOP);
        assert_eq!(histogram.value_at_rank(COUNT_TOP), Some(3));
    }

    #[test]
    fn debug_is_one_short_line() {
        let shown = format!("{:?}", of(&[1, 2]));
        assert_eq!(
            shown,
            "Histogram { count: 2, min: Some(1), max: Some(2), sum: 3, saturated: 0, .. }"
        );
    }

    /// Latencies of a round: log-normal around 200 us, by sums of uniform draws.
    fn latencies(count: u64) -> Histogram {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let draws = (0..count).map(|_| (200e3 * (0.7 * normal()).exp()) as u64);
        of(&draws.collect::<Vec<_>>())
    }

    #[test]
    fn what_is_packed_takes_about_a_byte_a_bucket_and_a_sample_makes_it_dense_again() {
        let dense = latencies(20_000);
        assert_eq!(dense.heap_bytes(), SLOTS * 8);
        let mut packed = dense.clone();
        packed.pack();
        let buckets = packed.buckets().count();
        assert!((3_000..5_000).contains(&buckets), "{buckets}");
        assert!(packed.heap_bytes() < buckets, "{}", packed.heap_bytes());
        assert_eq!(packed, dense);
        packed.record(7);
        assert_eq!(packed.heap_bytes(), SLOTS * 8);
        packed.merge(&Histogram::new());
        assert_eq!((packed.count(), packed.value_at_rank(1)), (20_001, Some(7)));
    }

    proptest! {
        #[test]
        fn what_came_since_is_what_was_added(before in values(), after in values(), is_packed: bool) {
            let mut earlier = of(&before);
            let mut later = earlier.clone();
            after.iter().for_each(|value| later.record(*value));
            if is_packed {
                earlier.pack();
                later.pack();
            }
            let buckets = |histogram: &Histogram| -> Vec<(u64, u64)> {
                histogram.buckets().map(|bucket| (bucket.low, bucket.count)).collect()
            };
            prop_assert_eq!(buckets(&later.since(&earlier)), buckets(&of(&after)));
        }

        #[test]
        fn a_packed_histogram_says_what_a_dense_one_does(
            values in values(),
            more in values(),
            ranks in proptest::collection::vec(0_u64..210, 20),
        ) {
            let dense = of(&values);
            let mut packed = dense.clone();
            packed.pack();
            prop_assert_eq!(&packed, &dense);
            prop_assert_eq!(packed.to_hdr(), dense.to_hdr());
            prop_assert!(packed.buckets().eq(dense.buckets()));
            for rank in ranks {
                prop_assert_eq!(packed.value_at_rank(rank), dense.value_at_rank(rank));
                let at = values.get(rank as usize).copied().unwrap_or(rank << 20);
                prop_assert_eq!(packed.count_at_or_below(at), dense.count_at_or_below(at));
            }
            let mut other = of(&more);
            other.pack();
            let mut merged = packed.clone();
            merged.merge(&other);
            more.iter().for_each(|value| packed.record(*value));
            prop_assert_eq!(&merged, &packed);
            prop_assert_eq!(merged, of(&[values, more].concat()));
        }

        #[test]
        fn quantiles_are_within_a_thousandth_above_the_sorted_samples(
            mut values in proptest::collection::vec(0..=TOP, 1..200),
            thousandths in 0_u64..=1_000,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (thousandths * values.len() as u64).div_ceil(1_000).max(1);
            let wanted = values[rank as usize - 1];
            let found = histogram.quantile(thousandths as f64 / 1_000.0).unwrap();
            let close = found >= wanted && (found - wanted) * 1_000 <= wanted;
            prop_assert!(close, "{found} for {wanted}");
        }

        #[test]
        fn small_values_are_exact(mut values in proptest::collection::vec(0_u64..2048, 1..200)) {
            let histogram = of(&values);
            values.sort_unstable();
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!(histogram.value_at_rank(at as u64 + 1), Some(*value));
                let below = values.partition_point(|other| other <= value) as u64;
                prop_assert_eq!(histogram.count_at_or_below(*value), below);
            }
        }

        #[test]
        fn merging_is_recording_all_samples_in_one(a in values(), b in values(), c in values()) {
            let all = of(&[a.clone(), b.clone(), c.clone()].concat());
            let merged = |parts: &[&Histogram]| {
                let mut sum = Histogram::new();
                parts.iter().for_each(|part| sum.merge(part));
                sum
            };
            let (a, b, c) = (of(&a), of(&b), of(&c));
            prop_assert_eq!(&merged(&[&a, &b, &c]), &all);
            prop_assert_eq!(&merged(&[&c, &a, &b]), &all);
            prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]), &all);
        }

        #[test]
        fn exact_figures_are_exact(values in proptest::collection::vec(value(), 1..200)) {
            let histogram = of(&values);
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!(histogram.min(), values.iter().min().copied());
            prop_assert_eq!(histogram.max(), values.iter().max().copied());
            prop_assert_eq!(histogram.sum(), values.iter().sum::<u64>());
            let above = values.iter().filter(|value| **value > TOP);
            prop_assert_eq!(histogram.saturated(), above.count() as u64);
        }

        #[test]
        fn every_sample_lies_in_its_bucket(values in values()) {
            let buckets: Vec<Bucket> = of(&values).buckets().collect();
            prop_assert!(buckets.windows(2).all(|pair| pair[0].high < pair[1].low));
            for bucket in buckets {
                let bounds = bucket.low..=bucket.high;
                let inside = values.iter().filter(|value| bounds.contains(value));
                prop_assert_eq!(inside.count() as u64, bucket.count);
            }
        }

        #[test]
        fn recording_n_is_recording_n_times(value in value(), n in 0_u64..50) {
            let mut at_once = Histogram::new();
            at_once.record_n(value, n);
            prop_assert_eq!(at_once, of(&vec![value; n as usize]));
        }
    }
}

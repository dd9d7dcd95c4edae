//! Counts of the first few distinct values, small enough for the hot path and sound to add.
//!
//! Kept are the *smallest* values, not the earliest or the most frequent ones: a value that is among the smallest of a
//! whole was among the smallest of every part of it, so nothing that is kept at the end was ever turned away. That
//! makes counting and merging independent of order and grouping, which "the first few that came" is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often each of at most [`Few::MOST`] values occurred, the smallest of all that occurred; the rest together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Few<V> {
    /// Values with their counts, smallest value first.
    pub kept: Vec<(V, u64)>,
    /// Occurrences of all larger values.
    pub others: u64,
}

impl<V> Default for Few<V> {
    fn default() -> Self {
        Few {
            kept: Vec::new(),
            others: 0,
        }
    }
}

impl<V: Ord + Copy> Few<V> {
    /// The most values that are kept.
    pub const MOST: usize = 8;

    /// Counts one occurrence. Where only one value ever occurs, that is one comparison and one addition.
    #[inline]
    pub fn observe(&mut self, value: V) {
        match self.kept.first_mut() {
            Some((known, count)) if *known == value => *count += 1,
            _ => self.add(value, 1),
        }
    }

    /// Counts `count` occurrences.
    pub fn add(&mut self, value: V, count: u64) {
        match self.kept.binary_search_by(|(known, _)| known.cmp(&value)) {
            Ok(at) => self.kept[at].1 = self.kept[at].1.saturating_add(count),
            Err(at) if count > 0 && at < Self::MOST => self.insert(at, value, count),
            Err(_) => self.others = self.others.saturating_add(count),
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Few<V>) {
        for &(value, count) in &other.kept {
            self.add(value, count);
        }
        self.others = self.others.saturating_add(other.others);
    }

    /// All occurrences.
    pub fn total(&self) -> u64 {
        self.kept
            .iter()
            .fold(self.others, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The most frequent of the kept values, the smallest of several, with its count.
    pub fn usual(&self) -> Option<(V, u64)> {
        self.kept
            .iter()
            .copied()
            .rev()
            .max_by_key(|(_, count)| *count)
    }

    /// Occurrences of other values than the usual one.
    pub fn differing(&self) -> u64 {
        self.total() - self.usual().map_or(0, |(_, count)| count)
    }

    /// Whether the values are in order, without repetition, and no more than may be kept.
    pub(crate) fn is_sound(&self) -> bool {
        self.kept.len() <= Self::MOST && self.kept.windows(2).all(|pair| pair[0].0 < pair[1].0)
    }

    fn insert(&mut self, at: usize, value: V, count: u64) {
        self.kept.insert(at, (value, count));
        if self.kept.len() > Self::MOST {
            let (_, turned_away) = self.kept.pop().expect("it is longer than the most");
            self.others = self.others.saturating_add(turned_away);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u8]) -> Few<u8> {
        values.iter().fold(Few::default(), |mut few, value| {
            few.observe(*value);
            few
        })
    }

    #[test]
    fn one_value_is_the_usual_one_and_nothing_differs() {
        let few = of(&[7, 7, 7]);
        assert_eq!(
            (few.usual(), few.differing(), few.total()),
            (Some((7, 3)), 0, 3)
        );
        assert_eq!(
            (
                Few::<u8>::default().usual(),
                Few::<u8>::default().differing()
            ),
            (None, 0)
        );
    }

    #[test]
    fn the_most_frequent_is_usual_and_of_equals_the_smallest() {
        assert_eq!(of(&[9, 9, 3]).usual(), Some((9, 2)));
        assert_eq!(of(&[9, 3]).usual(), Some((3, 1)));
        assert_eq!(of(&[9, 9, 3]).differing(), 1);
    }

    #[test]
    fn a_ninth_value_turns_the_largest_away() {
        let mut few = of(&[10, 20, 30, 40, 50, 60, 70, 80, 80]);
        few.observe(5);
        assert_eq!(few.kept.len(), Few::<u8>::MOST);
        assert_eq!((few.kept[0], few.others), ((5, 1), 2));
        few.observe(80);
        assert_eq!((few.others, few.total()), (3, 11));
    }

    proptest! {
        #[test]
        fn neither_order_nor_grouping_leaves_a_trace(
            mut values in proptest::collection::vec(0_u8..20, 0..60),
            split in 0_usize..60,
        ) {
            let whole = of(&values);
            prop_assert!(whole.is_sound());
            prop_assert_eq!(whole.total(), values.len() as u64);
            let (front, back) = values.split_at(split.min(values.len()));
            let mut merged = of(back);
            merged.merge(&of(front));
            prop_assert_eq!(&merged, &whole);
            values.reverse();
            prop_assert_eq!(&of(&values), &whole);
        }
    }
}

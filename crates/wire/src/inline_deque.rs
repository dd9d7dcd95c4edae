//! A queue that nearly always holds one element, or none.
//!
//! Without pipelining a connection has one exchange under way, and a thousand connections are a thousand such queues:
//! the first element stands in the queue itself, beside what else is read of the connection, and only those behind it
//! lie elsewhere. (A `VecDeque` puts even a single element into memory of its own, and each time at another place of
//! it, so that an exchange touches more lines of the cache.)

use std::collections::VecDeque;

/// A queue, first in, first out.
///
/// It holds no memory of its own until there is a second element, and keeps what it has then.
///
/// ```
/// let mut queue = wire::InlineDeque::default();
/// queue.push_back('a');
/// queue.push_back('b');
/// assert_eq!(queue.pop_front(), Some('a'));
/// assert_eq!(queue.only(), Some(&'b'));
/// ```
#[derive(Debug)]
pub struct InlineDeque<T> {
    first: Option<T>,
    /// Empty when `first` is none.
    #[expect(
        clippy::box_collection,
        reason = "a queue of one is to be small, and looks into the box for nothing"
    )]
    behind: Option<Box<VecDeque<T>>>,
}

impl<T> Default for InlineDeque<T> {
    fn default() -> Self {
        InlineDeque {
            first: None,
            behind: None,
        }
    }
}

impl<T> InlineDeque<T> {
    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// How many it holds.
    #[inline]
    pub fn len(&self) -> usize {
        let behind = self.behind.as_ref().map_or(0, |behind| behind.len());
        usize::from(self.first.is_some()) + behind
    }

    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The oldest, to be changed.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The oldest, if there is no other.
    #[inline]
    pub fn only(&self) -> Option<&T> {
        self.is_single().then_some(self.first.as_ref()).flatten()
    }

    /// The oldest, to be changed, if there is no other.
    #[inline]
    pub fn only_mut(&mut self) -> Option<&mut T> {
        match self.is_single() {
            true => self.first.as_mut(),
            false => None,
        }
    }

    /// Whether there is none behind the oldest.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.behind.as_ref().is_none_or(|behind| behind.is_empty())
    }

    /// Adds one behind all others.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.push_behind(element);
        }
    }

    #[inline(never)]
    fn push_behind(&mut self, element: T) {
        self.behind.get_or_insert_default().push_back(element);
    }

    /// Takes the oldest away.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if let Some(behind) = &mut self.behind {
            self.first = behind.pop_front();
        }
        first
    }

    /// Forgets the oldest, without moving it.
    #[inline]
    pub fn drop_front(&mut self) {
        self.first = match &mut self.behind {
            None => None,
            Some(behind) => behind.pop_front(),
        };
    }

    /// Takes all but the oldest `keep`.
    pub fn drain_behind(&mut self, keep: usize) -> impl Iterator<Item = T> {
        let first = if keep == 0 { self.first.take() } else { None };
        let behind = self.behind.as_mut().map(|behind| {
            let keep = keep.saturating_sub(1).min(behind.len());
            behind.split_off(keep)
        });
        first.into_iter().chain(behind.into_iter().flatten())
    }

    /// All, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let behind = self.behind.iter().flat_map(|behind| behind.iter());
        self.first.iter().chain(behind)
    }

    /// All, the oldest first, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let behind = self.behind.iter_mut().flat_map(|behind| behind.iter_mut());
        self.first.iter_mut().chain(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    enum Operation {
        Push,
        Pop,
        Drop,
        Truncate(usize),
        Drain(usize),
        Change,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            4 => Just(Operation::Push),
            2 => Just(Operation::Pop),
            1 => Just(Operation::Drop),
            1 => (0_usize..5).prop_map(Operation::Truncate),
            1 => (0_usize..5).prop_map(Operation::Drain),
            1 => Just(Operation::Change),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_queue_like_any_other(operations in prop::collection::vec(operation(), 0..60)) {
            let (mut front, mut plain) = (InlineDeque::default(), VecDeque::new());
            for (number, operation) in operations.into_iter().enumerate() {
                match operation {
                    Operation::Push => {
                        front.push_back(number);
                        plain.push_back(number);
                    }
                    Operation::Pop => prop_assert_eq!(front.pop_front(), plain.pop_front()),
                    Operation::Drop => {
                        front.drop_front();
                        plain.pop_front();
                    }
                    Operation::Drain(keep) => {
                        let behind: VecDeque<_> = front.drain_behind(keep).collect();
                        let keep = keep.min(plain.len());
                        prop_assert_eq!(behind, plain.split_off(keep));
                    }
                    Operation::Truncate(keep) => {
                        drop(front.drain_behind(keep));
                        plain.truncate(keep);
                    }
                    Operation::Change => {
                        front.iter_mut().for_each(|element| *element += 1000);
                        plain.iter_mut().for_each(|element| *element += 1000);
                    }
                }
                prop_assert_eq!(front.iter().collect::<Vec<_>>(), plain.iter().collect::<Vec<_>>());
                prop_assert_eq!(front.len(), plain.len());
                prop_assert_eq!(front.is_empty(), plain.is_empty());
                prop_assert_eq!(front.front(), plain.front());
                prop_assert_eq!(front.front_mut(), plain.front_mut());
                let only = plain.front().copied().filter(|_| plain.len() == 1);
                prop_assert_eq!(front.only().copied(), only);
                prop_assert_eq!(front.is_single(), plain.len() < 2);
                prop_assert_eq!(front.only_mut().copied(), only);
            }
        }
    }
}

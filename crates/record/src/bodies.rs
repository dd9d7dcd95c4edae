//! Whether each listed request was always answered alike.
//!
//! A server that is fast because it answers with an error page, a truncated body or another site's page still sends
//! 200. Nothing here decides what is right; it counts what came, so that audit can say "two lengths, half and half".

use crate::few::Few;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ok answers to each listed request, by the request's place in the plan's list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bodies(Vec<RequestBodies>);

/// The ok answers to one listed request: how long their bodies were, and what was in some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestBodies {
    /// Body lengths of all of them.
    pub lengths: Few<u64>,
    /// Length and CRC-32 of those bodies of which a CRC was taken: the first on each connection, and a sample.
    pub bodies: Few<(u64, u32)>,
}

impl Bodies {
    /// Requests beyond this place in the list are not compared.
    pub const MOST: u32 = 4096;

    /// Counts an ok answer to the listed request `request`. Not to be called for templates, whose answers may differ.
    pub fn observe(&mut self, request: u32, length: u64, crc: Option<u32>) {
        if !self.observe_known(request, length, crc) && request < Self::MOST {
            self.0
                .resize_with(request as usize + 1, RequestBodies::default);
            self.0[request as usize].observe(length, crc);
        }
    }

    /// Does the same, but counts only where a request as high in the list was answered before; returns whether it did.
    #[inline]
    pub fn observe_known(&mut self, request: u32, length: u64, crc: Option<u32>) -> bool {
        let known = self.0.get_mut(request as usize);
        known
            .map(|of_request| of_request.observe(length, crc))
            .is_some()
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Bodies) {
        if self.0.len() < other.0.len() {
            self.0.resize_with(other.0.len(), RequestBodies::default);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.lengths.merge(&theirs.lengths);
            mine.bodies.merge(&theirs.bodies);
        }
    }

    /// The requests that were answered, by their place in the plan's list.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &RequestBodies)> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, of_request)| of_request.count() > 0)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let sound = |of_request: &RequestBodies| {
            of_request.lengths.is_sound() && of_request.bodies.is_sound()
        };
        self.0.len() <= Self::MOST as usize && self.0.iter().all(sound)
    }
}

impl RequestBodies {
    #[inline]
    fn observe(&mut self, length: u64, crc: Option<u32>) {
        self.lengths.observe(length);
        if let Some(crc) = crc {
            self.bodies.observe((length, crc));
        }
    }

    /// Ok answers.
    pub fn count(&self) -> u64 {
        self.lengths.total()
    }

    /// Those of `count` whose body was not as long as most.
    pub fn length_differs(&self) -> u64 {
        self.lengths.differing()
    }

    /// Those of `count` of which a CRC was taken.
    pub fn crc_taken(&self) -> u64 {
        self.bodies.total()
    }

    /// Those of `crc_taken` whose body was not the one that most had.
    pub fn crc_differs(&self) -> u64 {
        self.bodies.differing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(observed: &[(u32, u64, Option<u32>)]) -> Bodies {
        let mut bodies = Bodies::default();
        observed
            .iter()
            .for_each(|&(request, length, crc)| bodies.observe(request, length, crc));
        bodies
    }

    #[test]
    fn like_answers_differ_in_nothing() {
        let bodies = of(&[(0, 100, Some(7)), (0, 100, None), (0, 100, Some(7))]);
        let (request, of_request) = bodies.iter().next().unwrap();
        assert_eq!(
            (request, of_request.count(), of_request.crc_taken()),
            (0, 3, 2)
        );
        assert_eq!(
            (of_request.length_differs(), of_request.crc_differs()),
            (0, 0)
        );
    }

    #[test]
    fn a_body_of_another_length_or_content_is_counted_against_the_usual_one() {
        let bodies = of(&[
            (1, 100, Some(7)),
            (1, 100, Some(8)),
            (1, 0, None),
            (1, 100, Some(7)),
        ]);
        let of_request = bodies.iter().next().unwrap().1;
        assert_eq!(
            (of_request.length_differs(), of_request.crc_differs()),
            (1, 1)
        );
        assert_eq!(of_request.lengths.kept, [(0, 1), (100, 3)]);
    }

    #[test]
    fn requests_are_kept_apart_and_unanswered_ones_left_out() {
        let bodies = of(&[(2, 5, None), (0, 6, None)]);
        let seen: Vec<_> = bodies
            .iter()
            .map(|(request, of_request)| (request, of_request.count()))
            .collect();
        assert_eq!(seen, [(0, 1), (2, 1)]);
    }

    #[test]
    fn a_list_without_end_takes_no_memory_without_end() {
        let bodies = of(&[(Bodies::MOST, 5, None), (u32::MAX, 5, None)]);
        assert_eq!(bodies, Bodies::default());
    }

    #[test]
    fn threads_that_saw_different_first_answers_merge_to_the_same_whole() {
        let left = [(0, 10, Some(1)), (0, 20, Some(2)), (3, 1, None)];
        let right = [(0, 20, Some(2)), (1, 4, Some(9))];
        let (mut one, mut other) = (of(&left), of(&right));
        one.merge(&of(&right));
        other.merge(&of(&left));
        assert_eq!(one, other);
        assert_eq!(one, of(&[left.as_slice(), right.as_slice()].concat()));
    }
}

//! More than two servers: how many statements share one confidence, and ranks as ranges.
//!
//! Ranges, because "not surely different" is not transitive: of three servers the first and the last may differ while
//! the one between differs from neither, so that no groups of equals exist.

use super::CONFIDENCE;
use std::ops::RangeInclusive;

/// Returns the confidence of each of `statements` statements that are all true with a probability of `confidence` at
/// least: each has its part of alpha, `1 - (1 - confidence) / statements` (Bonferroni). It does not matter how they
/// depend on each other.
pub fn share_alpha(confidence: f64, statements: u32) -> f64 {
    1.0 - (1.0 - confidence) / f64::from(statements.max(1))
}

/// Returns the confidence of each interval when all pairs of `servers` servers are compared and all intervals together
/// are to hold the truth with a probability of 95 %: alpha / (k (k - 1) / 2).
pub fn simultaneous_confidence(servers: u32) -> f64 {
    let pairs = servers.saturating_mul(servers.saturating_sub(1)) / 2;
    share_alpha(CONFIDENCE, pairs)
}

/// Returns the ranks that each of `servers` servers may have, 1 for the best: from 1 + the number that are surely
/// better to k - the number that are surely worse.
///
/// `better` has a pair `(one, other)`, by their numbers from 0, where the interval of the two at
/// [`simultaneous_confidence`] says that `one` is surely better than `other`. Each pair of servers may be there once.
///
/// ```
/// // The first is better than the third; the second cannot be told from either.
/// assert_eq!(stats::comparison::rank_ranges(3, &[(0, 2)]), [1..=2, 1..=3, 2..=3]);
/// ```
pub fn rank_ranges(servers: usize, better: &[(usize, usize)]) -> Vec<RangeInclusive<usize>> {
    let range = |server: usize| {
        let above = better.iter().filter(|(_, other)| *other == server).count();
        let below = better.iter().filter(|(one, _)| *one == server).count();
        1 + above..=servers - below
    };
    (0..servers).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_shared_among_all_pairs() {
        let cases = [
            (0, 0.95),
            (1, 0.95),
            (2, 0.95),
            (3, 1.0 - 0.05 / 3.0),
            (5, 0.995),
            (10, 1.0 - 0.05 / 45.0),
        ];
        for (servers, wanted) in cases {
            let found = simultaneous_confidence(servers);
            assert!((found - wanted).abs() < 1e-12, "{servers}: {found}");
        }
        assert!((share_alpha(0.95, 5) - 0.99).abs() < 1e-12);
    }

    #[test]
    fn ranks_are_what_the_sure_differences_leave_open() {
        let all = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        type Case<'a> = (usize, &'a [(usize, usize)], &'a [RangeInclusive<usize>]);
        let cases: &[Case] = &[
            (0, &[], &[]),
            (1, &[], &[1..=1]),
            (3, &[], &[1..=3, 1..=3, 1..=3]),
            (4, &all, &[1..=1, 2..=2, 3..=3, 4..=4]),
            // The last is the worst, and the others cannot be told apart.
            (4, &[(0, 3), (1, 3), (2, 3)], &[1..=3, 1..=3, 1..=3, 4..=4]),
            // Neighbours cannot be told apart, and all others can.
            (4, &[(3, 1), (3, 0), (2, 0)], &[3..=4, 2..=4, 1..=3, 1..=2]),
        ];
        for (servers, better, wanted) in cases {
            assert_eq!(rank_ranges(*servers, better), *wanted, "{better:?}");
        }
    }
}

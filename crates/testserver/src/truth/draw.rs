//! Chance without a memory: every number is a function of seed, stream and id.
//!
//! A generator with a state would give each request the number of its turn, and the turns depend on how the requests
//! came in. Here a request's number is its own, so that it can be recomputed with nothing but the seed and the id,
//! in any order and in any language.

use crate::misbehaviour::mixed;

/// What a number is drawn for; each has numbers of its own, so that a long delay says nothing about the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// The first number of a distribution.
    Delay = 1,
    /// Its second, where it needs two.
    Angle = 2,
    /// The service time in the queue.
    Service = 3,
}

/// 64 bits without resemblance to those of any other seed, stream or id.
fn bits(seed: u64, stream: Stream, id: u64) -> u64 {
    mixed(mixed(mixed(seed) ^ stream as u64) ^ id)
}

/// A number between 0 and 1, and neither of them.
pub(super) fn uniform(seed: u64, stream: Stream, id: u64) -> f64 {
    middle(bits(seed, stream, id))
}

/// The middle of one of 2^52 equal parts; of twice as many the last middle would be rounded to 1.
fn middle(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed apart from this program, from the definition in docs/truth.md.
    #[test]
    fn the_numbers_are_those_of_the_definition() {
        let cases: &[(u64, Stream, u64, u64)] = &[
            (0, Stream::Delay, 0, 0x44e5_b981_00c6_7fb0),
            (7, Stream::Delay, 1, 0xca44_7004_3a5e_3686),
            (7, Stream::Angle, 1, 0x6a43_257a_4ba6_2fc2),
            (u64::MAX, Stream::Service, u64::MAX, 0xccf1_8043_e0d7_e322),
        ];
        for (seed, stream, id, wanted) in cases {
            assert_eq!(bits(*seed, *stream, *id), *wanted, "{seed} {stream:?} {id}");
        }
    }

    #[test]
    fn seeds_streams_and_ids_have_nothing_in_common() {
        let bits_that_differ = |a: u64, b: u64| f64::from((a ^ b).count_ones());
        let mean = |differ: &dyn Fn(u64) -> f64| (0..1000).map(differ).sum::<f64>() / 1000.0;
        let base = |id| bits(7, Stream::Delay, id);
        let means = [
            mean(&|id| bits_that_differ(base(id), base(id + 1))),
            mean(&|id| bits_that_differ(base(id), bits(8, Stream::Delay, id))),
            mean(&|id| bits_that_differ(base(id), bits(7, Stream::Service, id))),
            mean(&|id| bits_that_differ(base(id), bits(id, Stream::Delay, 7))),
        ];
        // 32 of 64 are expected, with a standard deviation of 4 / sqrt(1000) = 0.13.
        assert!(
            means.iter().all(|mean| (mean - 32.0).abs() < 0.6),
            "{means:?}"
        );
    }

    #[test]
    fn a_number_is_between_nought_and_one_even_at_the_ends() {
        assert!(middle(0) > 0.0 && middle(u64::MAX) < 1.0);
        assert_eq!(middle(1 << 63), 0.5 + middle(0));
    }
}

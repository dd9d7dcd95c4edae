//! Where a value lives: HdrHistogram's bucket layout for 1 ..= 2^36 at three significant digits.
//!
//! Three digits need steps of one up to 2000, so the linear part has 2048 steps of one; every
//! doubling above it adds 1024 steps twice as wide as the ones before. A step is never wider than
//! 1/1024 of the values in it, which is the 0.1 % the histogram promises. (The layout is that of
//! Gil Tene's HdrHistogram, as its V2 form on disk requires: lowest value 1, so the unit magnitude
//! is 0; `subBucketCount` 2048.) The other parameters HdrHistogram has are not variables here:
//! constants make finding a slot four instructions, and any two histograms can be merged.

/// The largest value told apart from larger ones: 2^36 ns, about 69 s.
pub(crate) const TOP: u64 = 1 << 36;

/// log2 of half the linear part: how far a doubling moves the slot.
const HALF_BITS: u32 = 10;

/// The last slot. It holds [`TOP`] itself and whatever saturated.
pub(crate) const LAST: usize = slot(TOP);

/// How many slots there are.
pub(crate) const SLOTS: usize = LAST + 1;

/// The slot of a value that is at most [`TOP`].
#[inline]
pub(crate) const fn slot(value: u64) -> usize {
    let linear = (2 << HALF_BITS) - 1;
    let doublings = (u64::BITS - 1 - HALF_BITS) - (value | linear).leading_zeros();
    ((doublings as usize) << HALF_BITS) + (value >> doublings) as usize
}

/// The smallest value of a slot.
pub(crate) const fn low(slot: usize) -> u64 {
    let doublings = doublings(slot);
    ((slot - (doublings << HALF_BITS)) as u64) << doublings
}

/// The largest value of a slot, HdrHistogram's "highest equivalent value". The last slot is open at
/// the top, so its largest value is whatever was the maximum.
pub(crate) const fn high(slot: usize) -> u64 {
    if slot >= LAST {
        u64::MAX
    } else {
        low(slot) + (1 << doublings(slot)) - 1
    }
}

const fn doublings(slot: usize) -> usize {
    (slot >> HALF_BITS).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_where_hdrhistogram_has_them() {
        let cases: &[(u64, usize)] = &[
            (0, 0),
            (1, 1),
            (2047, 2047),
            (2048, 2048),
            (2049, 2048),
            (2050, 2049),
            (4095, 3071),
            (4096, 3072),
            (4099, 3072),
            (TOP - 1, LAST - 1),
            (TOP, 27 * 1024),
        ];
        for (value, wanted) in cases {
            assert_eq!(slot(*value), *wanted, "{value}");
        }
    }

    #[test]
    fn slots_follow_each_other_without_gap_or_overlap() {
        assert_eq!(low(0), 0);
        for at in 0..LAST {
            assert_eq!(high(at) + 1, low(at + 1), "after slot {at}");
            assert_eq!((slot(low(at)), slot(high(at))), (at, at));
        }
        assert_eq!((low(LAST), high(LAST)), (TOP, u64::MAX));
    }

    #[test]
    fn no_slot_is_wider_than_a_thousandth_of_its_values() {
        for at in 0..LAST {
            assert!((high(at) - low(at)) * 1000 <= low(at), "slot {at}");
        }
    }
}

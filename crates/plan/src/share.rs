//! How a whole is shared out over threads: evenly, the first ones taking the remainder.

/// The share of part `index` of `parts` in `whole`; the shares of all parts sum to `whole` exactly.
///
/// ```
/// let shares: Vec<u64> = (0..3).map(|index| plan::share(10, index, 3)).collect();
/// assert_eq!(shares, [4, 3, 3]);
/// ```
pub fn share(whole: u64, index: u32, parts: u32) -> u64 {
    let (index, parts) = (u64::from(index), u64::from(parts));
    whole / parts + u64::from(index < whole % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_sum_to_the_whole_and_differ_by_one_at_most(whole: u64, parts in 1u32..300) {
            let shares: Vec<u64> = (0..parts).map(|index| share(whole, index, parts)).collect();
            prop_assert_eq!(shares.iter().map(|&share| u128::from(share)).sum::<u128>(), u128::from(whole));
            prop_assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }
    }
}

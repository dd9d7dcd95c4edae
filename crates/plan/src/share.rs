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

/// The share of part `index` of `parts` in `whole` where it is dealt out in lots of `lot`, one to each part in turn: only
/// the last lot may be smaller. The shares of all parts sum to `whole` exactly.
///
/// ```
/// let shares: Vec<u64> = (0..2).map(|index| plan::share_in_lots(25, 10, index, 2)).collect();
/// assert_eq!(shares, [15, 10]);
/// ```
pub fn share_in_lots(whole: u64, lot: u64, index: u32, parts: u32) -> u64 {
    let lots = whole.div_ceil(lot);
    let mine = share(lots, index, parts);
    let has_last = lots > 0 && u64::from(index) == (lots - 1) % u64::from(parts);
    match has_last {
        true => (mine - 1) * lot + (whole - (lots - 1) * lot),
        false => mine * lot,
    }
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

        #[test]
        fn lots_are_whole_but_for_the_last_one(
            whole in 0u64..1_000_000,
            lot in 1u64..2_000,
            parts in 1u32..300,
        ) {
            let shares: Vec<u64> =
                (0..parts).map(|index| share_in_lots(whole, lot, index, parts)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            let broken = shares.iter().filter(|share| *share % lot != 0).count();
            prop_assert_eq!(broken, usize::from(whole % lot != 0));
            let lots: Vec<u64> = shares.iter().map(|share| share.div_ceil(lot)).collect();
            prop_assert!(lots[0] - lots[lots.len() - 1] <= 1);
        }

        #[test]
        fn lots_of_one_are_shared_out_evenly(whole: u64, index in 0u32..9) {
            prop_assert_eq!(share_in_lots(whole, 1, index, 9), share(whole, index, 9));
        }
    }
}

//! Whether servers have warmed up: two successive blocks of cycles say the same of each.

/// Cycles of a block.
pub(crate) const BLOCK: usize = 5;
/// Blocks whose medians differ by less than this share are the same: the recipe's 1 %.
const SAME: f64 = 0.01;
/// Or by less than so many standard errors of that difference.
const ERRORS: f64 = 2.0;
/// The standard deviation of a normal law by its median absolute deviation, and the standard error of a median by that of a
/// mean.
const OF_MAD: f64 = 1.4826;
const OF_MEDIAN: f64 = 1.2533;

/// Whether the last two blocks of `values`, natural logarithms of a positive figure in the order of the cycles, have the same
/// median: within 1 %, or within what their own scatter explains. False of fewer values than two blocks.
pub(crate) fn is_steady(values: &[f64]) -> bool {
    let Some(last) = values.len().checked_sub(2 * BLOCK) else {
        return false;
    };
    let (before, after) = values[last..].split_at(BLOCK);
    let (Some(first), Some(second)) = (stats::median(before), stats::median(after)) else {
        return false;
    };
    let deviations = |block: &[f64], middle: f64| -> Vec<f64> {
        block.iter().map(|value| (value - middle).abs()).collect()
    };
    let mut scatter = deviations(before, first);
    scatter.extend(deviations(after, second));
    let spread = stats::median(&scatter).unwrap_or_default() * OF_MAD;
    let error = OF_MEDIAN * spread * (2.0 / BLOCK as f64).sqrt();
    (second - first).abs() < SAME.max(ERRORS * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_blocks_that_agree_are_steady_and_a_server_that_warms_up_is_not() {
        let level = [2.0; 10];
        assert!(is_steady(&level) && !is_steady(&level[1..]));
        let step = |by: f64| [[2.0 + by; BLOCK], [2.0; BLOCK]].concat();
        assert!(is_steady(&step(0.0099)) && !is_steady(&step(0.0101)));
        assert!(!is_steady(&step(-0.0101)), "in either direction");
        let warming: Vec<f64> = (0..80)
            .map(|cycle| 2.0 + (-f64::from(cycle) / 10.0).exp())
            .collect();
        let steady = (10..=80).find(|count| is_steady(&warming[..*count]));
        assert!(steady > Some(40) && steady < Some(60), "{steady:?}");
    }

    #[test]
    fn scatter_is_no_warm_up() {
        // Blocks whose medians differ by 2 %, within scatter of 5 %.
        let values = [1.0, 1.05, 0.95, 1.1, 0.9, 1.02, 1.07, 0.97, 1.12, 0.92];
        assert!(is_steady(&values));
    }
}

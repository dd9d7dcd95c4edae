//! The file of `-e`: percentiles of the total time.

use super::times::at_percent;
use stats::Histogram;

/// A row for each percent.
pub(super) fn table(total: &Histogram) -> String {
    let row = |percent| format!("{percent},{:.3}\n", at_percent(total, percent) / 1e6);
    let rows: String = (0..=100).map(row).collect();
    format!("Percentage served,Time in ms\n{rows}")
}

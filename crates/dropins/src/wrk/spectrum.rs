//! The table of percentiles of wrk2, as HdrHistogram writes it.

use super::units::{column, micros};
use crate::distribution::deviation;
use stats::Histogram;

/// The percentiles above the table.
const PERCENTS: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// Rows of the table for each halving of the share that is above.
const TICKS: f64 = 5.0;
const NANOS_PER_MILLI: f64 = 1e6;
/// How our histogram is laid out in HdrHistogram's terms: three digits of nanoseconds, to 2^36.
const BUCKETS: u32 = 27;
const SUB_BUCKETS: u32 = 2048;

/// Returns the percentiles and the table.
pub(super) fn text(latency: &Histogram) -> String {
    let mut text = String::new();
    for percent in PERCENTS {
        let value = latency.quantile(percent / 100.0).unwrap_or(0);
        let shown = micros(value as f64 / 1e3);
        text += &format!("{percent:7.3}%{}\n", column(&shown, 10));
    }
    text += "\n  Detailed Percentile spectrum:\n";
    text += &format!(
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for Row {
        value,
        percent,
        count,
    } in rows(latency)
    {
        let (value, share) = (value as f64 / NANOS_PER_MILLI, percent / 100.0);
        let above = match percent >= 100.0 {
            true => format!("{:>12}", "inf"),
            false => format!("{:12.2}", 1.0 / (1.0 - share)),
        };
        text += &format!("{value:12.3} {share:12.6} {count:12} {above}\n");
    }
    let milli = |nanos: f64| nanos / NANOS_PER_MILLI;
    let (mean, deviation) = (latency.mean().unwrap_or(0.0), deviation(latency));
    text += &format!(
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n",
        milli(mean),
        milli(deviation)
    );
    text += &format!(
        "#[Max     = {:12.3}, Total count    = {:12}]\n",
        milli(latency.max().unwrap_or(0) as f64),
        latency.count()
    );
    text += &format!("#[Buckets = {BUCKETS:12}, SubBuckets     = {SUB_BUCKETS:12}]\n");
    text += "----------------------------------------------------------\n";
    text
}

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    /// In nanoseconds.
    value: u64,
    percent: f64,
    /// Values up to it.
    count: u64,
}

/// The lines: closer to each other the higher the percentile, the last at 100.
fn rows(latency: &Histogram) -> Vec<Row> {
    let total = latency.count();
    let max = latency.max().unwrap_or(0);
    let (mut rows, mut count, mut percent) = (Vec::new(), 0, 0.0);
    for bucket in latency.buckets().filter(|bucket| bucket.count > 0) {
        count += bucket.count;
        let value = bucket.high.min(max);
        while percent <= 100.0 * count as f64 / total as f64 {
            rows.push(Row {
                value,
                percent,
                count,
            });
            if count == total {
                break;
            }
            let halvings = (100.0 / (100.0 - percent)).log2().floor();
            percent += 100.0 / (TICKS * 2_f64.powf(halvings + 1.0));
        }
    }
    rows.extend((total > 0).then_some(Row {
        value: max,
        percent: 100.0,
        count: total,
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_five_to_each_halving_and_end_at_the_largest() {
        let mut latency = Histogram::new();
        (1..=1000).for_each(|milli| latency.record(milli * 1_000_000));
        let rows = rows(&latency);
        let percents: Vec<f64> = rows.iter().take(8).map(|row| row.percent).collect();
        assert_eq!(percents, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 55.0, 60.0]);
        let at_half = rows.iter().find(|row| row.percent == 50.0).unwrap();
        assert!((498..=502).contains(&at_half.count), "{at_half:?}");
        let last = rows.last().unwrap();
        assert_eq!((last.percent, last.count), (100.0, 1000));
        assert!(
            rows.windows(2)
                .all(|pair| pair[0].percent < pair[1].percent && pair[0].count <= pair[1].count)
        );
        let text = text(&latency);
        assert!(text.starts_with(" 50.000%  "), "{text}");
        assert!(
            text.contains("\n    1000.000     1.000000         1000          inf\n"),
            "{text}"
        );
        assert!(
            text.contains("#[Max     =     1000.000, Total count    =         1000]"),
            "{text}"
        );
        assert_eq!(super::rows(&Histogram::new()), []);
    }
}

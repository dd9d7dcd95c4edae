//! Figures of a distribution, as tools print them.

use stats::Histogram;

/// The standard deviation of what a histogram counts, as sample (divided by one less than their number); 0 for fewer than two.
pub(crate) fn deviation(histogram: &Histogram) -> f64 {
    let count = histogram.count();
    let Some(mean) = histogram.mean().filter(|_| count > 1) else {
        return 0.0;
    };
    let squares: f64 = histogram
        .buckets()
        .map(|bucket| {
            let middle = (bucket.low as f64 + bucket.high as f64) / 2.0;
            (middle - mean).powi(2) * bucket.count as f64
        })
        .sum();
    (squares / (count - 1) as f64).sqrt()
}

/// The share of values that lie within one standard deviation of the mean.
pub(crate) fn share_near_mean(histogram: &Histogram) -> f64 {
    let Some(mean) = histogram.mean() else {
        return 0.0;
    };
    let deviation = deviation(histogram);
    let upper = histogram.count_at_or_below((mean + deviation) as u64);
    // Up to the last value that is too small.
    let lower = (mean - deviation).ceil();
    let below = match lower >= 1.0 {
        true => histogram.count_at_or_below(lower as u64 - 1),
        false => 0,
    };
    upper.saturating_sub(below) as f64 / histogram.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_sample() {
        let mut some = Histogram::new();
        assert_eq!(deviation(&some), 0.0);
        some.record(2);
        assert_eq!(deviation(&some), 0.0);
        for value in [4, 4, 4, 5, 5, 7, 9] {
            some.record(value);
        }
        assert!((deviation(&some) - 2.138).abs() < 0.001);
        // 3 to 7: all but 2 and 9.
        assert_eq!(share_near_mean(&some), 6.0 / 8.0);
        assert_eq!(share_near_mean(&Histogram::new()), 0.0);
    }
}

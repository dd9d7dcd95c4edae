//! What is said about a handful of figures, one a round: middle, extremes, spread.
//!
//! The figures are finite by assumption: a caller that has none for a round has no set of rounds to
//! summarise. A figure that is not finite therefore gives none rather than a number that looks like
//! one.

/// The arithmetic mean; none for no values, or when one or their sum is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    finite(values)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// The median; of an even number of values the midpoint of the two in the middle. None for no
/// values, or when one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    finite(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = (sorted.len() - 1) / 2;
    Some(sorted[lower].midpoint(sorted[upper]))
}

/// The smallest and the largest of some figures; none for no values, or when one is not finite.
pub fn min_max(values: &[f64]) -> Option<(f64, f64)> {
    finite(values)?;
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((min, max))
}

/// The sample standard deviation, in two passes; none for fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len() - 1) as f64).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// Some when there is at least one value and all are finite.
fn finite(values: &[f64]) -> Option<()> {
    (!values.is_empty() && values.iter().all(|value| value.is_finite())).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_midpoint() {
        let cases: &[(&[f64], Option<f64>)] = &[
            (&[], None),
            (&[7.0], Some(7.0)),
            (&[9.0, 1.0], Some(5.0)),
            (&[9.0, 1.0, 2.0], Some(2.0)),
            (&[4.0, 1.0, 100.0, 3.0], Some(3.5)),
            (&[f64::MAX, f64::MAX], Some(f64::MAX)),
            (&[1.0, f64::NAN], None),
            (&[1.0, f64::INFINITY], None),
        ];
        for (values, wanted) in cases {
            assert_eq!(median(values), *wanted, "{values:?}");
        }
    }

    #[test]
    fn mean_and_extremes_are_those_computed_by_hand() {
        let values = [4.0, -1.0, 3.0];
        assert_eq!(mean(&values), Some(2.0));
        assert_eq!(min_max(&values), Some((-1.0, 4.0)));
        assert_eq!((mean(&[]), min_max(&[])), (None, None));
        assert_eq!((mean(&[f64::NAN]), min_max(&[f64::NAN])), (None, None));
        assert_eq!(mean(&[f64::MAX, f64::MAX]), None);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        // Mean 5, squares about it 32 in sum, 7 degrees of freedom.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let wanted = (32.0_f64 / 7.0).sqrt();
        assert!((standard_deviation(&values).unwrap() - wanted).abs() < 1e-14);
        assert_eq!(standard_deviation(&[3.0, 3.0]), Some(0.0));
        assert_eq!(standard_deviation(&[3.0]), None);
    }
}

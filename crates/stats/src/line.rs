//! A straight line through points, by least squares.
//!
//! It assumes that the points lie about a line with independent, about normal deviations of equal size; then the slope's
//! interval is Student's, with n - 2 degrees of freedom (Draper and Smith, "Applied Regression Analysis", 1.4).

use crate::interval::student_t;
use crate::summary;

/// A straight line `y = intercept + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// By how much y grows with each one of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// The 95 % interval of the slope; none of two points, which always lie on a line.
    pub slope_interval: Option<(f64, f64)>,
    /// How many points it rests on.
    pub n: u32,
}

/// The line of least squares through `points` (x, y); none for fewer than two values of x, and for what is no number.
///
/// ```
/// let line = stats::fit_line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
/// assert_eq!((line.intercept, line.slope), (1.0, 2.0));
/// ```
pub fn fit_line(points: &[(f64, f64)]) -> Option<Line> {
    let n = u32::try_from(points.len()).ok()?;
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x, y) = (summary::mean(&xs)?, summary::mean(&ys)?);
    let square: f64 = xs.iter().map(|each| (each - x).powi(2)).sum();
    let both: f64 = points.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    if square <= 0.0 || !square.is_finite() || !both.is_finite() {
        return None;
    }
    let slope = both / square;
    let intercept = y - slope * x;
    let left = |(a, b): &(f64, f64)| (b - intercept - slope * a).powi(2);
    let residual: f64 = points.iter().map(left).sum();
    let reach = (n > 2).then(|| {
        let error = (residual / f64::from(n - 2) / square).sqrt();
        student_t(n - 2, 0.95).map(|t| t * error)
    });
    Some(Line {
        slope,
        intercept,
        slope_interval: reach.flatten().map(|reach| (slope - reach, slope + reach)),
        n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_textbook_example_comes_out_as_in_the_textbook() {
        // x = 1..5, y = 2, 4, 5, 4, 5: slope 0.6, intercept 2.2, residual 2.4, standard error sqrt(0.08), t(3) 3.1824.
        let line = fit_line(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        assert!((line.slope - 0.6).abs() < 1e-12 && (line.intercept - 2.2).abs() < 1e-12);
        let (low, high) = line.slope_interval.unwrap();
        let reach = 3.182_446 * 0.08_f64.sqrt();
        assert!((low - (0.6 - reach)).abs() < 1e-5 && (high - (0.6 + reach)).abs() < 1e-5);
    }

    #[test]
    fn two_points_have_a_slope_and_no_interval() {
        let line = fit_line(&[(0.0, 1.0), (2.0, 5.0)]).unwrap();
        assert_eq!(
            (line.slope, line.intercept, line.slope_interval),
            (2.0, 1.0, None)
        );
    }

    #[test]
    fn what_has_no_slope_gets_none() {
        let cases: &[&[(f64, f64)]] = &[
            &[],
            &[(1.0, 1.0)],
            &[(1.0, 1.0), (1.0, 2.0)],
            &[(f64::NAN, 1.0), (1.0, 2.0)],
            &[(0.0, f64::INFINITY), (1.0, 2.0)],
        ];
        for points in cases {
            assert_eq!(fit_line(points), None, "{points:?}");
        }
    }
}

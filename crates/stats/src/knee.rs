//! Where a curve bends: the knee of throughput over load.
//!
//! There are many knees. The one to act on is an objective's capacity, which is searched for and not read off a curve; here
//! is the one that a curve alone gives: the least load that comes near the highest.

/// A point counts as near the highest when it reaches so much of it.
const NEAR: f64 = 0.95;

/// Returns the place of the point (load, throughput) of the least load that reaches 95 % of the highest throughput; none of
/// no points, and of nothing but zeros.
///
/// The point itself is asked and not the upper end of its interval, which would name a load that is too small, the more so
/// the wider the interval.
pub fn near_peak(points: &[(f64, f64)]) -> Option<usize> {
    let peak = points.iter().map(|(_, y)| *y).max_by(f64::total_cmp)?;
    let near = points.iter().enumerate();
    let near = near.filter(|(_, (_, y))| peak > 0.0 && *y >= NEAR * peak);
    near.min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_peak_is_the_least_load_that_reaches_it() {
        let mut points = vec![
            (1.0, 10.0),
            (2.0, 80.0),
            (4.0, 94.0),
            (8.0, 100.0),
            (16.0, 97.0),
        ];
        assert_eq!(near_peak(&points), Some(3));
        points[2].1 = 95.0;
        assert_eq!(near_peak(&points), Some(2));
        points.reverse();
        assert_eq!(
            near_peak(&points),
            Some(2),
            "the order of measuring is no load"
        );
        assert_eq!(near_peak(&[]), None);
        assert_eq!(near_peak(&[(1.0, 0.0)]), None);
    }
}

//! Where a curve bends: the knee of throughput over load.
//!
//! There are many knees. The one to act on is an objective's capacity, which is searched for and not read off a curve;
//! here are two that a curve alone gives: the least load that comes near the highest, and Kneedle's point of the
//! greatest bend, which depends on the range that was measured and is therefore asked twice. Neither may rest on what
//! rounds scatter by: an interval wider than what "near" means shows nothing, and a bend less than it is none.

/// A point counts as near the highest when its interval reaches so much of it.
const NEAR: f64 = 0.95;
/// The fewest points of which neighbours are taken together.
const SMOOTHED_LEAST: usize = 20;

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The load.
    pub x: f64,
    /// What it brought.
    pub y: f64,
    /// The upper end of the interval around `y`; `y` itself where there is none.
    pub high: f64,
}

/// Where the point of the least load lies whose interval overlaps 95 % of the highest `y`; none of no points, and of
/// nothing but zeros. An interval that reaches further than those 5 % is passed over, and `y` itself asked: it would
/// be near the highest for nothing but its width.
pub fn near_peak(points: &[CurvePoint]) -> Option<usize> {
    let peak = points.iter().map(|point| point.y).max_by(f64::total_cmp)?;
    let near = points
        .iter()
        .enumerate()
        .filter(|(_, point)| peak > 0.0 && reach(point, peak) >= NEAR * peak);
    near.min_by(|(_, a), (_, b)| a.x.total_cmp(&b.x))
        .map(|(place, _)| place)
}

/// How high a point may lie by its interval, if that is narrow enough to tell.
fn reach(point: &CurvePoint, peak: f64) -> f64 {
    let is_narrow = point.high - point.y <= (1.0 - NEAR) * peak;
    if is_narrow { point.high } else { point.y }
}

/// Kneedle's knee of a rising, flattening curve: where it lies highest above the straight line from the first point to
/// the last, after both axes are brought to 0 to 1, provided it then falls back far enough (sensitivity 1, and more than
/// the intervals of the points are wide). Satopää, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a Haystack",
/// 2011; what smooths here is the mean of three neighbours, weighted 1, 2, 1, since loads need not be evenly apart.
///
/// None under five points, where the curve does not rise, and where no bend is pronounced.
pub fn kneedle(points: &[CurvePoint]) -> Option<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a].x.total_cmp(&points[*b].x));
    let (first, last) = (points[*order.first()?], points[*order.last()?]);
    let top = points.iter().map(|point| point.y).fold(first.y, f64::max);
    let bottom = points.iter().map(|point| point.y).fold(first.y, f64::min);
    if points.len() < 5 || last.x <= first.x || top <= bottom {
        return None;
    }
    let scaled = |place: &usize| {
        let point = points[*place];
        let x = (point.x - first.x) / (last.x - first.x);
        (point.y - bottom) / (top - bottom) - x
    };
    let heights: Vec<f64> = smooth(&order.iter().map(scaled).collect::<Vec<f64>>());
    let stride = 1.0 / (points.len() - 1) as f64;
    let widths: Vec<f64> = points.iter().map(|point| point.high - point.y).collect();
    let scatter = crate::median(&widths)? / (top - bottom);
    pronounced(&heights, stride.max(scatter)).map(|place| order[place])
}

/// Each height with its neighbours, 1, 2, 1; the two ends as they are, and all of a curve of few points, where a
/// neighbour is far away.
fn smooth(heights: &[f64]) -> Vec<f64> {
    let mut smoothed = heights.to_vec();
    if heights.len() >= SMOOTHED_LEAST {
        for (middle, three) in smoothed[1..].iter_mut().zip(heights.windows(3)) {
            *middle = (three[0] + 2.0 * three[1] + three[2]) / 4.0;
        }
    }
    smoothed
}

/// The first local maximum of `heights` after which they fall by `fall` before a higher one comes.
fn pronounced(heights: &[f64], fall: f64) -> Option<usize> {
    let mut candidate: Option<usize> = None;
    for (place, height) in heights.iter().enumerate() {
        let best = candidate.map_or(0.0, |best: usize| heights[best]);
        if *height > best {
            candidate = Some(place);
        } else if candidate.is_some() && *height <= best - fall {
            return candidate;
        }
    }
    None
}

/// Kneedle's knee, and whether it stays where it is when the highest load is left away.
pub fn steady_kneedle(points: &[CurvePoint]) -> Option<(usize, bool)> {
    let knee = kneedle(points)?;
    let farthest = points.iter().map(|point| point.x).fold(f64::MIN, f64::max);
    let nearer: Vec<usize> = (0..points.len())
        .filter(|place| points[*place].x < farthest)
        .collect();
    let rest: Vec<CurvePoint> = nearer.iter().map(|place| points[*place]).collect();
    let again = kneedle(&rest).map(|place| nearer[place]);
    Some((knee, again == Some(knee)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<CurvePoint> {
        let point = |(x, y)| CurvePoint { x, y, high: y };
        points.into_iter().map(point).collect()
    }

    #[test]
    fn near_the_peak_is_the_least_load_whose_interval_reaches_it() {
        let mut points = curve([
            (1.0, 10.0),
            (2.0, 80.0),
            (4.0, 93.0),
            (8.0, 100.0),
            (16.0, 97.0),
        ]);
        assert_eq!(near_peak(&points), Some(3));
        points[2].high = 95.0;
        assert_eq!(near_peak(&points), Some(2));
        points[1].high = 120.0;
        assert_eq!(near_peak(&points), Some(2), "wide is not high");
        points.reverse();
        assert_eq!(
            near_peak(&points),
            Some(2),
            "the order of measuring is no load"
        );
        assert_eq!(near_peak(&[]), None);
        assert_eq!(near_peak(&curve([(1.0, 0.0)])), None);
    }

    #[test]
    fn kneedle_finds_the_corner_of_a_curve_that_rises_and_stays() {
        let corner = curve((1..=20).map(|x| (f64::from(x), f64::from(x.min(8)))));
        assert_eq!(kneedle(&corner).map(|at| corner[at].x), Some(8.0));
        assert_eq!(
            steady_kneedle(&corner).map(|(_, steady)| steady),
            Some(true)
        );
    }

    /// A saturating curve of 101 loads, as a server's over 1 to 1000 connections, with `noise` of its height: the knee of
    /// the curve without it is where every noisy one has to have it, give or take.
    #[test]
    fn noise_does_not_carry_the_knee_away() {
        let wobble = |place: u32, seed: u32| {
            let bits = (place * 7 + seed).wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503);
            f64::from(bits.wrapping_mul(2_246_822_519) >> 8) / f64::from(1 << 24) * 2.0 - 1.0
        };
        let noisy = |noise: f64, seed: u32| -> Vec<CurvePoint> {
            let point = |place: u32| {
                let x = f64::from(place) * 10.0;
                let y = 1e5 * (1.0 - (-x / 150.0).exp()) * (1.0 + noise * wobble(place, seed));
                CurvePoint {
                    x,
                    y,
                    high: y * (1.0 + noise),
                }
            };
            (0..=100).map(point).collect()
        };
        let knee = |noise: f64, seed: u32| {
            let points = noisy(noise, seed);
            kneedle(&points).map(|at| points[at].x).unwrap()
        };
        let exact = knee(0.0, 0);
        for seed in 1..60 {
            let found = knee(0.04, seed);
            assert!((found - exact).abs() <= 100.0, "{found} for {exact}");
        }
    }

    /// The paper's example: y = -1/x + 5 at x = 0, 1/9, ... is a knee at about 0.22 of the range.
    #[test]
    fn kneedle_finds_the_papers_knee() {
        let points = curve((0..10).map(|step| {
            let x = f64::from(step) / 9.0;
            (x, -1.0 / (x + 0.1) + 5.0)
        }));
        let knee = kneedle(&points).map(|at| points[at].x).unwrap();
        assert!((knee - 2.0 / 9.0).abs() < 1e-9, "{knee}");
    }

    #[test]
    fn a_straight_line_has_no_knee_nor_has_what_is_flat_or_short() {
        assert_eq!(
            kneedle(&curve((1..=20).map(|x| (f64::from(x), f64::from(x))))),
            None
        );
        assert_eq!(kneedle(&curve((1..=20).map(|x| (f64::from(x), 7.0)))), None);
        assert_eq!(
            kneedle(&curve([(1.0, 1.0), (2.0, 5.0), (3.0, 5.0), (4.0, 5.0)])),
            None
        );
    }

    #[test]
    fn a_knee_that_moves_with_the_range_is_not_steady() {
        // It goes on rising: where it bends most, at a quarter of the range, depends on where one stopped.
        let root = |most: u32| curve((0..=most).map(|x| (f64::from(x), f64::from(x).sqrt())));
        assert_eq!(
            (kneedle(&root(40)), kneedle(&root(80))),
            (Some(10), Some(20))
        );
        let moved =
            (20..60).filter(|most| steady_kneedle(&root(*most)).is_some_and(|(_, steady)| !steady));
        assert!(moved.count() > 5);
    }
}

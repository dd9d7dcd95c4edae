//! The levels of a sweep, for checks that compare neighbours.

use crate::Evidence;
use plan::Axis;
use record::Point;
use stats::student_t;

/// The fewest complete rounds of a level whose scatter is known.
const ROUNDS_LEAST: usize = 3;

/// A measured level of a sweep.
pub(super) struct Level<'a> {
    /// Its value on the axis.
    pub(super) value: f64,
    pub(super) point: &'a Point,
    /// Natural logarithms of requests/s, one for each complete round.
    pub(super) rates: Vec<f64>,
}

/// Returns the axis of a sweep of one setting with its levels by rising value; none where a level has too few rounds,
/// or a round without an ok ending.
pub(super) fn levels<'a>(evidence: &Evidence<'a>) -> Option<(&'a Axis, Vec<Level<'a>>)> {
    let (axis, points) = evidence.sweep?;
    let of = |point: &'a Point| {
        let complete = point.rounds.iter().filter(|round| !round.partial);
        let rates: Vec<f64> = complete.map(|round| round.rps().ln()).collect();
        let is_known = rates.len() >= ROUNDS_LEAST && rates.iter().all(|rate| rate.is_finite());
        is_known.then_some(Level {
            value: axis.value_at(&point.level).filter(|value| *value > 0.0)?,
            point,
            rates,
        })
    };
    let levels: Option<Vec<_>> = points.iter().map(of).collect();
    let mut levels = levels.filter(|levels| levels.len() > 1)?;
    levels.sort_by(|one, other| one.value.total_cmp(&other.value));
    Some((axis, levels))
}

/// A difference of means, and how far it may be off.
pub(super) struct Step {
    pub(super) change: f64,
    pub(super) reach: f64,
}

/// Returns the change of the mean from `low` to `high`, and its one-sided reach at chance `alpha` (Student's t with the
/// pooled variance); none where both have fewer than three values together.
pub(super) fn step(low: &[f64], high: &[f64], alpha: f64) -> Option<Step> {
    let freedom = u32::try_from((low.len() + high.len()).checked_sub(2)?).ok()?;
    let means = [stats::mean(low)?, stats::mean(high)?];
    let squares = |values: &[f64], mean: f64| -> f64 {
        values.iter().map(|value| (value - mean).powi(2)).sum()
    };
    let variance = (squares(low, means[0]) + squares(high, means[1])) / f64::from(freedom);
    let each = 1.0 / low.len() as f64 + 1.0 / high.len() as f64;
    Some(Step {
        change: means[1] - means[0],
        reach: student_t(freedom, 1.0 - 2.0 * alpha)? * (variance * each).sqrt(),
    })
}

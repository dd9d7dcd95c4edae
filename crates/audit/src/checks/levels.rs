//! The levels of a sweep, for checks that compare neighbours.

use crate::Evidence;
use plan::Axis;
use record::{Point, Round};

/// The fewest complete rounds of a level whose scatter is known.
const ROUNDS_LEAST: usize = 3;

/// A measured level of a sweep.
pub(super) struct Level<'a> {
    /// Its value on the axis.
    pub(super) value: f64,
    /// Its place among the points.
    pub(super) place: usize,
    pub(super) point: &'a Point,
    /// Natural logarithms of requests/s, one for each complete round.
    pub(super) rates: Vec<f64>,
}

impl Level<'_> {
    pub(super) fn complete(&self) -> impl Iterator<Item = &Round> {
        self.point.rounds.iter().filter(|round| !round.partial)
    }
}

/// Returns the axis of a sweep of one setting with its levels by rising value; none where a level has too few rounds,
/// or a round without an ok ending.
pub(super) fn levels<'a>(evidence: &Evidence<'a>) -> Option<(&'a Axis, Vec<Level<'a>>)> {
    let (axis, points) = evidence.sweep?;
    let of = |(place, point): (usize, &'a Point)| {
        let complete = point.rounds.iter().filter(|round| !round.partial);
        let rates: Vec<f64> = complete.map(|round| round.rps().ln()).collect();
        let is_known = rates.len() >= ROUNDS_LEAST && rates.iter().all(|rate| rate.is_finite());
        is_known.then_some(Level {
            value: axis.value_at(&point.level).filter(|value| *value > 0.0)?,
            place,
            point,
            rates,
        })
    };
    let levels: Option<Vec<_>> = points.iter().enumerate().map(of).collect();
    let mut levels = levels.filter(|levels| levels.len() > 1)?;
    levels.sort_by(|one, other| one.value.total_cmp(&other.value));
    Some((axis, levels))
}

/// A difference of means.
pub(super) struct Step {
    pub(super) change: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// Degrees of freedom of that.
    pub(super) freedom: u32,
}

/// Returns the change of the mean from `low` to `high`, with the pooled variance of both; none where they have fewer than
/// three values together.
pub(super) fn step(low: &[f64], high: &[f64]) -> Option<Step> {
    let freedom = u32::try_from((low.len() + high.len()).checked_sub(2)?).ok()?;
    let variance = (squares(low)? + squares(high)?) / f64::from(freedom);
    let each = 1.0 / low.len() as f64 + 1.0 / high.len() as f64;
    let change = stats::mean(high)? - stats::mean(low)?;
    (freedom > 0).then(|| Step {
        change,
        error: (variance * each).sqrt(),
        freedom,
    })
}

/// Returns the sum of squares about the mean.
fn squares(values: &[f64]) -> Option<f64> {
    let mean = stats::mean(values)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Returns the one-sided point of Student's t at chance `alpha`.
pub(super) fn point(freedom: u32, alpha: f64) -> f64 {
    stats::student_t(freedom, 1.0 - 2.0 * alpha).unwrap_or(f64::INFINITY)
}

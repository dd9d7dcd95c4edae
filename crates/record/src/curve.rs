//! What follows from the points of a sweep together.
//!
//! Rates are never added up: the whole is all endings over all time, and the peak is one point's.

use crate::{Capacity, Point, Round, Run};
use plan::{Axis, Nesting, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::scalability::{self, Scaling};
use std::ops::Range;

/// The figures of a whole sweep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Exchanges that were scheduled in the windows of all points.
    pub requests: u64,
    /// Those that ended well.
    pub ok: u64,
    /// Those that did not.
    pub errors: u64,
    /// Sum of all windows, in seconds.
    pub measured_s: f64,
    /// Ok endings inside the windows over that time: what the whole sweep came to per second.
    pub rps: Option<f64>,
    /// The point with the highest requests/s; none where nothing ended well.
    pub peak: Option<Peak>,
    /// The place of the least load whose 95 % interval, where that is no wider than 5 % of the peak, overlaps 95 % of it;
    /// none where several settings differ, or only the size of responses.
    pub near_peak: Option<usize>,
    /// How requests/s grow with workers or threads; none where anything else differs, or the levels do not carry it.
    pub scaling: Option<Scaling>,
    /// What a search for the highest rate has come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// The highest point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Its place.
    pub point: usize,
    /// Its mean requests/s.
    pub rps: f64,
}

impl Curve {
    /// The figures of `points`, whose summaries are made, of a campaign of `plan`.
    pub(crate) fn of(points: &[Point], plan: &Plan) -> Curve {
        let axis = match plan.sweep.as_ref().map(|sweep| &sweep.axes[..]) {
            Some([only]) => Some(only),
            _ => None,
        };
        // A larger response is no higher load.
        let load = axis.filter(|axis| !matches!(axis, Axis::Size(_)));
        let shape = load.map_or(Vec::new(), |axis| shape(points, axis));
        let place = |found: usize| shape[found].0;
        let curve: Vec<(f64, f64)> = shape.iter().map(|(_, point)| *point).collect();
        let summaries = || points.iter().flat_map(|point| &point.summary);
        let measured_s: f64 = summaries().map(|summary| summary.duration_s).sum();
        let rounds = points.iter().flat_map(|point| &point.rounds);
        let endings = rounds.fold(0u64, |sum, round| {
            sum.saturating_add(round.tally.ok_in_window)
        });
        let sum = |of: fn(&crate::Summary) -> u64| {
            summaries().fold(0u64, |sum, summary| sum.saturating_add(of(summary)))
        };
        Curve {
            requests: sum(|summary| summary.requests),
            ok: sum(|summary| summary.ok),
            errors: sum(|summary| summary.errors.total),
            measured_s,
            rps: (measured_s > 0.0).then(|| endings as f64 / measured_s),
            peak: peak(points),
            near_peak: stats::near_peak(&curve).map(place),
            scaling: axis.and_then(|axis| scaling(points, axis, plan)),
            capacity: plan.is_search().then(|| Capacity::of(points, plan)),
        }
    }
}

/// The measured points of a curve over `axis`, each with its place.
fn shape(points: &[Point], axis: &Axis) -> Vec<(usize, (f64, f64))> {
    let measured = points.iter().enumerate().filter_map(|(place, point)| {
        let rps = &point.summary.as_ref()?.rps;
        Some((place, (axis.value_at(&point.level)?, rps.mean)))
    });
    measured.collect()
}

/// The law of workers or threads; of no other axis, since no other counts what contends. Where the points have two starts of
/// the server each, the unit is a start: rounds of one start agree more than starts do.
fn scaling(points: &[Point], axis: &Axis, plan: &Plan) -> Option<Scaling> {
    if !matches!(axis, Axis::Workers(_) | Axis::Threads(_)) {
        return None;
    }
    let units = units(plan);
    let rate = |point: &Point, unit: &Range<u32>| {
        let rounds = point.rounds.get(unit.start as usize..)?;
        let rounds = rounds
            .iter()
            .take(unit.len())
            .filter(|round| !round.partial);
        let rates: Vec<f64> = rounds.map(Round::rps).collect();
        stats::mean(&rates)
    };
    let level = |point: &Point| {
        Some(scalability::Level {
            n: axis.value_at(&point.level)?,
            rates: units.iter().filter_map(|unit| rate(point, unit)).collect(),
        })
    };
    let levels: Vec<scalability::Level> = points.iter().filter_map(level).collect();
    scalability::fit(&levels, plan.seed)
}

/// The rounds of each unit of repetition at a point: a start of the server where it has two at each, else a round.
pub(crate) fn units(plan: &Plan) -> Vec<Range<u32>> {
    let nesting = plan
        .sweep
        .as_ref()
        .map_or(Nesting::Nested, |sweep| sweep.rounds);
    match nesting {
        Nesting::Halves => nesting.passes(plan.rounds),
        Nesting::Nested | Nesting::Interleaved => Nesting::Interleaved.passes(plan.rounds),
    }
}

fn peak(points: &[Point]) -> Option<Peak> {
    let heights = points.iter().enumerate().filter_map(|(point, each)| {
        let rps = each.summary.as_ref()?.rps.mean;
        (rps > 0.0).then_some(Peak { point, rps })
    });
    // The first of equals: the load that already reaches it.
    heights.reduce(|best, next| if next.rps > best.rps { next } else { best })
}

impl Run {
    /// Whether it has, or was to have, several points.
    pub fn is_sweep(&self) -> bool {
        self.plan.sweep.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use plan::Sweep;

    #[test]
    fn the_whole_is_all_endings_over_all_time_and_not_a_sum_of_rates() {
        let mut run = example::ok();
        let mut second = run.points[0].clone();
        for round in &mut second.rounds {
            round.tally.ok_in_window /= 2;
        }
        run.points.push(second);
        run.summarise();
        let curve = Curve::of(&run.points, &run.plan);
        let [first, second] = [0, 1].map(|at| run.points[at].summary.clone().unwrap());
        assert_eq!(curve.requests, first.requests + second.requests);
        assert_eq!(curve.ok + curve.errors, curve.requests);
        let wanted = (first.rps.mean * first.duration_s + second.rps.mean * second.duration_s)
            / (first.duration_s + second.duration_s);
        assert!((curve.rps.unwrap() / wanted - 1.0).abs() < 1e-9);
        let peak = curve.peak.unwrap();
        assert_eq!((peak.point, peak.rps), (0, first.rps.mean));
    }

    /// A sweep whose points bring these requests in each second-long round.
    fn sweep(axis: Axis, rates: &[u64]) -> Run {
        let mut run = example::ok();
        run.plan.sweep = Some(Sweep {
            axes: vec![axis],
            ..Sweep::default()
        });
        let levels = run.plan.levels();
        let first = run.points.remove(0);
        run.points = std::iter::zip(levels, rates)
            .map(|(level, rate)| {
                let mut point = first.clone();
                point.level = level;
                for (number, round) in point.rounds.iter_mut().enumerate() {
                    round.tally.ok_in_window = rate + number as u64 % 2;
                }
                point
            })
            .collect();
        run.summarise();
        run
    }

    #[test]
    fn a_curve_has_its_knee_and_no_law_of_connections() {
        let connections = Axis::Connections(vec![1, 2, 4, 8, 16, 32, 64]);
        let run = sweep(
            connections,
            &[1_000, 2_000, 4_000, 7_800, 7_900, 8_000, 7_900],
        );
        let curve = run.curve.unwrap();
        assert_eq!(curve.peak.map(|peak| peak.point), Some(5));
        assert_eq!(curve.near_peak, Some(3));
        assert_eq!(curve.scaling, None);
    }

    #[test]
    fn workers_follow_a_law_where_there_are_enough_levels() {
        let rates = [1_000, 1_900, 3_500, 5_900, 8_500, 10_000];
        let workers = Axis::Workers(vec![1, 2, 4, 8, 16, 32]);
        let scaling = sweep(workers, &rates).curve.unwrap().scaling.unwrap();
        assert!((scaling.gamma / 1_000.0 - 1.0).abs() < 0.1, "{scaling:?}");
        assert!(scaling.alpha > 0.01, "{scaling:?}");
        let few = sweep(Axis::Workers(vec![1, 2, 4]), &rates[..3]);
        assert_eq!(few.curve.unwrap().scaling, None);
    }

    #[test]
    fn of_nothing_there_is_no_peak_and_no_rate() {
        let curve = Curve::of(&[], &example::ok().plan);
        assert_eq!((curve.peak, curve.rps), (None, None));
    }
}

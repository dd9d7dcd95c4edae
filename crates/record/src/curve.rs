//! What follows from the points of a sweep together.
//!
//! Rates are never added up: the whole is all endings over all time, and the peak is one point's.

use crate::{Point, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of a whole sweep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Exchanges that were due in the windows of all points.
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
    /// The figures of `points`, whose summaries are made.
    pub(crate) fn of(points: &[Point]) -> Curve {
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
        }
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

    #[test]
    fn the_whole_is_all_endings_over_all_time_and_not_a_sum_of_rates() {
        let mut run = example::ok();
        let mut second = run.points[0].clone();
        for round in &mut second.rounds {
            round.tally.ok_in_window /= 2;
        }
        run.points.push(second);
        run.summarise();
        let curve = Curve::of(&run.points);
        let [first, second] = [0, 1].map(|at| run.points[at].summary.clone().unwrap());
        assert_eq!(curve.requests, first.requests + second.requests);
        assert_eq!(curve.ok + curve.errors, curve.requests);
        let wanted = (first.rps.mean * first.duration_s + second.rps.mean * second.duration_s)
            / (first.duration_s + second.duration_s);
        assert!((curve.rps.unwrap() / wanted - 1.0).abs() < 1e-9);
        let peak = curve.peak.unwrap();
        assert_eq!((peak.point, peak.rps), (0, first.rps.mean));
    }

    #[test]
    fn of_nothing_there_is_no_peak_and_no_rate() {
        let curve = Curve::of(&[]);
        assert_eq!((curve.peak, curve.rps), (None, None));
    }
}

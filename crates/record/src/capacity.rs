//! The sustained capacity: the highest rate at which what was demanded still held.

use crate::{Point, Summary, Tally};
use plan::{Arrivals, Axis, Condition, Conditions, Load, Plan, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Under this share of what was due a rate was not sustained.
const SUSTAINED_LEAST: f64 = 0.99;

/// So many standard deviations are chance.
const DEVIATIONS: f64 = 3.0;

/// Whether conditions held at a point, all its rounds together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They all did.
    Holds,
    /// One did not, or the rate was not sustained.
    Fails,
}

/// What a search for the highest rate has come to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The place of the point with the highest rate that held, under the lowest that failed; none where none held.
    pub holds: Option<usize>,
    /// The place of the point with the lowest rate that failed; none where none did.
    pub fails: Option<usize>,
}

impl Verdict {
    /// The verdict on `point` of `plan`; none where nothing was measured.
    pub fn of(point: &Point, plan: &Plan) -> Option<Verdict> {
        let conditions = plan.slo.as_ref()?;
        let summary = Summary::of(&point.rounds)?;
        match holds(conditions, point, &summary, plan) {
            true => Some(Verdict::Holds),
            false => Some(Verdict::Fails),
        }
    }
}

fn holds(conditions: &Conditions, point: &Point, summary: &Summary, plan: &Plan) -> bool {
    let tally = Summary::tally(&point.rounds);
    let (offered, chance) = offered(point, &tally, summary, plan);
    let sustained = summary.rps.mean >= (SUSTAINED_LEAST - chance) * offered && tally.ok > 0;
    let condition = |condition: &Condition| match condition {
        Condition::Latency { quantile, below } => {
            let known = tally.latency().quantile(*quantile);
            let is_bound = |nanos: u64| {
                let from = tally.latency_censored_from();
                from.is_some_and(|from| nanos >= from.as_nanos())
            };
            known.is_some_and(|nanos| nanos < below.as_nanos() && !is_bound(nanos))
        }
        Condition::Errors { below } => (tally.errors() as f64) < below * tally.due as f64,
    };
    sustained && conditions.0.iter().all(condition)
}

/// Exchanges a second that were asked for, and by which share of them chance may have had fewer: of a number that arrives
/// at random only the mean of the rate is known.
fn offered(point: &Point, tally: &Tally, summary: &Summary, plan: &Plan) -> (f64, f64) {
    let load = point.level.load;
    let each = load.exchanges_per_arrival(&plan.protocol) as f64;
    let visits = tally.open.as_ref().and_then(|open| open.visits.as_ref());
    let arrived = visits.map_or(tally.due, |visits| visits.due) as f64;
    match (load, plan.stop) {
        (Load::Open { rate, arrivals, .. }, Stop::Requests(_)) => {
            let chance = match arrivals {
                Arrivals::Poisson => DEVIATIONS / arrived.sqrt(),
                Arrivals::Constant => 0.0,
            };
            (rate.as_f64() * each, chance)
        }
        _ => (arrived * each / summary.duration_s, 0.0),
    }
}

/// The value of the axis that is searched, at a point.
fn height(point: &Point) -> f64 {
    let rate = Axis::Rate(Vec::new()).value_at(&point.level);
    rate.unwrap_or_default()
}

impl Capacity {
    /// What `points` of `plan` show: the lowest rate that failed, and the highest under it that held.
    pub fn of(points: &[Point], plan: &Plan) -> Capacity {
        let verdicts: Vec<(usize, Verdict)> = points
            .iter()
            .enumerate()
            .filter_map(|(place, point)| Some((place, Verdict::of(point, plan)?)))
            .collect();
        let at = |wanted: Verdict| {
            let verdicts = verdicts
                .iter()
                .filter(move |(_, verdict)| *verdict == wanted);
            verdicts.map(|(place, _)| *place)
        };
        let by_height = |a: &usize, b: &usize| height(&points[*a]).total_cmp(&height(&points[*b]));
        let fails = at(Verdict::Fails).min_by(by_height);
        let limit = fails.map_or(f64::INFINITY, |place| height(&points[place]));
        let holds = at(Verdict::Holds)
            .filter(|place| height(&points[*place]) < limit)
            .max_by(by_height);
        Capacity { holds, fails }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use units::Rate;

    /// Points of an open loop at these rates, of whose exchanges so many ended well inside the windows (in thousandths).
    fn points(slo: &str, rates: &[(u64, u64)]) -> (Vec<Point>, Plan) {
        let run = example::open_loop();
        let mut plan = run.plan.clone();
        plan.slo = Some(slo.parse().unwrap());
        let point = |(rate, share): &(u64, u64)| {
            let mut point = run.points[0].clone();
            if let Load::Open { rate: asked, .. } = &mut point.level.load {
                *asked = Rate::per_second(*rate);
            }
            for round in &mut point.rounds {
                round.tally.ok_in_window = round.tally.due * share / 1000;
            }
            point
        };
        (rates.iter().map(point).collect(), plan)
    }

    #[test]
    fn conditions_hold_by_the_quantiles_of_all_rounds_together() {
        let (points, mut plan) = points("p99<10s", &[(1_000, 1000)]);
        let times = Summary::tally(&points[0].rounds);
        let p99 = times.latency().quantile(0.99).unwrap();
        for (bound, wanted) in [(p99, Verdict::Fails), (p99 + 1, Verdict::Holds)] {
            plan.slo = Some(format!("p99<{bound}ns").parse().unwrap());
            assert_eq!(Verdict::of(&points[0], &plan), Some(wanted), "{bound}");
        }
    }

    #[test]
    fn a_rate_that_was_not_sustained_fails_whatever_its_latency() {
        let (points, plan) = points("max<60m", &[(1_000, 991), (1_000, 980)]);
        assert_eq!(Verdict::of(&points[0], &plan), Some(Verdict::Holds));
        assert_eq!(Verdict::of(&points[1], &plan), Some(Verdict::Fails));
    }

    #[test]
    fn of_a_number_that_arrives_at_random_chance_is_forgiven() {
        let (mut points, mut plan) = points("max<60m", &[(1_000, 1000)]);
        plan.stop = Stop::Requests(100);
        let set = |points: &mut Vec<Point>, rate: u64| {
            for round in &mut points[0].rounds {
                round.tally.due = 100;
                round.tally.ok_in_window = 100;
                let span = units::Nanos::from_nanos(100 * 1_000_000_000 / rate);
                round.window.end = round.window.start + span;
            }
        };
        set(&mut points, 950);
        assert_eq!(Verdict::of(&points[0], &plan), Some(Verdict::Holds));
        set(&mut points, 700);
        assert_eq!(Verdict::of(&points[0], &plan), Some(Verdict::Fails));
    }

    #[test]
    fn capacity_lies_under_the_lowest_failure_whatever_held_above_it() {
        let (points, plan) = points(
            "max<60m",
            &[
                (400, 1000),
                (100, 1000),
                (200, 1000),
                (300, 900),
                (800, 900),
            ],
        );
        let capacity = Capacity::of(&points, &plan);
        assert_eq!((capacity.holds, capacity.fails), (Some(2), Some(3)));
        let none = Capacity::of(&points[3..], &plan);
        assert_eq!((none.holds, none.fails), (None, Some(0)));
        let all = Capacity::of(&points[..3], &plan);
        assert_eq!((all.holds, all.fails), (Some(0), None));
    }
}

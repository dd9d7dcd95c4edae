//! The next round: of a list, or the one that a search for the capacity needs.
//!
//! A search remembers nothing but what was measured, so that it can be stopped and gone on with as any campaign.

use crate::planned_rounds::{Generators, PlannedRound, planned_rounds};
use plan::{Axis, Level, Load, Plan, Stop};
use record::{Capacity, Point, Run, Verdict};
use units::Rate;

/// A search does not distinguish rates that are this close, as a share.
const PRECISION: f64 = 0.05;
/// Nor rates that are closer than so many standard deviations of the number of arrivals.
const DEVIATIONS: f64 = 2.0;
/// The most rates of one search beside those of the axis: by halving, some twenty find any rate.
const MOST_RATES: usize = 64;
/// How far below the first rate a search goes where that does not hold.
const LOWEST: f64 = 1.0 / 64.0;

/// The rounds of a campaign, one after the other.
#[derive(Debug)]
pub(crate) struct Schedule<'a> {
    plan: &'a Plan,
    listed: std::vec::IntoIter<PlannedRound>,
}

impl<'a> Schedule<'a> {
    /// What `plan` still asks for, where `run` is measured already.
    pub(crate) fn of(plan: &'a Plan, run: &Run) -> Schedule<'a> {
        let mut listed = match plan.slo {
            None => planned_rounds(plan),
            Some(_) => Vec::new(),
        };
        listed.retain(|planned| !is_measured(run, planned));
        Schedule {
            plan,
            listed: listed.into_iter(),
        }
    }

    /// The next planned, now that `run` is measured.
    pub(crate) fn next(&mut self, run: &Run) -> Option<PlannedRound> {
        match self.plan.slo {
            None => self.listed.next(),
            Some(_) => wanted(self.plan, run),
        }
    }
}

/// Rounds that `plan` still asks for, where `run` is measured already; none are foreseen of a search.
pub fn left(plan: &Plan, run: &Run) -> usize {
    Schedule::of(plan, run).listed.len()
}

/// Whether `run` has this round, whole.
fn is_measured(run: &Run, planned: &PlannedRound) -> bool {
    let point = run.points.iter().find(|point| point.level == planned.level);
    let mut rounds = point.iter().flat_map(|point| match planned.by {
        Generators::One => point.rounds.as_slice(),
        Generators::Two => point
            .split_generators
            .as_ref()
            .map_or(&[][..], |split| &split.rounds),
    });
    rounds.any(|round| round.index == planned.round && !round.partial)
}

/// What a search measures next. A rate that its rounds do not agree on, until they do. Then the rates of the axis in
/// turn, until one fails; then between the highest that held and the lowest that failed, until they are close; then both
/// ends again, until each has as many rounds as planned. A verdict that changes with a further round only moves
/// the ends.
fn wanted(plan: &Plan, run: &Run) -> Option<PlannedRound> {
    let is_open = |point: &&Point| Verdict::of(point, plan) == Some(Verdict::Open);
    if let Some(rate) = run.points.iter().find(is_open).and_then(rate_of) {
        return round_at(plan, run, rate);
    }
    let capacity = Capacity::of(&run.points, plan);
    let own = run.points.iter().filter_map(rate_of);
    if own.filter(|rate| !rates(plan).contains(rate)).count() >= MOST_RATES {
        return again(plan, run, &[capacity.holds?, capacity.fails?]);
    }
    let rate = |place: Option<usize>| place.and_then(|place| rate_of(&run.points[place]));
    match (rate(capacity.holds), rate(capacity.fails)) {
        (low, None) => match next_listed(plan, low) {
            Some(rate) => round_at(plan, run, rate),
            None => again(plan, run, &[capacity.holds?]),
        },
        (None, Some(high)) => {
            let first = next_listed(plan, None)?.as_f64();
            let lower = Rate::of_f64(high.as_f64() / 2.0)?;
            let is_worth = lower.as_f64() >= first * LOWEST && lower < high;
            let rounds = Capacity::rounds_a_vote(&plan.load.with_rate(lower), plan);
            let can_tell = rounds <= Capacity::MOST_ROUNDS_A_VOTE;
            (is_worth && can_tell)
                .then(|| round_at(plan, run, lower))
                .flatten()
        }
        (Some(low), Some(high)) => {
            let between = rounded((low.as_f64() * high.as_f64()).sqrt());
            let is_apart = high.as_f64() > low.as_f64() * (1.0 + precision(plan, low));
            match between.filter(|rate| is_apart && *rate > low && *rate < high) {
                Some(rate) => round_at(plan, run, rate),
                None => again(plan, run, &[capacity.holds?, capacity.fails?]),
            }
        }
    }
}

/// The smallest difference between rates near `rate` that a search distinguishes, as a share: the number of random
/// arrivals in one round varies around the planned mean.
fn precision(plan: &Plan, rate: Rate) -> f64 {
    let load = plan.load.with_rate(rate);
    let arrivals = match plan.stop {
        Stop::Requests(number) => number as f64 / load.exchanges_per_arrival(&plan.protocol) as f64,
        Stop::Duration(span) => rate.as_f64() * span.as_secs_f64(),
    };
    match load {
        Load::Open {
            arrivals: process, ..
        } if process.is_random() => PRECISION.max(DEVIATIONS * (2.0 / arrivals).sqrt()),
        _ => PRECISION,
    }
}

/// The rates of the axis.
fn rates(plan: &Plan) -> &[Rate] {
    let axes = plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    let mut rates = axes.filter_map(|axis| match axis {
        Axis::Rate(rates) => Some(rates.as_slice()),
        _ => None,
    });
    rates.next().unwrap_or_default()
}

/// The first rate of the axis above `low`, or the first of all.
fn next_listed(plan: &Plan, low: Option<Rate>) -> Option<Rate> {
    let mut rates = rates(plan).iter().copied();
    rates.find(|rate| low.is_none_or(|low| *rate > low))
}

/// Three digits are enough for a rate that is known to five per cent.
fn rounded(rate: f64) -> Option<Rate> {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    Rate::of_f64((rate / unit).round() * unit)
}

/// The next round of the first of these points that has fewer than planned.
fn again(plan: &Plan, run: &Run, ends: &[usize]) -> Option<PlannedRound> {
    let mut ends = ends.iter().filter_map(|place| {
        let rate = rate_of(&run.points[*place])?;
        let rounds = run.points[*place].rounds.iter();
        let fewer = rounds.filter(|round| !round.partial).count() < plan.rounds as usize;
        fewer.then(|| round_at(plan, run, rate)).flatten()
    });
    ends.next()
}

/// The next round at `rate`.
fn round_at(plan: &Plan, run: &Run, rate: Rate) -> Option<PlannedRound> {
    let level = Level::of(plan.load.with_rate(rate));
    let known = run.points.iter().position(|point| point.level == level);
    let rounds = known.map_or(&[][..], |place| &run.points[place].rounds);
    let next = rounds.iter().map(|round| round.index + 1).max();
    Some(PlannedRound {
        point: known.unwrap_or(run.points.len()),
        level,
        round: next.unwrap_or(0),
        by: Generators::One,
    })
}

fn rate_of(point: &Point) -> Option<Rate> {
    let rate = Axis::Rate(Vec::new()).value_at(&point.level)?;
    Rate::of_f64(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Arrivals, Sweep};
    use record::example;

    fn plan() -> Plan {
        let rates = [100, 200, 400, 800, 1_600].map(Rate::per_second);
        Plan {
            load: Load::Open {
                rate: rates[0],
                of: plan::Arriving::Exchanges,
                arrivals: Arrivals::Poisson,
                connections: 10,
            },
            sweep: Some(Sweep {
                axes: vec![Axis::Rate(rates.to_vec())],
                ..Sweep::default()
            }),
            slo: Some("max<60m".parse().unwrap()),
            stop: Stop::Duration(units::Nanos::from_secs(1_000)),
            rounds: 3,
            ..example::open_loop().plan
        }
    }

    /// Searches a server that holds what `holds` says of a rate and of the number of a round there; the rates in order.
    fn search(plan: &Plan, holds: impl Fn(f64, u32) -> bool) -> (Vec<f64>, Run) {
        let pattern = example::open_loop();
        let mut run = Run {
            points: Vec::new(),
            plan: plan.clone(),
            ..pattern.clone()
        };
        let mut schedule = Schedule::of(plan, &run);
        let mut seen = Vec::new();
        while let Some(planned) = schedule.next(&run) {
            let rate = Axis::Rate(Vec::new()).value_at(&planned.level).unwrap();
            seen.push(rate);
            if planned.point == run.points.len() {
                run.points.push(Point::new(planned.level));
            }
            let mut round = pattern.points[0].rounds[0].clone();
            round.index = planned.round;
            if !holds(rate, planned.round) {
                round.tally.ok_in_window = round.tally.scheduled / 2;
                round.tally.never_sent = round.tally.scheduled / 2;
            }
            run.points[planned.point].rounds.push(round);
        }
        (seen, run)
    }

    #[test]
    fn a_search_goes_up_then_between_and_repeats_both_ends() {
        let plan = plan();
        let (seen, run) = search(&plan, |rate, _| rate <= 500.0);
        assert_eq!(seen[..4], [100.0, 200.0, 400.0, 800.0]);
        assert_eq!(seen[4], 800.0, "a rate does not fail for one round");
        assert_eq!(seen[5], 566.0, "the geometric mean of 400 and 800");
        let capacity = Capacity::of(&run.points, &plan);
        let ends = [capacity.holds, capacity.fails].map(|place| &run.points[place.unwrap()]);
        let [low, high] = ends.map(|point| rate_of(point).unwrap().as_f64());
        assert!(
            low <= 500.0 && 500.0 < high && high <= low * (1.0 + PRECISION),
            "{low} {high}"
        );
        assert!(ends.iter().all(|point| point.rounds.len() == 3));
        assert!(seen.len() < 25, "{seen:?}");
    }

    #[test]
    fn one_disturbed_round_does_not_cap_the_capacity() {
        let plan = plan();
        let disturbed = std::cell::Cell::new(true);
        let (seen, run) = search(&plan, |rate, _| {
            rate <= 500.0 && !(rate == 200.0 && disturbed.replace(false))
        });
        let of_200 = seen.iter().filter(|rate| **rate == 200.0).count();
        assert_eq!(
            (of_200, seen[11]),
            (10, 400.0),
            "nine must hold for the one: {seen:?}"
        );
        let held = Capacity::of(&run.points, &plan).holds.unwrap();
        assert!(rate_of(&run.points[held]).unwrap().as_f64() > 450.0);
    }

    #[test]
    fn a_long_list_is_tried_to_its_end() {
        let rates = (1..=100)
            .map(|step| Rate::per_second(step * 1_000))
            .collect();
        let plan = Plan {
            sweep: Some(Sweep {
                axes: vec![Axis::Rate(rates)],
                ..Sweep::default()
            }),
            rounds: 1,
            ..plan()
        };
        let (seen, _) = search(&plan, |_, _| true);
        assert_eq!((seen.len(), seen[99]), (100, 100_000.0));
        let (_, run) = search(&plan, |rate, _| rate <= 80_500.0);
        let capacity = Capacity::of(&run.points, &plan);
        let held = rate_of(&run.points[capacity.holds.unwrap()]).unwrap();
        assert_eq!(held.as_f64(), 80_000.0);
    }

    #[test]
    fn rates_are_told_apart_no_finer_than_chance_allows() {
        let told_apart = |number, arrivals| {
            let mut plan = Plan {
                stop: Stop::Requests(number),
                ..plan()
            };
            if let Load::Open {
                arrivals: asked, ..
            } = &mut plan.load
            {
                *asked = arrivals;
            }
            precision(&plan, Rate::per_second(100))
        };
        assert_eq!(told_apart(100_000, Arrivals::Poisson), PRECISION);
        assert!(told_apart(200, Arrivals::Poisson) > 0.19);
        assert_eq!(told_apart(200, Arrivals::Constant), PRECISION);
    }

    #[test]
    fn where_the_first_rate_fails_the_search_goes_down_and_where_nothing_fails_it_ends_at_the_last()
    {
        let plan = plan();
        let (seen, run) = search(&plan, |rate, _| rate <= 30.0);
        assert_eq!(seen[..5], [100.0, 100.0, 50.0, 50.0, 25.0]);
        let held = Capacity::of(&run.points, &plan).holds.unwrap();
        assert!(rate_of(&run.points[held]).unwrap().as_f64() <= 30.0);
        let (seen, _) = search(&plan, |_, _| true);
        assert_eq!(seen, [100.0, 200.0, 400.0, 800.0, 1600.0, 1600.0, 1600.0]);
        let (seen, run) = search(&plan, |_, _| false);
        assert!(
            seen.len() < 20 && Capacity::of(&run.points, &plan).holds.is_none(),
            "{seen:?}"
        );
    }

    #[test]
    fn an_end_that_fails_when_it_is_repeated_moves_the_search_below_it() {
        let plan = plan();
        let (_, run) = search(&plan, |rate, round| {
            rate <= 300.0 || rate <= 500.0 && round == 0
        });
        let capacity = Capacity::of(&run.points, &plan);
        let held = rate_of(&run.points[capacity.holds.unwrap()])
            .unwrap()
            .as_f64();
        assert!(held <= 300.0, "{held}");
    }

    #[test]
    fn a_search_that_was_stopped_goes_on_with_the_same_question() {
        let plan = plan();
        let (_, run) = search(&plan, |rate, _| rate <= 500.0);
        let mut stopped = Run {
            points: run.points[..5].to_vec(),
            ..run.clone()
        };
        for point in &mut stopped.points {
            point.rounds.truncate(2);
        }
        let next = Schedule::of(&plan, &stopped).next(&stopped).unwrap();
        assert_eq!(
            next.level.load,
            plan.load.with_rate(rate_of(&run.points[5]).unwrap())
        );
    }
}

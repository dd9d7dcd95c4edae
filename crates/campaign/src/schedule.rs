//! The next round: of a list, or the one that a search for the capacity needs.
//!
//! A search remembers nothing but what was measured, so that it can be stopped and gone on with as any campaign.

use crate::planned_rounds::{Generators, PlannedRound, planned_rounds};
use plan::{Axis, Level, Plan};
use record::{Capacity, Point, Run, Votes};
use units::{Nanos, Rate};

/// A search goes on until the interval of its answer is no wider than this to each side, as a share.
const PRECISION: f64 = 0.05;
/// What is left of a rate that did not hold in a long window, for the next.
const STEP_DOWN: f64 = 0.95;
/// The most long windows: then the rate is down to a third.
const MOST_SOAKS: usize = 20;
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

/// What a search measures next. A rate whose vote lacks rounds. Then the rates of the axis in turn, until a window fails;
/// where none has held, half the rate. Then rates around the threshold as far as it is known, in turn at the answer and
/// where every other window holds, which together tell where it is and how blurred. Last, one long window at the answer, or
/// lower until one holds.
fn wanted(plan: &Plan, run: &Run) -> Option<PlannedRound> {
    let is_open = |point: &&Point| Votes::is_open(point, plan);
    if let Some(rate) = run.points.iter().find(is_open).and_then(rate_of) {
        return round_at(plan, run, rate);
    }
    let votes = |point: &Point| Votes::of(point, plan).unwrap_or_default();
    let (soaks, short): (Vec<&Point>, Vec<&Point>) =
        run.points.iter().partition(|point| point.level.windows > 1);
    let sum = short.iter().fold(Votes::default(), |sum, point| {
        let votes = votes(point);
        Votes {
            held: sum.held + votes.held,
            failed: sum.failed + votes.failed,
        }
    });
    let tried = short.iter().filter_map(|point| rate_of(point));
    let by_height = |a: &Rate, b: &Rate| a.as_f64().total_cmp(&b.as_f64());
    match (sum.held, sum.failed) {
        (_, 0) => {
            let highest = tried.max_by(by_height);
            let last = short.iter().find(|point| rate_of(point) == highest);
            let is_sure = last.is_some_and(|last| votes(last).held >= plan.rounds.into());
            match next_listed(plan, highest) {
                Some(rate) => round_at(plan, run, rate),
                None => highest
                    .filter(|_| !is_sure)
                    .and_then(|rate| round_at(plan, run, rate)),
            }
        }
        (0, _) => lower(plan, tried.min_by(by_height)?.as_f64() / 2.0)
            .and_then(|rate| round_at(plan, run, rate)),
        _ => {
            let known = Capacity::threshold(&run.points, plan)?;
            let (fewest, most) = Capacity::windows(plan);
            let is_known = known.high <= known.low * (1.0 + PRECISION) / (1.0 - PRECISION);
            let is_listed = |rate: &Rate| rates(plan).contains(rate);
            let listed = short
                .iter()
                .filter_map(|point| rate_of(point))
                .filter(is_listed);
            let between = sum.sum().saturating_sub(listed.count() as u64);
            if between < most && !(between >= fewest && is_known) {
                let height = match sum.sum().is_multiple_of(2) {
                    true => known.centre,
                    false => known.even,
                };
                return round_at(plan, run, near(plan, &short, height)?);
            }
            if plan.quick
                || soaks.len() >= MOST_SOAKS
                || soaks.iter().any(|soak| votes(soak).held > 0)
            {
                return None;
            }
            let failed = soaks.iter().filter(|soak| votes(soak).failed > 0);
            let lowest = failed
                .map(|soak| Capacity::height(soak))
                .min_by(f64::total_cmp);
            let height = lowest.map_or(known.centre, |lowest| lowest * STEP_DOWN);
            let level = Level {
                windows: Capacity::LONG,
                ..level_at(plan, lower(plan, height)?)
            };
            Some(round_of(run, level))
        }
    }
}

/// The rate to be measured for `height`: one that was, if there is one close by; never more than the highest of the axis.
fn near(plan: &Plan, measured: &[&Point], height: f64) -> Option<Rate> {
    let highest = rates(plan)
        .iter()
        .map(|rate| rate.as_f64())
        .fold(0.0, f64::max);
    let height = height.min(highest);
    let distance = |rate: &Rate| (rate.as_f64() / height).ln().abs();
    let known = measured.iter().filter_map(|point| rate_of(point));
    let known = known.min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let known = known.filter(|rate| distance(rate) < Capacity::SAME_RATE);
    known.or_else(|| lower(plan, height))
}

/// `height` as a rate, in three digits; none where it is too low for what was asked: one that needs too many rounds, or far
/// under the first of the axis.
fn lower(plan: &Plan, height: f64) -> Option<Rate> {
    let rate = rounded(height)?;
    let first = next_listed(plan, None)?.as_f64();
    let rounds = Capacity::rounds_a_vote(&plan.load.with_rate(rate), plan);
    let can_tell = rounds <= Capacity::MOST_ROUNDS_A_VOTE;
    (rate.as_f64() >= first * LOWEST && can_tell).then_some(rate)
}

/// The warm-up of the next window: three times the 99th percentile seen in windows that held, so that a queue has filled as
/// far as it will; at least the plan's.
pub(crate) fn warmup(plan: &Plan, run: &Run) -> Nanos {
    let held = run.points.iter().filter(|point| {
        Votes::of(point, plan).is_some_and(|votes| votes.held > 0 && votes.failed == 0)
    });
    let tallies = held
        .flat_map(|point| &point.rounds)
        .map(|round| &round.tally);
    let seen = tallies.filter_map(|tally| tally.latency().quantile(0.99));
    let slowest = seen.max().map_or(Nanos::ZERO, Nanos::from_nanos);
    plan.warmup.max(slowest * 3)
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

/// The next round at `rate`.
fn round_at(plan: &Plan, run: &Run, rate: Rate) -> Option<PlannedRound> {
    Some(round_of(run, level_at(plan, rate)))
}

fn level_at(plan: &Plan, rate: Rate) -> Level {
    Level::of(plan.load.with_rate(rate))
}

/// The next round of `level`.
fn round_of(run: &Run, level: Level) -> PlannedRound {
    let known = run.points.iter().position(|point| point.level == level);
    let rounds = known.map_or(&[][..], |place| &run.points[place].rounds);
    let next = rounds.iter().map(|round| round.index + 1).max();
    PlannedRound {
        point: known.unwrap_or(run.points.len()),
        level,
        round: next.unwrap_or(0),
        by: Generators::One,
    }
}

fn rate_of(point: &Point) -> Option<Rate> {
    let rate = Axis::Rate(Vec::new()).value_at(&point.level)?;
    Rate::of_f64(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Arrivals, Load, Stop, Sweep};
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
            stop: Stop::Duration(Nanos::from_secs(1_000)),
            rounds: 3,
            ..example::open_loop().plan
        }
    }

    /// Searches a server that holds what `holds` says of a rate and of the number of a round there; the rates in order.
    fn search(plan: &Plan, holds: impl Fn(f64, u32) -> bool) -> (Vec<f64>, Run) {
        let rounds = std::cell::RefCell::new(std::collections::BTreeMap::new());
        search_by_level(plan, |level, rate| {
            let mut rounds = rounds.borrow_mut();
            let round: &mut u32 = rounds.entry((rate as u64, level.windows)).or_default();
            *round += 1;
            holds(rate, *round - 1)
        })
    }

    fn search_by_level(plan: &Plan, holds: impl Fn(&Level, f64) -> bool) -> (Vec<f64>, Run) {
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
            if !holds(&planned.level, rate) {
                round.tally.ok_in_window = round.tally.scheduled / 2;
                round.tally.never_sent = round.tally.scheduled / 2;
            }
            run.points[planned.point].rounds.push(round);
        }
        (seen, run)
    }

    fn answer(run: &Run) -> f64 {
        let capacity = Capacity::of(&run.points, &run.plan);
        Capacity::height(&run.points[capacity.holds.unwrap()])
    }

    #[test]
    fn a_search_goes_up_then_to_the_threshold_and_ends_with_a_long_window_at_its_answer() {
        let plan = plan();
        let (seen, run) = search(&plan, |rate, _| rate <= 500.0);
        assert_eq!(seen[..4], [100.0, 200.0, 400.0, 800.0]);
        assert!(
            seen[4..].iter().all(|rate| (380.0..=800.0).contains(rate)),
            "{seen:?}"
        );
        let capacity = Capacity::of(&run.points, &plan);
        assert!(capacity.is_soaked);
        let held = &run.points[capacity.holds.unwrap()];
        assert_eq!((held.level.windows, held.rounds.len()), (Capacity::LONG, 1));
        assert!((460.0..=500.0).contains(&answer(&run)), "{}", answer(&run));
        let (low, high) = (capacity.low.unwrap(), capacity.high.unwrap());
        assert!(
            high <= low * 1.11 && seen.len() <= 30,
            "{low} {high} {seen:?}"
        );
    }

    #[test]
    fn an_answer_that_does_not_hold_for_long_is_lowered_until_one_does() {
        let plan = plan();
        let sustained = |plan: &Plan| {
            let (_, run) = search_by_level(plan, |level, rate| {
                rate <= if level.windows > 1 { 430.0 } else { 500.0 }
            });
            run
        };
        let run = sustained(&plan);
        let soaks = run.points.iter().filter(|point| point.level.windows > 1);
        assert!(soaks.count() > 1);
        assert!((400.0..=430.0).contains(&answer(&run)), "{}", answer(&run));
        let quick = sustained(&Plan {
            quick: true,
            ..plan
        });
        assert!(quick.points.iter().all(|point| point.level.windows == 1));
        assert!(
            (450.0..=500.0).contains(&answer(&quick)),
            "{}",
            answer(&quick)
        );
    }

    #[test]
    fn one_disturbed_window_does_not_cap_the_capacity() {
        let plan = plan();
        for disturbed in [100.0, 200.0, 400.0] {
            let is_first = std::cell::Cell::new(true);
            let (seen, run) = search(&plan, |rate, _| {
                rate <= 500.0 && !(rate == disturbed && is_first.replace(false))
            });
            assert!(answer(&run) > 450.0, "{disturbed}: {seen:?}");
        }
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
        assert!(
            (78_000.0..=80_500.0).contains(&answer(&run)),
            "{}",
            answer(&run)
        );
    }

    #[test]
    fn where_the_first_rate_fails_the_search_goes_down_and_where_nothing_fails_it_ends_at_the_last()
    {
        let plan = plan();
        let (seen, run) = search(&plan, |rate, _| rate <= 30.0);
        assert_eq!(seen[..3], [100.0, 50.0, 25.0]);
        assert!((26.0..=30.0).contains(&answer(&run)), "{}", answer(&run));
        let (seen, _) = search(&plan, |_, _| true);
        assert_eq!(seen, [100.0, 200.0, 400.0, 800.0, 1600.0, 1600.0, 1600.0]);
        let (seen, run) = search(&plan, |_, _| false);
        assert!(
            seen.len() < 20 && Capacity::of(&run.points, &plan).holds.is_none(),
            "{seen:?}"
        );
    }

    #[test]
    fn a_blurred_threshold_takes_all_windows_and_the_warm_up_follows_the_latency_seen() {
        let plan = plan();
        let (seen, run) = search(&plan, |rate, round| {
            let chance = (rate as u32)
                .wrapping_mul(2_654_435_761)
                .rotate_left(round + 7)
                % 100;
            let even = 1.0 / (1.0 + ((rate / 500.0).ln() / 0.15).exp());
            f64::from(chance) < even * 100.0
        });
        assert!(
            seen.len() as u64 >= Capacity::windows(&plan).1,
            "{}",
            seen.len()
        );
        let p99 = run.points[0].rounds[0]
            .tally
            .latency()
            .quantile(0.99)
            .unwrap();
        assert_eq!(
            warmup(&plan, &run),
            plan.warmup.max(Nanos::from_nanos(p99 * 3))
        );
    }
}

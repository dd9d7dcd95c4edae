//! The sustained capacity: the highest rate at which the conditions hold in 90 % of windows.

use crate::{Censored, Point, Round, Tally};
use plan::{Axis, Conditions, Load, Plan, Requirement, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Threshold, Trials};
use units::Nanos;

/// Under this share of what was scheduled a rate was not sustained, if response time grew.
const SUSTAINED_LEAST: f64 = 0.99;
/// At least this share of the growth must be seen that a backlog of what is missing makes. Of a server that is slow and not
/// behind, endings are missing at the end of the window too.
const GROWTH_LEAST: f64 = 0.5;
/// So many standard deviations are chance.
const DEVIATIONS: f64 = 3.0;

/// How the windows of a point voted on its rate: each round has one vote, or where a round has too few exchanges several
/// together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Votes {
    /// Windows in which every condition held.
    pub held: u64,
    /// Windows in which one did not, or the rate was not sustained.
    pub failed: u64,
}

/// Why conditions did not hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortfall {
    /// The rate was not sustained.
    Unsustained {
        /// Share of the scheduled requests that ended ok inside the windows.
        done: f64,
        /// Share that was needed.
        needed: f64,
    },
    /// A percentile of latency was not under its bound; none where it is not known, or only a bound of it.
    Latency(Requirement, Option<Nanos>),
    /// The share of errors was not under its bound.
    Errors(Requirement, f64),
}

impl Shortfall {
    /// Returns why the conditions of `plan` do not hold in all rounds of `point` together; none where they hold, and
    /// where nothing was measured.
    pub fn of(point: &Point, plan: &Plan) -> Option<Shortfall> {
        let whole: Vec<&Round> = point.rounds.iter().filter(has_vote).collect();
        let conditions = plan.slo.as_ref().filter(|_| !whole.is_empty())?;
        shortfall(conditions, &point.level.load, &whole, plan)
    }
}

/// What a search for the highest rate has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The rate at which the conditions hold in 90 % of windows, as far as all votes tell; none before a window held and
    /// another failed. Requests a second, or connections where those have the rate.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    #[serde(default)]
    pub high: Option<f64>,
    /// The place of the point that is the answer: the highest rate whose long window held; without long windows, or before
    /// them, the highest rate up to the estimate of whose windows most held. None where there is none.
    pub holds: Option<usize>,
    /// The place of the lowest rate above it of whose windows most failed; none where there is none.
    pub fails: Option<usize>,
    /// Whether the answer held in a long window: only then it is a capacity.
    #[serde(default)]
    pub is_soaked: bool,
}

impl Votes {
    /// Returns the votes on the rate of `point` of `plan`; none of a plan that searches nothing.
    pub fn of(point: &Point, plan: &Plan) -> Option<Votes> {
        let conditions = plan.slo.as_ref()?;
        let load = &point.level.load;
        let whole: Vec<&Round> = point.rounds.iter().filter(has_vote).collect();
        let votes = whole.chunks_exact(Self::rounds_each(point, plan));
        let number = votes.len();
        let held = votes
            .filter(|rounds| shortfall(conditions, load, rounds, plan).is_none())
            .count();
        Some(Votes {
            held: held as u64,
            failed: (number - held) as u64,
        })
    }

    /// Whether a vote of `point` lacks rounds.
    pub fn is_open(point: &Point, plan: &Plan) -> bool {
        let whole = point.rounds.iter().filter(has_vote).count();
        !whole.is_multiple_of(Self::rounds_each(point, plan))
    }

    /// How many there are.
    pub fn sum(&self) -> u64 {
        self.held + self.failed
    }

    fn rounds_each(point: &Point, plan: &Plan) -> usize {
        match point.level.windows {
            1 => {
                let rounds = Capacity::rounds_a_vote(&point.level.load, plan);
                usize::try_from(rounds).unwrap_or(usize::MAX)
            }
            _ => 1,
        }
    }
}

fn has_vote(round: &&Round) -> bool {
    !round.partial && !round.was_suspended()
}

/// Why the conditions did not hold in `rounds`, which are one vote; none where they held.
fn shortfall(
    conditions: &Conditions,
    load: &Load,
    rounds: &[&Round],
    plan: &Plan,
) -> Option<Shortfall> {
    let mut tally = Tally::default();
    rounds.iter().for_each(|round| tally.merge(&round.tally));
    let spans = rounds.iter().map(|round| round.window.span().as_secs_f64());
    let span: f64 = spans.sum();
    let (offered, chance) = offered(load, &tally, span, plan);
    // Who allows more errors than the rule does means them, and not what came too late.
    let shares = conditions.0.iter().filter_map(Requirement::errors_below);
    let allowed = shares.map(|below| below * tally.requests() as f64);
    let forgiven = allowed.fold(0.0, f64::max).min(tally.errors() as f64);
    let done = (tally.ok_in_window as f64 + forgiven) / span;
    let is_behind = done < (SUSTAINED_LEAST - chance) * offered;
    if (is_behind && grows(&tally, load, plan, offered / done - 1.0)) || tally.ok == 0 {
        return Some(Shortfall::Unsustained {
            done: done / offered,
            needed: SUSTAINED_LEAST,
        });
    }
    conditions.0.iter().find_map(|condition| {
        if let Some((quantile, below)) = condition.latency_below() {
            let times = tally.latency();
            let known = match Censored::of_latency(&tally) {
                None => times.quantile(quantile),
                Some(censored) => censored.upper(times, quantile),
            };
            let known = known.map(Nanos::from_nanos);
            let is_under = known.is_some_and(|nanos| nanos < below);
            return (!is_under).then(|| Shortfall::Latency(condition.clone(), known));
        }
        let share = tally.errors() as f64 / tally.requests() as f64;
        (share >= condition.errors_below()?).then(|| Shortfall::Errors(condition.clone(), share))
    })
}

/// Whether response time grew as the backlog makes it grow of which `missing` is left a second, as a share of what is done;
/// or requests were given up that no connection was free for.
fn grows(tally: &Tally, load: &Load, plan: &Plan, missing: f64) -> bool {
    let slope = tally.open.as_ref().and_then(|open| open.growth.slope());
    let each = load.exchanges_per_arrival(&plan.protocol) as f64;
    let left = tally.never_sent as f64 > (1.0 - SUSTAINED_LEAST) * tally.scheduled as f64;
    left || slope.is_some_and(|slope| slope * each >= GROWTH_LEAST * missing)
}

/// Exchanges a second that were asked for, and by which share of them chance may have had fewer: of a number that arrives
/// at random only the mean of the rate is known.
fn offered(load: &Load, tally: &Tally, span: f64, plan: &Plan) -> (f64, f64) {
    let offered_load = tally.offered_load(load, &plan.protocol) as f64;
    match (load, plan.stop) {
        (Load::Open { rate, arrivals, .. }, Stop::Requests(_)) => {
            let each = load.exchanges_per_arrival(&plan.protocol) as f64;
            let chance =
                DEVIATIONS * (arrivals.dispersion() / (offered_load / each).max(1.0)).sqrt();
            (rate.as_f64() * each, chance)
        }
        _ => (offered_load / span, 0.0),
    }
}

/// Exchanges of a rate without which these conditions say nothing of it: those that carry each quantile and, for a share
/// of errors, three over the share (of so many none may fail by chance in one case of twenty: the "rule of three").
fn needed(conditions: &Conditions) -> u64 {
    let carried = |condition: &Requirement| stats::carried_from(condition.latency_below()?.0);
    let none_by_chance =
        |condition: &Requirement| Some((3.0 / condition.errors_below()?).ceil() as u64);
    let each = conditions.0.iter();
    let each = each.filter_map(|one| carried(one).or_else(|| none_by_chance(one)));
    each.max().unwrap_or(1)
}

impl Capacity {
    /// How many times as long the last window of a search is, in which its answer has to hold.
    pub const LONG: u32 = 10;

    /// The fewest and the most short windows of a search of `plan`: 4 for each of its rounds, so that no two disturbed ones
    /// decide, and 12, which is what it takes where chance blurs the threshold (M/M/1).
    pub fn windows(plan: &Plan) -> (u64, u64) {
        let rounds = u64::from(plan.rounds);
        (4 * rounds, 12 * rounds)
    }

    /// Rates that differ by less than this share are one.
    pub const SAME_RATE: f64 = 0.025;

    /// The most rounds of one vote; a rate that would need more is not asked for.
    pub const MOST_ROUNDS_A_VOTE: u64 = 10;

    /// Exchanges of a rate without which the conditions of `plan` say nothing of it; 1 where there are none.
    pub fn exchanges_a_vote(plan: &Plan) -> u64 {
        plan.slo.as_ref().map_or(1, needed)
    }

    /// Rounds that have so many exchanges together, at `load`.
    pub fn rounds_a_vote(load: &Load, plan: &Plan) -> u64 {
        let expected = match (plan.stop, load.exchange_rate(&plan.protocol)) {
            (Stop::Requests(number), _) => number as f64,
            (Stop::Duration(span), Some(rate)) => rate * span.as_secs_f64(),
            (Stop::Duration(_), None) => return 1, // a closed loop is never searched
        };
        // A thousandth short is as good: what arrives at random is never just as many.
        let rounds = Self::exchanges_a_vote(plan) as f64 / expected;
        ((rounds - 1e-3).ceil() as u64).max(1)
    }

    /// What `points` of `plan` show.
    pub fn of(points: &[Point], plan: &Plan) -> Capacity {
        let all: Vec<(usize, &Point, Votes)> = points
            .iter()
            .enumerate()
            .filter_map(|(place, point)| Some((place, point, Votes::of(point, plan)?)))
            .filter(|(_, _, votes)| votes.sum() > 0)
            .collect();
        let threshold = Capacity::threshold(points, plan);
        let estimate = threshold.map(|known| known.centre);
        let most = estimate.map_or(f64::INFINITY, |estimate| estimate * (1.0 + Self::SAME_RATE));
        let is_soak = |point: &Point| point.level.windows > 1;
        let is_soaked = all
            .iter()
            .any(|(_, point, votes)| is_soak(point) && votes.held > 0);
        let has_soaks = all.iter().any(|(_, point, _)| is_soak(point));
        let of_rate = |(_, point, _): &&(usize, &Point, Votes)| Self::height(point);
        let by_height = |a: &&(usize, &Point, Votes), b: &&(usize, &Point, Votes)| {
            of_rate(a).total_cmp(&of_rate(b))
        };
        let holds = all.iter().filter(|(_, point, votes)| match is_soak(point) {
            true => votes.held > 0,
            false => !has_soaks && votes.held > votes.failed && Self::height(point) <= most,
        });
        let holds = holds.max_by(by_height);
        let fails = all.iter().filter(|each| {
            let (_, _, votes) = each;
            votes.failed > votes.held && holds.is_none_or(|held| of_rate(each) > of_rate(&held))
        });
        Capacity {
            estimate,
            low: threshold.map(|known| known.low),
            high: threshold.map(|known| known.high),
            holds: holds.map(|(place, ..)| *place),
            fails: fails.min_by(by_height).map(|(place, ..)| *place),
            is_soaked,
        }
    }

    /// Returns what the short windows at all rates tell of the rate at which 90 % of them hold.
    pub fn threshold(points: &[Point], plan: &Plan) -> Option<Threshold> {
        let short = points.iter().filter(|point| point.level.windows == 1);
        let trials: Vec<Trials> = short
            .filter_map(|point| {
                let votes = Votes::of(point, plan)?;
                Some(Trials {
                    height: Self::height(point),
                    held: votes.held,
                    failed: votes.failed,
                })
            })
            .filter(|trials| trials.held + trials.failed > 0)
            .collect();
        Threshold::of(&trials)
    }

    /// The rate that is searched, at a point: arrivals a second.
    pub fn height(point: &Point) -> f64 {
        let rate = Axis::Rate(Vec::new()).value_at(&point.level);
        rate.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::{Blame, Fault, Kind, Step, example};
    use units::{Instant, Rate};

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
            point
                .rounds
                .iter_mut()
                .for_each(|round| fall_behind(round, *share));
            point
        };
        (rates.iter().map(point).collect(), plan)
    }

    /// So many thousandths of what was scheduled ended well inside the window, and response time grew with the rest.
    fn fall_behind(round: &mut Round, share: u64) {
        let tally = &mut round.tally;
        tally.ok_in_window = tally.scheduled * share / 1000;
        let growth = &mut tally.open.as_mut().unwrap().growth;
        *growth = Growth::default();
        for milli in 0..1_000 {
            let late = Nanos::from_micros(milli * (1_000 - share) * 1_000 / share.max(1));
            growth.add(Instant::ZERO + Nanos::from_millis(milli), late);
        }
    }

    #[test]
    fn rounds_of_too_few_exchanges_vote_together() {
        let (points, mut plan) = points("p99<10s", &[(1_000, 1000)]);
        let rounds = points[0].rounds.len() as u64;
        assert!(rounds > 1);
        plan.stop = Stop::Requests(1_000 / rounds + 1);
        let times = crate::Summary::tally(&points[0].rounds).unwrap();
        let p99 = times.latency().quantile(0.99).unwrap();
        for (bound, held) in [(p99, 0), (p99 + 1, 1)] {
            plan.slo = Some(format!("p99<{bound}ns").parse().unwrap());
            assert_eq!(votes(&points[0], &plan), (held, 1 - held), "{bound}");
            assert!(!Votes::is_open(&points[0], &plan));
        }
        plan.stop = Stop::Requests(1_000 / (rounds + 1));
        assert_eq!(votes(&points[0], &plan), (0, 0));
        assert!(Votes::is_open(&points[0], &plan));
    }

    fn votes(point: &Point, plan: &Plan) -> (u64, u64) {
        let votes = Votes::of(point, plan).unwrap();
        (votes.held, votes.failed)
    }

    /// Whether every window at the point held; none where they do not agree.
    fn holds(point: &Point, plan: &Plan) -> Option<bool> {
        match votes(point, plan) {
            (1.., 0) => Some(true),
            (0, 1..) => Some(false),
            _ => None,
        }
    }

    #[test]
    fn who_allows_errors_is_not_told_that_the_rate_was_not_sustained() {
        let (mut points, plan) = points("errors<5%", &[(1_000, 960)]);
        for round in &mut points[0].rounds {
            let failed = round.tally.scheduled - round.tally.scheduled * 960 / 1000;
            round.tally.ok -= failed;
            let reset = Fault {
                kind: Kind::Reset,
                step: Step::Head,
                blame: Blame::Network,
            };
            round.tally.faults.add(reset, failed);
        }
        let held = holds(&points[0], &plan);
        let strict = Plan {
            slo: Some("errors<0.5%".parse().unwrap()),
            ..plan.clone()
        };
        assert_eq!(held, Some(true));
        assert_eq!(holds(&points[0], &strict), Some(false));
        for round in &mut points[0].rounds {
            round.tally.ok = round.tally.scheduled; // the rest came, but too late
            round.tally.faults = Default::default();
        }
        assert_eq!(holds(&points[0], &plan), Some(false));
    }

    #[test]
    fn a_server_that_is_slow_and_not_behind_holds() {
        // Of 300 ms in a window of two seconds: 150 of a thousand end after it.
        let (mut points, plan) = points("p99<2s", &[(1_000, 1000)]);
        for round in &mut points[0].rounds {
            round.tally.ok_in_window = round.tally.scheduled * 850 / 1000;
        }
        assert_eq!(holds(&points[0], &plan), Some(true));
        assert_eq!(Shortfall::of(&points[0], &plan), None);
    }

    #[test]
    fn a_rate_that_was_not_sustained_fails_whatever_its_latency() {
        let (points, plan) = points("max<60m", &[(1_000, 991), (1_000, 980)]);
        assert_eq!(holds(&points[0], &plan), Some(true));
        assert_eq!(holds(&points[1], &plan), Some(false));
    }

    #[test]
    fn of_a_number_that_arrives_at_random_chance_is_forgiven() {
        let (mut points, mut plan) = points("max<60m", &[(1_000, 1000)]);
        plan.stop = Stop::Requests(100);
        let set = |points: &mut Vec<Point>, rate: u64| {
            for round in &mut points[0].rounds {
                round.tally.scheduled = 100;
                round.tally.ok_in_window = 100;
                let span = Nanos::from_nanos(100 * 1_000_000_000 / rate);
                round.window.end = round.window.start + span;
            }
        };
        set(&mut points, 950);
        assert_eq!(holds(&points[0], &plan), Some(true));
        let rounds = points[0].rounds.iter_mut();
        rounds.for_each(|round| fall_behind(round, 600));
        set(&mut points, 600);
        assert_eq!(holds(&points[0], &plan), Some(false));
    }

    #[test]
    fn without_a_long_window_the_answer_is_the_highest_rate_up_to_the_estimate_of_whose_windows_most_held()
     {
        let rates = [
            (400, 1000),
            (100, 1000),
            (200, 1000),
            (500, 900),
            (800, 900),
        ];
        let (points, plan) = points("max<60m", &rates);
        let capacity = Capacity::of(&points, &plan);
        assert_eq!((capacity.holds, capacity.fails), (Some(0), Some(3)));
        let (low, high) = (capacity.low.unwrap(), capacity.high.unwrap());
        let estimate = capacity.estimate.unwrap();
        assert!(
            200.0 < low && low < estimate && estimate < high && high < 510.0,
            "{capacity:?}"
        );
        assert!(!capacity.is_soaked);
        let none = Capacity::of(&points[3..], &plan);
        assert_eq!(
            (none.holds, none.fails, none.estimate),
            (None, Some(0), None)
        );
        let all = Capacity::of(&points[..3], &plan);
        assert_eq!((all.holds, all.fails, all.estimate), (Some(0), None, None));
    }

    #[test]
    fn with_long_windows_the_answer_is_the_highest_rate_at_which_one_held() {
        let rates = [
            (100, 1000),
            (400, 1000),
            (500, 900),
            (440, 900),
            (420, 1000),
        ];
        let (mut points, plan) = points("max<60m", &rates);
        points[3..]
            .iter_mut()
            .for_each(|point| point.level.windows = Capacity::LONG);
        let failed = Capacity::of(&points[..4], &plan);
        assert_eq!(
            (failed.holds, failed.fails, failed.is_soaked),
            (None, Some(3), false)
        );
        let held = Capacity::of(&points, &plan);
        assert_eq!(
            (held.holds, held.fails, held.is_soaked),
            (Some(4), Some(3), true)
        );
        assert_eq!(
            held.estimate, failed.estimate,
            "long windows have no vote on it"
        );
    }
}

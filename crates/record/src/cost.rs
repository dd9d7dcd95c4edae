//! What the server cost at a point: its footprints of all rounds, as figures.
//!
//! Every name here is part of the record's contract. A request is one that ended well inside its window, as for
//! requests/s: CPU time is counted over windows, and what failed is wasted work.

use crate::{Footprint, Memory, Point, Round, Run, Sampled};
use plan::{Nesting, Order};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Line;
use units::Nanos;

/// What the server cost at one point, over the rounds in which it was observed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Its CPU time in its own code, in seconds; roughly right, as the kernel samples it.
    pub cpu_user_s: Option<f64>,
    /// Its CPU time in the kernel, likewise.
    pub cpu_kernel_s: Option<f64>,
    /// Its CPU time, in seconds.
    pub cpu_s: f64,
    /// CPU time by the requests that ended well inside the same windows, in microseconds, over the rounds whose windows
    /// its clocks were read for; null where there is none, or no request.
    pub cpu_us_per_request: Option<f64>,
    /// Its memory, as PSS.
    pub pss_bytes: PssBytes,
    /// Whether some CPU time may be missing.
    pub lower_bound: bool,
}

/// Memory over the rounds of a point, in bytes; null where it may not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PssBytes {
    /// Before the campaign's load.
    pub rest: Option<u64>,
    /// Before a round: the median over rounds (the lower of two in the middle).
    pub before: Option<u64>,
    /// After its drain, while connections were still open, likewise.
    pub after: Option<u64>,
    /// The largest of all that were read.
    pub peak: Option<u64>,
}

/// A figure of which each round has its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Over all rounds together, a partial one too.
    pub mean: f64,
    /// The least of the complete rounds.
    pub min: Option<f64>,
    /// The median of the complete rounds.
    pub median: Option<f64>,
    /// The most of the complete rounds.
    pub max: Option<f64>,
    /// The geometric mean of the complete rounds: what `low` and `high` are around.
    pub geometric_mean: Option<f64>,
    /// Lower end of the 95 % interval; null under three rounds, or with a round of zero.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Complete rounds that the interval rests on.
    pub rounds: u32,
}

/// What a request costs in CPU time, and the same the other way round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerRequest {
    /// The server's CPU time by request, in microseconds.
    pub cpu_us: Spread,
    /// Requests by second of its CPU time.
    pub requests_per_cpu_s: Spread,
    /// Whether some CPU time may be missing: then the first is a lower bound, the second an upper one.
    pub lower_bound: bool,
}

impl Cost {
    /// What `rounds` cost; none where the server was observed in none of them.
    pub fn of(rounds: &[Round]) -> Option<Cost> {
        let observed: Vec<(&Round, &Footprint)> = observed(rounds).collect();
        if observed.is_empty() {
            return None;
        }
        let prints = || observed.iter().map(|(_, print)| *print);
        let cpu: Nanos = prints().map(|print| print.cpu).sum();
        // Together: of a round that is short there are too few samples, of all of them enough.
        let sampled: Option<Vec<Sampled>> = prints().map(|print| print.sampled).collect();
        let sampled = sampled.map(|each| each.into_iter().fold(Sampled::default(), Sampled::plus));
        let (user, kernel) = sampled.and_then(|all| all.divide(cpu)).unzip();
        let is_priced = |(round, _): &&(&Round, &Footprint)| round.priced().is_some();
        let priced = || observed.iter().filter(is_priced);
        let paid: Nanos = priced().map(|(_, print)| print.cpu).sum();
        let requests: u64 = priced().map(|(round, _)| round.tally.ok_in_window).sum();
        let is_missed = priced().count() < observed.len();
        Some(Cost {
            cpu_user_s: user.map(Nanos::as_secs_f64),
            cpu_kernel_s: kernel.map(Nanos::as_secs_f64),
            cpu_s: cpu.as_secs_f64(),
            cpu_us_per_request: (requests > 0).then(|| paid.as_micros_f64() / requests as f64),
            pss_bytes: PssBytes::of(prints().filter_map(|print| print.memory)),
            lower_bound: is_missed || prints().any(|print| print.lower_bound),
        })
    }
}

/// The rounds in which the server was observed, with their footprints.
fn observed(rounds: &[Round]) -> impl Iterator<Item = (&Round, &Footprint)> {
    rounds
        .iter()
        .flat_map(|round| round.footprint.iter().map(move |print| (round, print)))
}

impl PssBytes {
    fn of(memories: impl Iterator<Item = Memory>) -> PssBytes {
        let memories: Vec<Memory> = memories.collect();
        let known = |part: fn(&Memory) -> Option<u64>| -> Vec<u64> {
            let mut known: Vec<u64> = memories.iter().filter_map(part).collect();
            known.sort_unstable();
            known
        };
        let median = |part| {
            let known = known(part);
            known.get(known.len().saturating_sub(1) / 2).copied()
        };
        PssBytes {
            rest: median(|memory| memory.rest),
            before: median(|memory| memory.before),
            after: median(|memory| memory.after),
            peak: known(Memory::peak).last().copied(),
        }
    }
}

impl PerRequest {
    /// What a request cost in `rounds`; none where the server was not observed, where nothing ended well, and where the
    /// server took no time that could be measured.
    pub fn of(rounds: &[Round]) -> Option<PerRequest> {
        let cost = Cost::of(rounds)?;
        let mean = cost.cpu_us_per_request.filter(|mean| *mean > 0.0)?;
        let each = |(round, print): (&Round, &Footprint)| {
            print.cpu.as_micros_f64() / round.tally.ok_in_window as f64
        };
        let is_counted =
            |(round, _): &(&Round, &Footprint)| !round.partial && round.priced().is_some();
        let complete = observed(rounds).filter(is_counted);
        let costs: Vec<f64> = complete.map(each).collect();
        let inverse: Vec<f64> = costs.iter().map(|cost| 1e6 / cost).collect();
        let mut priced = rounds.iter().filter_map(Round::priced);
        Some(PerRequest {
            cpu_us: Spread::of(mean, &costs),
            requests_per_cpu_s: Spread::of(1e6 / mean, &inverse),
            lower_bound: priced.any(|print| print.lower_bound),
        })
    }
}

impl Spread {
    /// The spread of the complete rounds' `values`, whose mean over all rounds is `mean`. A value that is no number (of
    /// a round in which nothing ended well) leaves no spread.
    pub fn of(mean: f64, values: &[f64]) -> Spread {
        let interval = stats::log_t_interval(values);
        let (min, max) = stats::min_max(values).unzip();
        Spread {
            mean,
            min,
            median: stats::median(values),
            max,
            geometric_mean: interval.map(|interval| interval.centre),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            rounds: values.len() as u32,
        }
    }
}

/// The fewest load levels through which a line is drawn.
const LEVELS_LEAST: usize = 4;

/// Returns what one more connection takes of the server's memory, in bytes: the straight line through the means of the load
/// levels, of what the server's processes held after a round, over the connections that were open then. It is the server's
/// own memory alone: what the kernel holds for a connection is in no process.
///
/// None under four levels, and where memory that only grew with time would look like that of connections: in a search, and
/// where one level was measured after the other in the order of its load.
pub fn memory_per_connection(run: &Run) -> Option<Line> {
    let sweep = run.plan.sweep.as_ref()?;
    let is_in_order = sweep.rounds != Nesting::Interleaved && sweep.order != Order::Shuffled;
    if run.plan.is_search() || is_in_order {
        return None;
    }
    let level = |point: &Point| {
        let rounds = point.rounds.iter();
        let memories = rounds.filter_map(|round| round.footprint.as_ref()?.memory);
        let known = memories.filter_map(|each| Some((each.connections as f64, each.after? as f64)));
        let (connections, bytes): (Vec<f64>, Vec<f64>) = known.unzip();
        Some((stats::mean(&connections)?, stats::mean(&bytes)?))
    };
    let levels: Vec<(f64, f64)> = run.points.iter().filter_map(level).collect();
    stats::fit_line(&levels).filter(|_| levels.len() >= LEVELS_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tally;
    use plan::{Level, Load};

    fn round(cpu_ms: u64, ok: u64, memory: Option<Memory>) -> Round {
        let footprint = Footprint {
            cpu: Nanos::from_millis(cpu_ms),
            sampled: Some(Sampled {
                user: Nanos::from_millis(cpu_ms / 4),
                kernel: Nanos::from_millis(cpu_ms - cpu_ms / 4),
            }),
            memory,
            ..Footprint::default()
        };
        Round {
            tally: Tally {
                ok_in_window: ok,
                ..Tally::default()
            },
            footprint: Some(footprint),
            ..Round::default()
        }
    }

    fn memory(rest: u64, before: u64, after: u64) -> Option<Memory> {
        let memory = Memory {
            rest: Some(rest),
            before: Some(before),
            after: Some(after),
            connections: after,
        };
        Some(memory)
    }

    #[test]
    fn the_cost_of_two_rounds_is_what_is_computed_by_hand() {
        let rounds = [
            round(400, 10_000, memory(1, 2, 9)),
            round(600, 10_000, memory(1, 3, 8)),
        ];
        let wanted = Cost {
            cpu_user_s: Some(0.25),
            cpu_kernel_s: Some(0.75),
            cpu_s: 1.0,
            cpu_us_per_request: Some(50.0),
            pss_bytes: PssBytes {
                rest: Some(1),
                before: Some(2),
                after: Some(8),
                peak: Some(9),
            },
            lower_bound: false,
        };
        assert_eq!(Cost::of(&rounds), Some(wanted));
        let per = PerRequest::of(&rounds).unwrap();
        assert_eq!(
            (per.cpu_us.mean, per.cpu_us.min, per.cpu_us.max),
            (50.0, Some(40.0), Some(60.0))
        );
        assert_eq!(per.requests_per_cpu_s.mean, 20_000.0);
        assert_eq!(
            (per.cpu_us.low, per.cpu_us.high),
            (None, None),
            "of two rounds"
        );
        let [first, second] = rounds;
        let third = round(500, 10_000, None);
        let per = PerRequest::of(&[first, second, third]).unwrap();
        let (low, high) = (
            per.cpu_us.low.unwrap(),
            per.requests_per_cpu_s.high.unwrap(),
        );
        assert!(
            (1e6 / low / high - 1.0).abs() < 1e-9,
            "one is the other upside down"
        );
    }

    #[test]
    fn its_names_are_those_that_scripts_rely_on() {
        let cost = serde_json::to_value(Cost::of(&[round(4, 1, memory(1, 2, 3))])).unwrap();
        let mut names: Vec<&str> = cost
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        let wanted = [
            "cpu_kernel_s",
            "cpu_s",
            "cpu_us_per_request",
            "cpu_user_s",
            "lower_bound",
            "pss_bytes",
        ];
        assert_eq!(names, wanted);
        for name in ["rest", "before", "after", "peak"] {
            assert!(cost["pss_bytes"][name].is_u64(), "{name}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        assert_eq!(Cost::of(&[Round::default()]), None);
        let cost = Cost::of(&[round(400, 0, None)]).unwrap();
        assert_eq!(
            (cost.cpu_us_per_request, cost.pss_bytes),
            (None, PssBytes::default())
        );
        assert_eq!(PerRequest::of(&[round(400, 0, None)]), None);
        assert_eq!(PerRequest::of(&[round(0, 10, None)]), None);
        let mut unsplit = round(400, 10, None);
        unsplit.footprint.as_mut().unwrap().sampled = None;
        assert_eq!(
            Cost::of(&[round(4, 1, None), unsplit]).unwrap().cpu_user_s,
            None
        );
    }

    #[test]
    fn a_round_in_which_nobody_looked_is_in_neither_part_of_the_quotient() {
        let blind = Round {
            footprint: None,
            ..round(400, 90_000, None)
        };
        let cost = Cost::of(&[round(400, 10_000, None), blind]).unwrap();
        assert_eq!(cost.cpu_us_per_request, Some(40.0));
    }

    #[test]
    fn a_round_without_a_request_leaves_no_interval() {
        let per = PerRequest::of(&[round(400, 10, None), round(400, 0, None)]).unwrap();
        assert_eq!((per.cpu_us.low, per.cpu_us.mean), (None, 80_000.0));
    }

    #[test]
    fn one_missing_share_makes_the_whole_a_lower_bound() {
        let mut rounds = [round(4, 1, None), round(4, 1, None)];
        rounds[1].footprint.as_mut().unwrap().lower_bound = true;
        assert!(
            Cost::of(&rounds).unwrap().lower_bound && PerRequest::of(&rounds).unwrap().lower_bound
        );
    }

    #[test]
    fn memory_per_connection_is_the_slope_over_the_levels_unless_it_may_be_that_of_time() {
        let point = |connections: u64, after: u64| {
            let memory = Memory {
                after: Some(after),
                connections,
                ..Memory::default()
            };
            let mut point = Point::new(Level::of(Load::Closed { connections: 1 }));
            point.rounds.push(round(1, 1, Some(memory)));
            point
        };
        let mut run = crate::example::sweep();
        run.points = [0, 100, 200, 300]
            .map(|each| point(each, 1_000 + each * 500))
            .to_vec();
        let more = run.points[0].rounds[0].clone();
        run.points[0].rounds.push(more); // a level counts once, however many rounds it has
        let sweep = run.plan.sweep.as_mut().unwrap();
        (sweep.rounds, sweep.order) = (Nesting::Interleaved, Order::Up);
        let line = memory_per_connection(&run).unwrap();
        assert!((line.slope - 500.0).abs() < 1e-9 && (line.intercept - 1_000.0).abs() < 1e-6);
        assert_eq!(line.n, 4);
        let sweep = run.plan.sweep.as_mut().unwrap();
        sweep.rounds = Nesting::default();
        let is_known = memory_per_connection(&run).is_some();
        assert_eq!(is_known, Nesting::default() == Nesting::Interleaved);
        run.points.pop();
        run.plan.sweep.as_mut().unwrap().order = Order::Shuffled;
        assert_eq!(memory_per_connection(&run), None, "three levels are few");
    }
}

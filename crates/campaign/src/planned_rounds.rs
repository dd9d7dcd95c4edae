//! A campaign as a list: which point, which round, in which order.

use plan::{Level, Order, Plan};

/// One (point, round) of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedRound {
    /// The point's place in the record.
    pub point: usize,
    /// What holds at the point.
    pub level: Level,
    /// The round's number within the point.
    pub round: u32,
    /// Who measures it.
    pub by: Generators,
}

/// Who generates a round's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generators {
    /// One process.
    One,
    /// Two processes, half the load each.
    Two,
}

/// The rounds of `plan` in the order in which they are measured.
///
/// ```
/// let plan = plan::Plan::example("127.0.0.1:80".parse().unwrap());
/// let rounds: Vec<u32> = campaign::planned_rounds(&plan).iter().map(|planned| planned.round).collect();
/// assert_eq!(rounds, [0, 1, 2, 3, 4]);
/// ```
pub fn planned_rounds(plan: &Plan) -> Vec<PlannedRound> {
    let levels = plan.levels();
    let sweep = plan.sweep.clone().unwrap_or_default();
    let mut planned = Vec::new();
    for pass in sweep.rounds.passes(plan.rounds) {
        for point in places(levels.len(), sweep.order, plan.seed, pass.start) {
            for round in pass.clone() {
                let generators = by(plan.two_generators, round).iter();
                planned.extend(generators.map(|&by| PlannedRound {
                    point,
                    level: levels[point],
                    round,
                    by,
                }));
            }
        }
    }
    planned
}

/// Who measures round `round`, in order. Where one and two generators are compared they take turns in going first (one,
/// two, two, one, ...): what drifts steadily from round to round favours neither.
fn by(two_generators: bool, round: u32) -> &'static [Generators] {
    match (two_generators, round.is_multiple_of(2)) {
        (false, _) => &[Generators::One],
        (true, true) => &[Generators::One, Generators::Two],
        (true, false) => &[Generators::Two, Generators::One],
    }
}

/// The places of `number` points in the order in which pass number `pass` goes through them.
fn places(number: usize, order: Order, seed: u64, pass: u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..number).collect();
    match order {
        Order::Up => {}
        Order::Down => places.reverse(),
        // Each place gets a draw of its own, and the draws are put in order.
        Order::Shuffled => places.sort_by_key(|place| {
            let draw = (u64::from(pass) << 32) | *place as u64;
            (plan::template::draw(seed, draw), *place)
        }),
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Axis, Nesting, Sweep};

    fn order(order: Order, rounds: Nesting) -> Vec<(u32, u32)> {
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        plan.rounds = 2;
        plan.sweep = Some(Sweep {
            axes: vec![Axis::Connections((1..=5).collect())],
            order,
            rounds,
        });
        let cells = planned_rounds(&plan);
        assert!(
            cells
                .iter()
                .all(|planned| planned.level == plan.levels()[planned.point])
        );
        cells
            .iter()
            .map(|planned| (planned.level.load.connections(), planned.round))
            .collect()
    }

    #[test]
    fn nested_rounds_finish_a_point_before_the_next() {
        let up = order(Order::Up, Nesting::Nested);
        assert_eq!(up[..4], [(1, 0), (1, 1), (2, 0), (2, 1)]);
        let down = order(Order::Down, Nesting::Nested);
        assert_eq!(down[..4], [(5, 0), (5, 1), (4, 0), (4, 1)]);
    }

    #[test]
    fn interleaved_rounds_pass_all_points_before_the_next_round() {
        let cells = order(Order::Up, Nesting::Interleaved);
        let wanted: Vec<(u32, u32)> = (0..2)
            .flat_map(|round| (1..=5).map(move |point| (point, round)))
            .collect();
        assert_eq!(cells, wanted);
    }

    #[test]
    fn half_of_the_rounds_of_all_points_come_before_the_other_half() {
        let halves = order(Order::Up, Nesting::Halves);
        assert_eq!(
            halves,
            order(Order::Up, Nesting::Interleaved),
            "of two rounds"
        );
        let passes = [(3, [0..2, 2..3]), (6, [0..3, 3..6])];
        for (rounds, wanted) in passes {
            assert_eq!(Nesting::Halves.passes(rounds), wanted);
        }
    }

    #[test]
    fn shuffled_points_come_each_once_in_each_round_and_anew_when_interleaved() {
        for nesting in [Nesting::Nested, Nesting::Interleaved] {
            let shuffled = order(Order::Shuffled, nesting);
            let up = order(Order::Up, nesting);
            assert_ne!(shuffled, up, "{nesting:?}");
            let mut sorted = shuffled.clone();
            sorted.sort_by_key(|(point, round)| match nesting {
                Nesting::Nested | Nesting::Halves => (*point, *round),
                Nesting::Interleaved => (*round, *point),
            });
            assert_eq!(sorted, up);
            assert_eq!(
                order(Order::Shuffled, nesting),
                shuffled,
                "it follows from the seed"
            );
        }
        let points: Vec<u32> = order(Order::Shuffled, Nesting::Interleaved)
            .into_iter()
            .map(|(point, _)| point)
            .collect();
        assert_ne!(points[..5], points[5..]);
    }

    #[test]
    fn one_and_two_generators_measure_each_round_and_take_turns_in_going_first() {
        use Generators::{One, Two};
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        plan.rounds = 4;
        plan.two_generators = true;
        let order: Vec<(u32, Generators)> = planned_rounds(&plan)
            .iter()
            .map(|planned| (planned.round, planned.by))
            .collect();
        let wanted = [
            (0, One),
            (0, Two),
            (1, Two),
            (1, One),
            (2, One),
            (2, Two),
            (3, Two),
            (3, One),
        ];
        assert_eq!(order, wanted);
    }
}

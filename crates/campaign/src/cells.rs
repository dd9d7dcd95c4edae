//! A campaign as a list: which point, which round, in which order.

use plan::{Load, Plan};

/// One (point, round) of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The point's place in the record.
    pub point: usize,
    /// The point's load.
    pub load: Load,
    /// The round's number within the point.
    pub round: u32,
}

/// The cells of `plan` in the order in which they are measured.
///
/// ```
/// let plan = plan::Plan::example("127.0.0.1:80".parse().unwrap());
/// let rounds: Vec<u32> = campaign::cells(&plan).iter().map(|cell| cell.round).collect();
/// assert_eq!(rounds, [0, 1, 2, 3, 4]);
/// ```
pub fn cells(plan: &Plan) -> Vec<Cell> {
    (0..plan.rounds)
        .map(|round| Cell {
            point: 0,
            load: plan.load,
            round,
        })
        .collect()
}

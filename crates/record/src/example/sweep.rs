//! A sweep: more connections bring more requests/s, until the server has no more CPU.

use super::Script;
use crate::{Memory, Run};
use plan::{Axis, Sweep};
use units::Nanos;

/// The connections of each point, how much longer than alone a request then takes, in percent, and how busy the server is.
const POINTS: [(u32, u64, u64); 8] = [
    (1, 100, 4),
    (2, 100, 8),
    (4, 102, 15),
    (8, 105, 29),
    (16, 112, 55),
    (32, 128, 96),
    (64, 250, 99),
    (128, 530, 99),
];

/// What the server takes of memory without a connection.
const REST_BYTES: u64 = 6 << 20;
/// And for each of them.
const CONNECTION_BYTES: u64 = 24 << 10;

/// Eight points of three rounds, from 1 connection to 128, with a server that has enough at 32.
pub fn sweep() -> Run {
    let play = |(connections, percent, busy): (u32, u64, u64)| {
        let script = Script {
            threads: 1,
            connections,
            rounds: 3,
            window: Nanos::from_millis(150),
            percent,
            server: Some(busy),
            ..Script::default()
        };
        script.play()
    };
    let mut runs = POINTS.map(play).into_iter();
    let mut run = runs.next().unwrap_or_else(super::ok);
    run.points.extend(runs.flat_map(|other| other.points));
    for (point, (connections, ..)) in run.points.iter_mut().zip(POINTS) {
        for print in point
            .rounds
            .iter_mut()
            .filter_map(|round| round.footprint.as_mut())
        {
            print.memory = Some(Memory {
                rest: Some(REST_BYTES),
                before: Some(REST_BYTES + 4096),
                after: Some(REST_BYTES + u64::from(connections) * CONNECTION_BYTES),
                connections: connections.into(),
            });
        }
    }
    run.plan.sweep = Some(Sweep {
        axes: vec![Axis::Connections(
            POINTS.map(|(number, ..)| number).to_vec(),
        )],
        ..Sweep::default()
    });
    run.summarise();
    run
}

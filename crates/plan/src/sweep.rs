//! Sweeps: what differs between the points of one campaign, and in which order they are measured.
//!
//! Each [`Axis`] has the values that one setting takes, and the points are all combinations of them; a plan without a
//! sweep has one point. What holds at a point is again a [`Plan`] ([`Plan::at`]), so that the code that measures a round need
//! not know that there are others.

use crate::settings::Choice;
use crate::{Arriving, Load, Plan, Requests, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use units::Rate;

/// What differs between the points of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The settings that take several values; the points are their combinations, the last axis changing fastest.
    pub axes: Vec<Axis>,
    /// In which order the points are measured.
    #[serde(default)]
    pub order: Order,
    /// How the rounds of different points follow each other.
    #[serde(default)]
    pub rounds: Nesting,
}

/// One setting and the values that it takes, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Connections of a closed loop, or the most of an open one.
    Connections(Vec<u32>),
    /// The rate of an open loop.
    Rate(Vec<Rate>),
    /// Generator threads.
    Threads(Vec<u32>),
    /// Requests under way on one connection.
    Pipeline(Vec<u32>),
    /// Workers of the server that is started: `{workers}` in its command.
    Workers(Vec<u32>),
    /// Sizes of responses in bytes: `{size}` in the URLs.
    Size(Vec<u32>),
}

/// In which order points are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they were given.
    #[default]
    Up,
    /// The other way round.
    Down,
    /// At random, by the plan's seed; with interleaved rounds anew in each.
    Shuffled,
}

impl Choice for Order {
    const CHOICES: &'static [(Order, &'static str, &'static str)] = &[
        (Order::Up, "up", "In the order of the values as given."),
        (Order::Down, "down", "In the reverse order."),
        (
            Order::Shuffled,
            "shuffled",
            "At random, by the seed; with --interleaved anew in each round.",
        ),
    ];
}

/// How the rounds of different points follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nesting {
    /// All rounds of a point, then the next point.
    #[default]
    Nested,
    /// The first half of the rounds of every point, then the other half: of a sweep over workers, for which the server is
    /// started at each point anew, every point has two starts.
    Halves,
    /// One round of every point, then the next round: what drifts meanwhile touches all points alike.
    Interleaved,
}

impl Nesting {
    /// The rounds that a point has in each pass over the points, where it has `rounds` in all.
    pub fn passes(self, rounds: u32) -> Vec<Range<u32>> {
        let half = rounds.div_ceil(2);
        match self {
            Nesting::Nested => std::iter::once(0..rounds).collect(),
            Nesting::Halves if half < rounds => vec![0..half, half..rounds],
            Nesting::Halves | Nesting::Interleaved => {
                (0..rounds).map(|round| round..round + 1).collect()
            }
        }
    }
}

/// What holds at one point; settings that the sweep leaves alone are the plan's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// What drives the load.
    pub load: Load,
    /// Generator threads, where they differ between points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Requests under way on one connection, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// Workers of the server that is started, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Size of the responses in bytes, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// How many times as long as the plan's its window is: more than 1 at the end of a search, whose answer has to hold for
    /// longer.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub windows: u32,
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Level {
    /// The level of a plan in which only the load is said.
    pub fn of(load: Load) -> Level {
        Level {
            load,
            threads: None,
            pipeline: None,
            workers: None,
            size: None,
            windows: 1,
        }
    }
}

fn number(number: Option<u32>, name: &str) -> String {
    let number = number.unwrap_or_default();
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {name}{plural}", units::count(number.into()))
}

/// What stands for the number of workers in a server's command.
pub const WORKERS: &str = "{workers}";
/// What stands for the size of the response in a URL.
pub const SIZE: &str = "{size}";

impl Sweep {
    /// The most points of a sweep.
    pub const MOST_POINTS: usize = 10_000;

    /// How many points it has.
    pub fn points(&self) -> usize {
        let product = |all: usize, axis: &Axis| all.saturating_mul(axis.values());
        self.axes.iter().fold(1, product)
    }
}

impl Axis {
    /// Returns how many values it has.
    pub fn values(&self) -> usize {
        match self {
            Axis::Rate(values) => values.len(),
            Axis::Connections(values)
            | Axis::Threads(values)
            | Axis::Pipeline(values)
            | Axis::Workers(values)
            | Axis::Size(values) => values.len(),
        }
    }

    /// Returns each of its values for people.
    pub fn shown(&self) -> Vec<String> {
        match self {
            Axis::Rate(rates) => {
                let rates = rates.iter();
                rates.map(|rate| units::rate(rate.as_f64())).collect()
            }
            Axis::Connections(values)
            | Axis::Threads(values)
            | Axis::Pipeline(values)
            | Axis::Workers(values)
            | Axis::Size(values) => {
                let values = values.iter();
                values.map(|value| units::count((*value).into())).collect()
            }
        }
    }

    /// What it is called, as a label.
    pub fn name(&self) -> &'static str {
        match self {
            Axis::Connections(_) => "connections",
            Axis::Rate(_) => "rate",
            Axis::Threads(_) => "threads",
            Axis::Pipeline(_) => "pipeline",
            Axis::Workers(_) => "workers",
            Axis::Size(_) => "size",
        }
    }

    /// Its values, or where they are many the first and the last and how many: `1, 2, 4`, `1 to 1,000 (101 values)`.
    pub(crate) fn listed(&self) -> String {
        const MANY: usize = 8;
        let shown = self.shown();
        match &shown[..] {
            [first, .., last] if shown.len() > MANY => {
                let number = units::count(shown.len() as u64);
                format!("{first} to {last} ({number} values)")
            }
            few => few.join(", "),
        }
    }

    /// Its value at `level`, as a number; none where the level has none.
    pub fn value_at(&self, level: &Level) -> Option<f64> {
        match self {
            Axis::Connections(_) => Some(level.load.connections().into()),
            Axis::Rate(_) => match level.load {
                Load::Open { rate, .. } => Some(rate.as_f64()),
                Load::Closed { .. } => None,
            },
            Axis::Threads(_) => level.threads.map(f64::from),
            Axis::Pipeline(_) => level.pipeline.map(f64::from),
            Axis::Workers(_) => level.workers.map(f64::from),
            Axis::Size(_) => level.size.map(f64::from),
        }
    }

    /// What it comes to at `level`, in words.
    fn name_at(&self, level: &Level) -> String {
        match self {
            Axis::Connections(_) => number(Some(level.load.connections()), "connection"),
            Axis::Rate(_) => match level.load {
                Load::Open { rate, of, .. } => {
                    let rate = units::rate(rate.as_f64());
                    match of {
                        Arriving::Exchanges => format!("{rate} requests/s"),
                        Arriving::Connections => format!("{rate} connections/s"),
                    }
                }
                Load::Closed { .. } => "no rate".to_owned(),
            },
            Axis::Threads(_) => number(level.threads, "thread"),
            Axis::Pipeline(_) => {
                let depth = units::count(level.pipeline.unwrap_or(1).into());
                format!("{depth} at a time")
            }
            Axis::Workers(_) => number(level.workers, "worker"),
            Axis::Size(_) => number(level.size, "byte"),
        }
    }

    /// `level` with this axis's value number `index` in it.
    pub(crate) fn put(&self, mut level: Level, index: usize) -> Level {
        match self {
            Axis::Connections(values) => level.load = level.load.with_connections(values[index]),
            Axis::Rate(values) => level.load = level.load.with_rate(values[index]),
            Axis::Threads(values) => level.threads = Some(values[index]),
            Axis::Pipeline(values) => level.pipeline = Some(values[index]),
            Axis::Workers(values) => level.workers = Some(values[index]),
            Axis::Size(values) => level.size = Some(values[index]),
        }
        level
    }
}

impl Load {
    /// The same load over another number of connections.
    fn with_connections(mut self, number: u32) -> Load {
        match &mut self {
            Load::Closed { connections } | Load::Open { connections, .. } => *connections = number,
        }
        self
    }

    /// The same open loop at another rate; a closed one has none.
    pub fn with_rate(mut self, to: Rate) -> Load {
        if let Load::Open { rate, .. } = &mut self {
            *rate = to;
        }
        self
    }
}

impl Plan {
    /// The points, in the order in which they are recorded: that of the axes' values.
    ///
    /// ```
    /// use plan::{Axis, Load, Plan, Sweep};
    ///
    /// let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
    /// plan.sweep = Some(Sweep {
    ///     axes: vec![Axis::Threads(vec![1, 2]), Axis::Connections(vec![10, 20])],
    ///     ..Sweep::default()
    /// });
    /// let levels = plan.levels();
    /// assert_eq!(levels.len(), 4);
    /// assert_eq!(levels[1].load, Load::Closed { connections: 20 });
    /// assert_eq!(plan.at(&levels[3]).threads, 2);
    /// ```
    pub fn levels(&self) -> Vec<Level> {
        let axes = self.sweep.iter().flat_map(|sweep| &sweep.axes);
        axes.fold(vec![Level::of(self.load)], |levels, axis| {
            let combined = levels
                .iter()
                .flat_map(|level| (0..axis.values()).map(|index| axis.put(*level, index)));
            combined.collect()
        })
    }

    /// What a level is called among the others: `10 connections`, `20 requests/s, 2 workers`. Only what differs is named.
    pub fn name(&self, level: &Level) -> String {
        let axes = self.sweep.iter().flat_map(|sweep| &sweep.axes);
        let names: Vec<String> = axes.rev().map(|axis| axis.name_at(level)).collect();
        let name = match names.is_empty() {
            true => Axis::Connections(Vec::new()).name_at(level),
            false => names.join(", "),
        };
        match (level.windows, self.stop.times(level.windows)) {
            (1, _) => name,
            (_, Stop::Duration(span)) => format!("{name} for {}", units::span(span)),
            (_, Stop::Requests(number)) => format!("{name}, {} in all", units::count(number)),
        }
    }

    /// What a level is called by all axes but the last, which changes fastest; empty where there is no other.
    pub fn name_of_slower(&self, level: &Level) -> String {
        let axes = self.sweep.iter().flat_map(|sweep| &sweep.axes);
        let slower = axes.rev().skip(1).map(|axis| axis.name_at(level));
        slower.collect::<Vec<_>>().join(", ")
    }

    /// Whether its points are found while measuring, and not known before.
    pub fn is_search(&self) -> bool {
        self.slo.is_some()
    }

    /// The plan of one point: this one, with what holds there, and no other point.
    pub fn at(&self, level: &Level) -> Plan {
        let mut plan = Plan {
            load: level.load,
            threads: level.threads.unwrap_or(self.threads),
            sweep: None,
            slo: None,
            stop: self.stop.times(level.windows),
            ..self.clone()
        };
        plan.protocol.pipeline = level.pipeline.unwrap_or(plan.protocol.pipeline);
        if let (Some(server), Some(workers)) = (&mut plan.server, level.workers) {
            let number = workers.to_string();
            for word in &mut server.argv {
                *word = word.replace(WORKERS, &number);
            }
        }
        if let (Requests::Listed(listed), Some(size)) = (&mut plan.requests, level.size) {
            let number = size.to_string();
            for request in listed {
                request.path = request.path.replace(SIZE, &number);
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, ServerCommand};
    use units::Nanos;

    fn plan(axes: Vec<Axis>) -> Plan {
        let sweep = Sweep {
            axes,
            ..Sweep::default()
        };
        Plan {
            sweep: Some(sweep),
            ..Plan::example("127.0.0.1:80".parse().unwrap())
        }
    }

    #[test]
    fn a_plan_without_a_sweep_has_one_point_and_that_is_the_plan() {
        let plan = Plan::example("127.0.0.1:80".parse().unwrap());
        let levels = plan.levels();
        assert_eq!(levels, [Level::of(plan.load)]);
        assert_eq!(plan.at(&levels[0]), plan);
    }

    #[test]
    fn the_points_are_all_combinations_and_the_last_axis_changes_fastest() {
        let plan = plan(vec![
            Axis::Pipeline(vec![1, 4]),
            Axis::Connections(vec![10, 30, 20]),
        ]);
        let seen: Vec<(u32, u32)> = plan
            .levels()
            .iter()
            .map(|level| plan.at(level))
            .map(|at| (at.protocol.pipeline, at.connections()))
            .collect();
        assert_eq!(seen, [(1, 10), (1, 30), (1, 20), (4, 10), (4, 30), (4, 20)]);
        assert_eq!(plan.sweep.unwrap().points(), seen.len());
    }

    #[test]
    fn a_rate_is_put_into_an_open_loop_and_leaves_the_rest_of_it() {
        let rates = vec![Rate::per_second(100), Rate::per_second(200)];
        let mut plan = plan(vec![Axis::Rate(rates)]);
        plan.load = Load::Open {
            rate: Rate::per_second(1),
            of: Arriving::Connections,
            arrivals: Arrivals::Constant,
            connections: 7,
        };
        let second = plan.at(&plan.levels()[1]).load;
        let wanted = Load::Open {
            rate: Rate::per_second(200),
            of: Arriving::Connections,
            arrivals: Arrivals::Constant,
            connections: 7,
        };
        assert_eq!(second, wanted);
        let name = Axis::Rate(Vec::new()).name_at(&Level::of(second));
        assert_eq!(name, "200 connections/s");
    }

    #[test]
    fn a_level_is_called_by_what_differs() {
        let all = plan(vec![
            Axis::Workers(vec![1, 2]),
            Axis::Threads(vec![1]),
            Axis::Pipeline(vec![4]),
            Axis::Connections(vec![1_000]),
        ]);
        assert_eq!(
            all.name(&all.levels()[1]),
            "1,000 connections, 4 at a time, 1 thread, 2 workers"
        );
        let workers = plan(vec![Axis::Workers(vec![1])]);
        assert_eq!(workers.name(&workers.levels()[0]), "1 worker");
        let alone = plan(Vec::new());
        assert_eq!(alone.name(&alone.levels()[0]), "1 connection");
    }

    #[test]
    fn the_number_of_workers_stands_in_the_servers_command() {
        let mut plan = plan(vec![Axis::Workers(vec![1, 8])]);
        plan.server = Some(ServerCommand {
            argv: ["serve", "-w{workers}", "{workers}", "{port}"]
                .map(str::to_owned)
                .to_vec(),
            ready_within: Nanos::from_secs(1),
            reference_server: false,
        });
        let server = plan.at(&plan.levels()[1]).server.unwrap();
        assert_eq!(server.argv, ["serve", "-w8", "8", "{port}"]);
    }

    #[test]
    fn the_size_of_the_response_stands_in_every_url() {
        let mut plan = plan(vec![Axis::Size(vec![100, 1_000_000])]);
        let listed = ["/bytes/{size}", "/?a={size}&b={size}", "/"].map(crate::Request::get);
        plan.requests = Requests::Listed(listed.to_vec());
        let level = &plan.levels()[1];
        let at = plan.at(level);
        let paths: Vec<&str> = at.requests.each().iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["/bytes/1000000", "/?a=1000000&b=1000000", "/"]);
        assert_eq!(plan.name(level), "1,000,000 bytes");
    }
}

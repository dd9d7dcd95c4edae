//! What makes a plan sound: rules that can be judged from the plan alone.

use crate::{Arriving, Axis, Connect, Load, Plan, Protocol, Requests, Stop, Sweep, WORKERS};
use thiserror::Error;
use units::{Nanos, Rate};

/// Why a plan cannot be carried out; each text names the flag and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's text says all there is")]
pub enum PlanError {
    #[error("--connections is 0, so nothing would be asked; give at least 1")]
    NoConnections,
    #[error("--requests is 0, so nothing would be asked; give at least 1, or --duration")]
    NoRequests,
    #[error("--duration is 0, so nothing would be measured; give at least 1ms")]
    NoDuration,
    #[error("--rounds is 0, so nothing would be measured; give at least 1")]
    NoRounds,
    #[error("--rounds is {0}, more than the {most} that one record holds", most = Plan::MOST_ROUNDS)]
    TooManyRounds(u32),
    #[error("--threads is 0, so nothing would be sent; give at least 1")]
    NoThreads,
    #[error("--pipeline is 0, so nothing would be asked; give 1 for one request at a time")]
    NoPipeline,
    #[error("--requests-per-connection is 0, so nothing would be asked; give at least 1")]
    NoRequestsPerConnection,
    #[error("--timeout is 0, so every exchange would be cut off; give at least 1ms")]
    NoTimeout,
    #[error("--connect-timeout is 0, so every connect would be cut off; give at least 1ms")]
    NoConnectTimeout,
    #[error(
        "--no-keepalive closes after every response, so --pipeline and --requests-per-connection above 1 \
         contradict it; leave one of them away"
    )]
    KeepaliveContradicted,
    #[error("--http1.0 has no pipelining; leave --pipeline away")]
    PipelineInHttp10,
    #[error("no request is given; name at least one URL")]
    NoRequest,
    #[error("--pipeline is {0}, more than the {most} that one connection may have under way", most = Protocol::MOST_PIPELINED)]
    PipelineTooDeep(u32),
    #[error(
        "{flag} is 0, so nothing would ever be due; give a rate such as 100 or 0.5, or leave it away for a closed loop",
        flag = .0.flag()
    )]
    NoRate(Arriving),
    #[error(
        "{flag} {rate} over {connections} leaves {each} for each {of}, and none is that quick; raise --connections or \
         lower {flag}",
        flag = .of.flag(),
        rate = units::rate(.rate.as_f64()),
        each = units::span(Nanos::from_nanos((u64::from(*.connections) as f64 / .rate.as_f64() * 1e9) as u64)),
        of = match .of { Arriving::Exchanges => "exchange", Arriving::Connections => "connection" },
        connections = number_of(*.connections)
    )]
    RateBeyondConnections {
        rate: Rate,
        of: Arriving,
        connections: u32,
    },
    #[error(
        "--pipeline contradicts {flag}: a request that is sent behind another waits for it, and when it was due says \
         nothing any more; leave one of them away",
        flag = .0.flag()
    )]
    PipelineInOpenLoop(Arriving),
    #[error(
        "--connect eager contradicts --connection-rate, by which each connection is opened when it arrives; leave one of \
         them away"
    )]
    EagerArrivals,
    #[error("--connection-rate needs an end to each connection; give --requests-per-connection")]
    EndlessConnections,
    #[error("the sweep has {0} points, more than {most}; give fewer values", most = Sweep::MOST_POINTS)]
    TooManyPoints(usize),
    #[error(
        "the sweep has {points} points and --rounds {rounds}, more rounds than the {most} that one record holds; lower one of \
         them", most = Plan::MOST_CELLS
    )]
    TooManyCells { points: usize, rounds: u32 },
    #[error(
        "--workers needs a server that weigh starts, with {WORKERS} in its command: weigh sweep URL -- COMMAND"
    )]
    WorkersOfNobody,
    #[error(
        "the server's command has {WORKERS} in it, and nothing says how many; give --workers with `weigh sweep`"
    )]
    WorkersUnsaid,
    #[error(
        "--slo searches for a rate, and only that may have several values: give --rate FROM..TO*2, or leave it away"
    )]
    SearchOfNoRate,
    #[error("at {level}: {error}")]
    AtLevel {
        level: String,
        error: Box<PlanError>,
    },
    #[error(
        "--two-generators splits the load over two processes, and 1 connection cannot be split; give --connections (and \
         --requests) of 2 or more, or leave it away"
    )]
    OneCannotBeSplit,
    #[error(
        "--two-generators contradicts --slo, which looks for a rate and not for who was the limit; leave one of them away"
    )]
    TwoGeneratorsInSearch,
}

fn number_of(number: u32) -> String {
    match number {
        1 => "1 connection".to_owned(),
        several => format!("{} connections", units::count(several.into())),
    }
}

impl Protocol {
    /// The deepest pipeline: beyond it a server's own limits are all that is measured.
    pub const MOST_PIPELINED: u32 = 1024;
}

impl Plan {
    /// The most rounds of a point.
    pub const MOST_ROUNDS: u32 = 10_000;

    /// The most rounds of all points together: what a record is read with.
    pub const MOST_CELLS: usize = 1 << 16;

    /// Judges the plan by itself, at each of its points; what depends on the machine (ports, descriptors) is foreseen
    /// elsewhere.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), PlanError> {
        self.check_sweep()?;
        for level in self.levels() {
            let checked = self.at(&level).check_point();
            checked.map_err(|error| match self.sweep {
                None => error,
                Some(_) => PlanError::AtLevel {
                    level: self.name(&level),
                    error: Box::new(error),
                },
            })?;
        }
        Ok(())
    }

    /// What points need of one another, and of the server.
    fn check_sweep(&self) -> Result<(), PlanError> {
        let axes = self.sweep.iter().flat_map(|sweep| &sweep.axes);
        let by_workers = axes.clone().any(|axis| matches!(axis, Axis::Workers(_)));
        let points = self.sweep.as_ref().map_or(1, Sweep::points);
        let cells = points.saturating_mul(self.rounds as usize);
        let argv = self.server.iter().flat_map(|server| &server.argv);
        let has_hole = argv.into_iter().any(|word| word.contains(WORKERS));
        let rules = [
            (
                points > Sweep::MOST_POINTS,
                PlanError::TooManyPoints(points),
            ),
            (
                cells > Self::MOST_CELLS,
                PlanError::TooManyCells {
                    points,
                    rounds: self.rounds,
                },
            ),
            (
                self.is_search() && !self.is_search_of_rate(),
                PlanError::SearchOfNoRate,
            ),
            (by_workers && !has_hole, PlanError::WorkersOfNobody),
            (has_hole && !by_workers, PlanError::WorkersUnsaid),
        ];
        match rules.into_iter().find(|(broken, _)| *broken) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    fn is_search_of_rate(&self) -> bool {
        let axes = self.sweep.as_ref().map(|sweep| &sweep.axes[..]);
        matches!(axes, Some([Axis::Rate(_)])) && self.load.is_open()
    }

    /// Judges the plan of one point.
    fn check_point(&self) -> Result<(), PlanError> {
        let rules = [
            (self.load.connections() == 0, PlanError::NoConnections),
            (self.stop == Stop::Requests(0), PlanError::NoRequests),
            (
                self.stop == Stop::Duration(Nanos::ZERO),
                PlanError::NoDuration,
            ),
            (self.rounds == 0, PlanError::NoRounds),
            (
                self.rounds > Self::MOST_ROUNDS,
                PlanError::TooManyRounds(self.rounds),
            ),
            (self.threads == 0, PlanError::NoThreads),
            (self.timeouts.exchange == Nanos::ZERO, PlanError::NoTimeout),
            (
                self.timeouts.connect == Nanos::ZERO,
                PlanError::NoConnectTimeout,
            ),
            (
                self.requests == Requests::Listed(Vec::new()),
                PlanError::NoRequest,
            ),
            (
                self.two_generators && self.connections() < 2,
                PlanError::OneCannotBeSplit,
            ),
            (
                self.two_generators && self.is_search(),
                PlanError::TwoGeneratorsInSearch,
            ),
        ];
        match rules.into_iter().find(|(broken, _)| *broken) {
            Some((_, error)) => Err(error),
            None => self.protocol.check().and_then(|()| self.check_rate()),
        }
    }

    /// What an open loop needs beside.
    fn check_rate(&self) -> Result<(), PlanError> {
        let Load::Open {
            rate,
            of,
            connections,
            ..
        } = self.load
        else {
            return Ok(());
        };
        let each = self.load.exchanges_per_arrival(&self.protocol);
        let carried = f64::from(connections) / (QUICKEST.as_secs_f64() * each as f64);
        let comes_fresh = of == Arriving::Connections;
        let rules = [
            (rate == Rate::default(), PlanError::NoRate(of)),
            (
                comes_fresh && each == u64::MAX,
                PlanError::EndlessConnections,
            ),
            (
                comes_fresh && self.connect == Connect::Eager,
                PlanError::EagerArrivals,
            ),
            (
                self.protocol.pipeline > 1,
                PlanError::PipelineInOpenLoop(of),
            ),
            (
                rate.as_f64() > carried,
                PlanError::RateBeyondConnections {
                    rate,
                    of,
                    connections,
                },
            ),
        ];
        rules
            .into_iter()
            .find(|(broken, _)| *broken)
            .map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// No exchange over a socket is over in less: two system calls and two passes through the kernel's TCP take several
/// times as long on any machine.
const QUICKEST: Nanos = Nanos::from_micros(1);

impl Protocol {
    fn check(&self) -> Result<(), PlanError> {
        let several =
            self.pipeline > 1 || self.requests_per_connection.is_some_and(|most| most > 1);
        let rules = [
            (self.pipeline == 0, PlanError::NoPipeline),
            (
                self.requests_per_connection == Some(0),
                PlanError::NoRequestsPerConnection,
            ),
            (!self.keepalive && several, PlanError::KeepaliveContradicted),
            (
                self.version == crate::Version::Http10 && self.pipeline > 1,
                PlanError::PipelineInHttp10,
            ),
            (
                self.pipeline > Self::MOST_PIPELINED,
                PlanError::PipelineTooDeep(self.pipeline),
            ),
        ];
        rules
            .into_iter()
            .find(|(broken, _)| *broken)
            .map_or(Ok(()), |(_, error)| Err(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate: &str, connections: u32) -> Load {
        Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Exchanges,
            arrivals: crate::Arrivals::Poisson,
            connections,
        }
    }

    /// Connections of so many exchanges that arrive by a rate.
    fn arriving(plan: &mut Plan, rate: &str, each: u64, connections: u32) {
        plan.load = Load::Open {
            rate: rate.parse().unwrap(),
            of: Arriving::Connections,
            arrivals: crate::Arrivals::Poisson,
            connections,
        };
        plan.connect = Connect::Lazy;
        plan.protocol.requests_per_connection = Some(each);
    }

    #[test]
    fn a_rate_that_is_just_carried_is_sound_and_the_sentence_says_why_more_is_not() {
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        plan.load = open("2m", 2);
        assert_eq!(plan.check(), Ok(()));
        plan.load = open("4m", 1);
        assert_eq!(
            plan.check().unwrap_err().to_string(),
            "--rate 4 000 000 over 1 connection leaves 250 ns for each exchange, and none is that quick; raise \
             --connections or lower --rate"
        );
        arriving(&mut plan, "2m", 10, 20);
        assert_eq!(plan.check(), Ok(()));
        arriving(&mut plan, "2m", 11, 20);
        assert_eq!(
            plan.check().unwrap_err().to_string(),
            "--connection-rate 2 000 000 over 20 connections leaves 10.0 µs for each connection, and none is that quick; \
             raise --connections or lower --connection-rate"
        );
    }

    #[test]
    fn each_broken_rule_is_named() {
        type Break = fn(&mut Plan);
        let cases: &[(Break, PlanError)] = &[
            (
                |plan| plan.load = Load::Closed { connections: 0 },
                PlanError::NoConnections,
            ),
            (|plan| plan.stop = Stop::Requests(0), PlanError::NoRequests),
            (
                |plan| plan.stop = Stop::Duration(Nanos::ZERO),
                PlanError::NoDuration,
            ),
            (|plan| plan.rounds = 0, PlanError::NoRounds),
            (
                |plan| plan.rounds = 10_001,
                PlanError::TooManyRounds(10_001),
            ),
            (|plan| plan.threads = 0, PlanError::NoThreads),
            (|plan| plan.protocol.pipeline = 0, PlanError::NoPipeline),
            (
                |plan| plan.protocol.pipeline = 5000,
                PlanError::PipelineTooDeep(5000),
            ),
            (
                |plan| {
                    plan.protocol.keepalive = false;
                    plan.protocol.pipeline = 2;
                },
                PlanError::KeepaliveContradicted,
            ),
            (
                |plan| {
                    plan.protocol.version = crate::Version::Http10;
                    plan.protocol.pipeline = 2;
                },
                PlanError::PipelineInHttp10,
            ),
            (
                |plan| plan.timeouts.exchange = Nanos::ZERO,
                PlanError::NoTimeout,
            ),
            (
                |plan| plan.timeouts.connect = Nanos::ZERO,
                PlanError::NoConnectTimeout,
            ),
            (
                |plan| plan.requests = Requests::Listed(Vec::new()),
                PlanError::NoRequest,
            ),
            (
                |plan| {
                    plan.two_generators = true;
                    plan.load = Load::Closed { connections: 2 };
                    plan.stop = Stop::Requests(1);
                },
                PlanError::OneCannotBeSplit,
            ),
            (
                |plan| plan.load = open("0", 1),
                PlanError::NoRate(Arriving::Exchanges),
            ),
            (
                |plan| arriving(plan, "0", 1, 1),
                PlanError::NoRate(Arriving::Connections),
            ),
            (
                |plan| {
                    arriving(plan, "5", 1, 1);
                    plan.protocol.requests_per_connection = None;
                },
                PlanError::EndlessConnections,
            ),
            (
                |plan| {
                    arriving(plan, "5", 1, 1);
                    plan.connect = Connect::Eager;
                },
                PlanError::EagerArrivals,
            ),
            (
                |plan| {
                    arriving(plan, "5", 9, 1);
                    plan.protocol.pipeline = 2;
                },
                PlanError::PipelineInOpenLoop(Arriving::Connections),
            ),
            (|plan| plan.load = open("1", 0), PlanError::NoConnections),
            (
                |plan| plan.load = open("3m", 2),
                PlanError::RateBeyondConnections {
                    rate: "3m".parse().unwrap(),
                    of: Arriving::Exchanges,
                    connections: 2,
                },
            ),
            (
                |plan| {
                    plan.load = open("100", 2);
                    plan.protocol.pipeline = 2;
                },
                PlanError::PipelineInOpenLoop(Arriving::Exchanges),
            ),
        ];
        let sound = Plan::example("127.0.0.1:80".parse().unwrap());
        assert_eq!(sound.check(), Ok(()));
        for (spoil, wanted) in cases {
            let mut plan = sound.clone();
            spoil(&mut plan);
            assert_eq!(plan.check(), Err(wanted.clone()));
        }
    }
}

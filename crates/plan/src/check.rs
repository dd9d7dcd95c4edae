//! What makes a plan sound: rules that can be judged from the plan alone.

use crate::{Load, Plan, Protocol, Requests, Stop};
use thiserror::Error;
use units::Nanos;

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
}

impl Protocol {
    /// The deepest pipeline: beyond it a server's own limits are all that is measured.
    pub const MOST_PIPELINED: u32 = 1024;
}

impl Plan {
    /// The most rounds of a point.
    pub const MOST_ROUNDS: u32 = 10_000;

    /// Judges the plan by itself; what depends on the machine (ports, descriptors) is foreseen elsewhere.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), PlanError> {
        let Load::Closed { connections } = self.load;
        let rules = [
            (connections == 0, PlanError::NoConnections),
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
        ];
        match rules.into_iter().find(|(broken, _)| *broken) {
            Some((_, error)) => Err(error),
            None => self.protocol.check(),
        }
    }
}

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

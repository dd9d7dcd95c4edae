//! What a campaign is carried out on: a generator, and a server under test.
//!
//! The campaign decides what is measured next, and keeps the results; a bench measures. There are two: the
//! [`LocalBench`](crate::local_bench::LocalBench), with sockets, processes and clocks, and in tests a scripted one. So order,
//! resuming, searching and breaking off are tested without a socket, in milliseconds.

use crate::error::CampaignError;
use crate::planned_rounds::PlannedRound;
use crate::selftest::SelfTestError;
use crate::server::Ready;
use crate::view::{Follower, View};
use engine::RoundError;
use plan::{Endpoint, Plan};
use record::{Baseline, Machine, Observed, Round};
use thiserror::Error;

/// Measures rounds. The plans that it is given are those of single points.
pub(crate) trait Bench {
    /// Returns what the machine is.
    fn machine(&self) -> Machine;

    /// Measures the baseline for `plan`.
    fn baseline(&mut self, plan: &Plan, view: &mut dyn View) -> Result<Baseline, SelfTestError>;

    /// Makes ready for the rounds of `plan`, if what is there cannot go on with it: starts its server, and probes with
    /// the `{seq}` from `seq` on. Returns the response, if that was necessary; then [`Bench::observe`] comes next.
    fn prepare(
        &mut self,
        plan: &Plan,
        seq: u64,
        view: &mut dyn View,
    ) -> Result<Option<Ready>, CampaignError>;

    /// Finds the server at `endpoint` that is to be observed.
    fn observe(&mut self, plan: &Plan, endpoint: &Endpoint) -> Result<Observed, CampaignError>;

    /// Returns why the round of `planned` cannot begin, if it cannot.
    fn lost(&mut self, planned: &PlannedRound) -> Option<CampaignError>;

    /// Measures the round of the follower's planned, which is cut short if the follower says so. Returns it with the first
    /// `{seq}`, from `seq` on, that was not used; and why no other round can be measured, if none can.
    fn round(
        &mut self,
        seq: u64,
        follower: &mut Follower<'_>,
    ) -> (Result<(Round, u64), Unmeasured>, Option<CampaignError>);

    /// Stops what was started.
    fn clear(&mut self);
}

/// Why there is no round.
#[derive(Debug, Error)]
pub(crate) enum Unmeasured {
    /// By one generator: there will be no other.
    #[error(transparent)]
    One(#[from] RoundError),
    /// By two generators: those by one can still be measured.
    #[error("{0}")]
    Two(String),
}

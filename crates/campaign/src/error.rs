//! Why a campaign measured nothing, or broke off.

use crate::preflight::ResourceLimit;
use crate::selftest::BeyondReach;
use crate::server::ServerError;
use engine::{JobError, ProbeError, RoundError};
use plan::PlanError;
use record::{SaveError, ServerEnd};
use std::path::PathBuf;
use thiserror::Error;

/// Why a campaign measured nothing. Each text names what to do about it.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The plan is not sound.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The machine does not have what the plan needs.
    #[error(transparent)]
    ResourceLimit(#[from] ResourceLimit),
    /// The generator cannot offer the rate.
    #[error(transparent)]
    BeyondReach(#[from] BeyondReach),
    /// It was interrupted before any request was sent.
    #[error("interrupted before the load began")]
    Interrupted,
    /// A comparison was interrupted in its first start.
    #[error("interrupted in the first start, of which nothing counts before it is over")]
    InterruptedEarly,
    /// The record could not be written, which is found before the load.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The server did not come up.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server that was started has ended.
    #[error("{}", .0.sentence())]
    ServerEnded(Box<ServerEnd>),
    /// What was measured says that the campaign is to end.
    #[error("{0}")]
    Aborted(String),
    /// The guardian has ended.
    #[error(
        "the process `{}`, which ends the server if weigh is killed, has ended itself; measure again, and leave it alone",
        kernel::process::GUARDIAN
    )]
    Unguarded,
    /// Nothing could be reached.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The probe did not get an expected response.
    #[error("{0}")]
    Unexpected(String),
    /// A file that the plan names could not be read.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Threads could not be set up.
    #[error(transparent)]
    Round(#[from] RoundError),
    /// What is to go on is not what was begun.
    #[error("{what} is not what it was when {} was measured, so its points could not be compared; measure anew", .path.display())]
    Differs {
        /// The record.
        path: PathBuf,
        /// What is another.
        what: String,
    },
    /// There is nothing to go on with.
    #[error("{} has every round of its plan already; see it with `weigh report`", .0.display())]
    Complete(PathBuf),
    /// Servers cannot be compared.
    #[error("{0}")]
    Incomparable(String),
    /// The server that was to be observed is not there.
    #[error("--server {0}; name its process, its port as :PORT, or its group as cgroup:PATH")]
    NoServer(String),
}

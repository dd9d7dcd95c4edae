//! What a comparison is carried out on: servers that are started afresh, and a generator that loads them in turn.
//!
//! The comparison decides what is measured next and keeps the results; an arena measures. There are two: this machine, and in
//! tests a made-up one, so that order, warm-up, budgets and what is left out are tested without a socket.

use crate::error::CampaignError;
use plan::{ComparePlan, Endpoint};
use record::{Conditions, CpuSplit, Handshakes, Machine, Observed, Probe, Slice};
use thiserror::Error;
use units::{Instant, Nanos};

/// Measures slices.
pub(crate) trait Arena {
    /// Returns what the machine is.
    fn machine(&self) -> Machine;

    /// Returns which CPUs are whose, where servers and generator are kept apart.
    fn split(&self) -> Option<CpuSplit>;

    /// Returns the time.
    fn now(&self) -> Instant;

    /// Starts the servers that are `wanted` afresh, in this `order`, and a new generator with connections to each; what there was
    /// is ended. Returns of each what it is, or why it is not there.
    ///
    /// # Errors
    /// Why nothing can be measured at all.
    fn begin(
        &mut self,
        plan: &ComparePlan,
        wanted: &[bool],
        order: &[u32],
    ) -> Result<Vec<Result<Begun, String>>, CampaignError>;

    /// Loads `server` for slice `number` of the plan's `block`.
    ///
    /// # Errors
    /// [`Lost`].
    fn slice(&mut self, server: usize, block: usize, number: u32) -> Result<Slice, Lost>;

    /// Returns of each server how much of a CPU it takes while nothing is asked of it, as a share of one; none of those that are
    /// not observed.
    fn idle(&mut self) -> Vec<Option<f64>>;

    /// From now on it is noted what servers write into files: those that they have open, which may be only since their first requests.
    fn note_written(&mut self);

    /// Returns of each server the bytes that it has written into files since that is noted, and how its processes share the work.
    fn watch(&mut self) -> Vec<Watched>;

    /// Ends the start; returns the CPU time of others meanwhile, and of each server the memory that it held.
    fn end(&mut self) -> Ended;

    /// Stops everything.
    fn clear(&mut self);
}

/// A server that is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) probe: Option<Probe>,
    pub(crate) observed: Option<Observed>,
    pub(crate) conditions: Conditions,
}

/// What is known of a server after some load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched {
    /// Bytes written into files since that is noted; none where it is not observed.
    pub(crate) written: Option<u64>,
    /// Worker processes, and threads of the process that has most.
    pub(crate) team: Option<(u32, u32)>,
}

/// What is known when a start is over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended {
    /// Of each server, as PSS in bytes.
    pub(crate) memory: Vec<Option<u64>>,
    /// Of each server, the TLS handshakes of its connections; none without https.
    pub(crate) handshakes: Vec<Option<Handshakes>>,
    /// CPU time of other programs, and what the hypervisor gave to others, as shares of all CPUs.
    pub(crate) foreign: Option<f64>,
    pub(crate) steal: Option<f64>,
}

/// Why there is no slice.
#[derive(Debug, Error)]
pub(crate) enum Lost {
    /// The server is not what it was: it has ended.
    #[error("{0}")]
    Server(String),
    /// The generator: nothing can be measured in this start.
    #[error("{0}")]
    Generator(String),
    /// The comparison is to end.
    #[error("interrupted")]
    Interrupted,
}

/// How much of a server's time a span took.
pub(crate) fn share(cpu: Nanos, span: Nanos) -> f64 {
    cpu.as_secs_f64() / span.as_secs_f64().max(f64::MIN_POSITIVE)
}

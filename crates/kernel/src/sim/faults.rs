//! What goes wrong in a simulated world, and how fast it is.

use crate::Errno;
use units::{Instant, Nanos};

/// Faults that a simulated ring injects; none by default. Chances are probabilities from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// The chance that a send takes less than it could: anything from nothing to all but one byte.
    pub short_writes: f64,
    /// How bytes that have come are cut up.
    pub reads: Reads,
    /// Completions of different tokens come in any order (those of one token keep theirs).
    pub reorder: bool,
    /// The chance that a send is followed by a reset within a millisecond.
    pub resets: f64,
    /// The chance that connect says this at once.
    pub connect_error: Option<(f64, Errno)>,
    /// The chance that accept says this, and leaves the connection waiting.
    pub accept_error: Option<(f64, Errno)>,
    /// The chance that send says this at once.
    pub send_error: Option<(f64, Errno)>,
}

/// How bytes that have come are cut up into `Received` completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reads {
    /// As large as they can be.
    #[default]
    Whole,
    /// One byte each.
    OneByte,
    /// Any size, from one byte to all there are.
    Random,
}

/// How a simulated ring behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What goes wrong.
    pub faults: Faults,
    /// How long what the ring sends is under way. (The way back is the peer's to say.)
    pub latency: Nanos,
    /// What each reading of the clock, connect, accept, send and receive costs: so much time passes. Zero leaves time
    /// standing still between waits.
    pub call_cost: Nanos,
    /// How late a wait ends in which time has passed: what it takes to wake up. A wait of no length is not slept through.
    pub wake_late: Nanos,
    /// Bytes that may be under way from the ring to the peer, per connection; beyond it sends come up short.
    pub window: usize,
    /// Moments from which the owner of the ring does not run for a while, in order: its process is stopped, and the world
    /// goes on.
    pub stops: Vec<(Instant, Nanos)>,
    /// When it begins. Not the origin, which means "not yet" in stamps.
    pub start: Instant,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            faults: Faults::default(),
            latency: Nanos::ZERO,
            call_cost: Nanos::ZERO,
            wake_late: Nanos::ZERO,
            window: 256 * 1024,
            stops: Vec::new(),
            start: Instant::from_nanos(1_000_000_000),
        }
    }
}

//! What makes the truth server's behaviour known exactly, so that a load generator can be checked against it.
//!
//! In scope: delays by distribution, stalls by the clock, a queue of limited capacity, and requested misbehaviours, all of
//! which follow from a seed and from the ids that requests carry; and a log of what happened to each request, raw, that
//! a client's figures can be compared with. Out of scope: what a client made of it, and every kind of summary; nothing
//! here adds up or sorts. `docs/truth.md` is its manual.

// In reading order: chance that can be recomputed,
mod draw;
// what a query says,
mod query;
// how long a response waits,
mod distribution;
mod queue;
mod stall;
// what it meets,
mod faults;
// all of it out of a path,
pub(crate) mod target;
// and what is written down.
pub mod log;

pub use distribution::{DELAY_MAX, Distribution, delay};
pub use query::QueryError;
pub(crate) use queue::Queue;
pub use queue::{Capacity, Service, service};
pub use stall::Stall;
pub(crate) use target::Target;

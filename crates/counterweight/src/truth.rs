//! The truth mode: a server whose behaviour is known exactly, so that a load generator can be checked against it.

// In reading order: chance that can be recomputed,
mod draw;
// what a query says,
mod query;
// how long an answer waits,
mod law;
mod queue;
mod stall;
// what it meets,
mod faults;
// all of it out of a path,
mod target;
// and what is written down.
pub mod log;

pub use faults::FaultFlag;
pub use law::{DELAY_MAX, Law, delay};
pub use query::Wrong;
pub use queue::{Capacity, CapacityError, Service, service};
pub use stall::{Stall, StallError};

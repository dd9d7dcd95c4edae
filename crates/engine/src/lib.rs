//! Where intent meets the wire: one point, one round, on threads that share nothing.
//!
//! In scope: preparing requests, slots and their connections, the phases connect, warm-up, measure and drain, the
//! verdict on each exchange, and adding up what the threads counted. Out of scope: what a protocol's bytes mean
//! (`wire`), how system calls are made (`kernel`), what the figures prove (`audit`), printing anything at all.
//!
//! ```no_run
//! use engine::{Job, Rep, Silent};
//! use plan::Plan;
//! use std::sync::atomic::AtomicBool;
//!
//! let plan = Plan::example("127.0.0.1:8080".parse().unwrap());
//! let endpoint = plan.target.endpoints[0].clone();
//! let job = Job::new(plan, endpoint).unwrap();
//! let stop = AtomicBool::new(false);
//! let (round, _) = engine::round(&job, Rep { index: 0, seq: 0 }, None, &stop, &mut Silent).unwrap();
//! println!("{} ok of {}", round.tally.ok, round.tally.scheduled);
//! ```
#![forbid(unsafe_code)]

mod accounts;
mod barrier;
mod busy_poll;
mod driver;
mod exchanges;
mod hold_open;
mod job;
mod lines;
mod local_addresses;
mod probe;
mod quota;
mod recorder;
mod request_source;
mod round;
mod script;
mod slot;
mod stalls;
mod thread;
mod verdict;
mod watchdog;

pub use barrier::{Barrier, Progress, StartSignal, SyncPoint};
pub use busy_poll::busy_poll;
pub use job::{Job, JobError};
pub use probe::{PROBED, ProbeError, Shown, Unexpected, probe};
pub use request_source::FirstRequest;
pub use round::{Observer, Part, Rep, RoundError, Silent, assemble, round};
pub use thread::{Lane, SliceLength, SliceShare, Thread, ThreadResult, lane};

//! Evidence: what was done and what came of it, from the single exchange to the finished file.
//!
//! In scope: the vocabulary of outcomes, the [`Tally`] that a thread accumulates and that merges by addition, the
//! [`Run`] with its rounds, the journal on disk, the versioned schema, and the summary that follows from the counts.
//! Out of scope: sockets and clocks (`engine`), judging (`audit`), layout (`report`). Everything that is ever printed
//! can be recomputed from a `Run` alone.
//!
//! ```
//! use record::{Exchange, Outcome, Tally};
//! use units::{Instant, Nanos};
//!
//! let mut tally = Tally::default();
//! let exchange = Exchange {
//!     scheduled: Instant::from_nanos(100),
//!     sent: Instant::from_nanos(110),
//!     first: Instant::from_nanos(150),
//!     done: Instant::from_nanos(160),
//! };
//! tally.scheduled += 1;
//! tally.observe(&exchange, Outcome::Ok, 200);
//! assert_eq!(tally.ok, 1);
//! assert_eq!(tally.service.max(), Some(50));
//! assert!(tally.conserved());
//! ```
#![forbid(unsafe_code)]

// In reading order; the comments keep it.
mod exchange;
mod outcome;
// What a thread counts,
mod bodies;
mod few;
mod growth;
mod open;
mod requested;
mod series;
mod socket_errors;
mod stalls;
mod tally;
// what it and the server cost,
mod budget;
mod cost;
mod footprint;
mod generator;
mod observed;
mod quota;
// and the generator against our own server,
mod baseline;
// on which machine;
mod activity;
mod machine;
mod setup;
// what is made of it,
mod capacity;
mod censored;
mod compare;
mod coordinated_omission;
mod curve;
mod exit;
mod finding;
mod judged;
mod latency;
mod round;
mod run;
mod server_end;
mod settling;
mod split;
mod summary;
// and how that comes to a file and back.
mod journal;
mod library;
mod load;
mod save;
mod schema;
mod state;
// Made-up Runs, for tests.
#[cfg(any(test, feature = "example"))]
pub mod example;

pub use activity::{Activity, Link, NetworkPath, Program};
pub use baseline::{Baseline, BaselineTimes};
pub use bodies::{Bodies, RequestBodies};
pub use budget::{Budget, KernelCounters};
pub use capacity::{Capacity, Shortfall, Votes};
pub use censored::Censored;
pub use compare::{
    Answers, BlockOfStart, ComparedRun, Comparison, Condition, Conditions, Contender, Control,
    CpuSplit, Cycle, Doubt, Equality, FigureAnswers, FreshStart, InvalidFigures, NamedRun, Rank,
    Rating, RatioScatter, Reason, Regressed, RegressionAnswer, Reliability, Said, Slice,
    StartedServer, StartsRatio, Versus,
};
pub use coordinated_omission::CoordinatedOmission;
pub use cost::{Cost, PerRequest, PssBytes, Spread, memory_per_connection};
pub use curve::{Curve, Peak};
pub use exchange::Exchange;
pub use exit::Exit;
pub use few::Few;
pub use finding::{Cause, Effect, Effects, Figure, Finding, Grade, effect_on};
pub use footprint::{CpuClock, Footprint, GrownFile, Memory, Sampled, Switches, Workers};
pub use generator::{BusyPoll, Paused, ThreadAccounts, Turns};
pub use growth::Growth;
pub use journal::{Journal, journal_path};
pub use judged::{Compliance, Judged};
pub use latency::{Latency, Percentiles, Statistic};
pub use library::{Library, RecordName, RecordNameError, Saved};
pub use load::{LoadError, holds_comparison, holds_record, load, load_comparison, load_from};
pub use machine::Machine;
pub use observed::{Known, Observed, Process};
pub use open::{OpenTimes, Sessions, Waits};
pub use outcome::{Blame, Fault, FaultCount, Faults, Kind, Outcome, Step};
pub use quota::Quota;
pub use requested::{RequestTally, Requested};
pub use round::{Point, Round, ScriptOutput, SentTotal, Window};
pub use run::{Probe, Run};
pub use save::{SaveError, can_replace, replace_file};
pub use schema::{SCHEMA_VERSION, schema, schema_text};
pub use series::Series;
pub use server_end::{During, ServerEnd};
pub use settling::{FirstSecond, Settling};
pub use setup::{ControlGroup, Limit, Packets, Setup, Switch, SystemMemory};
pub use socket_errors::SocketErrors;
pub use split::{Ratio, SplitGenerators};
pub use stalls::Stalls;
pub use state::default_path;
pub use stats::scalability::{Model, Scaling};
pub use summary::{Errors, OpenFigures, RequestFigures, SessionFigures, Summary};
pub use tally::{Agreed, Connects, Encryption, FirstExchanges, Handshakes, Statuses, Tally};

//! What we intend: the complete, resolved, immutable, serialisable description of one campaign.
//!
//! In scope: [`Plan`] and its parts, the table of [`settings`] and the [`Draft`] that they are read into, the rules that
//! make a plan sound, and the arithmetic that follows from it alone (how connections and requests are shared out, what
//! `{seq}` stands for). Out of scope: sockets, clocks, files. A plan says everything that is needed to repeat the same
//! measurement, and nothing of what came out.
//!
//! ```
//! use plan::{Plan, Stop};
//!
//! let mut plan = Plan::example("127.0.0.1:8080".parse().unwrap());
//! plan.stop = Stop::Requests(10);
//! plan.load = plan::Load::Closed { connections: 100 };
//! // Only ten can ever be busy, so only ten are opened; `check` finds nothing wrong with that.
//! assert_eq!(plan.connections(), 10);
//! assert!(plan.check().is_ok());
//! ```
#![forbid(unsafe_code)]

mod again;
mod arrivals;
mod campaign;
mod check;
mod compare;
mod draft;
mod expect;
pub mod line;
mod load;
mod observe;
pub mod pacing;
mod popularity;
pub mod requirement;
pub mod secrets;
pub mod settings;
mod share;
mod shell;
mod sweep;
mod target;
pub mod template;
pub mod url;

pub use arrivals::Arrivals;
pub use campaign::{Plan, RingKind, ServerCommand, Spin};
pub use check::PlanError;
pub use compare::{
    Block, Budget, ComparePlan, Compared, CpuPlacement, Deciding, Source, percent_share,
};
pub use draft::{Draft, Environment, Habits};
pub use expect::{BodyExpectation, Expect, StatusRange};
pub use load::{Arriving, Load, Stop};
pub use observe::{Observe, ObserveError};
pub use pacing::{Pacing, Stretch};
pub use popularity::{Popularity, Ranks};
pub use requirement::{Bound, Comparison, Conditions, Operator, Requirement, RequirementError};
pub use settings::{
    Body, Choice, Connect, Group, Protocol, Request, Requests, Resume, Security, Setting, Takes,
    Timeouts, Version,
};
pub use share::{share, share_in_lots};
pub use shell::shell_word;
pub use sweep::{Axis, Level, Nesting, Order, SIZE, Sweep, WORKERS};
pub use target::{Endpoint, Target};

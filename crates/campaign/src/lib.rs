//! Carries out a campaign: measures the baseline, starts the server if the plan has one, probes it, measures round after
//! round, and has every round on disk as soon as it is over.
//!
//! In scope: the order of things, what must be known before the load, what is kept when something goes wrong. Out of
//! scope: which verb asked for it (`cli`), how a round is measured (`engine`), what it is worth (`audit`).
//!
//! ```no_run
//! use campaign::{Quiet, carry_out};
//! use std::sync::atomic::AtomicBool;
//!
//! let plan = plan::Plan::example("127.0.0.1:8080".parse().unwrap());
//! let stop = AtomicBool::new(false);
//! let generator = ["weigh".into(), "generate".into()]; // a command that calls campaign::generate
//! let outcome = carry_out(plan, "run.json".as_ref(), &generator, &stop, &mut Quiet)?;
//! println!("{} rounds measured", outcome.run.points[0].rounds.len());
//! # Ok::<(), campaign::CampaignError>(())
//! ```
#![forbid(unsafe_code)]

// What is measured, in which order:
mod planned_rounds;
mod schedule;
// checks before the load, events during it, and conditions that end it early;
mod early;
mod preflight;
mod selftest;
mod view;
// the server, its observer, and servers of commits;
mod checkout;
mod observer;
mod server;
// generators that are processes of their own;
mod generator;
mod processes;
// all of that as something to measure on;
mod bench;
mod error;
mod local_bench;
// and the campaign itself, and what it leaves.
mod reading;
mod walk;
// The same for several servers that are loaded in turn.
mod compare;

pub use audit::{check, comply, contradiction, judgement, value};
pub use checkout::{
    BisectExit, BuildCache, BuildCommand, BuildError, Built, Checkout, CheckoutError, WORKING_TREE,
};
pub use compare::{CompareOutcome, CompareView, Unseen, compare, resume_comparison, unequal};
pub use error::CampaignError;
pub use generator::{GenerateError, generate};
pub use planned_rounds::{Generators, PlannedRound, planned_rounds};
pub use preflight::{AvailableResources, check_resources};
pub use reading::{load, load_from};
pub use schedule::left;
pub use selftest::{BeyondReach, SelfTestError};
pub use server::{Ready, Running, ServerError};
pub use view::{Quiet, View};
pub use walk::{Outcome, carry_out, resume};

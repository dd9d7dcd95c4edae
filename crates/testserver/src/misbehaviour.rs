//! What a misbehaving server does by script, and an exact account of it.
//!
//! In scope: the closed table of [`Misbehaviour`]s, the [`Script`] that says which exchange or connection meets which,
//! and the [`Log`] of what was done, against which a client's counters can be held. Out of scope: what a client ought to
//! make of it; *fault* is the client's word.
//!
//! The order in which exchanges are numbered is that in which the server turns to them, over all connections; so with
//! `Every(k)` of n exchanges exactly n / k meet the misbehaviour, however the client spreads them.

// In reading order: what there is,
mod table;
// which connection or exchange meets it,
mod script;
// and what came of it.
mod log;

pub use log::Log;
pub(crate) use script::{Chooser, RULES_MAX, mixed};
pub use script::{Rule, Script, Trigger, When};
#[cfg(test)]
pub(crate) use table::FILL;
pub use table::Misbehaviour;
pub(crate) use table::{REFUSAL, Step, expected};

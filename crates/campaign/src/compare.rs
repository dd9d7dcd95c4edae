//! Comparing servers: all of them are started afresh, loaded in turn in short slices by one generator process, and that is
//! repeated until the budget is used up or the question answered.
//!
//! In scope: the order of things, warm-up, what does not count and why, when it is over, the record on disk after each start. Out
//! of scope: what follows from the slices (`record::Answers`), which verb asked for it.

mod arena;
mod conditions;
mod cycles;
mod local_arena;
mod split;
mod steady;
mod walk;

pub use conditions::unequal;
pub use walk::{CompareOutcome, compare, resume_comparison};

use record::Comparison;

/// Looks on while a comparison is carried out.
pub trait CompareView {
    /// Start `index` begins: servers are being started.
    fn starting(&mut self, _comparison: &Comparison, _index: u32) {}
    /// A slice is over, the measured cycle `cycle` of `of` of start `index`; none while servers warm up.
    fn sliced(&mut self, _comparison: &Comparison, _index: u32, _cycle: Option<(u32, u32)>) {}
    /// Something that the user should know now: a sentence.
    fn note(&mut self, _sentence: &str) {}
    /// Nothing more is measured.
    fn ends(&mut self) {}
}

/// A view that shows nothing.
#[derive(Debug)]
pub struct Unseen;

impl CompareView for Unseen {}

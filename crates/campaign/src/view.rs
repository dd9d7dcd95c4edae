//! Events of a campaign that a view shows while it goes on.

use crate::early::EarlyStop;
use crate::planned_rounds::PlannedRound;
use crate::selftest::SelfTestError;
use engine::{Observer, Progress};
use record::{Finding, Round, Run, SaveError};
use std::path::Path;

/// Looks on while a campaign is carried out.
pub trait View {
    /// The baseline is being measured: at the beginning, and ten times a second.
    fn self_test(&mut self) {}
    /// The baseline could not be measured; the load is carried out without.
    fn without_baseline(&mut self, _error: &SelfTestError) {}
    /// The server of the plan is being started.
    fn starting(&mut self, _command: &str) {}
    /// The target answered; the load begins.
    fn begins(&mut self, _run: &Run) {}
    /// A round begins.
    fn round(&mut self, _planned: &PlannedRound) {}
    /// Ten times a second.
    fn progress(&mut self, _planned: &PlannedRound, _progress: Progress) {}
    /// Returns whether progress includes the percentiles of the last second.
    fn wants_latency(&self) -> bool {
        false
    }
    /// A round is over.
    fn measured(&mut self, _round: &Round) {}
    /// The first round that this campaign measures is in its journal, and later (`is_finished`) its record is at `path`.
    fn recorded(&mut self, _run: &Run, _path: &Path, _is_finished: bool) {}
    /// All rounds of a point are measured; `findings` are its caveats.
    fn point(&mut self, _run: &Run, _point: usize, _findings: &[Finding]) {}
    /// The load could not be measured with two generators, and will not be again; the rounds by one go on.
    fn split_failed(&mut self, _why: &str) {}
    /// A round could not be journaled; it is kept in memory, and the next is tried again.
    fn unjournaled(&mut self, _error: &SaveError) {}
    /// The load is over.
    fn ends(&mut self) {}
}

/// A view that shows nothing.
#[derive(Debug)]
pub struct Quiet;

impl View for Quiet {}

/// What follows a round: the view, and what may end the campaign early.
pub(crate) struct Follower<'a> {
    pub(crate) planned: PlannedRound,
    pub(crate) view: &'a mut dyn View,
    pub(crate) early: &'a EarlyStop,
    /// Whether it is load before the first round, which a view shows as warm-up.
    pub(crate) is_settling: bool,
}

impl Follower<'_> {
    /// Passes on how far the round has come. Returns why the campaign is to end now, if it is.
    pub(crate) fn progress(&mut self, progress: Progress) -> Option<String> {
        let shown = match self.is_settling {
            true => Progress {
                window_start: None,
                ..progress
            },
            false => progress,
        };
        self.view.progress(&self.planned, shown);
        self.early.during(progress, kernel::clock::now())
    }
}

/// Observes the self-test for a view.
pub(crate) struct SelfTestObserver<'a>(pub(crate) &'a mut dyn View);

impl Observer for SelfTestObserver<'_> {
    fn tick(&mut self, _: Progress) {
        self.0.self_test();
    }
}

//! The facts that checks judge by.
//!
//! A record knows them all; a published table a few. So each is optional, and none is made up.

use plan::{Axis, Load, Plan, Stop};
use record::{
    Baseline, Machine, Observed, Point, Probe, Round, Run, SCHEMA_VERSION, ServerEnd,
    SplitGenerators, Summary, Tally,
};
use std::borrow::Cow;

/// What is known of one load level.
#[derive(Debug, Clone, Default)]
pub struct Evidence<'a> {
    /// The plan of this level.
    pub planned: Option<Cow<'a, Plan>>,
    /// The load of this level.
    pub load: Option<Load>,
    /// The machine.
    pub machine: Option<&'a Machine>,
    /// The server's response before the load.
    pub probe: Option<&'a Probe>,
    /// The baseline, where it was measured.
    pub baseline: Option<&'a Baseline>,
    /// Processes whose footprint was taken, or why there are none.
    pub observed: Option<&'a Observed>,
    /// The rounds, perhaps none at all; `None` where only a summary is known.
    pub rounds: Option<&'a [Round]>,
    /// The same load by two generators, where that was measured.
    pub split: Option<&'a SplitGenerators>,
    /// The rounds' tallies added up.
    pub tally: Option<Cow<'a, Tally>>,
    /// The figures: computed from the rounds where they are known, else as stated.
    pub summary: Option<Summary>,
    /// The figures as stated, in every place where they are.
    pub stated: Vec<&'a Summary>,
    /// Whether another version of weigh, or of the record, stated them: its rules may give a figure where these give none.
    pub foreign: bool,
    /// Whether it was stopped before the plan was carried out.
    pub interrupted: bool,
    /// Of a whole sweep that is not complete: the load levels that were measured, and those planned; none of a search.
    pub levels: Option<(usize, Option<usize>)>,
    /// Of a whole sweep of one setting that is no search: the setting and the points.
    pub sweep: Option<(&'a Axis, &'a [Point])>,
    /// Whether it is the long window at the end of a search, of which there is one.
    pub is_long: bool,
    /// How the server that weigh started ended, if it did so at this level.
    pub server_end: Option<&'a ServerEnd>,
}

impl<'a> Evidence<'a> {
    /// What `run` knows of its load level `point`.
    pub fn of(run: &'a Run, point: &'a Point) -> Evidence<'a> {
        let tally = Summary::tally(&point.rounds);
        let repeated = run.summary.as_ref().filter(|_| run.points.len() == 1);
        Evidence {
            planned: Some(match run.plan.sweep {
                None => Cow::Borrowed(&run.plan),
                Some(_) => Cow::Owned(run.plan.at(&point.level)),
            }),
            load: Some(point.level.load),
            machine: Some(&run.machine),
            probe: run.probe.as_ref(),
            baseline: point.baseline.as_ref(),
            observed: run.observed.as_ref(),
            rounds: Some(&point.rounds),
            split: point.split_generators.as_deref(),
            summary: (tally.as_ref())
                .map(|tally| Summary::with(&point.rounds, tally, &run.percentiles())),
            tally,
            stated: point.summary.iter().chain(repeated).collect(),
            foreign: run.weigh != env!("CARGO_PKG_VERSION") || run.schema != SCHEMA_VERSION,
            interrupted: run.interrupted,
            levels: None,
            sweep: None,
            is_long: point.level.windows > 1,
            server_end: (run.server_end.as_ref()).filter(|end| end.level == point.level),
        }
    }

    /// Returns the plan of this level.
    pub fn plan(&self) -> Option<&Plan> {
        self.planned.as_deref()
    }

    /// Rounds that were not cut short.
    pub fn complete(&self) -> Option<Vec<&'a Round>> {
        Some(self.rounds?.iter().filter(|round| !round.partial).collect())
    }

    /// The connections that were asked for, and those of them that can ever be busy; none in an open loop, which opens
    /// as many as it needs.
    pub fn connections(&self) -> Option<(u32, u32)> {
        let Load::Closed { connections } = self.load? else {
            return None;
        };
        let busy = match self.plan()?.stop {
            Stop::Requests(requests) => {
                connections.min(u32::try_from(requests).unwrap_or(u32::MAX))
            }
            Stop::Duration(_) => connections,
        };
        Some((connections, busy))
    }

    /// Whether our own reference server was weighed: the ruler, not a competitor.
    pub fn reference_server(&self) -> bool {
        let server = self.plan().and_then(|plan| plan.server.as_ref());
        server.is_some_and(|server| server.reference_server)
    }
}

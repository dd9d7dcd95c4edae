//! The recorded artefact.

use crate::{
    Cost, Curve, Exit, Finding, Judged, Link, Machine, Observed, Point, Round, SentTotal,
    ServerEnd, Summary,
};
use plan::{Endpoint, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use units::{Nanos, Percentile};

/// Everything that was planned, found and counted in one campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this form.
    pub schema: u32,
    /// Version of weigh that wrote it.
    pub weigh: String,
    /// When the campaign began: seconds since 1970, UTC.
    pub started_unix: u64,
    /// What was intended.
    pub plan: Plan,
    /// Where.
    pub machine: Machine,
    /// What the server answered before the load; none when there was no probe.
    pub probe: Option<Probe>,
    /// Processes whose footprint was taken, or why there are none; none in records that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Load levels and their rounds.
    pub points: Vec<Point>,
    /// The summary of the only point of a single run; none when there are several, or no round was measured.
    pub summary: Option<Summary>,
    /// Exchanges sent in each phase, over all rounds.
    pub sent_total: SentTotal,
    /// What follows from all points of a sweep together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// How long the campaign took, everything included; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Nanos>,
    /// Caveats of the figures.
    pub findings: Vec<Finding>,
    /// What was required of the result, and whether it is met; of a sweep at each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Judged>,
    /// Whether it was stopped before its plan was carried out.
    pub interrupted: bool,
    /// Why the campaign ended before its plan was carried out, where no signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_off: Option<String>,
    /// Why what was measured ended the campaign before its plan was carried out; none where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
    /// The exit status and its reason; none where the status is 0, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// How the server that weigh started ended, where that stopped the campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_end: Option<ServerEnd>,
    /// When it was taken up again after having been stopped: seconds since 1970, UTC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_unix: Vec<u64>,
}

/// One exchange before the load: is the server there, at which address, and what does it say?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The address that accepted the connection; the whole campaign uses it.
    pub endpoint: Endpoint,
    /// The link to it; none where it is a Unix socket, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Addresses that were tried before it, and why they did not serve.
    pub failed: Vec<(Endpoint, String)>,
    /// The request's bytes, as text, without its body.
    pub request_head: String,
    /// The response's head as text; none when none came.
    pub response_head: Option<String>,
    /// How its connection was encrypted; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<crate::Encryption>,
    /// From the start of the connect to the end of the response; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Nanos>,
    /// The response's status; none when none came.
    pub status: Option<u16>,
    /// Length of the response's body.
    pub body_length: u64,
    /// What was wrong with the exchange, if anything.
    pub fault: Option<String>,
    /// How many requests were probed: the first of the plan, each once; this record describes the very first.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub requests: u64,
    /// How many of them got no response that the plan expects.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub errors: u64,
    /// What the first of those got instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Probe {
    /// Returns what the server calls itself in its response.
    pub fn server_name(&self) -> Option<&str> {
        self.header("server")
    }

    /// Returns the value of a header of its response; none where it is missing or empty.
    pub fn header(&self, wanted: &str) -> Option<&str> {
        let head = self.response_head.as_deref()?;
        head.lines().skip(1).find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            (name.eq_ignore_ascii_case(wanted) && !value.is_empty()).then_some(value)
        })
    }
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

impl Run {
    /// Returns a record of which nothing is measured yet.
    pub fn new(plan: Plan, machine: Machine, weigh: &str, started_unix: u64) -> Run {
        Run {
            schema: crate::SCHEMA_VERSION,
            weigh: weigh.to_owned(),
            started_unix,
            machine,
            plan,
            probe: None,
            observed: None,
            points: Vec::new(),
            summary: None,
            sent_total: SentTotal::default(),
            curve: None,
            elapsed: None,
            findings: Vec::new(),
            requirements: Vec::new(),
            interrupted: false,
            broken_off: None,
            aborted: None,
            exit: None,
            server_end: None,
            resumed_unix: Vec::new(),
        }
    }

    /// Makes room for the points of a sweep, which are measured in any order.
    pub fn expect_points(&mut self) {
        if self.plan.sweep.is_some() && !self.plan.is_search() {
            self.points = self.plan.levels().into_iter().map(Point::new).collect();
        }
    }

    /// Makes a run that was stopped ready to go on at `now` (seconds since 1970): what was cut short is to be measured again,
    /// and every point of the sweep has its place.
    pub fn reopen(&mut self, now: u64) {
        let measured = std::mem::take(&mut self.points);
        self.expect_points();
        for mut point in measured {
            point.rounds.retain(|round| !round.partial);
            if let Some(split) = &mut point.split_generators {
                split.rounds.retain(|round| !round.partial);
                split.failed = None;
            }
            let place = self
                .points
                .iter_mut()
                .find(|place| place.level == point.level);
            match place {
                Some(place) => *place = point,
                None => self.points.push(point),
            }
        }
        self.interrupted = false;
        self.broken_off = None;
        self.aborted = None;
        self.exit = None;
        self.server_end = None;
        self.resumed_unix.push(now);
        self.findings.clear();
        self.requirements.clear();
    }

    /// A `{seq}` that neither a probe nor a round has used: each exchange took one at most, and each thread left a gap of fewer than there
    /// are threads.
    pub fn unused_seq(&self) -> u64 {
        let rounds = self.points.iter().flat_map(Point::all_rounds);
        let used = rounds.map(|round| {
            let threads = round.threads.len() as u64;
            let sent = round.sent().saturating_add(round.tally.scheduled);
            sent.saturating_add(threads * threads)
        });
        let apart = self
            .sent_total
            .unopened
            .saturating_add(self.sent_total.probe);
        used.fold(apart, u64::saturating_add)
    }

    /// Leaves away the points of a sweep of which nothing was measured, and puts those of a search in order, those with long
    /// windows last.
    pub fn drop_unmeasured(&mut self) {
        if self.plan.sweep.is_some() {
            self.points.retain(|point| !point.rounds.is_empty());
        }
        if self.plan.is_search() {
            let place = |point: &Point| (point.level.windows, crate::Capacity::height(point));
            self.points
                .sort_by(|a, b| place(a).partial_cmp(&place(b)).unwrap_or(Ordering::Equal));
        }
    }

    /// Returns the percentiles that every summary of the record lists, ascending: the usual ones and those of the plan.
    pub fn percentiles(&self) -> Vec<Percentile> {
        let planned = self.plan.percentiles.iter();
        let all = planned.chain(&Percentile::DEFAULT).copied();
        BTreeSet::from_iter(all).into_iter().collect()
    }

    /// Recomputes everything that follows from the rounds: each point's figures, and those of all points together.
    pub fn summarise(&mut self) {
        let list = self.percentiles();
        let summaries = self.points.iter().map(|point| {
            let tally = Summary::tally(&point.rounds)?;
            Some(Summary::with(&point.rounds, &tally, &list))
        });
        self.store(summaries.collect());
    }

    /// Stores `summaries`, one for each point, that were computed from the rounds, and computes what else follows.
    pub fn store(&mut self, summaries: Vec<Option<Summary>>) {
        for (point, summary) in self.points.iter_mut().zip(summaries) {
            point.summary = summary;
            point.footprint = Cost::of(&point.rounds);
            if let Some(split) = &mut point.split_generators {
                split.compare(&point.rounds);
            }
        }
        self.summary = match &self.points[..] {
            [only] => only.summary.clone(),
            _ => None,
        };
        self.curve = self
            .plan
            .sweep
            .is_some()
            .then(|| Curve::of(&self.points, &self.plan));
        let splits = self.points.iter().flat_map(Point::split_rounds);
        let splits = splits.map(Round::sent);
        let mut sent = SentTotal::default();
        for round in self.points.iter().flat_map(|point| &point.rounds) {
            sent.merge(&round.sent_total);
            let settling = round.settling.as_ref();
            let warmup = settling.map_or(0, |settling| settling.sent);
            sent.warmup = sent.warmup.saturating_add(warmup);
        }
        self.sent_total = SentTotal {
            // Neither is in the rounds, so that summarising twice counts them once.
            probe: self.sent_total.probe,
            unopened: self.sent_total.unopened,
            split_generators: splits.fold(0, u64::saturating_add),
            ..sent
        };
    }
}

//! What figures are read from: one round, or all rounds of a load level, with what follows from them.

use plan::Plan;
use record::{
    Censored, CoordinatedOmission, Cost, Errors, Finding, Grade, OpenFigures, Point, Round, Run,
    SessionFigures, Statistic, Summary, Tally,
};
use stats::Histogram;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use units::Percentile;

/// Some rounds of a load level and everything that is computed from them, each thing once.
#[derive(Debug)]
pub struct Figures<'a> {
    /// The whole record.
    pub run: &'a Run,
    /// Its number among several, from 1.
    pub record: u32,
    /// The load level.
    pub point: &'a Point,
    /// Its index among the points.
    pub index: usize,
    /// Plan at this level.
    pub plan: Cow<'a, Plan>,
    /// The rounds, all of the level or one; at least one.
    pub rounds: &'a [Round],
    /// Whether it is a single round.
    pub is_round: bool,
    /// Generator processes that measured the rounds, 1 or 2.
    pub generators: u32,
    /// The only request of the list that counts here; none where all do.
    pub request: Option<&'a str>,
    /// Figures of the rounds that scripts rely on.
    pub summary: Cow<'a, Summary>,
    /// What the server cost; none where it was not observed.
    pub cost: Option<Cow<'a, Cost>>,
    tally: OnceCell<Cow<'a, Tally>>,
}

impl<'a> Figures<'a> {
    /// Returns what point `index` of `run` has come to; none where no round of it was measured.
    pub fn of(run: &'a Run, index: usize) -> Option<Figures<'a>> {
        let point = run.points.get(index)?;
        let (summary, cost) = match &point.summary {
            Some(summary) => (
                Cow::Borrowed(summary),
                point.footprint.as_ref().map(Cow::Borrowed),
            ),
            None => (
                Cow::Owned(Summary::of(&point.rounds)?),
                Cost::of(&point.rounds).map(Cow::Owned),
            ),
        };
        Some(Figures {
            run,
            record: 1,
            point,
            index,
            plan: match run.plan.sweep {
                None => Cow::Borrowed(&run.plan),
                Some(_) => Cow::Owned(run.plan.at(&point.level)),
            },
            rounds: &point.rounds,
            is_round: false,
            generators: 1,
            request: None,
            summary,
            cost,
            tally: OnceCell::new(),
        })
    }

    /// Returns every measured point of `run`.
    pub fn points(run: &'a Run) -> impl Iterator<Item = Figures<'a>> {
        (0..run.points.len()).filter_map(|index| Figures::of(run, index))
    }

    /// Returns each round of the point by itself; at last those that two generators measured.
    pub fn each_round(&self) -> impl Iterator<Item = Figures<'_>> {
        let singles = self.point.rounds.iter().map(|round| (round, 1));
        let all = singles.chain(self.point.split_rounds().map(|round| (round, 2)));
        all.filter_map(|(round, generators)| {
            let rounds = std::slice::from_ref(round);
            let all = self.part(rounds, Summary::of(rounds)?);
            Some(Figures {
                plan: match generators {
                    1 => all.plan,
                    _ => Cow::Owned(all.plan.for_two_generators()),
                },
                is_round: true,
                generators,
                cost: Cost::of(rounds).map(Cow::Owned),
                ..all
            })
        })
    }

    /// The same point, of which only `rounds` with their `summary` count.
    fn part<'b>(&'b self, rounds: &'b [Round], summary: Summary) -> Figures<'b> {
        Figures {
            run: self.run,
            record: self.record,
            point: self.point,
            index: self.index,
            plan: Cow::Borrowed(&*self.plan),
            rounds,
            is_round: self.is_round,
            generators: self.generators,
            request: None,
            summary: Cow::Owned(summary),
            cost: None,
            tally: OnceCell::new(),
        }
    }

    /// Returns each request of the list by itself, over all the rounds; nothing where a run sends only one. Only counts and
    /// latency are known of them ([`Figure::of_requests`](crate::Figure)).
    pub fn each_request(&self) -> impl Iterator<Item = Figures<'_>> {
        let requested = self.tally().requested.as_deref();
        self.summary.by_request.iter().filter_map(move |one| {
            let mut known = requested?.each.iter();
            let tally = known.find(|tally| tally.request == one.request)?;
            let summary = Summary {
                requests: one.requests,
                ok: one.ok,
                errors: Errors {
                    total: one.errors,
                    by_kind: BTreeMap::new(),
                },
                latency_us: one.latency_us.clone(),
                by_request: Vec::new(),
                settling: None,
                open: None,
                coordinated_omission: None,
                per_request: None,
                rps: self.summary.rps.clone(),
                ..*self.summary
            };
            let tally = Tally {
                ok: one.ok,
                service: tally.latency.clone(),
                censored_from: tally.censored_from,
                ..Tally::default()
            };
            Some(Figures {
                request: Some(&one.request),
                tally: OnceCell::from(Cow::Owned(tally)),
                ..self.part(self.rounds, summary)
            })
        })
    }

    /// Returns the counts and distributions of all the rounds together.
    pub fn tally(&self) -> &Tally {
        let sum = || Summary::tally(self.rounds).unwrap_or_default();
        self.tally.get_or_init(sum)
    }

    /// Returns the findings about this point, alone or among others.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        let index = self.index;
        let findings = self.run.findings.iter();
        findings.filter(move |finding| finding.concerns(index))
    }

    /// Returns the findings that affect figures, as `check:grade`, separated by spaces.
    pub(crate) fn caveats(&self) -> String {
        let affecting = self
            .findings()
            .filter(|finding| finding.grade() > Grade::Note);
        let words: Vec<String> = affecting
            .map(|finding| format!("{}:{}", finding.check, finding.grade()).to_lowercase())
            .collect();
        words.join(" ")
    }

    /// Returns whether coordinated omission makes percentile `p` of latency too small.
    pub fn is_affected(&self, p: Percentile) -> bool {
        self.omission()
            .is_some_and(|omission| omission.affects(self.tally(), p))
    }

    /// Returns whether a censored request bounds a statistic of latency from below.
    pub(crate) fn is_bound(&self, of: Statistic) -> bool {
        let tally = self.tally();
        Censored::of_latency(tally).is_some_and(|censored| censored.bounds(tally.latency(), of))
    }

    /// Returns what only an open loop has.
    pub(crate) fn open(&self) -> Option<&OpenFigures> {
        self.summary.open.as_ref()
    }

    /// Returns what only connections that arrive by a schedule have.
    pub(crate) fn sessions(&self) -> Option<&SessionFigures> {
        self.open()?.sessions.as_ref()
    }

    /// Returns the stalls that a closed loop did not see.
    pub(crate) fn omission(&self) -> Option<&CoordinatedOmission> {
        self.summary.coordinated_omission.as_ref()
    }

    /// Returns the CPU time of the generator's threads, without busy-polling, per request that ended, in microseconds.
    pub(crate) fn generator_cpu_us(&self) -> Option<f64> {
        let threads = self.rounds.iter().flat_map(|round| &round.threads);
        let worked: Option<units::Nanos> = threads.map(|thread| thread.worked()).sum();
        self.per_ending(worked?)
    }

    /// Returns the CPU time of the server per request that ended, ok or not, in microseconds; none where its clocks were
    /// not read for every window.
    pub(crate) fn server_cpu_us(&self) -> Option<f64> {
        let each = self
            .rounds
            .iter()
            .map(|round| round.priced().map(|print| print.cpu));
        let cpu: Option<units::Nanos> = each.sum();
        self.per_ending(cpu?)
    }

    fn per_ending(&self, cpu: units::Nanos) -> Option<f64> {
        let ended = self.tally().series.endings();
        (ended > 0).then(|| cpu.as_micros_f64() / ended as f64)
    }
}

/// Returns a statistic of `times` in microseconds, where there are samples enough.
pub(crate) fn statistic(times: Option<&Histogram>, of: Statistic) -> Option<f64> {
    let times = times?;
    let nanos = match of {
        Statistic::Min => times.min()? as f64,
        Statistic::Mean => times.mean()?,
        Statistic::At(p) => times.quantile_if_carried(p.quantile())? as f64,
        Statistic::Max => times.max()? as f64,
    };
    Some(nanos / 1e3)
}

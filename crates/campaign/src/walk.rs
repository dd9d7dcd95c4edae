//! The walk itself: everything that can go wrong before the load is found before it; everything that was measured
//! is kept, whatever happens later.

use crate::bench::{Bench, Unmeasured};
use crate::early::EarlyStop;
use crate::error::CampaignError;
use crate::local_bench::LocalBench;
use crate::planned_rounds::{Generators, PlannedRound};
use crate::preflight::{AvailableResources, check_resources, check_search};
use crate::schedule::{self, Schedule};
use crate::selftest::SelfTestError;
use crate::view::{Follower, View};
use audit::Evidence;
use engine::RoundError;
use plan::{Plan, Stop};
use record::{
    Baseline, Cost, Journal, Machine, Point, Round, Run, SaveError, Settling, SplitGenerators,
    Summary,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use units::Nanos;

/// What a campaign leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was measured, judged.
    pub run: Run,
    /// The finished file, or why there is none.
    pub saved: Result<PathBuf, SaveError>,
}

/// Carries `plan` out and leaves the record at `output`. `generator` is the command that starts a generator process of
/// its own, where the plan has two of them: a program that calls [`crate::generate`]. When `stop` becomes true the round is cut short, and what was
/// measured is judged and saved all the same.
///
/// # Errors
/// [`CampaignError`]: what was found before anything was measured. Later trouble is in [`Outcome`].
pub fn carry_out(
    plan: Plan,
    output: &Path,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<Outcome, CampaignError> {
    let mut bench = LocalBench::new(generator, stop);
    Campaign::of(&plan, &mut bench, stop, view).begin(output)
}

/// Goes on with `earlier`, the record of a campaign at `output` that was stopped: what it lacks of `plan` is measured.
///
/// # Errors
/// [`CampaignError`], [`CampaignError::Differs`] where plan or machine are not what they were; `earlier` is then untouched.
pub fn resume(
    plan: Plan,
    earlier: Run,
    output: &Path,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<Outcome, CampaignError> {
    let mut bench = LocalBench::new(generator, stop);
    Campaign::of(&plan, &mut bench, stop, view).resume(earlier, output)
}

/// What must hold before anything is begun.
fn check(plan: &Plan) -> Result<(), CampaignError> {
    plan.check()?;
    check_search(plan)?;
    let (first, last) = kernel::limits::local_port_range();
    let open_files = match kernel::limits::raise_open_files() {
        Ok(before) => before.hard,
        Err(_) => kernel::limits::open_files().soft,
    };
    let there_is = AvailableResources {
        open_files,
        ports: u64::from(last - first) + 1,
    };
    if let Some(endpoint) = plan.target.endpoints.first() {
        for level in plan.levels() {
            check_resources(&plan.at(&level), endpoint, there_is)?;
        }
    }
    Ok(())
}

/// Where a campaign's rounds are kept while it goes on.
enum Keeping {
    /// In a journal that was just begun.
    New(Journal),
    /// In place of the one that was left beside this record, once there is something to add.
    Old(PathBuf),
}

impl Keeping {
    /// The journal, when the load begins.
    fn begin(self, run: &mut Run) -> Result<Journal, SaveError> {
        match self {
            Keeping::New(mut journal) => journal.begin(run).map(|()| journal),
            Keeping::Old(path) => Journal::resume(&path, run),
        }
    }

    /// Nothing was measured.
    fn discard(self) {
        if let Keeping::New(journal) = self {
            journal.discard();
        }
    }
}

/// A campaign that is carried out.
struct Campaign<'a> {
    plan: &'a Plan,
    bench: &'a mut dyn Bench,
    /// When it becomes true the campaign ends.
    stop: &'a AtomicBool,
    view: &'a mut dyn View,
    /// All that was measured.
    run: Run,
    /// The baseline at each point that was begun, by the point's place in the record.
    baselines: BTreeMap<usize, Option<Baseline>>,
    /// The first `{seq}` that neither a probe nor a round has used.
    seq: u64,
    early: EarlyStop,
    /// What is known of a server that was just probed and is not under load yet.
    fresh: Option<Settling>,
    /// Whether a round of it is in the journal.
    is_recorded: bool,
}

impl<'a> Campaign<'a> {
    fn of(
        plan: &'a Plan,
        bench: &'a mut dyn Bench,
        stop: &'a AtomicBool,
        view: &'a mut dyn View,
    ) -> Campaign<'a> {
        let run = new_run(plan.published(), bench.machine());
        Campaign {
            early: EarlyStop::of(plan, &run),
            run,
            plan,
            bench,
            stop,
            view,
            baselines: BTreeMap::new(),
            seq: 0,
            fresh: None,
            is_recorded: false,
        }
    }

    /// Carries out all of it.
    fn begin(self, output: &Path) -> Result<Outcome, CampaignError> {
        check(self.plan)?;
        let journal = Keeping::New(Journal::create(output, &self.run)?);
        self.carry_on(journal)
    }

    /// Carries out what `earlier` lacks.
    fn resume(mut self, mut earlier: Run, output: &Path) -> Result<Outcome, CampaignError> {
        check(self.plan)?;
        let differs = |what: String| CampaignError::Differs {
            path: output.into(),
            what,
        };
        // These change nothing of what is measured, nor does what is written down.
        let own = self.plan.clone();
        let plan = Plan {
            strict: own.strict,
            requirements: own.requirements,
            abort_if: own.abort_if,
            percentiles: own.percentiles,
            withhold: own.withhold,
            ..earlier.plan
        };
        earlier.plan = plan.published();
        if self.run.plan != earlier.plan {
            return Err(differs("the plan".into()));
        }
        if let Some(what) = earlier.machine.differs_from(&self.run.machine) {
            return Err(differs(what.into()));
        }
        if let Some(probe) = &mut earlier.probe {
            let secrets = self.plan.secrets(); // more may be withheld than was
            probe.request_head = secrets.head(&probe.request_head);
            let response = probe.response_head.as_deref();
            probe.response_head = response.map(|head| secrets.head(head));
        }
        earlier.reopen(kernel::clock::realtime().as_secs());
        if Schedule::of(self.plan, &earlier).next(&earlier).is_none() {
            return Err(CampaignError::Complete(output.into()));
        }
        self.seq = earlier.unused_seq();
        self.early = EarlyStop::of(self.plan, &earlier);
        self.run = earlier;
        self.carry_on(Keeping::Old(output.into()))
    }

    fn carry_on(mut self, journal: Keeping) -> Result<Outcome, CampaignError> {
        let begun = kernel::clock::now();
        // How long a killed campaign took is not known.
        let before = match self.run.resumed_unix.is_empty() {
            true => Some(Nanos::ZERO),
            false => self.run.elapsed.take(), // so that the journal does not claim to know
        };
        let walked = self.walk(journal);
        self.bench.clear();
        self.view.ends();
        let journal = walked?;
        let mut run = self.run;
        run.elapsed = before.map(|before| before + (kernel::clock::now() - begun));
        audit::conclude(&mut run);
        let is_file = journal.record().is_some();
        let saved = journal.finish(&run);
        if let Ok(path) = &saved
            && is_file
        {
            self.view.recorded(&run, path, true);
        }
        Ok(Outcome { run, saved })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Prepares and measures. A round that cannot be journaled is still in the run, and so in the finished record.
    fn walk(&mut self, journal: Keeping) -> Result<Journal, CampaignError> {
        let mut schedule = Schedule::of(self.plan, &self.run);
        let mut next = schedule.next(&self.run);
        let first = next.expect("a plan that was checked has rounds");
        let level = self.plan.at(&first.level);
        if let Err(error) = self
            .baseline(&first, &level)
            .and_then(|_| self.prepare(&level))
        {
            journal.discard();
            return Err(error);
        }
        if self.run.points.is_empty() {
            self.run.expect_points();
        }
        let mut journal = journal.begin(&mut self.run)?;
        self.view.begins(&self.run);
        (0..self.run.points.len()).for_each(|point| self.show_point(point));
        while let Some(planned) = next.filter(|_| !self.is_stopped()) {
            if let Err(error) = self.step(&planned, &mut journal) {
                match error {
                    CampaignError::ServerEnded(end) => self.run.server_end = Some(*end),
                    CampaignError::Aborted(why) => self.run.aborted = Some(why),
                    error if self.has_no_round() => return Err(error),
                    CampaignError::Interrupted => {}
                    error => self.run.broken_off = Some(published(self.plan, &error)),
                }
                self.run.interrupted = true; // what was measured before it stands
                break;
            }
            next = schedule.next(&self.run);
        }
        self.run.interrupted |= self.is_stopped();
        self.run.drop_unmeasured();
        Ok(journal)
    }

    fn has_no_round(&self) -> bool {
        self.run.points.iter().all(|point| point.rounds.is_empty())
    }

    /// Measures one planned round, and keeps what came of it.
    fn step(&mut self, planned: &PlannedRound, journal: &mut Journal) -> Result<(), CampaignError> {
        if planned.by == Generators::Two && self.has_given_up_two(planned) {
            return Ok(());
        }
        self.view.round(planned);
        let mut level = self.plan.at(&planned.level);
        if self.plan.is_search() {
            level.warmup = schedule::warmup(self.plan, &self.run);
        }
        let baseline = match planned.by {
            Generators::One => self.baseline(planned, &level)?,
            Generators::Two => None,
        };
        self.prepare(&level)?;
        if let Some(lost) = self.bench.lost(planned) {
            return Err(lost);
        }
        let settling = self.settle(planned, &level)?;
        if self.is_stopped() {
            self.run.sent_total.unopened += settling.map_or(0, |settling| settling.sent);
            return Ok(());
        }
        let mut follower = Follower {
            planned: *planned,
            view: self.view,
            early: &self.early,
            is_settling: false,
        };
        let (measured, lost) = self.bench.round(self.seq, &mut follower);
        let measured = match measured {
            Ok((mut round, next)) => {
                self.seq = next;
                round.warmup = (level.warmup != self.plan.warmup).then_some(level.warmup);
                round.settling = settling;
                Ok(round)
            }
            Err(Unmeasured::One(error)) => return Err(error.into()),
            Err(Unmeasured::Two(why)) => Err(why),
        };
        self.keep(planned, baseline, measured, journal);
        let early = match planned.by {
            Generators::One => self.early.after(&self.run, planned.point),
            Generators::Two => None,
        };
        self.show_point(planned.point);
        let lost = lost.or(early.map(CampaignError::Aborted));
        lost.map_or(Ok(()), Err)
    }

    /// Loads a server that was just probed with windows of 1 s, as `level` does, until its state is steady; ends at a limit,
    /// with errors that end a campaign, and where nothing ends ok. None where the plan wants none, and where the server was under
    /// load before.
    fn settle(
        &mut self,
        planned: &PlannedRound,
        level: &Plan,
    ) -> Result<Option<Box<Settling>>, CampaignError> {
        let Some(fresh) = self.fresh.take().filter(|_| level.settle) else {
            return Ok(None);
        };
        let warmup = level.warmup.min(Settling::WARMUP);
        let mut window = Plan {
            stop: Stop::Duration(Settling::WINDOW),
            warmup: Nanos::ZERO,
            ..level.clone()
        };
        let mut windows = Vec::new();
        loop {
            self.prepare(&window)?;
            let mut follower = Follower {
                planned: PlannedRound {
                    by: Generators::One,
                    ..*planned
                },
                view: self.view,
                early: &self.early,
                is_settling: true,
            };
            let (measured, lost) = self.bench.round(self.seq, &mut follower);
            let (round, next) = measured.map_err(|why| RoundError(why.to_string()))?;
            self.seq = next;
            let is_over = round.partial || round.tally.ok == 0;
            windows.push(round);
            let (settling, goes_on) = Settling::of(&windows, warmup, level.load.is_open());
            if let Some(lost) = lost.filter(|lost| !matches!(lost, CampaignError::Aborted(_))) {
                self.run.sent_total.unopened += settling.sent;
                return Err(lost); // errors that end the campaign do so in the round
            }
            if is_over || !goes_on || self.is_stopped() {
                self.prepare(level)?;
                return Ok(Some(Box::new(Settling {
                    first_response: fresh.first_response,
                    ..settling
                })));
            }
            window.warmup = warmup;
        }
    }

    /// Whether no more rounds by two generators are tried at the point of `planned`, because one could not be measured.
    fn has_given_up_two(&self, planned: &PlannedRound) -> bool {
        let point = self.run.points.get(planned.point);
        let split = point.and_then(|point| point.split_generators.as_ref());
        split.is_some_and(|split| split.failed.is_some())
    }

    /// Returns the baseline at the point of `planned`, whose plan is `plan`: measured before its first round, unless an
    /// earlier run has begun the point. None in a closed loop, and where the baseline cannot be measured: the load is
    /// measured without it.
    ///
    /// A rate beyond reach is refused as long as nothing is measured. Later, what there is shall not be lost for it: the
    /// load is tried, and judged by what comes of it.
    fn baseline(
        &mut self,
        planned: &PlannedRound,
        plan: &Plan,
    ) -> Result<Option<Baseline>, CampaignError> {
        if let Some(known) = self.baselines.get(&planned.point) {
            return Ok(known.clone());
        }
        let point = self.run.points.get(planned.point);
        let mut baseline = point.and_then(|point| point.baseline.clone());
        if baseline.is_none() && plan.load.is_open() {
            baseline = match self.bench.baseline(plan, self.view) {
                Ok(baseline) => Some(baseline),
                Err(SelfTestError::BeyondReach(error)) if self.has_no_round() => {
                    return Err(error.into());
                }
                Err(SelfTestError::Interrupted) => return Err(CampaignError::Interrupted),
                Err(error) => {
                    self.view.without_baseline(&error);
                    None
                }
            };
        }
        self.baselines.insert(planned.point, baseline.clone());
        Ok(baseline)
    }

    /// Makes the bench ready for `plan`, the plan of one point. The first of all servers' responses is recorded.
    fn prepare(&mut self, plan: &Plan) -> Result<(), CampaignError> {
        let Some(ready) = self.bench.prepare(plan, self.seq, self.view)? else {
            return Ok(());
        };
        self.seq += ready.probes;
        self.run.sent_total.probe += ready.probes;
        self.fresh = Some(Settling {
            first_response: ready.probe.took,
            ..Settling::default()
        });
        if let Some(why) = ready.unexpected(plan) {
            return match self.is_stopped() {
                true => Err(CampaignError::Interrupted),
                false => Err(CampaignError::Unexpected(why)),
            };
        }
        let endpoint = ready.probe.endpoint.clone();
        self.run.probe.get_or_insert(ready.probe);
        let observed = self.bench.observe(plan, &endpoint)?;
        self.run.observed.get_or_insert(observed);
        Ok(())
    }

    /// Keeps what came of `planned`: a round, of which one that was cut off before its window opened holds nothing; or why
    /// there is none by two generators.
    fn keep(
        &mut self,
        planned: &PlannedRound,
        baseline: Option<Baseline>,
        measured: Result<Round, String>,
        journal: &mut Journal,
    ) {
        let (place, level) = (planned.point, &planned.level);
        let written = match (planned.by, &measured) {
            (Generators::One, Ok(round)) => {
                journal.append_round(place, level, baseline.as_ref(), round)
            }
            (_, measured) => {
                journal.append_split(place, level, measured.as_ref().map_err(String::as_str))
            }
        };
        match (written, journal.record()) {
            (Err(error), _) => self.view.unjournaled(&error),
            (Ok(()), Some(path)) if !self.is_recorded => {
                self.is_recorded = true;
                self.view.recorded(&self.run, path, false);
            }
            (Ok(()), _) => {}
        }
        match &measured {
            Ok(round) => self.view.measured(round),
            Err(why) => self.view.split_failed(why),
        }
        if self.run.points.len() <= place {
            self.run.points.push(Point::new(planned.level));
        }
        let point = &mut self.run.points[place];
        if planned.by == Generators::One {
            point.baseline = baseline;
        }
        match measured {
            Ok(round) if round.window.span() == Nanos::ZERO => {
                self.run.sent_total.unopened += round.sent();
            }
            Ok(round) if planned.by == Generators::One => point.rounds.push(round),
            Ok(round) => point.split_mut().rounds.push(round),
            Err(why) => point.split_mut().failed = Some(why),
        }
    }

    /// Shows a point as soon as all its rounds are measured, judged by itself; in a search after each round.
    fn show_point(&mut self, index: usize) {
        let run = &mut self.run;
        let point = &mut run.points[index];
        let rounds = point.rounds.len();
        let all = run.plan.rounds as usize;
        let has_splits =
            |split: &SplitGenerators| split.failed.is_some() || split.rounds.len() == all;
        let is_whole = rounds == all || rounds > 0 && run.plan.is_search();
        if is_whole
            && (!run.plan.two_generators
                || point.split_generators.as_deref().is_some_and(has_splits))
        {
            point.rounds.sort_by_key(|round| round.index); // one that was measured again comes later
            point.summary = Summary::of(&point.rounds);
            point.footprint = Cost::of(&point.rounds);
            let evidence = Evidence::of(run, &run.points[index]);
            self.view
                .point(run, index, &audit::judge_evidence(&evidence));
        }
    }
}

fn new_run(plan: Plan, machine: Machine) -> Run {
    let started = kernel::clock::realtime().as_secs();
    Run::new(plan, machine, env!("CARGO_PKG_VERSION"), started)
}

/// What an error says, as it may be written down: the server's command may be in it.
fn published(plan: &Plan, error: &CampaignError) -> String {
    let command = plan.server.as_ref().map(|server| &server.argv);
    let shown = command.map(|argv| (argv.join(" "), plan.secrets().command(argv).join(" ")));
    match shown {
        Some((command, shown)) => error.to_string().replace(&command, &shown),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;

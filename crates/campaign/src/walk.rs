//! The walk itself: everything that can go wrong before the load is found before it; everything that was measured
//! is kept, whatever happens later.

use crate::cells::{Cell, Generators};
use crate::course::Course;
use crate::early::EarlyStop;
use crate::foresight::{Foresight, Shortage, foresee, foresee_search};
use crate::selftest::{self, BeyondReach, SelfTestError};
use crate::server::{Ready, Running, ServerError};
use crate::twin;
use crate::unexpected::UnexpectedError;
use crate::witness::{ObserveError, Subject, Witness};
use audit::Evidence;
use engine::{Job, JobError, Observer, PROBED, ProbeError, Progress, Rep, RoundError};
use kernel::{Epoll, Errno};
use plan::{Endpoint, Plan, PlanError};
use record::{
    Cost, During, Finding, Floor, Journal, Point, Round, Run, SaveError, SentTotal, ServerEnd,
    Summary, Twin,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Why a campaign measured nothing. Each text names what to do about it.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The plan is not sound.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The machine does not have what the plan needs.
    #[error(transparent)]
    Shortage(#[from] Shortage),
    /// The generator cannot offer the rate.
    #[error(transparent)]
    BeyondReach(#[from] BeyondReach),
    /// It was interrupted before anything was asked.
    #[error("interrupted before the load began")]
    Interrupted,
    /// The record could not be written, which is found before the load.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The server did not come up.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server that was started has ended.
    #[error("{}", .0.sentence())]
    ServerEnded(Box<ServerEnd>),
    /// What was measured says that the campaign is to end.
    #[error("{0}")]
    Aborted(String),
    /// The guardian has ended.
    #[error(
        "the process `{}`, which ends the server if weigh is killed, has ended itself; measure again, and leave it alone",
        kernel::process::GUARDIAN
    )]
    Unguarded,
    /// Nothing could be reached.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The probe did not get an expected response.
    #[error(transparent)]
    Unexpected(#[from] UnexpectedError),
    /// A file that the plan names could not be read.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Threads could not be set up.
    #[error(transparent)]
    Round(#[from] RoundError),
    /// What is to go on is not what was begun.
    #[error("{what} is not what it was when {} was measured, so its points could not be compared; measure anew", .path.display())]
    Differs {
        /// The record.
        path: PathBuf,
        /// What is another.
        what: String,
    },
    /// There is nothing to go on with.
    #[error("{} has every round of its plan already; see it with `weigh report`", .0.display())]
    Complete(PathBuf),
    /// The server that was to be observed is not there.
    #[error(transparent)]
    Nobody(#[from] ObserveError),
    /// No ring to probe with.
    #[error("the kernel gives no epoll instance: {0}")]
    Ring(Errno),
}

/// What a campaign leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was measured, judged.
    pub run: Run,
    /// The finished file, or why there is none.
    pub saved: Result<PathBuf, SaveError>,
}

/// Looks on while a campaign is carried out.
pub trait View {
    /// The instrument's own floor is being measured: when that begins, and ten times a second.
    fn self_test(&mut self) {}
    /// The floor could not be measured; the load is carried out without.
    fn without_floor(&mut self, _error: &SelfTestError) {}
    /// The server that was asked for is being started.
    fn starting(&mut self, _command: &str) {}
    /// The target answered; the load begins.
    fn begins(&mut self, _run: &Run) {}
    /// A round begins.
    fn round(&mut self, _cell: &Cell) {}
    /// Ten times a second.
    fn progress(&mut self, _cell: &Cell, _progress: Progress) {}
    /// A round is over.
    fn measured(&mut self, _round: &Round) {}
    /// All rounds of a point are measured; `findings` is what is to be held against it.
    fn point(&mut self, _run: &Run, _point: usize, _findings: &[Finding]) {}
    /// The load could not be measured with two generators, and will not be again; the rounds by one go on.
    fn twin_failed(&mut self, _why: &str) {}
    /// A round could not be journaled; it is kept in memory, and the next is tried again.
    fn unjournaled(&mut self, _error: &SaveError) {}
    /// The load is over.
    fn ends(&mut self) {}
}

/// A view that does not look.
#[derive(Debug)]
pub struct Quiet;

impl View for Quiet {}

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
    check(&plan)?;
    let run = new_run(plan.published());
    let journal = Keeping::New(Journal::create(output, &run)?);
    carry_on(&plan, run, journal, generator, stop, view)
}

/// Goes on with `earlier`, the record of a campaign at `output` that was stopped: what it lacks of `plan` is measured.
///
/// # Errors
/// [`CampaignError`], [`CampaignError::Differs`] where plan or machine are not what they were; `earlier` is then untouched.
pub fn resume(
    plan: Plan,
    mut earlier: Run,
    output: &Path,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<Outcome, CampaignError> {
    check(&plan)?;
    let differs = |what: String| CampaignError::Differs {
        path: output.into(),
        what,
    };
    // These change nothing of what is measured,
    earlier.plan.strict = plan.strict;
    earlier.plan.requirements.clone_from(&plan.requirements);
    earlier.plan.abort_if.clone_from(&plan.abort_if);
    earlier.plan.withhold.clone_from(&plan.withhold); // nor does what is written down
    earlier.plan = earlier.plan.published();
    if plan.published() != earlier.plan {
        return Err(differs("the plan".into()));
    }
    if let Some(what) = earlier.machine.differs_from(&host::machine()) {
        return Err(differs(what.into()));
    }
    earlier.reopen(kernel::clock::realtime().as_secs());
    if Course::of(&plan, &earlier).next(&earlier).is_none() {
        return Err(CampaignError::Complete(output.into()));
    }
    let journal = Keeping::Old(output.into());
    carry_on(&plan, earlier, journal, generator, stop, view)
}

/// What must hold before anything is begun.
fn check(plan: &Plan) -> Result<(), CampaignError> {
    plan.check()?;
    foresee_search(plan)?;
    let (first, last) = kernel::limits::local_port_range();
    let open_files = match kernel::limits::raise_open_files() {
        Ok(before) => before.hard,
        Err(_) => kernel::limits::open_files().soft,
    };
    let there_is = Foresight {
        open_files,
        ports: u64::from(last - first) + 1,
    };
    if let Some(endpoint) = plan.target.endpoints.first() {
        for level in plan.levels() {
            foresee(&plan.at(&level), endpoint, there_is)?;
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

fn carry_on(
    plan: &Plan,
    mut run: Run,
    journal: Keeping,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<Outcome, CampaignError> {
    let begun = kernel::clock::now();
    // Of one that was killed nobody knows how long it took.
    let before = match run.resumed_unix.is_empty() {
        true => Some(units::Nanos::ZERO),
        false => run.elapsed.take(), // so that the journal does not claim to know
    };
    let walked = walk(plan, &mut run, journal, generator, stop, view);
    view.ends();
    let journal = walked?;
    run.elapsed = before.map(|before| before + (kernel::clock::now() - begun));
    run.summarise();
    audit::conclude(&mut run);
    let saved = journal.finish(&run);
    Ok(Outcome { run, saved })
}

fn new_run(plan: Plan) -> Run {
    Run {
        schema: record::SCHEMA_VERSION,
        weigh: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix: kernel::clock::realtime().as_secs(),
        machine: host::machine(),
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
        plan,
    }
}

/// Starts, probes, measures. A round that cannot be journaled is still in `run`, and so in the finished record.
fn walk(
    plan: &Plan,
    run: &mut Run,
    journal: Keeping,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<Journal, CampaignError> {
    let mut course = Course::of(plan, run);
    let mut next = course.next(run);
    let first = next.expect("a plan that was checked has cells");
    let mut stage = None;
    let mut floors = Floors::default();
    let mut seq = run.unused_seq();
    let level = plan.at(&first.level);
    let ready = floors
        .of(&first, &level, run, stop, view)
        .and_then(|_| set(&mut stage, &level, run, &mut seq, stop, view).map(drop));
    if let Err(error) = ready {
        journal.discard();
        return Err(error);
    }
    if run.points.is_empty() {
        run.expect_points();
    }
    let journal = journal.begin(run)?;
    view.begins(run);
    (0..run.points.len()).for_each(|point| tell_point(run, point, view));
    let mut way = Way {
        stage,
        floors,
        journal,
        generator,
        seq,
        early: EarlyStop::of(plan, run),
    };
    while let Some(cell) = next.filter(|_| !stop.load(Ordering::Relaxed)) {
        match way.step(plan, &cell, run, stop, view) {
            Ok(()) => {}
            Err(CampaignError::ServerEnded(end)) => {
                run.server_end = Some(*end);
                run.interrupted = true;
                break;
            }
            Err(CampaignError::Aborted(why)) => {
                run.aborted = Some(why);
                run.interrupted = true;
                break;
            }
            Err(error) if run.points.iter().all(|point| point.rounds.is_empty()) => {
                return Err(error);
            }
            Err(CampaignError::Interrupted) => break,
            Err(error) => {
                run.broken_off = Some(published(plan, &error));
                run.interrupted = true; // what was measured before it stands
                break;
            }
        }
        next = course.next(run);
    }
    run.interrupted |= stop.load(Ordering::Relaxed);
    run.drop_unmeasured();
    Ok(way.journal)
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

/// What goes with a campaign from cell to cell.
struct Way<'a> {
    stage: Option<Stage>,
    floors: Floors,
    journal: Journal,
    generator: &'a [OsString],
    /// The first `{seq}` that neither a probe nor a round has used.
    seq: u64,
    early: EarlyStop,
}

impl Way<'_> {
    /// Measures one cell, and keeps what came of it.
    fn step(
        &mut self,
        plan: &Plan,
        cell: &Cell,
        run: &mut Run,
        stop: &AtomicBool,
        view: &mut dyn View,
    ) -> Result<(), CampaignError> {
        if cell.by == Generators::Two && twin::is_given_up(run, cell) {
            return Ok(());
        }
        view.round(cell);
        let level = plan.at(&cell.level);
        let floor = match cell.by {
            Generators::One => self.floors.of(cell, &level, run, stop, view)?,
            Generators::Two => None,
        };
        let stage = set(&mut self.stage, &level, run, &mut self.seq, stop, view)?;
        if let Some(lost) = stage.subject.lost(cell, During::Before) {
            return Err(lost);
        }
        let lost = match cell.by {
            Generators::One => {
                let (round, lost) = measure(stage, cell, &mut self.seq, &self.early, stop, view)?;
                keep(run, &mut self.journal, cell, floor.as_ref(), round, view);
                let aborted = self
                    .early
                    .after(run, cell.point)
                    .map(CampaignError::Aborted);
                lost.and_then(|()| aborted.map_or(Ok(()), Err))
            }
            Generators::Two => {
                let seq = &mut self.seq;
                let early = &self.early;
                let (round, lost) =
                    measure_twin(stage, self.generator, cell, seq, early, stop, view);
                twin::keep(run, &mut self.journal, cell, round, view);
                lost
            }
        };
        tell_point(run, cell.point, view);
        lost
    }
}

/// Why nothing can be measured any more, if nothing can.
type Lost = Result<(), CampaignError>;

/// One round at what is set; and why nothing can be measured after it, if nothing can.
fn measure(
    stage: &mut Stage,
    cell: &Cell,
    seq: &mut u64,
    early: &EarlyStop,
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<(Round, Lost), CampaignError> {
    let cut = AtomicBool::new(false);
    let mut witness = Witness::of(*cell, &mut stage.subject, early, view, stop, &cut);
    let (mut round, next) = engine::round(&stage.job, cell.round, *seq, &cut, &mut witness)?;
    *seq = next;
    let lost = witness.lost();
    witness.tell(&mut round);
    Ok((round, lost))
}

/// One round by two generators at what is set, or why there is none; and why nothing can be measured after it, if nothing
/// can.
fn measure_twin(
    stage: &mut Stage,
    generator: &[OsString],
    cell: &Cell,
    seq: &mut u64,
    early: &EarlyStop,
    stop: &AtomicBool,
    view: &mut dyn View,
) -> (Result<Round, twin::TwinError>, Result<(), CampaignError>) {
    let cut = AtomicBool::new(false);
    let mut witness = Witness::of(*cell, &mut stage.subject, early, view, stop, &cut);
    let rep = Rep {
        index: cell.round,
        seq: *seq,
    };
    let measured = twin::round(generator, &stage.job, rep, &cut, &mut witness);
    let lost = witness.lost();
    let round = measured.map(|(mut round, next)| {
        *seq = next;
        witness.tell(&mut round);
        charge_generators(&mut round);
        round
    });
    (round, lost)
}

/// The clock of this process knows nothing of generators that are processes of their own, which are nobody else's work
/// all the same: their threads' time in the window is added, without what the rest of each did (reading its orders,
/// handing over its round), which is outside of the window.
fn charge_generators(round: &mut Round) {
    let threads = round.threads.iter().map(|thread| thread.cpu).sum();
    if let Some(budget) = &mut round.budget {
        budget.generator += threads;
    }
}

/// Keeps a round; one that was cut off before its window opened holds nothing.
fn keep(
    run: &mut Run,
    journal: &mut Journal,
    cell: &Cell,
    floor: Option<&Floor>,
    round: Round,
    view: &mut dyn View,
) {
    if let Err(error) = journal.append_round(cell.point, &cell.level, floor, &round) {
        view.unjournaled(&error);
    }
    view.measured(&round);
    let measured = round.window.span() > units::Nanos::ZERO;
    let point = place(run, cell);
    point.floor = floor.cloned();
    if measured {
        point.rounds.push(round);
    } else {
        run.sent_total.unopened += round.sent_total.sum();
    }
}

/// Where the rounds of `cell` are kept.
pub(crate) fn place<'a>(run: &'a mut Run, cell: &Cell) -> &'a mut Point {
    if run.points.len() <= cell.point {
        run.points.push(Point::new(cell.level));
    }
    &mut run.points[cell.point]
}

/// A point whose rounds are all measured is told at once, judged by itself; of a search each round is news.
fn tell_point(run: &mut Run, index: usize, view: &mut dyn View) {
    let point = &mut run.points[index];
    let rounds = point.rounds.len();
    let all = run.plan.rounds as usize;
    let has_twins = |twin: &Twin| twin.failed.is_some() || twin.rounds.len() == all;
    let is_whole = rounds == all || rounds > 0 && run.plan.is_search();
    if is_whole && (!run.plan.two_generators || point.twin.as_deref().is_some_and(has_twins)) {
        point.rounds.sort_by_key(|round| round.index); // one that was measured again comes later
        point.summary = Summary::of(&point.rounds);
        point.footprint = Cost::of(&point.rounds);
        let evidence = Evidence::of(run, &run.points[index]);
        view.point(run, index, &audit::judge_evidence(&evidence));
    }
}

/// What the rounds of a point are measured with.
struct Stage {
    subject: Subject,
    job: Job,
}

/// Sets the stage for `plan`, the plan of one point: the server, its first answer, the plan made ready. A server that
/// was started with the same command goes on.
fn set<'s>(
    stage: &'s mut Option<Stage>,
    plan: &Plan,
    run: &mut Run,
    seq: &mut u64,
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<&'s mut Stage, CampaignError> {
    let kept = stage
        .take()
        .filter(|stage| stage.job.plan().server == plan.server);
    let (subject, endpoint) = match kept {
        Some(kept) if kept.job.plan() == plan => return Ok(stage.insert(kept)),
        Some(kept) => (kept.subject, kept.job.endpoint().clone()),
        None => prepare(plan, run, seq, stop, view)?,
    };
    let job = Job::new(plan.clone(), endpoint)?;
    Ok(stage.insert(Stage { subject, job }))
}

/// The instrument's own floor at each point that was begun, by the point's place in the record.
#[derive(Default)]
struct Floors(BTreeMap<usize, Option<Floor>>);

impl Floors {
    /// The floor at the point of `cell`, whose plan is `plan`: measured before its first round, unless an earlier run has
    /// begun the point. None where the load is no open loop, or the floor cannot be had, which is no reason not to measure.
    ///
    /// A rate beyond reach is refused as long as nothing is measured. Later, what there is shall not be lost for it: the load
    /// is tried, and judged by what comes of it.
    fn of(
        &mut self,
        cell: &Cell,
        plan: &Plan,
        run: &Run,
        stop: &AtomicBool,
        view: &mut dyn View,
    ) -> Result<Option<Floor>, CampaignError> {
        if let Some(known) = self.0.get(&cell.point) {
            return Ok(known.clone());
        }
        let point = run.points.get(cell.point);
        let mut floor = point.and_then(|point: &Point| point.floor.clone());
        if floor.is_none() && plan.load.is_open() {
            let is_first = run.points.iter().all(|point| point.rounds.is_empty());
            floor = match selftest::floor(plan, stop, &mut Onlooker(view)) {
                Ok(floor) => Some(floor),
                Err(SelfTestError::BeyondReach(error)) if is_first => return Err(error.into()),
                Err(SelfTestError::Interrupted) => return Err(CampaignError::Interrupted),
                Err(error) => {
                    view.without_floor(&error);
                    None
                }
            };
        }
        self.0.insert(cell.point, floor.clone());
        Ok(floor)
    }
}

/// Looks on at the self-test.
struct Onlooker<'a>(&'a mut dyn View);

impl Observer for Onlooker<'_> {
    fn tick(&mut self, _: Progress) {
        self.0.self_test();
    }
}

/// The server, its response to the probe, and whose footprint is taken; the first of all servers' is recorded. `seq` is
/// moved on by as many requests as were sent.
fn prepare(
    plan: &Plan,
    run: &mut Run,
    seq: &mut u64,
    stop: &AtomicBool,
    view: &mut dyn View,
) -> Result<(Subject, Endpoint), CampaignError> {
    let (server, ready) = match &plan.server {
        None => {
            let mut ring = Epoll::new().map_err(CampaignError::Ring)?;
            let (probe, shown) = engine::probe(&mut ring, plan, *seq, PROBED, stop)?;
            let probes = probe.requests;
            let ready = Ready {
                probe,
                shown,
                probes,
            };
            (None, ready)
        }
        Some(command) => {
            view.starting(&command.argv.join(" "));
            let (server, ready) = Running::start(command, plan, *seq, stop)?;
            (Some(server), ready)
        }
    };
    *seq += ready.probes;
    run.sent_total.probe += ready.probes;
    if let Some(error) = UnexpectedError::of(&ready, plan) {
        return match stop.load(Ordering::Relaxed) {
            true => Err(CampaignError::Interrupted),
            false => Err(error.into()),
        };
    }
    let endpoint = ready.probe.endpoint.clone();
    run.probe.get_or_insert(ready.probe);
    let (subject, observed) = Subject::of(plan, server, &endpoint)?;
    run.observed.get_or_insert(observed);
    Ok((subject, endpoint))
}

//! The comparison itself: start after start, each in the record as soon as it is over.

use super::CompareView;
use super::arena::{Arena, Begun, Lost};
use super::conditions::unequal;
use super::cycles::reconsidered;
use super::local_arena::LocalArena;
use super::split::split;
use super::steady::{BLOCK, is_steady};
use crate::error::CampaignError;
use plan::{Arrivals, Arriving, Block, Budget, ComparePlan, CpuPlacement, Deciding, Load};
use record::{
    Answers, BlockOfStart, Comparison, Contender, Cycle, FreshStart, Said, SaveError, Slice,
    StartedServer, Versus,
};
use stats::comparison::{Precision, Sequential};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos, Rate};

/// The longest warm-up of a block in a start.
const WARM_UP_MOST: Nanos = Nanos::from_secs(60);
/// A server that takes more of a CPU than this while nothing is asked of it is not compared.
const IDLE_MOST: f64 = 0.02;
/// How often that is looked at, while it is more.
const IDLE_LOOKS: u32 = 3;
/// So many starts in a row that do not count for a server end the comparison.
const VOID_MOST: u32 = 3;
/// Measured cycles of windows and of short slices in which the reference server is loaded as well: so much for orientation takes
/// little of the time of the others.
const OF_REFERENCE: [u32; 2] = [1, 3];
/// The share of the slowest server's throughput at which latency is compared under equal load, and the fewest connections for it.
const EQUAL_LOAD: f64 = 0.5;
const EQUAL_CONNECTIONS: u32 = 100;
/// Measured cycles of a block take no longer than this in a start of slow servers, unless there would be fewer than so many.
const CYCLES_FOR: Nanos = Nanos::from_secs(30);
const CYCLES_LEAST: u32 = 8;
/// The number of starts that is wanted at least may take so many times the time that was given.
const OVERTIME: u64 = 5;
/// The most starts: a comparison that has not ended by then never will.
const STARTS_MOST: u32 = 1_000;

/// What a comparison leaves behind.
#[derive(Debug)]
pub struct CompareOutcome {
    /// Everything that was measured.
    pub comparison: Comparison,
    /// The file, or why there is none.
    pub saved: Result<PathBuf, SaveError>,
}

/// Carries `plan` out and keeps the record at `output`, anew after each start. `generator` is the command that starts a generator
/// process: a program that calls [`crate::generate`]. When `stop` becomes true, what is complete is kept. `only_conditions` ends it
/// when the servers' conditions are known.
///
/// # Errors
/// [`CampaignError`]: why nothing was measured.
pub fn compare(
    plan: ComparePlan,
    output: &Path,
    generator: &[OsString],
    only_conditions: bool,
    stop: &AtomicBool,
    view: &mut dyn CompareView,
) -> Result<CompareOutcome, CampaignError> {
    let split = split(&plan, &kernel::affinity::allowed(), host::core);
    let split = split.map_err(CampaignError::Incomparable)?;
    let is_wanted = plan.cpus != CpuPlacement::Auto;
    let mut arena = LocalArena::new(split, is_wanted, generator, stop);
    let comparison = begun(&plan, &arena);
    Walk::new(plan, comparison, &mut arena, stop, view).carry_out(output, only_conditions)
}

/// Goes on with `earlier`, the comparison whose record is at `output`; `plan` is its plan with what was withheld from the record.
///
/// # Errors
/// As [`compare`].
pub fn resume_comparison(
    plan: ComparePlan,
    earlier: Comparison,
    output: &Path,
    generator: &[OsString],
    stop: &AtomicBool,
    view: &mut dyn CompareView,
) -> Result<CompareOutcome, CampaignError> {
    // On the CPUs of the starts before.
    let mut arena = LocalArena::new(earlier.split.clone(), true, generator, stop);
    let differs = |what: &str| CampaignError::Differs {
        path: output.into(),
        what: what.into(),
    };
    if earlier.plan != plan.published() {
        return Err(differs("the plan"));
    }
    if let Some(what) = earlier.machine.differs_from(&arena.machine()) {
        return Err(differs(what));
    }
    Walk::new(plan, earlier, &mut arena, stop, view).carry_out(output, false)
}

/// Finds out before anything is started that the record can be written to `output`.
fn can_hold(output: &Path) -> Result<(), SaveError> {
    let facts = std::fs::metadata(output);
    match facts {
        Ok(facts) if facts.is_dir() => return Err(SaveError::IsFolder(output.into())),
        Ok(facts) if !facts.is_file() => return Err(SaveError::NoFile(output.into())),
        Ok(facts) if facts.len() > 0 && !record::holds_comparison(output) => {
            return Err(SaveError::NoRecord(output.into()));
        }
        _ => {}
    }
    let folder = output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if !folder.unwrap_or(Path::new(".")).is_dir() {
        return Err(SaveError::NoFolder(output.into()));
    }
    record::can_replace(output).map_err(|error| SaveError::Unwritable(output.into(), error))
}

/// The record of a comparison of which nothing is measured.
fn begun(plan: &ComparePlan, arena: &dyn Arena) -> Comparison {
    Comparison {
        comparison: Comparison::VERSION,
        weigh: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix: kernel::clock::realtime().as_secs(),
        plan: plan.published(),
        machine: arena.machine(),
        servers: vec![Contender::default(); plan.servers.len()],
        split: arena.split(),
        starts: Vec::new(),
        elapsed: Nanos::ZERO,
        interrupted: false,
        broken_off: None,
    }
}

/// A comparison that is carried out.
struct Walk<'a> {
    plan: ComparePlan,
    comparison: Comparison,
    arena: &'a mut dyn Arena,
    stop: &'a AtomicBool,
    view: &'a mut dyn CompareView,
    /// When this process began, and how long earlier ones took.
    begun: Instant,
    before: Nanos,
    /// What names the next slice.
    number: u32,
    /// Starts in a row that did not count, of each server.
    void: Vec<u32>,
    /// Requests that were sent to each server in this process, and those of them before it was noted what servers write.
    asked: Vec<u64>,
    asked_before: Vec<u64>,
}

/// Why a start is not finished.
enum Unfinished {
    /// Nothing more is to be measured.
    Interrupted,
    /// Nothing more can be measured, for this reason.
    BrokenOff(String),
    /// Nothing was to be measured.
    Refused(CampaignError),
}

impl From<CampaignError> for Unfinished {
    fn from(error: CampaignError) -> Unfinished {
        Unfinished::Refused(error)
    }
}

impl<'a> Walk<'a> {
    fn new(
        plan: ComparePlan,
        comparison: Comparison,
        arena: &'a mut dyn Arena,
        stop: &'a AtomicBool,
        view: &'a mut dyn CompareView,
    ) -> Walk<'a> {
        Walk {
            void: vec![0; plan.servers.len()],
            asked: vec![0; plan.servers.len()],
            asked_before: vec![0; plan.servers.len()],
            plan,
            begun: arena.now(),
            before: comparison.elapsed,
            number: comparison.starts.len() as u32 * 10_000,
            comparison,
            arena,
            stop,
            view,
        }
    }

    fn carry_out(
        mut self,
        output: &Path,
        only_conditions: bool,
    ) -> Result<CompareOutcome, CampaignError> {
        self.comparison.interrupted = true; // until it is over
        self.comparison.broken_off = None;
        if !only_conditions {
            can_hold(output)?;
        }
        let walked = self.walk(output, only_conditions);
        self.arena.clear();
        self.view.ends();
        match walked {
            Ok(()) => self.comparison.interrupted = false,
            Err(Unfinished::Interrupted) if self.comparison.starts.is_empty() => {
                return Err(CampaignError::Interrupted);
            }
            Err(Unfinished::Interrupted) => {}
            Err(Unfinished::Refused(error)) if self.comparison.starts.is_empty() => {
                return Err(error);
            }
            Err(Unfinished::Refused(error)) => self.comparison.broken_off = Some(error.to_string()),
            Err(Unfinished::BrokenOff(why)) if self.comparison.starts.is_empty() => {
                return Err(CampaignError::Incomparable(why));
            }
            Err(Unfinished::BrokenOff(why)) => self.comparison.broken_off = Some(why),
        }
        self.comparison.elapsed = self.elapsed();
        let saved = match only_conditions {
            true => Ok(output.to_owned()),
            false => self.save(output).map(|()| output.to_owned()),
        };
        Ok(CompareOutcome {
            comparison: self.comparison,
            saved: saved.map_err(|error| SaveError::Unwritable(output.into(), error)),
        })
    }

    fn elapsed(&self) -> Nanos {
        self.before + (self.arena.now() - self.begun)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Puts the record in its place, whole.
    fn save(&self, output: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec(&self.comparison)?;
        record::replace_file(output, |file| file.write_all(&text))
    }

    fn walk(&mut self, output: &Path, only_conditions: bool) -> Result<(), Unfinished> {
        while self.goes_on() {
            if self.is_stopped() {
                return Err(Unfinished::Interrupted);
            }
            let start = self.start(only_conditions)?;
            let counted = self.count_void(&start);
            self.comparison.starts.push(start);
            counted?;
            self.tell_time();
            self.comparison.elapsed = self.elapsed();
            if only_conditions {
                return Ok(());
            }
            if let Err(error) = self.save(output) {
                let path = output.display();
                let note = format!(
                    "the record could not be written to {path}: {error}; it is kept in memory"
                );
                self.view.note(&note);
            }
            self.add_equal_load();
        }
        Ok(())
    }

    /// Says after the first start how long the fewest starts will take, where that is longer than was asked for.
    fn tell_time(&mut self) {
        let Budget::Time { time, .. } = self.plan.budget else {
            return;
        };
        if let [first] = &self.comparison.starts[..] {
            let least = first.took * u64::from(Budget::FEWEST);
            if least > time {
                self.view.note(&format!(
                    "a start takes {}, so that the fewest starts, {}, take about {}",
                    units::span(first.took),
                    Budget::FEWEST,
                    units::span(least)
                ));
            }
        }
    }

    /// Where the cost of a server is not known, latency under equal load has to decide: after the first start, half of what the
    /// slowest of them did becomes the rate of a further block, unless a rate was given.
    fn add_equal_load(&mut self) {
        let blocks = &self.plan.blocks;
        let is_observed = |server: &Contender| {
            let observed = server.observed.as_ref();
            server.excluded.is_some() || observed.is_some_and(|observed| observed.why_not.is_none())
        };
        let is_known = self.comparison.servers.iter().all(is_observed); // the reference server is started, and so observed
        if is_known || blocks.iter().any(|block| block.load.is_open()) {
            return;
        }
        let slices = |place: usize| -> Vec<f64> {
            let starts = self
                .comparison
                .starts
                .iter()
                .flat_map(|start| &start.blocks);
            let cycles = starts.flat_map(|block| &block.cycles);
            cycles
                .filter_map(|cycle| cycle.slices[place].as_ref()?.throughput())
                .collect()
        };
        let contenders = (0..self.plan.servers.len()).filter(|place| self.is_contender(*place));
        let each = contenders.filter_map(|place| stats::median(&slices(place)));
        let slowest = each.reduce(f64::min);
        let rate =
            slowest.and_then(|slowest| Rate::of_f64((slowest * EQUAL_LOAD).max(1.0).round()));
        let Some(rate) = rate else { return };
        let connections = self.plan.servers[0]
            .plan
            .connections()
            .max(EQUAL_CONNECTIONS);
        let load = Load::Open {
            rate,
            of: Arriving::Exchanges,
            arrivals: Arrivals::Poisson,
            connections,
        };
        self.plan.blocks.push(Block::of(load));
        self.comparison.plan.blocks.push(Block::of(load));
    }

    /// Whether another start is to be measured.
    fn goes_on(&self) -> bool {
        let starts = &self.comparison.starts;
        let done = starts.len() as u32;
        if done >= STARTS_MOST {
            return false;
        }
        match self.plan.budget {
            Budget::Time {
                time,
                starts: least,
            } => {
                let last = starts.iter().map(|start| start.took).max();
                let ends = self.elapsed() + last.unwrap_or_default();
                ends <= time || done < least && ends <= time * OVERTIME || done < Budget::FEWEST
            }
            Budget::Until(_) => !self.is_decided() && self.has_time(),
            Budget::Precision(share) => !self.is_precise(share) && self.has_time(),
        }
    }

    /// Whether the limit, if there is one, leaves time for another start.
    fn has_time(&self) -> bool {
        let last = self.comparison.starts.iter().map(|start| start.took).max();
        let ends = self.elapsed() + last.unwrap_or_default();
        let is_within = self.plan.limit.is_none_or(|limit| ends <= limit);
        is_within || (self.comparison.starts.len() as u32) < Budget::FEWEST
    }

    /// Whether nothing is left to be found out of the difference that was asked for, or no look is left.
    fn is_decided(&self) -> bool {
        let is_open =
            |versus: &Versus| matches!(versus.said, Said::CannotTell | Said::TooFewStarts);
        let answers = Answers::of(&self.comparison);
        let headlines = answers.headlines();
        let is_over = Sequential::next_look(self.comparison.starts.len()).is_none();
        is_over || !headlines.is_empty() && !headlines.iter().any(is_open)
    }

    /// Whether every interval is narrow enough to find a difference of this share.
    fn is_precise(&self, share: f64) -> bool {
        let rule = Precision::new(share);
        let is_narrow = |versus: &Versus| {
            let values: Vec<f64> = versus.log_ratios.iter().flatten().copied().collect();
            rule.is_reached(&values)
        };
        let answers = Answers::of(&self.comparison);
        let headlines = answers.headlines();
        !headlines.is_empty() && headlines.iter().all(is_narrow)
    }

    /// Ends a comparison of which one server never counts.
    fn count_void(&mut self, start: &FreshStart) -> Result<(), Unfinished> {
        for (place, server) in start.servers.iter().enumerate() {
            match &server.void {
                Some(why) if self.may_end(place) => {
                    self.void[place] += 1;
                    if self.void[place] >= VOID_MOST {
                        let name = &self.plan.servers[place].name;
                        let why = format!(
                            "{name}: {VOID_MOST} starts in a row did not count, the last because {why}"
                        );
                        return Err(Unfinished::BrokenOff(why));
                    }
                }
                _ => self.void[place] = 0,
            }
        }
        Ok(())
    }

    /// Measures one start of all servers.
    fn start(&mut self, only_conditions: bool) -> Result<FreshStart, Unfinished> {
        let index = self.comparison.starts.len() as u32;
        let began = self.arena.now();
        self.view.starting(&self.comparison, index);
        let wanted: Vec<bool> = self
            .comparison
            .servers
            .iter()
            .map(|server| server.excluded.is_none())
            .collect();
        let mut order = Shuffle::of(self.plan.seed, index);
        // What starts first may get the better memory or the better neighbours: that is not to be always the same one.
        let all = 0..wanted.len() as u32;
        let (mut places, last): (Vec<u32>, Vec<u32>) =
            all.partition(|place| !self.plan.servers[*place as usize].reference);
        order.mix(&mut places);
        places.extend(last); // it sends as much as the others do, which is known when they are there
        let begun = self.arena.begin(&self.plan, &wanted, &places)?;
        if index == 0 && self.comparison.split != self.arena.split() {
            self.comparison.split = self.arena.split();
            self.view
                .note("a server runs on CPUs of its own choice, so servers and generator share all of them");
        }
        let mut start = FreshStart {
            index,
            servers: vec![StartedServer::default(); wanted.len()],
            ..FreshStart::default()
        };
        for (place, begun) in begun.into_iter().enumerate() {
            match begun {
                Ok(begun) => self.note_begun(place, begun, &mut start)?,
                Err(why) if index == 0 => self.exclude(place, why, &mut start)?,
                Err(why) => start.servers[place].void = Some(why),
            }
        }
        let blocks = self.plan.blocks.clone();
        for (number, block) in blocks.iter().enumerate() {
            if !self.can_go_on(&start) {
                break;
            }
            let warms = self.arena.now();
            let mut measured = self.warm_up(number, block, &mut start, &mut order)?;
            let planned = reconsidered(&self.comparison, number).unwrap_or(block.cycles);
            let cycles = fitting(planned, self.arena.now() - warms, measured.warm_up);
            if number == 0 {
                self.look_around(&mut start)?;
                if only_conditions {
                    return Ok(start);
                }
            }
            for cycle in 0..cycles {
                if !self.can_go_on(&start) {
                    break;
                }
                let progress = Some((cycle + 1, cycles));
                let cycle = self.cycle(number, progress, &mut start, &mut order)?;
                measured.cycles.push(cycle);
            }
            start.blocks.push(measured);
        }
        let ended = self.arena.end();
        for (server, memory) in start.servers.iter_mut().zip(ended.memory) {
            server.memory = memory.filter(|_| server.void.is_none());
        }
        self.void_failures(&mut start);
        (start.foreign, start.steal) = (ended.foreign, ended.steal);
        start.took = self.arena.now() - began;
        Ok(start)
    }

    /// Whether two servers are left of which this start counts.
    fn can_go_on(&self, start: &FreshStart) -> bool {
        let servers = start.servers.iter().zip(&self.plan.servers);
        let left = servers.filter(|(server, planned)| server.void.is_none() && !planned.reference);
        left.count() >= 2
    }

    /// Whether a server that never counts ends the comparison.
    fn may_end(&self, place: usize) -> bool {
        !self.plan.servers[place].reference && !self.comparison.is_excluded(place)
    }

    /// Whether the server at `place` is compared.
    fn is_contender(&self, place: usize) -> bool {
        self.plan.servers[place].is_contender()
    }

    /// Writes down what a server is; of the first start in which it is there also its conditions.
    fn note_begun(
        &mut self,
        place: usize,
        begun: Begun,
        start: &mut FreshStart,
    ) -> Result<(), Unfinished> {
        start.servers[place].endpoint = begun.endpoint;
        let known = &mut self.comparison.servers[place];
        if known.probe.is_none() {
            known.probe = begun.probe;
            known.observed = begun.observed;
            known.conditions = begun.conditions;
        } else if let (Some(now), Some(first)) = (begun.conditions.body, known.conditions.body)
            && now != first
            && !self.plan.unequal
        {
            let why = "its answer is not what it was in the first start".to_owned();
            start.servers[place].void = Some(why);
        }
        Ok(())
    }

    /// Leaves a server out of the whole comparison; with fewer than two there is none.
    fn exclude(
        &mut self,
        place: usize,
        why: String,
        start: &mut FreshStart,
    ) -> Result<(), Unfinished> {
        let name = self.plan.servers[place].name.clone();
        start.servers[place].void = Some(why.clone());
        if self.comparison.servers[place].excluded.is_some() {
            return Ok(());
        }
        self.comparison.servers[place].excluded = Some(why.clone());
        let others = self.comparison.servers.iter().zip(&self.plan.servers);
        let left =
            others.filter(|(server, planned)| server.excluded.is_none() && planned.is_contender());
        if left.count() < 2 || place == 0 {
            return Err(Unfinished::BrokenOff(format!("{name}: {why}")));
        }
        let what = ["compared", "measured"][usize::from(self.plan.servers[place].reference)];
        self.view.note(&format!("{name} is not {what}: {why}"));
        Ok(())
    }

    /// Loads the servers until each is steady, or for as long as that may take.
    fn warm_up(
        &mut self,
        number: usize,
        block: &Block,
        start: &mut FreshStart,
        order: &mut Shuffle,
    ) -> Result<BlockOfStart, Unfinished> {
        let limit = self.arena.now() + WARM_UP_MOST;
        let mut measured = BlockOfStart::default();
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); start.servers.len()];
        // Windows follow short slices, by which servers are warm: one of each lets their queues settle.
        let least = if block.is_short() { 2 * BLOCK } else { 1 };
        loop {
            if !self.can_go_on(start) {
                return Ok(measured);
            }
            let cycle = self.cycle(number, None, start, order)?;
            measured.warm_up += 1;
            if start.index == 0 && number == 0 && measured.warm_up == 1 {
                self.arena.note_written();
                self.asked_before.clone_from(&self.asked);
            }
            for (values, slice) in values.iter_mut().zip(&cycle.slices) {
                let value = slice.as_ref().and_then(|slice| self.warmth(slice));
                values.extend(value.map(f64::ln));
            }
            let is_each = |place: usize| {
                let is_left_out = start.servers[place].void.is_some();
                is_left_out || self.plan.servers[place].reference || is_steady(&values[place])
            };
            measured.steady = !block.is_short() || (0..values.len()).all(is_each);
            if measured.warm_up as usize >= least && measured.steady || self.arena.now() >= limit {
                return Ok(measured);
            }
        }
    }

    /// The figure by which a server's warm-up is followed: what it costs, or else how fast it is.
    fn warmth(&self, slice: &Slice) -> Option<f64> {
        let of_cost = slice.cpu_us();
        let is_cost = self.plan.decide_on == Deciding::CpuPerRequest;
        of_cost.filter(|_| is_cost).or_else(|| slice.throughput())
    }

    /// What is known once servers have had some load: what they take while idle, and what they log. In the first start servers
    /// with unequal conditions are refused.
    fn look_around(&mut self, start: &mut FreshStart) -> Result<(), Unfinished> {
        let idle = self.idle();
        for (place, idle) in idle.into_iter().enumerate() {
            start.servers[place].idle = idle;
            let is_first = start.index == 0 && start.servers[place].void.is_none();
            if let Some(share) = idle.filter(|share| is_first && *share > IDLE_MOST) {
                let why = format!(
                    "it takes {:.0} % of a CPU while nothing is asked of it, which would be counted as its cost of requests",
                    share * 100.0
                );
                self.exclude(place, why, start)?;
            }
        }
        if start.index > 0 {
            return Ok(());
        }
        let watched = self.arena.watch();
        let teams: Vec<Option<(u32, u32)>> = watched.iter().map(|watched| watched.team).collect();
        for (place, watched) in watched.into_iter().enumerate() {
            let asked = self.asked[place] - self.asked_before[place];
            let conditions = &mut self.comparison.servers[place].conditions;
            let written = watched.written.filter(|_| asked > 0);
            conditions.logged_millibytes = written.map(|bytes| bytes * 1_000 / asked);
            conditions.workers = watched.team.map(|(processes, _)| processes);
        }
        self.count_threads(&teams);
        let found = unequal(&self.comparison);
        match found.is_empty() || self.plan.unequal {
            true => Ok(()),
            false => Err(CampaignError::Incomparable(format!(
                "the conditions are not equal ({}), so the comparison would be one of those; make them equal, or compare all the \
                 same with --unequal",
                found.join("; ")
            ))
            .into()),
        }
    }

    /// What servers take while idle: what they do now and then, such as tidying up after the load, is no work that goes on, so
    /// one that takes much is looked at again.
    fn idle(&mut self) -> Vec<Option<f64>> {
        let mut least = self.arena.idle();
        for _ in 1..IDLE_LOOKS {
            if least.iter().flatten().all(|share| *share <= IDLE_MOST) {
                break;
            }
            let again = self.arena.idle().into_iter();
            least = least
                .into_iter()
                .zip(again)
                .map(|(one, other)| Some(one?.min(other?)))
                .collect();
        }
        least
    }

    /// Servers that are one and the same program, in one process each, are told apart by their threads: of other programs the
    /// number of threads says nothing of how many of them work, and their workers are not known.
    fn count_threads(&mut self, teams: &[Option<(u32, u32)>]) {
        let programs = |place: usize| -> Option<Vec<&str>> {
            let observed = self.comparison.servers[place].observed.as_ref()?;
            Some(
                observed
                    .processes
                    .iter()
                    .map(|process| process.name.as_str())
                    .collect(),
            )
        };
        let counts = |place: &usize| {
            !self.plan.servers[*place].reference && !self.comparison.is_excluded(*place)
        };
        let places: Vec<usize> = (0..teams.len()).filter(counts).collect();
        let first = places.first().and_then(|place| programs(*place));
        let is_single =
            |team: Option<(u32, u32)>| team.is_some_and(|(processes, _)| processes == 1);
        let is_alike = |place: &usize| programs(*place) == first && is_single(teams[*place]);
        let are_alike = first.is_some() && places.iter().all(is_alike);
        for place in places {
            let workers = &mut self.comparison.servers[place].conditions.workers;
            match teams[place] {
                Some((1, threads)) if are_alike => *workers = Some(threads),
                Some((1, 2..)) => *workers = None,
                _ => {}
            }
        }
    }

    /// Loads every server once, in random order.
    fn cycle(
        &mut self,
        block: usize,
        progress: Option<(u32, u32)>,
        start: &mut FreshStart,
        shuffle: &mut Shuffle,
    ) -> Result<Cycle, Unfinished> {
        let is_short = self.plan.blocks[block].is_short();
        let with_reference =
            progress.is_some_and(|(cycle, _)| cycle <= OF_REFERENCE[usize::from(is_short)]);
        let counts = |place: &u32| {
            let place = *place as usize;
            start.servers[place].void.is_none()
                && (with_reference || !self.plan.servers[place].reference)
        };
        let mut order: Vec<u32> = (0..start.servers.len() as u32).filter(counts).collect();
        shuffle.mix(&mut order);
        let mut slices: Vec<Option<Slice>> = vec![None; start.servers.len()];
        for place in &order {
            let place = *place as usize;
            if self.is_stopped() {
                return Err(Unfinished::Interrupted);
            }
            self.number += 1;
            match self.arena.slice(place, block, self.number) {
                Ok(slice) => {
                    self.asked[place] += slice.ok + slice.errors;
                    start.servers[place].void = self.wrong(place, &slice);
                    slices[place] = Some(slice);
                }
                Err(Lost::Server(why)) => start.servers[place].void = Some(why),
                Err(Lost::Interrupted) => return Err(Unfinished::Interrupted),
                Err(Lost::Generator(why)) => return Err(Unfinished::BrokenOff(why)),
            }
            self.view.sliced(&self.comparison, start.index, progress);
        }
        Ok(Cycle { order, slices })
    }

    /// Why what a server answered in a slice is not what it is compared for, if so.
    fn wrong(&self, place: usize, slice: &Slice) -> Option<String> {
        if slice.ok == 0 {
            let why = slice.error.as_deref().unwrap_or("nothing ended in time");
            return Some(format!("no request of a slice succeeded: {why}"));
        }
        let first = self.comparison.servers[place].conditions.body;
        match (slice.body, first) {
            (Some(now), Some(first)) if now != first && !self.plan.unequal => {
                let change = match first.0 == now.0 {
                    true => format!("to other {} bytes", now.0),
                    false => format!("from {} to {} bytes", first.0, now.0),
                };
                Some(format!(
                    "its answer changed midway, {change} (--unequal compares all the same)"
                ))
            }
            _ => None,
        }
    }

    /// Voids the servers of which more requests failed than may.
    fn void_failures(&self, start: &mut FreshStart) {
        for place in 0..start.servers.len() {
            if start.servers[place].void.is_some() {
                continue;
            }
            let cycles = start.blocks.iter().flat_map(|block| &block.cycles);
            let slices = || {
                cycles
                    .clone()
                    .filter_map(|cycle| cycle.slices[place].as_ref())
            };
            let (ok, errors) = slices().fold((0, 0), |(ok, errors), slice| {
                (ok + slice.ok, errors + slice.errors)
            });
            let limit = &self.plan.servers[place].plan.max_errors;
            if !limit.allows_errors(errors, ok + errors) {
                let first = slices().find_map(|slice| slice.error.clone());
                let share = errors as f64 * 100.0 / (ok + errors) as f64;
                let why = first.unwrap_or_default();
                start.servers[place].void =
                    Some(format!("{share:.1} % of its requests failed: {why}"));
            }
        }
    }
}

/// How many of `planned` cycles a start has, by the time that those of its warm-up took.
fn fitting(planned: u32, took: Nanos, cycles: u32) -> u32 {
    let each = took.as_secs_f64() / f64::from(cycles.max(1));
    let fit = (CYCLES_FOR.as_secs_f64() / each.max(f64::MIN_POSITIVE)) as u32; // saturates
    planned.min(fit.max(CYCLES_LEAST))
}

/// A random order that follows from a seed (SplitMix64; Fisher and Yates).
struct Shuffle(u64);

impl Shuffle {
    fn of(seed: u64, start: u32) -> Shuffle {
        Shuffle(seed ^ u64::from(start).wrapping_mul(0xA24B_AED4_963E_E407))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn mix(&mut self, places: &mut [u32]) {
        for last in (1..places.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            places.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests;

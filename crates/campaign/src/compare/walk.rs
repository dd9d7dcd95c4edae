//! The comparison itself: start after start, each in the record as soon as it is over.

mod start;

use super::CompareView;
use super::arena::Arena;
use super::local_arena::LocalArena;
use super::split::split;
use crate::error::CampaignError;
use plan::{Arrivals, Arriving, Block, Budget, ComparePlan, CpuPlacement, Load};
use record::{Answers, Comparison, Contender, FreshStart, Said, SaveError, Versus};
use stats::comparison::{Precision, Sequential};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos, Rate};

/// So many starts in a row that do not count for a server end the comparison.
const VOID_MOST: u32 = 3;
/// The share of the slowest server's throughput at which latency is compared under equal load, and the fewest connections for it.
const EQUAL_LOAD: f64 = 0.5;
const EQUAL_CONNECTIONS: u32 = 100;
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
            return Err(match record::holds_record(output) {
                true => SaveError::OtherRecord(output.into(), "run"),
                false => SaveError::NoRecord(output.into()),
            });
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
    /// Whether it was said that the record could not be written.
    is_unwritten: bool,
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
            is_unwritten: false,
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
                return Err(CampaignError::InterruptedEarly);
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
            if let Err(error) = self.save(output)
                && !std::mem::replace(&mut self.is_unwritten, true)
            {
                let path = output.display();
                let note = format!(
                    "the record could not be written to {path}: {error}; it is kept in memory, and tried again after each start"
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
        let is_open = |versus: &Versus| {
            matches!(
                versus.said,
                Said::CannotTell | Said::TooFewStarts | Said::NotMeasured
            )
        };
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
}

#[cfg(test)]
mod tests;

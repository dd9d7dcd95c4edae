//! What speaks against answers, in sentences.

use super::table::short;
use super::words::{Words, figure_name, seconds as seconds_of};
use crate::phrase::clean;
use record::Reason;
use units::{Nanos, counted, number, percent};

/// The longest sentence from outside that is shown whole.
const SENTENCE: usize = 200;

impl Words<'_> {
    /// What speaks against answers, as a sentence.
    pub fn doubt(&self, reason: &Reason) -> String {
        let about_records = self.of_records(reason);
        about_records
            .or_else(|| self.untold(reason))
            .or_else(|| self.of_a_server(reason))
            .unwrap_or_else(|| self.of_all(reason))
    }

    /// About records of separate runs; none of a reason that other comparisons have as well.
    fn of_records(&self, reason: &Reason) -> Option<String> {
        Some(match reason {
            Reason::TooFewStarts { starts, .. } if self.comparison.is_of_records() => {
                format!(
                    "too few {}s: {starts} of one of the two, and an interval takes 3",
                    self.comparison.unit()
                )
            }
            Reason::InvalidFigures { server, invalid } => {
                let figures: Vec<&str> =
                    invalid.figures.iter().map(|it| figure_name(*it)).collect();
                let block = invalid
                    .block
                    .and_then(|it| self.comparison.plan.blocks.get(it));
                let place = block.filter(|_| self.comparison.plan.blocks.len() > 1);
                let place = place.map_or(String::new(), |block| format!(" at {}", short(block)));
                format!(
                    "{} of {}{place}: {}",
                    figures.join(", "),
                    self.name(*server),
                    clean(&invalid.why, SENTENCE)
                )
            }
            Reason::SeparateRuns { seconds } => {
                let later = u64::try_from(*seconds).unwrap_or_default();
                let apart = match *seconds {
                    0.. => format!("{} apart", seconds_of(Nanos::from_secs(later))),
                    _ => format!("{} was the earlier", self.name(1)),
                };
                format!(
                    "measured one after the other ({apart}): the interval speaks of the {}s of these two runs, not of what the machine \
                     did between; `weigh compare` with both servers sees the same machine",
                    self.comparison.unit()
                )
            }
            Reason::DifferentRuns { differs } => {
                let differs = clean(&differs.join("; "), SENTENCE);
                format!("the records differ in what can change results: {differs}")
            }
            _ => return None,
        })
    }

    /// What is counted of one server: slices, or rounds of separate runs.
    fn slices(&self) -> &'static str {
        match self.comparison.is_of_records() {
            true => "rounds",
            false => "slices",
        }
    }

    /// Why the figure that decides says nothing of a server; none of other reasons.
    fn untold(&self, reason: &Reason) -> Option<String> {
        Some(match reason {
            Reason::TooFewStarts { server, starts } => {
                let starts = counted((*starts).into(), "start counts", "starts count");
                format!("{starts} for {}: an interval takes 3", self.name(*server))
            }
            Reason::NotMeasured { server, starts } => {
                let figure = self.answers.deciding();
                let figure = figure.map_or("the figure", |figure| figure_name(figure.figure));
                let known = match starts {
                    0 => "not known".to_owned(),
                    starts => format!("known of {} only", number((*starts).into(), "start")),
                };
                format!(
                    "{figure} of {} or {} is {known}: an interval takes 3 starts",
                    self.name(0),
                    self.name(*server)
                )
            }
            Reason::Undecided { server } => {
                let about = match self.comparison.ranked().len() {
                    ..=2 => String::new(),
                    _ => format!(" about {}", self.name(*server)),
                };
                format!(
                    "too few {}s for their scatter to tell{about}",
                    self.comparison.unit()
                )
            }
            _ => return None,
        })
    }

    /// About one server; none of a reason that is about all.
    fn of_a_server(&self, reason: &Reason) -> Option<String> {
        let share = |some: u64, of: u64| percent(some as f64 / of.max(1) as f64);
        Some(match reason {
            Reason::BodyChanged {
                server, slices, of, ..
            } => {
                let (name, share) = (self.name(*server), share(*slices, *of));
                format!(
                    "{name} changed its response: another body in {share} of its {}",
                    self.slices()
                )
            }
            Reason::Errors {
                server,
                errors,
                requests,
                first,
                ..
            } => {
                let first = first
                    .as_ref()
                    .map(|first| format!(", first: {}", clean(first, SENTENCE)));
                let (name, share) = (self.name(*server), share(*errors, *requests));
                format!(
                    "{share} of the requests to {name} failed{}",
                    first.unwrap_or_default()
                )
            }
            Reason::CpuLowerBound { server, slices, of } => {
                let (name, share) = (self.name(*server), share(*slices, *of));
                format!(
                    "{name} may have used more CPU: a process of it came or went in {share} of its {}",
                    self.slices()
                )
            }
            Reason::Excluded { server, why } => {
                format!(
                    "{} is not compared: {}",
                    self.name(*server),
                    clean(why, SENTENCE)
                )
            }
            Reason::VoidStarts {
                server,
                starts,
                of,
                why,
            } => {
                let (name, why) = (self.name(*server), clean(why, SENTENCE));
                let verb = if *starts == 1 { "does" } else { "do" };
                format!(
                    "{starts} of {} {verb} not count for {name}: {why}",
                    number((*of).into(), "start")
                )
            }
            Reason::Bias { server } => {
                format!(
                    "a server differs from itself (as {}): the margin is as wide",
                    self.name(*server)
                )
            }
            _ => return None,
        })
    }

    /// About the comparison as a whole.
    fn of_all(&self, reason: &Reason) -> String {
        match reason {
            Reason::NotSteady { starts, of } => {
                let starts = format!("{starts} of {}", self.units((*of).into()));
                format!("in {starts} a server was not steady yet when its measurement began")
            }
            Reason::GeneratorSaturated { servers, share, .. } => {
                let names: Vec<&str> = servers.iter().map(|server| self.name(*server)).collect();
                let (names, share) = (names.join(" and "), percent(*share));
                format!(
                    "the generator was saturated ({share} of a CPU) and {names} not: throughput and p50 latency are the \
                     generator's; give it more --threads"
                )
            }
            Reason::OtherPrograms { share } => {
                format!("other programs used {} of the CPUs", percent(*share))
            }
            Reason::Steal { share } => format!(
                "the hypervisor gave {} of the CPUs' time to others",
                percent(*share)
            ),
            Reason::Unequal { conditions } => {
                let names: Vec<&str> = conditions
                    .iter()
                    .map(|condition| condition.name())
                    .collect();
                format!("conditions differ: {}", names.join(", "))
            }
            Reason::DecidedOtherwise { instead_of } => {
                let decided = self
                    .answers
                    .deciding()
                    .map_or("nothing", |figure| figure_name(figure.figure));
                format!(
                    "{} is not known of all servers: {decided} decides",
                    figure_name(*instead_of)
                )
            }
            Reason::SameServerStart { servers } => {
                let names: Vec<&str> = servers.iter().map(|server| self.name(*server)).collect();
                let names = names.join(" and ");
                format!("weigh did not start {names}: intervals speak of these server starts only")
            }
            Reason::Stopped { why: Some(why) } => {
                format!("stopped early: {}", clean(why, SENTENCE))
            }
            Reason::Stopped { why: None } => {
                format!("interrupted: later {}s are missing", self.comparison.unit())
            }
            Reason::NothingMeasured => {
                "nothing was measured of two servers that can be compared".to_owned()
            }
            // Those of a server and of records have a sentence already.
            Reason::TooFewStarts { .. }
            | Reason::NotMeasured { .. }
            | Reason::Undecided { .. }
            | Reason::BodyChanged { .. }
            | Reason::Errors { .. }
            | Reason::CpuLowerBound { .. }
            | Reason::Excluded { .. }
            | Reason::VoidStarts { .. }
            | Reason::InvalidFigures { .. }
            | Reason::SeparateRuns { .. }
            | Reason::DifferentRuns { .. }
            | Reason::Bias { .. } => String::new(),
        }
    }
}

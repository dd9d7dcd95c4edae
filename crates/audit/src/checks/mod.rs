//! The validity checks, one file each.

mod answers;
mod baseline;
mod bins;
mod bodies;
mod censored;
mod cliff;
mod clock;
mod connections;
pub(crate) mod conservation;
mod delays;
mod drift;
mod generators;
mod kernel;
mod levels;
mod limit;
mod link;
mod log;
mod memory;
mod modes;
mod offered;
mod omission;
mod overload;
mod paused;
mod price;
mod quota;
mod range;
mod rounds;
mod samples;
mod server;
mod shield;
mod short;
mod stalls;
mod steady;
mod strays;
mod suspended;
mod waiting;
mod window;
mod workers;

use prelude::*;
use record::Grade;

/// The words in which checks are written.
mod prelude {
    pub(super) use super::{Check, guess, threshold};
    pub(super) use crate::builders::{
        ALL, SPEED, caveat, list, list_some, lower_bound, note, void,
    };
    pub(super) use crate::{Evidence, reasons};
    pub(super) use record::{Cause, Effect, Figure, Finding, Round, Tally};
    pub(super) use units::{Nanos, Percentile, count, counted, number, percent, span};
}

/// A validity check of every measurement: a row of the table, and a section of `docs/checks.md`.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name in records.
    pub name: &'static str,
    /// The question, in one line.
    pub question: &'static str,
    /// The evidence it looks at, and why.
    pub looks_at: &'static str,
    /// What it compares with.
    pub thresholds: &'static [Threshold],
    /// How often it finds something in a sound run, and how that is known; "not measured" where it is not.
    pub false_alarms: &'static str,
    /// How often it finds what it looks for, likewise.
    pub power: &'static str,
    /// What its findings do to which figures.
    pub effect: &'static str,
    /// What to do about its findings: the remedy of those above a note that name none.
    pub remedy: &'static str,
    /// Root cause of its findings that name none.
    pub cause: Cause,
    /// Judges the evidence; finds nothing where facts are missing.
    /// [`Check::findings`] adds name, cause and remedy.
    pub judge: fn(&Evidence<'_>) -> Vec<Finding>,
}

/// A value that a check compares with.
#[derive(Debug, Clone, Copy)]
pub struct Threshold {
    /// What is compared with it.
    pub of: &'static str,
    /// Returns it as it is printed, from the constant that the check uses.
    pub value: fn() -> String,
    /// Where it comes from; "a guess" where it was neither derived nor measured.
    pub source: &'static str,
}

/// A threshold that was neither derived nor measured.
const fn guess(of: &'static str, value: fn() -> String) -> Threshold {
    threshold(of, value, "a guess")
}

const fn threshold(of: &'static str, value: fn() -> String, source: &'static str) -> Threshold {
    Threshold { of, value, source }
}

impl Check {
    /// Returns the findings, under the check's name.
    pub fn findings(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let found = (self.judge)(evidence).into_iter();
        found.map(|finding| self.claim(finding)).collect()
    }

    /// Puts the check's name on `finding`, and its cause and remedy where the finding has none of its own.
    fn claim(&self, mut finding: Finding) -> Finding {
        finding.check = self.name.to_owned();
        if finding.cause == Cause::Other {
            finding.cause = self.cause;
        }
        if finding.grade() > Grade::Note {
            let remedy = || self.remedy.trim_end_matches('.').to_owned();
            finding.remedy.get_or_insert_with(remedy);
        }
        finding
    }
}

/// Every check, the most fundamental first.
pub const CHECKS: &[Check] = &[
    conservation::CHECK,
    server::CHECK,
    rounds::CHECK,
    suspended::CHECK,
    paused::CHECK,
    offered::CHECK,
    overload::CHECK,
    baseline::CHECK,
    limit::CHECK,
    quota::CHECK,
    link::CHECK,
    generators::CHECK,
    waiting::CHECK,
    kernel::CHECK,
    price::CHECK,
    clock::CHECK,
    window::CHECK,
    steady::CHECK,
    samples::CHECK,
    omission::CHECK,
    stalls::CHECK,
    answers::CHECK,
    strays::CHECK,
    bodies::CHECK,
    censored::CHECK,
    connections::CHECK,
    range::CHECK,
    cliff::CHECK,
    memory::CHECK,
    drift::CHECK,
    modes::CHECK,
    delays::CHECK,
    workers::CHECK,
    log::CHECK,
    shield::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;

    #[test]
    fn every_row_is_documented_and_named_once() {
        for check in CHECKS {
            assert!(check.question.ends_with('?'), "{}", check.name);
            let rates = [check.false_alarms, check.power];
            for text in [check.looks_at, check.effect, check.remedy]
                .into_iter()
                .chain(rates)
            {
                assert!((10..900).contains(&text.len()), "{}: {text}", check.name);
            }
            for threshold in check.thresholds {
                assert!(!(threshold.value)().is_empty() && !threshold.source.is_empty());
            }
            assert_eq!(
                CHECKS
                    .iter()
                    .filter(|other| other.name == check.name)
                    .count(),
                1
            );
        }
    }

    #[test]
    fn every_finding_carries_the_name_of_its_row() {
        let mut run = healthy();
        run.points[0].rounds.truncate(1);
        let evidence = Evidence::of(&run, &run.points[0]);
        let named = |check: &Check| {
            check
                .findings(&evidence)
                .iter()
                .all(|found| found.check == check.name)
        };
        assert!(CHECKS.iter().all(named));
    }
}

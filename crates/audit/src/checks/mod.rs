//! The questions, one file each.

mod answers;
mod bodies;
mod censored;
mod clock;
mod connections;
pub(crate) mod conservation;
mod floor;
mod generators;
mod kernel;
mod limit;
mod offered;
mod omission;
mod overload;
mod paused;
mod price;
mod quota;
mod rounds;
mod samples;
mod server;
mod short;
mod stalls;
mod strays;
mod suspended;
mod waiting;
mod window;

use crate::Evidence;
use record::{Cause, Finding};

/// One question that is asked of every measurement.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name in records.
    pub name: &'static str,
    /// The question, in one line.
    pub title: &'static str,
    /// What it looks at, its thresholds and what it does to which figures.
    pub doc: &'static str,
    /// Root cause of its findings that name none.
    pub cause: Cause,
    /// Answers it; nothing where facts are missing or all is well. [`Check::findings`] adds name and cause.
    pub judge: fn(&Evidence<'_>) -> Vec<Finding>,
}

impl Check {
    /// Returns the answers, under the check's name.
    pub fn findings(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let found = (self.judge)(evidence).into_iter();
        found.map(|finding| self.claim(finding)).collect()
    }

    /// Puts the check's name on `finding`, and its cause where the finding has none of its own.
    fn claim(&self, finding: Finding) -> Finding {
        let own = Some(finding.cause).filter(|cause| *cause != Cause::Other);
        Finding {
            check: self.name.to_owned(),
            cause: own.unwrap_or(self.cause),
            ..finding
        }
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
    floor::CHECK,
    limit::CHECK,
    quota::CHECK,
    generators::CHECK,
    waiting::CHECK,
    kernel::CHECK,
    price::CHECK,
    clock::CHECK,
    window::CHECK,
    samples::CHECK,
    omission::CHECK,
    stalls::CHECK,
    answers::CHECK,
    strays::CHECK,
    bodies::CHECK,
    censored::CHECK,
    connections::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;

    #[test]
    fn every_row_is_documented_and_named_once() {
        for check in CHECKS {
            assert!(
                check.title.ends_with('?') && check.doc.len() > 100,
                "{}",
                check.name
            );
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

//! Is this machine fit to measure on? One table of checks: what each reads, when it finds something, what that is likely
//! to cost, and the commands that mend it and that undo the mending.
//!
//! In scope: judging [`Facts`] that were read before. Out of scope: reading them (`host`), measured rounds (`audit`),
//! layout (`report`), changing anything. A check is a pure function; a fact that is missing is never judged.
//!
//! ```
//! use doctor::{Facts, examine};
//!
//! let mut machine = record::Machine::default();
//! assert_eq!(examine(&Facts::of(&machine)), []);
//! machine.somaxconn = Some(128);
//! let found = examine(&Facts::of(&machine));
//! assert_eq!(found[0].mend.as_deref(), Some("sudo sysctl -w net.core.somaxconn=4096"));
//! assert_eq!(found[0].undo.as_deref(), Some("sudo sysctl -w net.core.somaxconn=128"));
//! ```
#![forbid(unsafe_code)]

mod checks;
mod checkup;
mod facts;
mod finding;
mod folklore;

pub use checks::{CHECKS, Check};
pub use checkup::Checkup;
pub use facts::Facts;
pub use finding::{Cost, Finding, Source};
pub use folklore::{FOLKLORE, Folklore, followed};

use std::cmp::Reverse;

/// Returns what is wrong with a machine: the gravest first, and of those the one that is likely to cost most.
pub fn examine(facts: &Facts<'_>) -> Vec<Finding> {
    let found = CHECKS.iter().filter_map(|check| {
        let mut finding = (check.judge)(facts)?;
        finding.check = check.name;
        Some(finding)
    });
    let mut found: Vec<Finding> = found.collect();
    found.sort_by(|a, b| {
        let by_cost = b.cost.share.total_cmp(&a.cost.share);
        Reverse(a.grade).cmp(&Reverse(b.grade)).then(by_cost)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Activity, Grade, Machine};

    #[test]
    fn the_gravest_comes_first_and_then_the_most_expensive() {
        let machine = Machine {
            somaxconn: Some(128),
            clock_reading_ns: 900,
            ..Machine::default()
        };
        let activity = Activity {
            cpus: 4,
            busy: 3.0,
            ..Activity::default()
        };
        let facts = Facts {
            activity: Some(&activity),
            ..Facts::of(&machine)
        };
        let found = examine(&facts);
        let order: Vec<(&str, Grade)> = found.iter().map(|it| (it.check, it.grade)).collect();
        let wanted = [
            ("other programs", Grade::Invalid),
            ("accept queue", Grade::Caveat),
            ("clock", Grade::Caveat),
        ];
        assert_eq!(order, wanted);
        assert!(found[1].cost.share > found[2].cost.share);
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_is_not_judged() {
        let bare = Machine::default();
        let blank = Machine {
            setup: Some(record::Setup::default()),
            ..Machine::default()
        };
        for machine in [bare, blank] {
            let (activity, path) = (Activity::default(), record::NetworkPath::default());
            let facts = Facts {
                activity: Some(&activity),
                path: Some(&path),
                ..Facts::of(&machine)
            };
            assert_eq!(examine(&facts), []);
            assert!(followed(&facts).is_empty());
        }
    }
}

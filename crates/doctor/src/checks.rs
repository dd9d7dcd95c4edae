//! The table of checks, and one file for each of its parts.

mod cpu;
mod kernel;
mod limits;
mod load;
mod network;
mod target;

use crate::{Facts, Finding};

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The facts that it reads.
    pub reads: &'static str,
    /// When it finds something, with the thresholds.
    pub finds: &'static str,
    /// Looks for it; none where nothing is wrong or a fact is missing.
    pub judge: fn(&Facts<'_>) -> Option<Finding>,
}

/// Every check.
pub const CHECKS: &[Check] = &[
    load::OTHER_PROGRAMS,
    load::STEAL,
    load::MEMORY,
    cpu::VIRTUAL_MACHINE,
    cpu::FEW_CPUS,
    cpu::QUOTA,
    cpu::MASK,
    cpu::GOVERNOR,
    cpu::TURBO,
    cpu::SMT,
    cpu::NUMA,
    kernel::CLOCK,
    kernel::TRACED,
    kernel::TRACING,
    kernel::DEBUG,
    kernel::MITIGATIONS,
    kernel::HUGE_PAGES,
    limits::MEMORY,
    limits::OPEN_FILES,
    limits::ALL_FILES,
    limits::PORTS,
    limits::TIME_WAIT,
    limits::ACCEPT_QUEUE,
    limits::SYN_QUEUE,
    network::IPTABLES,
    network::NFTABLES,
    network::CONNTRACK,
    network::CAPTURE,
    network::CONGESTION,
    network::BUFFERS,
    network::BUSY_POLL,
    target::UNREACHABLE,
    target::LINK,
    target::LOST,
    target::ROUND_TRIP,
    target::MTU,
];

/// Made-up facts, for the tests of all parts.
#[cfg(test)]
mod tests {
    use super::*;
    use record::{Activity, Grade, Machine, NetworkPath, Setup};
    use std::collections::BTreeSet;

    /// Facts that a test may change.
    #[derive(Default)]
    pub(super) struct Made {
        pub(super) machine: Machine,
        pub(super) setup: Setup,
        pub(super) activity: Activity,
        pub(super) path: Option<NetworkPath>,
    }

    impl Made {
        /// Sets a setting of the kernel.
        pub(super) fn sysctl(&mut self, name: &str, value: &str) {
            self.setup.sysctls.insert(name.into(), value.into());
        }
    }

    /// Grade and headline that `check` finds in facts that `change` has made; mend and undo with it.
    pub(super) fn found(check: &Check, change: impl Fn(&mut Made)) -> Option<Finding> {
        let mut made = Made::default();
        change(&mut made);
        made.machine.setup = Some(made.setup);
        let facts = Facts {
            machine: &made.machine,
            activity: Some(&made.activity),
            path: made.path.as_ref(),
        };
        (check.judge)(&facts)
    }

    /// A change of the facts, and what is to be found then.
    pub(super) type Case<'a> = (fn(&mut Made), Option<(Grade, &'a str)>);

    /// Compares headlines, graded, of several changes: `None` where nothing is to be found.
    pub(super) fn finds(check: &Check, cases: &[Case<'_>]) {
        for (at, (change, wanted)) in cases.iter().enumerate() {
            let found = found(check, change);
            let shown = found.as_ref().map(|it| (it.grade, it.headline.as_str()));
            assert_eq!(shown, *wanted, "{} {at}", check.name);
            if let Some(finding) = found {
                assert!(
                    finding.headline.chars().count() <= 68,
                    "{}",
                    finding.headline
                );
                assert!((0.0..=1.0).contains(&finding.cost.share), "{finding:?}");
                assert!(
                    !finding.cost.what.is_empty() && finding.mend.is_some(),
                    "{finding:?}"
                );
            }
        }
    }

    #[test]
    fn every_check_is_complete_and_its_name_is_there_once() {
        let names: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
        for check in CHECKS {
            assert!(
                !check.reads.is_empty() && !check.finds.is_empty(),
                "{}",
                check.name
            );
            assert!(check.name.len() <= 16, "{}", check.name);
        }
    }
}

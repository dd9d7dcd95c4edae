//! A whole examination: the facts, and what is wrong.

use crate::{Facts, Finding, Folklore, examine, followed};
use record::{Activity, Grade, Machine, NetworkPath};
use serde::Serialize;

/// What was found in a machine, and the facts that it rests on.
#[derive(Debug, Clone, Serialize)]
pub struct Checkup {
    /// What is wrong, the gravest first.
    pub findings: Vec<Finding>,
    /// Wrong advice that the machine is set up by.
    pub folklore: Vec<Folklore>,
    /// What ran while weigh was at rest.
    pub activity: Option<Activity>,
    /// The path to the target.
    pub path: Option<NetworkPath>,
    /// The machine.
    pub machine: Machine,
}

impl Checkup {
    /// Examines a machine.
    pub fn of(machine: Machine, activity: Option<Activity>, path: Option<NetworkPath>) -> Checkup {
        let facts = Facts {
            machine: &machine,
            activity: activity.as_ref(),
            path: path.as_ref(),
        };
        Checkup {
            findings: examine(&facts),
            folklore: followed(&facts),
            activity,
            path,
            machine,
        }
    }

    /// Returns the gravest finding where it makes measuring invalid.
    pub fn invalid(&self) -> Option<&Finding> {
        let gravest = self.findings.first();
        gravest.filter(|finding| finding.grade == Grade::Invalid)
    }
}

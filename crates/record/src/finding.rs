//! Findings: answers to the question whether a figure can be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answer of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check that found it, by name.
    pub check: String,
    /// The place of the point that it speaks of; none where there is only one, and where it speaks of them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<usize>,
    /// How much it weighs.
    pub grade: Grade,
    /// The figures it demotes; no others are touched.
    pub touches: Vec<Figure>,
    /// One sentence with the numbers it rests on.
    pub sentence: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The numbers it rests on, by name.
    pub evidence: Vec<(String, f64)>,
}

/// How much a finding weighs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Worth knowing; demotes nothing.
    Note,
    /// The figure stands, with a mark and its reason.
    Qualified,
    /// The figure is worthless.
    Invalid,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::Note => "note",
            Grade::Qualified => "qualified",
            Grade::Invalid => "INVALID",
        })
    }
}

/// A printed figure that a finding can demote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Requests per second.
    Rps,
    /// Latency percentiles and mean.
    Latency,
    /// The interval over rounds.
    Interval,
    /// Counts of exchanges, errors and bytes.
    Counts,
}

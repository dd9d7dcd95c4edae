//! What became of the requirements on a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One requirement, judged at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The requirement as it was written.
    pub text: String,
    /// Index of the point; none where there is only one point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<usize>,
    /// Whether it is met.
    pub verdict: Compliance,
    /// One sentence that says why; of a sweep it names the point.
    pub sentence: String,
}

impl Judged {
    /// Returns the sentence with the requirement and the verdict before it: `p99<20ms is met: p99 is 3.10 ms`.
    pub fn reason(&self) -> String {
        let verdict = match self.verdict {
            Compliance::Met => "is met",
            Compliance::NotMet => "is not met",
            Compliance::CannotTell => "cannot be judged",
        };
        format!("{} {verdict}: {}", self.text, self.sentence)
    }
}

/// Whether a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compliance {
    /// The figure, with its whole interval, is on the required side of the bound.
    Met,
    /// The figure, with its whole interval, is on the other side.
    NotMet,
    /// The figure is void or missing, or its interval contains the bound.
    CannotTell,
}

impl fmt::Display for Compliance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compliance::Met => "met",
            Compliance::NotMet => "not met",
            Compliance::CannotTell => "cannot tell",
        })
    }
}

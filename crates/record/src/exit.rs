//! How a campaign ended: the exit status and its reason, as a record holds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An exit status other than 0, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// The status: one of the constants.
    pub status: u8,
    /// One sentence that says why.
    pub why: String,
}

impl Exit {
    /// Measured, and everything that was required is met.
    pub const YES: u8 = 0;
    /// A requirement is not met, nothing ended ok, the campaign was ended early, or the record contradicts itself.
    pub const NO: u8 = 1;
    /// Not carried out: the command, the target or the server under test is wrong, or the result was lost.
    pub const COULD_NOT: u8 = 2;
    /// Measured, but it cannot be told whether a requirement is met.
    pub const CANNOT_TELL: u8 = 3;
    /// A bug in weigh.
    pub const BUG: u8 = 70;
    /// Interrupted by a signal.
    pub const INTERRUPTED: u8 = 130;

    /// The status `status` for the reason `why`.
    pub fn new(status: u8, why: impl Into<String>) -> Exit {
        Exit {
            status,
            why: why.into(),
        }
    }
}

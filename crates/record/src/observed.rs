//! The processes whose footprint was taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processes whose footprint was taken, and how they were known; or why there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// How the server was known.
    pub by: Known,
    /// Its processes when it was at rest, the first of them all; at most [`Observed::MOST`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// How many there were.
    pub count: u32,
    /// The control group whose clock was used, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Why no process was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

impl Observed {
    /// The most processes that are named.
    pub const MOST: usize = 64;

    /// Returns that no process was observed, because of `why_not`.
    pub fn none(why_not: impl Into<String>) -> Observed {
        Observed {
            why_not: Some(why_not.into()),
            ..Observed::default()
        }
    }
}

/// How a server was known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It was not.
    #[default]
    Not,
    /// weigh started it.
    Started,
    /// It was named.
    Named,
    /// It listens where the target is.
    Listens,
}

/// A process of the server, at rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, as far as the kernel keeps it.
    pub name: String,
    /// The program that it runs; none where that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its threads.
    pub threads: u32,
    /// Its PSS in bytes; none where that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// How many files it may have open, the soft limit; none where there is none, or it may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

//! How hard, for how long, and in which manner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Nanos, Rate};

/// What drives the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A closed loop: each connection asks again as soon as it has its answer. It has no due instants of its own, so
    /// it measures service time, and stops asking while the server stalls.
    Closed {
        /// Connections, over all threads.
        connections: u32,
    },
    /// An open loop: a schedule says when each exchange is due, whatever the server does; so it measures response time,
    /// and a stall is seen by everything that was due in it.
    Open {
        /// Exchanges a second, over all threads.
        rate: Rate,
        /// By which law they are due.
        arrivals: Arrivals,
        /// The most connections that may be open, over all threads.
        connections: u32,
    },
}

impl Load {
    /// Connections, or the most of them, over all threads.
    pub fn connections(self) -> u32 {
        match self {
            Load::Closed { connections } | Load::Open { connections, .. } => connections,
        }
    }

    /// Whether a schedule says when exchanges are due.
    pub fn is_open(self) -> bool {
        matches!(self, Load::Open { .. })
    }
}

/// By which law exchanges of an open loop are due; each is a file in `pacing/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random: gaps are exponential and independent, as of many users who know nothing of each other.
    Poisson,
    /// Evenly spaced.
    Constant,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Poisson => "poisson",
            Arrivals::Constant => "constant",
        })
    }
}

/// When a round is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After exactly this many exchanges became due in the window.
    Requests(u64),
    /// When the window has been open this long.
    Duration(Nanos),
}

/// When connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// All of them before the load begins, as wrk does.
    Eager,
    /// On the fly, each when its first exchange is due, the request right after the handshake, as users do.
    Lazy,
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connect::Eager => "eager",
            Connect::Lazy => "lazy",
        })
    }
}

/// The version of HTTP that requests are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Version {
    /// HTTP/1.0; keep-alive must be asked for.
    #[serde(rename = "HTTP/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "HTTP/1.1")]
    Http11,
}

/// How HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocol {
    /// The version that requests are written in.
    pub version: Version,
    /// Whether a connection serves more than one exchange.
    pub keepalive: bool,
    /// The most exchanges on one connection; none: as many as the server allows.
    pub requests_per_connection: Option<u64>,
    /// Exchanges that may be under way on one connection at a time.
    pub pipeline: u32,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol {
            version: Version::Http11,
            keepalive: true,
            requests_per_connection: None,
            pipeline: 1,
        }
    }
}

impl Protocol {
    /// The most exchanges on one connection, all settings considered.
    pub fn exchanges_per_connection(&self) -> u64 {
        match (self.keepalive, self.requests_per_connection) {
            (false, _) => 1,
            (true, Some(most)) => most,
            (true, None) => u64::MAX,
        }
    }
}

//! Load: what drives it, and for how long.

use crate::{Arrivals, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// What drives the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A closed loop: each connection sends its next request when it has its response. It has no schedule, so it measures
    /// service time, and sends nothing while the server stalls.
    Closed {
        /// Connections, over all threads.
        connections: u32,
    },
    /// An open loop: each request, or each connection, has a scheduled time, whatever the server does; so it measures
    /// response time, and every request that is scheduled during a stall sees it.
    Open {
        /// Arrivals a second, over all threads.
        rate: Rate,
        /// What arrives; requests by default.
        #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
        of: Arriving,
        /// Arrival process.
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

    /// Whether that schedule is one of connections.
    pub fn is_of_connections(self) -> bool {
        matches!(
            self,
            Load::Open {
                of: Arriving::Connections,
                ..
            }
        )
    }

    /// Exchanges that each arrival of an open loop stands for; 1 where exchanges arrive, and in a closed loop.
    pub fn exchanges_per_arrival(self, protocol: &Protocol) -> u64 {
        match self.is_of_connections() {
            true => protocol.exchanges_per_connection(),
            false => 1,
        }
    }

    /// Exchanges a second that are asked for while every connection lives to carry all of its own; none in a closed
    /// loop.
    pub fn exchange_rate(self, protocol: &Protocol) -> Option<f64> {
        let Load::Open { rate, .. } = self else {
            return None;
        };
        Some(rate.as_f64() * self.exchanges_per_arrival(protocol) as f64)
    }
}

/// What arrives in an open loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arriving {
    /// Single exchanges, on whatever connection is free.
    #[default]
    Exchanges,
    /// Connections, a new one for each arrival, as users come. Each sends a number of requests one after the other
    /// ([`Protocol::requests_per_connection`]), each scheduled when the one before it is over. httperf calls this the
    /// rate.
    Connections,
}

impl Arriving {
    /// The flag that asks for a rate of them.
    pub fn flag(self) -> &'static str {
        match self {
            Arriving::Exchanges => "--rate",
            Arriving::Connections => "--connection-rate",
        }
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

impl Stop {
    /// A window that is so many times as long.
    pub fn times(self, factor: u32) -> Stop {
        match self {
            Stop::Requests(number) => Stop::Requests(number.saturating_mul(factor.into())),
            Stop::Duration(span) => Stop::Duration(span * u64::from(factor)),
        }
    }
}

//! The rows of the table (`catalogue/faults.toml`): by HTTP's rules the nature of a request that meets a misbehaviour, and
//! how many requests do.
//!
//! The list is closed on both sides: a misbehaviour that is neither a row nor left out with a reason fails a test.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use testserver::misbehaviour::{Misbehaviour as M, Script, Trigger, When};
use units::Nanos;

/// One request (or connection) in this many meets the misbehaviour.
pub const EVERY: u64 = 5;
/// Requests of a run.
pub const MANY: u64 = 60;
/// Requests where each that meets it takes long.
pub const FEW: u64 = 20;
/// Connections at a time.
pub const CONNECTIONS: u64 = 4;

/// The nature of a request that meets the misbehaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nature {
    /// Answered as expected, if in a rare form: a success.
    Right,
    /// Answered as expected with a status that some tools call a success and some do not.
    Either,
    /// Answered as expected, and bytes follow that answer nothing: to be noticed, as a failure or apart.
    Stray,
    /// Answered as expected; the connection is closed against the promise, which may cost the next request on it.
    Last,
    /// Not answered, or not as expected: a failure.
    Broken,
}

/// One row.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What the server does.
    #[serde(rename = "name", deserialize_with = "named")]
    pub misbehaviour: M,
    /// The nature of a request that meets it.
    pub nature: Nature,
    /// Whether it takes long, or bytes without end, until it is over.
    #[serde(default, rename = "slow")]
    pub is_slow: bool,
}

#[derive(Deserialize)]
struct Table {
    row: Vec<Row>,
    left_out: BTreeMap<String, String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../../catalogue/faults.toml")).expect("the rows are read by tests")
});

/// All rows, in the order of the server's table.
pub fn all() -> &'static [Row] {
    &TABLE.row
}

/// Misbehaviours without a row, and why, in the order of the server's table.
pub fn left_out() -> impl Iterator<Item = (&'static str, &'static str)> {
    let why = |misbehaviour: &M| {
        let name = misbehaviour.name();
        Some((name, TABLE.left_out.get(name)?.as_str()))
    };
    M::ALL.iter().filter_map(why)
}

fn named<'de, D: Deserializer<'de>>(from: D) -> Result<M, D::Error> {
    let name = String::deserialize(from)?;
    M::named(&name).ok_or_else(|| serde::de::Error::custom(format!("no misbehaviour `{name}`")))
}

impl Row {
    /// The misbehaviour's name.
    pub fn name(&self) -> &'static str {
        self.misbehaviour.name()
    }

    /// Requests of a run, weigh's probe included.
    pub fn requests(&self) -> u64 {
        if self.is_slow { FEW } else { MANY }
    }

    /// Whether connections are kept: not where it is connections that meet it.
    pub fn keeps(&self) -> bool {
        self.misbehaviour.trigger() != Trigger::Connection
    }

    /// Whether it is about TLS: the server is asked over https.
    pub fn is_secured(&self) -> bool {
        self.misbehaviour.is_beneath_tls()
    }

    /// Whether HEAD is sent.
    pub fn is_head(&self) -> bool {
        self.misbehaviour.trigger() == Trigger::Head
    }

    /// What the server does.
    pub fn script(&self) -> Script {
        Script {
            interval: Nanos::from_millis(300),
            outage: Nanos::from_millis(200),
            ..Script::of(self.misbehaviour, When::Every(EVERY))
        }
    }
}

/// The names that `--only` takes.
pub fn names() -> Vec<&'static str> {
    all().iter().map(Row::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misbehaviour_is_a_row_or_left_out_and_in_order() {
        let is_row = |each: &&M| left_out().all(|(name, _)| name != each.name());
        let wanted: Vec<M> = M::ALL.iter().filter(is_row).copied().collect();
        let found: Vec<M> = all().iter().map(|row| row.misbehaviour).collect();
        assert_eq!(found, wanted);
        assert_eq!(left_out().count(), TABLE.left_out.len());
    }

    #[test]
    fn requests_are_a_multiple_of_the_spoilt_ones() {
        assert_eq!((MANY % EVERY, FEW % EVERY), (0, 0));
    }
}

//! What servers must have in common to be compared: which of it they have.

use super::{Comparison, Conditions};
use serde::Serialize;

/// What must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Bytes of the body.
    Body,
    /// The response's status.
    Status,
    /// The protocol of the response.
    Protocol,
    /// The Content-Encoding of the body.
    Compression,
    /// Whether connections are kept for the next request.
    KeepAlive,
    /// Processes or threads that take part of the load.
    Workers,
    /// Whether the server writes a log.
    Logging,
}

impl Condition {
    /// Every condition, the most telling first.
    pub const ALL: [Condition; 7] = [
        Condition::Body,
        Condition::Status,
        Condition::Protocol,
        Condition::Compression,
        Condition::KeepAlive,
        Condition::Workers,
        Condition::Logging,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Condition::Body => "body",
            Condition::Status => "status",
            Condition::Protocol => "protocol",
            Condition::Compression => "compression",
            Condition::KeepAlive => "keep-alive",
            Condition::Workers => "workers",
            Condition::Logging => "logging",
        }
    }

    /// Returns what it is for one server, in words, with what the server sent as it is; none where that is not known.
    pub fn value(self, of: &Conditions) -> Option<String> {
        let switch = |is_on: bool| ["off", "on"][usize::from(is_on)].to_owned();
        match self {
            Condition::Body => of
                .body
                .map(|(length, crc)| format!("{} (CRC {crc:08x})", units::bytes(length))),
            Condition::Status => of.status.map(|status| status.to_string()),
            Condition::Protocol => of.protocol.clone(),
            Condition::Compression => {
                let encoding = of.compression.clone();
                of.status.map(|_| encoding.unwrap_or_else(|| "none".into()))
            }
            Condition::KeepAlive => of.keep_alive.map(switch),
            Condition::Workers => {
                let threads = of
                    .threads
                    .map(|threads| units::number(threads.into(), "thread"));
                threads.or_else(|| of.workers.map(|workers| units::count(workers.into())))
            }
            Condition::Logging => of.is_logging().map(switch),
        }
    }

    /// Returns whether two servers have it in common; none where it is not known of both.
    pub fn is_equal(self, a: &Conditions, b: &Conditions) -> Option<bool> {
        match self {
            Condition::Body => equal(a.body, b.body),
            Condition::Status => equal(a.status, b.status),
            Condition::Protocol => equal(a.protocol.as_ref(), b.protocol.as_ref()),
            // A body that is sent as it is has no encoding to be known by, and a response that came has a status.
            Condition::Compression => a
                .status
                .and(b.status)
                .map(|_| a.compression == b.compression),
            Condition::KeepAlive => equal(a.keep_alive, b.keep_alive),
            Condition::Workers => match (a.threads, b.threads) {
                (Some(a), Some(b)) => are_as_many(a, b),
                _ => equal(a.workers, b.workers),
            },
            Condition::Logging => equal(a.is_logging(), b.is_logging()),
        }
    }
}

fn equal<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<bool> {
    Some(a? == b?)
}

/// Whether programs of so many threads have as many workers. Runtimes start a few threads more or less as it comes, so that a small
/// difference says nothing; the limit of half as many again is a guess, and tells one worker beside the main thread from two.
fn are_as_many(a: u32, b: u32) -> Option<bool> {
    let (fewer, more) = (a.min(b), a.max(b));
    match fewer == more {
        true => Some(true),
        false => (2 * more >= 3 * fewer).then_some(false),
    }
}

impl Conditions {
    /// Bytes a request from which on a server is said to write a log, in thousandths: less is not a line a request.
    const LOGGING_FROM: u64 = 1_000;

    /// Returns whether the server writes a log of its requests; none where its files are not observed.
    pub fn is_logging(&self) -> Option<bool> {
        let logged = self.logged_millibytes?;
        Some(logged >= Conditions::LOGGING_FROM)
    }
}

/// Which conditions servers have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Equality {
    /// Those that all of them have in common.
    pub equal: Vec<Condition>,
    /// Those in which at least two differ.
    pub unequal: Vec<Condition>,
    /// Those that are not known of all, and in which no two are known to differ.
    pub unknown: Vec<Condition>,
}

impl Equality {
    /// Returns what the servers that are compared have in common.
    pub(super) fn of(comparison: &Comparison) -> Equality {
        let known = comparison.ranked().into_iter();
        let known: Vec<&Conditions> = known
            .filter_map(|place| Some(&comparison.servers.get(place)?.conditions))
            .collect();
        let mut all = Equality::default();
        for condition in Condition::ALL {
            let pairs = known.iter().enumerate();
            let pairs =
                pairs.flat_map(|(at, a)| known[at + 1..].iter().map(|b| condition.is_equal(a, b)));
            let pairs: Vec<Option<bool>> = pairs.collect();
            let list = if pairs.contains(&Some(false)) {
                &mut all.unequal
            } else if pairs.contains(&None) {
                &mut all.unknown
            } else {
                &mut all.equal
            };
            list.push(condition);
        }
        all
    }
}

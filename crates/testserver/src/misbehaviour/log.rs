//! What a misbehaving server did, in numbers that a client's can be compared with.

use super::table::Misbehaviour;
use std::fmt;

/// What a server has done since it started.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Connections accepted.
    pub connections: u64,
    /// Times that accepting, or listening again, failed (too many open files, no memory); each is followed by a pause.
    pub accept_errors: u64,
    /// Requests read to their end, whether or not their turn came.
    pub requests: u64,
    /// Those of `requests` answered as they should be, to the last byte that the kernel took.
    pub answered: u64,
    /// Requests that were malformed or too large; none of them is in `requests`.
    pub refused: u64,
    /// Connections reset because their client sent requests too far ahead of the responses.
    pub cut: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes that the kernel took for sending.
    pub bytes_sent: u64,
    /// How often each misbehaviour was begun, in the table's order.
    misbehaved: PerMisbehaviour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PerMisbehaviour([u64; Misbehaviour::ALL.len()]);

impl Default for PerMisbehaviour {
    fn default() -> PerMisbehaviour {
        PerMisbehaviour([0; Misbehaviour::ALL.len()])
    }
}

impl Log {
    /// How often this misbehaviour was begun.
    pub fn count(&self, misbehaviour: Misbehaviour) -> u64 {
        self.misbehaved.0[misbehaviour as usize]
    }

    /// How often any misbehaviour was begun.
    pub fn misbehaved(&self) -> u64 {
        self.misbehaved.0.iter().sum()
    }

    pub(crate) fn add(&mut self, misbehaviour: Misbehaviour) {
        self.misbehaved.0[misbehaviour as usize] += 1;
    }
}

impl fmt::Display for Log {
    /// One count a line, `name number`; misbehaviours only where they occurred. No line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("connections", self.connections),
            ("accept_errors", self.accept_errors),
            ("requests", self.requests),
            ("answered", self.answered),
            ("refused", self.refused),
            ("cut", self.cut),
            ("bytes_received", self.bytes_received),
            ("bytes_sent", self.bytes_sent),
        ];
        let misbehaved = Misbehaviour::ALL
            .iter()
            .map(|each| (each.name(), self.count(*each)));
        let rows = rows
            .into_iter()
            .chain(misbehaved.filter(|(_, count)| *count > 0));
        let lines = rows.map(|(name, count)| format!("{name} {count}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

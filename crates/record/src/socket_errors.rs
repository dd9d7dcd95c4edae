//! Errors in the five classes of wrk, which scripts and its report have.

use crate::{Kind, Step, Tally};

/// Errors by what failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketErrors {
    /// No connection.
    pub connect: u64,
    /// No response, or not a whole one.
    pub read: u64,
    /// The request could not be sent.
    pub write: u64,
    /// A status from 400 on.
    pub status: u64,
    /// The response took too long.
    pub timeout: u64,
}

impl Tally {
    /// Returns the errors by these classes.
    pub fn socket_errors(&self) -> SocketErrors {
        let is_timeout = |kind: Kind| matches!(kind, Kind::Timeout | Kind::TimeoutBehind);
        let is_status = |kind: Kind| matches!(kind, Kind::Status4xx | Kind::Status5xx);
        let count = |step: fn(Step) -> bool| {
            self.faults.count(|fault| {
                step(fault.step) && !is_timeout(fault.kind) && !is_status(fault.kind)
            })
        };
        SocketErrors {
            connect: count(|step| matches!(step, Step::Connect | Step::Handshake | Step::Queue)),
            write: count(|step| matches!(step, Step::Send)),
            read: count(|step| matches!(step, Step::Head | Step::Body | Step::Verdict)),
            timeout: self.faults.count(|fault| is_timeout(fault.kind)),
            status: self.faults.count(|fault| is_status(fault.kind)),
        }
    }
}

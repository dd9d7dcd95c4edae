//! The rows of the table: what each misbehaviour makes of an exchange, by HTTP's rules, and how many meet it.
//!
//! The list is closed on both sides: what is neither a row nor left out with a reason fails a test.

use testserver::misbehaviour::{Misbehaviour, Script, Trigger, When};
use units::Nanos;

use Misbehaviour as M;

/// One exchange (or connection) in this many is spoilt.
pub const EVERY: u64 = 5;
/// Exchanges of a run, and connections at a time.
pub const MANY: u64 = 60;
/// Exchanges where each that is spoilt takes long.
pub const FEW: u64 = 20;
/// Connections at a time.
pub const CONNECTIONS: u64 = 4;

/// What an exchange that meets the misbehaviour is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Answered right, if in a rare form: a success.
    Right,
    /// Answered right with a status that some call a success and some do not.
    Either,
    /// Answered right, and bytes follow that answer nothing: to be noticed, as a failure or apart.
    Stray,
    /// Answered right; the connection is closed against the promise, which may cost the next exchange on it.
    Last,
    /// Not answered, or not right: a failure.
    Broken,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What the server does.
    pub misbehaviour: M,
    /// What that is.
    pub nature: Nature,
    /// Whether it takes long, or bytes without end, until it is over.
    pub is_slow: bool,
}

const fn row(misbehaviour: M, nature: Nature) -> Row {
    Row {
        misbehaviour,
        nature,
        is_slow: false,
    }
}

const fn slow(misbehaviour: M, nature: Nature) -> Row {
    Row {
        is_slow: true,
        ..row(misbehaviour, nature)
    }
}

/// All rows, in the order of the server's table.
pub const ROWS: &[Row] = {
    use Nature::{Broken, Either, Last, Right, Stray};
    &[
        row(M::CloseAtAccept, Broken),
        row(M::ResetAtAccept, Broken),
        row(M::CloseUnanswered, Broken),
        row(M::ResetUnanswered, Broken),
        row(M::CloseInHead, Broken),
        row(M::ResetInHead, Broken),
        row(M::CloseInBody, Broken),
        row(M::ResetInBody, Broken),
        row(M::CloseInChunks, Broken),
        row(M::CloseKept, Last),
        slow(M::Silence, Broken),
        slow(M::SilenceInHead, Broken),
        slow(M::SilenceInBody, Broken),
        slow(M::Drip, Broken),
        row(M::Late, Right),
        row(M::Bytewise, Right),
        slow(M::HugeHead, Broken),
        slow(M::EndlessHead, Broken),
        slow(M::EndlessInterim, Broken),
        slow(M::EndlessBody, Broken),
        slow(M::EndlessChunks, Broken),
        slow(M::HugeBody, Right),
        row(M::Surplus, Stray),
        row(M::Garbage, Stray),
        row(M::AnswerTwice, Stray),
        slow(M::BodyAfterHead, Stray),
        row(M::BodyAfter204, Stray),
        slow(M::NotHttp, Broken),
        row(M::BadVersion, Broken),
        row(M::BadStatus, Broken),
        row(M::NoColon, Broken),
        row(M::NulInHeader, Broken),
        row(M::FoldedHeader, Broken),
        row(M::LengthNegative, Broken),
        row(M::LengthTooLarge, Broken),
        row(M::LengthsDiffer, Broken),
        row(M::LengthTwice, Right),
        row(M::LengthAndChunks, Broken),
        slow(M::UnknownCoding, Broken),
        row(M::ChunkNotHex, Broken),
        row(M::ChunkTooLarge, Broken),
        row(M::ChunkUnended, Broken),
        row(M::BareLf, Right),
        row(M::EmptyReason, Right),
        row(M::NoReason, Right),
        row(M::Interim, Right),
        row(M::Trailers, Right),
        row(M::UntilClose, Right),
        row(M::OldVersion, Right),
        slow(M::Switching, Broken),
        row(M::Redirect, Either),
        row(M::NotFound, Broken),
        row(M::Unavailable, Broken),
        slow(M::Freeze, Right),
    ]
};

/// Misbehaviours without a row, and why.
pub const LEFT_OUT: &[(M, &str)] = &[
    (
        M::AnswerUnasked,
        "one that comes before any request is a stray to weigh and answers none, exactly so where connections are \
         opened before the load; one that comes behind the first request, as it may where they are opened for it, is \
         the answer to it by HTTP's rules, and that all further ones are off by one nobody can tell",
    ),
    (
        M::StopAccepting,
        "what it costs depends on the clients' patience",
    ),
    (
        M::StopListening,
        "how often a client tries again is its own choice",
    ),
    (M::Die, "how many exchanges are under way is chance"),
];

impl Row {
    /// The misbehaviour's name.
    pub fn name(&self) -> &'static str {
        self.misbehaviour.name()
    }

    /// Exchanges of a run, our probe included.
    pub fn requests(&self) -> u64 {
        if self.is_slow { FEW } else { MANY }
    }

    /// Whether connections are kept: not where it is connections that are spoilt.
    pub fn keeps(&self) -> bool {
        self.misbehaviour.trigger() != Trigger::Connection
    }

    /// Whether it is asked with HEAD.
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

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    ROWS.iter().map(Row::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misbehaviour_is_a_row_or_left_out_and_in_order() {
        let left_out = |each: &&M| LEFT_OUT.iter().any(|(left, _)| left == *each);
        let wanted: Vec<M> = M::ALL
            .iter()
            .filter(|each| !left_out(each))
            .copied()
            .collect();
        let found: Vec<M> = ROWS.iter().map(|row| row.misbehaviour).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn requests_are_a_multiple_of_the_spoilt_ones() {
        assert_eq!((MANY % EVERY, FEW % EVERY), (0, 0));
    }
}

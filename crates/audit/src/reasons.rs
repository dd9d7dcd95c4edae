//! Why exchanges failed, in words: faults added up by kind, and what a kind is called in a sentence.
//!
//! A record's names (`status_4xx`) are for scripts and tables; a finding is a sentence.

use record::{Fault, Kind, Step, Tally};
use units::count;

/// The kinds that satisfy `wanted` with their numbers of requests, over all steps and blames; the largest first.
pub(crate) fn by_kind(tally: &Tally, wanted: impl Fn(Kind) -> bool) -> Vec<(Kind, u64)> {
    let mut kinds = tally.faults.by_kind();
    kinds.retain(|(kind, _)| wanted(*kind));
    kinds
}

/// The kind with the most requests.
pub(crate) fn most(tally: &Tally) -> Option<Kind> {
    tally.faults.by_kind().first().map(|(kind, _)| *kind)
}

/// Returns what follows "requests failed because ...".
pub(crate) fn because(kind: Kind) -> &'static str {
    match kind {
        Kind::NeverSent => "they were never sent",
        Kind::Abandoned => "they were pipelined behind a response that ended the connection",
        Kind::Timeout => "they took longer than --timeout",
        Kind::TimeoutBehind => "they were pipelined behind one that took longer than --timeout",
        Kind::Unfinished => "they were still open when the run ended",
        Kind::CarriedOver => "they were sent before the window and got no response by its end",
        other => other.sentence(),
    }
}

/// What to do about certificates that are not accepted under load: the one that the probe met was.
pub(crate) const CHANGED_CERTIFICATE: &str = "Check whether the server's certificate was changed or expired during the run, and whether every \
     server behind the address shows the same one (openssl s_client)";

/// Returns `3 never sent`: a number of requests of a kind that cut them off.
pub(crate) fn cut_off(kind: Kind, exchanges: u64) -> String {
    let words = match kind {
        Kind::NeverSent => "never sent",
        Kind::ConnectTimeout => "over --connect-timeout",
        Kind::HandshakeTimeout => "over --connect-timeout in the handshake",
        Kind::Timeout => "over --timeout",
        Kind::TimeoutBehind => "pipelined behind one over --timeout",
        Kind::Unfinished => "still open when the run ended",
        Kind::CarriedOver => "sent before the window and without a response at its end",
        other => return format!("{} because {}", count(exchanges), because(other)),
    };
    format!("{} {words}", count(exchanges))
}

/// Whether the response was complete, only not the right one.
pub(crate) fn is_answer(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Status4xx | Kind::Status5xx | Kind::StatusUnexpected | Kind::BodyDiffers
    )
}

/// Whether a connection ended with it: not where a whole answer came, where there was none yet, and where another
/// exchange's fault had ended it already.
pub(crate) fn ends_a_connection(fault: Fault) -> bool {
    let had_none = matches!(fault.step, Step::Queue | Step::Connect | Step::Handshake);
    let is_anothers = matches!(fault.kind, Kind::Abandoned | Kind::TimeoutBehind);
    !had_none && !is_answer(fault.kind) && !is_anothers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::fail;
    use record::Blame;
    use units::Nanos;

    #[test]
    fn every_kind_makes_a_sentence_of_words() {
        for kind in Kind::ALL {
            let clause = because(*kind);
            let is_predicate = ["was ", "took "]
                .iter()
                .any(|verb| clause.starts_with(verb));
            assert!(!is_predicate && !clause.contains('_'), "{clause}");
            assert!(
                !kind.is_censored() || !cut_off(*kind, 1).contains("because"),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn kinds_are_added_up_over_steps_and_the_most_frequent_comes_first() {
        let mut tally = Tally::default();
        (0..3).for_each(|_| fail(&mut tally, Kind::Reset, 0));
        for blame in [Blame::Server, Blame::Generator] {
            tally.scheduled += 2;
            tally.observe_never_sent(2, Nanos::from_secs(1), blame);
        }
        assert_eq!(
            by_kind(&tally, |_| true),
            [(Kind::NeverSent, 4), (Kind::Reset, 3)]
        );
        assert_eq!(
            by_kind(&tally, |kind| !kind.is_censored()),
            [(Kind::Reset, 3)]
        );
        assert_eq!(most(&tally), Some(Kind::NeverSent));
    }
}

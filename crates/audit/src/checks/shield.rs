//! Were connections refused or cut before they got a response?

use super::prelude::*;
use record::{Fault, Kind, Step};

pub(super) const CHECK: Check = Check {
    name: "shield",
    question: "Were connections refused or cut before they got any response?",
    looks_at: "Connects that were refused or reset, and open connections that the server's side ended before the first \
               byte of a response, of all that were tried in all phases, where other requests ended ok. A limit of \
               connections, a rate limit or a protection in front of the server does so: it judges connections before \
               it sees requests.",
    thresholds: &[
        guess("share of the connects, for a note, from", || percent(NOTED)),
        guess("and for a caveat, from", || percent(MANY)),
    ],
    false_alarms: "none: it follows from counts; a server that crashes or closes idle connections unused looks the same",
    power: "every connection that is refused, reset or closed; one whose packets are dropped is a timeout instead",
    effect: "A note; from the second threshold on requests/s and latency get a caveat: they are those of the connections \
             that were let through.",
    remedy: "Look for limits in front of the server: connections for each address, a firewall, a proxy, fail2ban.",
    cause: Cause::ConnectionsClosed,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// A smaller share is a matter of single connections.
const NOTED: f64 = 0.01;
/// From here on the load is not the planned one.
const MANY: f64 = 0.10;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let tally = evidence.tally.as_ref().filter(|tally| tally.ok > 0)?;
    let connects = &tally.connects;
    let is_cut = |kind| matches!(kind, Kind::Reset | Kind::ClosedInHandshake);
    let is_refusal = |fault: Fault| match fault.step {
        Step::Handshake => is_cut(fault.kind),
        _ => matches!(fault.kind, Kind::ConnectRefused | Kind::ConnectReset),
    };
    let refused = connects.failed.count(is_refusal);
    let cut = connects.unserved;
    let share = refused.saturating_add(cut) as f64 / connects.attempted.max(1) as f64;
    if share < NOTED {
        return None;
    }
    let headline = format!(
        "{} of connections were refused or cut at once",
        percent(share)
    );
    let sentence = format!(
        "of {}, {} were refused and {} cut before a response: as by a limit of connections or a protection in front of \
         the server",
        number(connects.attempted, "connection"),
        count(refused),
        count(cut),
    );
    let finding = if share < MANY {
        note(sentence)
    } else {
        caveat(SPEED, headline, sentence)
    };
    let remedy = "Look for limits in front of the server: connections for each address, a firewall, a proxy, fail2ban";
    Some(finding.remedy(remedy).evidence([
        ("connects", connects.attempted as f64),
        ("refused or reset", refused as f64),
        ("cut before a response", cut as f64),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Blame, Grade};

    /// The healthy run, each of whose rounds tried so many more connections, of which these were refused or cut.
    fn found(more: u64, refused: u64, cut: u64) -> Option<Finding> {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            let connects = &mut round.tally.connects;
            connects.attempted += more;
            connects.unserved = cut;
            let fault = Fault {
                step: Step::Connect,
                kind: Kind::ConnectRefused,
                blame: Blame::Server,
            };
            connects.failed.add(fault, refused);
        }
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn connections_refused_or_cut_are_told_by_their_share() {
        let finding = found(10, 4, 6).unwrap();
        let wanted = "of 100 connections, 20 were refused and 30 cut before a response: as by a limit of connections or a \
                      protection in front of the server";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Caveat)
        );
        for (more, refused, cut, grade) in [
            (90, 0, 0, None),
            (190, 1, 0, None),
            (90, 1, 0, Some(Grade::Note)),
            (90, 0, 9, Some(Grade::Note)),
            (90, 0, 10, Some(Grade::Caveat)),
        ] {
            let found = found(more, refused, cut).map(|finding| finding.grade());
            assert_eq!(found, grade, "{more} {refused} {cut}");
        }
    }

    #[test]
    fn a_server_that_answers_nothing_is_judged_elsewhere() {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.tally.ok = 0;
            round.tally.connects.unserved = 10;
        }
        assert_eq!(judge(&Evidence::of(&run, &run.points[0])), None);
    }
}

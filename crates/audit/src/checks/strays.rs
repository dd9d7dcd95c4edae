//! Did the server send bytes that belong to no response?

use super::{Check, threshold};
use crate::Evidence;
use crate::builders::{Substantiate, caveat, number};
use record::{Cause, Figure, Finding};

pub(super) const CHECK: Check = Check {
    name: "strays",
    question: "Did every received byte belong to a response?",
    looks_at: "Bytes after a complete response, a body after HEAD or 204, and a response before any request. They \
               end the connection, because responses can no longer be matched to requests. No request is charged \
               with them, so the errors do not show them; the connections that are opened again do.",
    thresholds: &[threshold(
        "connections that ended so, more than",
        || "0".to_owned(),
        "each breaks HTTP",
    )],
    effect: "Requests/s and latency get a caveat.",
    remedy: "Look at a response with --show-exchange: the server breaks HTTP.",
    cause: Cause::Other,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(tally) = &evidence.tally else {
        return Vec::new();
    };
    let strays = tally.strays.total();
    if strays == 0 {
        return Vec::new();
    }
    let headline = "the server sent bytes that belong to no response";
    let sentence = format!(
        "{headline}, which ended {}",
        number(strays, "connection", "connections")
    );
    let finding = caveat(&[Figure::Rps, Figure::Latency], headline, sentence);
    vec![finding.evidence([("connections ended", strays as f64)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Blame, Fault, Grade, Kind, Step};

    #[test]
    fn a_stray_byte_qualifies_and_none_passes() {
        let mut run = healthy();
        assert_eq!(judge(&Evidence::of(&run, &run.points[0])), []);
        let fault = Fault {
            kind: Kind::UnexpectedBytes,
            step: Step::Head,
            blame: Blame::Server,
        };
        run.points[0].rounds[1].tally.strays.add(fault, 1);
        let found = judge(&Evidence::of(&run, &run.points[0]));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Caveat));
        assert_eq!(
            found[0].sentence,
            "the server sent bytes that belong to no response, which ended 1 connection"
        );
    }
}

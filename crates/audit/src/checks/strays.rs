//! Did the server send bytes that belong to no response?

use super::prelude::*;

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
    false_alarms: "none: it follows from bytes",
    power: "every such response",
    effect: "Requests/s and latency get a caveat.",
    remedy: "Look at a response with --show-exchange: the server breaks HTTP.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let strays = evidence.tally.as_ref()?.strays.total();
    let headline = "the server sent bytes that belong to no response";
    let sentence = format!("{headline}, which ended {}", number(strays, "connection"));
    let finding = caveat(SPEED, headline, sentence);
    (strays > 0).then(|| finding.evidence([("connections ended", strays as f64)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Blame, Fault, Grade, Kind, Step};

    #[test]
    fn a_stray_byte_qualifies_and_none_passes() {
        let mut run = healthy();
        assert_eq!(
            Vec::from_iter(judge(&Evidence::of(&run, &run.points[0]))),
            []
        );
        let fault = Fault {
            kind: Kind::UnexpectedBytes,
            step: Step::Head,
            blame: Blame::Server,
        };
        run.points[0].rounds[1].tally.strays.add(fault, 1);
        let found = Vec::from_iter(judge(&Evidence::of(&run, &run.points[0])));
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Caveat));
        assert_eq!(
            found[0].sentence,
            "the server sent bytes that belong to no response, which ended 1 connection"
        );
    }
}

//! Did the server send what nobody asked for?

use super::Check;
use crate::Evidence;
use crate::builders::{Substantiate, caveat, number};
use record::{Cause, Figure, Finding};

pub(super) const CHECK: Check = Check {
    name: "strays",
    title: "Did every byte that came answer a request?",
    doc: "Bytes behind a complete answer, a body after HEAD or 204, or an answer before any request end the connection, \
          because nobody can tell any more which answer belongs to which request. No exchange is charged with them, so \
          the errors do not show them; the connections that have to be opened again do. Requests/s and latency are \
          qualified.",
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
    let sentence = format!(
        "{} ended because the server sent bytes that answer nothing",
        number(strays, "connection was", "connections were")
    );
    let finding = caveat(&[Figure::Rps, Figure::Latency], sentence)
        .remedy("the server breaks HTTP: look at an answer with --show-exchange")
        .evidence([("connections ended", strays as f64)]);
    vec![finding]
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
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Qualified));
        assert_eq!(
            found[0].sentence,
            "1 connection was ended because the server sent bytes that answer nothing"
        );
    }
}

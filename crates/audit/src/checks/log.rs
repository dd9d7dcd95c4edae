//! Did the server write a log of the requests?

use super::prelude::*;
use std::collections::BTreeMap;
use units::bytes;

pub(super) const CHECK: Check = Check {
    name: "log",
    question: "Did the server write to a file with each request, as to an access log?",
    looks_at: "Regular files that the observed server has open for writing before a round, and how much they have grown \
               after the drain, for each request that was sent, warm-up included. The file must grow in every complete \
               round. Not seen are a log that goes through a pipe or a socket, and files of threads that have descriptors of \
               their own, as the workers of the reference server.",
    thresholds: &[
        guess("bytes for each request, from", || BYTES_LEAST.to_string()),
        guess("requests, from", || REQUESTS_LEAST.to_string()),
    ],
    false_alarms: "none for a file that grows with the requests; whether it is a log or data is not told",
    power: "every file that was open before the round; a buffered log once the buffer was written in each round",
    effect: "A note: writing is part of what was measured.",
    remedy: "Switch the access log off, or say that it was on.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// Fewer bytes are no line of a log.
const BYTES_LEAST: f64 = 10.0;
/// Fewer requests say nothing of each.
const REQUESTS_LEAST: u64 = 100;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.complete()?;
    let sent = rounds.iter().map(|round| round.sent_total.sum());
    let sent: u64 = sent.fold(0, u64::saturating_add);
    let mut files: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let grown = rounds
        .iter()
        .filter_map(|round| round.footprint.as_ref())
        .flat_map(|print| &print.grown);
    for file in grown {
        let (rounds, bytes) = files.entry(&file.path).or_default();
        (*rounds, *bytes) = (*rounds + 1, bytes.saturating_add(file.bytes));
    }
    files.retain(|_, (grew, _)| *grew == rounds.len());
    let (path, (_, written)) = files.into_iter().max_by_key(|(_, (_, bytes))| *bytes)?;
    let each = written as f64 / sent as f64;
    if sent < REQUESTS_LEAST || each < BYTES_LEAST {
        return None;
    }
    let sentence = format!(
        "the server wrote {} a request to {path}, which is part of what was measured",
        bytes(each.round() as u64)
    );
    let remedy =
        "If it is an access log, switch it off (nginx: access_log off) or say that it was on";
    Some(note(sentence).remedy(remedy).evidence([
        ("bytes a request", each),
        ("bytes", written as f64),
        ("requests", sent as f64),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{EXCHANGES, healthy};
    use record::{Grade, GrownFile, Run};

    /// The healthy run, in each of whose rounds a file grew so much.
    fn run(grown: [u64; 5]) -> Run {
        let mut run = healthy();
        for (round, bytes) in run.points[0].rounds.iter_mut().zip(grown) {
            let file = GrownFile {
                path: "/var/log/nginx/access.log".into(),
                bytes,
            };
            let print = round.footprint.as_mut().unwrap();
            print.grown = Vec::from_iter((bytes > 0).then_some(file));
        }
        run
    }

    fn found(run: &Run) -> Option<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn a_file_that_grows_with_each_request_is_noted() {
        let finding = found(&run([96 * EXCHANGES; 5])).unwrap();
        let wanted = "the server wrote 96 B a request to /var/log/nginx/access.log, which is part of what was measured";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Note)
        );
    }

    #[test]
    fn a_file_that_grows_little_or_not_in_every_round_is_none() {
        assert_eq!(found(&healthy()), None);
        assert_eq!(found(&run([9 * EXCHANGES; 5])), None);
        assert_eq!(found(&run([96 * EXCHANGES, 0, 96 * EXCHANGES, 0, 0])), None);
        let mut few = run([96 * 10; 5]);
        few.points[0]
            .rounds
            .iter_mut()
            .for_each(|round| round.sent_total.measure = 10);
        assert_eq!(found(&few), None);
    }
}

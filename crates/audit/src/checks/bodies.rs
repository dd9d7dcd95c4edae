//! Was the same request always answered with the same body?

use super::Check;
use crate::Evidence;
use crate::verdict::{Substantiate, list, number, qualified};
use plan::{Plan, Requests};
use record::{Answer, Figure, Finding};

pub(super) const CHECK: Check = Check {
    name: "bodies",
    title: "Was the same request always answered with the same body?",
    doc: "A server under load that answers with 200 and an error page, or with half of the page, looks fast. So the \
          bodies' lengths are compared for every request that is not a template, and their checksums on the first \
          answer of each connection and a sample. Where they differ, counts and requests/s are qualified: pages may \
          vary for good reasons, and only the reader knows. With --expect @FILE a differing body is a fault instead.",
    judge,
};

/// The most requests that are named.
const LISTED: usize = 3;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let answers = evidence.tally.iter().flat_map(|tally| tally.answers.iter());
    let differing: Vec<(usize, &Answer)> = answers.filter(|(_, answer)| differs(answer)).collect();
    if differing.is_empty() {
        return Vec::new();
    }
    let listed = differing.iter().take(LISTED);
    let mut words: Vec<String> = listed
        .map(|(place, answer)| describe(evidence.plan(), *place, answer))
        .collect();
    if let Some(rest) = differing.len().checked_sub(LISTED).filter(|rest| *rest > 0) {
        words.push(number(rest as u64, "request more", "requests more"));
    }
    let sum =
        |count: fn(&Answer) -> u64| differing.iter().map(|(_, each)| count(each) as f64).sum();
    let finding = qualified(
        &[Figure::Rps, Figure::Counts],
        format!("the same request was answered with different bodies: {}", list(&words)),
    )
    .remedy("if the page varies by nature, nothing is wrong; else name the right body with --expect @FILE")
    .evidence([
        ("requests", differing.len() as f64),
        ("lengths that differ", sum(Answer::length_differs)),
        ("checksums that differ", sum(Answer::crc_differs)),
    ]);
    vec![finding]
}

fn differs(answer: &Answer) -> bool {
    answer.length_differs() > 0 || answer.crc_differs() > 0
}

fn describe(plan: Option<&Plan>, place: usize, answer: &Answer) -> String {
    let length = (answer.length_differs() > 0).then(|| {
        let usual = answer.lengths.usual().map_or(0, |(length, _)| length);
        format!(
            "{} of {} were not as long as most ({} bytes)",
            units::count(answer.length_differs()),
            units::count(answer.count()),
            units::count(usual)
        )
    });
    let crc = (answer.crc_differs() > 0).then(|| {
        format!(
            "of {} compared by checksum {} were not what most were",
            units::count(answer.crc_taken()),
            units::count(answer.crc_differs())
        )
    });
    let words: Vec<String> = length.into_iter().chain(crc).collect();
    format!("{}: {}", request(plan, place), list(&words))
}

fn request(plan: Option<&Plan>, place: usize) -> String {
    match plan.map(|plan| &plan.requests) {
        Some(Requests::Listed(listed)) => match listed.get(place) {
            Some(request) => format!("{} {}", request.method, request.path),
            None => format!("request {}", place + 1),
        },
        _ => format!("request {}", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Answers, Grade};

    /// A hundred answers of 612 bytes, all compared, to request 0; and `others` of which each is its request, its
    /// length and its checksum.
    fn found(others: &[(u32, u64, u32)]) -> Vec<Finding> {
        let mut run = healthy();
        let answers: &mut Answers = &mut run.points[0].rounds[0].tally.answers;
        (0..100).for_each(|_| answers.observe(0, 612, Some(7)));
        others
            .iter()
            .for_each(|&(request, length, crc)| answers.observe(request, length, Some(crc)));
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn bodies_that_are_alike_pass() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[(0, 612, 7), (1, 43, 9)]), []);
    }

    #[test]
    fn one_body_that_differs_is_counted_and_its_request_named() {
        let cases: &[((u32, u64, u32), &str)] = &[
            (
                (0, 611, 8),
                "GET /: 1 of 101 were not as long as most (612 bytes)",
            ),
            (
                (0, 612, 8),
                "GET /: of 101 compared by checksum 1 were not what most were",
            ),
        ];
        for (other, wanted) in cases {
            let found = found(&[*other]);
            assert!(found[0].sentence.contains(wanted), "{}", found[0].sentence);
            assert_eq!(found[0].grade, Grade::Qualified);
            assert_eq!(found[0].touches, [Figure::Rps, Figure::Counts]);
        }
    }

    #[test]
    fn the_list_of_requests_ends() {
        let others: Vec<_> = (0..10)
            .flat_map(|request| [(request, 1, 1), (request, 2, 2)])
            .collect();
        let found = found(&others);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.ends_with("and 7 requests more"),
            "{}",
            found[0].sentence
        );
    }
}

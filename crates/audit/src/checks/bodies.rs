//! Did the same request always get the same body?

use super::prelude::*;
use plan::{Plan, Requests};
use record::RequestBodies;

pub(super) const CHECK: Check = Check {
    name: "bodies",
    question: "Did the same request always get the same body?",
    looks_at: "The body length of every response to a request that is not a template, and the checksum of the first \
               response on each connection and of a sample. An overloaded server that sends an error page with \
               status 200, or half of the page, looks fast.",
    thresholds: &[
        guess(
            "share of equal checksums up to which a page is dynamic",
            || percent(ALIKE_MAX),
        ),
        guess("checksums that are needed to call it dynamic", || {
            SAMPLES_MIN.to_string()
        }),
    ],
    false_alarms: "none by chance: lengths and checksums are compared; a page that varies by design is found too",
    power: "every body of another length; of another checksum only among the sample",
    effect: "Where some bodies differ from most, counts and requests/s get a caveat, since pages may vary for good \
             reasons. Where nearly all differ from one another, the page is dynamic: a note.",
    remedy: "Name the expected body with --expect @FILE, unless the page varies by design.",
    cause: Cause::VaryingResponses,
    judge,
};

/// The most requests that are named.
const LISTED: usize = 3;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let answers = evidence.tally.iter().flat_map(|tally| tally.bodies.iter());
    let differing = answers.filter(|(_, answer)| differs(answer));
    let (dynamic, outliers): (Vec<Place<'_>>, Vec<Place<'_>>) =
        differing.partition(|(_, answer)| is_dynamic(answer));
    let plan = evidence.plan();
    let outliers = (!outliers.is_empty()).then(|| {
        let headline = "the same request got different response bodies";
        let sentence = format!("{headline}: {}", described(plan, &outliers));
        let finding = caveat(&[Figure::Rps, Figure::Counts], headline, sentence);
        finding.evidence(counted(&outliers))
    });
    let dynamic = (!dynamic.is_empty()).then(|| {
        let sentence = format!(
            "the response body is dynamic: {}",
            described(plan, &dynamic)
        );
        note(sentence).evidence(counted(&dynamic))
    });
    outliers.into_iter().chain(dynamic).collect()
}

/// A request's place in the plan's list, and the responses to it.
type Place<'a> = (usize, &'a RequestBodies);

fn described(plan: Option<&Plan>, places: &[Place<'_>]) -> String {
    let words = places
        .iter()
        .map(|(place, answer)| describe(plan, *place, answer));
    list_some(words.collect(), LISTED, "other request")
}

fn counted(places: &[Place<'_>]) -> [(&'static str, f64); 3] {
    let sum =
        |count: fn(&RequestBodies) -> u64| places.iter().map(|(_, each)| count(each) as f64).sum();
    [
        ("requests", places.len() as f64),
        ("lengths that differ", sum(RequestBodies::length_differs)),
        ("checksums that differ", sum(RequestBodies::crc_differs)),
    ]
}

/// At most this share of a dynamic page's bodies are alike.
const ALIKE_MAX: f64 = 0.1;
/// Fewer checksums do not tell a dynamic page from one that was once another.
const SAMPLES_MIN: u64 = 3;

/// Whether nearly all bodies of which a checksum was taken differ from one another. (Where more than eight different
/// ones came, those of the smallest checksums stand for all.)
fn is_dynamic(answer: &RequestBodies) -> bool {
    let alike = answer.crc_taken() - answer.crc_differs();
    let share = alike as f64 / answer.crc_taken() as f64;
    answer.crc_taken() >= SAMPLES_MIN && (alike == 1 || share <= ALIKE_MAX)
}

fn differs(answer: &RequestBodies) -> bool {
    answer.length_differs() > 0 || answer.crc_differs() > 0
}

fn describe(plan: Option<&Plan>, place: usize, answer: &RequestBodies) -> String {
    let length = (answer.length_differs() > 0).then(|| {
        let usual = answer.lengths.usual().map_or(0, |(length, _)| length);
        format!(
            "{} of {} responses differ in length from most ({} bytes)",
            count(answer.length_differs()),
            count(answer.count()),
            count(usual)
        )
    });
    let crc = (answer.crc_differs() > 0).then(|| {
        format!(
            "{} of {} sampled response bodies differ",
            count(answer.crc_differs()),
            count(answer.crc_taken())
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
    use record::{Bodies, Grade};

    /// A hundred answers of 612 bytes, all compared, to request 0; and `others` of which each is its request, its
    /// length and its checksum.
    fn found(others: &[(u32, u64, u32)]) -> Vec<Finding> {
        let mut run = healthy();
        let answers: &mut Bodies = &mut run.points[0].rounds[0].tally.bodies;
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
                "GET /: 1 of 101 responses differ in length from most (612 bytes)",
            ),
            (
                (0, 612, 8),
                "GET /: 1 of 101 sampled response bodies differ",
            ),
        ];
        for (other, wanted) in cases {
            let found = found(&[*other]);
            assert!(found[0].sentence.contains(wanted), "{}", found[0].sentence);
            assert_eq!(found[0].grade(), Grade::Caveat);
            assert_eq!(found[0].effects.figures(), [Figure::Rps, Figure::Counts]);
        }
    }

    /// What is found of answers to one request, each of this length and checksum.
    fn found_of(answers: impl Iterator<Item = (u64, u32)>) -> Vec<Finding> {
        let mut run = healthy();
        let known: &mut Bodies = &mut run.points[0].rounds[0].tally.bodies;
        answers.for_each(|(length, crc)| known.observe(0, length, Some(crc)));
        judge(&Evidence::of(&run, &run.points[0]))
    }

    #[test]
    fn a_page_of_which_nearly_all_bodies_differ_is_noted_and_outliers_qualify() {
        // bodies of one length, of several, most of one length; and then how many of a hundred are alike
        let same = found_of((0..100).map(|number| (612, number)));
        let grown = found_of((0..100).map(|number| (600 + u64::from(number % 3), number)));
        let counter = found_of((1..2000).map(|number| (u64::from(u32::ilog10(number)), number)));
        for found in [&same, &grown, &counter] {
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(
                (found[0].grade(), found[0].effects.figures().len()),
                (Grade::Note, 0)
            );
            assert!(
                found[0].sentence.contains("is dynamic: GET /: "),
                "{found:?}"
            );
        }
        for (alike, grade) in [(10, Grade::Note), (11, Grade::Caveat), (99, Grade::Caveat)] {
            let found = found_of((0..100).map(|number| (612, number.max(alike - 1))).rev());
            assert_eq!(found[0].grade(), grade, "{alike}: {found:?}");
        }
        let few = |count: u32| found_of((0..count).map(|number| (612, number)))[0].grade();
        assert_eq!([few(2), few(3)], [Grade::Caveat, Grade::Note]);
    }

    #[test]
    fn the_list_of_requests_ends() {
        let others: Vec<_> = (0..10)
            .flat_map(|request| [(request, 1, 1), (request, 2, 2)])
            .collect();
        let found = found(&others);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.ends_with("and 7 other requests"),
            "{}",
            found[0].sentence
        );
    }
}

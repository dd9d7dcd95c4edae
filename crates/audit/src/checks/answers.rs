//! Did the server send the page that was meant, or something else?

use super::connections;
use super::prelude::*;
use plan::{Expect, Plan};
use record::Kind;

pub(super) const CHECK: Check = Check {
    name: "answers",
    question: "Did the server send the page, and not a redirect or an error?",
    looks_at: "The statuses of the complete responses, and the share of requests that failed. Redirects and errors \
               cost the server less than the page.",
    thresholds: &[
        guess(
            "share of responses that are redirects or have an unexpected status",
            || percent(NEARLY_ALL),
        ),
        threshold(
            "share of requests that failed",
            || "--max-errors".to_owned(),
            "the plan; 1 % by default",
        ),
    ],
    false_alarms: "none: it follows from counts",
    power: "every run beyond the threshold",
    effect: "Requests/s and latency get a caveat. Different statuses are a note.",
    remedy: "Request the final URL, correct the path or the credentials, or name the expected statuses with \
             --expect; --show-exchange prints request and response. Where the server closes connections with \
             requests still in the pipeline, give --requests-per-connection below its limit.",
    cause: Cause::UnexpectedResponses,
    judge,
};

/// From this share of the complete responses on, that is what was weighed.
const NEARLY_ALL: f64 = 0.90;
/// The most statuses that are listed.
const LISTED: usize = 5;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (Some(plan), Some(tally)) = (evidence.plan(), &evidence.tally) else {
        return Vec::new();
    };
    let hint = redirected(evidence, plan, tally).or_else(|| unwanted(plan, tally));
    let failed = if hint.is_some() {
        None
    } else {
        failed(evidence, plan, tally)
    };
    [hint, failed, mixed(tally)].into_iter().flatten().collect()
}

/// How many statuses satisfy `wanted`, as a share of all complete responses, and the most frequent of them.
fn share(tally: &Tally, wanted: impl Fn(u16) -> bool) -> Option<(f64, u16)> {
    let found: Vec<_> = tally
        .statuses
        .sorted()
        .into_iter()
        .filter(|(status, _)| wanted(*status))
        .collect();
    let (most, _) = *found.first()?;
    let count: u64 = found.iter().map(|(_, count)| count).sum();
    Some((count as f64 / tally.statuses.total() as f64, most))
}

/// Redirects to (nearly) everything, unless they were asked for.
fn redirected(evidence: &Evidence<'_>, plan: &Plan, tally: &Tally) -> Option<Finding> {
    if plan.expect.statuses != Expect::default().statuses {
        return None;
    }
    // 304 is no redirect: it answers a request that carries its own condition.
    let (share, status) = share(tally, |status| {
        (300..400).contains(&status) && status != 304
    })?;
    let headline = format!("{} of responses are redirects ({status})", percent(share));
    let sentence = format!("{headline}, which cost the server less than the page");
    (share >= NEARLY_ALL).then(|| {
        caveat(SPEED, headline, sentence)
            .remedy(follow(evidence, plan))
            .evidence([("share of redirects", share), ("status", status.into())])
    })
}

fn follow(evidence: &Evidence<'_>, plan: &Plan) -> String {
    match evidence.probe.and_then(|probe| probe.header("location")) {
        Some(path) if path.starts_with('/') && !path.starts_with("//") => {
            let target = &plan.target;
            format!(
                "Load the final URL: {}://{}{path}",
                target.scheme, target.authority
            )
        }
        Some(url) => format!("Load the final URL: {url}"),
        None => "Load the final URL (--show-exchange prints the redirect)".into(),
    }
}

/// Unexpected responses to (nearly) everything.
fn unwanted(plan: &Plan, tally: &Tally) -> Option<Finding> {
    let expected = &plan.expect.statuses;
    let is_expected = |status: u16| {
        expected
            .iter()
            .any(|range| (range.first..=range.last).contains(&status))
    };
    let (share, status) = share(tally, |status| !is_expected(status))?;
    let share_shown = percent(share);
    let headline = format!("{share_shown} of responses have status {status}");
    let sentence = format!("{share_shown} of responses have an unexpected status, mostly {status}");
    (share >= NEARLY_ALL).then(|| {
        caveat(SPEED, headline, sentence)
            .remedy(advice(status))
            .evidence([
                ("share of unexpected statuses", share),
                ("status", status.into()),
            ])
    })
}

fn advice(status: u16) -> &'static str {
    match status {
        400 => "Correct the request; --show-exchange prints request and response",
        401 | 407 => "Give credentials: --user NAME:PASSWORD, or --header",
        403 => "Check the path, its permissions and the credentials",
        404 | 410 => "Correct the path, or the server's root; --show-exchange prints both sides",
        405 => "Use another --method, or another path",
        411 | 413 | 415 | 422 => "Correct --body and its headers",
        429 | 503 => "Check the server's rate and connection limits, or lower the load",
        500..=599 => "Read the server's error log",
        _ => "Check the URL with --show-exchange, or name the expected status with --expect",
    }
}

fn failed(evidence: &Evidence<'_>, plan: &Plan, tally: &Tally) -> Option<Finding> {
    let (errors, requests) = (tally.errors(), tally.requests());
    let most = reasons::most(tally)?;
    (!plan.max_errors.allows_errors(errors, requests)).then(|| {
        let share = percent(errors as f64 / requests as f64);
        let sentence = format!(
            "{} of {} failed ({share}), mostly because {}; a failed request may cost the server less than a response",
            count(errors),
            number(requests, "request"),
            reasons::because(most),
        );
        caveat(
            SPEED,
            format!("{share} of the requests failed"),
            sentence,
        )
        .because(Cause::Errors)
        .remedy(match most {
            Kind::Abandoned => close_first(evidence),
            Kind::Certificate => reasons::CHANGED_CERTIFICATE.to_owned(),
            _ => "Find the reason in the error table (-v), or lower the load".to_owned(),
        })
        .evidence([("errors", errors as f64), ("requests", requests as f64)])
    })
}

/// What to do where the server ends connections with requests still in the pipeline.
fn close_first(evidence: &Evidence<'_>) -> String {
    match connections::served_by_each(evidence).filter(|served| *served > 1) {
        Some(served) => format!(
            "Give --requests-per-connection below {}, about where the server closes a connection",
            count(served)
        ),
        None => {
            "Give --requests-per-connection below the server's limit, or no --pipeline".to_owned()
        }
    }
}

fn mixed(tally: &Tally) -> Option<Finding> {
    let statuses = tally.statuses.sorted();
    if statuses.len() < 2 {
        return None;
    }
    let words = statuses.iter();
    let words = words.map(|(status, number)| format!("{status} ({})", count(*number)));
    let words = list_some(words.collect(), LISTED, "other");
    let finding = note(format!("responses had different statuses: {words}"));
    let finding = finding.because(Cause::VaryingResponses);
    Some(finding.evidence([("different statuses", statuses.len() as f64)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{answer, fail, healthy};
    use plan::{Endpoint, Requirement, StatusRange};
    use record::Figure;
    use record::{Grade, Probe, Run};

    /// A run of one round with these answers: status and how often.
    fn run(answers: &[(u16, u64)]) -> Run {
        let mut run = healthy();
        run.points[0].rounds.truncate(1);
        let tally = &mut run.points[0].rounds[0].tally;
        *tally = Tally::default();
        for &(status, count) in answers {
            for number in 0..count {
                match status {
                    0..400 => answer(tally, number, status),
                    400..500 => fail(tally, Kind::Status4xx, status),
                    _ => fail(tally, Kind::Status5xx, status),
                }
            }
        }
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    fn probe(head: &str) -> Probe {
        Probe {
            endpoint: Endpoint::Ip("127.0.0.1:8080".parse().unwrap()),
            link: None,
            failed: Vec::new(),
            request_head: String::new(),
            response_head: Some(head.into()),
            encryption: None,
            took: None,
            status: Some(301),
            body_length: 0,
            fault: None,
            requests: 1,
            errors: 0,
            error: None,
        }
    }

    #[test]
    fn one_good_status_is_nothing_to_speak_of() {
        assert_eq!(found(&run(&[(200, 100)])), []);
        assert_eq!(found(&run(&[(304, 100)])), []);
        assert_eq!(found(&run(&[])), []);
    }

    #[test]
    fn redirects_and_errors_to_everything_get_a_hint() {
        type Case<'a> = (&'a [(u16, u64)], Option<&'a str>);
        let cases: &[Case] = &[
            (
                &[(301, 100)],
                Some(
                    "100 % of responses are redirects (301), which cost the server less than the page",
                ),
            ),
            (
                &[(302, 90), (200, 10)],
                Some(
                    "90 % of responses are redirects (302), which cost the server less than the page",
                ),
            ),
            (&[(302, 89), (200, 11)], None),
            (
                &[(404, 100)],
                Some("100 % of responses have an unexpected status, mostly 404"),
            ),
            (
                &[(503, 50), (500, 40), (200, 10)],
                Some("90 % of responses have an unexpected status, mostly 503"),
            ),
        ];
        for (answers, wanted) in cases {
            let found = found(&run(answers));
            let got = found.first().filter(|found| found.grade() == Grade::Caveat);
            assert_eq!(
                got.map(|found| found.sentence.as_str()),
                *wanted,
                "{answers:?}"
            );
            assert!(
                got.is_none_or(|found| found.effects.figures() == [Figure::Rps, Figure::Latency])
            );
        }
    }

    #[test]
    fn the_hint_names_the_url_that_a_redirect_leads_to() {
        let cases: &[(&str, &str)] = &[
            (
                "HTTP/1.1 301 x\r\nLocation: http://a/b\r\n\r\n",
                "Load the final URL: http://a/b",
            ),
            (
                "HTTP/1.1 301 x\r\nlocation:/b/\r\n\r\n",
                "Load the final URL: http://127.0.0.1:8080/b/",
            ),
            (
                "HTTP/1.1 301 x\r\n\r\n",
                "(--show-exchange prints the redirect)",
            ),
        ];
        for (head, wanted) in cases {
            let mut run = run(&[(301, 100)]);
            run.probe = Some(probe(head));
            let remedy = found(&run)[0].remedy.clone().unwrap();
            assert!(remedy.ends_with(wanted), "{remedy}");
        }
    }

    #[test]
    fn statuses_that_were_asked_for_are_right() {
        let mut redirects = run(&[(301, 100)]);
        redirects.plan.expect.statuses = vec![StatusRange {
            first: 301,
            last: 301,
        }];
        assert_eq!(found(&redirects), []);
    }

    #[test]
    fn more_errors_than_tolerated_qualify_and_as_many_do_not() {
        let mut run = run(&[(200, 97), (503, 3)]);
        run.plan.max_errors = Requirement::at_most_errors("3").unwrap();
        assert!(found(&run).iter().all(|found| found.grade() == Grade::Note));
        run.plan.max_errors = Requirement::at_most_errors("2").unwrap();
        assert!(
            found(&run)[0].sentence.starts_with(
                "3 of 100 requests failed (3.0 %), mostly because the status was 5xx; "
            )
        );
    }

    #[test]
    fn certificates_that_are_not_accepted_under_load_get_advice() {
        let mut run = run(&[(200, 100)]);
        let tally = &mut run.points[0].rounds[0].tally;
        (0..50).for_each(|_| fail(tally, Kind::Certificate, 0));
        let found = found(&run);
        let remedy = found[0].remedy.as_ref().unwrap();
        assert!(remedy.contains("certificate was changed"), "{remedy}");
    }

    #[test]
    fn a_pipeline_cut_by_the_servers_limit_is_told_the_limit() {
        for (opened, wanted) in [
            (40, "Give --requests-per-connection below 250,"),
            (
                10,
                "Give --requests-per-connection below the server's limit",
            ),
        ] {
            let mut run = run(&[(200, 10_000)]);
            let tally = &mut run.points[0].rounds[0].tally;
            (0..500).for_each(|_| fail(tally, Kind::Abandoned, 0));
            // Of forty the ten that were open at the end had served half as many.
            tally.connects.established = opened;
            tally.connects.established += if opened > 10 { 5 } else { 0 };
            let found = found(&run);
            assert!(
                found[0].sentence.contains("they were pipelined behind"),
                "{found:?}"
            );
            let remedy = found[0].remedy.as_ref().unwrap();
            assert!(remedy.starts_with(wanted), "{remedy}");
        }
    }

    #[test]
    fn different_statuses_are_noted_with_their_counts_and_the_list_ends() {
        let found = found(&run(&[(200, 98), (206, 2)]));
        assert_eq!(
            found[0].sentence,
            "responses had different statuses: 200 (98) and 206 (2)"
        );
        let many: Vec<(u16, u64)> = (200..210).map(|status| (status, 1)).collect();
        assert!(
            mixed(&run(&many).points[0].rounds[0].tally)
                .is_some_and(|note| note.sentence.ends_with("204 (1) and 5 others"))
        );
    }
}

//! JUnit's XML, which build servers read: a test case for each requirement.
//!
//! Of the dialects it is what all readers have in common. A requirement that is not met is a `failure`, one that cannot
//! be judged an `error`; and so is a campaign that was not carried out to its end, which has a test case of its own.

use crate::Look;
use crate::phrase::clean;
use record::{Compliance, Judged, Run};
use std::fmt::Write;

/// The longest sentence that is written whole.
const LONGEST: usize = 1000;

/// Lays out a test suite for each Run.
pub(crate) fn render(runs: &[Run], _: &Look) -> String {
    suites(&runs.iter().map(suite).collect::<String>())
}

/// Lays out why nothing could be measured: a test suite with one error.
pub(crate) fn failed(why: &str) -> String {
    suites(&written(
        "weigh",
        "time=\"0\"",
        None,
        &[measured(Some(why.to_owned()))],
    ))
}

fn suites(each: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"weigh\">\n{each}</testsuites>\n"
    )
}

/// One test case: its name, and what is wrong, if anything.
struct Case {
    name: String,
    wrong: Option<(&'static str, String)>,
}

fn suite(run: &Run) -> String {
    let mut cases = vec![campaign(run)];
    cases.extend(
        run.requirements
            .iter()
            .map(|judged| requirement(run, judged)),
    );
    let target = &run.plan.target;
    let name = escaped(&format!("{}://{}", target.scheme, target.authority));
    let secs = run.elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64());
    let started = units::date::iso(run.started_unix);
    let times = format!(
        "time=\"{secs:.3}\" timestamp=\"{}\"",
        started.trim_end_matches('Z')
    );
    let security = run.plan.security.as_ref();
    let is_insecure = security.is_some_and(|security| security.insecure);
    let property = is_insecure.then_some(("certificate", "not checked (--insecure)"));
    written(&name, &times, property, &cases)
}

/// Writes a test suite, with these attributes of time, and a property that its reader must know of, if there is one.
fn written(name: &str, times: &str, property: Option<(&str, &str)>, cases: &[Case]) -> String {
    let number = |wanted: &str| {
        let wrong = cases.iter().filter_map(|case| case.wrong.as_ref());
        wrong.filter(|(kind, _)| *kind == wanted).count()
    };
    let mut text = format!(
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" {times}>\n",
        cases.len(),
        number("failure"),
        number("error"),
    );
    if let Some((name, value)) = property {
        let _ = writeln!(
            text,
            "    <properties>\n      <property name=\"{name}\" value=\"{value}\"/>\n    </properties>"
        );
    }
    for case in cases {
        let _ = write!(
            text,
            "    <testcase classname=\"{name}\" name=\"{}\"",
            escaped(&case.name)
        );
        match &case.wrong {
            None => text.push_str("/>\n"),
            Some((kind, why)) => {
                let why = escaped(why);
                let _ = writeln!(
                    text,
                    ">\n      <{kind} message=\"{why}\"/>\n    </testcase>"
                );
            }
        }
    }
    text.push_str("  </testsuite>\n");
    text
}

/// The campaign itself: wrong where the exit status has another reason than a requirement.
fn campaign(run: &Run) -> Case {
    let exit = run.exit.as_ref();
    let of_requirement = |why: &str| run.requirements.iter().any(|each| each.reason() == why);
    let other = exit.filter(|exit| !of_requirement(&exit.why));
    measured(other.map(|exit| exit.why.clone()))
}

/// The test case of the measurement itself, with what is wrong with it.
fn measured(wrong: Option<String>) -> Case {
    Case {
        name: "measured".to_owned(),
        wrong: wrong.map(|why| ("error", why)),
    }
}

fn requirement(run: &Run, judged: &Judged) -> Case {
    let at = judged.point.and_then(|index| run.points.get(index));
    let kind = match judged.verdict {
        Compliance::Met => None,
        Compliance::NotMet => Some("failure"),
        Compliance::CannotTell => Some("error"),
    };
    Case {
        name: match at {
            Some(point) => format!("{} at {}", judged.text, run.plan.name(&point.level)),
            None => judged.text.clone(),
        },
        wrong: kind.map(|kind| (kind, judged.reason())),
    }
}

/// Text for an attribute.
fn escaped(text: &str) -> String {
    let letters = [
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&quot;"),
    ];
    let replace = |shown: String, (letter, entity)| shown.replace(letter, entity);
    letters.into_iter().fold(clean(text, LONGEST), replace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Exit, example};

    fn judged(text: &str, verdict: Compliance) -> Judged {
        Judged {
            text: text.to_owned(),
            point: None,
            verdict,
            sentence: "p99 is \"3 ms\" & more".to_owned(),
        }
    }

    #[test]
    fn a_requirement_is_a_test_case_that_fails_or_cannot_be_judged() {
        let mut run = example::ok();
        run.requirements = vec![
            judged("errors<=1%", Compliance::Met),
            judged("p99<2ms", Compliance::NotMet),
            judged("rps>10k", Compliance::CannotTell),
        ];
        run.exit = Some(Exit::new(Exit::NO, run.requirements[1].reason()));
        let shown = render(&[run], &Look::default());
        for wanted in [
            "tests=\"4\" failures=\"1\" errors=\"1\"",
            "name=\"measured\"/>",
            "name=\"errors&lt;=1%\"/>",
            "<failure message=\"p99&lt;2ms is not met: p99 is &quot;3 ms&quot; &amp; more\"/>",
            "<error message=\"rps&gt;10k cannot be judged: ",
        ] {
            assert!(shown.contains(wanted), "{wanted}: {shown}");
        }
        assert_eq!(shown.matches("<testcase").count(), 4);
        assert_eq!(shown.matches("</testcase>").count(), 2);
    }

    #[test]
    fn a_certificate_that_was_not_checked_is_a_property() {
        let mut run = example::ok();
        assert!(!render(std::slice::from_ref(&run), &Look::default()).contains("properties"));
        run.plan.security = Some(plan::Security {
            insecure: true,
            ..plan::Security::default()
        });
        let shown = render(&[run], &Look::default());
        let wanted = "<property name=\"certificate\" value=\"not checked (--insecure)\"/>";
        assert!(shown.contains(wanted), "{shown}");
    }

    #[test]
    fn a_campaign_that_was_broken_off_is_an_error_of_its_own() {
        let mut run = example::ok();
        run.exit = Some(Exit::new(Exit::INTERRUPTED, "interrupted"));
        let shown = render(&[run], &Look::default());
        assert!(
            shown.contains("tests=\"1\" failures=\"0\" errors=\"1\""),
            "{shown}"
        );
        assert!(
            shown.contains("<error message=\"interrupted\"/>"),
            "{shown}"
        );
    }
}

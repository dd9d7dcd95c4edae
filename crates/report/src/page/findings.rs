//! What is to be held against the figures, and how it demotes them.

use super::{Item, Role, Row};
use crate::phrase::{clean, number};
use record::{Figure, Finding, Grade, Run};
use std::collections::BTreeSet;

/// The longest sentence or remedy that is shown whole; a record read from a file may hold anything.
const LONGEST: usize = 1000;

/// The worst grade among the findings that touch `figure`.
pub(super) fn grade(run: &Run, figure: Figure) -> Option<Grade> {
    touching(run, figure).map(|finding| finding.grade).max()
}

/// Whether `figure` is worth nothing, not even as a lower bound.
pub(super) fn is_void(run: &Run, figure: Figure) -> bool {
    let is_bound = figure == Figure::Rps && is_generator_bound(run);
    grade(run, figure) == Some(Grade::Invalid) && !is_bound
}

/// Whether requests/s is invalid for no other reason than that the generator was the limit: then it is a lower bound.
pub(super) fn is_generator_bound(run: &Run) -> bool {
    is_bound(&run.findings)
}

/// The same of some findings, such as those of one point: one rule for pages, curves and charts.
pub(crate) fn is_bound<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> bool {
    let mut invalid = findings
        .into_iter()
        .filter(|each| each.grade == Grade::Invalid && each.touches.contains(&Figure::Rps))
        .peekable();
    invalid.peek().is_some() && invalid.all(is_of_generator)
}

/// Whether a finding says that the generator was the limit.
pub(crate) fn is_of_generator(finding: &Finding) -> bool {
    ["limit", "generators"].contains(&finding.check.as_str())
}

/// Whether latency is invalid for no other reason than that more was asked than the server can do.
pub(super) fn is_overloaded(run: &Run) -> bool {
    let mut invalid = touching(run, Figure::Latency)
        .filter(|finding| finding.grade == Grade::Invalid)
        .peekable();
    invalid.peek().is_some() && invalid.all(|finding| finding.check == "overload")
}

fn touching(run: &Run, figure: Figure) -> impl Iterator<Item = &Finding> {
    run.findings
        .iter()
        .filter(move |finding| finding.touches.contains(&figure))
}

/// Every finding with what it concerns and what can be done, in the order in which the Run holds them. Of a sweep what
/// was found at many points is said once.
pub(super) fn rows(run: &Run) -> Vec<Row> {
    let mut seen: Vec<(&Finding, BTreeSet<usize>)> = Vec::new();
    for finding in &run.findings {
        let alike = |(known, _): &&mut (&Finding, BTreeSet<usize>)| {
            run.is_sweep() && known.check == finding.check && known.grade == finding.grade
        };
        match seen.iter_mut().find(alike) {
            Some((_, points)) => points.extend(finding.point),
            None => seen.push((finding, finding.point.into_iter().collect())),
        }
    }
    seen.into_iter()
        .flat_map(|(finding, points)| row(finding, points.len().saturating_sub(1)))
        .collect()
}

/// A finding, and at how many other points of a sweep the same was found.
fn row(finding: &Finding, more: usize) -> Vec<Row> {
    let role = match finding.grade {
        Grade::Note => Role::Plain,
        Grade::Qualified => Role::Warning,
        Grade::Invalid => Role::Wrong,
    };
    let mut sentence = Item(Vec::new());
    if let Some(figures) = concerned(&finding.touches) {
        sentence = sentence.and(role, format!("{figures}: "));
    }
    sentence = sentence.and(Role::Plain, clean(&finding.sentence, LONGEST));
    if more > 0 {
        let others = number(more as u64, "other point", "other points");
        sentence = sentence.and(Role::Dim, format!(" (and the like at {others})"));
    }
    let mark = Some(finding.grade).filter(|grade| *grade > Grade::Note);
    let said = Row::new(&finding.grade.to_string(), vec![sentence]).marked(mark);
    let remedy = finding.remedy.as_ref().map(|remedy| {
        Row::new(
            "",
            vec![Item::dim(format!("-> {}", clean(remedy, LONGEST)))],
        )
    });
    std::iter::once(said).chain(remedy).collect()
}

fn concerned(figures: &[Figure]) -> Option<String> {
    const ALL: [(Figure, &str); 4] = [
        (Figure::Rps, "requests/s"),
        (Figure::Latency, "latency"),
        (Figure::Interval, "interval"),
        (Figure::Counts, "counts"),
    ];
    let named: Vec<&str> = ALL
        .iter()
        .filter(|(figure, _)| figures.contains(figure))
        .map(|(_, name)| *name)
        .collect();
    match named.len() {
        0 => None,
        4 => Some("every figure".to_owned()),
        _ => Some(named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    fn finding(check: &str, grade: Grade) -> Finding {
        Finding {
            point: None,
            check: check.into(),
            grade,
            touches: vec![Figure::Rps],
            sentence: "it is so".into(),
            remedy: None,
            evidence: Vec::new(),
        }
    }

    #[test]
    fn only_who_was_the_limit_makes_a_lower_bound() {
        let cases: &[(&[(&str, Grade)], bool)] = &[
            (&[], false),
            (&[("limit", Grade::Invalid)], true),
            (
                &[("limit", Grade::Invalid), ("generators", Grade::Invalid)],
                true,
            ),
            (&[("generators", Grade::Invalid)], true),
            (&[("limit", Grade::Qualified)], false),
            (
                &[("limit", Grade::Invalid), ("answers", Grade::Qualified)],
                true,
            ),
            (
                &[("limit", Grade::Invalid), ("conservation", Grade::Invalid)],
                false,
            ),
        ];
        let mut run = example::ok();
        for (findings, wanted) in cases {
            run.findings = findings
                .iter()
                .map(|(check, grade)| finding(check, *grade))
                .collect();
            assert_eq!(is_generator_bound(&run), *wanted, "{findings:?}");
        }
    }

    #[test]
    fn a_figure_has_the_worst_grade_of_those_that_touch_it_and_no_other() {
        let mut run = example::ok();
        run.findings = vec![
            finding("answers", Grade::Qualified),
            finding("limit", Grade::Invalid),
        ];
        assert_eq!(grade(&run, Figure::Rps), Some(Grade::Invalid));
        assert_eq!(grade(&run, Figure::Latency), None);
    }
}

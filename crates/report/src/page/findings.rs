//! The caveats of the figures, and what they do to them.

use super::{Item, Role, Row};
use crate::phrase::{clean, number};
use record::{Cause, Effect, Figure, Finding, Grade, Run, effect_on};
use std::collections::BTreeSet;

/// The longest sentence or remedy that is shown whole; a record read from a file may hold anything.
const LONGEST: usize = 1000;

/// Returns the severity of the strongest effect that findings have on `figure`.
pub(super) fn grade(run: &Run, figure: Figure) -> Option<Grade> {
    effect_on(&run.findings, figure).map(Effect::grade)
}

/// Returns whether `figure` says nothing, not even as a lower bound.
pub(super) fn is_void(run: &Run, figure: Figure) -> bool {
    effect_on(&run.findings, figure) == Some(Effect::Void)
}

/// Returns whether requests/s is a lower bound.
pub(super) fn is_bound(run: &Run) -> bool {
    effect_on(&run.findings, Figure::Rps) == Some(Effect::LowerBound)
}

/// Returns whether latency is void for no other reason than overload.
pub(super) fn is_overloaded(run: &Run) -> bool {
    let is_void = |finding: &&Finding| finding.effects.on(Figure::Latency) == Some(Effect::Void);
    let mut causes = run.findings.iter().filter(is_void).peekable();
    causes.peek().is_some() && causes.all(|finding| finding.cause == Cause::Overload)
}

/// Every finding with what it concerns and what can be done, in the order in which the Run holds them. Of a sweep what
/// was found at many points is said once.
pub(super) fn rows(run: &Run) -> Vec<Row> {
    let mut seen: Vec<(&Finding, BTreeSet<usize>)> = Vec::new();
    for finding in &run.findings {
        let alike = |(known, _): &&mut (&Finding, BTreeSet<usize>)| {
            run.is_sweep() && known.is_alike(finding)
        };
        match seen.iter_mut().find(alike) {
            Some((_, points)) => points.extend(finding.point),
            None => seen.push((finding, finding.point.into_iter().collect())),
        }
    }
    seen.into_iter()
        .flat_map(|(finding, points)| row(run, finding, points.len().saturating_sub(1)))
        .collect()
}

/// A finding, and at how many other points of a sweep the same was found.
fn row(run: &Run, finding: &Finding, more: usize) -> Vec<Row> {
    let grade = finding.grade();
    let role = match grade {
        Grade::Note => Role::Plain,
        Grade::Qualified => Role::Warning,
        Grade::Invalid => Role::Wrong,
    };
    let mut sentence = Item(Vec::new());
    if let Some(figures) = concerned(&finding.effects.figures()) {
        sentence = sentence.and(role, format!("{figures}: "));
    }
    let located = finding.located(&run.plan);
    sentence = sentence.and(Role::Plain, clean(&located, LONGEST));
    if more > 0 {
        let others = number(more as u64, "other point", "other points");
        sentence = sentence.and(Role::Dim, format!(" (and the like at {others})"));
    }
    let mark = Some(grade).filter(|grade| *grade > Grade::Note);
    let said = Row::new(&grade.to_string(), vec![sentence]).marked(mark);
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

    fn finding(check: &str, effect: Effect) -> Finding {
        Finding {
            check: check.into(),
            ..example::finding(&[(Figure::Rps, effect)])
        }
    }

    #[test]
    fn a_figure_has_the_strongest_effect_of_all_findings_whatever_their_checks_are_called() {
        use Effect::{Caveat, LowerBound, Void};
        let cases: &[(&[Effect], Option<Grade>, bool, bool)] = &[
            (&[], None, false, false),
            (&[Caveat], Some(Grade::Qualified), false, false),
            (&[LowerBound], Some(Grade::Invalid), true, false),
            (
                &[LowerBound, LowerBound, Caveat],
                Some(Grade::Invalid),
                true,
                false,
            ),
            (&[LowerBound, Void], Some(Grade::Invalid), false, true),
        ];
        let mut run = example::ok();
        for (effects, wanted, bound, void) in cases {
            for check in ["limit", "not_written_yet"] {
                run.findings = effects.iter().map(|each| finding(check, *each)).collect();
                assert_eq!(grade(&run, Figure::Rps), *wanted, "{effects:?}");
                assert_eq!(is_bound(&run), *bound, "{effects:?}");
                assert_eq!(is_void(&run, Figure::Rps), *void, "{effects:?}");
                assert_eq!(grade(&run, Figure::Latency), None);
            }
        }
    }
}

//! The caveats of the figures, and what they do to them.

use super::{Item, Role, Row, Span};
use crate::phrase::clean;
use record::{Cause, Effect, Figure, Finding, Grade, Run, effect_on};
use std::collections::BTreeSet;
use units::number;

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

/// Returns by what requests/s is only a lower bound; none where it is none, or worse.
pub(super) fn bound_by(findings: &[Finding]) -> Option<&'static str> {
    let is_bound = effect_on(findings, Figure::Rps) == Some(Effect::LowerBound);
    let bounds = |each: &&Finding| each.effects.on(Figure::Rps) == Some(Effect::LowerBound);
    let bound = findings.iter().find(bounds).filter(|_| is_bound)?;
    Some(match bound.cause {
        Cause::LinkSaturated => "link-bound",
        _ => "generator-bound",
    })
}

/// Returns whether latency is void for no other reason than overload.
pub(super) fn is_overloaded(run: &Run) -> bool {
    let is_void = |finding: &&Finding| finding.effects.on(Figure::Latency) == Some(Effect::Void);
    let mut causes = run.findings.iter().filter(is_void).peekable();
    causes.peek().is_some() && causes.all(|finding| finding.cause == Cause::Overload)
}

/// Findings with one cause: the worst, and what other checks found of it.
struct Group<'a> {
    main: &'a Finding,
    others: Vec<&'a Finding>,
    points: BTreeSet<usize>,
}

/// Returns the findings by cause, in the order in which the Run holds them, each with its remedy. Of a sweep the same
/// finding at several points is shown once.
pub(super) fn rows(run: &Run) -> Vec<Row> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in &run.findings {
        let known = groups
            .iter_mut()
            .find(|group| group.main.shares_cause(finding));
        let Some(group) = known else {
            groups.push(Group {
                main: finding,
                others: Vec::new(),
                points: finding.point.into_iter().collect(),
            });
            continue;
        };
        group.points.extend(finding.point);
        let is_alike = |known: &&Finding| known.is_alike(finding);
        let is_shown = is_alike(&group.main) || group.others.iter().any(is_alike);
        if !run.is_sweep() || !is_shown {
            group.others.push(finding);
        }
    }
    groups.iter().flat_map(|group| group.rows(run)).collect()
}

impl Group<'_> {
    fn rows(&self, run: &Run) -> Vec<Row> {
        let grade = self.main.grade();
        let mut sentence = sentence(self.main, &self.main.located(&run.plan));
        if self.points.len() > 1 {
            let others = number(self.points.len() as u64 - 1, "other point");
            sentence = sentence.and(Role::Dim, format!(" (also at {others})"));
        }
        let mark = Some(grade).filter(|grade| *grade > Grade::Note);
        let mut rows = vec![Row::new(&grade.to_string(), vec![sentence]).marked(mark)];
        rows.extend(self.others.iter().map(|other| {
            let mut also = Item::dim("   also ");
            also.0.extend(self::sentence(other, other.headline()).0);
            Row::new("", vec![also])
        }));
        rows.extend(self.main.remedy.as_ref().map(|remedy| {
            let remedy = format!("-> {}", clean(remedy, LONGEST));
            Row::new("", vec![Item::dim(remedy)])
        }));
        rows
    }
}

/// Returns `text` of a finding behind the names of the affected figures.
fn sentence(finding: &Finding, text: &str) -> Item {
    let role = match finding.grade() {
        Grade::Note => Role::Plain,
        Grade::Caveat => Role::Warning,
        Grade::Invalid => Role::Wrong,
    };
    let figures = concerned(&finding.effects.figures());
    let figures = figures.map(|figures| Span::new(role, format!("{figures}: ")));
    Item(figures.into_iter().collect()).and(Role::Plain, clean(text, LONGEST))
}

fn concerned(figures: &[Figure]) -> Option<String> {
    const ALL: [(Figure, &str); 4] = [
        (Figure::Rps, "requests/s"),
        (Figure::Latency, "latency"),
        (Figure::Interval, "interval"),
        (Figure::Counts, "counts"),
    ];
    let named = ALL.iter().filter(|(figure, _)| figures.contains(figure));
    let named: Vec<&str> = named.map(|(_, name)| *name).collect();
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
            (&[Caveat], Some(Grade::Caveat), false, false),
            (&[LowerBound], Some(Grade::Caveat), true, false),
            (
                &[LowerBound, LowerBound, Caveat],
                Some(Grade::Caveat),
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
                assert_eq!(bound_by(&run.findings).is_some(), *bound, "{effects:?}");
                assert_eq!(is_void(&run, Figure::Rps), *void, "{effects:?}");
                assert_eq!(grade(&run, Figure::Latency), None);
            }
        }
    }
}

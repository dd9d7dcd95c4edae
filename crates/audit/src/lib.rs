//! Is this to be believed? Each check asks one question of the recorded evidence and answers with findings.
//!
//! In scope: the questions, their thresholds, what a wrong answer does to which figure, and what can be done about it.
//! Out of scope: measuring (`engine`), printing (`report`), files and sockets. A check sees [`Evidence`], facts that may
//! be missing, and says nothing where its facts are missing: so the same checks can judge a published table, which is a
//! measurement of which little is known.
//!
//! ```
//! use record::{Cause, Grade};
//!
//! let mut run = record::example::ok();
//! assert!(audit::judge(&run).iter().all(|finding| finding.grade() < Grade::Invalid));
//! run.points[0].rounds[0].tally.ok += 1;
//! let findings = audit::judge(&run);
//! assert_eq!((findings[0].cause, findings[0].grade()), (Cause::Contradiction, Grade::Invalid));
//! ```
#![forbid(unsafe_code)]

mod again;
mod builders;
mod checks;
mod evidence;
mod exit;
#[cfg(test)]
mod fixture;
mod known;
mod manual;
mod reasons;
mod requirements;

pub use again::{again, comply, conclude};
pub use checks::{CHECKS, Check, Threshold};
pub use evidence::Evidence;
pub use exit::{contradiction, exit, judgement};
pub use known::{UnknownFigure, figure, value};
pub use manual::manual;
pub use requirements::{RequirementError, check, requirements, requirements_at};

use plan::Axis;
use record::{Finding, Point, Run, ServerEnd, Summary};
use std::cmp::Reverse;

/// Returns the caveats of the figures of `run`: the worst first, then in the order of [`CHECKS`].
///
/// Everything is computed again from the rounds, so that a record that was changed afterwards is found out. With several
/// load levels every finding names its own.
pub fn judge(run: &Run) -> Vec<Finding> {
    computed(run).0
}

/// The findings, and the summary of each point that they were found with.
fn computed(run: &Run) -> (Vec<Finding>, Vec<Option<Summary>>) {
    let mut findings = without_point(run); // first, because what is said of the whole stands for its points
    let mut summaries = Vec::new();
    for (index, point) in run.points.iter().enumerate() {
        let evidence = Evidence::of(run, point);
        let mut found = judge_evidence(&evidence);
        if run.points.len() > 1 {
            for finding in &mut found {
                finding.point = Some(index);
                finding.level = Some(point.level);
            }
        }
        findings.extend(found);
        summaries.push(evidence.summary);
    }
    worst_first(&mut findings);
    (findings, summaries)
}

/// The worst first, then in the order of [`CHECKS`].
fn worst_first(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (Reverse(finding.effects.strongest()), row_of(&finding.check)));
}

/// The answers of all checks to one load level's evidence, in the order of [`CHECKS`].
pub fn judge_evidence(evidence: &Evidence<'_>) -> Vec<Finding> {
    CHECKS
        .iter()
        .flat_map(|check| check.findings(evidence))
        .collect()
}

/// What is known without a point: how the server ended at a load level of which nothing was measured, so that the level is
/// not among the points; that no point has a round; how many levels of a sweep are missing; and its points together.
fn without_point(run: &Run) -> Vec<Finding> {
    let end = run.server_end.as_ref();
    let is_told = |end: &&ServerEnd| run.points.iter().any(|point| point.level == end.level);
    let evidence = Evidence {
        server_end: end.filter(|end| !is_told(end)),
        rounds: run.points.is_empty().then_some(&[]),
        interrupted: run.interrupted,
        levels: unmeasured(run),
        sweep: swept(run),
        ..Evidence::default()
    };
    let mut found = judge_evidence(&evidence);
    if let Some(end) = end.filter(|_| run.is_sweep()) {
        let ended = found.iter_mut().filter(|finding| finding.check == "server");
        ended.for_each(|finding| finding.level = Some(end.level));
    }
    found
}

/// Returns the setting of a sweep of one setting that is no search, and its points.
fn swept(run: &Run) -> Option<(&Axis, &[Point])> {
    let sweep = run.plan.sweep.as_ref().filter(|_| !run.plan.is_search());
    match sweep?.axes.as_slice() {
        [axis] => Some((axis, &run.points)),
        _ => None,
    }
}

/// Returns how many of the planned levels of a sweep were measured, where some were not. A search plans none.
fn unmeasured(run: &Run) -> Option<(usize, Option<usize>)> {
    let measured = run.points.iter().filter(|point| !point.rounds.is_empty());
    let measured = measured.count();
    let planned = (!run.plan.is_search()).then(|| run.plan.levels().len());
    let is_lacking = planned.map_or(run.interrupted, |planned| measured < planned);
    (run.is_sweep() && measured > 0 && is_lacking).then_some((measured, planned))
}

fn row_of(name: &str) -> usize {
    CHECKS
        .iter()
        .position(|check| check.name == name)
        .unwrap_or(CHECKS.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use record::{Cause, Grade};

    #[test]
    fn the_worst_is_said_first_and_equals_follow_the_table() {
        let mut run = healthy();
        run.interrupted = true;
        run.points[0].rounds.truncate(4);
        run.points[0].rounds[0].tally.scheduled += 1;
        let findings = judge(&run);
        let order: Vec<_> = findings
            .iter()
            .map(|finding| (Reverse(finding.effects.strongest()), row_of(&finding.check)))
            .collect();
        assert!(order.is_sorted(), "{findings:#?}");
        assert_eq!(findings[0].check, "conservation");
        assert!(
            findings
                .iter()
                .any(|finding| finding.grade() == Grade::Caveat)
        );
        assert!(
            findings
                .iter()
                .any(|finding| finding.grade() == Grade::Note)
        );
    }

    #[test]
    fn with_several_load_levels_each_finding_names_its_own() {
        let mut run = healthy();
        let mut other = run.points[0].clone();
        other.level.load = plan::Load::Closed { connections: 7 };
        run.points.push(other);
        let findings = judge(&run);
        assert!(!findings.is_empty());
        for finding in findings {
            let sentence = finding.located(&run.plan);
            let at = ["at 10 connections: ", "at 7 connections: "][finding.point.unwrap()];
            assert_eq!(sentence.strip_prefix(at), Some(&*finding.sentence));
        }
    }

    #[test]
    fn a_sweep_that_lacks_levels_is_not_a_good_one() {
        let mut run = record::example::sweep();
        run.findings = judge(&run);
        let lacks = |found: &[Finding]| {
            let mut all = found.iter();
            all.find(|each| each.cause == Cause::Interrupted).cloned()
        };
        assert_eq!(lacks(&run.findings), None);
        let planned = run.points.len();
        run.points.pop().unwrap();
        let found = lacks(&judge(&run)).unwrap();
        let wanted = format!(
            "stopped early: {} of {planned} load levels measured",
            planned - 1
        );
        assert_eq!(
            (found.sentence, found.effects.grade()),
            (wanted, Grade::Caveat)
        );
        run.plan.slo = Some("p99<1s".parse().unwrap());
        assert_eq!(
            lacks(&judge(&run)),
            None,
            "a search has as many levels as it takes"
        );
        run.interrupted = true;
        let found = lacks(&judge(&run)).unwrap();
        assert_eq!(found.sentence, "stopped early: the search was not finished");
    }

    #[test]
    fn a_table_of_which_nothing_is_known_is_not_judged() {
        assert_eq!(judge_evidence(&Evidence::default()), []);
    }

    #[test]
    fn every_finding_has_a_sentence_a_check_and_the_cause_of_its_row_or_its_own() {
        let mut run = healthy();
        run.interrupted = true;
        run.points[0].rounds.truncate(1);
        run.points[0].rounds[0].footprint = None;
        let mut causes = Vec::new();
        for finding in judge(&run) {
            assert!(!finding.sentence.is_empty() && !finding.sentence.ends_with('.'));
            assert!(row_of(&finding.check) < CHECKS.len(), "{finding:?}");
            causes.push(finding.cause);
        }
        let wanted = [
            Cause::Contradiction,    // of its row: the stored summary is that of all rounds
            Cause::ServerUnobserved, // of limit, which has several
            Cause::Interrupted,      // of samples, by itself
            Cause::FewRounds,
        ];
        assert_eq!(causes, wanted);
    }
}

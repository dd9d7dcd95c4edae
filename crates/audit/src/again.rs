//! Judging a stored run again. What a file says of itself (summaries, findings, exit status) may be missing, of another
//! version, or edited; only what the rounds hold is evidence.

use crate::checks::conservation;
use crate::{computed, exit, requirements, worst_first};
use record::Run;

/// Computes everything again that follows from the rounds of `run`: findings, summaries and exit status. Stored figures
/// that the rounds contradict become findings.
///
/// Run-wide sums and the curve are compared here, the summary of each point in the check `conservation`.
pub fn again(mut run: Run) -> Run {
    let (mut findings, summaries) = computed(&run); // while the stored summaries are there
    let stored = (run.sent_total, run.curve.take());
    run.store(summaries);
    findings.extend(conservation::stored(&run, stored.0, stored.1.as_ref()));
    worst_first(&mut findings);
    run.findings = findings;
    comply(&mut run);
    run
}

/// Computes everything that follows from the rounds of `run`, each point's figures once: summaries, findings, what is
/// required of it, and its exit status.
pub fn conclude(run: &mut Run) {
    let (findings, summaries) = computed(run);
    run.store(summaries);
    run.findings = findings;
    comply(run);
}

/// Judges what the plan of a run requires, and its exit status; its findings must have been judged.
pub fn comply(run: &mut Run) {
    run.requirements = requirements(run, &run.plan.required());
    run.exit = exit(run);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::healthy;
    use crate::judge;
    use record::{Exit, Grade};

    #[test]
    fn a_run_that_is_left_as_it_was_is_judged_as_it_was() {
        let mut run = healthy();
        run.findings = judge(&run);
        comply(&mut run);
        assert_eq!(again(run.clone()), run);
    }

    #[test]
    fn stored_findings_and_status_are_worth_nothing() {
        let mut run = healthy();
        let wanted = judge(&run);
        run.exit = Some(Exit::new(Exit::NO, "edited by hand"));
        run.findings.clear();
        let read = again(run);
        assert_eq!((read.findings, read.exit), (wanted, None));
    }

    #[test]
    fn what_was_sent_must_be_what_the_rounds_sent() {
        let mut run = healthy();
        run.sent_total.warmup += 5;
        let read = again(run);
        assert_eq!(read.findings[0].grade(), Grade::Invalid);
        let wanted = "the stored figures contradict the rounds, in sent_total";
        assert_eq!(read.findings[0].sentence, wanted);
        assert_eq!(read.sent_total, healthy().sent_total);
        assert_eq!(read.exit.map(|exit| exit.status), Some(Exit::NO));
    }
}

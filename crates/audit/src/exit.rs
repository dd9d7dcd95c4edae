//! What the exit status says of a run: the first reason that applies, with one sentence for it.
//!
//! A record that could not be saved or printed is not in it: the command knows of that.

use record::{Capacity, Cause, Compliance, Exit, Finding, Point, Round, Run, ServerEnd};
use units::count;

/// Returns the exit status of the campaign that `run` records, and why; none where it is 0. Findings and requirements must
/// have been judged.
pub fn exit(run: &Run) -> Option<Exit> {
    stopped(run).or_else(|| judgement(run))
}

/// Returns what the figures that were measured come to, however the campaign ended: the same without 2 and 130.
pub fn judgement(run: &Run) -> Option<Exit> {
    let no = contradiction(run)
        .or_else(|| ended(run))
        .or_else(|| nothing_ok(run))
        .or_else(|| none_held(run))
        .or_else(|| first(run, Compliance::NotMet))
        .or_else(|| dead_round(run));
    match no {
        Some(why) => Some(Exit::new(Exit::NO, why)),
        None => undecided(run)
            .or_else(|| first(run, Compliance::CannotTell))
            .map(|why| Exit::new(Exit::CANNOT_TELL, why)),
    }
}

/// Returns why the campaign was ended early because of what was measured: the server exited, or a condition held.
fn ended(run: &Run) -> Option<String> {
    let server = run.server_end.as_ref().map(ServerEnd::sentence);
    server.or_else(|| run.aborted.clone())
}

/// Returns the reason of the first requirement with this verdict.
fn first(run: &Run, verdict: Compliance) -> Option<String> {
    let mut judged = run.requirements.iter();
    let first = judged.find(|each| each.verdict == verdict)?;
    Some(first.reason())
}

/// The campaign ended before its plan was carried out.
fn stopped(run: &Run) -> Option<Exit> {
    match &run.broken_off {
        Some(why) => {
            let why = format!("{why}; what was measured before it is recorded");
            Some(Exit::new(Exit::COULD_NOT, why))
        }
        None if ended(run).is_some() => None, // no signal ended it: see `judgement`
        None => run.interrupted.then(|| {
            let why = "interrupted; what was measured until then is recorded";
            Exit::new(Exit::INTERRUPTED, why)
        }),
    }
}

/// Says how the record contradicts itself, if it does; its findings must have been judged.
pub fn contradiction(run: &Run) -> Option<String> {
    let is_one = |found: &&Finding| found.cause == Cause::Contradiction;
    let found = run.findings.iter().find(is_one)?;
    Some(format!(
        "the record contradicts itself: {}",
        found.located(&run.plan)
    ))
}

/// Nothing ended ok at any point.
fn nothing_ok(run: &Run) -> Option<String> {
    let rounds = || run.points.iter().flat_map(|point| &point.rounds);
    if rounds().any(|round| round.tally.ok > 0) {
        return None;
    }
    let failed = rounds().fold(0u64, |sum, round| sum.saturating_add(round.tally.errors()));
    Some(match (rounds().count(), failed) {
        (0, _) => "nothing was measured".to_owned(),
        (_, 0) => "nothing ended ok: no request began in a window; measure longer, with --duration"
            .to_owned(),
        _ => format!("nothing ended ok: {} requests failed", count(failed)),
    })
}

/// No rate of a search held its conditions.
fn none_held(run: &Run) -> Option<String> {
    let conditions = run.plan.slo.as_ref()?;
    let found = capacity(run)?;
    let is_none = found.holds.is_none() && found.fails.is_some();
    is_none.then(|| format!("no rate met {conditions}"))
}

/// A round in which everything failed, so that a server that died in the last round does not hide behind the others; not
/// where any number of errors is allowed, and not in a search, whose highest rates may fail.
fn dead_round(run: &Run) -> Option<String> {
    let required = run.plan.required();
    let is_allowed = |failed: u64| {
        required
            .iter()
            .all(|each| each.allows_errors(failed, failed))
    };
    run.points.iter().find_map(|point| {
        let is_dead =
            |round: &&Round| !round.partial && round.tally.ok == 0 && round.tally.errors() > 0;
        let dead = point.rounds.iter().find(is_dead)?;
        let failed = dead.tally.errors();
        (!run.plan.is_search() && !is_allowed(failed)).then(|| {
            format!(
                "{}nothing ended ok in round {}: {} requests failed",
                at(run, point),
                dead.index + 1,
                count(failed)
            )
        })
    })
}

/// The search ended without an answer.
fn undecided(run: &Run) -> Option<String> {
    let found = capacity(run)?;
    let conditions = run.plan.slo.as_ref()?;
    let is_open = found.holds.is_none() && found.fails.is_none();
    is_open.then(|| format!("the rounds do not tell whether any rate holds {conditions}"))
}

fn capacity(run: &Run) -> Option<Capacity> {
    run.curve.as_ref()?.capacity
}

/// Names the point of a sweep, for the beginning of a sentence.
fn at(run: &Run, point: &Point) -> String {
    match run.is_sweep() {
        true => format!("at {}: ", run.plan.name(&point.level)),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude;
    use crate::fixture::{fail, healthy};
    use plan::Requirement;
    use record::Kind;

    /// What is said of `run` when it is summarised and judged as it stands.
    fn said(mut run: Run, strict: bool) -> (u8, String) {
        run.plan.strict = strict;
        run.summarise();
        conclude(&mut run);
        run.exit
            .map_or((0, String::new()), |exit| (exit.status, exit.why))
    }

    /// The healthy run with so many failures in each of its rounds.
    fn failing(failures: [u64; 5]) -> Run {
        let mut run = healthy();
        for (round, failures) in run.points[0].rounds.iter_mut().zip(failures) {
            (0..failures).for_each(|_| fail(&mut round.tally, Kind::Reset, 0));
        }
        run
    }

    #[test]
    fn one_percent_of_the_requests_may_fail_and_not_one_more() {
        assert_eq!(said(failing([101; 5]), true).0, Exit::YES);
        assert_eq!(said(failing([505, 0, 0, 0, 0]), true).0, Exit::YES);
        let (status, why) = said(failing([506, 0, 0, 0, 0]), false);
        assert_eq!(status, Exit::NO);
        let wanted = "errors<=1% is not met: errors are 506 of 50,506 requests (1.0 %)";
        assert_eq!(why, wanted);
    }

    #[test]
    fn a_round_in_which_nothing_ended_ok_is_no_success() {
        let mut run = healthy();
        let tally = &mut run.points[0].rounds[4].tally;
        *tally = record::Tally::default();
        fail(tally, Kind::Reset, 0);
        let (status, why) = said(run.clone(), false);
        assert_eq!(
            (status, &*why),
            (Exit::NO, "nothing ended ok in round 5: 1 requests failed")
        );
        run.plan.max_errors = Requirement::at_most_errors("100%").unwrap();
        assert_eq!(said(run, false).0, Exit::YES);
    }

    #[test]
    fn nothing_that_ended_ok_is_no_success_whatever_is_allowed() {
        let mut run = record::example::all_404();
        run.plan.max_errors = Requirement::at_most_errors("100%").unwrap();
        let (status, why) = said(run.clone(), false);
        assert_eq!(status, Exit::NO);
        assert!(why.starts_with("nothing ended ok: "), "{why}");
        run.points[0].rounds.clear();
        assert_eq!(
            said(run, false),
            (Exit::NO, "nothing was measured".to_owned())
        );
    }

    #[test]
    fn the_first_status_that_applies_wins() {
        let mut run = failing([1_000; 5]);
        run.points[0].rounds[0].suspended = units::Nanos::from_secs(1);
        run.broken_off = Some("the server did not come up".into());
        run.interrupted = true;
        let (status, why) = said(run.clone(), true);
        assert_eq!(status, Exit::COULD_NOT);
        assert!(why.starts_with("the server did not come up; "), "{why}");
        run.broken_off = None;
        let (status, why) = said(run.clone(), true);
        assert_eq!(status, Exit::INTERRUPTED);
        assert!(why.starts_with("interrupted; "), "{why}");
        run.interrupted = false;
        assert_eq!(said(run.clone(), true).0, Exit::NO);
        run.plan.max_errors = Requirement::at_most_errors("50%").unwrap();
        let (status, why) = said(run.clone(), true);
        assert_eq!(status, Exit::NO);
        assert!(why.starts_with("reliable is not met: "), "{why}");
        let (status, why) = said(run.clone(), false);
        assert_eq!(status, Exit::CANNOT_TELL);
        assert!(
            why.starts_with("errors<=50% cannot be judged: errors are void: "),
            "{why}"
        );
        run.points[0].rounds[0].suspended = units::Nanos::ZERO;
        assert_eq!(said(run, false).0, Exit::YES);
    }

    #[test]
    fn a_server_that_ended_is_a_no_whatever_was_measured_before() {
        let mut run = healthy();
        run.interrupted = true;
        run.server_end = Some(ServerEnd {
            status: Some(7),
            signal: None,
            level: run.points[0].level,
            round: 4,
            during: record::During::Before,
            left: 0,
            printed: String::new(),
        });
        let (status, why) = said(run, false);
        let wanted =
            "the server that weigh started exited with status 7 before round 5; it printed nothing";
        assert_eq!((status, &*why), (Exit::NO, wanted));
    }

    #[test]
    fn a_record_that_contradicts_itself_is_no_success() {
        let mut run = healthy();
        run.points[0].rounds[0].tally.ok += 5;
        let (status, why) = said(run, false);
        assert_eq!(status, Exit::NO);
        assert!(
            why.starts_with("the record contradicts itself: round 1 does not add up"),
            "{why}"
        );
    }

    /// A sweep over the healthy level and that of `other`.
    fn sweep(other: Run) -> Run {
        let mut run = healthy();
        let mut other = other.points.into_iter().next().unwrap();
        other.level.load = plan::Load::Closed { connections: 7 };
        run.plan.sweep = Some(plan::Sweep {
            axes: vec![plan::Axis::Connections(vec![10, 7])],
            ..plan::Sweep::default()
        });
        run.points.push(other);
        run
    }

    #[test]
    fn each_point_of_a_sweep_has_its_own_allowance() {
        let (status, why) = said(sweep(failing([200; 5])), false);
        assert_eq!(status, Exit::NO);
        assert!(
            why.starts_with(
                "errors<=1% is not met: at 7 connections, errors are 1,000 of 51,000 requests (2"
            ),
            "{why}"
        );
    }

    #[test]
    fn strict_accepts_a_lower_bound_and_refuses_a_void_figure_in_a_run_and_in_a_sweep() {
        let mut bound = healthy();
        for round in &mut bound.points[0].rounds {
            round.threads = vec![crate::fixture::busy_thread(0.97)];
            round.footprint = Some(crate::fixture::busy_server(0.40));
        }
        assert_eq!(said(bound.clone(), true).0, Exit::YES);
        assert_eq!(said(sweep(bound), true).0, Exit::YES);
        let mut void = healthy();
        void.points[0].rounds[0].suspended = units::Nanos::from_secs(1);
        void.plan.max_errors = Requirement::at_most_errors("50%").unwrap();
        let (status, why) = said(void.clone(), true);
        assert_eq!(status, Exit::NO);
        let (head, sentence) = why.split_once(": ").unwrap();
        let mut both = sweep(void);
        both.plan.max_errors = Requirement::at_most_errors("50%").unwrap();
        assert_eq!(
            said(both, true),
            (status, format!("{head}: at 7 connections, {sentence}"))
        );
    }
}

//! When a campaign ends before its plan is carried out, because of what is measured: what the user said ends it, or
//! nothing can come of it.

use engine::Progress;
use plan::{Comparison, Plan, Requirement};
use record::{Compliance, Run};
use units::{Instant, Nanos, count, percent};

/// A share of errors is not judged, and nothing is given up, before a window was open for so long.
const SOON: Nanos = Nanos::from_secs(1);

/// What ends a campaign early.
#[derive(Debug)]
pub(crate) struct EarlyStop {
    conditions: Vec<Requirement>,
    /// Whether the campaign goes on although everything fails, or something has ended ok.
    is_patient: bool,
    /// Sum of the windows that are over.
    measured: Nanos,
}

impl EarlyStop {
    /// What ends the campaign of `plan`, of which `run` has been measured already.
    pub(crate) fn of(plan: &Plan, run: &Run) -> EarlyStop {
        let mut early = EarlyStop {
            conditions: plan.abort_if.clone(),
            is_patient: plan.keep_going,
            measured: Nanos::ZERO,
        };
        let rounds = run.points.iter().flat_map(|point| &point.rounds);
        rounds.for_each(|round| early.note(round.tally.ok, round.window.span()));
        early
    }

    fn note(&mut self, ok: u64, window: Nanos) {
        self.is_patient |= ok > 0;
        self.measured += window;
    }

    /// Returns why the campaign is to end during a round that has come so far at `now`.
    pub(crate) fn during(&self, progress: Progress, now: Instant) -> Option<String> {
        let open = now - progress.window_start?;
        let hopeless = self.hopeless(progress.ok, progress.errors, self.measured + open);
        hopeless.or_else(|| {
            let each = self.conditions.iter();
            let reached = each
                .filter_map(live)
                .find(|compared| reached(compared, progress, open))?;
            let (errors, ended) = (progress.errors, progress.errors + progress.ok);
            Some(format!(
                "--abort-if {reached} is met: errors are {} of {} requests ({})",
                count(errors),
                count(ended),
                percent(errors as f64 / ended.max(1) as f64),
            ))
        })
    }

    /// Returns why the campaign is to end after the last round of the point with index `point` of `run`.
    pub(crate) fn after(&mut self, run: &Run, point: usize) -> Option<String> {
        let round = run.points.get(point)?.rounds.last()?;
        if round.partial {
            return None; // what an interrupt cuts off is no error of the server
        }
        let (ok, errors) = (round.tally.ok, round.tally.errors());
        self.note(ok, round.window.span());
        self.hopeless(ok, errors, self.measured).or_else(|| {
            let judged = audit::requirements_at(run, point, &self.conditions);
            let mut met = judged
                .into_iter()
                .filter(|each| each.verdict == Compliance::Met);
            Some(format!("--abort-if {}", met.next()?.reason()))
        })
    }

    /// Nothing ended ok in the first second of the campaign's windows.
    fn hopeless(&self, ok: u64, errors: u64, measured: Nanos) -> Option<String> {
        let is_hopeless = !self.is_patient && ok == 0 && errors > 0 && measured >= SOON;
        is_hopeless.then(|| {
            format!(
                "nothing but errors in the first second, {} of them; --keep-going goes on all the same",
                count(errors)
            )
        })
    }
}

/// A condition on all errors that is decided while a round goes on: further errors never make it false.
fn live(condition: &Requirement) -> Option<&Comparison> {
    match condition {
        Requirement::Figure(compared) if compared.counts_errors() => {
            compared.operator.is_lower().then_some(compared)
        }
        _ => None,
    }
}

fn reached(compared: &Comparison, progress: Progress, open: Nanos) -> bool {
    let (errors, ended) = (
        progress.errors as f64,
        (progress.errors + progress.ok) as f64,
    );
    let bound = match (compared.bound.number(), compared.bound.share()) {
        (Some(number), _) => number,
        (None, Some(share)) if open >= SOON => share * ended,
        _ => return false,
    };
    compared.operator.holds(errors, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(5_000_000_000);

    /// What ends a campaign with these conditions, in which nothing is measured yet.
    fn early(conditions: &str) -> EarlyStop {
        let mut run = record::example::ok();
        run.points.clear();
        run.plan.abort_if = plan::requirement::requirements(conditions).unwrap();
        EarlyStop::of(&run.plan, &run)
    }

    /// Why it ends when so many requests have ended, `millis` after the window opened.
    fn why(early: &EarlyStop, ok: u64, errors: u64, millis: u64) -> Option<String> {
        let progress = Progress {
            ok,
            errors,
            scheduled: ok + errors,
            window_start: Some(START),
            ..Progress::default()
        };
        early.during(progress, START + Nanos::from_millis(millis))
    }

    #[test]
    fn a_share_of_errors_ends_it_once_the_window_was_open_for_a_second() {
        let early = early("p99>1s,errors>1%");
        assert_eq!(why(&early, 98, 2, 999), None);
        assert_eq!(why(&early, 99, 1, 1_000), None);
        let wanted = "--abort-if errors>1% is met: errors are 2 of 100 requests (2.0 %)";
        assert_eq!(why(&early, 98, 2, 1_000).as_deref(), Some(wanted));
    }

    #[test]
    fn a_number_of_errors_ends_it_at_once() {
        let early = early("errors>=5");
        assert_eq!(why(&early, 1, 4, 1), None);
        assert!(why(&early, 1, 5, 1).is_some());
    }

    #[test]
    fn it_ends_when_a_second_brought_nothing_but_errors() {
        let early = early("errors>100%");
        assert_eq!(why(&early, 0, 9, 999), None);
        assert_eq!(why(&early, 0, 0, 5_000), None, "nothing has ended yet");
        assert_eq!(why(&early, 1, 9, 1_000), None);
        let said = why(&early, 0, 9, 1_000).unwrap();
        assert!(
            said.starts_with("nothing but errors in the first second, 9 of them"),
            "{said}"
        );
        let patient = EarlyStop {
            is_patient: true,
            ..early
        };
        assert_eq!(why(&patient, 0, 9, 1_000), None);
    }

    #[test]
    fn what_has_ended_ok_before_gives_hope() {
        let run = record::example::ok();
        let early = EarlyStop::of(&run.plan, &run);
        assert_eq!(why(&early, 0, 9, 1_000), None);
    }

    #[test]
    fn other_figures_end_it_after_a_round() {
        let mut run = record::example::ok();
        run.plan.abort_if = plan::requirement::requirements("p50>1us,rps<1").unwrap();
        let said = EarlyStop::of(&run.plan, &run).after(&run, 0).unwrap();
        assert!(
            said.starts_with("--abort-if p50>1us is met: p50 is "),
            "{said}"
        );
        run.plan.abort_if = plan::requirement::requirements("p50>1h").unwrap();
        assert_eq!(EarlyStop::of(&run.plan, &run).after(&run, 0), None);
    }
}

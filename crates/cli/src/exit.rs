//! What the exit status says.

use plan::Tolerance;
use record::{Grade, Run};
use std::process::ExitCode;

/// The statuses, the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Measured.
    Measured,
    /// More faults than `--max-errors` allows.
    Faults,
    /// The command or plan is wrong, or nothing could be reached before the window.
    Wrong,
    /// `--strict` and a finding is invalid.
    Invalid,
    /// Measured, but the record could not be saved.
    Unsaved,
    /// Our own bug.
    Bug,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    /// The status of a run that was carried out.
    pub fn of(run: &Run, saved: bool, strict: bool) -> Exit {
        let invalid = run
            .findings
            .iter()
            .any(|finding| finding.grade == Grade::Invalid);
        let faults = too_many_faults(run);
        if run.interrupted {
            Exit::Interrupted
        } else if !saved {
            Exit::Unsaved
        } else if strict && invalid {
            Exit::Invalid
        } else if faults {
            Exit::Faults
        } else {
            Exit::Measured
        }
    }

    /// Ends the process with this status, at once.
    pub fn now(self) -> ! {
        std::process::exit(i32::from(self.status()))
    }

    fn status(self) -> u8 {
        match self {
            Exit::Measured => 0,
            Exit::Faults => 1,
            Exit::Wrong => 2,
            Exit::Invalid => 3,
            Exit::Unsaved => 6,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
        }
    }
}

/// Whether more exchanges failed than the plan tolerates: over all rounds or, where it tolerates a share, in any of
/// them, so that a server that dies in the last round cannot hide behind the others. (A dead server fails few
/// exchanges, because connects to it wait longer and longer.)
fn too_many_faults(run: &Run) -> bool {
    let exceeded = |errors, requests| run.plan.tolerance.exceeded(errors, requests);
    let whole = run.summary.as_ref();
    let rounds = run.points.iter().flat_map(|point| &point.rounds);
    let by_share = matches!(run.plan.tolerance, Tolerance::Share(_));
    whole.is_some_and(|summary| exceeded(summary.errors.total, summary.requests))
        || by_share
            && rounds
                .filter(|round| !round.partial)
                .any(|round| exceeded(round.tally.errors(), round.tally.requests()))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.status())
    }
}

/// Makes a panic, in whatever thread, end the process with the status for our own bugs.
pub fn own_bugs() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        let bug = "weigh: this is a bug in weigh, and the run is void; please report it with the lines above\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), bug.as_bytes());
        Exit::Bug.now()
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_status_that_applies_wins() {
        let mut run = record::example::errors();
        run.interrupted = false;
        run.findings.clear();
        assert_eq!(Exit::of(&run, true, true), Exit::Faults);
        run.findings.push(record::Finding {
            point: None,
            check: "test".into(),
            grade: Grade::Invalid,
            touches: Vec::new(),
            sentence: String::new(),
            remedy: None,
            evidence: Vec::new(),
        });
        assert_eq!(Exit::of(&run, true, false), Exit::Faults);
        assert_eq!(Exit::of(&run, true, true), Exit::Invalid);
        assert_eq!(Exit::of(&run, false, true), Exit::Unsaved);
        run.interrupted = true;
        assert_eq!(Exit::of(&run, false, true), Exit::Interrupted);
        let ok = record::example::ok();
        assert_eq!(Exit::of(&ok, true, true), Exit::Measured);
    }
}

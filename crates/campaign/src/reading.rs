//! Reading what campaigns have left: every reader judges it again, because a stored judgement may be missing, outdated or
//! edited.

use record::{LoadError, Run};
use std::path::Path;

/// Reads the record or journal at `path`, as [`record::load`] does, and judges it again from its rounds: summaries, findings
/// and exit status are computed here, and a stored summary that they contradict is a finding.
///
/// # Errors
/// [`LoadError`].
pub fn load(path: &Path) -> Result<Run, LoadError> {
    record::load(path).map(judged)
}

/// `run` with everything computed again that follows from its rounds.
fn judged(mut run: Run) -> Run {
    run.findings = audit::judge(&run); // before the stored summaries are replaced
    run.summarise();
    run.exit = audit::exit(&run, run.plan.strict);
    run
}

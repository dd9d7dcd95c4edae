//! Reading what campaigns have left. Every reader judges it again: a stored judgement may be missing, outdated or edited.

use record::{LoadError, Run};
use std::io::Read;
use std::path::Path;

/// Reads the record or journal at `path`, as [`record::load`] does, and judges it again from its rounds.
///
/// # Errors
/// [`LoadError`].
pub fn load(path: &Path) -> Result<Run, LoadError> {
    record::load(path).map(audit::again)
}

/// Reads a record or journal from `input`, which errors call `name`, and judges it again from its rounds.
///
/// # Errors
/// [`LoadError`].
pub fn load_from(input: &mut dyn Read, name: &Path) -> Result<Run, LoadError> {
    record::load_from(input, name).map(audit::again)
}

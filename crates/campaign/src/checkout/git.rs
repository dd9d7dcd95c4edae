//! Running git so that it only reads, and the same way wherever weigh is called.
//!
//! A hook or `git bisect run` may have set `GIT_DIR` and others, which lead to another repository or index than the one
//! that was named: they are removed. The user's settings stay, as they are what the user's own checkouts are made with;
//! of these only hooks and the file monitor are switched off, since both would start programs, and the index in two
//! parts, one of which would be written into the repository even if the index is elsewhere. `git status` writes the
//! index to remember what it has looked at: GIT_OPTIONAL_LOCKS forbids it.

use super::CheckoutError;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Settings that every call has.
const SETTINGS: [&str; 6] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.splitIndex=false",
];

/// Variables that every call has. Messages are English, as ours are.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
];

/// Variables that lead git to one repository, or are about one call of it (`git rev-parse --local-env-vars`, and two more
/// that servers set). Others stay: they say where settings and programs are, or how to log in.
const OF_REPOSITORY: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Returns the variables that neither git nor a build gets.
pub(super) fn foreign_variables() -> Vec<OsString> {
    OF_REPOSITORY.map(OsString::from).into()
}

/// Returns the variables that git is called with.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let pairs = ENVIRONMENT.iter();
    pairs
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Returns the command line that calls git with `arguments` in `folder`.
pub(super) fn command_line(folder: &Path, arguments: &[&OsStr]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["git".into(), "-C".into(), folder.into()];
    line.extend(SETTINGS.iter().map(OsString::from));
    line.extend(arguments.iter().map(OsString::from));
    line
}

/// Calls git with `arguments` in `folder`, and with `more` variables; returns what it printed, without the last line's end.
///
/// It has a process group of its own, so that Ctrl-C does not end a question that is soon answered.
pub(super) fn ask(
    folder: &Path,
    arguments: &[&str],
    more: &[(&str, &OsStr)],
) -> Result<OsString, CheckoutError> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let line = command_line(folder, &arguments);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]);
    for name in OF_REPOSITORY {
        command.env_remove(name);
    }
    command.envs(environment()).envs(more.iter().copied());
    command.stdin(Stdio::null()).process_group(0);
    let output = command.output().map_err(CheckoutError::not_started)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CheckoutError::Git { said });
    }
    let mut printed = output.stdout;
    if printed.ends_with(b"\n") {
        printed.pop();
    }
    Ok(OsString::from_vec(printed))
}

/// Calls git as [`ask`] does; returns what it printed as text.
pub(super) fn ask_text(folder: &Path, arguments: &[&str]) -> Result<String, CheckoutError> {
    let printed = ask(folder, arguments, &[])?;
    Ok(printed.to_string_lossy().into_owned())
}

/// Returns the path that git prints for `arguments`, from the root on and without links: git prints one from `folder` on.
pub(super) fn ask_path(folder: &Path, arguments: &[&str]) -> Result<PathBuf, CheckoutError> {
    let path = folder.join(ask(folder, arguments, &[])?);
    let unreadable = |error| CheckoutError::Git {
        said: format!("{}: {error}", path.display()),
    };
    std::fs::canonicalize(&path).map_err(unreadable)
}

impl CheckoutError {
    /// Why git itself did not run.
    pub(super) fn not_started(error: std::io::Error) -> CheckoutError {
        match error.kind() {
            ErrorKind::NotFound => CheckoutError::NoGit,
            _ => CheckoutError::Git {
                said: error.to_string(),
            },
        }
    }
}

//! Where records lie for which no file was named: the user's state directory.

use crate::SaveError;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The most entries of the state directory that are looked at for the latest record.
const MOST_ENTRIES: usize = 1 << 20;

/// A file for the record of a run that began at `started_unix` (seconds since 1970, UTC) in process `pid`:
/// `YYYYMMDD-HHMMSS-<pid>.json` in `$XDG_STATE_HOME/weigh`, else in `~/.local/state/weigh`, which is created for this user
/// alone: a plan's headers may hold a password.
///
/// # Errors
/// [`SaveError::Unwritable`] where the directory cannot be created.
pub fn default_path(started_unix: u64, pid: u32) -> Result<PathBuf, SaveError> {
    let folder = state_folder();
    create_state_folder(&folder)?;
    Ok(folder.join(name(started_unix, pid)))
}

/// Creates the state directory, for this user alone.
pub(crate) fn create_state_folder(folder: &Path) -> Result<(), SaveError> {
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(folder);
    created.map_err(|error| SaveError::Unwritable(folder.into(), error))
}

/// The user's state directory for weigh, which need not exist.
pub(crate) fn state_folder() -> PathBuf {
    let variable = |name| std::env::var_os(name);
    folder_from(variable("XDG_STATE_HOME"), variable("HOME"))
}

/// The directory, from the two variables. A relative path in them is to be ignored (XDG Base Directory Specification);
/// with neither set, as in a bare container, the temporary directory has to do.
fn folder_from(state: Option<OsString>, home: Option<OsString>) -> PathBuf {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    match (absolute(state), absolute(home)) {
        (Some(state), _) => state.join("weigh"),
        (None, Some(home)) => home.join(".local/state/weigh"),
        (None, None) => std::env::temp_dir().join("weigh"),
    }
}

fn name(unix: u64, pid: u32) -> String {
    let date = units::date::iso(unix).replace(['-', ':', 'Z'], "");
    format!("{}-{pid}.json", date.replace('T', "-"))
}

/// The record in `folder` that was begun last and finished; none when there is none.
pub(crate) fn latest_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| Some((begun(&name)?, name)))
        .max()
        .map(|(_, name)| folder.join(name))
}

/// When the run with this record's name began, in a form that sorts; none for other names.
fn begun(name: &str) -> Option<[u64; 3]> {
    let mut parts = name.strip_suffix(".json")?.split('-');
    let mut part = |length: Option<usize>| {
        let digits = parts.next()?;
        let fits = length.is_none_or(|length| digits.len() == length);
        let plain = fits && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    };
    let stamp = [part(Some(8))?, part(Some(6))?, part(None)?];
    parts.next().is_none().then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dates_in_utc() {
        let cases: &[(u64, &str)] = &[
            (0, "19700101-000000-7.json"),
            (86_399, "19700101-235959-7.json"),
            (68_169_600, "19720229-000000-7.json"),
            (68_256_000, "19720301-000000-7.json"),
            (951_782_400, "20000229-000000-7.json"),
            (951_868_800, "20000301-000000-7.json"),
            (978_220_800, "20001231-000000-7.json"),
            (1_000_000_000, "20010909-014640-7.json"),
            (1_735_689_599, "20241231-235959-7.json"),
            (4_107_542_400, "21000301-000000-7.json"),
        ];
        for (unix, wanted) in cases {
            assert_eq!(name(*unix, 7), *wanted);
        }
    }

    #[test]
    fn a_time_beyond_all_calendars_still_has_a_name() {
        assert!(name(u64::MAX, u32::MAX).ends_with("-4294967295.json"));
    }

    #[test]
    fn the_state_directory_follows_the_variables() {
        let cases: &[(Option<&str>, Option<&str>, &str)] = &[
            (Some("/s"), Some("/h"), "/s/weigh"),
            (None, Some("/h"), "/h/.local/state/weigh"),
            (Some(""), Some("/h"), "/h/.local/state/weigh"),
            (Some("relative"), Some("/h"), "/h/.local/state/weigh"),
        ];
        for (state, home, wanted) in cases {
            let folder = folder_from(state.map(OsString::from), home.map(OsString::from));
            assert_eq!(folder, Path::new(wanted));
        }
        assert!(folder_from(None, Some("".into())).starts_with(std::env::temp_dir()));
    }

    #[test]
    fn the_latest_is_the_one_begun_last_among_finished_records() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(latest_in(folder.path()), None);
        let names = [
            "20250101-000000-9.json",
            "20250101-000000-10.json",
            "20240101-000000-99.json",
            "20250102-000000-1.json.journal",
            "99999999-999999-x.json",
            "notes-20990101.json",
            "20990101-000000-1-2.json",
        ];
        names
            .iter()
            .for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        assert_eq!(latest_in(folder.path()), Some(folder.path().join(names[1])));
        assert_eq!(latest_in(&folder.path().join("missing")), None);
    }
}

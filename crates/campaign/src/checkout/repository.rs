//! The user's repository: asked, never written.

use super::CheckoutError;
use super::git::{ask, ask_path, ask_text};
use std::path::{Path, PathBuf};

/// Digits of an id that are shown at least, if they name the commit.
const ABBREVIATION: &str = "core.abbrev=5";

/// A repository, seen from one folder.
#[derive(Debug)]
pub(super) struct Repository {
    /// The folder that was named, without links.
    pub(super) folder: PathBuf,
    /// What all working trees of the repository share: objects and references.
    pub(super) shared: PathBuf,
    /// The way from the top of the working tree to the folder; empty at the top.
    pub(super) below: PathBuf,
    /// Whether the folder is in a working tree.
    pub(super) has_working_tree: bool,
}

impl Repository {
    /// Finds the repository to which `folder` belongs.
    pub(super) fn of(folder: &Path) -> Result<Repository, CheckoutError> {
        let none = |said| CheckoutError::NoRepository {
            folder: folder.to_owned(),
            said,
        };
        let found = std::fs::canonicalize(folder).map_err(|error| none(error.to_string()))?;
        let inside = match ask_text(&found, &["rev-parse", "--is-inside-work-tree"]) {
            Err(CheckoutError::Git { said }) => return Err(none(said)),
            answer => answer?,
        };
        Ok(Repository {
            shared: ask_path(&found, &["rev-parse", "--git-common-dir"])?,
            below: ask(&found, &["rev-parse", "--show-prefix"], &[])?.into(),
            has_working_tree: inside == "true",
            folder: found,
        })
    }

    /// Returns the id of the commit that `revision` names, its short id, and its tree's id.
    pub(super) fn commit(&self, revision: &str) -> Result<[String; 3], CheckoutError> {
        let found = self.id(revision)?.map(|id| {
            let (log, form) = ("--no-show-signature", "--format=%H%n%h%n%T");
            ask_text(
                &self.folder,
                &["-c", ABBREVIATION, "log", "-1", log, form, &id],
            )
        });
        let lines = match found {
            // What is no commit, but a file or a folder, has no log.
            None | Some(Err(CheckoutError::Git { .. })) => String::new(),
            Some(lines) => lines?,
        };
        let lines: Vec<String> = lines.lines().map(String::from).collect();
        match lines.try_into() {
            Ok(commit) => Ok(commit),
            Err(_) => Err(CheckoutError::NoCommit {
                revision: revision.to_owned(),
                folder: self.folder.clone(),
                hint: self.hint(revision)?,
            }),
        }
    }

    /// Returns the id of what `revision` names; none if it names nothing, or several.
    fn id(&self, revision: &str) -> Result<Option<String>, CheckoutError> {
        if revision.starts_with('-') {
            return Ok(None); // it would be an option
        }
        let is_id =
            |text: &String| text.len() >= 40 && text.bytes().all(|it| it.is_ascii_hexdigit());
        match ask_text(
            &self.folder,
            &["rev-parse", "--verify", "--quiet", revision],
        ) {
            Err(CheckoutError::Git { .. }) => Ok(None),
            found => Ok(Some(found?).filter(is_id)),
        }
    }

    /// What helps a user whose `revision` is not there.
    fn hint(&self, revision: &str) -> Result<String, CheckoutError> {
        let remote = format!("origin/{revision}");
        if self.id(&remote)?.is_some() {
            return Ok(format!("; `{remote}` is one"));
        }
        let shallow = ask_text(&self.folder, &["rev-parse", "--is-shallow-repository"])?;
        Ok(match shallow == "true" {
            true => "; it has only its latest commits, `git fetch --unshallow` fetches the others"
                .into(),
            false => String::new(),
        })
    }

    /// Counts the files that differ from `commit`, and new ones that are not ignored, if `commit` is checked out here.
    pub(super) fn uncommitted(&self, commit: &str) -> Result<u64, CheckoutError> {
        if !self.has_working_tree || self.id("HEAD")?.as_deref() != Some(commit) {
            return Ok(0);
        }
        let arguments = [
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
        ];
        let printed = ask(&self.folder, &arguments, &[])?;
        let ends = printed.as_encoded_bytes().iter().filter(|byte| **byte == 0);
        Ok(ends.count() as u64)
    }
}

//! The working tree as it is, as a commit that the user's repository does not get.
//!
//! `git add` writes objects and the index. Both are led elsewhere: to a folder of objects that has the user's as its
//! alternate, and to a copy of the user's index, which knows what is unchanged and what a sparse checkout leaves out.
//! (`git stash create` would be shorter, but writes objects into the repository and leaves new files out.) An object that is
//! in the user's repository already is not written: git sets the time of its file instead, so that it is not cleaned up.

use super::CheckoutError;
use super::git::{ask, ask_path};
use super::repository::Repository;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The author and the date of the commit: the same files after the same commit are the same commit.
const AUTHOR: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "weigh"),
    ("GIT_AUTHOR_EMAIL", ""),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "weigh"),
    ("GIT_COMMITTER_EMAIL", ""),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// The working tree at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    folder: TempDir,
    /// The commit, whose parent is the one that is checked out.
    pub(super) commit: String,
    /// Its tree of files.
    pub(super) tree: String,
}

impl Snapshot {
    /// Takes the working tree of `repository`, in which `head` is checked out.
    pub(super) fn take(repository: &Repository, head: &str) -> Result<Snapshot, CheckoutError> {
        let git_path = |name| ask_path(&repository.folder, &["rev-parse", "--git-path", name]);
        // A repository in which nothing was ever added has no index.
        let (users, index) = (git_path("objects")?, git_path("index").ok());
        let folder = prepare(&users, index.as_deref()).map_err(CheckoutError::NotCopied)?;
        let (index, objects) = (folder.path().join("index"), objects(&folder));
        let mut variables = vec![
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", objects.as_os_str()),
        ];
        variables.extend(AUTHOR.map(|(name, value)| (name, OsStr::new(value))));
        let call = |arguments: &[&str]| {
            let printed = ask(&repository.folder, arguments, &variables)?;
            Ok::<String, CheckoutError>(printed.to_string_lossy().into_owned())
        };
        call(&["add", "--all"])?;
        let tree = call(&["write-tree"])?;
        let commit = call(&["commit-tree", "-p", head, "-m", "the working tree", &tree])?;
        Ok(Snapshot {
            folder,
            commit,
            tree,
        })
    }

    /// The folder of objects that the user's repository does not have.
    pub(super) fn objects(&self) -> PathBuf {
        objects(&self.folder)
    }
}

fn objects(folder: &TempDir) -> PathBuf {
    folder.path().join("objects")
}

/// Makes a folder with a copy of `index`, and an empty folder of objects that leads to `users`.
fn prepare(users: &Path, index: Option<&Path>) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    if let Some(index) = index {
        fs::copy(index, folder.path().join("index"))?;
    }
    let info = objects(&folder).join("info");
    fs::create_dir_all(&info)?;
    let line = [users.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(info.join("alternates"), line)?;
    Ok(folder)
}

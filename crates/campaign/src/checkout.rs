//! Servers of commits: each commit is checked out in a clone of its own, built there, and kept for the next comparison.
//!
//! # What is made
//!
//! - **A commit** is any revision that git knows: a branch, a tag, `HEAD~3`, an id. [`WORKING_TREE`], `.`, is the working
//!   tree as it is now: what is tracked, with its uncommitted changes, and new files that are not ignored.
//! - **A clone** shares the objects of the user's repository (`git clone --shared`) and has its branches and tags, so that
//!   `git describe` works. Files that git ignores are not in it, nor are submodules: a build command that needs them
//!   begins with `git submodule update --init`.
//! - **The build command** is run by `sh -c` in the folder of the clone that corresponds to the one in which weigh was
//!   called: in `services/api` of the repository it runs in `services/api` of the clone. So does the server. Standard
//!   input is empty. The environment is ours without the variables that git sets for hooks. What the command leaves
//!   running, such as a compiler's daemon, is ended with it.
//! - **The build is kept** in `$XDG_CACHE_HOME/weigh/builds` (`~/.cache/weigh/builds`) and used again if all of this is the
//!   same: the tree of files, the folder, the build command, the environment without the variables of the terminal and
//!   the session, the times of the folders in `PATH`, which change when a program in them does, and the processor's
//!   architecture. Not noticed is what a build takes from elsewhere: downloads, libraries, a compiler behind a wrapper
//!   such as rustup's. So a build tells its age ([`Built::built_at`]), and the caller can show it. Builds unused for longest
//!   are removed when all are larger than 8 GiB together, never one in use. What a server writes into its folder stays
//!   there for the next comparison.
//!
//! # What is left alone
//!
//! Nothing is written into the user's repository: no worktree, no index, no object, no reference. (`git worktree` would
//! be shorter, but it writes there, and a second weigh would meet the first.) For the working tree git may set the times
//! of objects that are there, not their contents. Hooks and the file monitor are switched
//! off in all that is done for the clone, and in the clone itself. Filters that the user has configured, such as
//! git-lfs, work as in every checkout.
//!
//! # Bisecting
//!
//! ```sh
//! git bisect start slow-commit v1.0
//! git bisect run weigh compare --bisect --commits v1.0 HEAD --build make --run './server {port}' --max-regression 1%
//! ```
//!
//! The first commit is the baseline, the same in every step and built once. `HEAD` is what git has checked out for the
//! step. [`BisectExit`] says what git is told. The regression to allow lies in the middle between none and the one that is
//! looked for: 1 % to find a change of 2 %.

mod bisect;
mod build;
mod cache;
mod git;
mod identity;
mod repository;
mod snapshot;

pub use bisect::BisectExit;
pub use build::{BuildCommand, BuildError, Built};
pub use cache::BuildCache;

use repository::Repository;
use snapshot::Snapshot;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The revision that is no commit, but the working tree as it is. Git has no such revision.
pub const WORKING_TREE: &str = ".";

/// Digits of an id that are shown of what git does not shorten for us, which is a tree.
const SHOWN: usize = 7;

/// Why there is no such commit. Each text names what to do about it, where something can be done.
#[derive(Debug, Error)]
pub enum CheckoutError {
    /// There is no program `git`.
    #[error("comparing commits needs git, which is not in PATH; install it")]
    NoGit,
    /// The folder is in no repository, or git refuses to read it.
    #[error("`{}` is not in a git repository that can be read: {said}", folder.display())]
    NoRepository {
        /// The folder that was named.
        folder: PathBuf,
        /// What git said.
        said: String,
    },
    /// The revision names no commit.
    #[error("`{revision}` is no commit of `{}`{hint}", folder.display())]
    NoCommit {
        /// The revision as given.
        revision: String,
        /// The folder that was named.
        folder: PathBuf,
        /// What could have been meant, or could help; empty if nothing is known.
        hint: String,
    },
    /// The working tree was named, but the repository has none, or the folder is outside of it.
    #[error("`{}` has no working tree that `.` could name; name a commit", .0.display())]
    NoWorkingTree(PathBuf),
    /// The working tree could not be copied.
    #[error("the working tree could not be copied: {0}")]
    NotCopied(#[source] std::io::Error),
    /// Git failed otherwise.
    #[error("git failed: {said}")]
    Git {
        /// What git said.
        said: String,
    },
}

/// One commit of a repository, or its working tree, from which a server can be built.
#[derive(Debug)]
pub struct Checkout {
    repository: Repository,
    revision: String,
    commit: String,
    short: String,
    tree: String,
    uncommitted: u64,
    snapshot: Option<Snapshot>,
}

impl Checkout {
    /// Finds `revision` in the repository to which the folder `repository` belongs. Any revision of git will do, and
    /// [`WORKING_TREE`].
    ///
    /// # Errors
    /// [`CheckoutError`].
    pub fn of(repository: &Path, revision: &str) -> Result<Checkout, CheckoutError> {
        let repository = Repository::of(repository)?;
        let is_working_tree = revision == WORKING_TREE;
        if is_working_tree && !repository.has_working_tree {
            return Err(CheckoutError::NoWorkingTree(repository.folder));
        }
        let [commit, short, tree] = match is_working_tree {
            true => repository.commit("HEAD")?,
            false => repository.commit(revision)?,
        };
        let mut checkout = Checkout {
            revision: revision.to_owned(),
            uncommitted: 0,
            snapshot: None,
            repository,
            commit,
            short,
            tree,
        };
        if is_working_tree {
            let snapshot = Snapshot::take(&checkout.repository, &checkout.commit)?;
            checkout.tree.clone_from(&snapshot.tree);
            checkout.snapshot = Some(snapshot);
        } else {
            checkout.uncommitted = checkout.repository.uncommitted(&checkout.commit)?;
        }
        Ok(checkout)
    }

    /// The revision as it was given.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The commit's full id; of a working tree that of the commit that is checked out.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// As many digits of [`Checkout::commit`] as name it, and at least five.
    pub fn short(&self) -> &str {
        &self.short
    }

    /// The full id of the tree of files, which all commits with the same files share.
    pub fn tree(&self) -> &str {
        &self.tree
    }

    /// Whether it is the working tree rather than a commit.
    pub fn is_working_tree(&self) -> bool {
        self.snapshot.is_some()
    }

    /// How many files differ from the commit, or are new and not ignored, in the working tree in which the commit is
    /// checked out: changes that are not measured. 0 if another commit is checked out.
    pub fn uncommitted(&self) -> u64 {
        self.uncommitted
    }

    /// What names it for readers: the revision as given and the short id, `main 3f2c1`. The id alone if it was given by its
    /// id; `working tree` and digits of its tree's id.
    pub fn name(&self) -> String {
        match &self.snapshot {
            Some(snapshot) => format!("working tree {}", &snapshot.tree[..SHOWN]),
            None if self.commit.starts_with(&self.revision.to_lowercase()) => self.short.clone(),
            None => format!("{} {}", self.revision, self.short),
        }
    }

    /// Says that `other` has the same files, so that a comparison of the two would be one with itself; none if they differ.
    pub fn same_as(&self, other: &Checkout) -> Option<String> {
        let (one, two) = (&self.revision, &other.revision);
        let are_alike = self.is_working_tree() == other.is_working_tree();
        match self.tree == other.tree {
            false => None,
            true if are_alike && self.commit == other.commit => Some(format!(
                "`{one}` and `{two}` are the same commit, {}",
                self.short
            )),
            true => Some(format!("`{one}` and `{two}` have the same files")),
        }
    }
}

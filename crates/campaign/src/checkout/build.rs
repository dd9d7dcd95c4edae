//! Making the server of a commit: clone, checkout, build command.
//!
//! Every command is a [`Child`], so what it starts ends with it, and with us, however we end.

use super::Checkout;
use super::cache::{BuildCache, Entry, moment};
use super::git;
use super::identity::{Identity, conditions};
use crate::server::{last_printed, printed};
use kernel::process::{Child, Start};
use kernel::{clock, signals};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use thiserror::Error;
use units::Nanos;

/// How long the processes of a build may take to end after SIGTERM.
const GRACE: Nanos = Nanos::from_secs(2);

/// How the repository is cloned. The settings are for the git commands of the build, too.
const CLONE: &str = "clone --quiet --shared --no-checkout --template= \
                     -c core.hooksPath=/dev/null -c core.fsmonitor=false --";

/// What is said of a commit that has submodules.
const SUBMODULES: &str = "; its submodules are not checked out: `git submodule update --init` in the build command \
                          does it";

/// How long git may take to clone a repository, and to check a commit out.
const GIT_WITHIN: Nanos = Nanos::from_secs(600);

/// The most bytes that a command may print.
const MOST_PRINTED: u64 = 64 << 20;

/// How a server is built of what is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildCommand {
    /// The command, for a shell; an empty one builds nothing.
    pub command: String,
    /// How long it may take. Cloning and checking out have limits of their own.
    pub within: Nanos,
}

impl BuildCommand {
    /// How long a build may take unless told otherwise.
    pub const WITHIN: Nanos = Nanos::from_secs(600);

    /// `command`, which may take as long as [`BuildCommand::WITHIN`].
    pub fn new(command: impl Into<String>) -> BuildCommand {
        BuildCommand {
            command: command.into(),
            within: BuildCommand::WITHIN,
        }
    }
}

/// Why there is no server of a commit. Each text names what to do about it, where something can be done.
#[derive(Debug, Error)]
pub enum BuildError {
    /// It was to stop.
    #[error("interrupted before the build was finished")]
    Interrupted,
    /// The commit could not be cloned or checked out.
    #[error("{name} could not be checked out: {why}")]
    NotCheckedOut {
        /// The commit, as [`Checkout::name`] says.
        name: String,
        /// Which command failed, how, and what it printed.
        why: String,
    },
    /// The folder in which weigh was called is not in the commit.
    #[error("{name} has no folder `{}`, in which it was to be built", below.display())]
    NoFolder {
        /// The commit, as [`Checkout::name`] says.
        name: String,
        /// The folder, from the top of the repository.
        below: PathBuf,
    },
    /// The build command failed, took too long or printed too much.
    #[error("the build of {name} failed: {why}\n(its whole output is in {})", log.display())]
    Failed {
        /// The commit, as [`Checkout::name`] says.
        name: String,
        /// The command, how it ended, and the last that it printed.
        why: String,
        /// The file with all that it printed. The next build removes it.
        log: PathBuf,
    },
    /// A program could not be started.
    #[error("`{}` could not be started: {error}", program.display())]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no place for builds.
    #[error("there is no folder for builds, as neither XDG_CACHE_HOME nor HOME is set; set one")]
    NoCache,
    /// The folder of builds cannot be read or written.
    #[error("builds cannot be kept in `{}`: {error}", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl BuildError {
    /// Whether the commit is to blame, so that another commit can be built nevertheless.
    pub fn is_of_commit(&self) -> bool {
        matches!(
            self,
            BuildError::Failed { .. } | BuildError::NoFolder { .. }
        )
    }
}

/// A server that was built, ready to be started. While this lives no weigh removes the build.
#[derive(Debug)]
pub struct Built {
    name: String,
    folder: PathBuf,
    built_at: u64,
    reused: bool,
    _entry: Entry,
}

impl Built {
    /// What names it for readers, as [`Checkout::name`] says.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder in which the server is to be started. Those of two builds are paths of the same length.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// When the build was finished, in seconds since 1970-01-01 UTC.
    pub fn built_at(&self) -> u64 {
        self.built_at
    }

    /// Whether an earlier build was used, and the build command not run.
    pub fn reused(&self) -> bool {
        self.reused
    }
}

impl Checkout {
    /// Builds the server by `build` in a clone in `cache`, or finds it built there. `say` is told what is being done, in
    /// words for a user. If `stop` is raised, what was started is ended.
    ///
    /// # Errors
    /// [`BuildError`]; nothing is kept then but the log of a build command that failed.
    pub fn build(
        &self,
        build: &BuildCommand,
        cache: &BuildCache,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Built, BuildError> {
        let name = self.name();
        let identity = Identity {
            tree: self.tree.clone(),
            below: self.repository.below.to_string_lossy().into_owned(),
            command: build.command.clone(),
            conditions: conditions(std::env::vars_os()),
        };
        let wait = || say(&format!("{name}: waiting for another weigh that builds it"));
        let mut entry = cache.entry(&identity, stop, wait)?;
        let reused = entry.built_at.is_some();
        let built_at = match entry.built_at {
            Some(built_at) => {
                let date = units::date::minute(built_at);
                say(&format!("{name}: using the build of {date}"));
                built_at
            }
            None => {
                self.check_out(&entry, stop)?;
                self.run_build(&entry, build, stop, say)?;
                entry.keep(stop)?
            }
        };
        Ok(Built {
            folder: entry.tree().join(&self.repository.below),
            name,
            built_at,
            reused,
            _entry: entry,
        })
    }

    /// The commands that clone the repository into `tree` and check the commit out.
    fn commands(&self, tree: &Path) -> Vec<Vec<OsString>> {
        let shared = self.repository.shared.as_os_str();
        let mut clone: Vec<&OsStr> = CLONE.split(' ').map(OsStr::new).collect();
        clone.extend([shared, tree.as_os_str()]);
        let mut commands = vec![git::command_line(Path::new("/"), &clone)];
        let mut commit = &self.commit;
        if let Some(snapshot) = &self.snapshot {
            let (from, to) = (snapshot.objects().join("."), tree.join(".git/objects"));
            commands.push(vec!["cp".into(), "-R".into(), from.into(), to.into()]);
            commit = &snapshot.commit;
        }
        let checkout = ["checkout", "--quiet", "--detach", commit].map(OsStr::new);
        commands.push(git::command_line(tree, &checkout));
        commands
    }

    /// Clones the repository into `entry` and checks the commit out.
    fn check_out(&self, entry: &Entry, stop: &AtomicBool) -> Result<(), BuildError> {
        for command in self.commands(&entry.tree()) {
            let program = command[0].display().to_string();
            let start = Start {
                command,
                environment: git::environment(),
                without: git::foreign_variables(),
                ..Start::default()
            };
            let ended = run(start, &entry.log(), GIT_WITHIN, stop)?;
            if let Some(how) = ended.failure(GIT_WITHIN) {
                let what = printed(&last_output(&entry.log()));
                return Err(BuildError::NotCheckedOut {
                    name: self.name(),
                    why: format!("`{program}` {how}{what}"),
                });
            }
        }
        Ok(())
    }

    /// Runs the build command in the clone of `entry`.
    fn run_build(
        &self,
        entry: &Entry,
        build: &BuildCommand,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), BuildError> {
        let (name, below) = (self.name(), &self.repository.below);
        let folder = entry.tree().join(below);
        if !folder.is_dir() {
            let below = below.clone();
            return Err(BuildError::NoFolder { name, below });
        }
        let submodules = match entry.tree().join(".gitmodules").exists() {
            true => SUBMODULES,
            false => "",
        };
        let command = &build.command;
        say(&format!("{name}: building it by `{command}`{submodules}"));
        let start = Start {
            command: ["sh", "-c", command].map(OsString::from).into(),
            directory: Some(folder),
            without: git::foreign_variables(),
            ..Start::default()
        };
        let ended = run(start, &entry.log(), build.within, stop)?;
        match ended.failure(build.within) {
            None => Ok(()),
            Some(how) => {
                let what = printed(&last_output(&entry.log()));
                Err(BuildError::Failed {
                    name,
                    why: format!("`{command}` {how}{submodules}{what}"),
                    log: entry.log(),
                })
            }
        }
    }
}

/// How a command has ended.
enum Ended {
    Itself(ExitStatus),
    /// It had run for too long.
    Late,
    /// It had printed more than [`MOST_PRINTED`].
    Loud,
}

impl Ended {
    /// Says how, if it was no success, of a command that had the time `within`.
    fn failure(&self, within: Nanos) -> Option<String> {
        match self {
            Ended::Itself(status) if status.success() => None,
            Ended::Itself(status) => Some(match (status.code(), status.signal()) {
                (None, Some(signal)) => format!("was killed by {}", signals::name(signal)),
                (code, _) => format!("exited with status {}", code.unwrap_or_default()),
            }),
            Ended::Late => Some(format!(
                "was stopped after {}, its time limit",
                units::exact(within)
            )),
            Ended::Loud => Some(format!(
                "was stopped when it had printed more than {}",
                units::bytes(MOST_PRINTED)
            )),
        }
    }
}

/// The last of what a command has printed into `log`.
fn last_output(log: &Path) -> String {
    File::open(log).map_or(String::new(), |log| last_printed(&log))
}

/// Runs a command to its end and writes what it prints to `log`. Ends what it has left running.
fn run(
    mut start: Start,
    log: &Path,
    within: Nanos,
    stop: &AtomicBool,
) -> Result<Ended, BuildError> {
    let unwritten = |error| BuildError::Cache {
        path: log.to_owned(),
        error,
    };
    start.output = Some(File::create(log).map_err(unwritten)?);
    let program = PathBuf::from(&start.command[0]);
    let mut child =
        Child::start(start).map_err(|error| BuildError::NotStarted { program, error })?;
    let deadline = clock::now() + within;
    let ended = loop {
        if let Some(status) = child.exited() {
            break Ok(Ended::Itself(status));
        }
        if clock::now() > deadline {
            break Ok(Ended::Late);
        }
        if fs::metadata(log).is_ok_and(|facts| facts.len() > MOST_PRINTED) {
            break Ok(Ended::Loud);
        }
        if let Err(interrupted) = moment(stop) {
            break Err(interrupted);
        }
    };
    child.stop(GRACE);
    ended
}

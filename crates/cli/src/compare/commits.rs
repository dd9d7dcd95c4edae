//! `weigh compare --commits`: the servers are built from commits of the repository that weigh is called in.

use crate::exit::Exit;
use crate::output;
use crate::settings::Comparing;
use anyhow::{Context, Result, bail};
use campaign::{BisectExit, BuildCache, BuildCommand, BuildError, Built, Checkout};
use plan::{Source, shell_word};
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A server of a commit.
pub struct OfCommit {
    /// What it is called, such as `main 3f2c1`.
    pub name: String,
    /// The command that starts it, with `{port}` in it.
    pub command: String,
    /// What it was made from.
    pub source: Source,
    /// The build, which stays as long as this does.
    _built: Built,
}

/// Builds the servers of all revisions.
pub fn servers(comparing: &Comparing, stop: &AtomicBool, is_quiet: bool) -> Result<Vec<OfCommit>> {
    let revisions = comparing.commits.iter().chain(&comparing.servers);
    let Some(run) = &comparing.run else {
        bail!(
            "--commits needs --run, the command that starts the server of a commit, such as --run './server {{port}}'"
        );
    };
    let here = std::env::current_dir().context("there is no current folder any more")?;
    let mut checkouts: Vec<Checkout> = Vec::new();
    for revision in revisions {
        let checkout = Checkout::of(Path::new(&here), revision)?;
        if let Some(same) = checkouts.iter().find_map(|other| other.same_as(&checkout)) {
            bail!("{same}; name two different commits");
        }
        if checkout.uncommitted() > 0 && !checkout.is_working_tree() && !is_quiet {
            let changes = units::count(checkout.uncommitted());
            output::message(&format!(
                "{revision}: {changes} changed or new files are not committed, and not in it; `.` is what lies here"
            ));
        }
        checkouts.push(checkout);
    }
    let cache = BuildCache::of_user()?;
    let build = BuildCommand::new(comparing.build.clone().unwrap_or_default());
    let mut built = Vec::new();
    for (place, checkout) in checkouts.iter().enumerate() {
        let mut say = |words: &str| {
            if !is_quiet {
                output::message(words);
            }
        };
        let made = checkout.build(&build, &cache, stop, &mut say);
        let made = made.map_err(|error| Unbuilt {
            told: BisectExit::of_build(&error, place == 0),
            error,
        })?;
        let folder = made
            .folder()
            .to_str()
            .context("the folder of a build is no text")?;
        built.push(OfCommit {
            name: made.name().to_owned(),
            command: format!("cd {} && {run}", shell_word(folder)),
            source: Source {
                revision: checkout.revision().to_owned(),
                commit: checkout.commit().to_owned(),
                build: comparing.build.clone(),
            },
            _built: made,
        });
    }
    Ok(built)
}

/// A commit that could not be built, and what that is to a bisection.
#[derive(Debug)]
struct Unbuilt {
    told: BisectExit,
    error: BuildError,
}

impl fmt::Display for Unbuilt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl std::error::Error for Unbuilt {}

/// What a bisection is told of a comparison with this end, of a baseline of this name (none while it is not known).
pub fn told(ended: &Result<Exit>, baseline: Option<&str>) -> BisectExit {
    match ended {
        Ok(exit) => match exit.status() {
            record::Exit::YES => BisectExit::Good,
            record::Exit::NO => BisectExit::Bad,
            record::Exit::CANNOT_TELL => BisectExit::Skip,
            _ => BisectExit::Abort,
        },
        Err(error) => {
            let unbuilt = error.downcast_ref::<Unbuilt>().map(|unbuilt| unbuilt.told);
            let unusable = error.downcast_ref::<campaign::CampaignError>();
            let of_server = |error: &campaign::CampaignError| match error {
                campaign::CampaignError::Incomparable(why) => {
                    let is_baseline =
                        baseline.is_none_or(|name| why.starts_with(&format!("{name}: ")));
                    BisectExit::of_unusable(is_baseline)
                }
                _ => BisectExit::Abort,
            };
            unbuilt
                .or(unusable.map(of_server))
                .unwrap_or(BisectExit::Abort)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use campaign::CampaignError;

    #[test]
    fn a_bisection_is_told_good_or_bad_only_where_a_comparison_could_tell() {
        let told = |ended: Result<Exit>| told(&ended, Some("v1 1234567"));
        assert_eq!(told(Ok(Exit::YES)), BisectExit::Good);
        assert_eq!(told(Ok(Exit::no("slower"))), BisectExit::Bad);
        let cannot = record::Exit::new(record::Exit::CANNOT_TELL, "it cannot be told");
        assert_eq!(told(Ok(cannot.into())), BisectExit::Skip);
        assert_eq!(told(Ok(Exit::COULD_NOT)), BisectExit::Abort);
        assert_eq!(told(Ok(Exit::INTERRUPTED)), BisectExit::Abort);
        let of = |why: &str| Err(CampaignError::Incomparable(why.into()).into());
        assert_eq!(
            told(of("HEAD abcdef1: it did not respond")),
            BisectExit::Skip
        );
        assert_eq!(
            told(of("v1 1234567: it did not respond")),
            BisectExit::Abort
        );
        assert_eq!(
            told(Err(CampaignError::Interrupted.into())),
            BisectExit::Abort
        );
        assert_eq!(told(Err(anyhow::anyhow!("wrong flag"))), BisectExit::Abort);
    }
}

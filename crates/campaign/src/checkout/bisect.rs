//! What `git bisect run` is told.

use super::BuildError;

/// What a comparison of the baseline with the commit that git has checked out tells `git bisect run`, by its exit status
/// (git-bisect(1), "Bisect run").
///
/// | What happened | Told | Status |
/// |---|---|---|
/// | the interval does not lie wholly beyond the allowed regression, and this is sure | `Good` | 0 |
/// | the interval lies wholly beyond the allowed regression | `Bad` | 1 |
/// | it cannot be told | `Skip` | 125 |
/// | the commit does not build ([`BuildError::is_of_commit`]), its server does not start, responds with errors, or responds unlike the baseline's | `Skip` | 125 |
/// | the same of the baseline: it would be so in every step | `Abort` | 128 |
/// | wrong command line, no git, no such commit, full disk, interrupt, a bug in weigh | `Abort` | 128 |
///
/// Every other status up to 127 would mean `Bad` to git: also 2, 3 and 70, which weigh ends with otherwise. A status of
/// 128 or more stays as it is: it is an abort already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectExit {
    /// The commit is not slower than allowed.
    Good,
    /// The commit is slower than allowed.
    Bad,
    /// The commit can be neither: git goes on with another one near it.
    Skip,
    /// Git ends the bisection and leaves it as it is.
    Abort,
}

impl BisectExit {
    /// What is told when a build has failed.
    pub fn of_build(error: &BuildError, is_baseline: bool) -> BisectExit {
        match error.is_of_commit() {
            true => BisectExit::of_unusable(is_baseline),
            false => BisectExit::Abort,
        }
    }

    /// What is told of a commit that does not build, or whose server cannot be measured.
    pub const fn of_unusable(is_baseline: bool) -> BisectExit {
        match is_baseline {
            true => BisectExit::Abort,
            false => BisectExit::Skip,
        }
    }

    /// The exit status.
    pub const fn status(self) -> u8 {
        match self {
            BisectExit::Good => 0,
            BisectExit::Bad => 1,
            BisectExit::Skip => 125,
            BisectExit::Abort => 128,
        }
    }
}

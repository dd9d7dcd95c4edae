//! The exit status of every verb, and the one sentence on standard error that goes with it.
//!
//! What a measurement comes to is decided where it is judged (`audit::exit`), and the record holds it; added here is what a record cannot hold: that it could not be saved or printed, and everything that ended
//! before there was one. The first of 70, 2, 130, 1, 3 and 0 that applies.

use crate::output;
use campaign::Outcome;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

/// The status of a bug of ours.
static BUG: AtomicU8 = AtomicU8::new(record::Exit::BUG);

/// An exit status, with its reason where that is not said yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    status: u8,
    why: Option<String>,
}

impl Exit {
    /// Everything that was asked for is done, and everything that was required is met.
    pub const YES: Exit = Exit::explained(record::Exit::YES);
    /// Something could not be done, and a complaint has said so.
    pub const COULD_NOT: Exit = Exit::explained(record::Exit::COULD_NOT);
    /// A signal ended it, and a complaint has said so.
    pub const INTERRUPTED: Exit = Exit::explained(record::Exit::INTERRUPTED);

    /// A status whose reason is said already, or needs none.
    const fn explained(status: u8) -> Exit {
        Exit { status, why: None }
    }

    /// A requirement is not met.
    pub fn no(why: impl Into<String>) -> Exit {
        record::Exit::new(record::Exit::NO, why).into()
    }

    /// The status of a campaign whose record is saved and whose results are printed, where `shown`.
    pub fn of(outcome: &Outcome, shown: bool) -> Exit {
        if shown && outcome.saved.is_ok() {
            Exit::judged(outcome.run.exit.as_ref())
        } else {
            Exit::COULD_NOT
        }
    }

    /// The status that a record gives.
    pub fn judged(exit: Option<&record::Exit>) -> Exit {
        exit.cloned().map_or(Exit::YES, Exit::from)
    }

    /// The status of a tool whose place we take, which has said why.
    pub fn of_original(status: u8) -> Exit {
        Exit::explained(status)
    }

    /// The status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Says why, if that is to be said still, and ends the step of a bisection with what it is `told`.
    pub fn tell_bisection(self, told: campaign::BisectExit) -> Exit {
        if let Some(why) = &self.why {
            output::complain(&anyhow::anyhow!("{why} (exit status {})", told.status()));
        }
        Exit::explained(told.status())
    }

    /// From now on a bug of ours ends a bisection, to which its own status would mean that the commit is bad.
    pub fn abort_bisection_on_bugs() {
        BUG.store(campaign::BisectExit::Abort.status(), Ordering::Relaxed);
    }

    /// Says why, if that is to be said still.
    pub fn report(self) -> ExitCode {
        if let Some(why) = &self.why {
            output::complain(&anyhow::anyhow!("{why} (exit status {})", self.status));
        }
        ExitCode::from(self.status)
    }

    /// Ends the process with this status, at once.
    pub fn now(self) -> ! {
        std::process::exit(i32::from(self.status))
    }
}

impl From<record::Exit> for Exit {
    fn from(exit: record::Exit) -> Exit {
        Exit {
            status: exit.status,
            why: Some(exit.why),
        }
    }
}

/// Makes a panic, in whatever thread, end the process with the status for our own bugs.
pub fn own_bugs() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        let bug = "weigh: this is a bug in weigh, and the run is void; please report it with the lines above\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), bug.as_bytes());
        Exit::explained(BUG.load(Ordering::Relaxed)).now()
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set for the process that is to panic.
    const PANICS: &str = "WEIGH_TEST_PANICS";

    #[test]
    fn a_panic_in_any_thread_ends_the_process_with_the_status_of_a_bug() {
        if std::env::var_os(PANICS).is_some() {
            own_bugs();
            let panicked = std::thread::spawn(|| panic!("on purpose")).join();
            unreachable!("the process goes on: {panicked:?}");
        }
        let name = "exit::tests::a_panic_in_any_thread_ends_the_process_with_the_status_of_a_bug";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", name, "--nocapture"])
            .env(PANICS, "1");
        let ended = command.output().unwrap();
        assert_eq!(
            ended.status.code(),
            Some(i32::from(record::Exit::BUG)),
            "{ended:?}"
        );
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(told.contains("weigh: this is a bug in weigh"), "{told}");
    }
}

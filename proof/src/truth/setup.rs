//! Setup of a run: the program under test, the priority of measured processes, a folder for logs, seeds.

use crate::programs;
use crate::serving::pinned;
use anyhow::{Context, Result};
use record::Run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// Where files are memory, so that writing the log is no stall of a disk.
const MEMORY: &str = "/dev/shm";
/// How a process is put before others, the best way first. Both sides get the same: on a machine where others work
/// too, those would otherwise be measured. Not real time: from a thread of that kind which does not sleep, as one
/// that spins does not, Linux takes the CPU for 50 ms of each second, and those were then p99 of every fast case.
const PRIORITIES: &[&[&str]] = &[&["nice", "-n", "-15"], &[]];
/// The same for the truth server, which sleeps: in real time. Whatever else the machine does then goes on in its pauses,
/// and does not drive one measured process off its CPU right after the other, when most answers are under way.
const SERVER_PRIORITIES: &[&[&str]] = &[&["chrt", "-f", "1"], &["nice", "-n", "-15"], &[]];
/// Where Linux keeps the nice value of this session as a whole (sched(7), "The autogroup feature"): between sessions that
/// one counts, and the processes' own only within.
const SESSION: &str = "/proc/self/autogroup";
/// What it is while something is measured.
const SESSION_NICE: &str = "-15";
/// What the first round's seed is; each round has the next one.
pub const SEED: u64 = 1;

/// Setup of a run.
#[derive(Clone)]
pub struct Setup {
    /// The program under test.
    pub weigh: PathBuf,
    /// The one that serves.
    pub server: PathBuf,
    /// What stands before every measured command.
    pub priority: &'static [&'static str],
    /// What stands before the truth server's.
    pub server_priority: &'static [&'static str],
    session: Arc<Session>,
    folder: Arc<TempDir>,
}

/// The priority of this session, raised; as it was when this is dropped.
struct Session {
    /// The nice value that it had; none where it could not be raised.
    before: Option<String>,
}

impl Session {
    fn raised() -> Session {
        let nice = |text: String| Some(text.trim().rsplit_once(' ')?.1.to_owned());
        let before = fs::read_to_string(SESSION).ok().and_then(nice);
        Session {
            before: before.filter(|_| fs::write(SESSION, SESSION_NICE).is_ok()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = fs::write(SESSION, before); // raised for longer is all that could come of it
        }
    }
}

impl Setup {
    /// Those of this machine with `weigh` as the program; none: builds weigh as it is released, and takes that.
    ///
    /// # Errors
    /// It does not build, or there is no folder to write to.
    pub fn of(weigh: Option<PathBuf>) -> Result<Setup> {
        let weigh = programs::weigh(weigh)?;
        let folder = match Path::new(MEMORY).is_dir() {
            true => tempfile::tempdir_in(MEMORY),
            false => tempfile::tempdir(),
        };
        Ok(Setup {
            server: weigh.clone(),
            weigh,
            priority: first_that_works(PRIORITIES),
            server_priority: first_that_works(SERVER_PRIORITIES),
            session: Arc::new(Session::raised()),
            folder: Arc::new(folder.context("there is no folder for logs")?),
        })
    }

    /// The same with another program under test, and the same one that serves.
    pub fn with(&self, weigh: PathBuf) -> Setup {
        Setup {
            weigh,
            ..self.clone()
        }
    }

    /// Where runs leave their files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `program` with priority, as one begins to type it.
    pub fn command(&self, program: &Path) -> Vec<String> {
        let words = self.priority.iter().map(|word| (*word).to_owned());
        words.chain([program.display().to_string()]).collect()
    }

    /// Where weigh is to leave its record. An earlier run's, which must not be taken for this one's, is removed.
    pub fn new_record(&self) -> PathBuf {
        let path = self.folder().join("record.json");
        let _ = fs::remove_file(&path); // usually there is none
        path
    }

    /// Runs weigh on a CPU, with priority, to its end, and returns its record.
    ///
    /// # Errors
    /// It cannot be started, or leaves no record.
    pub fn record_on(&self, cpu: u32, arguments: &str) -> Result<Run> {
        let path = self.new_record();
        let mut command = vec![self.weigh.display().to_string()];
        command.extend(arguments.split_whitespace().map(str::to_owned));
        command.extend(["--output".to_owned(), path.display().to_string()]);
        let ended = pinned(self.priority, cpu, command)?;
        let all = || format!("{}{}", ended.text, ended.complaint);
        record::load(&path).with_context(|| format!("weigh has left no record: {}", all()))
    }

    /// For people: how measured processes are put before others.
    pub fn priority_text(&self) -> String {
        let shown = |words: &[&str]| match words {
            [] => "none could be had".to_owned(),
            words => format!("`{}`", words.join(" ")),
        };
        let session = match &self.session.before {
            Some(_) => format!(", {SESSION_NICE} for the whole session"),
            None => String::new(),
        };
        format!(
            "tools {}, the truth server {}{session}",
            shown(self.priority),
            shown(self.server_priority)
        )
    }
}

fn first_that_works(ways: &'static [&'static [&'static str]]) -> &'static [&'static str] {
    let mut ways = ways.iter().copied();
    ways.find(|words| works(words)).unwrap_or_default()
}

/// Whether a command may be started so.
fn works(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return true;
    };
    let output = Command::new(program).args(rest).arg("true").output();
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_started_is_no_way_to_priority_and_nothing_at_all_always_is() {
        assert!(works(&[]));
        assert!(!works(&["/nowhere/at-all"]));
        assert!(!works(&["false"]));
    }

    #[test]
    fn the_priority_stands_before_the_program() {
        let mut setup = Setup::of(Some("/opt/weigh".into())).unwrap();
        setup.priority = &["nice", "-n", "-15"];
        let words = setup.command(&setup.weigh);
        assert_eq!(words, ["nice", "-n", "-15", "/opt/weigh"]);
        setup.server_priority = &[];
        let text = setup.priority_text();
        assert!(text.starts_with("tools `nice -n -15`, the truth server none could be had"));
        let other = setup.with("/opt/other".into());
        assert_eq!(other.server, setup.weigh);
        assert_eq!(other.folder(), setup.folder());
    }
}

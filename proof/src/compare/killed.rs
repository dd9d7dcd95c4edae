//! Whether anything is left of a comparison that was killed.
//!
//! SIGKILL comes at a random moment. What weigh had started is known by its descent, seen right before, and by a
//! variable in the environment, which also those have that were started after that; neither depends on how weigh itself
//! finds its processes.

use super::case::{Case, Kills};
use super::trial::{How, uninterrupted};
use super::{Killed, Outcome};
use crate::programs::last_words;
use crate::serving::site::Site;
use crate::serving::until;
use anyhow::{Context, Result, bail};
use kernel::process::{Process, Stat, belonging, living, pids};
use plan::template::draw;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that everything has that weigh starts.
const VARIABLE: &str = "WEIGH_PROOF";
/// Seeds the moments.
const SEED: u64 = 15;
/// Pause between two looks at all processes.
const LOOK: Duration = Duration::from_millis(20);

/// Starts a comparison, kills weigh at the random moment of run `number`, and waits until everything is gone.
///
/// # Errors
/// weigh could not be started, ended by itself, or this chore was interrupted.
pub fn run(
    (case, kills, number): (&Case, Kills, u32),
    sides: &[String; 2],
    how: &How,
    site: &mut Site,
) -> Result<Outcome> {
    let home = site.home()?;
    let words = home.join("words");
    let value = format!("{}-{number}", home.display());
    let command = how.command(case, sides, &home);
    let output = File::create(&words)?;
    let mut weigh = Command::new(&command[0]);
    weigh.args(&command[1..]).env(VARIABLE, &value);
    weigh.env("TMPDIR", &home); // files that a killed program leaves go with the folder
    weigh.stdin(Stdio::null()).stderr(output.try_clone()?);
    let mut weigh = weigh
        .stdout(output)
        .spawn()
        .context("weigh could not be started")?;
    let mut family = Family {
        first: weigh.id(),
        entry: format!("{VARIABLE}={value}").into_bytes(),
        seen: BTreeSet::new(),
    };
    let after = moment(kills, number);
    let ended = until(after, LOOK, || {
        let interrupted = uninterrupted();
        if interrupted.is_err() {
            let _ = weigh.kill(); // its error is the one that counts
        }
        interrupted?;
        Ok(weigh.try_wait()?)
    })?;
    if let Some(status) = ended {
        bail!(
            "weigh ended by itself with {status}: {}",
            last_words(&words)
        );
    }
    let processes = family.left().len();
    weigh.kill()?;
    weigh.wait()?;
    let killed = Instant::now();
    let patience = Duration::from_millis(kills.patience_ms);
    let gone = until(patience, LOOK, || {
        Ok(family.left().is_empty().then_some(()))
    })?;
    let gone = gone.map(|()| killed.elapsed().as_millis() as u64);
    let left = family.left();
    end(&left);
    Ok(Outcome::Killed(Killed {
        after_ms: after.as_millis() as u64,
        processes: processes as u32,
        gone_ms: gone,
        left: left.iter().map(|pid| name(*pid)).collect(),
    }))
}

/// The moment at which weigh is killed.
fn moment(kills: Kills, number: u32) -> Duration {
    Duration::from_millis(draw(SEED, u64::from(number)) % kills.within_ms.max(1))
}

/// A process and everything that it starts.
struct Family {
    first: u32,
    /// The entry of the environment that all of them have.
    entry: Vec<u8>,
    /// Those that were seen so far, whatever became of their parents.
    seen: BTreeSet<Process>,
}

impl Family {
    /// Those that live.
    fn left(&mut self) -> Vec<u32> {
        let all: Vec<Stat> = pids().into_iter().filter_map(Stat::read).collect();
        let members = belonging(&all, |stat, pids| {
            let pid = stat.process.pid;
            pid == self.first
                || pids.contains(&stat.parent)
                || self.seen.contains(&stat.process)
                || has_entry(pid, &self.entry)
        });
        self.seen.extend(members.iter().map(|stat| stat.process));
        living(&members)
    }
}

/// Whether a process was started with this entry in its environment.
fn has_entry(pid: u32, entry: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|found| found == entry)
}

/// The command line of a process.
fn name(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{pid} {}", line.trim())
}

/// Kills what weigh should have ended.
fn end(pids: &[u32]) {
    for pid in pids {
        let kill = Command::new("kill")
            .args(["-KILL", &pid.to_string()])
            .status();
        if let Err(error) = kill {
            eprintln!("{} is left and could not be killed: {error}", name(*pid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    const KILLS: Kills = Kills {
        within_ms: 8000,
        patience_ms: 10_000,
    };

    #[test]
    fn moments_are_spread_over_the_time_and_are_the_same_again() {
        let moments: Vec<Duration> = (0..20).map(|number| moment(KILLS, number)).collect();
        assert!(
            moments
                .iter()
                .all(|moment| *moment < Duration::from_secs(8))
        );
        assert!(
            moments
                .iter()
                .any(|moment| *moment < Duration::from_secs(2))
        );
        assert!(
            moments
                .iter()
                .any(|moment| *moment > Duration::from_secs(6))
        );
        assert_eq!(moments[7], moment(KILLS, 7));
    }

    /// A shell that starts another, which starts a program that sleeps and says its number.
    fn family(script: &str, value: &str) -> (std::process::Child, u32, Family) {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env(VARIABLE, value);
        let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let family = Family {
            first: shell.id(),
            entry: format!("{VARIABLE}={value}").into_bytes(),
            seen: BTreeSet::new(),
        };
        (shell, line.trim().parse().unwrap(), family)
    }

    #[test]
    fn what_a_killed_process_leaves_is_found_by_its_environment_or_because_it_was_seen() {
        let named = "sh -c 'sleep 1000 & echo $!; wait' & wait";
        let nameless = "env -i sh -c 'sleep 1000 & echo $!; wait' & wait";
        for (script, is_seen_before) in [(named, false), (nameless, true)] {
            let value = format!("{}-{is_seen_before}", std::process::id());
            let (mut shell, sleeper, mut family) = family(script, &value);
            if is_seen_before {
                assert!(family.left().len() >= 3, "{script}");
            }
            shell.kill().unwrap();
            shell.wait().unwrap();
            let left = family.left();
            assert!(left.contains(&sleeper), "{script}: {left:?}");
            assert!(!left.contains(&shell.id()), "{script}: {left:?}");
            end(&left);
            let limit = Duration::from_secs(60);
            let gone = until(limit, LOOK, || Ok(family.left().is_empty().then_some(())));
            assert_eq!(gone.unwrap(), Some(()), "{script}");
        }
    }
}

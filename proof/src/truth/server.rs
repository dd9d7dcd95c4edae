//! The truth server as a process: started with priority, stopped for a while if need be, ended, its log read.

use super::case::Case;
use super::setup::Setup;
use crate::programs::last_words;
use crate::serving::{listening, start};
use anyhow::{Context, Result, ensure};
use kernel::process::{Child, Ending};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;
use testserver::truth::log::{Header, Record, read};
use units::Nanos;

/// How long it may take to end.
const GRACE: Nanos = Nanos::from_secs(10);
/// The kernel begins to stamp packets a moment after the server asks it to; that much is waited for.
const SETTLE: Duration = Duration::from_millis(20);

/// One that runs. It ends when it is dropped.
pub struct Server {
    /// Where it listens.
    pub at: SocketAddr,
    /// The command that it was started with, as one would type it.
    pub typed: String,
    child: Child,
    log: PathBuf,
    words: PathBuf,
}

/// What it has written down.
pub struct Log {
    /// Of all records.
    pub header: Header,
    /// Each request, in the order of answering.
    pub records: Vec<Record>,
}

impl Server {
    /// Starts it as `case` wants it.
    ///
    /// # Errors
    /// It could not be started, or does not come to listen.
    pub fn start(setup: &Setup, case: &Case, seed: u64, tls: bool) -> Result<Server> {
        let log = setup.folder().join("truth.log");
        let words = setup.folder().join("server.words");
        let mut command: Vec<String> = setup
            .server_priority
            .iter()
            .map(ToString::to_string)
            .collect();
        command.push(setup.server.display().to_string());
        command.extend(arguments(case, seed, tls));
        let typed = typed(&command);
        command.extend(["--truth-log".to_owned(), log.display().to_string()]);
        let mut child = start(command, &words)?;
        let at = listening(&mut child, &words)?;
        // Nothing tells when the stamps begin; a request that came earlier has the time of its reading.
        thread::sleep(SETTLE);
        Ok(Server {
            at,
            typed,
            child,
            log,
            words,
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of its log so far; nothing where it has none yet. It is written some hundred requests behind.
    pub fn log_length(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |file| file.len())
    }

    /// Ends it, and reads its log.
    ///
    /// # Errors
    /// It has not ended well, or has not written all of the log.
    pub fn stop(mut self) -> Result<Log> {
        let is_asked = self.child.stop(GRACE) == Ending::Asked;
        ensure!(is_asked, "the truth server had to be killed");
        let text = std::fs::read_to_string(&self.words)?;
        let (is_whole, last) = (
            text.lines().any(|line| line == "log_lost 0"),
            last_words(&self.words),
        );
        ensure!(
            is_whole,
            "the truth server has not written all of its log: {last}"
        );
        let records = read(&self.log)?;
        let header = *records.header();
        Ok(Log {
            header,
            records: records.collect::<Result<_, _>>()?,
        })
    }
}

/// Its arguments but for the log. It spins as it does by itself, in the last moment before an answer is due: what it is
/// late by is in the truth anyway, since departures are written down as they happened, and a server that always spins
/// would keep a CPU from all the others.
fn arguments(case: &Case, seed: u64, tls: bool) -> Vec<String> {
    let line = format!(
        "serve --truth --listen 127.0.0.1:0 --seed {seed} {} {}",
        if tls { "--tls self-signed" } else { "" },
        case.server
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// A command as one would type it from the project's root, without the folder of the program.
pub fn typed(command: &[String]) -> String {
    let root = format!("{}/", crate::programs::root().display());
    let name = |word: &String| match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') && !name.contains('=') => name.to_owned(),
        _ => word.clone(),
    };
    let quoted = |word: String| match word.contains(['&', '?', '{', ' ']) {
        true => format!("'{word}'"),
        false => word,
    };
    let program = command.iter().position(|word| word.starts_with('/'));
    let words = command.iter().enumerate();
    let words = words.map(|(place, word)| match Some(place) == program {
        true => name(word),
        false => quoted(word.replace(&root, "")),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Sends a signal to a process that was started here.
///
/// # Errors
/// It is not there any more.
pub fn signal(name: &str, pid: u32) -> Result<()> {
    let status = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .context("kill could not be started")?;
    ensure!(status.success(), "process {pid} did not take SIG{name}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;

    #[test]
    fn the_server_gets_the_cases_flags_behind_its_own() {
        let case = CASES.iter().find(|case| case.name == "stall-5ms").unwrap();
        let wanted = "serve --truth --listen 127.0.0.1:0 --seed 3 --stall 5ms/250ms";
        assert_eq!(arguments(case, 3, false).join(" "), wanted);
        let wanted = wanted.replace("--stall", "--tls self-signed --stall");
        assert_eq!(arguments(case, 3, true).join(" "), wanted);
    }

    #[test]
    fn commands_are_shown_as_one_types_them() {
        let words = ["nice", "/opt/bin/weigh", "run", "http://a/b?c=1&id={seq}"];
        let words = words.map(str::to_owned);
        assert_eq!(typed(&words), "nice weigh run 'http://a/b?c=1&id={seq}'");
    }
}

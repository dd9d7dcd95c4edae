//! Processes of a measurement: how they are started, waited for and ended, and where servers listen.

// In reading order: what is served,
pub mod site;
// what responses there are,
pub mod response;
// also over TLS,
pub mod secure;
// and a server of the catalogue that runs.
pub mod running;

use crate::programs::{self, last_words};
use anyhow::{Context, Result, bail, ensure};
use kernel::process::{Child, Start};
use response::Response;
use serde::Deserialize;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long a server may take to respond after its start. Varnish compiles its configuration as C.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a command may take to end when it is no longer wanted.
const GRACE: Nanos = Nanos::from_secs(5);
/// Pause between two looks at what tells nothing by itself.
pub const LOOK: Duration = Duration::from_millis(5);

/// Starts `command`, whose output goes to the file `words`.
///
/// # Errors
/// There is no such program, or the file cannot be written.
pub fn start<W: Into<OsString>>(
    command: impl IntoIterator<Item = W>,
    words: &Path,
) -> Result<Child> {
    let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
    let program = command[0].to_string_lossy().into_owned();
    let started = Child::start(Start {
        command,
        output: Some(File::create(words)?),
        raised_open_files: true,
        ..Start::default()
    });
    started.with_context(|| format!("{program} could not be started"))
}

/// Runs `command` to its end, with its output in the file `words`, and calls `look` now and then. Returns how it ended;
/// none: it did not within `limit`, and was stopped.
///
/// # Errors
/// It could not be started, or `look` failed.
pub fn to_end<W: Into<OsString> + Clone>(
    command: &[W],
    words: &Path,
    limit: Duration,
    pause: Duration,
    mut look: impl FnMut() -> Result<()>,
) -> Result<Option<ExitStatus>> {
    let mut child = start(command.iter().cloned(), words)?;
    let ended = until(limit, pause, || {
        look()?;
        Ok(child.exited())
    });
    // Where this is interrupted, a command that still runs may put its things in order.
    child.stop(if ended.is_err() { GRACE } else { Nanos::ZERO });
    ended
}

/// Calls `look` until it finds something, with a pause between two calls; none after `limit`.
///
/// # Errors
/// As `look`.
pub fn until<T>(
    limit: Duration,
    pause: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        if begun.elapsed() > limit {
            return Ok(None);
        }
        thread::sleep(pause); // other processes, and the files that they write, send no event when they change
    }
}

/// Waits until `weigh serve`, whose output goes to the file `words`, prints where it listens.
///
/// # Errors
/// It has ended, or does not listen in time.
pub fn listening(server: &mut Child, words: &Path) -> Result<SocketAddr> {
    let at = until(PATIENCE, LOOK, || {
        let text = fs::read_to_string(words)?;
        let mut lines = text.split_inclusive('\n');
        let at = lines.find_map(|line| line.strip_suffix('\n').and_then(listens));
        if let (None, Some(status)) = (at, server.exited()) {
            bail!("the server has ended with {status}: {}", last_words(words));
        }
        at.map(str::parse)
            .transpose()
            .context("the server listens nowhere")
    })?;
    at.context("the server does not listen")
}

/// The address in the line by which `weigh serve` says where it listens.
fn listens(line: &str) -> Option<&str> {
    let at = line.strip_prefix("listening on ")?;
    Some(at.strip_suffix(" (https)").unwrap_or(at))
}

/// Sends requests until the server responds.
///
/// # Errors
/// It has ended, or does not respond in time.
pub fn responding(child: &mut Child, at: SocketAddr, path: &str, close: bool) -> Result<Response> {
    let mut complaint = None;
    let found = until(PATIENCE, LOOK, || {
        match response::look(at, path, close) {
            Ok(response) => return Ok(Some(response)),
            Err(error) => complaint = Some(error),
        }
        match child.exited() {
            Some(status) => bail!("it has ended with {status}"),
            None => Ok(None),
        }
    })?;
    let late = || format!("after {} s: {complaint:#?}", PATIENCE.as_secs());
    found.with_context(late)
}

/// Returns a port of 127.0.0.1 that was free a moment ago. Another process could take it before the server does; then
/// the server says so and ends.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
    Ok(listener.local_addr()?)
}

/// A bare program that runs and has printed its first line. It is killed when this is dropped.
pub struct Bare {
    child: std::process::Child,
    line: String,
}

impl Bare {
    /// Starts it, and waits for its first line.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Bare> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = piped.context("a bare program could not be started")?;
        let mut line = String::new();
        // It stays open, so that what is printed later is no error there.
        let output = child.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line)?;
        Ok(Bare { child, line })
    }

    /// Starts a client and waits until it holds: `idle` connections, or the first bytes of a `body` on each.
    ///
    /// # Errors
    /// It has ended before.
    pub fn holding(client: &mut Command, how: &str) -> Result<Bare> {
        let held = Bare::start(client.args(["--hold", how]))?;
        let line = &held.line;
        ensure!(line == "held\n", "the client could not hold: {line}");
        Ok(held)
    }

    /// Lets a client that holds connections end.
    ///
    /// # Errors
    /// It has failed.
    pub fn let_go(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "the client failed");
        Ok(())
    }

    /// Starts a bare responder by `command`, and returns where it listens.
    ///
    /// # Errors
    /// It cannot be started, or does not print where it listens.
    pub fn responder(command: &[String]) -> Result<(Bare, SocketAddr)> {
        let mut start = Command::new(&command[0]);
        // What it has to say is told where it does not listen, and no part of a table.
        let mut responder = Bare::start(start.args(&command[1..]).stderr(Stdio::piped()))?;
        let line = responder.line.trim();
        let Ok(at) = listens(line).unwrap_or(line).parse() else {
            let _ = responder.child.kill(); // it may have ended by itself
            let (mut why, complaint) = (String::new(), responder.child.stderr.take());
            complaint
                .map(|mut it| it.read_to_string(&mut why))
                .transpose()?;
            bail!("`{}` does not print where it listens: {why}", command[0]);
        };
        Ok((responder, at))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about it here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cost of a process, as `pinned` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Cost {
    /// From its start to its end.
    pub wall_us: f64,
    /// CPU time in user mode.
    pub user_us: f64,
    /// CPU time in the kernel.
    pub system_us: f64,
    /// Peak memory.
    pub peak_kb: f64,
    /// Exit status and signal, as wait4 returns them.
    pub status: i64,
}

/// A process that has ended.
pub struct Ended {
    /// Its standard output.
    pub text: String,
    /// Its standard error.
    pub complaint: String,
    /// Its cost.
    pub cost: Cost,
}

/// Runs a command on a CPU to its end, behind the words of `priority`.
///
/// # Errors
/// It cannot be started.
pub fn pinned<W: Into<OsString>>(
    priority: &[&str],
    cpu: u32,
    command: impl IntoIterator<Item = W>,
) -> Result<Ended> {
    let mut words: Vec<OsString> = priority.iter().map(OsString::from).collect();
    words.extend([programs::path("pinned")?.into(), cpu.to_string().into()]);
    words.extend(command.into_iter().map(Into::into));
    let mut pinned = Command::new(&words[0]);
    let output = pinned.args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.context("`pinned` could not be started")?;
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{complaint}");
    let (text, cost) = split(&String::from_utf8_lossy(&output.stdout))?;
    Ok(Ended {
        text,
        complaint,
        cost,
    })
}

/// The program's own output, and the line that `pinned` adds to it.
fn split(text: &str) -> Result<(String, Cost)> {
    let lines = text.trim_end().rsplit_once('\n');
    let (text, line) = lines.context("`pinned` printed nothing")?;
    let cost = serde_json::from_str(line).context("`pinned` printed something else")?;
    Ok((text.to_owned(), cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_tls_and_without() {
        for line in [
            "listening on 127.0.0.1:80",
            "listening on 127.0.0.1:80 (https)",
        ] {
            assert_eq!(listens(line), Some("127.0.0.1:80"));
        }
        assert_eq!(listens("127.0.0.1:80"), None);
    }

    #[test]
    fn the_launchers_line_is_told_from_the_programs() {
        let line = "{\"wall_us\": 5, \"user_us\": 2, \"system_us\": 3, \"peak_kb\": 1000, \"status\": 256}";
        let (text, cost) = split(&format!("one\ntwo\n\n{line}\n")).unwrap();
        let wanted = Cost {
            wall_us: 5.0,
            user_us: 2.0,
            system_us: 3.0,
            peak_kb: 1000.0,
            status: 256,
        };
        assert_eq!((text.as_str(), cost), ("one\ntwo\n", wanted));
        assert!(split("one\ntwo\n").is_err());
    }
}

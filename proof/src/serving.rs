//! Servers of this project while they are measured or measure others: where they listen.

use crate::programs::last_words;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A bare responder that ends when it is dropped.
pub struct Responder {
    child: Child,
    /// Where it listens.
    pub at: SocketAddr,
}

impl Responder {
    /// Starts it by `command`, and waits until it listens.
    ///
    /// # Errors
    /// It cannot be started, or does not say where it listens.
    pub fn start(command: &[String]) -> Result<Responder> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("`bare_responder` could not be started")?;
        let output = child.stdout.take().expect("it is piped");
        let mut responder = Responder {
            child,
            at: ([127, 0, 0, 1], 0).into(),
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let at = line.trim().parse();
        responder.at = at.context("`bare_responder` does not say where it listens")?;
        Ok(responder)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about it here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `weigh serve`, whose output goes to the file `words`, says where it listens.
///
/// # Errors
/// It has ended, or does not listen in time.
pub fn listening(server: &mut kernel::process::Child, words: &Path) -> Result<SocketAddr> {
    let begun = Instant::now();
    loop {
        let said = std::fs::read_to_string(words)?;
        let mut lines = said.split_inclusive('\n');
        let at = lines.find_map(|line| line.strip_prefix("listening on ")?.strip_suffix('\n'));
        if let Some(at) = at {
            return at.parse().context("the server listens nowhere");
        }
        if let Some(status) = server.exited() {
            bail!("the server has ended with {status}: {}", last_words(words));
        }
        ensure!(begun.elapsed() < PATIENCE, "the server does not listen");
        // Its words go to a file, and nothing tells when a file has grown.
        thread::sleep(LOOK);
    }
}

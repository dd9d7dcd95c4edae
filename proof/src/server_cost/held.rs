//! A bare client that holds its connections open, until it is let go or killed.

use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The client. It ends when this is dropped.
pub struct Held {
    client: Child,
}

impl Held {
    /// Starts `client` and waits until it holds: `idle` connections, or the first bytes of a `body` on each.
    ///
    /// # Errors
    /// It came to an end before.
    pub fn new(mut client: Command, how: &str) -> Result<Held> {
        let client = client
            .args(["--hold", how])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the client could not be started")?;
        let mut held = Held { client };
        let output = held.client.stdout.as_mut().context("it is piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line.trim() == "held", "the client could not hold: {line}");
        Ok(held)
    }

    /// Lets it end.
    ///
    /// # Errors
    /// It was not well.
    pub fn let_go(mut self) -> Result<()> {
        drop(self.client.stdin.take());
        // Its last words go nowhere, but nobody closes the pipe before they are said.
        let status = self.client.wait()?;
        ensure!(status.success(), "the client failed");
        Ok(())
    }

    /// Kills it where it stands.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn kill(mut self) -> Result<()> {
        self.client.kill().context("the client has ended before")?;
        self.client.wait()?;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.client.stdin.take());
        // It ends by itself now; there is nothing else to do about it here.
        let _ = self.client.wait();
    }
}

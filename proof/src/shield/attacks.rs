//! The attacks, one row each.

use super::Setup;
use super::slowhttptest::{self, Report};
use super::victim::Victim;
use crate::programs;
use crate::serving::Bare;
use crate::serving::response;
use anyhow::{Context, Result};
use std::process::Command;
use std::thread;
use std::time::Instant;

/// A file that no socket holds, so that a client that stops reading it is in its middle.
pub const HUGE: &str = "huge.bin";
/// Connections on which nothing happens.
const IDLE: u32 = 10_000;
/// Connections of each client that is killed.
const KILLED: u32 = 50;

/// One way to attack.
pub enum Attack {
    /// By slowhttptest: the path that is requested, and its arguments. The sizes are such that a request or a response
    /// would take minutes; the intervals, a tenth of the attack, that the connection is never quite still.
    Slow(&'static str, &'static str),
    /// By ten thousand connections, each of which has had a response and sends no more requests.
    Idle,
    /// By clients that are killed when each of their connections is in the middle of a large response.
    Killed,
}

/// All of them by name.
pub const ATTACKS: [(&str, Attack); 6] = [
    ("headers", Attack::Slow("/file.html", "-H -x 24")),
    ("bodies", Attack::Slow("/file.html", "-B -s 8192 -x 10")),
    ("ranges", Attack::Slow("/large.bin", "-R -a 10 -b 3000")),
    (
        "reads",
        Attack::Slow("/large.bin", "-X -w 512 -y 1024 -n 1 -z 5 -k 3"),
    ),
    ("idle", Attack::Idle),
    ("killed", Attack::Killed),
];

impl Attack {
    /// Carries it out, to its end.
    ///
    /// # Errors
    /// A tool could not be started, or did not attack.
    pub fn carry_out(&self, setup: &Setup, victim: &Victim) -> Result<Report> {
        match self {
            Attack::Slow(path, mode) => slowhttptest::run(setup, victim.at, path, mode),
            Attack::Idle => idle(setup, victim),
            Attack::Killed => killed(setup, victim),
        }
    }
}

/// The names that `--only` takes.
pub fn names() -> Vec<&'static str> {
    ATTACKS.iter().map(|(name, _)| *name).collect()
}

/// A time without attack.
pub fn calm(setup: &Setup) -> Report {
    thread::sleep(setup.length()); // the time that the honest client is given: there is nothing to wait for
    Report::ended(0, "no attack")
}

fn idle(setup: &Setup, victim: &Victim) -> Result<Report> {
    let held = Bare::holding(&mut client(victim, "/file.html", IDLE)?, "idle")?;
    thread::sleep(setup.length()); // they stay as long as other attacks do
    held.let_go()?;
    Ok(Report::ended(IDLE, "all were let go"))
}

fn killed(setup: &Setup, victim: &Victim) -> Result<Report> {
    let begun = Instant::now();
    let mut clients = 0;
    while begun.elapsed() < setup.length() {
        let mut client = client(victim, "/huge.bin", KILLED)?;
        drop(Bare::holding(&mut client, "body")?);
        clients += 1;
    }
    let ending = format!("{clients} clients with {KILLED} connections each were killed");
    Ok(Report::ended(clients * KILLED, &ending))
}

/// A bare client with one request on each of its connections.
fn client(victim: &Victim, path: &str, connections: u32) -> Result<Command> {
    let response = response::look(victim.at, path, false);
    let bytes = response.context("the server does not respond")?.bytes;
    let at = victim.at;
    let line = format!("{at} --path {path} -c {connections} -n {connections} --size {bytes}");
    let mut command = Command::new(programs::path("bare_client")?);
    command.args(line.split(' '));
    Ok(command)
}

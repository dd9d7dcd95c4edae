//! The attacks, one row each.

use super::Setup;
use super::slowhttptest::{self, Report};
use super::victim::Victim;
use crate::serving::Bare;
use crate::serving::response;
use anyhow::{Context, Result};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A file that no socket holds, so that a client that stops reading it is in its middle.
pub const HUGE: &str = "huge.bin";
/// Connections on which nothing happens.
const IDLE: u32 = 10_000;
/// Connections of each client that is killed.
const KILLED: u32 = 50;

/// One way to attack.
pub struct Attack {
    /// Its name.
    pub name: &'static str,
    /// Carries it out, to its end.
    pub carry_out: fn(&Setup, &Victim) -> Result<Report>,
    /// Whether it is slowhttptest's.
    pub needs_slowhttptest: bool,
}

/// All of them. The sizes are such that a request or a response would take minutes; the intervals, a tenth of the attack,
/// that the connection is never quite still.
#[rustfmt::skip]
pub const ATTACKS: &[Attack] = &[
    slow("headers", |setup, victim| slowhttptest::run(setup, victim.at, "/file.html", "-H -x 24")),
    slow("bodies", |setup, victim| slowhttptest::run(setup, victim.at, "/file.html", "-B -s 8192 -x 10")),
    slow("ranges", |setup, victim| slowhttptest::run(setup, victim.at, "/large.bin", "-R -a 10 -b 3000")),
    slow("reads", |setup, victim| slowhttptest::run(setup, victim.at, "/large.bin", "-X -w 512 -y 1024 -n 1 -z 5 -k 3")),
    Attack { name: "idle", carry_out: idle, needs_slowhttptest: false },
    Attack { name: "killed", carry_out: killed, needs_slowhttptest: false },
];

const fn slow(name: &'static str, carry_out: fn(&Setup, &Victim) -> Result<Report>) -> Attack {
    Attack {
        name,
        carry_out,
        needs_slowhttptest: true,
    }
}

/// The names that `--only` takes.
pub fn names() -> Vec<&'static str> {
    ATTACKS.iter().map(|attack| attack.name).collect()
}

/// A time without attack.
///
/// # Errors
/// None.
pub fn calm(setup: &Setup) -> Result<Report> {
    // This is the time that the honest client is given, and there is nothing to wait for.
    thread::sleep(Duration::from_secs(setup.seconds.into()));
    Ok(Report {
        ending: "no attack".to_owned(),
        ..Report::default()
    })
}

/// Ten thousand connections, each of which has had a response and sends no more requests.
fn idle(setup: &Setup, victim: &Victim) -> Result<Report> {
    let held = Bare::holding(&mut client(setup, victim, "/file.html", IDLE)?, "idle")?;
    // They stay as long as other attacks do.
    thread::sleep(Duration::from_secs(setup.seconds.into()));
    held.let_go()?;
    Ok(Report {
        attackers: u64::from(IDLE),
        ending: "all were let go".to_owned(),
        ..Report::default()
    })
}

/// Clients that are killed when each of their connections is in the middle of a large response.
fn killed(setup: &Setup, victim: &Victim) -> Result<Report> {
    let begun = Instant::now();
    let mut clients = 0;
    while begun.elapsed() < Duration::from_secs(setup.seconds.into()) {
        drop(Bare::holding(
            &mut client(setup, victim, "/huge.bin", KILLED)?,
            "body",
        )?);
        clients += 1;
    }
    Ok(Report {
        attackers: clients * u64::from(KILLED),
        ending: format!("{clients} clients with {KILLED} connections each were killed"),
        ..Report::default()
    })
}

/// A bare client with one request on each of its connections.
fn client(setup: &Setup, victim: &Victim, path: &str, connections: u32) -> Result<Command> {
    let response = response::look(victim.at, path, false);
    let bytes = response.context("the server does not respond")?.bytes;
    let line = format!(
        "{} --path {path} -c {connections} -n {connections} --size {bytes}",
        victim.at
    );
    let mut command = Command::new(&setup.client);
    command.args(line.split(' '));
    Ok(command)
}

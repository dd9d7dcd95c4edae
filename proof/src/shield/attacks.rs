//! The attacks, one row each.

use super::Setup;
use super::slowhttptest::{self, Report};
use super::victim::Victim;
use crate::programs;
use crate::serving::{Bare, response, start};
use anyhow::{Context, Result};
use kernel::process::Child;
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A file that no socket holds, so that a client that stops reading it is in its middle.
pub const HUGE: &str = "huge.bin";
/// Connections on which nothing happens.
const IDLE: u32 = 10_000;
/// Connections of each client that is killed.
const KILLED: u32 = 50;
/// How long a client over TLS lives: it has had one response by then, and is in the middle of others.
const MIDDLE: Duration = Duration::from_millis(1500);

/// One way to attack.
pub enum Attack {
    /// By slowhttptest: the path that is requested, and its arguments. The sizes are such that a request or a response
    /// would take minutes; the intervals, a tenth of the attack, that the connection is never quite still.
    Slow(&'static str, &'static str),
    /// By ten thousand connections, each of which has had a response and sends no more requests; over TLS, has made its handshake.
    Idle,
    /// By clients that are killed when each of their connections is in the middle of a large response.
    Killed,
    /// By connections whose first handshake message comes byte by byte. Only over TLS.
    Handshakes,
}

/// All of them by name.
pub const ATTACKS: [(&str, Attack); 7] = [
    ("headers", Attack::Slow("/file.html", "-H -x 24")),
    ("bodies", Attack::Slow("/file.html", "-B -s 8192 -x 10")),
    ("ranges", Attack::Slow("/large.bin", "-R -a 10 -b 3000")),
    (
        "reads",
        Attack::Slow("/large.bin", "-X -w 512 -y 1024 -n 1 -z 5 -k 3"),
    ),
    ("idle", Attack::Idle),
    ("killed", Attack::Killed),
    ("handshakes", Attack::Handshakes),
];

impl Attack {
    /// Carries it out, to its end.
    ///
    /// # Errors
    /// A tool could not be started, or did not attack.
    pub fn carry_out(&self, setup: &Setup, victim: &Victim) -> Result<Report> {
        match self {
            Attack::Slow(path, mode) => {
                let (at, is_tls) = (victim.at, victim.certificate.is_some());
                let scheme = if is_tls { "https" } else { "http" };
                slowhttptest::run(setup, &format!("{scheme}://{at}{path}"), mode)
            }
            Attack::Idle if victim.certificate.is_some() => idle_secured(setup, victim),
            Attack::Idle => idle(setup, victim),
            Attack::Killed => killed(setup, victim),
            Attack::Handshakes => handshakes(setup, victim),
        }
    }

    /// Whether it is one over TLS, or without.
    pub fn fits(&self, is_tls: bool) -> bool {
        is_tls || !matches!(self, Attack::Handshakes)
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
        match victim.certificate {
            None => drop(Bare::holding(
                &mut client(victim, "/huge.bin", KILLED)?,
                "body",
            )?),
            Some(_) => {
                let line = format!("/huge.bin -n {KILLED} -c {KILLED}");
                let weigh = weigh(setup, victim, &line)?;
                thread::sleep(MIDDLE); // neither side reports that responses have begun; 5 GB take longer than this
                drop(weigh);
            }
        }
        clients += 1;
    }
    let ending = format!("{clients} clients with {KILLED} connections each were killed");
    Ok(Report::ended(clients * KILLED, &ending))
}

/// Handshakes by weigh, and nothing behind them.
fn idle_secured(setup: &Setup, victim: &Victim) -> Result<Report> {
    let seconds = setup.seconds;
    let line = format!(
        "/file.html --rate 1 --arrivals constant -c {IDLE} --connect eager --warmup 0s --duration {seconds}s"
    );
    let weigh = weigh(setup, victim, &line)?;
    thread::sleep(setup.length()); // the attack is that connections stay open for this time: no event ends it
    drop(weigh);
    Ok(Report::ended(IDLE, "all were let go"))
}

/// weigh as an attacker over TLS. It ends when this is dropped.
fn weigh(setup: &Setup, victim: &Victim, line: &str) -> Result<Child> {
    let url = format!("https://{}", victim.at);
    let line = format!(
        "run {url}{line} --insecure -t 1 --rounds 1 --server none --spin never --keep-going --quiet"
    );
    let mut command = vec![programs::path("weigh")?.display().to_string()];
    command.extend(line.split_whitespace().map(str::to_owned));
    let record = setup.folder.join("weigh.json").display().to_string();
    command.extend(["--output".to_owned(), record]);
    start(command, &setup.folder.join("words"))
}

/// The head of a record that is to hold a handshake message of 512 bytes (RFC 8446 section 5.1), and that of a ClientHello as long
/// (section 4); what is in it comes too late to matter.
const HELLO: [u8; 11] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];

/// Connections that begin a handshake, a byte more on each every tenth of the attack, and never get beyond its first message.
fn handshakes(setup: &Setup, victim: &Victim) -> Result<Report> {
    let open = |_| response::connect(victim.at);
    let all: Result<Vec<_>> = (0..setup.connections).map(open).collect();
    let (mut open, mut closed) = (all?, 0);
    for step in 0..10 {
        let byte = HELLO.get(step).copied().unwrap_or(0);
        open.retain_mut(|connection| {
            let is_open = connection.write_all(&[byte]).is_ok();
            closed += u64::from(!is_open);
            is_open
        });
        thread::sleep(setup.length() / 10); // the attack is one byte in this time: no event is waited for
    }
    Ok(Report {
        closed: Some(closed),
        left: Some(open.len() as u64),
        ..Report::ended(setup.connections, "all were let go")
    })
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

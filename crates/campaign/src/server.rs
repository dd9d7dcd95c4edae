//! A server that is started for the campaign, and stopped after it with everything it started.

use crate::error::CampaignError;
use crate::planned_rounds::PlannedRound;
use engine::{PROBED, ProbeError, Shown, Unexpected};
use kernel::process::{Child, Start};
use kernel::{Epoll, signals};
use plan::{Plan, ServerCommand};
use record::{During, Probe, ServerEnd};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use units::Nanos;

/// How long a server may take to end after SIGTERM.
const GRACE: Nanos = Nanos::from_secs(5);

/// So many of the last lines that a server printed are told in a sentence.
const LAST_LINES: usize = 2;

/// How often it is tried whether the server answers yet.
const TRY_EVERY: Nanos = Nanos::from_millis(20);

/// Why a server did not come up: a sentence that names what to do, where something can be done.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ServerError(String);

/// Returns a ring to probe with.
fn ring() -> Result<Epoll, ServerError> {
    Epoll::new()
        .map_err(|errno| ServerError(format!("the kernel gives no epoll instance: {errno}")))
}

/// What `output` says, as the end of a sentence.
pub(crate) fn printed(output: &str) -> String {
    let output = output.trim_end();
    if output.is_empty() {
        "; it printed nothing".into()
    } else {
        format!("; it printed:\n{output}")
    }
}

/// A server that we started; stopped when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    /// What it prints: a file without a name, which is gone with us, however we end.
    output: File,
}

/// How a server has shown that it responds.
#[derive(Debug)]
pub struct Ready {
    /// The first request that it responded to, and how many were probed with it.
    pub probe: Probe,
    /// Those requests and their responses.
    pub shown: Vec<Shown>,
    /// Requests that were sent until then, those included.
    pub probes: u64,
}

impl Ready {
    /// Returns why `plan`'s target is not to be loaded, if none of the probed requests got an expected response: it may not
    /// be the target that was meant.
    pub(crate) fn unexpected(&self, plan: &Plan) -> Option<String> {
        let why = self.unexpected_at_all(plan).filter(|_| !plan.keep_going)?;
        Some(format!("{why}, or --keep-going to load it all the same"))
    }

    /// As [`Ready::unexpected`], where there is no going on all the same.
    pub(crate) fn unexpected_at_all(&self, plan: &Plan) -> Option<String> {
        let first = self.shown.first()?.unexpected.as_ref()?;
        let requests = self.probe.requests;
        if self.probe.errors < requests {
            return None;
        }
        let found = match requests {
            1 => format!("the probe got no expected response ({first})"),
            _ => format!(
                "none of the {requests} probed requests got an expected response (the first: {first})"
            ),
        };
        let remedy = match first {
            Unexpected::Status(status) => format!("use --expect {status} if it is right"),
            Unexpected::Body(_) => "correct the file".into(),
            Unexpected::Failed(_) => "check the target".into(),
        };
        let authority = &plan.target.authority;
        Some(format!(
            "{authority}: {found}, so no load was sent; {remedy}"
        ))
    }
}

/// Returns the response of a running server to the plan's probe; `seq` is the first `{seq}` that may be sent.
///
/// # Errors
/// Why nothing could be asked, or nothing came.
pub(crate) fn probe(plan: &Plan, seq: u64, stop: &AtomicBool) -> Result<Ready, CampaignError> {
    let (probe, shown) = engine::probe(&mut ring()?, plan, seq, PROBED, stop)?;
    Ok(Ready {
        probes: probe.requests,
        probe,
        shown,
    })
}

/// The status of a server that is there, but not ready yet.
const NOT_READY: u16 = 503;

impl Running {
    /// Starts `server` and waits until it responds at the plan's target. `seq` is the first `{seq}` that may be sent.
    ///
    /// # Errors
    /// See [`ServerError`]; whatever was started is stopped again.
    pub fn start(
        server: &ServerCommand,
        plan: &Plan,
        seq: u64,
        stop: &AtomicBool,
    ) -> Result<(Running, Ready), ServerError> {
        Running::start_on(server, plan, seq, None, stop)
    }

    /// As [`Running::start`], on these CPUs alone.
    ///
    /// # Errors
    /// See [`ServerError`]; whatever was started is stopped again.
    pub(crate) fn start_on(
        server: &ServerCommand,
        plan: &Plan,
        seq: u64,
        cpus: Option<Vec<u32>>,
        stop: &AtomicBool,
    ) -> Result<(Running, Ready), ServerError> {
        let command = server.argv.join(" ");
        let mut ring = ring()?;
        let mut patient = plan.clone();
        patient.timeouts.connect = plan.timeouts.connect.min(Nanos::from_secs(1));
        let found = engine::probe(&mut ring, &patient, seq, 1, stop);
        // Who accepts a connection and then agrees on nothing is there, too.
        if matches!(found, Ok(_) | Err(ProbeError::Handshake { .. })) {
            return Err(ServerError(format!(
                "another process already responds at {}, so it would be measured instead of `{command}`; stop it first",
                plan.target.authority
            )));
        }
        let unkept = |error| {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            ServerError(format!(
                "the server's output cannot be kept in `{folder}`: {error}"
            ))
        };
        let output = tempfile::tempfile().map_err(unkept)?;
        let start = Start {
            command: server.argv.iter().map(Into::into).collect(),
            output: Some(output.try_clone().map_err(unkept)?),
            cpus,
            ..Start::default()
        };
        let child = Child::start(start)
            .map_err(|error| ServerError(format!("`{command}` could not be started: {error}")))?;
        let mut running = Running {
            child,
            command,
            output,
        };
        let ready = running.wait_until_it_responds(server, &patient, seq, &mut ring, stop)?;
        Ok((running, ready))
    }

    /// Probes until the server responds. One that says that it is not ready yet is given the rest of its time.
    fn wait_until_it_responds(
        &mut self,
        server: &ServerCommand,
        plan: &Plan,
        seq: u64,
        ring: &mut Epoll,
        stop: &AtomicBool,
    ) -> Result<Ready, ServerError> {
        let authority = plan.target.authority.clone();
        let deadline = kernel::clock::now() + server.ready_within;
        let mut probes = 0;
        loop {
            let why = match engine::probe(ring, plan, seq + probes, PROBED, stop) {
                Ok((probe, shown)) => {
                    probes += probe.requests;
                    let waits = is_not_ready(&probe, plan) && kernel::clock::now() < deadline;
                    if probe.status.is_some() && !waits {
                        self.must_run(&authority)?;
                        return Ok(Ready {
                            probe,
                            shown,
                            probes,
                        });
                    }
                    probe.error.unwrap_or_default()
                }
                Err(ProbeError::Unreachable { failed, .. }) => failed
                    .into_iter()
                    .map(|(_, why)| why)
                    .next_back()
                    .unwrap_or_default(),
                Err(ProbeError::Job(error)) => return Err(ServerError(error.to_string())),
                Err(error @ ProbeError::Handshake { is_final: true, .. }) => {
                    self.must_run(&authority)?;
                    return Err(ServerError(error.to_string()));
                }
                Err(error) => error.to_string(),
            };
            self.must_run(&authority)?;
            if stop.load(Ordering::Relaxed) {
                return Err(ServerError(
                    "interrupted before the server responded".into(),
                ));
            }
            if kernel::clock::now() > deadline {
                return Err(ServerError(format!(
                    "`{}` did not respond at {authority} within {}: {why}{}",
                    self.command,
                    units::span(server.ready_within),
                    printed(&self.output())
                )));
            }
            // A server that is starting gives no sign to wait for; this is the interval of asking.
            std::thread::park_timeout(TRY_EVERY.to_std());
        }
    }

    /// Refuses a server whose first process has ended.
    fn must_run(&mut self, authority: &str) -> Result<(), ServerError> {
        let Some(status) = self.child.exited() else {
            return Ok(());
        };
        let (command, left) = (&self.command, self.child.pids().len() as u64);
        Err(ServerError(match status.success() && left > 0 {
            true => format!(
                "`{command}` went into the background: it exited with status 0 and left {} running, now stopped. Start \
                 it in the foreground: nginx -g 'daemon off;', lighttpd -D, apache2 -X or -DFOREGROUND; a script ends \
                 in `exec SERVER`",
                match left {
                    1 => "1 process".into(),
                    several => format!("{} processes", units::count(several)),
                }
            ),
            false => format!(
                "`{command}` exited ({status}) before it responded at {authority}{}",
                printed(&self.output())
            ),
        }))
    }

    /// How it has ended, if it has, `during` a part of the round of `planned`.
    pub(crate) fn end(&mut self, planned: &PlannedRound, during: During) -> Option<ServerEnd> {
        let status = self.child.exited()?;
        Some(ServerEnd {
            status: status.code(),
            signal: status.signal().map(signals::name),
            level: planned.level,
            round: planned.round,
            during,
            left: self.child.pids().len() as u32,
            printed: ServerEnd::last_lines(&self.output()),
        })
    }

    /// How it has ended, if it has: the rest of a sentence about it, in one line.
    pub(crate) fn how_ended(&mut self) -> Option<String> {
        let status = self.child.exited()?;
        let printed = ServerEnd::last_lines(&self.output());
        let lines: Vec<&str> = printed
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        // The last line of all may be the shell's, which says how the server ended.
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        let printed = match last {
            [] => "; it printed nothing".to_owned(),
            last => format!("; the last that it printed: {}", last.join(" | ")),
        };
        Some(format!("ended ({status}){printed}"))
    }

    /// The processes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The last of what it printed.
    fn output(&self) -> String {
        last_printed(&self.output)
    }
}

/// Returns the last of what a command has printed into `file`, at whose place it may still be printing.
pub(crate) fn last_printed(file: &File) -> String {
    let length = file.metadata().map_or(0, |facts| facts.len());
    let first = length.saturating_sub(ServerEnd::MOST_PRINTED);
    let mut text = vec![0; (length - first) as usize];
    match file.read_exact_at(&mut text, first) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}

/// Whether the server said of all requests that it is not ready yet, and this is not what the plan expects.
fn is_not_ready(probe: &Probe, plan: &Plan) -> bool {
    probe.status == Some(NOT_READY) && probe.errors == probe.requests && !plan.keep_going
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.stop(GRACE);
    }
}

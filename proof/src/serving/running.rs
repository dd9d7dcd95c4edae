//! A server of the catalogue that runs: started on its CPU, its CPU time and memory read, all of it ended.
//!
//! It is followed as a family of processes, because most servers are several. CPU time is that of the processes' own
//! clocks, to the nanosecond, and not the ticks of /proc, of which a run of a second has a hundred.

use super::response::Response;
use super::secure::{self, Loading};
use super::site::{SMALL, Site};
use super::{LOOK, free_port, responding, start, until};
use crate::catalogue::{Server, Values};
use crate::machine::Machine;
use crate::programs::{self, last_words};
use anyhow::{Context, Result};
use kernel::affinity;
use kernel::process::Child;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use units::Nanos;

/// How long a server may go on with its work when no client sends requests any more.
const SETTLE: Duration = Duration::from_secs(2);
/// CPU time in [`LOOK`] below which it is at rest; some have timers.
const REST: Nanos = Nanos::from_micros(100);

/// The CPU of servers, and the one of all other processes.
#[derive(Debug, Clone, Copy)]
pub struct Cpus {
    /// The servers'.
    pub server: u32,
    /// Everything else's.
    pub client: u32,
}

impl Cpus {
    /// Chooses them. From here on this process runs on the client's CPU.
    ///
    /// # Errors
    /// That CPU cannot be used.
    pub fn of(machine: &Machine) -> Result<Cpus> {
        let (server, client) = (machine.responder(), machine.client());
        affinity::pin(client).context("the client's CPU cannot be used")?;
        Ok(Cpus { server, client })
    }

    /// Starts `command` on the server's CPU, and goes back to the client's.
    ///
    /// # Errors
    /// There is no such CPU for this process, or no such program.
    fn start_server(self, command: Vec<OsString>, words: &Path) -> Result<Child> {
        affinity::pin(self.server).context("the server's CPU cannot be used")?;
        let child = start(command, words);
        affinity::pin(self.client).context("the client's CPU cannot be used")?;
        child
    }
}

/// The request by which a server shows that it responds.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What is requested.
    pub path: &'a str,
    /// On a connection of its own.
    pub close: bool,
    /// Over TLS, by a client on this CPU; none: without.
    pub tls: Option<u32>,
}

/// A server that responds. It ends when it is dropped.
pub struct Running {
    /// Where it listens.
    pub at: SocketAddr,
    /// Its response.
    pub response: Response,
    /// Its family of processes.
    pub child: Child,
    /// The server that it gets its responses from; it ends after it.
    _origin: Option<Child>,
}

/// Memory of a family of processes, in kilobytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Their share of what they use: pages that several processes have count in parts.
    pub pss_kb: u64,
    /// Pages that no other process has.
    pub private_kb: u64,
    /// Pages that are of no file.
    pub anonymous_kb: u64,
    /// Number of processes.
    pub processes: usize,
}

impl Running {
    /// Starts `server` with so many workers, and waits until it responds to a request for `path`.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not respond.
    pub fn start(
        server: &'static Server,
        site: &mut Site,
        cpus: Cpus,
        workers: u32,
        request: Request<'_>,
    ) -> Result<Running> {
        Running::by(server, site, workers, request, |command, words| {
            cpus.start_server(command, words)
        })
    }

    /// Starts `server` with one worker on any CPU, and waits until it responds to a request for `path`.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not respond.
    pub fn start_anywhere(server: &'static Server, site: &mut Site, path: &str) -> Result<Running> {
        let request = Request {
            path,
            close: false,
            tls: None,
        };
        Running::by(server, site, 1, request, |command, words| {
            start(command, words)
        })
    }

    fn by(
        server: &'static Server,
        site: &mut Site,
        workers: u32,
        request: Request<'_>,
        start: impl FnOnce(Vec<OsString>, &Path) -> Result<Child>,
    ) -> Result<Running> {
        let origin = server.origin.then(origin).transpose()?;
        let Request { path, close, tls } = request;
        let (at, home) = (free_port()?, site.home()?);
        let certificate = tls.map(|_| site.certificate()).transpose()?;
        let values = values(site, at.port(), workers)
            .with_some("origin", origin.as_ref().map(|(_, at)| at.port()))
            .with_some(
                "tls",
                certificate.map(|folder| folder.display().to_string()),
            )
            .keeping(!close);
        let words = home.join("words");
        let mut child = start(server.command(&values, &home)?, &words)?;
        let response = match tls {
            None => responding(&mut child, at, path, close),
            Some(cpu) => {
                let loading = Loading {
                    cpu,
                    folder: &home,
                    at,
                    path,
                    connections: 1,
                    requests: 2,
                };
                let file = site.path().join(path.trim_start_matches('/'));
                secure::responding(&mut child, &loading, &file)
            }
        };
        Ok(Running {
            at,
            response: response.with_context(|| last_words(&words))?,
            child,
            _origin: origin.map(|(child, _)| child),
        })
    }

    /// Returns the CPU time of all its processes so far, when it is at rest.
    pub fn cpu_at_rest(&mut self) -> Nanos {
        let (child, mut last) = (&mut self.child, None);
        // A pause is long against what a wakeup costs, short against a run: the CPU time in it shows whether it works.
        let rest = until(SETTLE, LOOK, || {
            let now = child.cpu();
            let before = last.replace(now);
            let is_rest = before.is_some_and(|before| now.saturating_sub(before) < REST);
            Ok(is_rest.then_some(now))
        });
        rest.ok().flatten().or(last).unwrap_or_default()
    }

    /// Returns its memory now; none where the kernel does not tell.
    pub fn footprint(&mut self) -> Option<Footprint> {
        Footprint::of(&self.child.pids())
    }

    /// For a complaint: whether it still runs.
    pub fn state(&mut self) -> String {
        match self.child.exited() {
            None => format!("the server at {} runs", self.at),
            Some(status) => format!("the server at {} has ended with {status}", self.at),
        }
    }
}

impl Footprint {
    /// Returns that of these processes now; none where the kernel does not tell.
    pub fn of(pids: &[u32]) -> Option<Footprint> {
        let mut sum = Footprint::default();
        for pid in pids {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            sum.add(&text)?;
        }
        Some(sum)
    }

    /// Adds a process, as /proc/PID/smaps_rollup describes it.
    fn add(&mut self, text: &str) -> Option<()> {
        let kb = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        self.pss_kb += kb("Pss:")?;
        self.private_kb += kb("Private_Clean:")? + kb("Private_Dirty:")?;
        self.anonymous_kb += kb("Anonymous:")?;
        self.processes += 1;
        Some(())
    }
}

/// What every server of the catalogue is called and configured with.
pub fn values(site: &Site, port: impl ToString, workers: u32) -> Values {
    Values::default()
        .with("site", site.path().display())
        .with("port", port)
        .with("workers", workers)
        // One worker needs no process that watches over it.
        .with("spare_workers", if workers > 1 { workers } else { 0 })
        .with("threads", workers * 128)
        .with("body", "x".repeat(SMALL))
}

/// A bare responder for a server that only passes responses on.
fn origin() -> Result<(Child, SocketAddr)> {
    let at = free_port()?;
    let program = programs::path("bare_responder")?.into_os_string();
    let mut child = start([program, at.to_string().into()], Path::new("/dev/null"))?;
    responding(&mut child, at, "/", false)?;
    Ok((child, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLLUP: &str = "55f0-7ffd ---p 00000000 00:00 0    [rollup]\n\
        Rss:                2304 kB\nPss:                 612 kB\nPss_Dirty:           180 kB\n\
        Shared_Clean:       1980 kB\nPrivate_Clean:       100 kB\nPrivate_Dirty:       180 kB\nAnonymous:           170 kB\n";

    #[test]
    fn memory_is_added_up_over_processes() {
        let mut sum = Footprint::default();
        sum.add(ROLLUP).unwrap();
        sum.add(ROLLUP).unwrap();
        let wanted = Footprint {
            pss_kb: 1224,
            private_kb: 560,
            anonymous_kb: 340,
            processes: 2,
        };
        assert_eq!(sum, wanted);
        assert_eq!(sum.add("Rss: 12 kB\n"), None);
    }
}

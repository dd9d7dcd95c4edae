//! A server that runs: started on its CPU, asked until it answers, its accounts read, all of it ended.
//!
//! It is followed as a family of processes, because most servers are several. CPU time is that of the processes' own
//! clocks, to the nanosecond, and not the ticks of /proc, of which a run of a second has a hundred.

use super::answer::{self, Answer};
use super::site::SMALL;
use crate::catalogue::{Server, Values};
use crate::programs::{self, last_words};
use anyhow::{Context, Result, bail, ensure};
use kernel::affinity;
use kernel::process::{Child, Start};
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long a server may take to answer after its start. Varnish compiles its configuration as C.
const START: Duration = Duration::from_secs(20);
/// How often it is asked meanwhile.
const LOOK: Duration = Duration::from_millis(5);
/// How long it may go on with what it did when nobody asks any more.
const SETTLE: Duration = Duration::from_secs(2);
/// CPU time in [`LOOK`] below which it is at rest; some have timers.
const REST: Nanos = Nanos::from_micros(100);

/// Which CPU servers have, and which is for all else.
#[derive(Debug, Clone, Copy)]
pub struct Cpus {
    /// The servers'.
    pub server: u32,
    /// Everybody else's.
    pub client: u32,
}

/// A server that answers. It ends when it is dropped.
pub struct Running {
    /// Where it listens.
    pub at: SocketAddr,
    /// What it answers.
    pub answer: Answer,
    child: Child,
    /// Where its answers come from; it ends after it.
    _origin: Option<Child>,
}

/// Memory of a family of processes, in kilobytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Their share of what they use: pages that several processes have count in parts.
    pub pss_kb: u64,
    /// What nobody else has.
    pub private_kb: u64,
    /// How many they are.
    pub processes: usize,
}

/// What is to be started.
pub struct Wish {
    /// A folder of its own.
    pub home: PathBuf,
    /// What it serves.
    pub site: PathBuf,
    /// Its workers.
    pub workers: u32,
    /// What it is asked for.
    pub path: &'static str,
    /// Whether the connection is to be closed after the answer.
    pub close: bool,
}

impl Wish {
    /// The same for the catalogue.
    fn values(&self, port: u16, origin: Option<u16>) -> Values {
        Values::default()
            .with("site", self.site.display())
            .with("port", port)
            .with("workers", self.workers)
            // One worker needs no process that watches over it.
            .with(
                "spare_workers",
                if self.workers > 1 { self.workers } else { 0 },
            )
            .with("threads", self.workers * 128)
            .with("body", "x".repeat(SMALL))
            .with_some("origin", origin)
            .keeping(!self.close)
    }
}

impl Running {
    /// Starts `server` and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer.
    pub fn start(server: &'static Server, wish: &Wish, cpus: Cpus) -> Result<Running> {
        let origin = match server.origin {
            true => Some(origin(cpus)?),
            false => None,
        };
        let at = free_port()?;
        let origin_port = origin.as_ref().map(|(_, at)| at.port());
        let command = server.command(&wish.values(at.port(), origin_port), &wish.home)?;
        let words = wish.home.join("words");
        let mut child = start_on(cpus.server, cpus, command, &words)?;
        let answer =
            wait(&mut child, at, wish.path, wish.close).with_context(|| last_words(&words))?;
        Ok(Running {
            at,
            answer,
            child,
            _origin: origin.map(|(child, _)| child),
        })
    }

    /// CPU time of all its processes so far, when it is at rest.
    pub fn cpu_at_rest(&mut self) -> Nanos {
        let begun = Instant::now();
        let mut before = self.child.cpu();
        loop {
            // Long against what a wakeup costs, short against a run: what is spent in it tells whether it works.
            thread::sleep(LOOK);
            let now = self.child.cpu();
            if now.saturating_sub(before) < REST || begun.elapsed() > SETTLE {
                return now;
            }
            before = now;
        }
    }

    /// Its memory now; none where the kernel does not tell.
    pub fn footprint(&mut self) -> Option<Footprint> {
        Footprint::of(&self.child.pids())
    }

    /// Its processes.
    pub fn pids(&mut self) -> Vec<u32> {
        self.child.pids()
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
    /// Of these processes now; none where the kernel does not tell.
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
        self.processes += 1;
        Some(())
    }
}

/// Starts `command` on `cpu`, and goes back to the client's CPU, where this process belongs.
///
/// # Errors
/// There is no such CPU for us, or no such program.
pub fn start_on(cpu: u32, cpus: Cpus, command: Vec<OsString>, words: &Path) -> Result<Child> {
    let output = File::create(words)?;
    let program = command[0].to_string_lossy().into_owned();
    affinity::pin(cpu).context("the server's CPU is not to be had")?;
    let child = Child::start(Start {
        command,
        output: Some(output),
        raised_open_files: true,
        ..Start::default()
    });
    affinity::pin(cpus.client).context("the client's CPU is not to be had")?;
    child.with_context(|| format!("{program} could not be started"))
}

/// A bare responder for a server that only passes answers on.
fn origin(cpus: Cpus) -> Result<(Child, SocketAddr)> {
    let at = free_port()?;
    let program = programs::path("bare_responder")?.into_os_string();
    let command = vec![program, at.to_string().into()];
    let mut child = start_on(cpus.client, cpus, command, Path::new("/dev/null"))?;
    wait(&mut child, at, "/", false)?;
    Ok((child, at))
}

/// A port of 127.0.0.1 that was free a moment ago. Somebody could take it before the server does; then the server says
/// so and ends.
pub fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
    Ok(listener.local_addr()?)
}

/// Asks until the server answers.
///
/// # Errors
/// It has ended, or is too late.
pub fn wait(child: &mut Child, at: SocketAddr, path: &str, close: bool) -> Result<Answer> {
    let begun = Instant::now();
    loop {
        let error = match answer::look(at, path, close) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if let Some(status) = child.exited() {
            bail!("it has ended with {status}");
        }
        ensure!(
            begun.elapsed() < START,
            "after {} s: {error:#}",
            START.as_secs()
        );
        // Nothing tells when a server listens; it is asked again after a moment.
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLLUP: &str = "55f0-7ffd ---p 00000000 00:00 0    [rollup]\n\
        Rss:                2304 kB\nPss:                 612 kB\nPss_Dirty:           180 kB\n\
        Shared_Clean:       1980 kB\nPrivate_Clean:       100 kB\nPrivate_Dirty:       180 kB\n";

    #[test]
    fn memory_is_added_up_over_processes() {
        let mut sum = Footprint::default();
        sum.add(ROLLUP).unwrap();
        sum.add(ROLLUP).unwrap();
        let wanted = Footprint {
            pss_kb: 1224,
            private_kb: 560,
            processes: 2,
        };
        assert_eq!(sum, wanted);
        assert_eq!(sum.add("Rss: 12 kB\n"), None);
    }
}

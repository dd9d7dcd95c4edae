//! Starting a server, knowing all of its processes, and ending every one of them.
//!
//! Servers fork: workers, pools, and daemons that leave the process that was started. So the whole family is followed:
//! the child gets a process group of its own, we become the reaper of its orphans, and all of them carry a *mark*. A
//! process belongs to a [`Child`] when it descends from it by parents, is in its group or session, bears its mark, or
//! was once seen to belong to it.
//!
//! The mark is the soft RLIMIT_RSS. Linux has not looked at that limit since 2.4.30 (getrlimit(2)), but hands it down
//! through fork, exec and setsid, and shows it to every user. A variable in the environment would be the usual mark;
//! servers overwrite theirs with their titles (nginx) or start workers without (env -i).
//!
//! Signals go to single processes, by pidfd and checked against the start time, never to a number that may have a new
//! owner. (killpg would be shorter, but does not reach daemons.) The child itself is not reaped before the end, so
//! that its number cannot be given away meanwhile.

mod family;
mod guardian;
mod piped;
mod tree;

pub use guardian::GUARDIAN;
pub use piped::{Message, Piped};

use crate::accounts::Usage;
use crate::affinity::Mask;
use crate::limits;
pub use family::{Census, Process, Sampling, Stat, newest, pids, span_of, ticks_of};
use guardian::Guardian;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::gettid;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tree::Tree;
pub use tree::{belonging, living};
use units::Nanos;

/// How long killed processes may take to be gone; only what is stuck in the kernel takes longer.
const KILL_PATIENCE: Nanos = Nanos::from_secs(5);
/// The grace of a child that is dropped without having been stopped.
const DROP_GRACE: Nanos = Nanos::from_secs(1);

/// How a command is started.
#[derive(Debug, Default)]
pub struct Start {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where it runs; none: where we do.
    pub directory: Option<PathBuf>,
    /// Variables added to our environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables of our environment that it does not get.
    pub without: Vec<OsString>,
    /// Where its standard output and error go; none: nowhere.
    pub output: Option<File>,
    /// The CPUs that it may run on; none: those that we may.
    pub cpus: Option<Vec<u32>>,
    /// Lets it have the limit on open files that we have raised for ourselves, instead of the one before.
    pub raised_open_files: bool,
}

/// How [`Child::stop`] went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All were gone within the grace.
    Asked,
    /// Some had to be killed.
    Killed,
    /// These live on although they were killed.
    Stuck(Vec<u32>),
}

/// A started command with everything that it starts. Dropping it stops it.
#[derive(Debug)]
pub struct Child {
    /// Never waited for through this handle, but by `family::reap`, which keeps the accounts.
    handle: std::process::Child,
    leader: Process,
    tree: Tree,
    /// None once all is ended.
    guardian: Option<Guardian>,
    status: Option<ExitStatus>,
    /// CPU time of those that we have reaped.
    reaped: Usage,
}

impl Child {
    /// Starts a command, without standard input, and before it a process of ours that ends all of the command's when we
    /// die without doing so. (When this is called by the main thread, the command itself gets SIGTERM from the kernel
    /// at once.)
    ///
    /// # Errors
    /// There is no such program, it may not be executed, or there is no room for a process.
    pub fn start(start: Start) -> io::Result<Child> {
        let mark = new_mark();
        let command = command(start, mark)?;
        Child::spawn(command, mark)
    }

    fn spawn(mut command: Command, mark: u64) -> io::Result<Child> {
        family::become_reaper();
        let mut guardian = Guardian::fork(mark)?;
        let handle = command.spawn()?;
        let stat = Stat::read(handle.id());
        let stat = stat.ok_or_else(|| io::Error::other("/proc does not show the new process"))?;
        let leader = stat.process;
        guardian.set_leader(leader);
        Ok(Child {
            handle,
            leader,
            tree: Tree::new(Some(leader), mark, leader.start_ticks),
            guardian: Some(guardian),
            status: None,
            reaped: Usage::default(),
        })
    }

    /// The process that was started; with all that it started it is in [`Child::pids`].
    pub fn id(&self) -> u32 {
        self.handle.id()
    }

    /// All living processes of the family.
    pub fn pids(&mut self) -> Vec<u32> {
        living(&self.sample(Sampling::Full))
    }

    /// The CPU time of the whole family so far: of those that are there by their exact clocks, with what they have
    /// reaped themselves (that in ticks, of 10 ms as a rule), and of those that we have reaped.
    pub fn cpu(&mut self) -> Nanos {
        let there: Nanos = self.sample(Sampling::Full).iter().map(Stat::cpu).sum();
        there + self.reaped.cpu()
    }

    /// CPU time of all reaped descendants, including their own reaped children.
    pub fn reaped(&self) -> Usage {
        self.reaped
    }

    /// Whether a process belongs to the family of which `members` are known: cheaper than [`Child::sample`] for one that
    /// has just come.
    pub fn owns(&self, stat: &Stat, members: &BTreeSet<u32>) -> bool {
        self.tree.owns(stat, members)
    }

    /// Whether the family would be ended if we were killed: a process of ours waits for that. False once it is gone.
    pub fn is_guarded(&self) -> bool {
        self.guardian.as_ref().is_some_and(Guardian::lives)
    }

    /// How the process that was started has ended; none while it lives. A server that daemonises ends here and lives
    /// on in [`Child::pids`].
    pub fn exited(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = family::peek(self.id());
        }
        self.status
    }

    /// Ends the whole family: SIGTERM to each, and when `grace` is over, SIGKILL until none is left. All are reaped.
    /// Called again it does nothing.
    pub fn stop(&mut self, grace: Nanos) -> Ending {
        if self.guardian.is_none() {
            return Ending::Asked;
        }
        let ending = if self.end(Signal::TERM, grace).is_empty() {
            Ending::Asked
        } else {
            match self.end(Signal::KILL, KILL_PATIENCE) {
                left if left.is_empty() => Ending::Killed,
                left => Ending::Stuck(left),
            }
        };
        self.finish();
        ending
    }

    fn end(&mut self, signal: Signal, patience: Nanos) -> Vec<u32> {
        let leader = self.leader;
        let ended = |stat: &Stat| stat.zombie && stat.process == leader;
        tree::end(|| self.sample(Sampling::Full), ended, signal, patience)
    }

    fn finish(&mut self) {
        if let Some((status, cost)) = family::reap(self.id()) {
            self.status = Some(status);
            self.reaped.add(cost);
        }
        self.guardian = None;
    }

    /// The family as it is now, the living and the ended; orphans among the ended are reaped and left out.
    pub fn sample(&mut self, sampling: Sampling) -> Vec<Stat> {
        if self.guardian.is_none() {
            return Vec::new();
        }
        let mut members = self.tree.sample(sampling);
        members.retain(|stat| !self.reap_orphan(stat));
        members
    }

    fn reap_orphan(&mut self, stat: &Stat) -> bool {
        let orphan = stat.zombie && stat.process != self.leader;
        if !orphan || stat.parent != std::process::id() {
            return false;
        }
        let reaped = family::reap(stat.process.pid);
        if let Some((_, cost)) = reaped {
            self.reaped.add(cost);
        }
        reaped.is_some()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop(DROP_GRACE);
    }
}

/// A number that no other child has, of ours or of any other process. Far beyond any memory.
fn new_mark() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xf_ffff;
    1 << 62 | u64::from(std::process::id()) << 20 | count
}

fn command(start: Start, mark: u64) -> io::Result<Command> {
    let (program, arguments) = start
        .command
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    for name in start.without {
        command.env_remove(name);
    }
    command.envs(start.environment);
    command.stdin(Stdio::null()).process_group(0);
    match start.output {
        Some(file) => command.stdout(file.try_clone()?).stderr(file),
        None => command.stdout(Stdio::null()).stderr(Stdio::null()),
    };
    if let Some(directory) = start.directory {
        command.current_dir(directory);
    }
    let before = limits::before_raising().filter(|_| !start.raised_open_files);
    let cpus = start.cpus.map(|cpus| Mask::of(&cpus)).transpose()?;
    // SAFETY: between fork and exec only system calls are made, and no memory is allocated.
    unsafe {
        command.pre_exec(move || {
            family::bear_mark(mark);
            if let Some(cpus) = &cpus {
                cpus.allow()?;
            }
            if let Some(before) = before {
                limits::set_soft(before.soft)?;
            }
            Ok(())
        })
    };
    end_with_us(&mut command, Signal::TERM);
    Ok(command)
}

/// Has what `command` starts get `signal` when we die, if this is called by the main thread. (The kernel ties it to the
/// calling thread's life, so a thread that ends earlier must not ask for it.)
fn end_with_us(command: &mut Command, signal: Signal) {
    let parent = getpid();
    if gettid() == parent {
        // SAFETY: between fork and exec only system calls are made, and no memory is allocated.
        unsafe { command.pre_exec(move || die_with(parent, signal)) };
    }
}

/// Asks for `signal` when the parent dies; it is an error when it has died before this could be asked for.
fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    match getppid() == Some(parent) {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

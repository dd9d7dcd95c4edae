//! A process that ends a server when weigh has died without doing so: by SIGKILL, by the kernel's out-of-memory killer,
//! by a crash.
//!
//! The guardian is forked before the server and holds the read end of a pipe. We alone hold the write end, so that the
//! pipe ends when we do, however we end. (PR_SET_PDEATHSIG would be shorter, but reaches the server's first process
//! only.) Between its fork and its exec the server holds the write end too: then the pipe ends once it has become the
//! server, with its mark, or has failed.
//!
//! It is in a session of its own, so that neither a terminal nor a signal to our process group reaches it, and blocks
//! every signal. It waits in one system call, so it costs no CPU time.

use super::KILL_PATIENCE;
use super::family::{self, Process, Sampling, Stat};
use super::tree::{Tree, end};
use rustix::process::{Signal, chdir, setsid};
use rustix::thread::set_name;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr;
use units::Nanos;

/// The guardian's name, as `ps` and `top` show it.
pub const GUARDIAN: &str = "weigh-guardian";
const NAME: &std::ffi::CStr = c"weigh-guardian";

/// How long the server's processes may take to end after SIGTERM.
const GRACE: Nanos = Nanos::from_secs(2);

/// The guardian of one server, seen from the process that it guards against. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Guardian {
    process: Process,
    /// The only write end; its end is the guardian's sign.
    pipe: PipeWriter,
}

impl Guardian {
    /// Forks the guardian of the processes that will bear `mark`. To be called before the first of them is started.
    ///
    /// # Errors
    /// There is no room for a process or a pipe, or the guardian was killed before it had a session of its own.
    pub(super) fn fork(mark: u64) -> io::Result<Guardian> {
        let (reader, writer) = pipe()?;
        let (ready, held) = pipe()?;
        let unblocked = block_signals()?;
        // SAFETY: the child makes system calls and allocates memory, which glibc and musl allow after a fork (they hold
        // the allocator's locks over it); it takes no lock of ours and never returns.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            guard(mark, reader, held);
        }
        let failed = io::Error::last_os_error();
        // SAFETY: `unblocked` is the mask that was there before; the call reads it only.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &unblocked, ptr::null_mut()) };
        if pid < 0 {
            return Err(failed);
        }
        drop(held);
        Ok(Guardian {
            process: begun(pid, ready)?,
            pipe: writer,
        })
    }

    /// Tells it the server's first process: what does not bear the mark is known by its relation to that.
    pub(super) fn set_leader(&mut self, leader: Process) {
        let mut line = leader.pid.to_ne_bytes().to_vec();
        line.extend(leader.start_ticks.to_ne_bytes());
        let _ = self.pipe.write_all(&line); // one that has ended is found by `lives`
    }

    /// Whether it still guards.
    pub(super) fn lives(&self) -> bool {
        family::peek(self.process.pid).is_none()
    }
}

impl Drop for Guardian {
    /// What it guards has ended.
    fn drop(&mut self) {
        end_child(self.process.pid as libc::pid_t);
    }
}

/// Waits until the child says that it has a session of its own: what kills our group from now on does not reach it. One
/// that was killed before has leader_bytes nothing when the pipe ends.
fn begun(pid: libc::pid_t, mut ready: PipeReader) -> io::Result<Process> {
    let stat = ready.read_exact(&mut [0; 1]).and_then(|()| {
        let stat = Stat::read(pid as u32);
        stat.ok_or_else(|| io::Error::other("/proc does not show the new process"))
    });
    if stat.is_err() {
        end_child(pid);
    }
    Ok(stat?.process)
}

/// Kills a child that was not waited for yet, and waits for it. Until then no other process has its number, so the number is
/// enough: neither a pidfd nor /proc is needed, either of which may be refused.
fn end_child(pid: libc::pid_t) {
    // SAFETY: takes numbers, and a null pointer, which says that the status is not wanted.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, ptr::null_mut(), 0);
    }
}

/// Blocks every signal that can be blocked for the calling thread; returns the mask before.
fn block_signals() -> io::Result<libc::sigset_t> {
    // SAFETY: sigset_t is plain old data; all zeroes is a valid value of it.
    let (mut all, mut before) = unsafe { std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>() };
    // SAFETY: both sets outlive the calls, which fill them.
    let error = unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before)
    };
    match error {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The guardian's life: says on `held` that it has a session of its own, waits for the end of the other pipe, then ends
/// what bears `mark`.
fn guard(mark: u64, reader: PipeReader, mut held: PipeWriter) -> ! {
    // Each may fail without harm: then it has another name or folder, or is reached by signals, all but one of which it
    // blocks.
    let _ = (setsid(), set_name(NAME), chdir(c"/"));
    let _ = held.write_all(&[1]); // if the pipe has no reader any more, the other pipe has ended too
    let mut pipe = keep_only(reader.as_raw_fd());
    std::mem::forget((reader, held)); // they were closed
    let mut leader_bytes = Vec::new();
    let _ = pipe.read_to_end(&mut leader_bytes); // whatever ends it is the end
    let born = Stat::read(std::process::id()).map_or(0, |stat| stat.process.start_ticks);
    let mut tree = Tree::new(leader(&leader_bytes), mark, born);
    for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILL_PATIENCE)] {
        let ended = |stat: &Stat| stat.zombie;
        if end(|| tree.sample(Sampling::Full), ended, signal, patience).is_empty() {
            break;
        }
    }
    // SAFETY: ends this process; nothing of ours is to be run at its exit.
    unsafe { libc::_exit(0) }
}

/// The first process, if it was told.
fn leader(leader_bytes: &[u8]) -> Option<Process> {
    let (pid, rest) = leader_bytes.split_first_chunk()?;
    let (start_ticks, _) = rest.split_first_chunk()?;
    Some(Process {
        start_ticks: u64::from_ne_bytes(*start_ticks),
        pid: u32::from_ne_bytes(*pid),
    })
}

/// Closes every descriptor but `fd`, which becomes standard input: what else the fork copied (the write end, files and
/// their locks, sockets, the user's pipes) is not the guardian's to hold.
fn keep_only(fd: RawFd) -> File {
    let all: Vec<RawFd> = open_descriptors();
    // SAFETY: takes numbers only; no object of this process uses the closed descriptors any more.
    unsafe {
        libc::dup2(fd, 0);
        if libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0) != 0 {
            all.into_iter()
                .filter(|&other| other > 0)
                .for_each(|other| {
                    libc::close(other);
                });
        }
        File::from_raw_fd(0)
    }
}

/// The descriptors that are open, for kernels before 5.9.
fn open_descriptors() -> Vec<RawFd> {
    let entries = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Child, Start, command, new_mark};
    use crate::clock;
    use rustix::process::Signal;
    use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
    use std::os::fd::AsFd;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use units::Nanos;

    const AGAIN: &str = "KERNEL_TEST_GUARDIAN";
    const NAME: &str =
        "process::guardian::tests::a_server_that_is_being_started_when_we_are_killed_is_ended_too";

    /// Starts a server that shares our output, and stands still between fork and exec until our input ends.
    fn be_killed() {
        let output = stdout().as_fd().try_clone_to_owned().unwrap();
        let mut wait = std::fs::File::from(stdin().as_fd().try_clone_to_owned().unwrap());
        let mut tell = std::fs::File::from(output.try_clone().unwrap());
        let start = Start {
            command: [
                "sh",
                "-c",
                "trap '' TERM; echo up; while :; do sleep 1000; done",
            ]
            .map(Into::into)
            .into(),
            output: Some(output.into()),
            ..Start::default()
        };
        let mark = new_mark();
        let mut command = command(start, mark).unwrap();
        let stand_still = move || {
            tell.write_all(b"\nforked\n")?;
            wait.read(&mut [0; 1]).map(drop)
        };
        // SAFETY: between fork and exec only system calls are made, and no memory is allocated.
        unsafe { command.pre_exec(stand_still) };
        let child = Child::spawn(command, mark);
        panic!("it should have been killed: {child:?}");
    }

    #[test]
    fn a_server_that_is_being_started_when_we_are_killed_is_ended_too() {
        if std::env::var_os(AGAIN).is_some() {
            return be_killed();
        }
        let mut again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(AGAIN, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(again.stdout.take().unwrap());
        let mut line = String::new();
        while line != "forked\n" {
            line.clear();
            assert!(
                output.read_line(&mut line).unwrap() > 0,
                "it has not forked"
            );
        }
        again.kill().unwrap();
        drop(again.stdin.take()); // the server goes on, and is executed
        again.wait().unwrap();
        let killed = clock::now();
        let mut rest = String::new();
        // The pipe ends when the server has ended, which does not listen to SIGTERM.
        output.read_to_string(&mut rest).unwrap();
        let took = clock::now() - killed;
        assert!(
            took < Nanos::from_secs(60),
            "it was ended after {took:?}: {rest}"
        );
    }

    #[test]
    fn a_guardian_is_in_a_session_of_its_own_from_the_first() {
        for _ in 0..20 {
            let guardian = super::Guardian::fork(new_mark()).unwrap();
            let pid = guardian.process.pid;
            let stat = super::Stat::read(pid).unwrap();
            assert_eq!((stat.session, stat.group), (pid, pid));
        }
    }

    #[test]
    fn a_guardian_that_was_killed_before_it_was_ready_is_an_error_and_is_waited_for() {
        let mut child = Command::new("true").spawn().unwrap();
        let (ready, held) = std::io::pipe().unwrap();
        drop(held);
        let error = super::begun(child.id() as libc::pid_t, ready).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
        let gone = child.wait().unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ECHILD));
    }

    #[test]
    fn a_guardian_that_is_gone_is_noticed_and_a_family_that_has_ended_has_none() {
        let start = Start {
            command: ["sleep", "1000"].map(Into::into).into(),
            ..Start::default()
        };
        let mut child = Child::start(start).unwrap();
        assert!(child.is_guarded());
        let guardian = child.guardian.as_ref().unwrap().process;
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", guardian.pid)).unwrap();
        assert_eq!(comm.trim_end(), super::GUARDIAN);
        for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1] {
            guardian.signal(signal);
        }
        assert!(child.is_guarded());
        guardian.signal(Signal::KILL);
        let start = clock::now();
        while child.is_guarded() {
            assert!(clock::now() - start < Nanos::from_secs(60));
            std::thread::yield_now();
        }
        child.stop(Nanos::from_secs(10));
        assert!(!child.is_guarded() && super::Stat::read(guardian.pid).is_none());
    }
}

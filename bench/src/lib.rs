//! System calls with nothing around them: the floor under everything that weigh's cost is compared with.
//!
//! In scope: the few calls that the bare programs of this folder make, each as one thin function. Out of scope: any code
//! of weigh's own. What measures a thing must not be made of it, so the calls are written down here once more although
//! `kernel` has them: if both shared a function, whatever it cost would vanish from the comparison.
//!
//! Descriptors are plain numbers, as the kernel has them, and errors are panics at the caller's: a bare program that
//! hits anything unexpected is of no use as a floor, and shall say so and end.
//!
//! ```
//! use std::io::Write;
//!
//! let (listener, at) = bench::listen("127.0.0.1:0".parse().unwrap()).unwrap();
//! let mut client = std::net::TcpStream::connect(at).unwrap();
//! client.write_all(b"hello").unwrap();
//! let accepted = loop {
//!     if let Some(accepted) = bench::accept(listener).unwrap() {
//!         break accepted;
//!     }
//! };
//! let mut epoll = bench::Epoll::new().unwrap();
//! epoll.add(accepted, 7, bench::IN | bench::EDGE).unwrap();
//! assert_eq!(epoll.wait().unwrap(), 1);
//! assert_eq!(epoll.event(0).0, 7);
//! let mut buffer = [0; 16];
//! assert_eq!(bench::receive(accepted, &mut buffer).unwrap(), 5);
//! ```
#![allow(
    unsafe_code,
    reason = "system calls are unsafe, and these must not be those of the room that is measured"
)]

use socket2::{Domain, Socket, Type};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::time::{Duration, Instant};

/// Events that one wait takes at most; as many as weigh's.
const EVENTS: usize = 1024;

/// Connections that may wait to be accepted; the kernel lowers it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// Something can be received.
pub const IN: u32 = libc::EPOLLIN as u32;
/// Something can be sent, or a connect has succeeded.
pub const OUT: u32 = libc::EPOLLOUT as u32;
/// Each readiness is told once.
pub const EDGE: u32 = libc::EPOLLET as u32;
/// The socket is dead.
pub const BROKEN: u32 = libc::EPOLLERR as u32;

fn check(answer: libc::c_int) -> Result<libc::c_int> {
    match answer {
        -1 => Err(Error::last_os_error()),
        answer => Ok(answer),
    }
}

fn check_size(answer: libc::ssize_t) -> Result<usize> {
    usize::try_from(answer).map_err(|_| Error::last_os_error())
}

/// An epoll, and what its last wait found.
pub struct Epoll {
    fd: RawFd,
    events: Box<[libc::epoll_event]>,
}

impl Epoll {
    /// One that watches nothing yet.
    ///
    /// # Errors
    /// What epoll_create1 said.
    pub fn new() -> Result<Epoll> {
        // SAFETY: takes no memory of ours.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS].into_boxed_slice();
        Ok(Epoll { fd, events })
    }

    /// Watches `fd` for `interest`; its events carry `name`.
    ///
    /// # Errors
    /// What epoll_ctl said.
    pub fn add(&mut self, fd: RawFd, name: u64, interest: u32) -> Result<()> {
        let mut event = libc::epoll_event {
            events: interest,
            u64: name,
        };
        // SAFETY: `event` outlives the call.
        check(unsafe { libc::epoll_ctl(self.fd, libc::EPOLL_CTL_ADD, fd, &mut event) })?;
        Ok(())
    }

    /// Waits for events and says how many there are.
    ///
    /// # Errors
    /// What epoll_wait said, other than EINTR: strace interrupts a process that it begins to trace.
    #[inline]
    pub fn wait(&mut self) -> Result<usize> {
        let events = self.events.as_mut_ptr();
        loop {
            // SAFETY: the array has room for EVENTS.
            let found = unsafe { libc::epoll_wait(self.fd, events, EVENTS as libc::c_int, -1) };
            match check(found) {
                Ok(found) => return Ok(found as usize),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for events for at most `time`, exact to the nanosecond, and says how many there are.
    ///
    /// # Errors
    /// What epoll_pwait2 said, other than EINTR, which is no event.
    #[inline]
    pub fn wait_for(&mut self, time: Duration) -> Result<usize> {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(time.subsec_nanos()),
        };
        // SAFETY: the array has room for EVENTS, the time outlives the call, and no signal mask is given.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd,
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                ptr::from_ref(&time),
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        match check_size(found as libc::ssize_t) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(0),
            found => found,
        }
    }

    /// The name and the flags of event `index` of the last wait.
    #[inline]
    pub fn event(&self, index: usize) -> (u64, u32) {
        let event = self.events[index];
        (event.u64, event.events)
    }
}

/// A listening socket that does not block, and where it listens.
///
/// # Errors
/// What socket, bind or listen said.
pub fn listen(at: SocketAddr) -> Result<(RawFd, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    let at = socket.local_addr()?.as_socket();
    Ok((socket.into_raw_fd(), at.expect("it is an internet socket")))
}

/// One waiting connection, if there is one.
///
/// # Errors
/// What accept4 said, other than EAGAIN.
#[inline]
pub fn accept(listener: RawFd) -> Result<Option<RawFd>> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: null pointers say that the peer's address is not wanted.
    let answer = unsafe { libc::accept4(listener, ptr::null_mut(), ptr::null_mut(), flags) };
    match check(answer) {
        Ok(fd) => Ok(Some(fd)),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A new socket that has begun to connect.
///
/// # Errors
/// What socket or connect said, other than EINPROGRESS.
#[inline]
pub fn connect(to: SocketAddrV4) -> Result<RawFd> {
    // Both flags are part of the one call.
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into_raw_fd()),
    }
}

/// Sends `bytes`, and says how many of them were taken.
///
/// # Errors
/// What send said.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8]) -> Result<usize> {
    // SAFETY: pointer and length are those of a live slice.
    check_size(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Receives into `buffer`; zero is the end.
///
/// # Errors
/// What recv said.
#[inline]
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: pointer and length are those of a live, exclusive slice.
    check_size(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) })
}

/// Receives up to `size` bytes and leaves them in the kernel, which forgets them; zero is the end.
///
/// # Errors
/// What recv said.
#[inline]
pub fn discard(fd: RawFd, size: usize) -> Result<usize> {
    // SAFETY: with MSG_TRUNC Linux writes nothing to a TCP socket's receiver (tcp(7)), so a null pointer is sound.
    check_size(unsafe { libc::recv(fd, ptr::null_mut(), size, libc::MSG_TRUNC) })
}

/// Closes `fd`, which is not to be used again.
#[inline]
pub fn close(fd: RawFd) {
    // SAFETY: takes no memory of ours. Linux closes whatever close says, so there is nothing to do about an error.
    unsafe { libc::close(fd) };
}

/// Holds the calling thread, and what it starts from now on, on one CPU.
///
/// # Errors
/// What sched_setaffinity said: EINVAL where there is no such CPU for us.
pub fn pin(cpu: usize) -> Result<()> {
    assert!(cpu < libc::CPU_SETSIZE as usize, "no CPU has that number");
    // SAFETY: a set is plain old data, all zeroes is the empty one, and `cpu` is within it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the set outlives the call, and the size is its own.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) })?;
    Ok(())
}

/// Asks the kernel to end this thread's timed waits as exactly as it can: the default slack is 50 us.
pub fn tighten_waits() {
    // SAFETY: takes two numbers and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Asks the kernel to end this process when the thread that started it ends.
pub fn end_with_parent() {
    // SAFETY: takes two numbers and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Ends this process, or what it becomes by exec, after `seconds`, unless it sets an alarm of its own.
pub fn end_after(seconds: u32) {
    // SAFETY: takes a number and touches no memory; safe between fork and exec, too.
    unsafe { libc::alarm(seconds) };
}

/// What a process has cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time in its own code.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The most memory it held, in kilobytes. A process inherits its starter's peak, which is why a small one starts it.
    pub peak_kb: u64,
    /// As wait4 tells it: exit status and signal.
    pub status: i32,
}

/// Runs `command` to its end, at the latest after `seconds`, and says what it has cost, threads and waited-for children
/// included.
///
/// # Errors
/// It could not be started.
pub fn weigh_process(command: &mut Command, seconds: u32) -> Result<Cost> {
    // An alarm outlives exec, and needs no other process; a program that sets its own is bounded by that.
    let set_alarm = move || {
        end_after(seconds);
        Ok(())
    };
    // SAFETY: alarm is safe to call between fork and exec.
    unsafe { command.pre_exec(set_alarm) };
    let begun = Instant::now();
    let child = command.spawn()?;
    let id = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: the usage is plain old data, and all zeroes is one.
    let mut usage: libc::rusage = unsafe { zeroed() };
    // SAFETY: both places outlive the call.
    check(unsafe { libc::wait4(id, &mut status, 0, &mut usage) })?;
    Ok(Cost {
        wall: begun.elapsed(),
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        peak_kb: usage.ru_maxrss as u64,
        status,
    })
}

/// User and system time that the calling process has cost so far.
pub fn processor_time() -> (Duration, Duration) {
    // SAFETY: the usage is plain old data, and all zeroes is one.
    let mut usage: libc::rusage = unsafe { zeroed() };
    // SAFETY: the place outlives the call, which cannot fail with it.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

//! The system calls on one stream socket, each as a function that cannot be called wrongly.
//!
//! Descriptors are plain numbers here: the ring's table owns them, and an owning type per entry would only make the
//! table larger. Nothing here waits: sockets are opened non-blocking, but for those that only io_uring uses (which
//! would take non-blocking for a wish to be told EAGAIN); all are closed on exec.

use crate::files::{self, File};
use crate::stamps::{self, Control};
use crate::{Address, ConnectOptions, Errno, ListenOptions, address};
use libc::c_int;
use rustix::fs::Mode;
use socket2::{SockAddr, SockRef, Socket, Type};
use std::fs::Permissions;
use std::io::IoSlice;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Slices in one system call (UIO_MAXIOV of the kernel).
const SLICES: usize = 1024;
/// Bytes that are copied at once where sendfile is refused.
const COPIED: usize = 64 * 1024;
/// Connections that were gone before they were accepted, skipped in one call.
const ABORTED: usize = 64;

/// A new socket that has begun to connect.
pub(crate) fn connect(to: &Address, options: &ConnectOptions) -> Result<RawFd, Errno> {
    let (socket, raw) = prepared(to, options, Type::STREAM.nonblocking())?;
    match socket.connect(&raw).map_err(Errno::from) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(socket.into_raw_fd()),
        Err(error) => Err(error),
    }
}

/// A new socket that has everything but a connection, for io_uring to connect it to the address beside it. It would block:
/// the ring waits, in its own way.
pub(crate) fn unconnected(
    to: &Address,
    options: &ConnectOptions,
) -> Result<(RawFd, SockAddr), Errno> {
    let (socket, raw) = prepared(to, options, Type::STREAM)?;
    Ok((socket.into_raw_fd(), raw))
}

fn prepared(
    to: &Address,
    options: &ConnectOptions,
    kind: Type,
) -> Result<(Socket, SockAddr), Errno> {
    let raw = address::raw(to)?;
    let socket = Socket::new(raw.domain(), kind, None)?; // closed on exec
    if let Address::Ip(_) = to {
        if options.nodelay {
            socket.set_tcp_nodelay(true)?;
        }
        if let Some(source) = options.source {
            // Where the option is missing, binding still works, with fewer ports.
            let _ = set(
                socket.as_raw_fd(),
                libc::IPPROTO_IP,
                libc::IP_BIND_ADDRESS_NO_PORT,
                1,
            );
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
    }
    Ok((socket, raw))
}

/// A new listening socket, and where it listens.
pub(crate) fn listen(at: &Address, options: &ListenOptions) -> Result<(RawFd, Address), Errno> {
    let raw = address::raw(at)?;
    if let Address::Unix(path) = at
        && is_stale(path, &raw)
    {
        // Should this fail, bind says EADDRINUSE, which is the better message.
        let _ = std::fs::remove_file(path);
    }
    let socket = open(&raw)?;
    if let Address::Ip(_) = at {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        // Accepted sockets inherit both, which saves system calls for each, and lets stamps be there for bytes that
        // come before their connection is accepted.
        socket.set_tcp_nodelay(true)?;
        if options.stamps {
            set(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                1,
            )?;
        }
        if let Some(bytes) = options.send_buffer {
            // The kernel doubles it, for what it spends beside the bytes.
            socket.set_send_buffer_size(bytes as usize / 2)?;
        }
    }
    match (at, options.mode) {
        (Address::Unix(path), Some(mode)) => bind_with_mode(&socket, &raw, path, mode)?,
        _ => socket.bind(&raw)?,
    }
    socket.listen(c_int::try_from(options.backlog).unwrap_or(c_int::MAX))?;
    let at = address::read(&socket.local_addr()?)?;
    Ok((socket.into_raw_fd(), at))
}

/// Binds to `path` so that its file has `mode`. What the socket itself has limits what the file begins with (unix(7)
/// does not say so; Linux's unix_bind does it), and the umask may take more away, which is given back.
fn bind_with_mode(socket: &Socket, raw: &SockAddr, path: &Path, mode: u32) -> Result<(), Errno> {
    rustix::fs::fchmod(socket, Mode::from_raw_mode(mode))?;
    socket.bind(raw)?;
    Ok(std::fs::set_permissions(
        path,
        Permissions::from_mode(mode),
    )?)
}

/// Whether `path` is what a dead server left: a socket without a listener.
fn is_stale(path: &Path, raw: &SockAddr) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let Ok(probe) = open(raw) else {
        return false;
    };
    is_socket && probe.connect(raw).map_err(Errno::from) == Err(Errno::ECONNREFUSED)
}

/// Succeeds if no socket listens at `at`. Listeners of rings can share a port, so two servers could, too, each with a part
/// of the connections: a server that wants an address for itself calls this before it listens.
///
/// # Errors
/// EADDRINUSE when one listens, or when there is a file at the path that no listener may replace; what else bind
/// says (EADDRNOTAVAIL, EACCES, ...).
pub fn is_free(at: &Address) -> Result<(), Errno> {
    let raw = address::raw(at)?;
    if let Address::Unix(path) = at {
        let is_there = std::fs::symlink_metadata(path).is_ok();
        return match is_there && !is_stale(path, &raw) {
            true => Err(Errno::EADDRINUSE),
            false => Ok(()),
        };
    }
    let socket = open(&raw)?;
    // With it, connections that are still under way from an earlier listener do not count.
    socket.set_reuse_address(true)?;
    Ok(socket.bind(&raw)?)
}

/// One waiting connection of the listening socket `fd`, if there is one, and its peer's address.
pub(crate) fn accept(fd: RawFd) -> Result<Option<(RawFd, Option<SocketAddr>)>, Errno> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    for _ in 0..ABORTED {
        // SAFETY: both point to room for an address, and the length says how much; the call fills them.
        let accepted = unsafe {
            SockAddr::try_init(|address, length| {
                let accepted = libc::accept4(fd, address.cast(), length, flags);
                Ok(Errno::check(accepted)?)
            })
        };
        match accepted.map_err(Errno::from) {
            Ok((accepted, peer)) => return Ok(Some((accepted, peer.as_socket()))),
            Err(Errno::EAGAIN) => return Ok(None),
            Err(error) if !gone(error) => return Err(error),
            Err(_) => {}
        }
    }
    Err(Errno::ECONNABORTED)
}

/// Whether accept's error belongs to a connection that died while it waited (accept(2) lists them), not to us.
fn gone(error: Errno) -> bool {
    use Errno as E;
    let network = [E::ENETDOWN, E::ENETUNREACH, E::EHOSTDOWN, E::EHOSTUNREACH];
    let other = [E::ECONNABORTED, E::EINTR, E::EPROTO, E::ENOPROTOOPT];
    network.contains(&error) || other.contains(&error)
}

/// Sends what the socket takes of `slices`; zero when it takes nothing now.
#[inline]
pub(crate) fn send(fd: RawFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    match slices {
        [] => Ok(0),
        [one] => send_one(fd, one),
        several => send_several(fd, several),
    }
}

fn send_one(fd: RawFd, bytes: &[u8]) -> Result<usize, Errno> {
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: pointer and length are those of a live slice.
    let send = || unsafe { libc::send(fd, start, length, libc::MSG_NOSIGNAL) };
    taken(uninterrupted(send))
}

fn send_several(fd: RawFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    assert!(slices.len() <= SLICES, "more than one call takes");
    // SAFETY: msghdr is plain old data; all zeroes is a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // IoSlice is documented to have the layout of iovec; the kernel only reads through it.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    // SAFETY: the message's only pointer is to live slices.
    let send = || unsafe { libc::sendmsg(fd, &message, libc::MSG_NOSIGNAL) };
    taken(uninterrupted(send))
}

/// Sends what the socket takes of a part of `file`; zero when it takes nothing now, ENODATA when the file ends
/// before the part does. Where sendfile is refused, the part is copied. SIGPIPE must be ignored, as Rust's start leaves
/// it: there is no flag for it here.
pub(crate) fn send_file(fd: RawFd, file: &File, offset: u64, count: usize) -> Result<usize, Errno> {
    let mut offset = files::position(offset)?;
    let mut total = 0;
    // A file that is too short and a socket that is full look the same, but for the call after.
    while total < count {
        // SAFETY: `offset` outlives the call, which moves it on.
        let sent = unsafe { libc::sendfile64(fd, file.fd(), &mut offset, count - total) };
        match Errno::check_size(sent) {
            Ok(0) => return Err(Errno::ENODATA),
            Ok(taken) => total += taken,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => break,
            // A sandbox forbids the call (seccomp: EPERM or ENOSYS), or the file system cannot do it (EINVAL).
            Err(Errno::EPERM | Errno::ENOSYS | Errno::EINVAL) => {
                let (at, rest) = (offset as u64, count - total);
                return Ok(total + copy_file(fd, file, at, rest)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

/// As [`send_file`], through a buffer.
fn copy_file(fd: RawFd, file: &File, offset: u64, count: usize) -> Result<usize, Errno> {
    let mut buffer = vec![0; count.min(COPIED)];
    let mut total = 0;
    while total < count {
        let piece = &mut buffer[..(count - total).min(COPIED)];
        file.fill(offset + total as u64, piece)?;
        let taken = send_one(fd, piece)?;
        total += taken;
        if taken < piece.len() {
            break;
        }
    }
    Ok(total)
}

/// Receives into `buffer`; zero is the end of the stream, EAGAIN that nothing is there.
#[inline]
pub(crate) fn receive(fd: RawFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: pointer and length are those of a live, exclusive slice.
    uninterrupted(|| unsafe { libc::recv(fd, start, length, 0) })
}

/// As [`receive`], with the kernel's stamp in nanoseconds of CLOCK_REALTIME, if it gave one.
pub(crate) fn receive_stamped(fd: RawFd, buffer: &mut [u8]) -> Result<(usize, Option<u64>), Errno> {
    let mut control = Control::default();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain old data; all zeroes is a valid, empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    let got = uninterrupted(|| {
        message.msg_controllen = size_of::<Control>() as _;
        // SAFETY: every pointer in the message is to something live and exclusive, of the length beside it.
        unsafe { libc::recvmsg(fd, &mut message, 0) }
    })?;
    let length = (message.msg_controllen as usize).min(size_of::<Control>());
    Ok((got, stamps::read(&control.0[..length])))
}

/// Repeats a call for as long as signals interrupt it.
#[inline]
fn uninterrupted(mut call: impl FnMut() -> libc::ssize_t) -> Result<usize, Errno> {
    loop {
        match Errno::check_size(call()) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// What a send comes to that does not wait: nothing is taken where it would have to.
#[inline]
fn taken(answer: Result<usize, Errno>) -> Result<usize, Errno> {
    match answer {
        Err(Errno::EAGAIN) => Ok(0),
        other => other,
    }
}

/// The descriptor `fd`, lent to one call.
fn lent<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: the ring's table owns the descriptor, and does not close it within a call.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Ends the sending side, unless the token is free. That the socket may be dead already is no news to the owner.
pub(crate) fn shutdown(fd: RawFd) {
    if fd >= 0 {
        let _ = SockRef::from(&lent(fd)).shutdown(Shutdown::Write);
    }
}

/// Ends both sides: what has come can still be received, and then the end.
pub(crate) fn shutdown_both(fd: RawFd) {
    let _ = SockRef::from(&lent(fd)).shutdown(Shutdown::Both);
}

/// Makes the kernel give up on a peer that has acknowledged nothing for so long.
pub(crate) fn give_up_after(fd: RawFd, patience: Duration) {
    // Sockets other than TCP have no such option, and no such peers.
    let _ = SockRef::from(&lent(fd)).set_tcp_user_timeout(Some(patience));
}

/// Bytes that were sent and are not acknowledged; zero for what is no connection.
pub(crate) fn unacknowledged(fd: RawFd) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: `bytes` outlives the call, which fills it. (The name is that of terminals; it is SIOCOUTQ of sockets.)
    let answer = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
    Errno::check(answer).map_or(0, |_| usize::try_from(bytes).unwrap_or(0))
}

/// Has the kernel size the send buffer as it would have without [`ListenOptions::send_buffer`].
pub(crate) fn widen(fd: RawFd) {
    // Before Linux 5.14 no fixed size can be given up; the most that a program may ask for comes near it.
    if set(fd, libc::SOL_SOCKET, libc::SO_BUF_LOCK, 0).is_err() {
        let _ = set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, c_int::MAX / 2);
    }
}

/// Makes the next close send RST, throwing away what is under way.
pub(crate) fn abort_on_close(fd: RawFd) {
    // Fails only on what is no socket; then close does all there is to do.
    let _ = SockRef::from(&lent(fd)).set_linger(Some(Duration::ZERO));
}

/// Closes; the descriptor must not be used again.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: takes no memory of ours; the caller owns the descriptor and forgets it. On Linux it is closed whatever
    // close says, so there is nothing to retry.
    unsafe { libc::close(fd) };
}

/// The socket's pending error, which reading clears.
pub(crate) fn pending_error(fd: RawFd) -> Option<Errno> {
    match SockRef::from(&lent(fd)).take_error() {
        Ok(error) => error.map(Errno::from),
        Err(failed) => Some(failed.into()),
    }
}

fn open(at: &SockAddr) -> Result<Socket, Errno> {
    Ok(Socket::new(at.domain(), Type::STREAM.nonblocking(), None)?)
}

fn set(fd: RawFd, level: c_int, option: c_int, value: c_int) -> Result<(), Errno> {
    let length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: pointer and length are those of a live value; the kernel only reads it.
    let result = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) };
    Errno::check(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    fn option(fd: RawFd, level: c_int, option: c_int) -> c_int {
        let mut value: c_int = -1;
        let mut length = size_of::<c_int>() as libc::socklen_t;
        // SAFETY: as in `pending_error`.
        let result =
            unsafe { libc::getsockopt(fd, level, option, (&raw mut value).cast(), &mut length) };
        assert_eq!(result, 0);
        value
    }

    fn accept_soon(fd: RawFd) -> RawFd {
        let mut ready = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live pollfd.
        assert_eq!(unsafe { libc::poll(&mut ready, 1, 10_000) }, 1);
        accept(fd).unwrap().expect("poll said so").0
    }

    #[test]
    fn both_ends_of_a_connection_can_have_nodelay() {
        let (listener, at) =
            listen(&"127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
        for nodelay in [false, true] {
            let options = ConnectOptions {
                nodelay,
                ..ConnectOptions::default()
            };
            let client = connect(&at, &options).unwrap();
            let server = accept_soon(listener);
            let read = |fd| option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY) != 0;
            assert_eq!((read(client), read(server)), (nodelay, true));
            close(client);
            close(server);
        }
        close(listener);
    }

    #[test]
    fn what_the_peer_does_not_read_is_not_acknowledged_in_the_end() {
        let (listener, at) =
            listen(&"127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
        let client = connect(&at, &ConnectOptions::default()).unwrap();
        let server = accept_soon(listener);
        assert_eq!(unacknowledged(server), 0);
        let sent = fill(server);
        // What the client's side could not take waits here.
        let waits = unacknowledged(server);
        assert!(0 < waits && waits <= sent, "{waits} of {sent}");
        close(client);
        close(server);
        close(listener);
        assert_eq!(unacknowledged(-1), 0);
    }

    /// Sends until the socket takes no more; how much it took.
    fn fill(fd: RawFd) -> usize {
        let (piece, mut sent) = (vec![b'x'; 1 << 16], 0);
        while let Ok(taken) = send_one(fd, &piece)
            && taken > 0
        {
            sent += taken;
        }
        sent
    }

    #[test]
    fn a_send_buffer_is_as_large_as_its_listener_says_until_it_is_widened() {
        let options = ListenOptions {
            send_buffer: Some(64 * 1024),
            ..ListenOptions::default()
        };
        let (listener, at) = listen(&"127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let client = connect(&at, &ConnectOptions::default()).unwrap();
        let server = accept_soon(listener);
        assert_eq!(option(server, libc::SOL_SOCKET, libc::SO_SNDBUF), 64 * 1024);
        let little = fill(server);
        let waits = unacknowledged(server);
        assert!(waits <= 128 * 1024, "{waits} of {little}");
        // Before Linux 5.14 the buffer is the largest that may be asked for, at once; later it grows with use.
        widen(server);
        let mut buffer = vec![0; 1 << 20];
        let mut most = 0;
        for _ in 0..2000 {
            while receive(client, &mut buffer).is_ok_and(|length| length > 0) {}
            fill(server);
            most = most.max(unacknowledged(server));
        }
        assert!(most > 2 * waits, "{most} after {waits}");
        close(client);
        close(server);
        close(listener);
    }

    #[test]
    fn a_source_address_is_used_and_its_port_left_to_connect() {
        let (listener, at) =
            listen(&"127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
        let options = ConnectOptions {
            source: Some("127.0.0.77".parse().unwrap()),
            nodelay: false,
        };
        // SAFETY: the descriptor is new, so nothing else owns it.
        let client = unsafe { Socket::from_raw_fd(connect(&at, &options).unwrap()) };
        let from = client.local_addr().unwrap().as_socket().unwrap();
        assert_eq!(from.ip().to_string(), "127.0.0.77");
        assert_ne!(from.port(), 0);
        let late = libc::IP_BIND_ADDRESS_NO_PORT;
        assert_eq!(option(client.as_raw_fd(), libc::IPPROTO_IP, late), 1);
        close(listener);
    }

    #[test]
    fn a_source_that_is_not_ours_is_refused_at_once() {
        let options = ConnectOptions {
            source: Some("192.0.2.1".parse().unwrap()),
            nodelay: false,
        };
        let answer = connect(&"127.0.0.1:9".parse().unwrap(), &options);
        assert_eq!(answer, Err(Errno::EADDRNOTAVAIL));
    }

    #[test]
    fn an_address_is_free_when_nobody_listens_there() {
        let options = ListenOptions::default();
        let (listener, at) = listen(&"127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let Address::Ip(ip) = at else {
            panic!("not an IP socket");
        };
        let everywhere = Address::Ip(SocketAddr::from(([0, 0, 0, 0], ip.port())));
        assert_eq!(is_free(&at), Err(Errno::EADDRINUSE));
        assert_eq!(is_free(&everywhere), Err(Errno::EADDRINUSE));
        assert_eq!(
            is_free(&"192.0.2.1:0".parse().unwrap()),
            Err(Errno::EADDRNOTAVAIL)
        );
        // Asking changes nothing, and another worker may still join.
        let (second, _) = listen(&at, &options).unwrap();
        close(second);
        // A connection that is left over is no listener.
        let client = connect(&at, &ConnectOptions::default()).unwrap();
        let server = accept_soon(listener);
        close(listener);
        assert_eq!(is_free(&at), Ok(()));
        assert_eq!(is_free(&everywhere), Ok(()));
        close(client);
        close(server);
    }

    #[test]
    fn a_path_is_free_when_a_listener_may_take_it() {
        let folder = std::env::temp_dir().join(format!("kernel-free-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s");
        let at = Address::Unix(path.clone());
        assert_eq!(is_free(&at), Ok(()));
        let (alive, _) = listen(&at, &ListenOptions::default()).unwrap();
        assert_eq!(is_free(&at), Err(Errno::EADDRINUSE));
        close(alive);
        assert_eq!(is_free(&at), Ok(()));
        assert!(path.exists(), "asking removes nothing");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(is_free(&at), Err(Errno::EADDRINUSE));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_a_socket_that_nobody_listens_on_is_replaced() {
        let folder = std::env::temp_dir().join(format!("kernel-stale-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s");
        let at = Address::Unix(path.clone());
        let options = ListenOptions::default();

        let (alive, _) = listen(&at, &options).unwrap();
        assert_eq!(listen(&at, &options), Err(Errno::EADDRINUSE));
        close(alive);
        let (again, _) = listen(&at, &options).expect("the socket is stale now");
        close(again);

        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(listen(&at, &options), Err(Errno::EADDRINUSE));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

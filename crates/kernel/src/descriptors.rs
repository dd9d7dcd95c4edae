//! The table of descriptors, which threads share unless they say otherwise; and files that no call waits for.
//!
//! Where a table is shared, every system call on a descriptor takes and gives back a reference to its file, with two
//! atomic operations on memory that no other call needs. A thread that keeps its sockets to itself can do without. But
//! `/proc/PID/fd` shows the table of the process's first thread only, and from there `ss -p`, `lsof` and monitors know
//! which process has a socket. So what is to be seen is copied into that table, through a [`Showcase`].

use crate::Errno;
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Gives the calling thread a table of its own: a copy, so that what was open before stays open until both it and the
/// other threads have closed it. What it opens from now on no other thread can name, its end closes, and the limit on
/// open files counts for it alone. (unshare(2), CLONE_FILES; no privilege is needed.)
///
/// # Errors
/// ENOMEM, or EPERM of a container's filter: the table is still shared, which costs time and nothing else.
pub fn own() -> Result<(), Errno> {
    // SAFETY: takes no memory of ours; descriptors that others own stay valid, as the table is copied.
    Errno::check(unsafe { libc::unshare(libc::CLONE_FILES) }).map(drop)
}

/// Descriptors in one message: the kernel's limit (SCM_MAX_FD).
const PASSED: usize = 253;
/// Room for them in a message, in words, with the header in front.
const CONTROL: usize = PASSED * size_of::<RawFd>() / 8 + 4;

/// Copies of descriptors that other threads have in tables of their own, for all to see in the table of the thread that
/// has made it.
///
/// ```
/// use kernel::descriptors::{Showcase, own};
/// use std::os::fd::AsFd;
///
/// let mut showcase = Showcase::new()?;
/// let entrance = showcase.entrance();
/// let thread = std::thread::spawn(move || {
///     let is_own = own().is_ok();
///     let file = std::fs::File::open("/dev/null").unwrap();
///     if is_own {
///         entrance.show(&[file.as_fd()]).unwrap();
///     }
///     is_own
/// });
/// let wanted = usize::from(thread.join().unwrap());
/// assert_eq!(showcase.collect().len(), wanted);
/// # Ok::<(), kernel::Errno>(())
/// ```
#[derive(Debug)]
pub struct Showcase {
    inside: UnixStream,
    outside: UnixStream,
}

/// The way into a [`Showcase`] for a thread with a table of its own.
#[derive(Debug, Clone, Copy)]
pub struct Entrance {
    inside: RawFd,
    outside: RawFd,
}

impl Showcase {
    /// An empty one. Threads that are to show something must be started after this.
    ///
    /// # Errors
    /// EMFILE, ENFILE or ENOMEM.
    pub fn new() -> Result<Showcase, Errno> {
        let (inside, outside) = UnixStream::pair()?;
        Ok(Showcase { inside, outside })
    }

    /// The way in, for as long as the showcase is there.
    pub fn entrance(&self) -> Entrance {
        Entrance {
            inside: self.inside.as_raw_fd(),
            outside: self.outside.as_raw_fd(),
        }
    }

    /// Everything that was shown until now and is not collected yet, as far as this thread's table has room.
    pub fn collect(&mut self) -> Vec<OwnedFd> {
        let mut all = Vec::new();
        while receive(self.inside.as_raw_fd(), &mut all) {}
        all
    }
}

impl Entrance {
    /// Shows these, and closes the way for the calling thread, which must have succeeded with [`own`] since it was
    /// started. Never waits.
    ///
    /// # Errors
    /// EAGAIN when there is no room for more, EINVAL for more than 253.
    pub fn show(self, descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let raw: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        let answer = send(self.outside, &raw);
        for copy in [self.inside, self.outside] {
            // SAFETY: in this thread's own table these are copies that nothing else knows of, and they are used no more.
            unsafe { libc::close(copy) };
        }
        answer
    }
}

/// The one byte that every message has.
fn part(byte: &mut u8) -> libc::iovec {
    libc::iovec {
        iov_base: (&raw mut *byte).cast(),
        iov_len: 1,
    }
}

/// A message of `part` with room for descriptors. It points to both, which must outlive its use.
fn message(part: &mut libc::iovec, control: &mut [u64; CONTROL]) -> libc::msghdr {
    // SAFETY: msghdr is plain old data; all zeroes is a valid, empty message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut *part, 1);
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(control) as _;
    message
}

/// Sends descriptors, with the one byte that every message has.
fn send(to: RawFd, descriptors: &[RawFd]) -> Result<(), Errno> {
    if descriptors.len() > PASSED {
        return Err(Errno::EINVAL);
    }
    let bytes = size_of_val(descriptors);
    let mut control = [0u64; CONTROL];
    let mut byte = b'x';
    let mut part = part(&mut byte);
    let mut message = message(&mut part, &mut control);
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute. `control` is aligned for a header and larger than one with PASSED
    // descriptors behind it, so what CMSG_FIRSTHDR and CMSG_DATA point to is in it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(bytes as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(bytes as u32) as _;
        let data = libc::CMSG_DATA(header);
        std::ptr::copy_nonoverlapping(descriptors.as_ptr().cast(), data, bytes);
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer in the message is to something live, of the length beside it; the kernel only reads.
    Errno::check_size(unsafe { libc::sendmsg(to, &raw const message, flags) }).map(drop)
}

/// Receives one message and adds the descriptors in it. Says whether there was one.
fn receive(from: RawFd, all: &mut Vec<OwnedFd>) -> bool {
    let mut control = [0u64; CONTROL];
    let mut byte = 0u8;
    let mut part = part(&mut byte);
    let mut message = message(&mut part, &mut control);
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: every pointer in the message is to something live and exclusive, of the length beside it.
    let got = unsafe { libc::recvmsg(from, &raw mut message, flags) };
    if Errno::check_size(got) != Ok(1) {
        return false;
    }
    // SAFETY: the kernel has filled `control` and said how far; the macros stay within that. What SCM_RIGHTS carries are
    // descriptors that are new in this table, so nothing else owns them.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if let Some(header) = header.as_ref()
            && (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
        {
            let length: usize = header.cmsg_len as _; // socklen_t with musl
            let bytes = length - libc::CMSG_LEN(0) as usize;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            for place in 0..bytes / size_of::<RawFd>() {
                all.push(OwnedFd::from_raw_fd(data.add(place).read_unaligned()));
            }
        }
    }
    true
}

/// Opens a file for appending, made if it is not there, such that neither opening nor writing ever waits: a
/// pipe without a reader cannot be opened (ENXIO), and one whose reader has stopped takes no more (EAGAIN).
///
/// # Errors
/// What the system said.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, libc::O_NONBLOCK)
}

fn open(path: &Path, flags: i32) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true);
    options.custom_flags(flags).open(path)
}

/// As [`append`], but of what `path` itself names and nothing else does, so that a user who may write in its folder
/// cannot have another file opened by linking to it.
///
/// # Errors
/// ELOOP for a symbolic link, and for a regular file with several hard links; otherwise as [`append`].
pub fn append_unlinked(path: &Path) -> io::Result<File> {
    let file = open(path, libc::O_NONBLOCK | libc::O_NOFOLLOW)?;
    let facts = file.metadata()?;
    match facts.is_file() && facts.nlink() != 1 {
        true => Err(io::Error::from_raw_os_error(libc::ELOOP)),
        false => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn nobody_waits_for_a_pipe_without_a_reader_or_with_one_that_has_stopped() {
        let path = std::env::temp_dir().join(format!("weigh-pipe-{}", std::process::id()));
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let refused = append(&path).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENXIO));
        let _reader = File::options().read(true).write(true).open(&path).unwrap();
        let mut pipe = append(&path).unwrap();
        let full = std::iter::repeat_with(|| pipe.write(&[b'x'; 4096]))
            .find_map(Result::err)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn what_is_shown_is_in_the_table_of_the_one_who_collects_and_the_way_is_closed_behind_it() {
        let mut showcase = Showcase::new().unwrap();
        let threads = [0, 1, 2, 253, 254].map(|count| {
            let entrance = showcase.entrance();
            std::thread::spawn(move || {
                own().unwrap();
                let files: Vec<File> = (0..count)
                    .map(|_| File::open("/dev/zero").unwrap())
                    .collect();
                let shown: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
                let answer = entrance.show(&shown);
                let is_closed = [entrance.inside, entrance.outside]
                    .iter()
                    // SAFETY: asks for flags of a number, which need not be a descriptor.
                    .all(|way| unsafe { libc::fcntl(*way, libc::F_GETFD) } == -1);
                (answer, is_closed)
            })
        });
        let answers = threads.map(|thread| thread.join().unwrap());
        let mut wanted = [(Ok(()), true); 5];
        wanted[4].0 = Err(Errno::EINVAL);
        assert_eq!(answers, wanted);
        let all = showcase.collect();
        assert_eq!(all.len(), 1 + 2 + 253);
        for file in &all {
            let path = format!("/proc/thread-self/fd/{}", file.as_raw_fd());
            assert_eq!(std::fs::read_link(path).unwrap(), Path::new("/dev/zero"));
            // SAFETY: asks for flags of a descriptor that is ours.
            let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFD) };
            assert_eq!(flags, libc::FD_CLOEXEC);
        }
        assert!(showcase.collect().is_empty());
    }

    #[test]
    fn what_a_thread_opens_in_a_table_of_its_own_no_other_thread_sees() {
        let opened = |own_table: bool| {
            let (say, hear) = std::sync::mpsc::channel();
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                if own_table {
                    own().unwrap();
                }
                // Far above what other tests open at the same time.
                let file = File::open("/dev/null").unwrap();
                // SAFETY: a new descriptor made of one that we own.
                let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 700) };
                say.send(high).unwrap();
                let _ = wait.recv();
                // SAFETY: ours, closed once.
                unsafe { libc::close(high) };
            });
            let high = hear.recv().unwrap();
            let is_seen = Path::new(&format!("/proc/self/fd/{high}")).exists();
            drop(go);
            thread.join().unwrap();
            (high >= 700, is_seen)
        };
        assert_eq!(opened(false), (true, true));
        assert_eq!(opened(true), (true, false));
    }
}

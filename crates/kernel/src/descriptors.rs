//! The table of descriptors, which threads share unless they say otherwise; and files that no call waits for.
//!
//! Where a table is shared, every system call on a descriptor takes and gives back a reference to its file, with two
//! atomic operations on memory that no other call needs. A thread that keeps its sockets to itself can do without. But
//! `/proc/PID/fd` shows the table of the process's first thread only, and from there `ss -p`, `lsof` and monitors know
//! which process has a socket. So what is to be seen is copied into that table, through a [`Showcase`].

use crate::Errno;
use rustix::cmsg_space;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
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
/// Room for them in a message.
const CONTROL: usize = cmsg_space!(ScmRights(PASSED));

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
        while receive(&self.inside, &mut all) {}
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
        let [_inside, outside] = [self.inside, self.outside].map(|copy| {
            // SAFETY: in this thread's own table these are copies that nothing else knows of, and they are used no more.
            unsafe { OwnedFd::from_raw_fd(copy) }
        });
        let mut space = [MaybeUninit::uninit(); CONTROL];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::EINVAL);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(outside, &[IoSlice::new(b"x")], &mut control, flags)?;
        Ok(())
    }
}

/// Receives one message and adds the descriptors in it. Says whether there was one.
fn receive(from: &UnixStream, all: &mut Vec<OwnedFd>) -> bool {
    let mut space = [MaybeUninit::uninit(); CONTROL];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let parts = &mut [IoSliceMut::new(&mut byte)];
    let got = recvmsg(from, parts, &mut control, flags);
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            all.extend(descriptors);
        }
    }
    got.is_ok_and(|got| got.bytes == 1)
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

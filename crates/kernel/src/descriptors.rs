//! The table of descriptors, which threads share unless they say otherwise; and files that nobody waits for.
//!
//! Where a table is shared, every system call on a descriptor takes and gives back a reference to its file, with two
//! atomic operations on memory that no other call needs. A thread that keeps its sockets to itself can do without.

use crate::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
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

/// Opens a file for appending, made if it is not there, such that neither opening nor writing ever waits for anybody: a
/// pipe that nobody reads cannot be opened (ENXIO), and one whose reader has stopped takes no more (EAGAIN).
///
/// # Errors
/// What the system said.
pub fn append(path: &Path) -> io::Result<File> {
    File::options()
        .append(true)
        .create(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::Write;
    use std::os::fd::AsRawFd;
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

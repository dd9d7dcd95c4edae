//! The table of descriptors, which threads share unless they say otherwise.
//!
//! Where a table is shared, every system call on a descriptor takes and gives back a reference to its file, with two
//! atomic operations on memory that no other call needs. A thread that keeps its sockets to itself can do without.

use crate::Errno;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::path::Path;

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

//! The kernel's error numbers, as a value that can be counted, compared and shown.
//!
//! `std::io::Error` is neither `Copy` nor `Eq`, and its text differs between C libraries; a record needs a stable name.

use std::fmt;

/// An error number of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// What the calling thread's last failed system call said.
    pub fn last() -> Errno {
        Errno::from(std::io::Error::last_os_error())
    }

    /// The constant's name, such as `ECONNREFUSED`; `E?` for one that is not in the table.
    pub fn name(self) -> &'static str {
        self.row().map_or("E?", |row| row.1)
    }

    fn row(self) -> Option<&'static (i32, &'static str, &'static str)> {
        TABLE.iter().find(|row| row.0 == self.0)
    }

    /// The result of a system call that returns a negative number and sets `errno` when it fails.
    pub(crate) fn check(result: libc::c_int) -> Result<libc::c_int, Errno> {
        if result < 0 {
            Err(Errno::last())
        } else {
            Ok(result)
        }
    }

    /// As [`Errno::check`], for calls that return a number of bytes.
    pub(crate) fn check_size(result: libc::ssize_t) -> Result<usize, Errno> {
        usize::try_from(result).map_err(|_| Errno::last())
    }
}

/// Constants, names and sentences in one place, so that they cannot disagree.
macro_rules! table {
    ($($name:ident $text:literal),* $(,)?) => {
        impl Errno {
            $(#[doc = concat!("The kernel says: ", $text, ".")]
            pub const $name: Errno = Errno(libc::$name);)*
        }
        const TABLE: &[(i32, &str, &str)] = &[$((libc::$name, stringify!($name), $text)),*];
    };
}

table! {
    EPERM "operation not permitted",
    ENOENT "no such file or directory",
    ESRCH "no such process",
    EINTR "interrupted by a signal",
    EIO "input or output error",
    ENXIO "no such device or address",
    EBADF "bad file descriptor",
    ECHILD "no such child process",
    EAGAIN "temporarily not possible",
    ENOMEM "out of memory",
    EACCES "permission denied",
    EEXIST "file exists",
    EXDEV "it leads out of where it may lead",
    ENOTDIR "not a directory",
    EISDIR "is a directory",
    EINVAL "invalid argument",
    ENFILE "too many open files in the system",
    EMFILE "too many open files in this process",
    ENOSPC "no space left",
    EROFS "read-only file system",
    EPIPE "broken pipe",
    ENAMETOOLONG "name too long",
    ENOSYS "not implemented by this kernel",
    ELOOP "too many symbolic links",
    ENODATA "no data available",
    EOVERFLOW "value too large",
    ESTALE "stale file handle",
    EPROTO "protocol error",
    ENOTSOCK "not a socket",
    EPROTOTYPE "wrong type of socket",
    ENOPROTOOPT "no such socket option",
    EPROTONOSUPPORT "protocol not supported",
    EOPNOTSUPP "operation not supported",
    EAFNOSUPPORT "address family not supported",
    EADDRINUSE "address already in use",
    EADDRNOTAVAIL "address not available",
    ENETDOWN "network is down",
    ENETUNREACH "network unreachable",
    ECONNABORTED "connection aborted",
    ECONNRESET "connection reset by peer",
    ENOBUFS "no buffer space available",
    EISCONN "already connected",
    ENOTCONN "not connected",
    ETIMEDOUT "connection timed out",
    ECONNREFUSED "connection refused",
    EHOSTDOWN "host is down",
    EHOSTUNREACH "host unreachable",
    EALREADY "already in progress",
    EINPROGRESS "in progress",
    ECANCELED "operation cancelled",
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.2),
            None => write!(f, "system error {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.1),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

impl std::error::Error for Errno {}

impl From<std::io::Error> for Errno {
    /// An error that no system call made becomes EIO.
    fn from(error: std::io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::EIO, Errno)
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Errno {
        Errno(errno.raw_os_error())
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> std::io::Error {
        std::io::Error::from_raw_os_error(errno.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_name_and_its_sentence() {
        let cases: &[(Errno, &str, &str)] = &[
            (Errno::ECONNREFUSED, "ECONNREFUSED", "connection refused"),
            (
                Errno::EMFILE,
                "EMFILE",
                "too many open files in this process",
            ),
            (Errno(9999), "E?", "system error 9999"),
        ];
        for (errno, name, text) in cases {
            assert_eq!(errno.name(), *name);
            assert_eq!(errno.to_string(), *text);
        }
    }

    #[test]
    fn no_number_is_in_the_table_twice() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(
                TABLE[..index].iter().all(|other| other.0 != row.0),
                "{}",
                row.1
            );
        }
    }
}

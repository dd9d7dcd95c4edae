//! Why there is no server: everything that can be wrong with what one is to be, or with the machine.

use kernel::{Address, Errno};
use std::path::PathBuf;

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A number in the configuration is out of its range.
    #[error("{what} must be from 1 to {most}, not {given}")]
    Range {
        /// Which.
        what: &'static str,
        /// What it was.
        given: u64,
        /// What it may be.
        most: u64,
    },
    /// A time in the configuration is zero, so that everybody would be late.
    #[error("{what} must be longer than nothing")]
    Span {
        /// Which.
        what: &'static str,
    },
    /// A worker did not get its ring.
    #[error("a worker cannot be set up: {0}")]
    Ring(Errno),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Where.
        address: Address,
        /// What the kernel said; EADDRINUSE also when a server that shares its port listens there.
        error: Errno,
    },
    /// Two of the addresses are one, or the operator's is among those of the clients: with a shared port the kernel would
    /// give each of both a part of the connections.
    #[error("cannot listen at both {address} and {other}; give one of them another port")]
    Shared {
        /// The one.
        address: Address,
        /// The other.
        other: Address,
    },
    /// The folder cannot be served.
    #[error("cannot serve the folder {}: {error}{}", path.display(), unsafe_here(*error))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        error: Errno,
    },
    /// The log cannot be written.
    #[error("cannot append to the log {}: {error}", path.display())]
    Log {
        /// Where it was to be.
        path: PathBuf,
        /// What the kernel said.
        error: Errno,
    },
    /// The log is a link, and the user that the server runs as would become the owner of the file behind it.
    #[error(
        "the log {} must be neither a symbolic link nor a file with several hard links, since --user makes another user its owner",
        path.display()
    )]
    LinkedLog {
        /// Where it was to be.
        path: PathBuf,
    },
    /// A header line cannot be added to responses.
    #[error("the header `{name}` cannot be added: {why}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server is to run as a user that does not exist.
    #[error("there is no user `{name}`")]
    NoUser {
        /// What it was to be called.
        name: String,
    },
    /// The server cannot become the user it is to run as.
    #[error("cannot run as the user `{name}`: {error}{}", as_root(*error))]
    User {
        /// Which.
        name: String,
        /// What the kernel said.
        error: Errno,
    },
    /// A file cannot be given to the user that the server runs as.
    #[error("cannot give {} to the user that the server runs as: {error}", path.display())]
    Owner {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        error: Errno,
    },
    /// A thread cannot be started.
    #[error("a worker thread cannot be started: {0}")]
    Thread(Errno),
}

/// What is to be said where the kernel cannot hold the border of a folder.
fn unsafe_here(error: Errno) -> &'static str {
    match error {
        Errno::ENOSYS | Errno::EPERM => {
            " (openat2, without which files outside of it could be reached, is missing or forbidden here)"
        }
        _ => "",
    }
}

/// What is to be said where a process may not become another user.
fn as_root(error: Errno) -> &'static str {
    match error {
        Errno::EPERM => " (the server has to be started as root for that)",
        _ => "",
    }
}

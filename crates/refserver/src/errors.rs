//! Why there is no server: everything that can be wrong with its configuration, or with the machine.

use kernel::{Address, Errno};

/// Why there is no server, in a sentence: what is wrong with its configuration, or what the kernel refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServeError(String);

impl ServeError {
    /// Returns an error with this sentence.
    pub fn new(sentence: String) -> ServeError {
        ServeError(sentence)
    }

    /// Checks that a number in the configuration is from 1 to `most`.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check(what: &str, given: u32, most: u32) -> Result<(), ServeError> {
        match (1..=most).contains(&given) {
            true => Ok(()),
            false => Err(ServeError::range(what, given.into(), most.into())),
        }
    }

    /// Returns the error for a number in the configuration that is not from 1 to `most`.
    pub fn range(what: &str, given: u64, most: u64) -> ServeError {
        ServeError(format!("{what} must be from 1 to {most}, not {given}"))
    }

    /// Returns the error for a worker that did not get its ring.
    pub fn ring(error: Errno) -> ServeError {
        ServeError(format!("a worker cannot be set up: {error}"))
    }

    /// Returns the error for an address that cannot be listened at: EADDRINUSE also when a server that shares its port
    /// listens there.
    pub fn listen(address: &Address, error: Errno) -> ServeError {
        ServeError(format!("cannot listen at {address}: {error}"))
    }

    /// Returns the error for a thread that cannot be started.
    pub fn thread(error: std::io::Error) -> ServeError {
        let error = Errno::from(error);
        ServeError(format!("a worker thread cannot be started: {error}"))
    }
}

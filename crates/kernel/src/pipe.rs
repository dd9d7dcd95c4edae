//! Pipes that a path names (a FIFO, a shell's `<(...)`), read to their end. A pipe that no process writes to is given
//! up after a while: to open it in the usual way would wait for a writer for ever.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a pipe is looked at that holds nothing yet.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Copies all that comes through the pipe at `path` into `into`, until its last writer has closed it, and returns how
/// many bytes that were. Waits up to `patience` for a writer, and for what a writer has to say as long as it takes.
///
/// # Errors
/// `NotConnected` when there is no writer, `FileTooLarge` for more than `limit` bytes, and whatever the kernel says.
pub fn copy(path: &Path, into: &mut impl Write, limit: u64, patience: Duration) -> Result<u64> {
    let mut options = OpenOptions::new();
    let mut pipe = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let deadline = Instant::now() + patience;
    let mut buffer = vec![0; 64 * 1024];
    let (mut total, mut has_writer) = (0, false);
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) if has_writer => return Ok(total),
            Ok(0) if Instant::now() >= deadline => return Err(ErrorKind::NotConnected.into()),
            Ok(0) => std::thread::park_timeout(LOOK_EVERY),
            Ok(length) => {
                has_writer = true;
                total += length as u64;
                if total > limit {
                    return Err(ErrorKind::FileTooLarge.into());
                }
                into.write_all(&buffer[..length])?;
            }
            Err(error) => has_writer |= waits(error)?,
        }
    }
}

/// Waits a moment where `error` says that a writer has said nothing yet, and returns whether there is a writer.
fn waits(error: Error) -> Result<bool> {
    match error.kind() {
        ErrorKind::WouldBlock => {
            std::thread::park_timeout(LOOK_EVERY);
            Ok(true)
        }
        ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}

//! Lines or records on their way to a file: gathered, and written many at a time by the thread that serves.
//!
//! What cannot be written (a full disk) is kept in order up to a limit, so that no line is ever torn: what was written in
//! part is finished first. Beyond the limit the caller counts what is lost; serving goes on.

use std::io::{self, BufWriter, Write};
use units::{Instant, Nanos};

/// Written when so much has come together: 16 KiB are copied in some 3 us,
const FULL: usize = 16 * 1024;
/// or when so much time has passed.
const PERIOD: Nanos = Nanos::from_secs(1);
/// Kept while nothing can be written.
pub(crate) const LIMIT: usize = 256 * 1024;
/// Longer than any line: a field is cut at 2 KiB, and a byte of it becomes four at most.
const LINE: usize = 32 * 1024;

/// Gathers lines or records for a file.
pub struct Appender {
    /// Has room for one more line beyond the limit, so that adding one never writes.
    out: BufWriter<Box<dyn Write + Send>>,
    /// When the next write happens, however little there is.
    due: Instant,
    is_failing: bool,
}

impl Appender {
    /// Returns an appender that first writes a second after `start`, or when there is enough.
    pub fn new(to: Box<dyn Write + Send>, start: Instant) -> Appender {
        Appender {
            out: BufWriter::with_capacity(LIMIT + LINE, to),
            due: start + PERIOD,
            is_failing: false,
        }
    }

    /// Returns where to write one more line or record, of at most 32 KiB; none if too much is waiting.
    pub fn line(&mut self) -> Option<&mut impl Write> {
        (self.out.buffer().len() < LIMIT).then_some(&mut self.out)
    }

    /// Writes what there is if it is enough, unless the file takes nothing; that is tried again a second later.
    ///
    /// # Errors
    /// Not all of it could be written.
    pub fn end_line(&mut self) -> io::Result<()> {
        if self.out.buffer().len() >= FULL && !self.is_failing {
            return self.flush();
        }
        Ok(())
    }

    /// Writes what has waited for a second.
    ///
    /// # Errors
    /// Not all of it could be written.
    #[inline]
    pub fn tick(&mut self, now: Instant) -> io::Result<()> {
        if now >= self.due {
            self.due = now + PERIOD;
            return self.flush();
        }
        Ok(())
    }

    /// Writes what there is.
    ///
    /// # Errors
    /// Not all of it could be written.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.out.flush();
        self.is_failing = written.is_err();
        written
    }

    /// Returns what is not written.
    pub fn unwritten(&self) -> &[u8] {
        self.out.buffer()
    }

    /// Writes to another file from now on.
    pub(crate) fn redirect(&mut self, to: Box<dyn Write + Send>) {
        *self.out.get_mut() = to;
    }
}

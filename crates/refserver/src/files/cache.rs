//! Which files there are, as was seen at most a second ago, and those of them that are kept open.
//!
//! A file that was looked at is believed for a second; then it is opened again by its name and compared with what is
//! open. So a file that was replaced is seen after a second, whatever was done to it, and nothing has to be watched.
//! How many are kept is bounded three times: rows, descriptors, bytes in memory. What has to make room is closed even if
//! a response was chosen and not yet made (that one looks again); only what is being sent stays open until it is sent.

use super::cached_file::{CachedFile, Copy, LibraryOptions};
use super::encodings::CODINGS;
use super::table::Table;
use super::types;
use crate::resources::FixedResponse;
use kernel::Errno;
use kernel::files::{Kind, Root};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use units::{Instant, Nanos};

/// How long what was seen on disk is believed.
const FRESH: Nanos = Nanos::from_secs(1);
/// Files that are known, whether their contents are in memory or they are open. A row takes some 1.5 KB.
const KNOWN_LIMIT: usize = 4096;
/// Names that are known to be missing. They have a table of their own, so that requests for many of them do not evict
/// files.
const MISSING_LIMIT: usize = 256;
/// Longer names are not remembered as missing; so that table takes at most some 100 KB.
pub(crate) const MISSING_NAME_LIMIT: usize = 256;

/// What one worker knows of a folder.
#[derive(Debug)]
pub(crate) struct Library {
    root: Root,
    pub(super) options: LibraryOptions,
    /// The time of day since 1970-01-01 UTC.
    wall: fn() -> Duration,
    known: Table<Entry>,
    /// Until when they are believed to be missing.
    missing: Table<Instant>,
    /// What all of `known` holds open.
    files: usize,
    /// What all of `known` holds in memory.
    bytes: u64,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    File(Rc<CachedFile>),
    Folder {
        /// Believed until then.
        until: Instant,
    },
}

impl Entry {
    #[inline]
    fn is_fresh(&self, now: Instant) -> bool {
        match self {
            Entry::File(cached) => cached.is_fresh(now),
            Entry::Folder { until } => now < *until,
        }
    }

    fn holds(&self) -> (usize, u64) {
        match self {
            Entry::File(cached) => cached.holds(),
            Entry::Folder { .. } => (0, 0),
        }
    }
}

impl Library {
    /// Serves what is below `root`; `wall` is the time of day.
    ///
    /// # Errors
    /// The folder cannot be opened, or the kernel cannot ensure that nothing outside of it is reached.
    pub(crate) fn open(
        root: &Path,
        options: &LibraryOptions,
        wall: fn() -> Duration,
    ) -> Result<Library, Errno> {
        Ok(Library {
            root: Root::open(root)?,
            options: options.clone(),
            wall,
            known: Table::new(KNOWN_LIMIT),
            missing: Table::new(MISSING_LIMIT),
            files: 0,
            bytes: 0,
        })
    }

    /// How many descriptors and how many bytes of contents are held.
    #[cfg(test)]
    pub(crate) fn holds(&self) -> (usize, u64) {
        (self.files, self.bytes)
    }

    /// Forgets all files. Those that are being sent stay open.
    pub(crate) fn close_files(&mut self) {
        for gone in self.known.clear() {
            if let Entry::File(cached) = gone {
                cached.close();
            }
        }
        (self.files, self.bytes) = (0, 0);
    }

    /// What `path` leads to, as was seen at most a second ago.
    #[inline]
    pub(crate) fn entry(&mut self, path: &[u8], now: Instant) -> Result<Entry, FixedResponse> {
        if let Some(entry) = self.known.find(path)
            && entry.is_fresh(now)
        {
            return Ok(entry.clone());
        }
        if let Some(until) = self.missing.find(path)
            && now < *until
        {
            return Err(FixedResponse::Missing);
        }
        self.look(path, now)
    }

    /// What `path` leads to now; remembers it.
    pub(crate) fn look(&mut self, path: &[u8], now: Instant) -> Result<Entry, FixedResponse> {
        let until = now + FRESH;
        let copies = match self.open_at_any_price(path) {
            Ok(copies) => copies,
            Err(error) => return self.fail(path, refusal(error), until),
        };
        let entry = match copies[0].1.facts().kind {
            Kind::Regular => {
                let wall = (self.wall)();
                if let Some(Entry::File(cached)) = self.known.find(path)
                    && cached.is_made_of(&copies, wall)
                {
                    cached.set_fresh(until);
                    return Ok(Entry::File(Rc::clone(cached)));
                }
                let cached = CachedFile::new(path, copies, &self.options, wall);
                cached.set_fresh(until);
                Entry::File(Rc::new(cached))
            }
            Kind::Folder => Entry::Folder { until },
            Kind::Other => return self.fail(path, FixedResponse::Missing, until),
        };
        self.remember(path, entry.clone());
        Ok(entry)
    }

    /// As [`Library::look`], for what was a file when it was last looked at.
    pub(crate) fn file(
        &mut self,
        path: &[u8],
        now: Instant,
    ) -> Result<Rc<CachedFile>, FixedResponse> {
        match self.look(path, now)? {
            Entry::File(cached) => Ok(cached),
            Entry::Folder { .. } => Err(FixedResponse::Busy),
        }
    }

    /// `path` cannot be opened.
    fn fail(
        &mut self,
        path: &[u8],
        fixed: FixedResponse,
        until: Instant,
    ) -> Result<Entry, FixedResponse> {
        if fixed == FixedResponse::Busy
            && let Some(Entry::File(cached)) = self.known.find(path)
        {
            // Better what was right a second ago than nothing.
            cached.set_fresh(until);
            return Ok(Entry::File(Rc::clone(cached)));
        }
        if let Some(gone) = self.known.remove(path) {
            self.subtract(&gone);
        }
        if fixed == FixedResponse::Missing && path.len() <= MISSING_NAME_LIMIT {
            self.missing.put(path, until);
        }
        Err(fixed)
    }

    /// Opens a file that is not known even if all others have to be closed for it.
    fn open_at_any_price(&mut self, path: &[u8]) -> Result<Vec<Copy>, Errno> {
        match self.open_copies(path) {
            Err(error) if is_shortage(error) && self.known.find(path).is_none() => {
                self.close_files();
                self.open_copies(path)
            }
            other => other,
        }
    }

    /// The file and those of its compressed copies that are not older.
    fn open_copies(&self, path: &[u8]) -> Result<Vec<Copy>, Errno> {
        let file = self.root.file(path)?;
        let facts = file.facts();
        let mut copies = vec![(None, file)];
        if facts.kind != Kind::Regular || types::of(path).is_packed {
            return Ok(copies);
        }
        for coding in CODINGS {
            let file = match self.root.file(&[path, coding.suffix()].concat()) {
                Ok(file) => file,
                Err(error) if is_shortage(error) => return Err(error),
                Err(_) => continue,
            };
            let copy = file.facts();
            if copy.kind == Kind::Regular && copy.modified >= facts.modified {
                copies.push((Some(coding), file));
            }
        }
        Ok(copies)
    }

    fn remember(&mut self, path: &[u8], entry: Entry) {
        let (files, bytes) = entry.holds();
        if let Some(old) = self.known.remove(path) {
            // It stays open for responses that use it: there is a newer one of the same name, and no more.
            self.subtract(&old);
        }
        while self.files + files > self.options.open_files
            || self.bytes + bytes > self.options.cache
        {
            match self.known.evict() {
                Some(gone) => self.give_up(&gone),
                None => break,
            }
        }
        if let Some(gone) = self.known.put(path, entry) {
            self.give_up(&gone);
        }
        self.files += files;
        self.bytes += bytes;
    }

    fn give_up(&mut self, gone: &Entry) {
        self.subtract(gone);
        if let Entry::File(cached) = gone {
            cached.close();
        }
    }

    fn subtract(&mut self, gone: &Entry) {
        let (files, bytes) = gone.holds();
        self.files -= files;
        self.bytes -= bytes;
    }
}

/// The response where a file cannot be opened. What leads out of the root, through a link or otherwise, is not there.
fn refusal(error: Errno) -> FixedResponse {
    match error {
        Errno::EACCES | Errno::EPERM => FixedResponse::Forbidden,
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::EAGAIN => FixedResponse::Busy,
        Errno::EIO | Errno::ESTALE => FixedResponse::Broken,
        _ => FixedResponse::Missing,
    }
}

/// Not for want of the file, but of room to open it.
fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_told_without_telling_what_is_outside() {
        let cases = [
            (Errno::ENOENT, FixedResponse::Missing),
            (Errno::ENOTDIR, FixedResponse::Missing),
            (Errno::EACCES, FixedResponse::Forbidden),
            (Errno::ENAMETOOLONG, FixedResponse::Missing),
            (Errno::EMFILE, FixedResponse::Busy),
            (Errno::EIO, FixedResponse::Broken),
            (Errno::EXDEV, FixedResponse::Missing),
            (Errno::ELOOP, FixedResponse::Missing),
            (Errno(6), FixedResponse::Missing),
        ];
        for (error, fixed) in cases {
            assert_eq!(refusal(error), fixed, "{error:?}");
        }
    }
}

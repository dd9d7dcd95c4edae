//! Which files there are, as was seen at most a second ago, and those of them that are kept open.
//!
//! A file that was looked at is believed for a second; then it is opened again by its name and compared with what is
//! open. So a file that was replaced is seen after a second, whatever was done to it, and nothing has to be watched.
//! How many are kept is bounded three times: rows, descriptors, bytes in memory. What has to make room is closed even if
//! an answer was chosen and not yet made (that one looks again); only what is being sent stays open until it is sent.

use super::encodings::CODINGS;
use super::notices::Notice;
use super::table::Table;
use super::types;
use super::volumes::{Copy, Keeping, Volume};
use crate::headers::Headers;
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
/// Names that are known to be nobody's. They have a table of their own, so that asking for many of them does not make
/// files forgotten.
const MISSING_LIMIT: usize = 256;
/// Longer names are not remembered as nobody's; so that table takes at most some 100 KB.
pub(crate) const MISSING_NAME_LIMIT: usize = 256;

/// How a library is kept. All is for one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibraryOptions {
    /// Files that are kept open at most, compressed copies included.
    pub(crate) open_files: usize,
    /// Contents that are kept in memory at most, in bytes; 0: none. Only files up to 64 KiB are: larger ones are sent
    /// from the system's own cache without being copied, which is cheaper.
    pub(crate) cache: u64,
    /// The operator's header lines.
    pub(crate) headers: Headers,
}

impl Default for LibraryOptions {
    /// 512 open files, and none in memory.
    fn default() -> LibraryOptions {
        LibraryOptions {
            open_files: 512,
            cache: 0,
            headers: Headers::default(),
        }
    }
}

/// What one worker knows of a folder.
#[derive(Debug)]
pub(crate) struct Stock {
    root: Root,
    options: LibraryOptions,
    /// The time of day since 1970-01-01 UTC.
    wall: fn() -> Duration,
    known: Table<Holding>,
    /// Until when they are believed to be missing.
    missing: Table<Instant>,
    /// What all of `known` holds open.
    files: usize,
    /// What all of `known` holds in memory.
    bytes: u64,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub(crate) enum Holding {
    File(Rc<Volume>),
    Folder {
        /// Believed until then.
        until: Instant,
    },
}

impl Holding {
    #[inline]
    fn is_fresh(&self, now: Instant) -> bool {
        match self {
            Holding::File(volume) => volume.is_fresh(now),
            Holding::Folder { until } => now < *until,
        }
    }

    fn holds(&self) -> (usize, u64) {
        match self {
            Holding::File(volume) => volume.holds(),
            Holding::Folder { .. } => (0, 0),
        }
    }
}

impl Stock {
    /// Of the folder at `root`; `wall` is the time of day.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub(crate) fn open(
        root: &Path,
        options: &LibraryOptions,
        wall: fn() -> Duration,
    ) -> Result<Stock, Errno> {
        Ok(Stock {
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

    /// Forgets all files.
    pub(crate) fn close_files(&mut self) {
        while let Some(gone) = self.known.evict() {
            self.give_up(&gone);
        }
    }

    /// What `path` leads to, as was seen at most a second ago.
    #[inline]
    pub(crate) fn holding(&mut self, path: &[u8], now: Instant) -> Result<Holding, Notice> {
        if let Some(holding) = self.known.find(path)
            && holding.is_fresh(now)
        {
            return Ok(holding.clone());
        }
        if let Some(until) = self.missing.find(path)
            && now < *until
        {
            return Err(Notice::Missing);
        }
        self.look(path, now)
    }

    /// What `path` leads to now; remembers it.
    pub(crate) fn look(&mut self, path: &[u8], now: Instant) -> Result<Holding, Notice> {
        let until = now + FRESH;
        let copies = match self.open_at_any_price(path) {
            Ok(copies) => copies,
            Err(error) => return self.fail(path, Notice::of(error), until),
        };
        let holding = match copies[0].file.facts().kind {
            Kind::Regular => match self.unchanged(path, &copies) {
                Some(volume) => {
                    volume.set_fresh(until);
                    return Ok(Holding::File(volume));
                }
                None => Holding::File(self.volume(path, copies, until)),
            },
            Kind::Folder => Holding::Folder { until },
            Kind::Other => return self.fail(path, Notice::Missing, until),
        };
        self.remember(path, holding.clone());
        Ok(holding)
    }

    /// `path` cannot be opened.
    fn fail(&mut self, path: &[u8], notice: Notice, until: Instant) -> Result<Holding, Notice> {
        if notice == Notice::Busy
            && let Some(Holding::File(volume)) = self.known.find(path)
        {
            // Better what was right a second ago than nothing.
            volume.set_fresh(until);
            return Ok(Holding::File(Rc::clone(volume)));
        }
        if let Some(gone) = self.known.remove(path) {
            self.subtract(&gone);
        }
        if notice == Notice::Missing && path.len() <= MISSING_NAME_LIMIT {
            self.missing.put(path, until);
        }
        Err(notice)
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
        let coding = None;
        let mut copies = vec![Copy { coding, file }];
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
                let coding = Some(coding);
                copies.push(Copy { coding, file });
            }
        }
        Ok(copies)
    }

    /// The file as it is known, if it is still the same.
    fn unchanged(&mut self, path: &[u8], copies: &[Copy]) -> Option<Rc<Volume>> {
        match self.known.find(path)? {
            Holding::File(volume) if volume.is_made_of(copies, (self.wall)()) => {
                Some(Rc::clone(volume))
            }
            _ => None,
        }
    }

    fn volume(&self, path: &[u8], copies: Vec<Copy>, until: Instant) -> Rc<Volume> {
        let keeping = Keeping {
            wall: (self.wall)(),
            size: self.options.cache,
            headers: &self.options.headers,
        };
        let volume = Volume::new(path, copies, keeping);
        volume.set_fresh(until);
        Rc::new(volume)
    }

    fn remember(&mut self, path: &[u8], holding: Holding) {
        let (files, bytes) = holding.holds();
        if let Some(old) = self.known.remove(path) {
            // It stays open for those who were told of it: there is a newer one of the same name, and no more.
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
        if let Some(gone) = self.known.put(path, holding) {
            self.give_up(&gone);
        }
        self.files += files;
        self.bytes += bytes;
    }

    fn give_up(&mut self, gone: &Holding) {
        self.subtract(gone);
        if let Holding::File(volume) = gone {
            volume.close();
        }
    }

    fn subtract(&mut self, gone: &Holding) {
        let (files, bytes) = gone.holds();
        self.files -= files;
        self.bytes -= bytes;
    }
}

/// Not for want of the file, but of room to open it.
fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)
}

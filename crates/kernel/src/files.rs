//! Files beneath a folder, and nothing else.
//!
//! A path that a stranger has written must not lead out of the folder: not by `..`, not by being absolute, not by a
//! symbolic link. To check the path first and open it then is wrong, since links change in between; so the kernel holds the
//! border itself while it walks (openat2 with RESOLVE_BENEATH). Where that call is missing or forbidden [`Root::open`]
//! fails: there is no second way that would be as safe.
//!
//! It does not know which files are wanted, or what is in them.
//!
//! ```
//! use kernel::Errno;
//! use kernel::files::{Kind, Root};
//!
//! let root = Root::open(env!("CARGO_MANIFEST_DIR").as_ref())?;
//! let file = root.file(b"src/files.rs")?;
//! assert_eq!(file.facts().kind, Kind::Regular);
//! let mut begin = [0; 9];
//! assert_eq!(file.read_at(0, &mut begin), Ok(9));
//! assert_eq!(&begin, b"//! Files");
//! assert_eq!(root.file(b"../../Cargo.toml").err(), Some(Errno::EXDEV));
//! # Ok::<(), Errno>(())
//! ```

use crate::Errno;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// How often a path is walked again whose folders were moved about meanwhile (EAGAIN), before that is the answer.
const WALKS: u32 = 16;

/// A folder out of which no path leads.
#[derive(Debug)]
pub struct Root(OwnedFd);

/// An open file, for reading.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    facts: Facts,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// In bytes.
    pub size: u64,
    /// When its contents were changed last (mtime), since 1970-01-01 UTC; zero for what was before. Programs can set it.
    pub modified: Duration,
    /// When anything about it was changed last (ctime): contents, names, permissions, `modified`. Only the kernel sets it.
    pub changed: Duration,
    /// How many names it has.
    pub links: u64,
    /// Its number on its file system.
    pub inode: u64,
    /// The file system's number.
    pub device: u64,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It has bytes that can be sent.
    Regular,
    /// It has other files in it.
    Folder,
    /// A device, a pipe, a socket.
    Other,
}

impl Facts {
    /// Returns false if the contents of the file may have changed between `self` and `now`, which are of one open file.
    ///
    /// Every write sets both times before it changes a byte. A new `changed` with nothing else new may come from a write
    /// whose `modified` was set back, so it counts as a change; unless the number of names changed as well, which is what
    /// happens to a file when another takes its name, or when it is deleted.
    pub fn has_same_contents(&self, now: &Facts) -> bool {
        let is_explained = self.changed == now.changed || self.links != now.links;
        (self.size, self.modified) == (now.size, now.modified) && is_explained
    }
}

impl Root {
    /// Opens the folder at `path`, which is walked without any border.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EACCES and so on; ENOSYS (or EPERM, of a container's filter) where the kernel cannot hold the
    /// border. Then no file can be opened safely.
    pub fn open(path: &Path) -> Result<Root, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Root(rustix::fs::open(path, flags, Mode::empty())?);
        // Tried once, so that it fails now and not at the first request.
        root.walk(b".", flags)?;
        Ok(root)
    }

    /// Opens the file at `relative` for reading. It never waits, and never for the other end of a pipe.
    ///
    /// # Errors
    /// EXDEV for a path that leads out, ELOOP for a link of the kind that /proc has; ENOENT, EACCES, ENXIO (a socket)
    /// and so on; EINVAL for a path with a zero byte in it.
    pub fn file(&self, relative: &[u8]) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = fs::File::from(self.walk(relative, flags)?);
        let facts = facts(&file)?;
        Ok(File { file, facts })
    }

    fn walk(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let border = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..WALKS {
            match openat2(&self.0, path, flags, Mode::empty(), border).map_err(Errno::from) {
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                answer => return answer,
            }
        }
        Err(Errno::EAGAIN)
    }
}

impl File {
    /// What was so when it was opened.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// What is so now.
    ///
    /// # Errors
    /// EIO or ESTALE, of file systems that are elsewhere.
    pub fn facts_now(&self) -> Result<Facts, Errno> {
        facts(&self.file)
    }

    /// Reads from `offset` on as much as comes at once; zero is the end.
    ///
    /// # Errors
    /// What pread said: EIO, EISDIR for a folder, ...
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        position(offset)?;
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return Ok(other?),
            }
        }
    }

    /// Succeeds if the contents are still those that [`File::facts`] describes, as far as [`Facts::has_same_contents`]
    /// can tell. Costs a system call.
    ///
    /// # Errors
    /// ESTALE when they have changed, or what [`File::facts_now`] says.
    pub fn check(&self) -> Result<(), Errno> {
        match self.facts.has_same_contents(&self.facts_now()?) {
            true => Ok(()),
            false => Err(Errno::ESTALE),
        }
    }

    /// Reads all of `buffer`; ENODATA when the file ends before that.
    pub(crate) fn fill(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let filled = self.file.read_exact_at(buffer, offset);
        filled.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Errno::ENODATA,
            _ => error.into(),
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// An offset as the kernel has it; EOVERFLOW beyond its largest.
pub(crate) fn position(offset: u64) -> Result<libc::off64_t, Errno> {
    offset.try_into().map_err(|_| Errno::EOVERFLOW)
}

fn facts(file: &fs::File) -> Result<Facts, Errno> {
    let stat = file.metadata()?;
    let kind = match (stat.is_file(), stat.is_dir()) {
        (true, _) => Kind::Regular,
        (_, true) => Kind::Folder,
        _ => Kind::Other,
    };
    Ok(Facts {
        kind,
        size: stat.size(),
        modified: since_1970(stat.mtime(), stat.mtime_nsec()),
        changed: since_1970(stat.ctime(), stat.ctime_nsec()),
        links: stat.nlink(),
        inode: stat.ino(),
        device: stat.dev(),
    })
}

fn since_1970(seconds: i64, nanos: i64) -> Duration {
    match u64::try_from(seconds) {
        Ok(seconds) => Duration::new(seconds, nanos as u32),
        Err(_) => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;

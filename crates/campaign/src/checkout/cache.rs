//! Builds that are kept: one folder for each, in a folder that all weighs of a user share.
//!
//! ```text
//! lock               held by a weigh that looks for a build, begins, finishes or removes one: briefly
//! KEY.lock           held exclusively by the weigh that builds, shared by those that use the build
//! KEY/tree/          the clone, in which the build command was run and the server is started
//! KEY/log            what the last command printed
//! KEY/built          what it was built of and when: written last, so what lacks it is unfinished
//! ```
//!
//! The kernel ends a lock with the process that holds it, so a weigh that was killed blocks no other, and what it left is
//! removed by the next. A build is not moved when it is finished, since builds write down where they are. All keys are of
//! one length: the length of a program's path moves its stack, which can change its speed (Mytkowicz et al., "Producing
//! wrong data without doing anything obviously wrong", ASPLOS 2009).

use super::build::BuildError;
use super::identity::Identity;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use units::Nanos;

/// How often it is looked whether a command has ended or a lock is free.
const LOOK: Nanos = Nanos::from_millis(20);

/// The bytes of a block, as file systems count them (stat(2)).
const BLOCK: u64 = 512;

/// The folder of the builds that are kept.
#[derive(Debug, Clone)]
pub struct BuildCache {
    folder: PathBuf,
    most_bytes: u64,
}

/// The contents of the file `built`.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    identity: Identity,
    /// When the build was finished, in seconds since 1970.
    built_at: u64,
    /// What it takes on disk.
    bytes: u64,
}

/// A place for one build, locked. What is not finished when it is dropped is removed, except for the log.
#[derive(Debug)]
pub(super) struct Entry {
    cache: BuildCache,
    identity: Identity,
    folder: PathBuf,
    lock: File,
    /// When the build was finished, in seconds since 1970; none if there is none yet.
    pub(super) built_at: Option<u64>,
}

/// Waits a moment, or fails if `stop` is raised. Neither the end of a process nor that of a lock gives a sign that can be
/// waited for together with an interrupt.
pub(super) fn moment(stop: &AtomicBool) -> Result<(), BuildError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(BuildError::Interrupted),
        false => {
            std::thread::park_timeout(LOOK.to_std());
            Ok(())
        }
    }
}

/// Names the file that could not be read or written.
fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    move |error| BuildError::Cache {
        path: path.to_owned(),
        error,
    }
}

/// Returns false if another holds the lock.
fn is_locked(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The folder for what can be made again; a relative path is ignored (XDG Base Directory Specification).
fn caches(caches: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let paths = [caches, home.map(|home| home.join(".cache"))];
    paths.into_iter().flatten().find(|path| path.is_absolute())
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

impl BuildCache {
    /// What all builds together may take on disk unless told otherwise: 8 GiB.
    pub const MOST_BYTES: u64 = 8 << 30;

    /// The builds in `folder`, which is made when it is needed. When all together take more than `most_bytes` on disk, those
    /// unused for longest are removed, except those in use.
    pub fn new(folder: impl Into<PathBuf>, most_bytes: u64) -> BuildCache {
        let folder = folder.into();
        // Of a path that is no path it is said later that it cannot be made.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        BuildCache { folder, most_bytes }
    }

    /// The builds of this user, in `weigh/builds` of `$XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// [`BuildError::NoCache`]: neither `XDG_CACHE_HOME` nor `HOME` is the path of a folder from the root on.
    pub fn of_user() -> Result<BuildCache, BuildError> {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        let caches = caches(path("XDG_CACHE_HOME"), path("HOME")).ok_or(BuildError::NoCache)?;
        let folder = caches.join("weigh/builds");
        Ok(BuildCache::new(folder, BuildCache::MOST_BYTES))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Finds the place of the build of `identity`: with the build, or empty and for us alone. While another weigh builds the
    /// same it waits, and calls `say` once.
    pub(super) fn entry(
        &self,
        identity: &Identity,
        stop: &AtomicBool,
        mut say: impl FnMut(),
    ) -> Result<Entry, BuildError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.folder).map_err(at(&self.folder))?;
        let folder = self.folder.join(identity.key());
        let path = folder.with_extension("lock");
        let mut is_said = false;
        loop {
            let all = self.lock_all(stop)?;
            let lock = open_lock(&path).map_err(at(&path))?;
            if let Some(built_at) = self.claim(&lock, &folder, identity).map_err(at(&folder))? {
                return Ok(Entry {
                    cache: self.clone(),
                    identity: identity.clone(),
                    folder,
                    lock,
                    built_at,
                });
            }
            drop((all, lock));
            if !is_said {
                say();
                is_said = true;
            }
            moment(stop)?;
        }
    }

    /// Takes the place at `folder` by its `lock`. Returns when its build was finished, none if it is empty; nothing at all
    /// if another weigh is at work on it.
    fn claim(
        &self,
        lock: &File,
        folder: &Path,
        identity: &Identity,
    ) -> io::Result<Option<Option<u64>>> {
        if !is_locked(lock.try_lock_shared())? {
            return Ok(None);
        }
        if let Some(marker) = Marker::read(folder).filter(|marker| marker.identity == *identity) {
            Marker::touch(folder)?;
            return Ok(Some(Some(marker.built_at)));
        }
        lock.unlock()?; // others wait for the lock of all
        if !is_locked(lock.try_lock())? {
            return Ok(None);
        }
        self.make_room();
        if folder.exists() {
            clear(folder)?;
        }
        fs::create_dir(folder)?;
        Ok(Some(None))
    }

    /// The lock of those who change which builds there are. It is free when it is dropped.
    fn lock_all(&self, stop: &AtomicBool) -> Result<File, BuildError> {
        let path = self.folder.join("lock");
        let lock = open_lock(&path).map_err(at(&path))?;
        while !is_locked(lock.try_lock()).map_err(at(&path))? {
            moment(stop)?;
        }
        Ok(lock)
    }

    /// Removes what was left unfinished, then builds until the others fit, those unused for longest first. Those that are
    /// in use stay. To be called with the lock of all.
    fn make_room(&self) {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let locks = files.map(|file| file.path());
        let locks = locks.filter(|path| path.extension() == Some(OsStr::new("lock")));
        let folders = locks.map(|path| path.with_extension(""));
        let mut builds: Vec<(Option<SystemTime>, u64, PathBuf)> = folders
            .map(|folder| {
                let marker = Marker::read(&folder);
                let used = marker.as_ref().and_then(|_| Marker::used(&folder));
                (used, marker.map_or(0, |marker| marker.bytes), folder)
            })
            .collect();
        builds.sort();
        let mut total: u64 = builds.iter().map(|(_, bytes, _)| bytes).sum();
        for (used, bytes, folder) in builds {
            let is_unwanted = used.is_none() || total > self.most_bytes;
            if is_unwanted && remove(&folder) {
                total -= bytes;
            }
        }
    }
}

/// Removes the build at `folder` and its lock, unless it is in use. Returns whether it is gone.
fn remove(folder: &Path) -> bool {
    let path = folder.with_extension("lock");
    let is_unused = |lock: &File| lock.try_lock().is_ok();
    let Some(_lock) = open_lock(&path).ok().filter(is_unused) else {
        return false;
    };
    let is_gone = !folder.exists() || clear(folder).is_ok();
    is_gone && fs::remove_file(path).is_ok()
}

/// Removes `folder`, its marker first: what is left if we are killed meanwhile is unfinished.
fn clear(folder: &Path) -> io::Result<()> {
    let _ = fs::remove_file(Marker::path(folder)); // it may not be there
    fs::remove_dir_all(folder)
}

impl Entry {
    /// The clone.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The file for what commands print.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Keeps the build, which is finished, and shares it with other weighs.
    pub(super) fn keep(&mut self, stop: &AtomicBool) -> Result<u64, BuildError> {
        let marker = Marker {
            identity: self.identity.clone(),
            built_at: kernel::clock::realtime().as_secs(),
            bytes: bytes_of(&self.tree()),
        };
        let _all = self.cache.lock_all(stop)?;
        marker.write(&self.folder).map_err(at(&self.folder))?;
        self.built_at = Some(marker.built_at);
        self.lock.unlock().map_err(at(&self.folder))?;
        self.lock
            .try_lock_shared()
            .map_err(|error| at(&self.folder)(error.into()))?;
        self.cache.make_room();
        Ok(marker.built_at)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.built_at.is_none() {
            let _ = fs::remove_dir_all(self.tree()); // what stays is unfinished, which the next build removes
        }
    }
}

impl Marker {
    fn path(folder: &Path) -> PathBuf {
        folder.join("built")
    }

    /// The marker of a finished build; none if there is no such build.
    fn read(folder: &Path) -> Option<Marker> {
        let text = fs::read(Marker::path(folder)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(Marker::path(folder))?;
        Ok(())
    }

    /// Notes that the build is used now.
    fn touch(folder: &Path) -> io::Result<()> {
        let now = SystemTime::UNIX_EPOCH + kernel::clock::realtime();
        let file = File::options().append(true).open(Marker::path(folder))?;
        file.set_modified(now)
    }

    /// When the finished build was used last.
    fn used(folder: &Path) -> Option<SystemTime> {
        fs::metadata(Marker::path(folder)).ok()?.modified().ok()
    }
}

/// What the files under `folder` take on disk. One with several names counts once, if all its names are there.
fn bytes_of(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            match facts.is_dir() {
                true => folders.push(entry.path()),
                false => bytes += facts.blocks() * BLOCK / facts.nlink().max(1),
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_lie_where_the_user_wants_them_or_at_home() {
        for (wanted, home, found) in [
            (Some("/caches"), Some("/users/a"), Some("/caches")),
            (Some("caches"), Some("/users/a"), Some("/users/a/.cache")),
            (Some(""), Some("/users/a"), Some("/users/a/.cache")),
            (None, Some("/users/a"), Some("/users/a/.cache")),
            (None, Some(""), None),
            (None, None, None),
        ] {
            let found = found.map(PathBuf::from);
            assert_eq!(caches(wanted.map(Into::into), home.map(Into::into)), found);
        }
    }
}

//! Where a finished record goes, and how it gets there whole or not at all.
//!
//! A file is written under another name in the same folder, made durable, then renamed: a reader sees the old record
//! or the new one, never half of it. What is not a file (a pipe, `/dev/stdout`) cannot be renamed onto and is written
//! to as it is. Either way the destination is tried before the load, because an hour of measuring is a high price for
//! a misspelt folder.

use crate::Run;
use crate::journal::{holds_rounds, is_ours};
use crate::{holds_comparison, holds_record, load};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use thiserror::Error;

/// Why a record cannot be, or was not, saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The folder for the file is missing.
    #[error("the record cannot be written to {}: there is no folder {}", .0.display(), folder_of(.0).display())]
    NoFolder(PathBuf),
    /// A folder has that name.
    #[error("the record cannot be written to {}: that is a folder; name a file", .0.display())]
    IsFolder(PathBuf),
    /// The file or folder does not let us write, for the reason that the system gives.
    #[error("the record cannot be written to {}: {}", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
    /// Something that is no journal of ours has the journal's name.
    #[error("the journal cannot be written to {}: a file of that name exists and is none of ours; move it away", .0.display())]
    NotOurs(PathBuf),
    /// The journal of a run that was cut off, or is going on, lies there.
    #[error(
        "{} holds the rounds of a run that was cut off; see them with `weigh report`, go on with a sweep by --resume, or remove \
         it or name another file",
        .0.display()
    )]
    HoldsRounds(PathBuf),
    /// A file that is no record has that name.
    #[error("{} is a file that is no record of weigh; name another file, or remove it first", .0.display())]
    NoRecord(PathBuf),
    /// A record of another kind has that name: of a `run` or a `comparison`.
    #[error("{} holds the record of a {}; name another file, or remove it first", .0.display(), .1)]
    OtherRecord(PathBuf, &'static str),
    /// A pipe that has no reader.
    #[error("the record cannot be written to {}: nothing reads from that pipe; name a file", .0.display())]
    Unread(PathBuf),
    /// Another process is still measuring into it.
    #[error("{} is still being written: the campaign goes on; wait for its end, or stop it first", .0.display())]
    StillGoing(PathBuf),
    /// There is no file to go on with.
    #[error("{} is no file that a campaign can go on with; name the record, or the journal beside it", .0.display())]
    NoFile(PathBuf),
    /// A round could not be added to the journal at this path, for the reason that the system gives; the earlier ones are in it.
    #[error("a round could not be added to the journal {}: {}; the earlier rounds are in it", .0.display(), .1)]
    Append(PathBuf, io::Error),
    /// The journal at this path could not be begun after it had been created, for the reason that the system gives.
    #[error("the journal {} cannot be written: {}; make room, or name another place with --output", .0.display(), .1)]
    Begin(PathBuf, io::Error),
    /// The finished record could not be written; the rounds that could be added to the journal are there.
    #[error(
        "the record could not be written to {}: {error}; what was measured is in {}, as far as that could be written",
        .path.display(), .journal.display()
    )]
    Finish {
        /// The record.
        path: PathBuf,
        /// The journal that is left.
        journal: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A place that a record can be written to, found out before the load.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A file that may or may not exist yet, in a folder that does.
    File(PathBuf),
    /// Something else that takes bytes, already open.
    Stream(PathBuf, File),
}

impl Destination {
    /// Finds out what `path` is and that it can be written to.
    pub(crate) fn of(path: &Path) -> Result<Destination, SaveError> {
        let unwritable = |error| SaveError::Unwritable(path.into(), error);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(SaveError::IsFolder(path.into())),
            Ok(meta) if !meta.is_file() || names_a_descriptor(path) => {
                // Without a reader the first would not return, and with one the second does at once.
                let open = |flags| {
                    OpenOptions::new()
                        .append(true)
                        .custom_flags(flags)
                        .open(path)
                };
                let asked = open(OFlags::NONBLOCK.bits().cast_signed());
                let _reader_is_there = asked.map_err(|error| match error.raw_os_error() {
                    Some(code) if code == Errno::NXIO.raw_os_error() => {
                        SaveError::Unread(path.into())
                    }
                    _ => unwritable(error),
                })?;
                let stream = open(0).map_err(unwritable)?;
                Ok(Destination::Stream(path.into(), stream))
            }
            Ok(_) if holds_comparison(path) => {
                Err(SaveError::OtherRecord(path.into(), "comparison"))
            }
            Ok(meta) if meta.len() > 0 && !holds_record(path) && load(path).is_err() => {
                Err(SaveError::NoRecord(path.into()))
            }
            Ok(_) => {
                // A link is followed, so that what it points to is replaced and the link stays.
                let path = fs::canonicalize(path).map_err(unwritable)?;
                let has_rounds = || Ok(is_ours(&path)? && holds_rounds(&path)?);
                if has_rounds().map_err(unwritable)? {
                    return Err(SaveError::HoldsRounds(path));
                }
                OpenOptions::new()
                    .append(true)
                    .open(&path)
                    .map_err(unwritable)?;
                Ok(Destination::File(path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => in_folder(path),
            Err(error) => Err(unwritable(error)),
        }
    }

    /// Writes `run` and returns where it lies.
    pub(crate) fn write(self, run: &Run) -> Result<PathBuf, (PathBuf, io::Error)> {
        let (path, written) = match self {
            Destination::File(path) => {
                let written = replace_file(&path, |file| run.write_json(file));
                (path, written)
            }
            Destination::Stream(path, stream) => (path, run.write_json(stream)),
        };
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err((path, error)),
        }
    }
}

impl Run {
    /// Writes the record as one JSON document, on one line.
    ///
    /// # Errors
    /// What `to` said.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        serde_json::to_writer(&mut to, self).map_err(io::Error::from)?;
        to.write_all(b"\n")?;
        to.flush()
    }
}

/// Paths that stand for an open descriptor: where one leads to a file, that file is held open by others, so it must be
/// appended to, not replaced.
fn names_a_descriptor(path: &Path) -> bool {
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    streams.iter().any(|stream| path.starts_with(stream))
}

fn in_folder(path: &Path) -> Result<Destination, SaveError> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(SaveError::IsFolder(path.into()));
    }
    match folder_of(path).is_dir() && path.file_name().is_some() {
        true => Ok(Destination::File(path.into())),
        false => Err(SaveError::NoFolder(path.into())),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Writes a file under another name in the same folder, makes it durable, and renames it to `path`: a reader sees the old
/// file or the new one, never half of it.
///
/// # Errors
/// What the system said; what is at `path` is then as it was.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = beside(path)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_name(path)
}

/// Tries whether [`replace_file`] can write to the folder of `path`.
///
/// # Errors
/// What the system said.
pub fn can_replace(path: &Path) -> io::Result<()> {
    beside(path).map(|_| ())
}

/// A new file in the folder of `path`, which is removed unless it gets a name.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".weigh-")
        .permissions(Permissions::from_mode(0o666)) // less the umask, as any file a program writes
        .tempfile_in(folder_of(path))
}

/// Makes the names in `folder` durable, where its file system knows how.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// Makes the name of `path` durable.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_journal_with_rounds_is_not_replaced_by_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let [journal, link] = ["a.json.journal", "link.json"].map(|name| folder.path().join(name));
        fs::write(&journal, "{\"journal\":1}\n").unwrap();
        std::os::unix::fs::symlink(&journal, &link).unwrap();
        let of = |path: &Path| Destination::of(path).map(|_| ());
        assert!(of(&journal).is_ok(), "it holds no round");
        fs::write(&journal, "{\"journal\":1}\n{\"point\":0}\n").unwrap();
        for path in [&journal, &link] {
            assert!(
                matches!(of(path), Err(SaveError::HoldsRounds(_))),
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_whole_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.xml");
        fs::write(&path, "old").unwrap();
        let full = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(replace_file(&path, full).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replace_file(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_is_written_to_as_it_is() {
        for path in ["/dev/null", "/proc/self/fd/1"] {
            let stream = Destination::of(Path::new(path)).unwrap();
            assert!(matches!(stream, Destination::Stream(..)), "{path}");
        }
        let null = Destination::of(Path::new("/dev/null")).unwrap();
        assert_eq!(
            null.write(&example::empty()).unwrap(),
            Path::new("/dev/null")
        );
    }

    #[test]
    fn a_full_device_is_told_with_its_name() {
        let full = Destination::of(Path::new("/dev/full")).unwrap();
        let (path, error) = full.write(&example::empty()).unwrap_err();
        assert_eq!(
            (path.as_path(), error.raw_os_error()),
            (Path::new("/dev/full"), Some(28))
        );
    }

    #[test]
    fn a_record_is_readable_by_whom_any_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let (record, plain) = (folder.path().join("run.json"), folder.path().join("plain"));
        fs::write(&plain, "").unwrap();
        Destination::of(&record)
            .unwrap()
            .write(&example::empty())
            .unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&record), mode(&plain));
    }
}

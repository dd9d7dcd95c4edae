//! Regular files that a server writes: its logs, and its data.
//!
//! Which are open is looked up before the round, when there are no connections yet; after it only their sizes are read.

use crate::files::{Root, fact, field};
use record::{Footprint, GrownFile};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

/// The most descriptors that are looked at.
const MOST_DESCRIPTORS: usize = 4096;
/// The most further threads of a process whose descriptors are looked at.
const MOST_THREADS: usize = 64;
/// The bits of open(2)'s flags that say for what a file is open; 0 is for reading only.
const ACCESS_MODE: u32 = 0o3;

/// A regular file that is open for writing.
#[derive(Debug)]
pub(crate) struct Written {
    /// The descriptor's link, which stays when the file is renamed.
    link: String,
    /// Device and number of the file.
    identity: (u64, u64),
    path: String,
    bytes: u64,
}

/// Returns the regular files that `pids` have open for writing, each once, with their sizes now; those that may not be
/// looked at are left out.
pub(crate) fn open(root: &Root, pids: &[u32]) -> Vec<Written> {
    // A thread may have a table of descriptors of its own; mostly it has that of its process, which was looked at by then.
    let threads = |pid: &u32| {
        let tasks = format!("/proc/{pid}/task");
        let names = root.entries(&tasks).unwrap_or_default().into_iter();
        let own = pid.to_string();
        let others = names.filter(move |name| *name != own).take(MOST_THREADS);
        others
            .map(move |name| format!("{tasks}/{name}"))
            .collect::<Vec<String>>()
    };
    let processes = pids.iter().map(|pid| format!("/proc/{pid}"));
    let folders = processes.chain(pids.iter().flat_map(threads));
    let of = |folder: String| {
        let names = root.entries(format!("{folder}/fd")).unwrap_or_default();
        let both = move |name: String| {
            (
                format!("{folder}/fd/{name}"),
                format!("{folder}/fdinfo/{name}"),
            )
        };
        names.into_iter().map(both)
    };
    let mut seen = BTreeSet::new();
    let descriptors = folders.flat_map(of).take(MOST_DESCRIPTORS);
    let written = descriptors.filter_map(|(link, info)| {
        let path = root.link(&link).filter(|path| path.is_absolute())?;
        let flags = u32::from_str_radix(field(&root.text(&info)?, "flags")?, 8).ok()?;
        let metadata = root.metadata(&link).filter(std::fs::Metadata::is_file)?;
        let identity = (metadata.dev(), metadata.ino());
        let is_new = flags & ACCESS_MODE != 0 && seen.insert(identity);
        is_new.then_some(Written {
            link,
            identity,
            path: fact(&named(&path.to_string_lossy(), &info))?,
            bytes: metadata.len(),
        })
    });
    written.collect()
}

/// What a file at `path` is called. A file without a name that is the output of a process is the one in which weigh keeps it.
fn named(path: &str, info: &str) -> String {
    let is_output = ["/1", "/2"].iter().any(|number| info.ends_with(number));
    match is_output && path.ends_with(" (deleted)") {
        true => "standard output".to_owned(),
        false => path.to_owned(),
    }
}

/// Returns which of `files` have grown since, the fastest first.
pub(crate) fn grown(root: &Root, files: &[Written]) -> Vec<GrownFile> {
    let grown = files.iter().filter_map(|file| {
        let now = root.metadata(&file.link)?;
        let bytes = now.len().saturating_sub(file.bytes);
        let is_same = (now.dev(), now.ino()) == file.identity;
        (is_same && bytes > 0).then(|| GrownFile {
            path: file.path.clone(),
            bytes,
        })
    });
    let mut grown: Vec<GrownFile> = grown.collect();
    grown.sort_by_key(|file| Reverse(file.bytes));
    grown.truncate(Footprint::MOST_GROWN);
    grown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::sync::{Mutex, PoisonError};

    /// Held by tests that look at the descriptors of this process: a table that a thread gets for itself has a copy of each
    /// that is open at that moment, also of those of other tests.
    static DESCRIPTORS: Mutex<()> = Mutex::new(());

    #[test]
    fn files_of_a_thread_with_descriptors_of_its_own_are_found() {
        let _alone = DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let name = path.to_string_lossy().into_owned();
        let (opened, is_open) = std::sync::mpsc::channel();
        let (looked, is_over) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            kernel::descriptors::own().unwrap();
            let log = File::create(path).unwrap();
            opened.send(()).unwrap();
            let _ = is_over.recv();
            drop(log);
        });
        is_open.recv().unwrap();
        let files = open(&Root::machine(), &[std::process::id()]);
        assert!(files.iter().any(|file| file.path == name), "{files:?}");
        drop(looked);
        thread.join().unwrap();
    }

    #[test]
    fn output_that_has_no_name_is_called_what_it_is() {
        assert_eq!(
            named("/tmp/#17 (deleted)", "/proc/7/fdinfo/1"),
            "standard output"
        );
        assert_eq!(
            named("/tmp/#17 (deleted)", "/proc/7/fdinfo/11"),
            "/tmp/#17 (deleted)"
        );
        assert_eq!(named("/tmp/log", "/proc/7/fdinfo/2"), "/tmp/log");
    }

    #[test]
    fn files_that_are_written_are_found_and_others_are_not() {
        let _alone = DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner);
        let (root, me) = (Root::machine(), [std::process::id()]);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut log = File::create(path("access.log")).unwrap();
        let _again = log.try_clone().unwrap();
        let mut other = File::create(path("replaced")).unwrap();
        std::fs::write(path("page"), "text").unwrap();
        let _page = File::open(path("page")).unwrap();
        let ours = |files: Vec<Written>| -> Vec<Written> {
            files
                .into_iter()
                .filter(|file| file.path.starts_with(&*folder.path().to_string_lossy()))
                .collect()
        };
        let files = ours(open(&root, &me));
        assert_eq!(files.len(), 2, "{files:?}");
        assert_eq!(grown(&root, &files), []);
        log.write_all(&[b'x'; 1_000]).unwrap();
        std::fs::rename(path("access.log"), path("access.log.1")).unwrap();
        let wanted = path("access.log").to_string_lossy().into_owned();
        assert_eq!(
            grown(&root, &files),
            [GrownFile {
                path: wanted,
                bytes: 1_000
            }]
        );
        other.write_all(&[b'x'; 2_000]).unwrap();
        assert_eq!(grown(&root, &files)[0].bytes, 2_000);
        drop(other);
        assert_eq!(grown(&root, &files).len(), 1, "its descriptor is gone");
    }
}

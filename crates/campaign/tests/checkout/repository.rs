//! A repository of a test, builds of its commits, and whether it was left alone.

use campaign::{BuildCache, BuildCommand, BuildError, Built, Checkout};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far more than ever needed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A repository, and beside it a folder for builds and one for what builds leave behind for the test.
pub struct Repository {
    folder: TempDir,
}

impl Repository {
    /// One with the commit `one`, in which the file `version` holds "one".
    pub fn new() -> Repository {
        let repository = Repository {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(repository.path()).unwrap();
        repository.git("init --quiet --initial-branch=main");
        repository.commit("one", &[("version", "one\n")]);
        repository
    }

    /// One with a second commit, `two`, and a tag `one` at the first.
    pub fn of_two() -> Repository {
        let repository = Repository::new();
        repository.git("tag one");
        repository.commit("two", &[("version", "two\n")]);
        repository
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// A path outside of it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is in a file outside of it; nothing if there is none.
    pub fn left(&self, name: &str) -> String {
        fs::read_to_string(self.beside(name)).unwrap_or_default()
    }

    /// Waits until a file outside of it has a whole line, and returns that.
    pub fn wait_for(&self, name: &str) -> String {
        let start = Instant::now();
        while !self.left(name).ends_with('\n') {
            assert!(start.elapsed() < PATIENCE, "there is no {name}");
            std::thread::yield_now();
        }
        self.left(name).trim_end().to_owned()
    }

    /// Calls git in it; returns what it printed.
    pub fn git(&self, arguments: &str) -> String {
        git_in(&self.path(), arguments)
    }

    /// Writes files.
    pub fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Writes files and commits all there are.
    pub fn commit(&self, name: &str, files: &[(&str, &str)]) {
        self.write(files);
        self.git("add --all");
        self.git(&format!("commit --quiet --allow-empty -m {name}"));
    }

    /// A commit of it.
    pub fn checkout(&self, revision: &str) -> Checkout {
        Checkout::of(&self.path(), revision).unwrap()
    }

    /// The folder of builds, which may take as much as they like.
    pub fn cache(&self) -> BuildCache {
        BuildCache::new(self.beside("builds"), u64::MAX)
    }

    /// Builds a commit of it by `command`, in which `BESIDE` is the folder outside.
    pub fn build(&self, revision: &str, command: &str) -> Result<Built, BuildError> {
        let stop = AtomicBool::new(false);
        let command = self.command(command);
        self.checkout(revision)
            .build(&command, &self.cache(), &stop, &mut |_| ())
    }

    /// The build command `command`, in which `BESIDE` is the folder outside.
    pub fn command(&self, command: &str) -> BuildCommand {
        let beside = self.folder.path().to_str().unwrap();
        BuildCommand::new(command.replace("BESIDE", beside))
    }

    /// How many builds are there, finished or not.
    pub fn builds(&self) -> usize {
        let entries = fs::read_dir(self.beside("builds")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.join("tree").exists()).count()
    }

    /// Everything about it that could be changed.
    pub fn state(&self) -> State {
        let mut files = BTreeMap::new();
        let mut paths = vec![self.path()];
        while let Some(path) = paths.pop() {
            let facts = fs::symlink_metadata(&path).unwrap();
            let contents = match facts.is_dir() {
                true => {
                    let entries = fs::read_dir(&path).unwrap();
                    paths.extend(entries.map(|entry| entry.unwrap().path()));
                    Vec::new()
                }
                false => fs::read(&path).unwrap(),
            };
            let changed = (facts.ctime(), facts.ctime_nsec());
            files.insert(path, (facts.is_dir(), (facts.mode(), changed, contents)));
        }
        State(files)
    }

    /// Asserts that it is as it was.
    pub fn assert_untouched(&self, before: &State) {
        self.assert_same(before, |(_, file)| file.clone());
    }

    /// Asserts that all its files have the contents that they had, and that none was made, even if it was removed again.
    pub fn assert_not_written(&self, before: &State) {
        self.assert_same(before, |(is_folder, (mode, changed, contents))| {
            let changed = if *is_folder { *changed } else { (0, 0) };
            (*mode, changed, contents.clone())
        });
    }

    fn assert_same(&self, before: &State, seen: fn(&(bool, File)) -> File) {
        let (now, before) = (self.state().0, &before.0);
        let paths = now.keys().chain(before.keys());
        let changed: Vec<_> = paths
            .filter(|path| now.get(*path).map(seen) != before.get(*path).map(seen))
            .collect();
        assert!(changed.is_empty(), "{changed:?}");
    }
}

/// Mode, time of the last change, and contents. The time of a folder tells of files that were made and removed again.
type File = (u32, (i64, i64), Vec<u8>);

/// Every file and folder, and whether it is a folder.
pub struct State(BTreeMap<PathBuf, (bool, File)>);

/// Calls git in `folder`; returns what it printed.
pub fn git_in(folder: &Path, arguments: &str) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments.split(' '))
        .env_remove("GIT_DIR");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Reads a file of a build.
pub fn file(built: &Built, name: &str) -> String {
    fs::read_to_string(built.folder().join(name)).unwrap()
}

/// Waits until a process is gone.
pub fn is_gone(pid: &str) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < PATIENCE, "process {pid} lives on");
        std::thread::yield_now();
    }
}

/// Whether a process lives.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

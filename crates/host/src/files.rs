//! Reading the small files in which Linux tells about itself.
//!
//! All of them are read below a root, which is `/` in earnest and a folder of fixtures in tests, and only up to a limit:
//! a file of /proc has no length that could be asked for first.

use flate2::read::GzDecoder;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The most that is read of a file. The longest that is read, cpuinfo, has about 2 KB a CPU.
const MOST_BYTES: u64 = 4 << 20;
/// The most names that are taken of a folder: more than a process may have descriptors by default, or a machine has
/// processes.
const MOST_ENTRIES: usize = 1 << 20;
/// The longest fact in characters; what is longer is no name.
const MOST_CHARS: usize = 200;

/// Where the tree of files begins.
#[derive(Debug, Clone)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The machine's own files.
    pub(crate) fn machine() -> Root {
        Root("/".into())
    }

    /// A tree of fixtures.
    #[cfg(test)]
    pub(crate) fn at(folder: &Path) -> Root {
        Root(folder.into())
    }

    /// The folder in which the tree begins.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Where the file lies that from the root is at `path`.
    fn place(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of the file at `path`, from the root; none when it cannot be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).ok()
    }

    /// The same, with the reason why not.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String, ErrorKind> {
        let file = File::open(self.place(path.as_ref())).map_err(|error| error.kind())?;
        text(file).map_err(|error| error.kind())
    }

    /// The text of the file at `path` that is packed by gzip, likewise.
    pub(crate) fn unpacked(&self, path: impl AsRef<Path>) -> Option<String> {
        let file = File::open(self.place(path.as_ref())).ok()?;
        text(GzDecoder::new(file)).ok()
    }

    /// The names in the folder at `path` that are text.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn entries(&self, path: impl AsRef<Path>) -> Result<Vec<String>, ErrorKind> {
        let entries = fs::read_dir(self.place(path.as_ref())).map_err(|error| error.kind())?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.take(MOST_ENTRIES).collect())
    }

    /// Where the link at `path` leads; none when there is none, or it may not be read.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        fs::read_link(self.place(path.as_ref())).ok()
    }

    /// What the file at `path` is, or the one that a link leads to; none when it cannot be looked at.
    pub(crate) fn metadata(&self, path: impl AsRef<Path>) -> Option<Metadata> {
        fs::metadata(self.place(path.as_ref())).ok()
    }

    /// The one fact that the file at `path` states.
    pub(crate) fn fact(&self, path: impl AsRef<Path>) -> Option<String> {
        fact(&self.text(path)?)
    }

    /// The one number that the file at `path` states.
    pub(crate) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }
}

fn text(file: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `text` as a fact that can be shown: on one line, without what steers a terminal, not endless; none when nothing is left.
pub(crate) fn fact(text: &str) -> Option<String> {
    let shown = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char });
    let shown: String = shown.take(MOST_CHARS).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    (!shown.is_empty()).then_some(shown)
}

/// The value after `key` and a colon, as /proc/cpuinfo, meminfo and status write it: the first of several.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_fit_on_a_line_and_steer_no_terminal() {
        let long = "x".repeat(1_000_000);
        let cases: &[(&str, Option<&str>)] = &[
            ("", None),
            (" \n\t\0", None),
            ("tsc\n", Some("tsc")),
            ("AMD  EPYC \t7R13", Some("AMD EPYC 7R13")),
            ("a\x1b[31mb\u{9b}c", Some("a [31mb c")),
            (&long, Some(&long[..MOST_CHARS])),
        ];
        for (text, wanted) in cases {
            assert_eq!(fact(text).as_deref(), *wanted);
        }
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "MemTotalled:\t7 kB\nMemTotal:       16 kB\nMemTotal: 9\nno colon\n";
        assert_eq!(field(text, "MemTotal"), Some("16 kB"));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field("a:b:c", "a"), Some("b:c"));
    }

    #[test]
    fn an_endless_file_is_read_up_to_the_limit() {
        let text = Root::machine().text("/dev/zero").unwrap();
        assert_eq!(text.len() as u64, MOST_BYTES);
        assert_eq!(Root::machine().text("/nonexistent"), None);
    }
}

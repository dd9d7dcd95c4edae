//! The text files of the tree, as they would be committed.
//!
//! The folders are walked and git is not asked, so that `cargo test` passes where git is not installed, or in an export
//! of the tree. What git ignores is read from `.gitignore`, which here holds plain `/path` lines only.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// A text file.
#[derive(Debug)]
pub struct File {
    /// From the root, with slashes.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// The text files, by path.
#[derive(Debug, Default)]
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

/// Beyond this a file is data, whatever it is called.
const TEXT_MAX_BYTES: u64 = 1 << 20;

impl Tree {
    /// Reads the tree under `root`.
    ///
    /// # Errors
    /// A folder or a file could not be read.
    pub fn read(root: &Path) -> Result<Tree> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored = ignored.lines().filter_map(|line| line.strip_prefix('/'));
        let ignored: Vec<&str> = ignored.chain([".git"]).collect();
        let mut tree = Tree::default();
        tree.walk(root, "", &ignored)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// The text of a file; nothing where there is none.
    pub fn text(&self, path: &str) -> &str {
        let file = self.files.iter().find(|file| file.path == path);
        file.map_or("", |file| &file.text)
    }

    /// The files whose name ends in `.extension`.
    pub fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        let ending = format!(".{extension}");
        let files = self.files.iter();
        files.filter(move |file| file.path.ends_with(&ending))
    }

    fn walk(&mut self, root: &Path, folder: &str, ignored: &[&str]) -> Result<()> {
        let place = root.join(folder);
        let entries = fs::read_dir(&place)
            .with_context(|| format!("{} could not be read", place.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            let path = path.trim_start_matches('/').to_owned();
            if ignored.contains(&path.as_str()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(root, &path, ignored)?;
            } else if kind.is_file() && entry.metadata()?.len() <= TEXT_MAX_BYTES {
                let bytes = fs::read(entry.path());
                let bytes = bytes.with_context(|| format!("{path} could not be read"))?;
                // What is not UTF-8 is no text: seeds of fuzz targets, images.
                if let Ok(text) = String::from_utf8(bytes) {
                    self.files.push(File { path, text });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_folders_and_binary_files_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write(".gitignore", b"/target\n/deep/corpus\n");
        write(".git/HEAD", b"ref");
        write("target/debug/x.rs", b"built");
        write("deep/corpus/x", b"found");
        write("deep/target/x.rs", b"kept: only the root's is ignored");
        write("seed", &[0xff, 0xfe]);
        let tree = Tree::read(folder.path()).unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".gitignore", "deep/target/x.rs"]);
    }
}

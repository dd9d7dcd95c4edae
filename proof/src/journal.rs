//! A journal: a line of JSON for each thing that was measured, so that a chore goes on where it was stopped.

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The rows of a journal, and its file.
pub struct Journal<Row> {
    path: PathBuf,
    rows: Vec<Row>,
}

impl<Row: Serialize + DeserializeOwned> Journal<Row> {
    /// Reads a journal; where there is no file, a new one is begun with the first row. A last line without its end, which
    /// a chore has left that was killed while it wrote, is removed.
    ///
    /// # Errors
    /// The file cannot be read or written, or a line is no row.
    pub fn open(path: &Path) -> Result<Journal<Row>> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("{} could not be read", path.display()))?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let row = |(place, line): (usize, &str)| {
            let row = serde_json::from_str(line);
            row.with_context(|| format!("{}, line {}", path.display(), place + 1))
        };
        let rows = text[..whole].lines().enumerate().map(row);
        let rows = rows.collect::<Result<_>>()?;
        if whole < text.len() {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(whole as u64)?;
        }
        let path = path.to_owned();
        Ok(Journal { path, rows })
    }

    /// All rows, the oldest first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Adds a row, which is in the file when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, row: Row) -> Result<()> {
        let line = serde_json::to_string(&row)? + "\n";
        let mut options = OpenOptions::new();
        let opened = options.create(true).append(true).open(&self.path);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.with_context(|| format!("{} could not be written", self.path.display()))?;
        self.rows.push(row);
        Ok(())
    }

    /// Removes all rows but those that `is_kept` names.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn retain(&mut self, is_kept: impl Fn(&Row) -> bool) -> Result<()> {
        self.rows.retain(is_kept);
        let lines = self.rows.iter().map(serde_json::to_string);
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        crate::catalogue::write(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_there_again_when_the_journal_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        for row in 1..=4 {
            journal.push(row).unwrap();
        }
        journal.retain(|row| row % 2 == 0).unwrap();
        journal.push(7).unwrap();
        assert_eq!(journal.rows(), [2, 4, 7]);
        assert_eq!(Journal::<i32>::open(&path).unwrap().rows(), [2, 4, 7]);
    }

    #[test]
    fn a_line_that_was_not_finished_is_removed_and_one_that_is_no_row_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        fs::write(&path, "1\n2\n34").unwrap();
        let mut journal = Journal::<i32>::open(&path).unwrap();
        assert_eq!(journal.rows(), [1, 2]);
        journal.push(5).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n2\n5\n");
        fs::write(&path, "1\ntwo\n").unwrap();
        let error = Journal::<i32>::open(&path).err().unwrap();
        assert!(error.to_string().ends_with("journal, line 2"), "{error}");
    }
}

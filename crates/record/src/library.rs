//! The list of saved records: which were made, in which order, under which names.
//!
//! It is a file of JSON lines in the state directory. A line is appended when the first round of a campaign is in its
//! journal, so that one that is killed is found, and again when its record is saved, wherever that was. A record's number is that of its entry and is never given again. A writer locks the file, so that two runs that
//! end at the same time get two numbers. The list only points at records: a record that was moved or removed stays in the list,
//! and a list that was lost costs nothing but numbers and names.

use crate::journal::journal_path;
use crate::state::{create_state_folder, latest_in, state_folder};
use crate::{Comparison, Run, SaveError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// The list's name in the state directory.
const FILE: &str = "records.ndjson";
/// Beyond this size the older half is dropped: at some 400 bytes a record the newest 5,000 remain.
const LARGEST: u64 = 4 << 20;
/// A line longer than this is none of ours.
const LONGEST_LINE: u64 = 64 << 10;

/// One saved record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its number, from 1, in the order of saving.
    pub number: u64,
    /// The name that it was given; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where it was written, absolute.
    pub path: PathBuf,
    /// When its campaign began: seconds since 1970, UTC.
    pub started_unix: u64,
    /// The first URL that was loaded.
    pub url: String,
    /// How many load levels were measured.
    pub points: usize,
    /// Requests per second of the only point, or the highest of a sweep; none where nothing was measured.
    pub rps: Option<f64>,
    /// Whether its campaign has not ended, or was killed: its rounds are in its journal.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub unfinished: bool,
    /// Whether it is a comparison, of the servers whose names stand in place of the URL.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub compares: bool,
    /// Whether a later record was saved in the same file, so that this one is lost.
    #[serde(skip)]
    pub overwritten: bool,
}

impl Saved {
    /// Returns the file that holds its rounds: the record, or the journal where it is unfinished.
    pub fn file(&self) -> PathBuf {
        match self.unfinished {
            true => journal_path(&self.path),
            false => self.path.clone(),
        }
    }
}

/// The name of a record: 1 to 64 letters, digits, dots, dashes and underscores that begin with a letter or digit, and not only
/// digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordName(String);

/// Why a word is no name of a record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` cannot name a record; use 1 to 64 letters, digits, dots, dashes and underscores, first a letter or digit, and \
     not only digits"
)]
pub struct RecordNameError(String);

impl FromStr for RecordName {
    type Err = RecordNameError;

    fn from_str(text: &str) -> Result<RecordName, RecordNameError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        match begins && text.len() <= 64 && text.chars().all(fits) && !is_number {
            true => Ok(RecordName(text.to_owned())),
            false => Err(RecordNameError(text.to_owned())),
        }
    }
}

impl AsRef<str> for RecordName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The list of saved records of one state directory.
#[derive(Debug, Clone)]
pub struct Library {
    folder: PathBuf,
}

impl Library {
    /// Returns the list of this user's state directory, which need not exist.
    pub fn of_user() -> Library {
        Library {
            folder: state_folder(),
        }
    }

    /// Adds the record `run`, saved at `path` or `unfinished`, and returns its number. A campaign that is known already keeps
    /// its number and, without a new one, its name.
    ///
    /// # Errors
    /// [`SaveError::Unwritable`] where the list cannot be written; the record itself is not touched.
    pub fn add(
        &self,
        run: &Run,
        path: &Path,
        name: Option<&RecordName>,
        unfinished: bool,
    ) -> Result<u64, SaveError> {
        let list = self.folder.join(FILE);
        create_state_folder(&self.folder)?;
        let listed = Saved {
            name: name.map_or_else(String::new, |name| name.0.clone()),
            unfinished,
            started_unix: run.started_unix,
            url: run.plan.first_url(),
            points: run.points.len(),
            rps: highest(run),
            ..Saved::default()
        };
        // Another campaign can have ended in the same second.
        let begins_anew = unfinished && run.resumed_unix.is_empty();
        self.append(&list, listed, path, begins_anew)
            .map_err(|error| SaveError::Unwritable(list, error))
    }

    /// Adds the record of a comparison, saved at `path`, and returns its number. One that is known already keeps it.
    ///
    /// # Errors
    /// As [`Library::add`].
    pub fn add_comparison(&self, comparison: &Comparison, path: &Path) -> Result<u64, SaveError> {
        let list = self.folder.join(FILE);
        create_state_folder(&self.folder)?;
        let names: Vec<&str> = comparison
            .plan
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        let listed = Saved {
            started_unix: comparison.started_unix,
            url: names.join(", "),
            points: comparison.plan.blocks.len(),
            compares: true,
            ..Saved::default()
        };
        self.append(&list, listed, path, false)
            .map_err(|error| SaveError::Unwritable(list, error))
    }

    fn append(
        &self,
        list: &Path,
        listed: Saved,
        path: &Path,
        begins_anew: bool,
    ) -> io::Result<u64> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.mode(0o600).open(list)?;
        file.lock()?;
        let length = file.metadata()?.len();
        let known = entries(&mut file);
        let path = std::path::absolute(path)?;
        let is_same = |saved: &&Saved| {
            saved.path == path
                && saved.started_unix == listed.started_unix
                && (saved.unfinished || !begins_anew)
        };
        let before = known.iter().rev().find(is_same);
        let next = || known.last().map_or(0, |saved| saved.number) + 1;
        let number = before.map_or_else(next, |saved| saved.number);
        let kept = || before.map_or(String::new(), |saved| saved.name.clone());
        let saved = Saved {
            number,
            name: match listed.name.is_empty() {
                true => kept(),
                false => listed.name.clone(),
            },
            path,
            ..listed
        };
        if before == Some(&saved) {
            return Ok(number);
        }
        if length > LARGEST {
            file.set_len(0)?;
            file.rewind()?;
            let kept = &known[known.len() / 2..];
            kept.iter().try_for_each(|saved| write(&mut file, saved))?;
        }
        file.seek(SeekFrom::End(0))?;
        write(&mut file, &saved)?;
        Ok(number)
    }

    /// Returns the entries, the oldest first; none where there is no list. Lines that are not entries are skipped.
    pub fn saved(&self) -> Vec<Saved> {
        let file = File::open(self.folder.join(FILE));
        file.map_or(Vec::new(), |mut file| entries(&mut file))
    }

    /// Returns the entry with the number or the name that `word` is; of several with one name the newest.
    pub fn find(&self, word: &str) -> Option<Saved> {
        let number = word.strip_prefix('#').unwrap_or(word).parse::<u64>();
        let is_it = |saved: &Saved| match &number {
            Ok(number) => saved.number == *number,
            Err(_) => !word.is_empty() && saved.name == word,
        };
        self.saved().into_iter().rev().find(is_it)
    }

    /// Returns the path of the newest record: of the list, where its file may be gone, or, without one, of the state
    /// directory.
    pub fn newest(&self) -> Option<PathBuf> {
        let newest = self.saved().pop().map(|saved| saved.file());
        newest.or_else(|| latest_in(&self.folder))
    }
}

fn highest(run: &Run) -> Option<f64> {
    let points = run.points.iter().filter_map(|point| point.summary.as_ref());
    points.map(|summary| summary.rps.mean).reduce(f64::max)
}

fn write(file: &mut File, saved: &Saved) -> io::Result<()> {
    let mut line = serde_json::to_vec(saved)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Reads the entries in the order of their numbers; of several with one number the last. Whole lines only: one that was
/// cut off by a full disk is skipped like any other that is no entry.
fn entries(file: &mut File) -> Vec<Saved> {
    let mut lines = BufReader::new(file.take(2 * LARGEST));
    let mut entries = BTreeMap::new();
    let mut line = Vec::new();
    while let Ok(1..) = (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line) {
        let saved = serde_json::from_slice::<Saved>(&line).ok();
        entries.extend(saved.map(|saved| (saved.number, saved)));
        line.clear();
    }
    // Whether one of the later ones in the same file is finished.
    let mut later = BTreeMap::<PathBuf, bool>::new();
    for saved in entries.values_mut().rev() {
        let same_file = later.get(&saved.path);
        saved.overwritten = same_file.is_some_and(|finished| *finished || saved.unfinished);
        *later.entry(saved.path.clone()).or_default() |= !saved.unfinished;
    }
    entries.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn library() -> (tempfile::TempDir, Library) {
        let folder = tempfile::tempdir().unwrap();
        let library = Library {
            folder: folder.path().join("weigh"),
        };
        (folder, library)
    }

    fn name(text: &str) -> RecordName {
        text.parse().unwrap()
    }

    #[test]
    fn records_are_numbered_in_order_and_found_by_number_and_name() {
        let (folder, library) = library();
        let run = example::ok();
        let at = |file: &str| folder.path().join(file);
        assert_eq!(library.saved(), []);
        assert_eq!(library.newest(), None);
        assert_eq!(library.add(&run, &at("a.json"), None, false).unwrap(), 1);
        let base = name("base");
        assert_eq!(
            library
                .add(&run, &at("b.json"), Some(&base), false)
                .unwrap(),
            2
        );
        assert_eq!(
            library
                .add(&run, &at("c.json"), Some(&base), false)
                .unwrap(),
            3
        );
        let path = |word: &str| library.find(word).map(|saved| saved.path);
        assert_eq!(path("1"), Some(at("a.json")));
        assert_eq!(path("#2"), Some(at("b.json")));
        assert_eq!(path("base"), Some(at("c.json")), "the newest of that name");
        assert_eq!((path("4"), path("other"), path("")), (None, None, None));
        let first = &library.saved()[0];
        assert_eq!(first.url, "http://127.0.0.1:8080/100.html");
        assert_eq!(first.rps, run.summary.map(|summary| summary.rps.mean));
    }

    #[test]
    fn a_resumed_campaign_keeps_its_number_and_another_in_its_file_overwrites_it() {
        let (folder, library) = library();
        let mut run = example::ok();
        let path = folder.path().join("a.json");
        assert_eq!(
            library
                .add(&run, &path, Some(&name("base")), false)
                .unwrap(),
            1
        );
        run.points.clear();
        assert_eq!(library.add(&run, &path, None, false).unwrap(), 1);
        let known = library.find("base").unwrap();
        assert_eq!((known.points, known.overwritten), (0, false));
        run.resumed_unix.push(7);
        assert_eq!(library.add(&run, &path, None, true).unwrap(), 1);
        assert_eq!(library.add(&run, &path, None, false).unwrap(), 1);
        run.resumed_unix.clear(); // another one, which began in the same second
        let other = name("other");
        let other = Some(&other);
        assert_eq!(library.add(&run, &path, other, true).unwrap(), 2);
        let is_overwritten = |word| library.find(word).unwrap().overwritten;
        assert!(
            !is_overwritten("base"),
            "it is still there beside the journal"
        );
        assert_eq!(library.find("2").unwrap().file(), journal_path(&path));
        assert_eq!(library.add(&run, &path, other, false).unwrap(), 2);
        assert_eq!(library.find("other").unwrap().file(), path);
        assert!(is_overwritten("base") && !is_overwritten("2"));
        run.started_unix += 9;
        assert_eq!(library.add(&run, &path, None, true).unwrap(), 3);
        run.started_unix += 9; // the journal of the third was removed
        assert_eq!(library.add(&run, &path, None, true).unwrap(), 4);
        assert!(!is_overwritten("2") && is_overwritten("3") && !is_overwritten("4"));
    }

    #[test]
    fn the_newest_is_the_last_though_it_be_gone() {
        let (folder, library) = library();
        let run = example::ok();
        let at = |file: &str| folder.path().join(file);
        std::fs::write(at("a.json"), "").unwrap();
        library.add(&run, &at("a.json"), None, false).unwrap();
        library.add(&run, &at("gone.json"), None, false).unwrap();
        assert_eq!(library.newest(), Some(at("gone.json")));
        std::fs::remove_file(library.folder.join(FILE)).unwrap();
        let elsewhere = library.folder.join("20250101-000000-9.json");
        std::fs::write(&elsewhere, "").unwrap();
        assert_eq!(library.newest(), Some(elsewhere));
    }

    #[test]
    fn lines_that_are_no_entries_cost_only_themselves() {
        let (folder, library) = library();
        let run = example::ok();
        library
            .add(&run, &folder.path().join("a"), None, false)
            .unwrap();
        let mut text = std::fs::read_to_string(library.folder.join(FILE)).unwrap();
        text.insert_str(0, "{}\nnonsense\n\u{0}\n");
        std::fs::write(library.folder.join(FILE), text).unwrap();
        assert_eq!(
            library
                .add(&run, &folder.path().join("b"), None, false)
                .unwrap(),
            2
        );
        assert_eq!(library.saved().len(), 2);
    }

    #[test]
    fn two_that_are_added_at_the_same_time_get_two_numbers() {
        let (folder, library) = library();
        let run = example::ok();
        let add = |file: u8| {
            let path = folder.path().join(file.to_string());
            library.add(&run, &path, None, false).unwrap()
        };
        let mut numbers: Vec<u64> = std::thread::scope(|scope| {
            let threads = (0..8).map(|file| scope.spawn(move || add(file)));
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|each| each.join().unwrap())
                .collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=8).collect::<Vec<u64>>());
    }

    #[test]
    fn a_list_that_is_too_large_loses_its_older_half_and_no_number() {
        let (folder, library) = library();
        let run = example::ok();
        let path = |file: &str| folder.path().join(file);
        library
            .add(&run, &path("a"), Some(&name("old")), false)
            .unwrap();
        library.add(&run, &path("b"), None, false).unwrap();
        let list = library.folder.join(FILE);
        let filler = " \n".repeat(LARGEST as usize / 2);
        let text = std::fs::read_to_string(&list).unwrap() + &filler;
        std::fs::write(&list, text).unwrap();
        assert_eq!(library.add(&run, &path("c"), None, false).unwrap(), 3);
        assert!(std::fs::metadata(&list).unwrap().len() < 4096);
        assert_eq!(library.find("old"), None);
        assert_eq!(library.saved().len(), 2);
    }

    #[test]
    fn names_are_words_and_not_numbers() {
        for good in ["base", "v1.2-rc_3", "a", "2025-01-01"] {
            assert!(good.parse::<RecordName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "41",
            "a b",
            "a/b",
            "grün",
            "-",
            ".",
            "..",
            "-a",
            &"x".repeat(65),
        ] {
            let error = bad.parse::<RecordName>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` cannot name a record;")));
        }
    }
}

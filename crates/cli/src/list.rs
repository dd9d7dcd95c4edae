//! `weigh list`: saved records, and how words of the command line name them.

use crate::exit::Exit;
use crate::output;
use anyhow::{Result, bail};
use record::{Library, Saved};
use std::path::{Path, PathBuf};

/// Records that are listed unless all are asked for.
const NEWEST: usize = 20;

/// Prints the newest saved records, or `all` of them, the newest last.
pub fn list(all: bool) -> Result<Exit> {
    let saved = Library::of_user().saved();
    if saved.is_empty() {
        output::message("no record is saved yet; make one with `weigh URL`");
        return Ok(Exit::YES);
    }
    let from = if all {
        0
    } else {
        saved.len().saturating_sub(NEWEST)
    };
    let is_there = |saved: &Saved| saved.file().is_file();
    let look = output::look(report::Detail::default());
    let page = report::page::saved_records(&saved[from..], look.width, is_there);
    output::print(&report::page_text(&page, &look))?;
    if from > 0 {
        output::message(&format!("{from} older ones: weigh list --all"));
    }
    Ok(Exit::YES)
}

/// Returns the file that `word` means: a record's number (`41`, `#41`) or name, else a path.
///
/// # Errors
/// The record was overwritten by a later one, or no record has the number.
pub fn file(word: &Path) -> Result<PathBuf> {
    let named = word.to_str().filter(|text| !text.contains('/'));
    let is_number = |text: &str| {
        text.trim_start_matches('#')
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    let named = named.filter(|text| is_number(text) || !word.exists());
    let found = named.and_then(|text| Library::of_user().find(text));
    let shown = word.display();
    match found {
        Some(saved) if saved.overwritten => {
            bail!(
                "record {shown} was overwritten: a later run was saved in the same file; see `weigh list`"
            )
        }
        Some(saved) => Ok(saved.file()),
        None if named.is_some_and(is_number) && !word.exists() => {
            bail!("there is no record {shown}; see `weigh list`")
        }
        None if named.is_some() && !record::journal_path(word).exists() => {
            bail!("there is no file and no saved record `{shown}`; see `weigh list`")
        }
        None => Ok(word.to_owned()),
    }
}

//! The settings table: every option that shapes a plan is one row.
//!
//! From the rows follow the command line, `-h` and `--help`, the man pages, the option tables of `docs/run.md`, the page
//! of `--dry-run`, and what [`Plan::check`] refuses. A front end that takes other words (the flags of another tool) sets
//! the same settings of the same [`Draft`], and so gets the same checks. One file a group; a row stands
//! beside the part of the plan that it sets.
//!
//! The table knows no argument parser: what `clap` needs is built from it where the command line is read.

mod connections;
mod criteria;
mod load;
mod output;
mod request;
mod security;
mod server;
mod sweep;
mod target;

pub use connections::{Connect, Protocol, Timeouts, Version};
pub use request::{Body, Request, Requests, header};
pub use security::{Resume, Security};

use crate::{Axis, Draft, Plan};
use std::fmt::Display;
use std::str::FromStr;
use units::{Nanos, parse_count};

/// One option: its name, its documentation, and how it is read, shown and checked. `T` is what it is read into: a
/// [`Draft`] for all that shapes a plan; a front end has rows of its own for what it prints.
#[derive(Debug)]
pub struct Setting<T = Draft> {
    /// The long option, without its dashes.
    pub name: &'static str,
    /// The short option.
    pub short: Option<char>,
    /// What follows the option.
    pub takes: Takes,
    /// The heading under which it is listed.
    pub group: Group,
    /// What it sets, as one sentence of less than 80 columns.
    pub help: &'static str,
    /// What `help` leaves out: when to use it, units, limits. Empty where that is all.
    pub long: &'static str,
    /// The default as it would be typed, read into every draft; empty where it is computed or there is none.
    pub default: &'static str,
    /// The default in words, where it is computed.
    pub computed: &'static str,
    /// Whether `-h` lists it; `--help` lists all.
    pub common: bool,
    /// Whether only `weigh sweep` takes it.
    pub sweep_only: bool,
    /// Whether a sweep may give it several values.
    pub axis: bool,
    /// Settings that cannot be given together with it.
    pub excludes: &'static [&'static str],
    /// Settings of which one must be given with it; empty where none is needed.
    pub needs: &'static [&'static str],
    /// Reads a value, the empty text for a switch. The error says what is wrong with it, and what to write.
    pub parse: fn(&mut T, &str) -> Result<(), String>,
    /// Shows the setting of a plan, one line a value; empty where it does not apply.
    pub show: fn(&Plan) -> String,
    /// Says why the plan of one point cannot be carried out; the sentence names the option and the remedy.
    pub check: fn(&Plan) -> Option<String>,
}

impl<T> Setting<T> {
    /// A row that says nothing: each row names what it has beyond this.
    pub const BASE: Setting<T> = Setting {
        name: "",
        short: None,
        takes: Takes::Nothing,
        group: Group::Target,
        help: "",
        long: "",
        default: "",
        computed: "",
        common: false,
        sweep_only: false,
        axis: false,
        excludes: &[],
        needs: &[],
        parse: |_, _| Ok(()),
        show: |_| String::new(),
        check: |_| None,
    };

    /// Returns the documentation in a line, as `-h` shows it.
    pub fn summary(&self) -> String {
        let default = self.default();
        let sentence = self.help.trim_end_matches('.');
        format!("{sentence} {default}").trim_end().to_owned()
    }

    /// Returns the whole documentation: what it sets, the details, the default.
    pub fn documentation(&self) -> String {
        let parts = [self.help, self.long, &self.default()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    fn default(&self) -> String {
        match (self.default, self.computed) {
            ("", "") => String::new(),
            ("", computed) => format!("[default: {computed}]"),
            (default, _) => format!("[default: {default}]"),
        }
    }
}

/// What follows an option on the command line.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// Nothing: it is a switch.
    Nothing,
    /// A value of this name.
    Value(&'static str),
    /// A value of this name; the option may be given several times.
    Values(&'static str),
    /// Values with commas between them; the option may be given several times.
    List(&'static str),
    /// One of a few words, each with its meaning.
    Word(fn() -> Vec<(&'static str, &'static str)>),
    /// No option: the operands of the command line.
    Operands(&'static str),
    /// No option: everything after `--`.
    Command(&'static str),
}

/// The headings under which settings are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each has its title")]
pub enum Group {
    Target,
    Request,
    Load,
    Connections,
    Security,
    Server,
    Criteria,
    Sweep,
    Comparison,
    Output,
}

impl Group {
    /// The groups of a load, in the order in which they are listed.
    pub const ALL: [Group; 9] = [
        Group::Target,
        Group::Request,
        Group::Load,
        Group::Connections,
        Group::Security,
        Group::Server,
        Group::Criteria,
        Group::Sweep,
        Group::Output,
    ];

    /// Returns the heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Target => "Target",
            Group::Request => "Request",
            Group::Load => "Load",
            Group::Connections => "Connections",
            Group::Security => "Encryption (https)",
            Group::Server => "Server",
            Group::Criteria => "Pass and fail criteria",
            Group::Sweep => "Sweep",
            Group::Comparison => "Comparison",
            Group::Output => "Output",
        }
    }
}

/// Every setting of a plan, group by group.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    let groups = [
        target::ROWS,
        request::ROWS,
        load::ROWS,
        connections::ROWS,
        security::ROWS,
        server::ROWS,
        criteria::ROWS,
        sweep::ROWS,
        output::ROWS,
    ];
    groups.into_iter().flatten()
}

/// A value that is written as one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Each value, its word, and its meaning in a sentence.
    const CHOICES: &'static [(Self, &'static str, &'static str)];

    /// Returns the word for the value.
    fn word(self) -> &'static str {
        let known = Self::CHOICES.iter().find(|(value, ..)| *value == self);
        known.map_or("", |(_, word, _)| word)
    }

    /// Reads a word.
    ///
    /// # Errors
    /// The sentence that lists the words, for any other.
    fn read(text: &str) -> Result<Self, String> {
        let known = Self::CHOICES.iter().find(|(_, word, _)| *word == text);
        known.map(|(value, ..)| *value).ok_or_else(|| {
            let words: Vec<&str> = Self::CHOICES.iter().map(|(_, word, _)| *word).collect();
            format!("`{text}` is none of {}", words.join(", "))
        })
    }

    /// Returns the words with their meanings.
    fn words() -> Vec<(&'static str, &'static str)> {
        let all = Self::CHOICES.iter();
        all.map(|(_, word, meaning)| (*word, *meaning)).collect()
    }
}

/// Puts a value that was read into its place.
///
/// # Errors
/// What was said where none could be read.
pub fn keep<T>(place: &mut T, read: Result<T, String>) -> Result<(), String> {
    *place = read?;
    Ok(())
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Reads `text` into `place`.
fn set<T: FromStr<Err: Display>>(place: &mut T, text: &str) -> Result<(), String> {
    keep(place, read(text))
}

/// Reads `text` into `place`, which holds nothing where the setting is not given.
fn put<T: FromStr<Err: Display>>(place: &mut Option<T>, text: &str) -> Result<(), String> {
    keep(place, read(text).map(Some))
}

/// Reads `text` as one more of `place`.
fn push<T: FromStr<Err: Display>>(place: &mut Vec<T>, text: &str) -> Result<(), String> {
    place.push(read(text)?);
    Ok(())
}

/// Reads a count such as `10k`.
fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

/// Reads a count that fits into 32 bits.
///
/// # Errors
/// The sentence that says why `text` is none.
pub fn count32(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("`{text}` is too large"))
}

/// Returns the sentence where `broken`.
fn broken(broken: bool, sentence: &str) -> Option<String> {
    broken.then(|| sentence.to_owned())
}

/// Shows a switch.
fn yes(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}

/// Shows a setting that a sweep may vary: its values, or the only one.
fn varied(plan: &Plan, name: &str, only: String) -> String {
    let axes = plan.sweep.iter().flat_map(|sweep| &sweep.axes);
    axes.into_iter()
        .find(|axis| axis.name() == name)
        .map_or(only, Axis::listed)
}

/// Shows each of `values`.
fn list<T: Display>(values: impl Iterator<Item = T>, between: &str) -> String {
    let shown: Vec<String> = values.map(|value| value.to_string()).collect();
    shown.join(between)
}

/// Shows a span of time to the digit.
fn time(span: Nanos) -> String {
    match span {
        Nanos::ZERO => "none".to_owned(),
        span => units::exact(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_complete_and_every_name_is_there_once() {
        let mut names = BTreeSet::new();
        for row in settings() {
            assert!(names.insert(row.name), "{} is there twice", row.name);
            assert!(
                row.help.ends_with('.') && row.help.len() < 80,
                "{}",
                row.help
            );
            assert!(
                row.long.is_empty() || row.long.ends_with(['.', ')']),
                "{}",
                row.long
            );
        }
        for row in settings() {
            for other in row.excludes.iter().chain(row.needs) {
                assert!(names.contains(other), "{}: no setting `{other}`", row.name);
            }
        }
    }

    #[test]
    fn the_groups_are_listed_in_their_order() {
        let places = settings().map(|row| Group::ALL.iter().position(|group| *group == row.group));
        let places: Vec<_> = places.collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}

//! Records that are named instead of servers: two of runs are compared, one of a comparison is printed again.

use super::{PORT, judged, print};
use crate::exit::Exit;
use crate::list;
use crate::output_file::OutputFile;
use crate::settings::{Comparing, Given};
use anyhow::{Result, bail};
use record::{Comparison, Library, NamedRun, holds_comparison, journal_path};
use report::page::{Difference, differences};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The most differences of two records that a sentence names.
const DIFFERENCES_MOST: usize = 4;
/// Options that say how something is shown.
const SHOWN: [&str; 6] = ["servers", "json", "verbose", "quiet", "chart", "markdown"];
/// Options that say what is to be told of two records.
const TOLD: [&str; 3] = ["decide-on", "max-regression", "unequal"];

/// A record, and what it is called.
pub struct Named {
    name: String,
    word: String,
    path: PathBuf,
}

/// Returns the records that `operands` name, each `[NAME=]RECORD` as `weigh report` takes them; none where they are servers.
///
/// # Errors
/// Some are records and others servers; a number that no record has.
pub fn named(operands: &[String]) -> Result<Option<Vec<Named>>> {
    let found: Result<Vec<Option<Named>>> = operands.iter().map(|text| record_of(text)).collect();
    let found = found?;
    let server = found
        .iter()
        .zip(operands)
        .find(|(found, _)| found.is_none());
    let records = || found.iter().flatten();
    match (records().next(), server) {
        (None, _) => Ok(None),
        (Some(record), Some((_, server))) => bail!(
            "{} is a record and `{server}` a server, which cannot be compared with each other; name two servers, or two records",
            record.word
        ),
        (Some(_), None) => Ok(Some(found.into_iter().flatten().collect())),
    }
}

fn record_of(text: &str) -> Result<Option<Named>> {
    if text.contains(PORT) || text.contains("://") {
        return Ok(None);
    }
    let (name, word) = match text.split_once('=') {
        Some((name, word)) if super::is_name(name) && !is_record(text) => (Some(name), word),
        _ => (None, text),
    };
    if !is_record(word) {
        return Ok(None);
    }
    Ok(Some(Named {
        name: name.map_or_else(|| called(word), str::to_owned),
        word: word.to_owned(),
        path: list::file(Path::new(word))?,
    }))
}

/// Whether `word` is a file, a number, or the name of a saved record.
fn is_record(word: &str) -> bool {
    let path = Path::new(word);
    let is_there = path.is_file() && !is_program(path) || journal_path(path).is_file();
    is_there || is_number(word) || !word.contains('/') && Library::of_user().find(word).is_some()
}

/// Whether it may be executed: a server whose command lacks `{port}`, and no record.
fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches('#');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a record is called where no name is given: `#41`, its name, or that of its file without the ending.
fn called(word: &str) -> String {
    if is_number(word) && !Path::new(word).is_file() {
        return format!("#{}", word.trim_start_matches('#'));
    }
    let path = Path::new(word);
    let is_path = word.contains('/') || path.is_file() || journal_path(path).is_file();
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.filter(|_| is_path).unwrap_or(word).to_owned()
}

/// Compares two records, or prints that of a comparison again.
pub fn show(records: &[Named], given: &Given, comparing: &Comparing) -> Result<Exit> {
    let read = records.iter().map(|one| ("servers", one.path.clone()));
    OutputFile::check(&given.output.beside, None, &read.collect::<Vec<_>>())?;
    let [before, after] = match records {
        [one] => return again(one, given),
        [before, after] => [before, after],
        more => bail!(
            "{} records cannot be compared at a time; name two, the first is the one that the other is compared with",
            more.len()
        ),
    };
    if let Some(one) = records.iter().find(|one| holds_comparison(&one.path)) {
        bail!(
            "{} is a comparison, which has its answer already; print it with `weigh report {0}`, and name two records of `weigh run`",
            one.word
        );
    }
    refuse_others(
        given,
        &[&SHOWN[..], &TOLD[..]].concat(),
        "two records are read",
    )?;
    let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if file(&before.path) == file(&after.path) {
        bail!(
            "{} and {} are the same record; name two",
            before.word,
            after.word
        );
    }
    shown(&beside([before, after], comparing)?, given)
}

/// The comparison of two records, of which nothing forbids it.
fn beside([before, after]: [&Named; 2], comparing: &Comparing) -> Result<Comparison> {
    let runs = [campaign::load(&before.path)?, campaign::load(&after.path)?];
    let all = differences(&runs[0], &runs[1]).differences;
    let differs: Vec<String> = all.iter().filter(|it| it.forbids).map(difference).collect();
    if !differs.is_empty() && !comparing.unequal {
        bail!(
            "{} and {} are not comparable: {}; measure both alike (`weigh report --diff {0} {1}` shows all), or compare all the same \
             with --unequal",
            before.word,
            after.word,
            listed(&differs)
        );
    }
    let has_names = before.name != after.name;
    let [first, second] = [(before, &runs[0]), (after, &runs[1])].map(|(named, run)| NamedRun {
        name: if has_names { &named.name } else { &named.word },
        run,
    });
    let Some(mut comparison) = Comparison::of_records(first, second) else {
        bail!(
            "{} and {} have no load level in common; measure both at the same levels",
            before.word,
            after.word
        );
    };
    comparison.plan.unequal = comparing.unequal;
    comparison.plan.max_regression = comparing.max_regression;
    comparison.plan.decide_on = comparing.decide_on.unwrap_or(comparison.plan.decide_on);
    if let Some(record) = comparison
        .servers
        .last_mut()
        .and_then(|it| it.record.as_mut())
    {
        record.differs = differs;
    }
    let unequal = campaign::unequal(&comparison);
    if !unequal.is_empty() && !comparing.unequal {
        bail!(
            "the conditions are not equal ({}), so the comparison would be one of those; make them equal and measure again, or compare \
             all the same with --unequal",
            unequal.join("; ")
        );
    }
    Ok(comparison)
}

/// Prints the record of a comparison again.
fn again(one: &Named, given: &Given) -> Result<Exit> {
    if !holds_comparison(&one.path) && campaign::load(&one.path).is_ok() {
        bail!(
            "one record cannot be compared; name another, or print it with `weigh report {}`",
            one.word
        );
    }
    refuse_others(given, &SHOWN, "a comparison is printed again")?;
    shown(&record::load_comparison(&one.path)?, given)
}

fn shown(comparison: &Comparison, given: &Given) -> Result<Exit> {
    Ok(match print(comparison, given, true)? {
        true => judged(comparison),
        false => Exit::COULD_NOT,
    })
}

/// Refuses options that would change what is measured, where nothing is.
fn refuse_others(given: &Given, may_be_given: &[&str], what: &str) -> Result<()> {
    match given.names.iter().find(|name| !may_be_given.contains(name)) {
        Some(other) => {
            bail!("{what} and nothing is measured, so that --{other} says nothing; remove it")
        }
        None => Ok(()),
    }
}

/// `rounds: 5 and 3`.
fn difference(of: &Difference) -> String {
    let shown = |value: &str| if value.is_empty() { "none" } else { value }.to_owned();
    let name = match of.of {
        "weigh" => "weigh's version",
        _ => of.name.as_str(),
    };
    format!("{name}: {} and {}", shown(&of.a), shown(&of.b))
}

/// The first of `differs`, and how many more there are.
fn listed(differs: &[String]) -> String {
    let mut listed: Vec<String> = differs.iter().take(DIFFERENCES_MOST).cloned().collect();
    let rest = differs.len().saturating_sub(DIFFERENCES_MOST);
    listed.extend((rest > 0).then(|| format!("{rest} more")));
    listed.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_called_by_its_number_or_its_file() {
        let cases = [
            ("41", "#41"),
            ("#41", "#41"),
            ("base", "base"),
            ("runs/before.json", "before"),
            ("v1.2", "v1.2"),
        ];
        for (word, wanted) in cases {
            assert_eq!(called(word), wanted, "{word}");
        }
    }

    #[test]
    fn commands_and_urls_are_no_records() {
        for text in [
            "a=./a {port}",
            "http://127.0.0.1:80/",
            "b=http://h/",
            "./none.json",
            "h:80",
        ] {
            assert!(record_of(text).unwrap().is_none(), "{text}");
        }
    }
}

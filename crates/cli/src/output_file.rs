//! Files that are written beside what is printed: `--chart`, `--junit`, `--markdown`.

use crate::output;
use anyhow::{Context, Result, bail};
use campaign::Outcome;
use record::{Comparison, Run};
use report::Format;
use report::chart::{Chart, KINDS, Kind};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file that shows a record, and how.
#[derive(Debug, Clone)]
pub struct OutputFile {
    option: &'static str,
    path: PathBuf,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Chart(&'static Kind),
    Text(&'static Format),
}

impl OutputFile {
    /// A chart, of the kind that the ending of `name` says.
    ///
    /// # Errors
    /// The sentence that lists the endings.
    pub fn chart(name: &str) -> Result<OutputFile, String> {
        let path = PathBuf::from(name);
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.and_then(report::chart::kind) {
            Some(kind) => Ok(OutputFile {
                option: "chart",
                path,
                content: Content::Chart(kind),
            }),
            None => {
                let endings: Vec<String> = KINDS
                    .iter()
                    .map(|kind| format!(".{}", kind.ending))
                    .collect();
                let endings = endings.join(" or ");
                Err(format!(
                    "a chart's name ends in {endings}, and `{name}` does not"
                ))
            }
        }
    }

    /// A file in the format that has the name of the option.
    ///
    /// # Panics
    /// Where there is no such format.
    pub fn text(option: &'static str, name: &str) -> OutputFile {
        let format = report::format(option).expect("a format of the table");
        OutputFile {
            option,
            path: name.into(),
            content: Content::Text(format),
        }
    }

    /// Tries whether all `files` can be written and are different files, also from that of the `record` and from the
    /// `inputs`, which are read; before the load, because an hour of measuring is a high price for a misspelt folder. No
    /// file is changed.
    ///
    /// # Errors
    /// The option that is wrong and why.
    pub fn check(
        files: &[OutputFile],
        record: Option<&Path>,
        inputs: &[(&'static str, PathBuf)],
    ) -> Result<()> {
        let read = inputs.iter().map(|(option, path)| (*option, place(path)));
        let mut known: Vec<_> = read.collect();
        let record = record.map(|path| ("output", path));
        let files_of_options = files.iter().map(|file| (file.option, &*file.path));
        for (option, path) in record.into_iter().chain(files_of_options) {
            let place = place(path);
            if let Some((other, _)) = known.iter().find(|(_, other)| *other == place) {
                let shown = path.display();
                let other = match *other {
                    "servers" => "an operand".to_owned(),
                    other => format!("--{other}"),
                };
                bail!("--{option} and {other} both name {shown}; name two files");
            }
            if option == "output" {
                known.push((option, record::journal_path(&place)));
            }
            known.push((option, place));
        }
        files.iter().try_for_each(OutputFile::check_writable)
    }

    fn check_writable(&self) -> Result<()> {
        let (option, shown) = (self.option, self.path.display());
        let path = place(&self.path);
        let folder = folder(&path);
        if !folder.is_dir() {
            bail!(
                "--{option} {shown}: there is no folder {}",
                folder.display()
            );
        }
        let writable = match fs::metadata(&self.path) {
            Ok(facts) if facts.is_dir() => {
                bail!("--{option} {shown}: that is a folder; name a file")
            }
            Ok(facts) if facts.file_type().is_char_device() => return Ok(()),
            Ok(facts) if !facts.is_file() => {
                bail!("--{option} {shown}: that is a pipe or a socket; name a file")
            }
            Ok(facts) if is_printed_to(&facts) => {
                bail!("--{option} {shown} would mix with what is printed; name another file")
            }
            Ok(_) if record::holds_record(&path) => {
                bail!("--{option} {shown}: that is a record of weigh; name another file")
            }
            Ok(_) => OpenOptions::new().append(true).open(&path).map(|_| ()),
            Err(_) => Ok(()),
        };
        writable
            .and_then(|()| record::can_replace(&path))
            .with_context(|| format!("--{option} {shown} cannot be written"))
    }

    /// Writes the file; `is_saved` says whether the record is, from which it can be made again.
    pub fn write(&self, run: &Run, is_saved: bool) -> Result<()> {
        let (option, shown) = (self.option, self.path.display());
        let content = match self.content {
            Content::Text(format) => {
                (format.render)(std::slice::from_ref(run), &report::Look::default()).into_bytes()
            }
            Content::Chart(kind) => {
                let chart = Chart::of(run);
                if chart.is_empty() {
                    bail!("--{option} {shown} is not drawn: nothing was measured");
                }
                (kind.render)(&chart)?
            }
        };
        let remedy = remedy(is_saved);
        self.replace(&content)
            .with_context(|| format!("--{option} {shown} could not be written{remedy}"))
    }

    /// Writes the file of a comparison.
    fn write_comparison(&self, comparison: &Comparison, is_saved: bool) -> Result<()> {
        let (option, shown) = (self.option, self.path.display());
        let content = match self.content {
            Content::Text(_) => {
                report::comparison::markdown(comparison, &report::Look::default()).into_bytes()
            }
            Content::Chart(kind) => {
                let chart = report::comparison::chart(comparison);
                if chart.is_empty() {
                    bail!("--{option} {shown} is not drawn: nothing was measured");
                }
                (kind.render)(&chart)?
            }
        };
        let remedy = remedy(is_saved);
        self.replace(&content)
            .with_context(|| format!("--{option} {shown} could not be written{remedy}"))
    }

    /// Writes all `files` of a comparison; false, with a complaint, when one cannot be written.
    pub fn written_of_comparison(
        files: &[OutputFile],
        comparison: &Comparison,
        is_quiet: bool,
        is_saved: bool,
    ) -> bool {
        OutputFile::all_written(files, is_quiet, |file| {
            file.write_comparison(comparison, is_saved)
        })
    }

    /// Replaces the file, whole or not at all. What an earlier command wrote is not left to be taken for this one's
    /// verdict, so that on failure it is removed; a chart has none, and stays.
    fn replace(&self, content: &[u8]) -> io::Result<()> {
        let path = place(&self.path);
        if fs::metadata(&self.path).is_ok_and(|facts| facts.file_type().is_char_device()) {
            return fs::write(path, content);
        }
        record::replace_file(&path, |file| file.write_all(content)).inspect_err(|_| {
            if matches!(self.content, Content::Text(_)) {
                let _ = fs::remove_file(&path); // there is nothing else to be done
            }
        })
    }

    /// Writes why nothing could be measured into those of `files` that say how a command ended, so that none of them
    /// holds the verdict of an earlier one.
    pub fn failed(files: &[OutputFile], why: &anyhow::Error) {
        for file in files {
            let Content::Text(Format {
                failed: Some(failed),
                ..
            }) = file.content
            else {
                continue;
            };
            let written = file.replace(failed(&format!("{why:#}")).as_bytes());
            let (option, shown) = (file.option, file.path.display());
            if let Err(error) =
                written.with_context(|| format!("--{option} {shown} could not be written"))
            {
                output::complain(&error);
            }
        }
    }

    /// Writes all `files` of what was measured; false, with a complaint, when one cannot be written.
    pub fn written(files: &[OutputFile], outcome: &Outcome, quiet: bool) -> bool {
        let is_saved = outcome.saved.is_ok();
        OutputFile::all_written(files, quiet, |file| file.write(&outcome.run, is_saved))
    }

    fn all_written(
        files: &[OutputFile],
        quiet: bool,
        write: impl Fn(&OutputFile) -> Result<()>,
    ) -> bool {
        let mut all = true;
        for file in files {
            match write(file) {
                Ok(()) if !quiet => {
                    output::message(&format!("{:<7} {}", file.option, file.path.display()));
                }
                Ok(()) => {}
                Err(error) => {
                    output::complain(&error);
                    all = false;
                }
            }
        }
        all
    }
}

/// The end of a sentence about a file that could not be written.
fn remedy(is_saved: bool) -> &'static str {
    ["", "; `weigh report` makes it again"][usize::from(is_saved)]
}

/// Whether standard output or standard error goes to this file.
fn is_printed_to(file: &Metadata) -> bool {
    ["/proc/self/fd/1", "/proc/self/fd/2"].iter().any(|stream| {
        fs::metadata(stream).is_ok_and(|to| (to.dev(), to.ino()) == (file.dev(), file.ino()))
    })
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The most links that lead from one to the next.
const LINKS: usize = 40;

/// The place that a path names, without links and detours; of a file that does not exist yet, that in its folder.
fn place(path: &Path) -> PathBuf {
    let follow = |path: &PathBuf| Some(folder(path).join(fs::read_link(path).ok()?));
    let links = std::iter::successors(Some(path.to_owned()), follow).take(LINKS);
    let path = &links.last().unwrap_or_default();
    let known = path.canonicalize().or_else(|_| {
        let name = path.file_name().unwrap_or_default();
        Ok::<_, io::Error>(folder(path).canonicalize()?.join(name))
    });
    known.unwrap_or_else(|_| path.to_owned())
}

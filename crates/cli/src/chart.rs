//! `--chart FILE`: a picture of a record beside what is printed of it.

use crate::output;
use anyhow::{Context, Result, bail};
use record::Run;
use report::chart::{Chart, KINDS, Kind};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

/// A file for a picture, and which kind its ending names.
#[derive(Debug, Clone)]
pub struct Picture {
    path: PathBuf,
    kind: &'static Kind,
}

impl Picture {
    /// Reads the name of a file, whose ending says what is to be drawn.
    pub fn named(name: &str) -> Result<Picture, String> {
        let path = PathBuf::from(name);
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.and_then(report::chart::kind) {
            Some(kind) => Ok(Picture { path, kind }),
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

    /// Tries whether the file can be written, and is none that the record goes to; before the load, because an hour of
    /// measuring is a high price for a misspelt folder.
    pub fn try_place(&self, record: Option<&Path>) -> Result<()> {
        let shown = self.path.display();
        if record == Some(&self.path) {
            bail!("--chart and --output both name {shown}; name two files");
        }
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            bail!("--chart {shown}: there is no folder {}", folder.display());
        }
        if self.path.is_dir() {
            bail!("--chart {shown}: that is a folder; name a file");
        }
        let existed = self.path.symlink_metadata().is_ok();
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.path);
        opened.with_context(|| format!("--chart {shown} cannot be written"))?;
        if !existed {
            let _ = fs::remove_file(&self.path); // an empty file does no harm
        }
        Ok(())
    }

    /// Draws `run` into the file.
    pub fn draw(&self, run: &Run) -> Result<()> {
        let shown = self.path.display();
        let chart = Chart::of(run);
        if chart.is_empty() {
            bail!("--chart {shown} is not drawn: nothing was measured");
        }
        let picture = (self.kind.render)(&chart)?;
        let written = fs::write(&self.path, picture);
        written.with_context(|| {
            format!("--chart {shown} could not be written; `weigh report --chart` draws it again")
        })
    }

    /// Draws what was measured; false, and a complaint, when that fails.
    pub fn drawn(picture: Option<&Picture>, run: &Run, quiet: bool) -> bool {
        let Some(picture) = picture else { return true };
        match picture.draw(run) {
            Ok(()) if !quiet => output::remark(&format!("chart   {}", picture.path.display())),
            Ok(()) => {}
            Err(error) => {
                output::complain(&error);
                return false;
            }
        }
        true
    }
}

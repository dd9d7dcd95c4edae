//! The file of `--urls`: checked before the load, so that a bad line is not found in it.
//!
//! Every thread reads the file for itself, over and over, which a pipe does not allow. So what comes through a pipe is
//! copied into a file without a name first, which is gone when the process ends.

use anyhow::{Context, Result, anyhow, bail};
use plan::line::{HELD_MOST, WEIGHTS_MOST};
use plan::{Request, Target};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest line.
const LINE_LIMIT: u64 = 1 << 20;
/// The most that is taken from a pipe: the copy stays on disk while the process lives.
const PIPE_LIMIT: u64 = 1 << 30;
/// How long a pipe may be without a process that writes to it.
const PIPE_PATIENCE: Duration = Duration::from_secs(5);

/// A file of requests, one a line.
#[derive(Debug)]
pub struct UrlsFile {
    /// As the user called it.
    name: String,
    path: PathBuf,
}

impl UrlsFile {
    /// The file at `path`, or a copy of what comes through the pipe there.
    pub fn at(path: &Path) -> Result<UrlsFile> {
        let name = format!("--urls {}", path.display());
        // Looked at first: to open a pipe would wait for its writer.
        let facts = std::fs::metadata(path).with_context(|| format!("{name} cannot be read"))?;
        let path = if facts.is_file() {
            path.to_owned()
        } else if facts.file_type().is_fifo() {
            copied(&name, path)?
        } else {
            bail!("{name} is no file; put the requests into one");
        };
        Ok(UrlsFile { name, path })
    }

    /// Where it can be read any number of times as long as this process lives.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> Result<BufReader<File>> {
        let file = File::open(&self.path);
        let file = file.with_context(|| format!("{} cannot be read", self.name))?;
        Ok(BufReader::new(file))
    }

    /// The first URL in it, which names the server.
    pub fn first_url(&self) -> Result<String> {
        for line in self.open()?.take(LINE_LIMIT).lines() {
            let line = line.with_context(|| self.name.clone())?;
            let comment = line.trim_start().starts_with('#');
            if let Some(word) = line.split_whitespace().find(|word| word.contains("://"))
                && !comment
            {
                return Ok(word.to_owned());
            }
        }
        Err(anyhow!(
            "{} names no server; begin a line with http://host:port, or give a URL too",
            self.name
        ))
    }

    /// Reads the whole file once: every line must be a request to `target`.
    /// By a popularity (`is_drawn`) only requests in memory can be drawn, and weights have no place.
    pub fn check_lines(&self, common: &Request, target: &Target, is_drawn: bool) -> Result<()> {
        let mut reader = self.open()?;
        let mut line = String::new();
        let (mut requests, mut weights) = (0u64, 0u64);
        for number in 1u64.. {
            line.clear();
            let at = || format!("{} line {number}", self.name);
            let length = reader
                .by_ref()
                .take(LINE_LIMIT + 1)
                .read_line(&mut line)
                .with_context(at)?;
            if length == 0 {
                break;
            }
            if length as u64 > LINE_LIMIT {
                bail!("{} is longer than 1 MiB", at());
            }
            let request = plan::line::request(&line, common, target).with_context(at)?;
            if request.is_some() {
                requests += 1;
                weights += u64::from(plan::line::weight(&line).with_context(at)?.0);
            }
        }
        if is_drawn && (weights > requests || requests > HELD_MOST as u64) {
            bail!(
                "--popularity takes a list of up to {} requests without weights, and {} has another; shorten it, or use a range \
                 such as /{{n:1..10000}}",
                units::count(HELD_MOST as u64),
                self.name
            );
        }
        if weights > requests && requests > HELD_MOST as u64 {
            bail!(
                "{} has {} requests, and only a file of up to {} may have weights; shorten it, or leave the weights out",
                self.name,
                units::count(requests),
                units::count(HELD_MOST as u64)
            );
        }
        if weights > requests && weights > WEIGHTS_MOST {
            bail!(
                "the weights in {} add up to {}, more than {}; use smaller ones",
                self.name,
                units::count(weights),
                units::count(WEIGHTS_MOST)
            );
        }
        if requests == 0 {
            bail!("{} holds no request", self.name);
        }
        Ok(())
    }
}

/// Copies the pipe at `path` to its end, and returns where the copy is.
fn copied(name: &str, path: &Path) -> Result<PathBuf> {
    let mut file = tempfile::tempfile().with_context(|| format!("{name} cannot be kept"))?;
    match kernel::pipe::copy(path, &mut file, PIPE_LIMIT, PIPE_PATIENCE) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotConnected => bail!(
            "{name} is a pipe that no process writes to ({} s waited); start the writer first, or put the requests into \
             a file",
            PIPE_PATIENCE.as_secs()
        ),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            bail!("{name} is a pipe with more than 1 GiB; put the requests into a file")
        }
        Err(error) => return Err(error).with_context(|| format!("{name} cannot be copied")),
    }
    // Open until the process ends; its generator threads and processes find it here.
    let descriptor = file.into_raw_fd();
    Ok(format!("/proc/{}/fd/{descriptor}", std::process::id()).into())
}

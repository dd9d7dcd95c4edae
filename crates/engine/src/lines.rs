//! Requests of a file, one a line. A long file is streamed, over and over: never more of it in memory than a buffer.
//!
//! Every thread reads the file for itself and takes each `threads`-th line, so that together they take them all.
//! The file was checked before the load; a line that has been spoilt since is passed over.

use plan::line::HELD_MOST;
use plan::{Request, Target};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Lines<'p> {
    reader: Option<BufReader<File>>,
    common: &'p Request,
    target: &'p Target,
    /// Lines to pass over before the next one of ours.
    skip: u32,
    threads: u32,
    buffer: String,
}

impl<'p> Lines<'p> {
    pub(crate) fn new(
        path: &Path,
        common: &'p Request,
        target: &'p Target,
        thread: u32,
        threads: u32,
    ) -> Lines<'p> {
        let reader = File::open(path).ok().map(BufReader::new);
        Lines {
            reader,
            common,
            target,
            skip: thread,
            threads,
            buffer: String::new(),
        }
    }

    /// The next request of ours; none when the file holds none any more, because it was emptied under us.
    pub(crate) fn next(&mut self) -> Option<Request> {
        let mut barren = 0;
        while barren < 2 {
            match self.line() {
                Some(request) if self.skip == 0 => {
                    self.skip = self.threads - 1;
                    return Some(request);
                }
                Some(_) => {
                    self.skip -= 1;
                    barren = 0;
                }
                None => {
                    barren += 1;
                    self.rewind();
                }
            }
        }
        None
    }

    /// The next line that is a request; none at the end of the file.
    fn line(&mut self) -> Option<Request> {
        let reader = self.reader.as_mut()?;
        loop {
            self.buffer.clear();
            let read = reader.read_line(&mut self.buffer);
            read.ok().filter(|bytes| *bytes > 0)?;
            let request = plan::line::request(&self.buffer, self.common, self.target);
            if let Ok(Some(request)) = request {
                return Some(request);
            }
        }
    }

    fn rewind(&mut self) {
        if let Some(reader) = &mut self.reader
            && reader.rewind().is_err()
        {
            self.reader = None;
        }
    }
}

/// The requests of the file at `path` with their weights; none of a file that has more than are held in memory.
pub(crate) fn held(path: &Path, common: &Request, target: &Target) -> Vec<(Request, u32)> {
    let mut lines = Lines::new(path, common, target, 0, 1);
    let mut held = Vec::new();
    while let Some(request) = lines.line() {
        if held.len() == HELD_MOST {
            return Vec::new();
        }
        let weight = plan::line::weight(&lines.buffer).map_or(1, |(weight, _)| weight);
        held.push((request, weight));
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn threads_take_every_line_and_begin_again() {
        let folder = std::env::temp_dir().join(format!("weigh-lines-{}", std::process::id()));
        let mut file = File::create(&folder).unwrap();
        write!(file, "/0\n# nothing\n/1\n\n/2").unwrap();
        let (common, target) = (
            Request::get("/"),
            Target {
                scheme: "http".into(),
                authority: "h".into(),
                endpoints: Vec::new(),
            },
        );
        let taken = |thread| {
            let mut lines = Lines::new(&folder, &common, &target, thread, 2);
            (0..4)
                .map(|_| lines.next().unwrap().path)
                .collect::<Vec<_>>()
        };
        assert_eq!(taken(0), ["/0", "/2", "/1", "/0"]);
        assert_eq!(taken(1), ["/1", "/0", "/2", "/1"]);
        std::fs::remove_file(&folder).unwrap();
    }
}

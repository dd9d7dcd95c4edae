//! The journal: a round is on disk when it is over, so that whatever ends the campaign loses at most one round.
//!
//! ```text
//! {"journal":1,"run":{...}}                        the Run as far as it is known before the load, without points
//! {"point":0,"load":{...},"round":{...}}           one line a round, in the order in which they were measured
//!                                                  (in an open loop with the "baseline" of its point before the round)
//! {"point":0,"load":{...},"split_generators":{"round":{...}}}  likewise, of a round with two generators
//! {"point":0,"load":{...},"split_generators":{"failed":"..."}} why there are no more of those
//! ```
//!
//! It lies beside the finished record as `<file>.journal` and goes when that is written. Lines, because the only damage
//! that a killed process or a full disk can do to the end of a file is to cut its last line short, and a short line is
//! easily told. (A database would survive more, but could not be read with `less`.)

use crate::save::{self, Destination, SaveError};
use crate::{Baseline, Round, Run};
use plan::Level;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What every journal begins with; by this it is told from a finished record, and from what is none of ours.
pub(crate) const MARK: &[u8] = b"{\"journal\":";
/// The version of the journal's form. A journal is read by the version that wrote it, or a later one.
pub(crate) const VERSION: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(crate) struct Header<R> {
    /// [`VERSION`].
    pub(crate) journal: u32,
    /// The Run without points.
    pub(crate) run: R,
}

/// Every other line, as it is written (of references) and as it is read.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry<L = Level, B = Baseline, R = Round> {
    /// The place of the point in the Run.
    pub(crate) point: usize,
    /// What held at the point.
    #[serde(flatten)]
    pub(crate) level: L,
    /// The point's baseline: in each of its lines, so that no line is needed to read another.
    #[serde(alias = "floor", skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<B>,
    /// A round of the point; or else
    pub(crate) round: Option<R>,
    /// what there is of two generators.
    #[serde(alias = "twin", skip_serializing_if = "Option::is_none")]
    pub(crate) split_generators: Option<SplitEntry<R>>,
}

/// What a line says of two generators. It stands under a name of its own, so that a reader that does not know of them
/// refuses the line instead of taking it for a round of the point.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SplitEntry<R> {
    /// A round of theirs.
    Round(R),
    /// Why there are no more.
    Failed(String),
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    destination: Destination,
    path: PathBuf,
    file: File,
    /// Bytes of whole lines. Anything beyond is a line that could not be finished.
    length: u64,
}

impl Journal {
    /// Opens the journal of a record that will lie at `path`, before the load, and finds out that the record can be
    /// written there. A journal without rounds is replaced; one with rounds is a measurement, and kept.
    ///
    /// # Errors
    /// [`SaveError`], before anything was asked of any server.
    pub fn create(path: &Path, run: &Run) -> Result<Journal, SaveError> {
        let destination = Destination::of(path)?;
        let path = match &destination {
            Destination::File(path) => journal_path(path),
            Destination::Stream(..) => journal_path(&crate::state::default_path(
                run.started_unix,
                std::process::id(),
            )?),
        };
        let file = create_exclusively(&path)?;
        let mut journal = Journal {
            destination,
            path,
            file,
            length: 0,
        };
        let begun = journal.begin(&mut run.clone());
        if let Err(error) = begun.and_then(|()| journal.sync_name()) {
            journal.discard(); // it holds nothing yet
            return Err(error);
        }
        Ok(journal)
    }

    /// Goes on with what was measured of the record at `path`: a journal of all rounds of `run` takes the place of the one
    /// that was left there, if any. Until it does, the old one is untouched.
    ///
    /// # Errors
    /// [`SaveError`], [`SaveError::StillGoing`] where another process still writes the old one.
    pub fn resume(path: &Path, run: &mut Run) -> Result<Journal, SaveError> {
        let Destination::File(record) = Destination::of(path)? else {
            return Err(SaveError::NoFile(path.into()));
        };
        let journal = journal_path(&record);
        if journal.exists() {
            refuse_foreign(&journal)?;
        }
        let begin = |error| SaveError::Begin(journal.clone(), error);
        let next = with_ending(&journal, ".next");
        let _ = fs::remove_file(&next); // of an attempt that was cut off
        let mut resumed = Journal {
            destination: Destination::File(record),
            file: create_exclusively(&next)?,
            path: next.clone(),
            length: 0,
        };
        resumed.begin(run)?;
        for (place, point) in run.points.iter().enumerate() {
            for round in &point.rounds {
                resumed.append_round(place, &point.level, point.baseline.as_ref(), round)?;
            }
            for round in point.split_rounds() {
                resumed.append_split(place, &point.level, Ok(round))?;
            }
        }
        fs::rename(&next, &journal).map_err(begin)?;
        resumed.path = journal;
        resumed.sync_name()?;
        Ok(resumed)
    }

    /// Writes down all that is known when the load begins: the first line again, with the probe in it. To be called
    /// before the first round. `run` is changed only while it is written: it lends its points, because a copy of it
    /// would be one of every round.
    ///
    /// # Errors
    /// [`SaveError::Begin`].
    pub fn begin(&mut self, run: &mut Run) -> Result<(), SaveError> {
        self.length = 0;
        let kept = (std::mem::take(&mut run.points), run.summary.take());
        let written = self.append(&Header {
            journal: VERSION,
            run: &*run,
        });
        (run.points, run.summary) = kept;
        written.map_err(|error| SaveError::Begin(self.path.clone(), error))
    }

    /// Removes the journal: nothing was measured.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.path); // a journal without rounds is replaced by the next
    }

    /// Where the journal lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the record will lie; none where that is no file.
    pub fn record(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(path) => Some(path),
            Destination::Stream(..) => None,
        }
    }

    /// Adds a round of the point at place `point`, which has this load and baseline; it is on disk when this returns.
    ///
    /// # Errors
    /// [`SaveError::Append`]; the earlier rounds stay in the journal, and further ones can still be tried.
    pub fn append_round(
        &mut self,
        point: usize,
        level: &Level,
        baseline: Option<&Baseline>,
        round: &Round,
    ) -> Result<(), SaveError> {
        self.append_entry(&Entry {
            point,
            level,
            baseline,
            round: Some(round),
            split_generators: None,
        })
    }

    /// Adds what came of a round of the point at place `point` with two generators: the round, or why there is none.
    ///
    /// # Errors
    /// As of [`Journal::append_round`].
    pub fn append_split(
        &mut self,
        point: usize,
        level: &Level,
        split: Result<&Round, &str>,
    ) -> Result<(), SaveError> {
        let split = match split {
            Ok(round) => SplitEntry::Round(round),
            Err(why) => SplitEntry::Failed(why.to_owned()),
        };
        self.append_entry(&Entry {
            point,
            level,
            baseline: None,
            round: None,
            split_generators: Some(split),
        })
    }

    fn append_entry(&mut self, entry: &Entry<&Level, &Baseline, &Round>) -> Result<(), SaveError> {
        let appended = self.append(entry);
        appended.map_err(|error| SaveError::Append(self.path.clone(), error))
    }

    /// Writes the finished record and removes the journal. Returns where the record lies.
    ///
    /// # Errors
    /// [`SaveError::Finish`]; the journal is left, and [`crate::load`] reads it.
    pub fn finish(self, run: &Run) -> Result<PathBuf, SaveError> {
        match self.destination.write(run) {
            Ok(path) => {
                let _ = fs::remove_file(&self.path); // the record is safe, the journal holds no more than it
                Ok(path)
            }
            Err((path, error)) => Err(SaveError::Finish {
                path,
                journal: self.path,
                error,
            }),
        }
    }

    /// Makes the journal's name as durable as its contents.
    fn sync_name(&self) -> Result<(), SaveError> {
        let synced = save::sync_name(&self.path);
        synced.map_err(|error| SaveError::Unwritable(self.path.clone(), error))
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::from)?;
        text.push(b'\n');
        // Written over whatever an append that failed has left, so that one failure costs one round.
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&text)?;
        self.file.sync_data()?;
        self.length += text.len() as u64;
        Ok(())
    }
}

/// Where the journal of a record at `path` lies: beside it, with `.journal` behind its name.
pub fn journal_path(path: &Path) -> PathBuf {
    with_ending(path, ".journal")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Creates the journal's file; one that an earlier run left there is removed first. (Removed, not emptied: were that
/// run still going, it would go on in its own file, and never in ours.)
fn create_exclusively(path: &Path) -> Result<File, SaveError> {
    let create = || {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let _ = file.try_lock(); // where locks cannot be had, no other process can tell that we are still writing
        Ok::<File, io::Error>(file)
    };
    let unwritable = |error| SaveError::Unwritable(path.into(), error);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            refuse_foreign(path)?;
            if holds_rounds(path).map_err(unwritable)? {
                return Err(SaveError::HoldsRounds(path.into()));
            }
            fs::remove_file(path).map_err(unwritable)?;
            create().map_err(unwritable)
        }
        result => result.map_err(unwritable),
    }
}

/// Refuses a file that is no journal of ours, and one that another process is still writing.
fn refuse_foreign(path: &Path) -> Result<(), SaveError> {
    let unwritable = |error| SaveError::Unwritable(path.into(), error);
    if !is_ours(path).map_err(unwritable)? {
        return Err(SaveError::NotOurs(path.into()));
    }
    match File::open(path).map_err(unwritable)?.try_lock() {
        Err(TryLockError::WouldBlock) => Err(SaveError::StillGoing(path.into())),
        _ => Ok(()),
    }
}

/// Whether there is anything in a journal beyond its first line.
pub(crate) fn holds_rounds(path: &Path) -> io::Result<bool> {
    let mut lines = BufReader::new(File::open(path)?);
    lines.skip_until(b'\n')?;
    Ok(!lines.fill_buf()?.is_empty())
}

/// Whether there is a journal of weigh, or one that was cut off within its very first bytes, at `path`.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_file() && MARK.starts_with(&start_of(path)?))
}

/// The first bytes of a file, as many as the mark has.
pub(crate) fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let file = File::open(path)?;
    file.take(MARK.len() as u64).read_to_end(&mut start)?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SplitGenerators, example, load};

    fn begin(folder: &Path, run: &Run) -> Journal {
        Journal::create(&folder.join("run.json"), run).unwrap()
    }

    fn append_all(journal: &mut Journal, run: &Run) {
        for (place, point) in run.points.iter().enumerate() {
            for round in &point.rounds {
                let baseline = point.baseline.as_ref();
                journal
                    .append_round(place, &point.level, baseline, round)
                    .unwrap();
            }
            let Some(split) = &point.split_generators else {
                continue;
            };
            let rounds = split.rounds.iter().map(Ok);
            for each in rounds.chain(split.failed.as_deref().map(Err)) {
                journal.append_split(place, &point.level, each).unwrap();
            }
        }
    }

    #[test]
    fn a_journal_goes_on_with_what_was_measured_and_refuses_while_another_process_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let run = example::few_samples();
        let mut journal = begin(folder.path(), &run);
        let point = &run.points[0];
        journal
            .append_round(0, &point.level, None, &point.rounds[0])
            .unwrap();
        let refused = Journal::resume(&path, &mut run.clone()).unwrap_err();
        assert!(matches!(refused, SaveError::StillGoing(_)), "{refused}");
        drop(journal);
        let mut left = load(&path).unwrap();
        assert_eq!(left.points[0].rounds.len(), 1);
        left.reopen(7);
        let mut journal = Journal::resume(&path, &mut left).unwrap();
        journal
            .append_round(0, &point.level, None, &point.rounds[1])
            .unwrap();
        drop(journal);
        let both = load(&path).unwrap();
        assert_eq!(both.points[0].rounds, point.rounds[..2]);
        assert_eq!(both.resumed_unix, [7]);
    }

    #[test]
    fn a_finished_record_is_one_document_and_leaves_no_journal() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::errors();
        let mut journal = begin(folder.path(), &run);
        append_all(&mut journal, &run);
        let path = journal.finish(&run).unwrap();
        assert_eq!(load(&path).unwrap(), run);
        let left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|each| each.unwrap().path())
            .collect();
        assert_eq!(left, [path]);
    }

    #[test]
    fn a_journal_cut_anywhere_in_its_last_line_gives_all_earlier_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::few_samples();
        let rounds = run.points[0].rounds.len();
        let mut journal = begin(folder.path(), &run);
        append_all(&mut journal, &run);
        let whole = fs::read(journal.path()).unwrap();
        let last_line = whole[..whole.len() - 1]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .unwrap()
            + 1;
        let cut = folder.path().join("cut.json.journal");
        for length in last_line..=whole.len() {
            fs::write(&cut, &whole[..length]).unwrap();
            let read = load(&cut).unwrap();
            let complete = length >= whole.len() - 1; // only the line's end may be missing
            let wanted = if complete { rounds } else { rounds - 1 };
            assert_eq!(
                read.points[0].rounds,
                run.points[0].rounds[..wanted],
                "{length} bytes"
            );
            assert!(read.interrupted && read.summary.is_some());
        }
    }

    #[test]
    fn a_killed_run_is_read_from_its_journal_under_the_name_of_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::ok();
        let mut journal = begin(folder.path(), &run);
        append_all(&mut journal, &run);
        drop(journal);
        let read = load(&folder.path().join("run.json")).unwrap();
        assert_eq!(
            read,
            Run {
                interrupted: true,
                ..run
            }
        );
    }

    #[test]
    fn a_killed_open_loop_keeps_its_floor_with_its_first_round() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::open_loop();
        let (point, baseline) = (&run.points[0], run.points[0].baseline.as_ref());
        assert!(baseline.is_some());
        let mut journal = begin(folder.path(), &run);
        journal
            .append_round(0, &point.level, baseline, &point.rounds[0])
            .unwrap();
        let read = load(journal.path()).unwrap();
        assert_eq!(
            (
                read.points[0].baseline.as_ref(),
                read.points[0].rounds.len()
            ),
            (baseline, 1)
        );
    }

    #[test]
    fn rounds_of_two_generators_come_back_from_the_journal_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = example::few_samples();
        let rounds = run.points[0].rounds.clone();
        *run.points[0].split_mut() = SplitGenerators {
            rounds,
            failed: Some("one of them died".into()),
            ..SplitGenerators::default()
        };
        run.summarise();
        assert_eq!(run.sent_total.split_generators, run.sent_total.measure);
        let mut journal = begin(folder.path(), &run);
        append_all(&mut journal, &run);
        let read = load(journal.path()).unwrap();
        assert_eq!(read.points, run.points);
        assert_eq!(read.sent_total, run.sent_total);
    }

    #[test]
    fn a_journal_without_rounds_is_an_empty_interrupted_run() {
        let folder = tempfile::tempdir().unwrap();
        let journal = begin(folder.path(), &example::ok());
        let read = load(journal.path()).unwrap();
        assert!(read.interrupted && read.points.is_empty() && read.summary.is_none());
    }

    #[test]
    fn what_a_failed_append_left_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::few_samples();
        let mut journal = begin(folder.path(), &run);
        journal.file.write_all(b"{\"point\":0,\"load\":").unwrap(); // as a full disk would leave it
        append_all(&mut journal, &run);
        assert_eq!(
            load(journal.path()).unwrap().points[0].rounds,
            run.points[0].rounds
        );
    }

    #[test]
    fn a_round_that_cannot_be_added_costs_no_other_round() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::few_samples();
        let point = &run.points[0];
        let mut journal = begin(folder.path(), &run);
        journal
            .append_round(0, &point.level, None, &point.rounds[0])
            .unwrap();
        let unwritable = File::open(journal.path()).unwrap();
        let file = std::mem::replace(&mut journal.file, unwritable);
        let error = journal
            .append_round(0, &point.level, None, &point.rounds[1])
            .unwrap_err();
        assert!(
            error.to_string().contains("the earlier rounds are in it"),
            "{error}"
        );
        journal.file = file;
        journal
            .append_round(0, &point.level, None, &point.rounds[1])
            .unwrap();
        assert_eq!(load(journal.path()).unwrap().points[0].rounds, point.rounds);
    }

    #[test]
    fn only_a_journal_without_rounds_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let run = example::few_samples();
        begin(folder.path(), &run); // killed before its first round was over
        let mut killed = begin(folder.path(), &run);
        append_all(&mut killed, &run);
        let foreign = journal_path(&path);
        let kept = fs::read(&foreign).unwrap();
        drop(killed);
        let refused = Journal::create(&path, &run).unwrap_err();
        assert!(
            matches!(&refused, SaveError::HoldsRounds(named) if *named == foreign),
            "{refused}"
        );
        assert_eq!(fs::read(&foreign).unwrap(), kept);
        fs::write(&foreign, "notes").unwrap();
        let refused = Journal::create(&path, &run).unwrap_err();
        assert!(
            matches!(&refused, SaveError::NotOurs(named) if *named == foreign),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "notes");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_found_before_the_load() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "x").unwrap();
        let cases = [
            (folder.path().to_owned(), "is a folder; name a file"),
            (folder.path().join("no/"), "is a folder; name a file"),
            (folder.path().join("no/run.json"), "there is no folder"),
            (folder.path().join("no/.."), "there is no folder"),
            (plain.join("run.json"), "Not a directory"),
            ("/proc/run.json".into(), "/proc/run.json"),
            ("".into(), "cannot be written"),
        ];
        for (path, wanted) in cases {
            let said = Journal::create(&path, &example::empty())
                .unwrap_err()
                .to_string();
            assert!(
                said.contains(wanted) && said.contains(&*path.to_string_lossy()),
                "{said}"
            );
        }
    }

    #[test]
    fn a_record_that_cannot_be_finished_leaves_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let run = example::few_samples();
        let mut journal = begin(folder.path(), &run);
        append_all(&mut journal, &run);
        fs::create_dir(folder.path().join("run.json")).unwrap(); // came after we had looked
        let error = journal.finish(&run).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("as far as that could be written"),
            "{error}"
        );
        let kept = load(&folder.path().join("run.json.journal")).unwrap();
        assert_eq!(kept.points[0].rounds, run.points[0].rounds);
    }

    #[test]
    fn the_record_of_a_comparison_is_kept_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let text = serde_json::to_vec(&example::two_percent()).unwrap();
        fs::write(&path, &text).unwrap();
        let refused = Journal::create(&path, &example::ok()).unwrap_err();
        let said = refused.to_string();
        assert!(
            said.contains("holds the record of a comparison; name another file"),
            "{said}"
        );
        assert_eq!(fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_link_stays_and_what_it_points_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.json"),
            folder.path().join("link.json"),
        );
        fs::write(&real, "notes").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let run = example::ok();
        assert!(matches!(
            Journal::create(&link, &run),
            Err(SaveError::NoRecord(_))
        ));
        assert_eq!(fs::read(&real).unwrap(), b"notes");
        run.write_json(File::create(&real).unwrap()).unwrap();
        let run = example::empty();
        Journal::create(&link, &run).unwrap().finish(&run).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(load(&real).unwrap(), run);
    }
}

//! Reading a record again, whatever may be in the file.
//!
//! A record is handed around: mailed, edited, cut off, made by a later version. So nothing in it is believed that later
//! arithmetic relies on, and every refusal says what is wrong with which file.

use crate::journal::{self, Entry, Header, SplitEntry};
use crate::{Comparison, Growth, Point, Round, Run, SCHEMA_VERSION};
use plan::{Plan, Sweep};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The largest record that is read: some ten thousand rounds with every histogram filled.
const MOST_BYTES: u64 = 1 << 30;
/// The most rounds that are read: each unpacks to far more than its text.
const MOST_ROUNDS: usize = 1 << 16;

/// Why a file could not be read as a record.
#[derive(Debug, Error)]
#[error("{} {flaw}", .path.display())]
pub struct LoadError {
    /// The file.
    path: PathBuf,
    flaw: Flaw,
}

/// What can be told without knowing the schema.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

/// The same of a comparison.
#[derive(Deserialize)]
struct Compared {
    comparison: u32,
}

/// Why some text is no record.
#[derive(Debug, Error)]
enum Flaw {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is larger than any record.
    #[error(
        "is larger than {}, so it is not read as a record",
        units::bytes(MOST_BYTES)
    )]
    TooLarge,
    /// It is not a record at all, or a damaged one.
    #[error("is not a record of weigh, or damaged: {0}")]
    NotARecord(String),
    /// A later version wrote it, with this schema.
    #[error(
        "has schema {0}, which a later version of weigh wrote; this one reads up to {SCHEMA_VERSION}"
    )]
    Newer(u32),
}

impl From<serde_json::Error> for Flaw {
    fn from(error: serde_json::Error) -> Flaw {
        match error.is_io() {
            true => Flaw::Unreadable(error.into()),
            false => Flaw::NotARecord(error.to_string()),
        }
    }
}

/// Reads a finished record, or the journal of a run that was killed: then the Run holds the rounds that were over, and
/// is marked as interrupted. Where there is no file at `path` but its journal, that is read; and where both are of the
/// same campaign the journal, which then goes on from where the record ended.
///
/// # Errors
/// [`LoadError`].
pub fn load(path: &Path) -> Result<Run, LoadError> {
    let journal = journal::journal_path(path);
    match (path.exists(), journal.exists()) {
        (false, true) => load_file(&journal),
        (_, false) => load_file(path),
        (true, true) => {
            let run = load_file(path)?;
            let goes_on = |later: &Run| {
                later.started_unix == run.started_unix
                    && later.resumed_unix.len() > run.resumed_unix.len()
            };
            Ok(load_file(&journal).ok().filter(goes_on).unwrap_or(run))
        }
    }
}

/// Returns whether the file at `path` begins like a record or journal, perhaps a damaged one.
pub fn holds_record(path: &Path) -> bool {
    const START: &[u8] = b"{\"schema\":";
    let is_one = |start: Vec<u8>| start == journal::MARK || start.starts_with(START);
    path.is_file() && journal::start_of(path).is_ok_and(is_one)
}

/// Reads the file at `path` piece by piece: its text is larger than what is kept of it.
fn load_file(path: &Path) -> Result<Run, LoadError> {
    let read = || {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        match facts.is_file() {
            true if facts.len() > MOST_BYTES => Err(Flaw::TooLarge),
            true => parse(&mut BufReader::new(file)),
            false => parse(&mut in_memory(&mut file)?), // a pipe cannot be read twice
        }
    };
    read().map_err(|flaw| LoadError {
        path: path.to_owned(),
        flaw,
    })
}

/// Reads a record or journal from `input`, which errors call `name`.
///
/// # Errors
/// [`LoadError`].
pub fn load_from(input: &mut dyn Read, name: &Path) -> Result<Run, LoadError> {
    let text = in_memory(input);
    let run = text.and_then(|mut text| parse(&mut text));
    run.map_err(|flaw| LoadError {
        path: name.to_owned(),
        flaw,
    })
}

/// Reads the record of a comparison.
///
/// # Errors
/// [`LoadError`].
pub fn load_comparison(path: &Path) -> Result<Comparison, LoadError> {
    let read = || {
        let mut file = File::open(path)?;
        let mut text = in_memory(&mut file)?;
        let Compared { comparison } = serde_json::from_reader(&mut text)?;
        refuse_newer(comparison, Comparison::VERSION)?;
        text.rewind()?;
        let comparison: Comparison = serde_json::from_reader(text)?;
        match comparison.is_sound() {
            true => Ok(comparison),
            false => Err(Flaw::NotARecord("its parts do not fit together".into())),
        }
    };
    read().map_err(|flaw| LoadError {
        path: path.to_owned(),
        flaw,
    })
}

/// Returns whether the file at `path` begins like the record of a comparison, perhaps a damaged one.
pub fn holds_comparison(path: &Path) -> bool {
    const START: &[u8] = b"{\"comparison\":";
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    path.is_file() && read.is_ok() && start == START
}

fn in_memory(input: &mut dyn Read) -> Result<Cursor<Vec<u8>>, Flaw> {
    let mut text = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(Flaw::TooLarge),
        false => Ok(Cursor::new(text)),
    }
}

fn parse(text: &mut (impl BufRead + Seek)) -> Result<Run, Flaw> {
    let mut start = Vec::new();
    text.take(journal::MARK.len() as u64)
        .read_to_end(&mut start)?;
    text.rewind()?;
    if start == journal::MARK {
        return assemble(text);
    }
    let Versioned { schema } = serde_json::from_reader(&mut *text)?;
    refuse_newer(schema, SCHEMA_VERSION)?;
    // The types read the names of schema 1 as aliases.
    text.rewind()?;
    let run: Run = serde_json::from_reader(text)?;
    sound(&run)?;
    Ok(run)
}

fn refuse_newer(found: u32, known: u32) -> Result<(), Flaw> {
    match found {
        0 => Err(Flaw::NotARecord("there is no schema 0".into())),
        _ if found > known => Err(Flaw::Newer(found)),
        _ => Ok(()),
    }
}

/// Puts a Run together from a journal's complete lines.
fn assemble(text: &mut impl BufRead) -> Result<Run, Flaw> {
    let mut line = Vec::new();
    text.read_until(b'\n', &mut line)?;
    let version: Header<Versioned> = serde_json::from_slice(&line)?;
    refuse_newer(version.run.schema, SCHEMA_VERSION)?;
    refuse_newer(version.journal, journal::VERSION)?;
    let Header { mut run, .. } = serde_json::from_slice::<Header<Run>>(&line)?;
    few_points(&run.plan)?;
    run.expect_points();
    for number in 2.. {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match serde_json::from_slice::<Entry>(&line) {
            Ok(entry) => add(&mut run, entry)?,
            Err(_) if !line.ends_with(b"\n") => {} // the last one, cut short
            Err(error) => return Err(Flaw::NotARecord(format!("line {number}: {error}"))),
        }
    }
    run.interrupted = true;
    run.drop_unmeasured();
    sound(&run)?;
    run.summarise();
    Ok(run)
}

/// Refuses a plan whose points would fill the memory.
fn few_points(plan: &Plan) -> Result<(), Flaw> {
    let points = plan.sweep.as_ref().map_or(1, Sweep::points);
    match points > Sweep::MOST_POINTS {
        true => Err(Flaw::NotARecord(
            "it has more points than can be read".into(),
        )),
        false => Ok(()),
    }
}

/// What is wrong with a line that has neither a round nor what there is of two generators.
const NO_ROUND: &str = "a line of the journal holds no round";

/// Adds a round to its point. The points of a sweep are known beforehand, and rounds come in any order; others are
/// found one after the other.
fn add(run: &mut Run, entry: Entry) -> Result<(), Flaw> {
    if entry.point == run.points.len() && (run.plan.sweep.is_none() || run.plan.is_search()) {
        run.points.push(Point::new(entry.level));
    }
    let refused = |why: &str| Err(Flaw::NotARecord(format!("point {} {why}", entry.point)));
    let Some(point) = run.points.get_mut(entry.point) else {
        return refused("comes before earlier ones");
    };
    if point.level != entry.level {
        return refused("has two loads");
    }
    point.baseline = point.baseline.take().or(entry.baseline);
    match (entry.round, entry.split_generators) {
        (Some(round), None) => point.rounds.push(round),
        (None, Some(SplitEntry::Round(round))) => point.split_mut().rounds.push(round),
        (None, Some(SplitEntry::Failed(why))) => point.split_mut().failed = Some(why),
        _ => return Err(Flaw::NotARecord(NO_ROUND.into())),
    }
    Ok(())
}

/// Refuses what would upset arithmetic later. Whether the counts add up is another question, and audit's.
fn sound(run: &Run) -> Result<(), Flaw> {
    let rounds = || run.points.iter().flat_map(Point::all_rounds);
    let flaw = |round: &Round| {
        let tally = &round.tally;
        let growth = tally.open.as_ref().map(|open| &open.growth);
        if round.window.start > round.window.end {
            Some("a window ends before it starts")
        } else if !tally.series.is_sound() {
            Some("a series has impossible bins")
        } else if !growth.is_none_or(Growth::is_sound) {
            Some("response times over the run have impossible bins")
        } else {
            (!tally.bodies.is_sound()).then_some("response counts are impossible")
        }
    };
    let too_many = rounds().count() > MOST_ROUNDS;
    let too_many = too_many.then_some("it has more rounds than can be read");
    match too_many.or_else(|| rounds().find_map(flaw)) {
        Some(reason) => Err(Flaw::NotARecord(reason.into())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn refusal(text: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, text).unwrap();
        load(&path)
            .expect_err("it should have been refused")
            .to_string()
    }

    fn refusal_of(run: &Value) -> String {
        refusal(run.to_string().as_bytes())
    }

    fn example_value() -> Value {
        serde_json::to_value(example::few_samples()).unwrap()
    }

    #[test]
    fn every_example_comes_back_as_it_went() {
        for run in example::all() {
            let mut text = Vec::new();
            run.write_json(&mut text).unwrap();
            let Ok(read) = parse(&mut Cursor::new(text)) else {
                panic!("not read")
            };
            assert_eq!(read, run);
        }
    }

    #[test]
    fn records_of_every_older_schema_are_read() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        for version in 1..=SCHEMA_VERSION {
            let run = load(&fixtures.join(format!("v{version}.json"))).unwrap();
            let summary = run.summary.clone().unwrap();
            assert!(summary.ok > 0 && summary.errors.total > 0 && summary.censored > 0);
            let rounds = &run.points[0].rounds;
            let tally = crate::Summary::tally(rounds).unwrap();
            let listed = summary.latency_us.percentiles.0.iter();
            let listed: Vec<_> = listed.map(|(p, _)| *p).collect();
            let computed = crate::Summary::with(rounds, &tally, &listed);
            assert_eq!(summary, computed, "version {version}");
        }
    }

    /// Names of schema 2 with those of schema 1, and the part of the record where only some have it.
    const RENAMED: &[(&str, &str, &str)] = &[
        ("", "scheduled", "due"),
        ("", "send_delay", "lateness"),
        ("", "send_delay_us", "lateness_us"),
        ("tally", "bodies", "answers"),
        ("", "stalls", "gaps"),
        ("", "sessions", "visits"),
        ("sessions", "aborted", "ended_early"),
        ("sessions", "skipped", "forgone"),
        ("", "coordinated_omission", "omission"),
        ("", "affected_from", "blind_from"),
        ("", "affected_to", "blind_to"),
        ("", "split_generators", "twin"),
        ("", "baseline", "floor"),
        ("baseline", "requests", "exchanges"),
        ("baseline", "cpu_per_request", "cpu_per_exchange"),
        ("threads", "busy_polled", "spun"),
        ("threads", "busy_poll", "awake"),
        ("findings", "figures", "touches"),
        ("", "reference_server", "counterweight"),
    ];

    /// Gives the parts of `value`, which stands under `name`, their names of schema 1; counts in `met` which it met.
    fn as_schema_1(value: &mut Value, name: &str, met: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Array(parts) => {
                let parts = parts.iter_mut();
                parts.for_each(|part| as_schema_1(part, name, met));
            }
            Value::Object(parts) => {
                for (part, value) in parts.iter_mut() {
                    as_schema_1(value, part, met);
                }
                for (within, new, old) in RENAMED {
                    let value = ["", name].contains(within).then(|| parts.remove(*new));
                    if let Some(value) = value.flatten() {
                        parts.insert((*old).to_owned(), value);
                        met.insert((*new).to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_name_of_schema_1_is_read() {
        let mut met = std::collections::BTreeSet::new();
        for mut run in example::all() {
            run.findings = vec![example::finding(&[])];
            run.points[0].rounds.iter_mut().for_each(|round| {
                round.threads[0].busy_polled = units::Nanos::from_millis(1);
                round.threads[0].busy_poll = crate::BusyPoll::Always;
            });
            run.sent_total.split_generators = 1;
            let mut value = serde_json::to_value(&run).unwrap();
            as_schema_1(&mut value, "", &mut met);
            value["schema"] = 1.into();
            let text = serde_json::to_vec(&value).unwrap();
            let Ok(mut read) = parse(&mut Cursor::new(text)) else {
                panic!("not read")
            };
            read.schema = run.schema;
            assert_eq!(read, run);
        }
        assert_eq!(met.len(), RENAMED.len(), "{met:?}");
    }

    #[test]
    fn a_journal_that_goes_on_from_a_record_is_read_and_another_campaigns_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let mut stopped = example::few_samples();
        stopped.points[0].rounds.truncate(1);
        let mut file = File::create(&path).unwrap();
        stopped.write_json(&mut file).unwrap();
        let mut going_on = stopped.clone();
        going_on.reopen(9);
        drop(crate::Journal::resume(&path, &mut going_on).unwrap()); // killed
        assert_eq!(load(&path).unwrap().resumed_unix, [9]);
        let mut other = going_on.clone();
        other.started_unix += 1;
        drop(crate::Journal::resume(&path, &mut other).unwrap());
        assert_eq!(load(&path).unwrap().resumed_unix, Vec::<u64>::new());
    }

    #[test]
    fn what_is_no_record_is_refused_with_the_reason() {
        let deep = "[".repeat(100_000);
        let nested = format!("{{\"later\":{deep}");
        let fault = format!("\"faults\":[{{\"kind\":{deep}{}}}]", "]".repeat(deep.len()));
        let deep_fault = example_value().to_string().replace("\"faults\":[]", &fault);
        let cases: &[(&[u8], &str)] = &[
            (b"", "EOF"),
            (b"{}", "missing field `schema`"),
            (b"[1,2]", "not a record of weigh"),
            (b"\xff\xfe", "not a record of weigh"),
            (b"{\"schema\":1}", "missing field"),
            (b"{\"schema\":0}", "no schema 0"),
            (b"{\"schema\":-1}", "invalid value"),
            (
                b"{\"schema\":3}",
                "has schema 3, which a later version of weigh wrote; this one reads up to 2",
            ),
            (nested.as_bytes(), "EOF"),
            (deep_fault.as_bytes(), "recursion limit"),
            (b"{\"journal\":", "EOF"),
            (b"{\"journal\":1,\"run\":{\"schema\":7}}\n", "has schema 7"),
            (b"{\"journal\":1,\"run\":{\"schema\":1}}\n", "missing field"),
        ];
        for (text, wanted) in cases {
            let said = refusal(text);
            assert!(said.contains(wanted) && said.contains("run.json"), "{said}");
        }
    }

    #[test]
    fn figures_that_would_upset_arithmetic_are_refused() {
        let cases: &[(&str, Value, &str)] = &[
            ("/window/end", json!(0), "window ends before"),
            ("/tally/series/interval", json!(0), "impossible bins"),
            (
                "/tally/series/interval",
                json!(150_000_000),
                "impossible bins",
            ),
            (
                "/tally/series/ok",
                json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]),
                "impossible bins",
            ),
            (
                "/tally/bodies",
                json!([{"lengths": {"kept": [[2, 1], [1, 1]], "others": 0},
                "bodies": {"kept": [], "others": 0}}]),
                "impossible",
            ),
            ("/tally/ok", json!(-1), "invalid value"),
            ("/tally/ok", json!(1.5), "invalid type"),
        ];
        for (place, value, wanted) in cases {
            let mut run = example_value();
            *run.pointer_mut(&format!("/points/0/rounds/0{place}"))
                .unwrap() = value.clone();
            let said = refusal_of(&run);
            assert!(said.contains(wanted), "{place}: {said}");
        }
    }

    #[test]
    fn counts_at_the_top_stop_there_when_they_are_added() {
        let mut run = example_value();
        for round in 0..2 {
            for count in [
                "scheduled",
                "started",
                "never_sent",
                "ok",
                "ok_in_window",
                "bytes_sent",
            ] {
                let place = format!("/points/0/rounds/{round}/tally/{count}");
                *run.pointer_mut(&place).unwrap() = json!(u64::MAX);
            }
            let place = format!("/points/0/rounds/{round}/sent_total/measure");
            *run.pointer_mut(&place).unwrap() = json!(u64::MAX);
        }
        let Ok(mut run) = parse(&mut Cursor::new(run.to_string())) else {
            panic!("not read")
        };
        run.summarise();
        assert_eq!(run.summary.as_ref().unwrap().ok, u64::MAX);
        assert_eq!(run.sent_total.sum(), u64::MAX);
        assert!(!run.points[0].rounds[0].tally.conserved());
    }

    #[test]
    fn a_journal_damaged_before_its_end_is_refused_with_the_line() {
        let run = example::few_samples();
        let header =
            json!({"journal": 1, "run": Run { points: vec![], summary: None, ..run.clone() }});
        let point = &run.points[0];
        let line = |place: usize, load: Value| {
            json!({"point": place, "load": load, "round": point.rounds[0]}).to_string()
        };
        let load = serde_json::to_value(point.level.load).unwrap();
        let good = line(0, load.clone());
        let (early, far) = (line(1, load.clone()), line(usize::MAX, load));
        let other = line(0, json!({"closed": {"connections": 77}}));
        let cases = [
            (vec![&good[..20], &good], "line 2"),
            (vec![&good, "", &good], "line 3"),
            (vec![&early], "comes before earlier ones"),
            (vec![&far], "comes before earlier ones"),
            (vec![&good, &other], "two loads"),
        ];
        for (lines, wanted) in cases {
            let said = refusal(format!("{header}\n{}\n", lines.join("\n")).as_bytes());
            assert!(said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let said = load(Path::new("/nonexistent/run.json"))
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("/nonexistent/run.json cannot be read"),
            "{said}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_record_with_bytes_changed_is_read_or_refused_but_never_a_panic(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            journaled in any::<bool>(),
        ) {
            let run = example::few_samples();
            let mut text = if journaled {
                let header = json!({"journal": 1, "run": Run { points: vec![], ..run.clone() }});
                let entry = json!({"point": 0, "load": run.points[0].level.load, "round": run.points[0].rounds[0]});
                format!("{header}\n{entry}\n").into_bytes()
            } else {
                serde_json::to_vec(&run).unwrap()
            };
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            if let Ok(mut run) = parse(&mut Cursor::new(text)) {
                run.summarise();
            }
        }
    }
}

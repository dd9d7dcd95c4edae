//! One run of a case: its server, its neighbours, and what its record says.

use super::{Beside, Case, Found, Row};
use crate::catalogue::Values;
use crate::serving::site::Site;
use crate::serving::{free_port, listening, responding, start, to_end};
use anyhow::{Context, Result};
use kernel::process::Child;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long a run may take.
const LIMIT: Duration = Duration::from_secs(120);
/// Pause between two looks whether it has ended: so long that looking takes no CPU.
const LOOK: Duration = Duration::from_millis(50);
/// Programs that use all the CPU that they get.
const HOGS: usize = 2;

/// A server that runs, with a folder for the load on it.
pub struct Target {
    at: SocketAddr,
    home: PathBuf,
    _child: Child,
}

impl Target {
    /// Starts a server of `case` for each of `count` runs, of which `done` are done.
    ///
    /// # Errors
    /// One could not be started.
    pub fn several(
        case: &Case,
        count: u32,
        done: u32,
        program: &Path,
        site: &mut Site,
    ) -> Result<Vec<Target>> {
        let run = done..done + count;
        run.map(|run| Target::start(case, run, program, site))
            .collect()
    }

    fn start(case: &Case, run: u32, program: &Path, site: &mut Site) -> Result<Target> {
        let home = site.home()?;
        let words = home.join("words");
        let Some(server) = case.row()? else {
            let options = case.truth.as_deref().unwrap_or_default();
            let line = format!("serve --truth --listen 127.0.0.1:0 --seed {run} {options}");
            let command = [program.display().to_string()].into_iter();
            let mut child = start(
                command.chain(line.split_whitespace().map(str::to_owned)),
                &words,
            )?;
            let at = listening(&mut child, &words)?;
            return Ok(Target {
                at,
                home,
                _child: child,
            });
        };
        let at = free_port()?;
        let values = Values::default()
            .with("site", site.path().display())
            .with("port", at.port())
            .with("workers", 1);
        let mut child = start(server.command(&values, &home)?, &words)?;
        responding(&mut child, at, &case.path, false)?;
        Ok(Target {
            at,
            home,
            _child: child,
        })
    }
}

/// Programs that use all the CPU that they get; they end when this is dropped.
pub struct Neighbours(#[expect(dead_code, reason = "they are killed when dropped")] Vec<Child>);

impl Neighbours {
    /// Starts those of a neighbourhood.
    ///
    /// # Errors
    /// There is no shell.
    pub fn start(beside: Beside, site: &mut Site) -> Result<Neighbours> {
        let count = match beside {
            Beside::Idle => 0,
            Beside::Busy => HOGS,
        };
        let words = site.home()?.join("words");
        let hog = |_| start(["sh", "-c", "while :; do :; done"], &words);
        Ok(Neighbours((0..count).map(hog).collect::<Result<_>>()?))
    }
}

/// Loads each target at the same time; returns exit status and record of each run.
///
/// # Errors
/// weigh could not be started, did not end, or left no record.
pub fn run(case: &Case, targets: &mut [Target], program: &Path) -> Result<Vec<(i32, Value)>> {
    thread::scope(|scope| {
        let one = |target: &Target| {
            let record = target.home.join("record.json");
            let words = target.home.join("output");
            let mut command = vec![program.display().to_string(), "run".into()];
            command.push(format!("http://{}{}", target.at, case.path));
            command.extend(case.load.split_whitespace().map(str::to_owned));
            command.extend(["--require", "reliable", "--output"].map(str::to_owned));
            command.push(record.display().to_string());
            let ended = to_end(&command, &words, LIMIT, LOOK, || Ok(()))?;
            let status = ended.and_then(|ended| ended.code());
            let text =
                std::fs::read(&record).with_context(|| crate::programs::last_words(&words))?;
            let status = status.context("weigh did not end by itself")?;
            Ok((status, serde_json::from_slice(&text)?))
        };
        let runs: Vec<_> = targets
            .iter()
            .map(|target| scope.spawn(move || one(target)))
            .collect();
        let ended = runs
            .into_iter()
            .map(|run| run.join().expect("a run does not panic"));
        ended.collect()
    })
}

/// Makes the journal's row of a record.
///
/// # Errors
/// It is no record.
pub fn row(case: &Case, beside: Beside, commit: &str, status: i32, record: &Value) -> Result<Row> {
    let findings = record["findings"]
        .as_array()
        .context("a record has findings")?;
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let found = findings.iter().map(|finding| Found {
        check: word(finding, "check"),
        cause: word(finding, "cause"),
        grade: word(finding, "grade"),
    });
    let figure = |(name, path): (&str, &str)| {
        let figure = record.pointer(path)?;
        let [value, low, high] =
            ["geometric_mean", "low", "high"].map(|key| figure.get(key).and_then(Value::as_f64));
        Some((name.to_owned(), [value?, low?, high?]))
    };
    let figures = [
        ("requests/s", "/summary/rps"),
        ("CPU per request", "/summary/per_request/cpu_us"),
    ];
    Ok(Row {
        case: case.name.to_owned(),
        beside,
        commit: commit.to_owned(),
        status,
        findings: found.collect(),
        intervals: figures
            .into_iter()
            .filter_map(figure)
            .collect::<BTreeMap<_, _>>(),
    })
}

//! `cargo xtask truth --mutants`: whether a weigh that lies would be found out.
//!
//! Each mutant is one change of one line that a slip could have made. It is built from a copy of the tree, asked for
//! the cases that must show it, against the server of the sound build; and what they complain of must be the mutation's
//! own sign, which the sound weigh must not show at the same time. A machine so busy that everything is outside its
//! bounds would otherwise prove every mutant dead.

use super::case::{CASES, Case};
use super::outcome::Outcome;
use super::setup::{SEED, Setup};
use super::trial::{AWAKE, Order};
use crate::catalogue::{ensure_none, rows, text};
use crate::programs::{self, root};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Seconds of each run: p99 of the lowest rate is carried by then.
const SECONDS: u32 = 3;
/// Runs of each case, of which the one in the middle decides.
const ROUNDS: u32 = 3;

/// One slip.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    #[serde(deserialize_with = "text")]
    name: &'static str,
    /// The file, from the root.
    file: String,
    /// The text that stands there, once.
    text: String,
    /// The text that is to stand there instead.
    replacement: String,
    /// The case that must show it.
    case: String,
    /// How weigh waits there.
    #[serde(default = "awake", deserialize_with = "text")]
    spin: &'static str,
    /// The beginning of what that must complain of.
    sign: String,
}

fn awake() -> &'static str {
    AWAKE
}

static MUTANTS: LazyLock<Vec<Mutant>> =
    LazyLock::new(|| rows("mutant", include_str!("../../catalogue/mutants.toml")));

/// Tries all of them.
///
/// # Errors
/// One lives, a sound weigh shows a mutation's sign, or something does not build.
pub fn run() -> Result<()> {
    let sound = Setup::of(None)?;
    let bench = Bench::new()?;
    let mut alive = Vec::new();
    for mutant in &*MUTANTS {
        let calm = complaints(&sound, mutant)?;
        if shows(&calm, mutant) {
            let (case, name, calm) = (&mutant.case, mutant.name, calm.join("; "));
            bail!(
                "the sound weigh shows in `{case}` what is to be `{name}`: {calm}; try on a quieter machine"
            );
        }
        let spoilt = bench.build(mutant)?;
        let found = complaints(&sound.with(spoilt), mutant);
        // One that fails has found itself out: its own counts did not add up.
        let is_dead = found.as_ref().map_or(true, |found| shows(found, mutant));
        let found = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
        let verdict = if is_dead { "found out" } else { "ALIVE" };
        let (name, case, found) = (mutant.name, &mutant.case, found.join("; "));
        println!("{verdict:<10} {name:<36} {case:<16} {found}");
        if !is_dead {
            alive.push(mutant.name);
        }
    }
    ensure_none("these lies are not found out", alive.into_iter())
}

impl Mutant {
    fn case(&self) -> &'static Case {
        let mut cases = CASES.iter();
        cases
            .find(|case| case.name == self.case)
            .expect("a test looks after that")
    }

    /// The file's text with the slip in it; none where what is to be replaced does not stand there once.
    fn apply(&self, sound: &str) -> Option<String> {
        let is_single = sound.matches(&self.text).count() == 1;
        is_single.then(|| sound.replace(&self.text, &self.replacement))
    }
}

fn shows(complaints: &[String], mutant: &Mutant) -> bool {
    let mut complaints = complaints.iter();
    complaints.any(|complaint| complaint.starts_with(&mutant.sign))
}

/// What the case complains of.
fn complaints(setup: &Setup, mutant: &Mutant) -> Result<Vec<String>> {
    let case = mutant.case();
    let run = |round| {
        let order = Order {
            setup,
            seconds: SECONDS,
            round,
            seed: SEED + u64::from(round),
            spin: mutant.spin,
            tls: false,
        };
        order.weigh(case)
    };
    let trials = (0..ROUNDS).map(run).collect::<Result<_>>()?;
    let outcome = Outcome {
        case,
        trials,
        encrypted: None,
    };
    Ok(outcome.wrongs())
}

/// A copy of the tree, and where it is built.
struct Bench {
    tree: PathBuf,
    target: PathBuf,
}

impl Bench {
    fn new() -> Result<Bench> {
        let program = programs::path("weigh")?;
        let target = program.ancestors().nth(2).context("it lies in no folder")?;
        let bench = Bench {
            tree: target.join("mutants/tree"),
            target: target.join("mutants/build"),
        };
        for file in files()? {
            copy(&root().join(&file), &bench.tree.join(&file))?;
        }
        Ok(bench)
    }

    /// Builds weigh with the slip, and mends the copy again.
    fn build(&self, mutant: &Mutant) -> Result<PathBuf> {
        let path = self.tree.join(&mutant.file);
        let sound = fs::read_to_string(&path)?;
        let spoilt = mutant
            .apply(&sound)
            .with_context(|| format!("{} does not hold once: {}", mutant.file, mutant.text))?;
        fs::write(&path, spoilt)?;
        let built = self.cargo();
        fs::write(&path, sound)?;
        ensure!(built?, "{} does not build", mutant.name);
        let weigh = self.target.join("release/weigh");
        let kept = self.target.join("weigh-spoilt");
        fs::copy(&weigh, &kept).context("cargo has built no weigh")?;
        Ok(kept)
    }

    fn cargo(&self) -> Result<bool> {
        let mut cargo = programs::cargo();
        cargo.env("CARGO_TARGET_DIR", &self.target);
        cargo.args("build --quiet --release --package cli --bin weigh".split(' '));
        let status = cargo.current_dir(&self.tree).status();
        Ok(status.context("cargo could not be started")?.success())
    }
}

/// All files of the project, as they lie there now.
fn files() -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.current_dir(root());
    git.args("ls-files -z --cached --others --exclude-standard".split(' '));
    let output = git.output().context("git could not be started")?;
    let is_told = output.status.success();
    ensure!(is_told, "git does not say which files there are");
    let names = String::from_utf8(output.stdout)?;
    let names = names.split_terminator('\0').map(PathBuf::from);
    Ok(names.filter(|name| root().join(name).is_file()).collect())
}

/// Copies a file that has changed; one that has not keeps its time, so that it is not built again.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(to, bytes).with_context(|| format!("{} could not be written", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutants_text_stands_in_its_file_once_and_its_case_is_one() {
        for mutant in &*MUTANTS {
            let sound = fs::read_to_string(root().join(&mutant.file)).unwrap();
            let spoilt = mutant.apply(&sound);
            assert!(
                spoilt.is_some_and(|spoilt| spoilt != sound),
                "{}",
                mutant.name
            );
            assert_eq!(mutant.case().name, mutant.case);
        }
    }

    #[test]
    fn what_stands_there_twice_or_not_at_all_is_not_replaced() {
        let mutant = &MUTANTS[0];
        assert_eq!(mutant.apply("fn response() {}"), None);
        let text = &mutant.text;
        assert_eq!(mutant.apply(&format!("{text}; {text}")), None);
        let spoilt = mutant.apply(&format!("({text})"));
        assert_eq!(spoilt.as_deref(), Some("(self.done - self.sent)"));
    }

    #[test]
    fn only_its_own_sign_betrays_a_mutant() {
        let complaints =
            ["p99.9 is outside its bound", "p50 is outside its bound"].map(str::to_owned);
        let betrayed: Vec<bool> = MUTANTS
            .iter()
            .map(|mutant| shows(&complaints, mutant))
            .collect();
        assert_eq!(betrayed, [false, true, false, false]);
    }

    #[test]
    fn a_file_that_is_as_it_was_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "a/to"].map(|name| folder.path().join(name));
        fs::write(&from, "one").unwrap();
        copy(&from, &to).unwrap();
        let before = fs::metadata(&to).unwrap().modified().unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), before);
        fs::write(&from, "two").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
    }
}

//! `cargo xtask count`: the exact number of instructions that an exchange costs in the thread's loop.
//!
//! A time is different in every run and on every machine; a number of instructions is not, so it can be a ratchet: it is
//! kept in `bench/instructions.json`, and a commit that makes it grow by more than two per cent says why.
//! What is counted is `bench`'s program `count`, the real loop on the simulated ring, under valgrind's callgrind. Two
//! runs with different numbers of exchanges are subtracted from one another, so that nothing of the start remains, and
//! this at one connection (each exchange pays for a whole turn of the loop) and at a hundred (they share it).
//!
//! It is no measure of time: an instruction may take a quarter of a cycle or a hundred. That is `cargo xtask cost`.

// In reading order: what callgrind says,
mod profile;
// and what is kept of it.
mod ratchet;

use crate::cargo::{self, root};
use anyhow::{Context, Result, ensure};
use profile::Profile;
use ratchet::{Count, Ratchet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Connections at which exchanges are counted.
const CONNECTIONS: [u32; 2] = [1, 100];

/// The smaller and the larger number of exchanges; some second of callgrind in all.
const EXCHANGES: (u32, u32) = (10_000, 30_000);

/// What callgrind counts under, a function of `bench/src/bin/count.rs`; and what it does not count although it lies under
/// that, the simulated ring.
const COUNTED: &str = "count::counted*";
const APART: &str = "<kernel::sim::Sim<P> as kernel*";

/// Lines of the table of places.
const PLACES: usize = 25;

/// Count the instructions of an exchange in the thread's loop, on the simulated ring.
#[derive(Debug, clap::Args)]
pub struct CountChore {
    /// Fail if the number has grown by more than 2 % over the one that is kept.
    #[arg(long)]
    check: bool,
    /// Keep the number that is counted now, with the reason for the move.
    #[arg(long, value_name = "WHY", conflicts_with = "check")]
    r#move: Option<String>,
    /// Show single source lines instead of files.
    #[arg(long)]
    lines: bool,
}

impl CountChore {
    /// Counts, shows, and compares or keeps.
    pub fn run(&self) -> Result<()> {
        if !is_installed("valgrind") {
            return without_valgrind(self.check);
        }
        let profiles = count_all()?;
        print!("{}", profile::table(&profiles, self.lines, PLACES));
        let count = Count::new(&profiles, cargo::rustc(["--version"])?);
        match &self.r#move {
            Some(why) => Ratchet::new(count, why)?.write(&kept()),
            None => judge(&count, self.check),
        }
    }
}

/// Counts and fails on growth: what continuous integration runs.
///
/// # Errors
/// The number has grown, could not be counted, or there is no valgrind although this is a CI machine.
pub fn check() -> Result<()> {
    let chore = CountChore {
        check: true,
        r#move: None,
        lines: false,
    };
    chore.run()
}

fn judge(count: &Count, must_hold: bool) -> Result<()> {
    let (holds, sentence) = Ratchet::read(&kept())?.judge(count);
    println!("{sentence}");
    ensure!(!must_hold || holds, "an exchange has become more expensive");
    Ok(())
}

fn kept() -> std::path::PathBuf {
    root().join(ratchet::FILE)
}

/// A machine without valgrind cannot count, which is a failure only where counting is what the machine is for.
fn without_valgrind(must_hold: bool) -> Result<()> {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let sentence = "valgrind is not installed, so no instructions were counted";
    ensure!(!(must_hold && is_ci), "{sentence}");
    println!("{sentence}");
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// For each number of connections, what one exchange costs.
fn count_all() -> Result<Vec<(u32, Profile)>> {
    let build = ["build", "--quiet", "--release", "--package", "bench"];
    let mut build = cargo::cargo(build);
    // An incremental build inlines otherwise: its number would be another one.
    cargo::run(build.args(["--bin", "count"]).env("CARGO_INCREMENTAL", "0"))?;
    let program = cargo::released("count")?;
    let (few, many) = EXCHANGES;
    let count = |connections| {
        let before = callgrind(&program, connections, few)?;
        let after = callgrind(&program, connections, many)?;
        Ok((connections, after.per_exchange(before, many - few)))
    };
    CONNECTIONS.into_iter().map(count).collect()
}

fn callgrind(program: &Path, connections: u32, exchanges: u32) -> Result<Profile> {
    let output = program.with_file_name("count.callgrind");
    let mut command = Command::new("valgrind");
    let answer = command
        .args([
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
        ])
        .arg(format!("--callgrind-out-file={}", output.display()))
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--toggle-collect={APART}"))
        .arg(program)
        .args([connections.to_string(), exchanges.to_string()])
        // The C library chooses memcpy and its like by CPU; counts are to be the same on all.
        .env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-AVX512F,-ERMS")
        .output()
        .context("valgrind could not be started")?;
    ensure!(
        answer.status.success(),
        "valgrind on `count` ended with {}:\n{}",
        answer.status,
        String::from_utf8_lossy(&answer.stderr)
    );
    let text = fs::read_to_string(&output)
        .with_context(|| format!("{} could not be read", output.display()))?;
    fs::remove_file(&output)?;
    Profile::parse(&text, &root())
}

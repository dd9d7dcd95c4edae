//! `cargo xtask fuzz`: libFuzzer on stable Rust, without a tool to install.
//!
//! What cargo-fuzz passes to a nightly compiler, apart from the sanitizers, a stable one takes as LLVM options:
//! coverage counters, a table of program counters, and traced comparisons. An explicit `--target` keeps the flags away
//! from build scripts and procedural macros. The folder has its own target directory, so that a build with these flags
//! throws nothing of the ordinary one away.
//!
//! Inputs that are found go to `fuzz/corpus` and crashes to `fuzz/artifacts`; neither is committed. A crash becomes a
//! seed in `fuzz/seeds` and a test beside the code that it broke.

use crate::cargo::{cargo, packages, root, run, rustc};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;

/// Most that one input may be, so that a run explores structure and not length.
const INPUT_MAX_BYTES: u32 = 4096;

/// Most seconds that one input may take; the machines are linear, so a slow input is a bug.
const INPUT_MAX_SECONDS: u32 = 5;

/// Most memory that a target may take.
const MEMORY_MAX_MB: u32 = 1024;

/// Build the fuzz targets and run them for a bounded time.
#[derive(Debug, clap::Args)]
pub struct Fuzz {
    /// The one target to run, a file of fuzz/fuzz_targets; all of them if none is named.
    target: Option<String>,
    /// How long each target runs.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

impl Fuzz {
    /// Builds all and runs the named one, or all.
    pub fn run(&self) -> Result<()> {
        run_targets(self.target.as_deref(), self.seconds)
    }
}

/// Builds the targets and runs the one named `only`, or each, for `seconds`.
///
/// # Errors
/// There is no such target, one did not build, or found something.
pub fn run_targets(only: Option<&str>, seconds: u32) -> Result<()> {
    let mut wanted = targets()?;
    if let Some(only) = only {
        let all = wanted.join(", ");
        wanted.retain(|name| name == only);
        let there_are = || format!("there is no fuzz target `{only}`; there are {all}");
        wanted.first().with_context(there_are)?;
    }
    let triple = rustc_host()?;
    build(&triple)?;
    let run = |target: &String| run_one(target, &triple, seconds);
    wanted.iter().try_for_each(run)
}

/// The fuzz targets that `fuzz/Cargo.toml` has.
fn targets() -> Result<Vec<String>> {
    let packages = packages(&root(), "fuzz/Cargo.toml")?;
    let targets = packages.iter().flat_map(|package| &package.targets);
    let programs = targets.filter(|target| target.is_bin());
    Ok(programs.map(|target| target.name.clone()).collect())
}

/// What makes a stable compiler emit what libFuzzer reads. (That assertions and overflow checks stay on in the optimised
/// build, so that a target can fail on them, is said in `fuzz/Cargo.toml`.)
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

fn build(triple: &str) -> Result<()> {
    let build =
        "build --release --bins --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --target";
    let mut build = cargo(build.split(' ').chain([triple]));
    run(build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")))
        .context("the fuzz targets could not be built; libFuzzer's own part needs a C++ compiler")
}

fn run_one(target: &str, triple: &str, seconds: u32) -> Result<()> {
    let fuzz = root().join("fuzz");
    let of = |kind: &str| fuzz.join(kind).join(target);
    let (corpus, seeds, artifacts) = (of("corpus"), of("seeds"), of("artifacts"));
    ensure!(
        fs::read_dir(&seeds).is_ok_and(|mut entries| entries.next().is_some()),
        "fuzz/seeds/{target} is empty; a target begins with a few inputs that reach its states"
    );
    for folder in [&corpus, &artifacts] {
        let made = fs::create_dir_all(folder);
        made.with_context(|| format!("{} could not be made", folder.display()))?;
    }
    let program = fuzz.join(format!("target/{triple}/release/{target}"));
    println!("fuzz: {target} for {seconds} s");
    // New inputs go to the first folder; the seeds are only read.
    let mut command = Command::new(program);
    command
        .current_dir(&fuzz)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_MAX_BYTES}"))
        .arg(format!("-timeout={INPUT_MAX_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MAX_MB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-verbosity=0")
        .arg("-print_final_stats=1")
        .args([corpus, seeds]);
    run(&mut command).with_context(|| {
        format!(
            "the fuzz target {target} found something; the input lies in fuzz/artifacts/{target}"
        )
    })
}

/// The triple this machine's compiler builds for.
fn rustc_host() -> Result<String> {
    let text = rustc(["-vV"])?;
    let mut lines = text.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let sentence = run_targets(Some("nothing"), 1).unwrap_err().to_string();
        let entries = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<String> = entries.map(|entry| stem(entry.unwrap().path())).collect();
        files.sort();
        let there_are = files.join(", ");
        let wanted = format!("there is no fuzz target `nothing`; there are {there_are}");
        assert_eq!(sentence, wanted);
    }

    #[test]
    fn the_compiler_names_its_host() {
        assert!(rustc_host().unwrap().contains('-'));
    }
}

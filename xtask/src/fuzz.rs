//! `cargo xtask fuzz`: libFuzzer on stable Rust, without a tool to install.
//!
//! What cargo-fuzz passes to a nightly compiler, apart from the sanitizers, a stable one takes as LLVM options:
//! coverage counters, a table of program counters, and traced comparisons. An explicit `--target` keeps the flags away
//! from build scripts and procedural macros. The folder has its own target directory, so that a build with these flags
//! throws nothing of the ordinary one away.
//!
//! Inputs that are found go to `fuzz/corpus` and crashes to `fuzz/artifacts`; neither is committed. A crash becomes a
//! seed in `fuzz/seeds` and a test beside the code that it broke.

use crate::cargo::{cargo, root, run};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// One fuzz target.
pub struct Target {
    /// Its name: the `[[bin]]` of `fuzz/Cargo.toml` and the folder of its seeds.
    pub name: &'static str,
    /// What it feeds, and what must hold.
    pub about: &'static str,
}

/// Every fuzz target; `tidy` compares it with `fuzz/Cargo.toml`.
pub const TARGETS: &[Target] = &[
    Target {
        name: "response",
        about: "any bytes as a response: no panic, and the same events however they are split",
    },
    Target {
        name: "connection",
        about: "any operations on a client's connection: each opened exchange ends exactly once",
    },
    Target {
        name: "request",
        about: "any bytes as requests to the server's side: no panic, bounded memory",
    },
    Target {
        name: "files",
        about: "any text as what a request says of a file: no path leads out, no part beyond the end",
    },
];

/// Most that one input may be, so that a run explores structure and not length.
const INPUT_MAX_BYTES: u32 = 4096;

/// Most seconds that one input may take; the machines are linear, so a slow input is a bug.
const INPUT_MAX_SECONDS: u32 = 5;

/// Most memory that a target may take.
const MEMORY_MAX_MB: u32 = 1024;

/// Build the fuzz targets and run them for a bounded time.
#[derive(Debug, clap::Args)]
#[command(after_help = targets_help())]
pub struct Fuzz {
    /// The one target to run; all of them if none is named.
    target: Option<String>,
    /// How long each target runs.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

impl Fuzz {
    /// Builds all and runs the named one, or all.
    pub fn run(&self) -> Result<()> {
        let Some(name) = &self.target else {
            return run_all(self.seconds);
        };
        let (target, triple) = (find(name)?, rustc_host()?);
        build(&triple)?;
        run_one(target, &triple, self.seconds)
    }
}

/// Builds the targets and runs each for `seconds`.
///
/// # Errors
/// One did not build, or found something.
pub fn run_all(seconds: u32) -> Result<()> {
    let triple = rustc_host()?;
    build(&triple)?;
    TARGETS
        .iter()
        .try_for_each(|target| run_one(target, &triple, seconds))
}

fn find(name: &str) -> Result<&'static Target> {
    match TARGETS.iter().find(|target| target.name == name) {
        Some(target) => Ok(target),
        None => bail!("there is no fuzz target `{name}`\n\n{}", targets_help()),
    }
}

fn targets_help() -> String {
    let lines = TARGETS
        .iter()
        .map(|target| format!("  {:<12}{}", target.name, target.about));
    std::iter::once("Targets:".to_owned())
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
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
    let arguments = [
        "build",
        "--release",
        "--bins",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "fuzz/target",
        "--target",
        triple,
    ];
    run(cargo(arguments).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")))
        .context("the fuzz targets could not be built; libFuzzer's own part needs a C++ compiler")
}

fn run_one(target: &Target, triple: &str, seconds: u32) -> Result<()> {
    let fuzz = root().join("fuzz");
    let of = |kind: &str| fuzz.join(kind).join(target.name);
    let (corpus, seeds, artifacts) = (of("corpus"), of("seeds"), of("artifacts"));
    ensure!(
        has_entries(&seeds),
        "fuzz/seeds/{} is empty; a target begins with a few inputs that reach its states",
        target.name
    );
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder)
            .with_context(|| format!("{} could not be made", folder.display()))?;
    }
    let program = fuzz
        .join("target")
        .join(triple)
        .join("release")
        .join(target.name);
    println!("fuzz: {} for {seconds} s: {}", target.name, target.about);
    // New inputs go to the first folder; the seeds are only read.
    run(Command::new(program)
        .current_dir(&fuzz)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_MAX_BYTES}"))
        .arg(format!("-timeout={INPUT_MAX_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MAX_MB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-verbosity=0")
        .arg("-print_final_stats=1")
        .args([corpus, seeds]))
    .with_context(|| {
        format!(
            "the fuzz target {} found something; the input lies in fuzz/artifacts/{}",
            target.name, target.name
        )
    })
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// The triple this machine's compiler builds for.
fn rustc_host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc -vV names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_answered_with_the_known_ones() {
        let sentence = find("nothing").err().unwrap().to_string();
        assert!(
            sentence.starts_with("there is no fuzz target `nothing`"),
            "{sentence}"
        );
        for target in TARGETS {
            assert!(sentence.contains(target.about), "{sentence}");
        }
    }

    #[test]
    fn the_compiler_names_its_host() {
        assert!(rustc_host().unwrap().contains('-'));
    }
}

//! `cargo xtask ci`: every check as one table, in the order in which it fails soonest.
//!
//! Clippy, the tests and the real-server tests share the dev profile, so that the dependencies are built once for each
//! of check and build, not once a step.

use crate::cargo::{cargo, run};
use crate::{count, fuzz, schema, servers, tidy};
use anyhow::{Context, Result};
use std::time::Instant;

/// Run every check, in the order in which it fails soonest.
#[derive(Debug, clap::Args)]
pub struct Ci {
    /// Skip `cargo test --workspace`, because it has been run already.
    #[arg(long)]
    skip_tests: bool,
    /// How long each fuzz target runs.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    fuzz_seconds: u32,
}

/// One check: its name, and how it is run.
type Step = (&'static str, fn(&Ci) -> Result<()>);

const STEPS: &[Step] = &[
    ("format", |_| format()),
    ("tidy", |_| tidy::run()),
    ("clippy", |_| clippy()),
    ("without scripts", |_| without_scripts()),
    ("tests", |ci| ci.tests()),
    ("schema", |_| schema::check()),
    ("table of faults", |_| proof(["faults", "--check-rows"])),
    ("table of accuracy", |_| proof(["truth", "--check-page"])),
    ("documentation", |_| documentation()),
    ("fuzz targets", |ci| {
        fuzz::run_targets(None, ci.fuzz_seconds)
    }),
    ("real servers", |_| servers::run_demanding()),
    ("instructions", |_| count::check()),
    ("first command", |_| first_command()),
];

impl Ci {
    /// Runs the steps until one fails, with a line and the time for each.
    pub fn run(&self) -> Result<()> {
        let begun = Instant::now();
        walk(STEPS, |(_, run)| run(self))?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("ci: all passed after {seconds:.1} s");
        Ok(())
    }

    fn tests(&self) -> Result<()> {
        if self.skip_tests {
            println!("skipped: --skip-tests");
            return Ok(());
        }
        run(&mut cargo(["test", "--workspace"]))
    }
}

fn walk(steps: &[Step], carry_out: impl Fn(&Step) -> Result<()>) -> Result<()> {
    for step @ (name, _) in steps {
        println!("ci: {name}");
        let begun = Instant::now();
        carry_out(step).with_context(|| format!("ci: {name} failed"))?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("ci: {name} passed in {seconds:.1} s");
    }
    Ok(())
}

fn format() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    run(&mut cargo(fuzz))
}

fn clippy() -> Result<()> {
    let all = ["clippy", "--workspace", "--all-targets"];
    run(cargo(all).args(["--", "-D", "warnings"]))
}

/// The program builds without Lua too.
fn without_scripts() -> Result<()> {
    let plain = ["check", "--package", "cli", "--no-default-features"];
    run(&mut cargo(plain))
}

fn proof<const N: usize>(arguments: [&str; N]) -> Result<()> {
    run(cargo(["run", "--quiet", "--package", "proof", "--"]).args(arguments))
}

fn documentation() -> Result<()> {
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs the README's first command as typed: it builds weigh and loads the reference server.
fn first_command() -> Result<()> {
    run(&mut cargo(["run", "--release", "--", "demo"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::cell::RefCell;

    #[test]
    fn the_first_failure_is_named_and_nothing_runs_after_it() {
        let ran = RefCell::new(Vec::new());
        let error = walk(STEPS, |(name, _)| {
            ran.borrow_mut().push(*name);
            match *name {
                "clippy" => bail!("spoilt"),
                _ => Ok(()),
            }
        })
        .unwrap_err();
        assert_eq!(format!("{error:#}"), "ci: clippy failed: spoilt");
        assert_eq!(*ran.borrow(), ["format", "tidy", "clippy"]);
    }
}

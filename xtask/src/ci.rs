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
    /// Leave `cargo test --workspace` out, because it has been run already.
    #[arg(long)]
    skip_tests: bool,
    /// How long each fuzz target runs.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    fuzz_seconds: u32,
}

/// One check.
struct Step {
    name: &'static str,
    run: fn(&Ci) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        run: |_| format(),
    },
    Step {
        name: "tidy",
        run: |_| tidy::run(),
    },
    Step {
        name: "clippy",
        run: |_| clippy(),
    },
    Step {
        name: "tests",
        run: |ci| ci.tests(),
    },
    Step {
        name: "schema",
        run: |_| schema::check(),
    },
    Step {
        name: "table of faults",
        run: |_| proof(["faults", "--check-rows"]),
    },
    Step {
        name: "table of accuracy",
        run: |_| proof(["truth", "--check-page"]),
    },
    Step {
        name: "documentation",
        run: |_| documentation(),
    },
    Step {
        name: "fuzz targets",
        run: |ci| fuzz::run_all(ci.fuzz_seconds),
    },
    Step {
        name: "real servers",
        run: |_| servers::run_demanding(),
    },
    Step {
        name: "instructions",
        run: |_| count::check(),
    },
    Step {
        name: "first command",
        run: |_| first_command(),
    },
];

impl Ci {
    /// Runs the steps until one fails, with a line and the time for each.
    pub fn run(&self) -> Result<()> {
        let begun = Instant::now();
        walk(STEPS, |step| (step.run)(self))?;
        println!("ci: all well after {:.1} s", begun.elapsed().as_secs_f64());
        Ok(())
    }

    fn tests(&self) -> Result<()> {
        if self.skip_tests {
            println!("left out, as asked");
            return Ok(());
        }
        run(&mut cargo(["test", "--workspace"]))
    }
}

fn walk(steps: &[Step], carry_out: impl Fn(&Step) -> Result<()>) -> Result<()> {
    for step in steps {
        println!("ci: {}", step.name);
        let begun = Instant::now();
        carry_out(step).with_context(|| format!("ci: {} failed", step.name))?;
        println!(
            "ci: {} passed in {:.1} s",
            step.name,
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

fn format() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    run(&mut cargo([
        "fmt",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--check",
    ]))
}

fn clippy() -> Result<()> {
    run(&mut cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

fn proof<const N: usize>(arguments: [&str; N]) -> Result<()> {
    run(cargo(["run", "--quiet", "--package", "proof", "--"]).args(arguments))
}

fn documentation() -> Result<()> {
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// The README's first command as typed: it builds, weighs our own server, and ends well.
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
        let error = walk(STEPS, |step| {
            ran.borrow_mut().push(step.name);
            match step.name {
                "clippy" => bail!("spoilt"),
                _ => Ok(()),
            }
        })
        .unwrap_err();
        assert_eq!(format!("{error:#}"), "ci: clippy failed: spoilt");
        assert_eq!(*ran.borrow(), ["format", "tidy", "clippy"]);
    }
}

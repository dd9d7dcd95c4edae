//! The project's own programs that a chore builds and runs, and what they were built with.

use crate::cargo::{cargo, root, run};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Builds programs of `package` as they are released.
///
/// # Errors
/// They did not build.
pub fn build(package: &str, programs: &[&str]) -> Result<()> {
    let mut command = cargo(["build", "--quiet", "--release", "--package", package]);
    for program in programs {
        command.args(["--bin", program]);
    }
    run(&mut command)
}

/// Where a program lies that was built.
///
/// # Errors
/// Cargo could not be asked for the folder.
pub fn path(program: &str) -> Result<PathBuf> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .context("cargo could not say where it builds")?;
    let folder = metadata.target_directory.into_std_path_buf();
    Ok(folder.join("release").join(program))
}

/// What an installed program says of itself when it gets the argument `ask`: the first line with a digit.
pub fn version(program: &OsStr, ask: &str) -> Option<String> {
    let output = Command::new(program).arg(ask).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.contains("warning"));
    let said = lines
        .map(str::trim)
        .find(|line| line.contains(|of: char| of.is_ascii_digit()));
    Some(said.unwrap_or("of unknown version").to_owned())
}

/// The compiler, as it names itself.
///
/// # Errors
/// It could not be asked.
pub fn rustc_version() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .context("rustc could not be asked for its version")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

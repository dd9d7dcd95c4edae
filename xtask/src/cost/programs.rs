//! The project's own programs that a chore builds and runs, and what they were built with.

use crate::cargo::{cargo, root, run};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
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

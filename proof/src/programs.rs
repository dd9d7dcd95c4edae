//! Programs: those of this project, built as released, and those of the machine.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the project.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("proof is a folder of the root").into()
}

/// Returns cargo, which runs where `cargo xtask` runs it.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds programs of `package` as they are released.
///
/// # Errors
/// They do not build.
pub fn build(package: &str, programs: &[&str]) -> Result<()> {
    let mut command = cargo();
    command.current_dir(root());
    command.args(["build", "--quiet", "--release", "--package", package]);
    for program in programs {
        command.args(["--bin", program]);
    }
    let status = command.status().context("cargo could not be started")?;
    ensure!(status.success(), "{} did not build", programs.join(", "));
    Ok(())
}

/// Returns the path of a program of the project after [`build`].
///
/// # Errors
/// This process does not know where its own program is.
pub fn path(program: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    // target/PROFILE/proof; a test is one folder deeper.
    let mut folders = own.ancestors().skip(1);
    let profile = folders.find(|folder| !folder.ends_with("deps"));
    let target = profile.and_then(Path::parent);
    let target = target.context("this program is in no target folder")?;
    Ok(target.join("release").join(program))
}

/// Returns what an installed program says about its version when called with the argument `ask`: the first line with a
/// digit.
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

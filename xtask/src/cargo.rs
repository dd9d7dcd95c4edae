//! Cargo and the programs it builds, run in the project's root with their output shown.

use anyhow::{Context, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's root, wherever `cargo xtask` was called.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask is a folder of the root").into()
}

/// Cargo, in the root.
pub fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs `command` to its end.
///
/// # Errors
/// It could not be started, or ended badly; the text says which command it was.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{} could not be started", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Returns the path of a program of the project that is built as released.
///
/// # Errors
/// Cargo could not be asked for the folder.
pub fn released(program: &str) -> Result<PathBuf> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .context("cargo could not say where it builds")?;
    let folder = metadata.target_directory.into_std_path_buf();
    Ok(folder.join("release").join(program))
}

/// Returns what the compiler prints with these arguments.
///
/// # Errors
/// It could not be started.
pub fn rustc<const N: usize>(arguments: [&str; N]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).output();
    let output = output.context("rustc could not be started")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the packages that `manifest`, a path below `root`, describes.
///
/// # Errors
/// Cargo could not read it.
pub fn packages(root: &Path, manifest: &str) -> Result<Vec<Package>> {
    let mut command = MetadataCommand::new();
    command.current_dir(root).manifest_path(root.join(manifest));
    let metadata = command.no_deps().exec();
    let metadata = metadata.with_context(|| format!("cargo could not read {manifest}"))?;
    Ok(metadata.packages)
}

/// The command as one would type it, without the folder the program lies in.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_as_typed() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3 ended with exit status: 3");
    }

    #[test]
    fn a_command_that_is_missing_is_named() {
        let error = run(&mut Command::new("/nowhere/at-all")).unwrap_err();
        assert_eq!(error.to_string(), "at-all could not be started");
    }
}

//! Programs: those of this project, built as released, and those of the machine.

use anyhow::{Context, Result, ensure};
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

/// Returns the weigh that was given, or else the one of this project, which is built.
///
/// # Errors
/// It does not build.
pub fn weigh(given: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given);
    }
    build("cli", &["weigh"])?;
    path("weigh")
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

/// Folders of administrators' programs, which are not on every user's path.
const ADMINISTRATION: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns the path of an installed program; none if it is not installed.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ADMINISTRATION.iter().map(PathBuf::from));
    find_in(folders, name)
}

/// Returns the path of a program that is built here (`ours`) or installed; none if it is not.
pub fn found(name: &str, ours: bool) -> Option<PathBuf> {
    match ours {
        true => path(name).ok(),
        false => find(name),
    }
}

fn find_in(folders: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    let mut paths = folders.map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

/// What is shown for a program that prints no version.
pub const UNKNOWN: &str = "of unknown version";

/// Returns what an installed program prints about its version when called with the argument `ask`: the first line with
/// a digit, without copyright and build options.
pub fn version(program: &str, ask: &str) -> String {
    let output = find(program).and_then(|path| Command::new(path).arg(ask).output().ok());
    let text = output.map_or_else(Vec::new, |output| [output.stdout, output.stderr].concat());
    short(&String::from_utf8_lossy(&text)).to_owned()
}

fn short(text: &str) -> &str {
    let mut lines = text.lines().filter(|line| !line.contains("warning"));
    let line = lines.find(|line| line.contains(|of: char| of.is_ascii_digit()));
    let line = line.unwrap_or(UNKNOWN).trim();
    let ends = ["<", "[", "compiled"].map(|mark| line.find(mark));
    let end = ends.into_iter().flatten().min().unwrap_or(line.len());
    line[..end].trim().trim_start_matches("This is ")
}

/// Returns the last lines of what a program has written to a file, on one line.
pub fn last_words(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    match lines.len() {
        0 => "it has written nothing".to_owned(),
        count => lines[count.saturating_sub(3)..].join(" / "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_those_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        assert_eq!(last_words(&path), "it has written nothing");
        std::fs::write(&path, "one\ntwo\n\nthree\nfour\n").unwrap();
        assert_eq!(last_words(&path), "two / three / four");
    }

    #[test]
    fn a_program_is_found_in_the_first_folder_that_has_it() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        for folder in &folders[1..] {
            std::fs::write(folder.path().join("server"), "").unwrap();
        }
        std::fs::create_dir(folders[0].path().join("server")).unwrap();
        let places = || folders.iter().map(|folder| folder.path().to_owned());
        let found = find_in(places(), "server");
        assert_eq!(found, Some(folders[1].path().join("server")));
        assert_eq!(find_in(places(), "another"), None);
    }

    #[test]
    fn versions_are_told_without_copyright_and_build_options() {
        let cases = [
            (
                "This is ApacheBench, Version 2.3 <$Revision$>\nCopyright",
                "ApacheBench, Version 2.3",
            ),
            (
                "wrk debian/4.1.0 [epoll] Copyright (C) 2012",
                "wrk debian/4.1.0",
            ),
            (
                "a warning of line 1\nhttperf-0.9.0 compiled without DEBUG",
                "httperf-0.9.0",
            ),
            ("none", UNKNOWN),
        ];
        for (text, wanted) in cases {
            assert_eq!(short(text), wanted);
        }
    }
}

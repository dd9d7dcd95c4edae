//! `cargo xtask tidy`: the rules of the house that neither the compiler nor clippy can hold.
//!
//! Two things are read, the files of the tree and what cargo says of the workspace; every rule is a function of these
//! and returns complaints. So each rule is tested on a planted violation without a build.

mod complaint;
mod edges;
mod lints;
mod rooms;
mod source;
mod sources;
mod texts;
mod tree;
mod words;
mod workspace;

use crate::cargo::root;
use anyhow::{Result, bail};
use complaint::Complaint;
pub use source::Source;
use std::path::Path;
#[cfg(test)]
pub use tree::File;
pub use tree::Tree;
use workspace::Workspace;

/// Checks the project's tree.
///
/// # Errors
/// A rule is broken; each complaint has been printed.
pub fn run() -> Result<()> {
    let complaints = check(&root())?;
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        1 => bail!("tidy has one complaint"),
        several => bail!("tidy has {several} complaints"),
    }
}

fn check(root: &Path) -> Result<Vec<Complaint>> {
    let workspace = Workspace::read(root)?;
    let tree = Tree::read(root)?;
    let sources = Source::all(&tree);
    let mut complaints = edges::check(edges::ROOMS, &workspace);
    complaints.extend(edges::check_map(edges::ROOMS, &tree));
    complaints.extend(lints::check(&tree, &workspace));
    complaints.extend(texts::check(&tree));
    complaints.extend(words::check(&tree, &sources));
    complaints.extend(sources::check(&sources));
    complaints.extend(rooms::check(&sources));
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_real_tree_is_tidy() {
        let complaints = check(&root()).unwrap();
        let text: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert!(text.is_empty(), "\n{}", text.join("\n"));
    }

    /// A small workspace on disk in which one rule of each kind is broken, seen through cargo itself.
    #[test]
    fn a_planted_tree_is_complained_about() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let manifest = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n{rest}")
        };
        write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\nexclude = [\"fuzz\"]\n",
        );
        write("crates/kernel/Cargo.toml", &manifest("kernel", ""));
        write(
            "crates/kernel/src/lib.rs",
            "//! In scope: all.\n//! Out of scope: none.\n",
        );
        let edge = "[dev-dependencies]\nkernel = { path = \"../kernel\" }\n";
        write("crates/wire/Cargo.toml", &manifest("wire", edge));
        write(
            "crates/wire/src/lib.rs",
            "//! In scope: all.\n//! Out of scope: none.\n#![forbid(unsafe_code)]\nuse std::{net::IpAddr, fmt};\n",
        );
        write("fuzz/Cargo.toml", &manifest("fuzz", "[workspace]\n"));
        write("fuzz/src/lib.rs", "");

        let complaints = check(folder.path()).unwrap();
        let text: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        for sentence in [
            "crates/wire/Cargo.toml: wire must not depend on kernel in its tests",
            "crates/wire/src/lib.rs:4: wire is sans-IO",
            "fuzz/Cargo.toml: fuzz is not in the table of rooms",
        ] {
            assert!(
                text.iter().any(|line| line.starts_with(sentence)),
                "{sentence}\nis missing in\n{}",
                text.join("\n")
            );
        }
    }
}

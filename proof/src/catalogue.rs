//! The catalogue: which load generators and servers there are, how each is called and configured, as data.
//!
//! `catalogue/tools.toml` and `catalogue/servers.toml` describe every program once, for all measurements; what a
//! measurement wants is a set of named [`Values`], which the templates there take. A tool whose report must be read has
//! a reader in [`reports`]. The catalogue knows nothing of what is measured.

// In reading order: how templates are filled,
mod values;
// what load generators there are,
mod tools;
// what their reports say,
pub mod reports;
// and what servers there are.
mod servers;

pub use servers::{Class, Memory, SERVERS, Server, floor, named};
pub use tools::{TOOLS, Tool, tool};
pub use values::Values;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::Path;

/// What installed programs print about their versions, by name.
pub type Versions = BTreeMap<&'static str, String>;

/// Programs that are measured.
pub struct Chosen {
    /// The names of those that are installed.
    pub names: Vec<&'static str>,
    /// The names of the others.
    pub missing: Vec<&'static str>,
    /// What they print about their versions.
    pub versions: Versions,
}

/// Chooses from rows of a table: of each its name, whether it is installed, and its program with what that prints about its
/// version, where it is not ours. `only` names some of them; none means all.
///
/// # Errors
/// One that is named in `only` is not installed.
pub fn chosen(
    rows: impl Iterator<Item = (&'static str, bool, Option<(&'static str, String)>)>,
    only: &[String],
) -> Result<Chosen> {
    let (present, missing): (Vec<_>, Vec<_>) = rows.partition(|(_, is_installed, _)| *is_installed);
    let missing: Vec<&'static str> = missing.into_iter().map(|(name, ..)| name).collect();
    if !only.is_empty() && !missing.is_empty() {
        bail!("{} is not installed", missing.join(", "));
    }
    Ok(Chosen {
        names: present.iter().map(|(name, ..)| *name).collect(),
        missing,
        versions: present
            .into_iter()
            .filter_map(|(.., version)| version)
            .collect(),
    })
}

/// Fails where there are any `names`, with `what` they are.
///
/// # Errors
/// There are.
pub fn ensure_none<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let names: Vec<&str> = names.collect();
    ensure!(names.is_empty(), "{what}: {}", names.join(", "));
    Ok(())
}

/// Reads a file, and names it where that fails.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))
}

/// Writes a file, and names it where that fails.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} could not be written", path.display()))
}

/// Reads the rows `[[name]]` of a file of the catalogue.
///
/// # Panics
/// They are not what `T` says: tests read each of them.
pub fn rows<T: Deserialize<'static>>(name: &str, text: &'static str) -> Vec<T> {
    let mut all: BTreeMap<String, Vec<T>> =
        toml::from_str(text).expect("the catalogue is read by tests");
    all.remove(name).expect("the catalogue is read by tests")
}

/// A text of the catalogue, which lives as long as this process.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    String::deserialize(from).map(|text| &*text.leak())
}

//! `cargo xtask schema`: the record's published schema, generated from its types.

use crate::cargo::root;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Write docs/record.schema.json from the record's types.
#[derive(Debug, clap::Args)]
pub struct Schema {
    /// Only say whether the file is what would be written.
    #[arg(long)]
    check: bool,
}

impl Schema {
    /// Writes the schema, or compares it.
    pub fn run(&self) -> Result<()> {
        match self.check {
            true => check(),
            false => fs::write(published(), record::schema_text())
                .context("docs/record.schema.json could not be written"),
        }
    }
}

/// Compares the published schema with the types.
///
/// # Errors
/// They differ, or the file is not there.
pub fn check() -> Result<()> {
    compare(&published(), &record::schema_text())
}

fn published() -> PathBuf {
    root().join("docs/record.schema.json")
}

fn compare(path: &Path, wanted: &str) -> Result<()> {
    let found = fs::read_to_string(path).unwrap_or_default();
    ensure!(
        found == wanted,
        "docs/record.schema.json is not what the record's types say; run `cargo xtask schema` and commit it with \
         the change to the types"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_is_older_than_the_types_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schema.json");
        let sentence = "docs/record.schema.json is not what the record's types say; run `cargo xtask schema` and \
                        commit it with the change to the types";
        assert_eq!(compare(&path, "new").unwrap_err().to_string(), sentence);
        fs::write(&path, "old").unwrap();
        assert_eq!(compare(&path, "new").unwrap_err().to_string(), sentence);
        fs::write(&path, "new").unwrap();
        compare(&path, "new").unwrap();
    }
}

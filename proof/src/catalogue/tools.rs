//! Load generators, as `catalogue/tools.toml` describes them.

use super::{Values, reports, rows, text, write};
use crate::programs;
use anyhow::{Context, Result};
use reports::{Claim, Percentiles, ToolOutput};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A load generator. The fields are explained in `catalogue/tools.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tool {
    /// Its name in tables and flags.
    #[serde(deserialize_with = "text")]
    pub name: &'static str,
    program: Option<String>,
    /// Whether it is built here.
    pub ours: bool,
    version: Option<String>,
    /// How it paces, and from when on it measures latency.
    pub way: String,
    arguments: String,
    files: BTreeMap<String, String>,
    leaves: Option<String>,
    /// Whether it knows no number of requests, so that the clock ends it.
    pub timed: bool,
    /// Why it cannot open a connection for each request.
    pub no_close: Option<String>,
    /// Why it cannot speak TLS.
    pub no_tls: Option<String>,
    /// Why it can send no other load than handshakes.
    pub no_plain: Option<String>,
    /// Whether it sends HTTP/1.0.
    pub http_1_0: bool,
    /// Whether it runs only where it is asked for by name.
    pub by_name: bool,
}

/// All of them, in the order of tables.
pub static TOOLS: LazyLock<Vec<Tool>> =
    LazyLock::new(|| rows("tool", include_str!("../../catalogue/tools.toml")));

/// Returns the tool of that name, which there must be.
pub fn tool(name: &str) -> &'static Tool {
    let found = TOOLS.iter().find(|tool| tool.name == name);
    found.expect("measurements name tools of the catalogue")
}

impl Tool {
    fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(self.name)
    }

    fn path(&self) -> Option<PathBuf> {
        programs::found(self.program(), self.ours)
    }

    /// Whether it can be run here.
    pub fn is_installed(&self) -> bool {
        self.path().is_some()
    }

    /// What it prints about its version; ours is that of this source tree.
    pub fn version(&self) -> String {
        match (self.ours, &self.version) {
            (true, _) => format!("{} {}", self.name, env!("CARGO_PKG_VERSION")),
            (_, Some(ask)) => programs::version(self.program(), ask),
            (_, None) => programs::UNKNOWN.to_owned(),
        }
    }

    /// Its arguments for the load that `values` describe.
    ///
    /// # Errors
    /// It needs a value that is not there.
    pub fn arguments(&self, values: &Values) -> Result<Vec<String>> {
        let words = values.words(&self.arguments);
        words.with_context(|| format!("{} cannot be asked for this", self.name))
    }

    /// Returns the command for the load that `values` describe, and prepares `folder`: writes the files it wants there,
    /// and removes what it has left before, which must not be taken for its report.
    ///
    /// # Errors
    /// It is not installed, needs a value that is not there, or the folder cannot be written to.
    pub fn command(&self, values: &Values, folder: &Path) -> Result<Vec<String>> {
        self.prepare(values, folder)?;
        let path = self.path();
        let path = path.with_context(|| format!("{} is not installed", self.name))?;
        let mut words = vec![path.display().to_string()];
        words.extend(self.arguments(values)?);
        Ok(words)
    }

    fn prepare(&self, values: &Values, folder: &Path) -> Result<()> {
        if let Some(name) = &self.leaves {
            let _ = std::fs::remove_file(folder.join(name)); // usually there is none
        }
        for (name, text) in &self.files {
            write(&folder.join(name), &values.fill(text)?)?;
        }
        Ok(())
    }

    /// Whether its report says how many requests succeeded.
    pub fn counts(&self) -> bool {
        reports::counts(self.program()).is_some()
    }

    /// What it claims to have done; none where it says nothing of it.
    pub fn claim(&self, output: &ToolOutput<'_>) -> Option<Claim> {
        reports::counts(self.program())?(output)
    }

    /// Whether its report has percentiles of latency, and it is not ours.
    pub fn has_latency(&self) -> bool {
        reports::latency(self.program()).is_some()
    }

    /// What it says of latency; none where it says nothing of it.
    pub fn percentiles(&self, output: &ToolOutput<'_>) -> Option<Percentiles> {
        reports::latency(self.program())?(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_reader_and_a_name_of_its_own() {
        for tool in TOOLS.iter() {
            let readers = u8::from(tool.counts()) + u8::from(tool.has_latency());
            assert!(readers > 0, "{}", tool.name);
            assert!(std::ptr::eq(super::tool(tool.name), tool), "{}", tool.name);
        }
    }

    #[test]
    fn what_a_tool_wants_is_there_and_what_it_left_before_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let values = Values::of_load("a:1", "/b?c=1", folder.path());
        for tool in TOOLS.iter() {
            let old = tool.leaves.as_ref().map(|name| folder.path().join(name));
            let _ = old.as_ref().map(|old| std::fs::write(old, "old").unwrap());
            tool.prepare(&values, folder.path()).unwrap();
            assert!(old.is_none_or(|old| !old.exists()), "{}", tool.name);
        }
        let text = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text("vegeta.targets"), "GET http://a:1/b?c=1\n");
        assert!(text("head.lua").contains("HEAD"));
    }

    #[test]
    fn a_tool_that_left_nothing_has_said_nothing() {
        let folder = Path::new("/nowhere");
        let output = ToolOutput { text: "", folder };
        for tool in TOOLS.iter() {
            assert_eq!(tool.claim(&output), None, "{}", tool.name);
            assert_eq!(tool.percentiles(&output), None, "{}", tool.name);
        }
    }
}

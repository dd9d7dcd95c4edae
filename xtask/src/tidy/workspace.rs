//! What cargo says of the workspace: its crates, and the edges between them.

use crate::cargo::packages;
use anyhow::Result;
use cargo_metadata::{DependencyKind, Package};
use std::path::Path;

/// One crate's dependency on another of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The crate that knows.
    pub from: String,
    /// The crate that is known.
    pub to: String,
    /// What for: the crate itself, its tests, or its build script.
    pub purpose: DependencyKind,
}

/// One crate of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its manifest, from the root.
    pub manifest: String,
}

/// What cargo says.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Every crate, that of `fuzz/` (a workspace of its own) included.
    pub members: Vec<Member>,
    /// Every edge between them.
    pub edges: Vec<Edge>,
}

impl Workspace {
    /// Asks cargo about the manifests under `root`.
    ///
    /// # Errors
    /// Cargo could not read one of them.
    pub fn read(root: &Path) -> Result<Workspace> {
        let mut workspace = Workspace::default();
        for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
            for package in packages(root, manifest)? {
                workspace.take(root, &package)?;
            }
        }
        Ok(workspace)
    }

    fn take(&mut self, root: &Path, package: &Package) -> Result<()> {
        // Cargo answers with real paths; a temporary folder may be reached through a link.
        let root = root.canonicalize()?;
        let manifest = package.manifest_path.as_std_path().canonicalize()?;
        let manifest = manifest.strip_prefix(&root).unwrap_or(&manifest);
        self.members.push(Member {
            name: package.name.to_string(),
            manifest: manifest.to_string_lossy().into_owned(),
        });
        // A path means one of ours; everything else comes from a registry. Tests name their own crate for its features.
        let dependencies = package.dependencies.iter();
        let ours = dependencies.filter(|it| it.path.is_some() && it.name != package.name.as_str());
        self.edges.extend(ours.map(|dependency| Edge {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            purpose: dependency.kind,
        }));
        Ok(())
    }
}

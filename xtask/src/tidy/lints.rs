//! What the compiler and clippy hold for every crate: that the root manifest switches it on, and that nothing opts out.
//!
//! A rule that a lint can hold is no rule of tidy's: the lint reads code better, and its message points into it.

use super::complaint::Complaint;
use super::tree::Tree;
use super::workspace::Workspace;

/// Where lints are switched on.
const ROOT: &str = "Cargo.toml";

/// Lints that stand for rules of the house, and why.
const HELD: &[(&str, &str)] = &[
    ("unsafe_code", "one room is to be read for soundness"),
    (
        "undocumented_unsafe_blocks",
        "each block says why it is sound",
    ),
    ("dbg_macro", "it is for the desk, not for the tree"),
    ("todo", "it is for the desk, not for the tree"),
    ("unimplemented", "it is for the desk, not for the tree"),
    (
        "allow_attributes_without_reason",
        "a silenced lint is a claim, and a claim has grounds",
    ),
    (
        "ignore_without_reason",
        "a test that is not run is a defect, unless it says who runs it",
    ),
    (
        "too_many_lines",
        "what does not fit on a screen is not read as one thought",
    ),
];

/// Looks for every lint in the root manifest, and for `[lints] workspace = true` in every member's. (`fuzz/` is a
/// workspace of its own.)
pub fn check(tree: &Tree, workspace: &Workspace) -> Vec<Complaint> {
    let off = HELD.iter().filter(|(lint, _)| {
        let mut lines = tree.text(ROOT).lines();
        !lines.any(|line| line.starts_with(&format!("{lint} = ")))
    });
    let off = off.map(|(lint, why)| {
        let sentence = format!("the lint `{lint}` is not switched on for the workspace; {why}");
        Complaint::about(ROOT, sentence)
    });
    let members = workspace.members.iter().map(|member| &member.manifest);
    let out = members.filter(|manifest| {
        !manifest.starts_with("fuzz/") && !tree.text(manifest).contains("[lints]\nworkspace = true")
    });
    let out = out.map(|manifest| {
        let sentence = "it lacks `[lints] workspace = true`, so the rules that lints hold do not hold here; add it";
        Complaint::about(manifest, sentence)
    });
    off.chain(out).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::super::workspace::Member;
    use super::*;

    #[test]
    fn a_lint_that_is_off_and_a_crate_that_opts_out_are_named() {
        let file = |path: &str, text: String| File {
            path: path.into(),
            text,
        };
        let on = HELD[1..]
            .iter()
            .map(|(lint, _)| format!("{lint} = \"warn\"\n"));
        let tree = Tree {
            files: vec![
                file(ROOT, on.collect()),
                file("a/Cargo.toml", "[lints]\nworkspace = true\n".into()),
                file("b/Cargo.toml", String::new()),
                file("fuzz/Cargo.toml", String::new()),
            ],
        };
        let member = |name: &str| Member {
            name: name.into(),
            manifest: format!("{name}/Cargo.toml"),
        };
        let workspace = Workspace {
            members: ["a", "b", "fuzz"].map(member).into(),
            ..Workspace::default()
        };
        let complaints = check(&tree, &workspace);
        let sentences: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert_eq!(
            sentences,
            [
                "Cargo.toml: the lint `unsafe_code` is not switched on for the workspace; one room is to be read for \
                 soundness",
                "b/Cargo.toml: it lacks `[lints] workspace = true`, so the rules that lints hold do not hold here; add \
                 it",
            ]
        );
    }
}

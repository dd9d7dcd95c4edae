//! The fuzz folder and the table that runs it name the same targets, so that none is built and never run.

use super::complaint::Complaint;
use super::workspace::Workspace;
use crate::fuzz::Target;

/// Compares both ways.
pub fn check(table: &[Target], workspace: &Workspace) -> Vec<Complaint> {
    let built = &workspace.fuzz_targets;
    let unlisted = built
        .iter()
        .filter(|name| !table.iter().any(|target| target.name == **name))
        .map(|name| {
            let sentence = format!(
                "the target `{name}` is not in the table of xtask/src/fuzz.rs, so it never runs; give it a row"
            );
            Complaint::about("fuzz/Cargo.toml", sentence)
        });
    let missing = table
        .iter()
        .filter(|target| !built.iter().any(|name| name == target.name))
        .map(|target| {
            let sentence = format!(
                "there is a row for `{}`, but fuzz/Cargo.toml has no such [[bin]]; take it out",
                target.name
            );
            Complaint::about("xtask/src/fuzz.rs", sentence)
        });
    unlisted.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_rows_are_the_same_set() {
        let table = [
            Target {
                name: "response",
                about: "",
            },
            Target {
                name: "gone",
                about: "",
            },
        ];
        let workspace = Workspace {
            fuzz_targets: vec!["response".into(), "fresh".into()],
            ..Workspace::default()
        };
        let complaints: Vec<String> = check(&table, &workspace)
            .iter()
            .map(Complaint::to_string)
            .collect();
        assert_eq!(
            complaints,
            [
                "fuzz/Cargo.toml: the target `fresh` is not in the table of xtask/src/fuzz.rs, so it never runs; \
                 give it a row",
                "xtask/src/fuzz.rs: there is a row for `gone`, but fuzz/Cargo.toml has no such [[bin]]; take it out",
            ]
        );
    }
}

//! What every Rust file of the tree keeps to, as far as clippy cannot hold it (`[workspace.lints]`, `clippy.toml`).

use super::complaint::Complaint;
use super::source::{Line, Source};

/// One rule for one file.
type Rule = fn(&Source) -> Vec<Complaint>;

const RULES: &[Rule] = &[names, forbidden_at_the_root, crate_docs, sleeps];

/// Asks every rule about every file.
pub fn check(sources: &[Source]) -> Vec<Complaint> {
    sources
        .iter()
        .flat_map(|source| RULES.iter().flat_map(|rule| rule(source)))
        .collect()
}

/// File and folder names that say nothing, with what else they could be called.
fn names(source: &Source) -> Vec<Complaint> {
    const EMPTY: &[&str] = &["common", "helper", "helpers", "util", "utils"];
    let parts = source.path.trim_end_matches(".rs").split('/');
    parts
        .filter(|part| EMPTY.contains(part))
        .map(|part| {
            let sentence = format!(
                "`{part}` says nothing of what is in it, so everything ends up there; name the noun it is about"
            );
            Complaint::about(&source.path, sentence)
        })
        .collect()
}

/// The room whose file this is, if it is a room's library root.
fn library(source: &Source) -> Option<&str> {
    let room = source
        .path
        .strip_prefix("crates/")?
        .strip_suffix("/src/lib.rs")?;
    (!room.contains('/')).then_some(room)
}

fn forbidden_at_the_root(source: &Source) -> Vec<Complaint> {
    let forbids = source
        .lines
        .iter()
        .any(|line| line.code.contains("#![forbid(unsafe_code)]"));
    match library(source) {
        None | Some("kernel") => Vec::new(),
        Some(_) if forbids => Vec::new(),
        Some(room) => {
            let sentence = format!(
                "{room} lacks `#![forbid(unsafe_code)]` at its root, where no inner allowance can undo it; add it \
                 after the crate's docs"
            );
            vec![Complaint::about(&source.path, sentence)]
        }
    }
}

fn crate_docs(source: &Source) -> Vec<Complaint> {
    let program = ["crates/", "proof/", "xtask/"]
        .iter()
        .any(|folder| source.path.starts_with(folder));
    let root = program && source.path.ends_with("/src/main.rs");
    if library(source).is_none() && !root {
        return Vec::new();
    }
    let docs = source
        .lines
        .iter()
        .map_while(|line| line.comment.strip_prefix("//!"));
    // As running text, because a heading may be broken over two lines.
    let docs: Vec<&str> = docs.flat_map(str::split_whitespace).collect();
    let docs = docs.join(" ");
    let missing = ["In scope", "Out of scope"]
        .into_iter()
        .filter(|heading| !docs.contains(heading));
    missing
        .map(|heading| {
            let sentence = format!(
                "the crate's docs, `//!` from the first line on, do not say what is `{heading}`; a crate earns its \
                 place by what it must not know"
            );
            Complaint::at(&source.path, 1, sentence)
        })
        .collect()
}

fn sleeps(source: &Source) -> Vec<Complaint> {
    let sentence = "`thread::sleep` without a comment on its line or the one above: a sleep that waits for a \
                    condition is too short on one machine and too long on the next; wait for the condition, or say \
                    what the time is for";
    let explained = |index: usize| {
        let above = index.checked_sub(1).map(|above| &source.lines[above]);
        let comment = |line: &Line| !line.comment.is_empty();
        comment(&source.lines[index]) || above.is_some_and(comment)
    };
    source
        .lines
        .iter()
        .enumerate()
        .filter(|(index, line)| line.code.contains("thread::sleep") && !explained(*index))
        .map(|(index, _)| Complaint::at(&source.path, index + 1, sentence))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn sentences(path: &str, text: &str) -> Vec<String> {
        let source = Source::parse(&File {
            path: path.into(),
            text: text.into(),
        });
        check(&[source]).iter().map(Complaint::to_string).collect()
    }

    const SCOPES: &str = "//! In scope: all.\n//! Out of scope: none.\n";

    #[test]
    fn each_rule_complains_with_its_whole_sentence() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "crates/cli/src/helpers.rs",
                "",
                "crates/cli/src/helpers.rs: `helpers` says nothing of what is in it, so everything ends up there; \
                 name the noun it is about",
            ),
            (
                "crates/cli/tests/common/mod.rs",
                "",
                "crates/cli/tests/common/mod.rs: `common` says nothing of what is in it, so everything ends up \
                 there; name the noun it is about",
            ),
            (
                "crates/wire/src/lib.rs",
                SCOPES,
                "crates/wire/src/lib.rs: wire lacks `#![forbid(unsafe_code)]` at its root, where no inner allowance \
                 can undo it; add it after the crate's docs",
            ),
            (
                "xtask/src/main.rs",
                "//! In scope: all.\n\n//! Out of scope: too late.\n",
                "xtask/src/main.rs:1: the crate's docs, `//!` from the first line on, do not say what is `Out of \
                 scope`; a crate earns its place by what it must not know",
            ),
            (
                "crates/cli/tests/a.rs",
                "// Far above.\n\nthread::sleep(short);",
                "crates/cli/tests/a.rs:3: `thread::sleep` without a comment on its line or the one above: a sleep \
                 that waits for a condition is too short on one machine and too long on the next; wait for the \
                 condition, or say what the time is for",
            ),
        ];
        for (path, text, sentence) in cases {
            assert_eq!(sentences(path, text), [*sentence]);
        }
    }

    #[test]
    fn what_keeps_to_the_rules_is_let_be() {
        let sound = format!("{SCOPES}#![forbid(unsafe_code)]\n");
        let cases = [
            ("crates/wire/src/lib.rs", sound.as_str()),
            ("crates/kernel/src/lib.rs", SCOPES),
            (
                "crates/cli/src/main.rs",
                "//! In scope: all. Out of\n//! scope: none.\n",
            ),
            (
                "crates/cli/src/a.rs",
                "value.expect(\"stated\"); let v = [expect(1)];",
            ),
            (
                "crates/cli/tests/a.rs",
                "// The stall itself.\nthread::sleep(short);",
            ),
            (
                "crates/cli/tests/a.rs",
                "thread::sleep(short); // The stall itself.",
            ),
        ];
        for (path, text) in cases {
            assert_eq!(sentences(path, text), [""; 0], "{text}");
        }
    }
}

//! What every Rust file of the tree keeps to, as far as clippy cannot hold it (`[workspace.lints]`, `clippy.toml`).

use super::complaint::Complaint;
use super::source::Source;

/// One rule for one file.
type Rule = fn(&Source) -> Vec<Complaint>;

const RULES: &[Rule] = &[names, forbidden_at_the_root, crate_docs, sleeps];

/// Asks every rule about every file.
pub fn check(sources: &[Source]) -> Vec<Complaint> {
    let all = |source| RULES.iter().flat_map(move |rule| rule(source));
    sources.iter().flat_map(all).collect()
}

/// File and folder names that say nothing, with what else they could be called.
fn names(source: &Source) -> Vec<Complaint> {
    const EMPTY: &[&str] = &["common", "helper", "helpers", "util", "utils"];
    let parts = source.path.trim_end_matches(".rs").split('/');
    let empty = parts.filter(|part| EMPTY.contains(part)).map(|part| {
        format!("`{part}` says nothing of what is in it, so everything ends up there; name the noun it is about")
    });
    empty
        .map(|sentence| Complaint::about(&source.path, sentence))
        .collect()
}

/// The room whose file this is, if it is a room's library root.
fn library(source: &Source) -> Option<&str> {
    let room = source.path.strip_prefix("crates/")?;
    let room = room.strip_suffix("/src/lib.rs")?;
    (!room.contains('/')).then_some(room)
}

fn forbidden_at_the_root(source: &Source) -> Vec<Complaint> {
    let mut lines = source.lines.iter();
    let room = library(source).filter(|room| *room != "kernel");
    let room = room.filter(|_| !lines.any(|it| it.code.contains("#![forbid(unsafe_code)]")));
    let complaint = room.map(|room| {
        let sentence = format!(
            "{room} lacks `#![forbid(unsafe_code)]` at its root, where no inner allowance can undo it; add it after the \
             crate's docs"
        );
        Complaint::about(&source.path, sentence)
    });
    complaint.into_iter().collect()
}

fn crate_docs(source: &Source) -> Vec<Complaint> {
    let (path, lines) = (&source.path, source.lines.iter());
    let mut programs = ["crates/", "proof/", "xtask/"].iter();
    let is_program = programs.any(|folder| path.starts_with(folder));
    if library(source).is_none() && !(is_program && path.ends_with("/src/main.rs")) {
        return Vec::new();
    }
    let docs = lines.map_while(|line| line.comment.strip_prefix("//!"));
    // As running text, because a heading may be broken over two lines.
    let docs: Vec<&str> = docs.flat_map(str::split_whitespace).collect();
    let docs = docs.join(" ");
    let headings = ["In scope", "Out of scope"].into_iter();
    let missing = headings.filter(|heading| !docs.contains(heading)).map(|heading| {
        format!(
            "the crate's docs, `//!` from the first line on, do not say what is `{heading}`; a crate earns its place by \
             what it must not know"
        )
    });
    missing
        .map(|sentence| Complaint::at(path, 1, sentence))
        .collect()
}

fn sleeps(source: &Source) -> Vec<Complaint> {
    let sentence = "`thread::sleep` without a comment on its line or the one above: a sleep that waits for a \
                    condition is too short on one machine and too long on the next; wait for the condition, or say \
                    what the time is for";
    let mut complaints = Vec::new();
    let mut above = "";
    for (line, number) in source.lines.iter().zip(1..) {
        if line.code.contains("thread::sleep") && line.comment.is_empty() && above.is_empty() {
            complaints.push(Complaint::at(&source.path, number, sentence));
        }
        above = &line.comment;
    }
    complaints
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

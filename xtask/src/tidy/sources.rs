//! What every Rust file of the tree keeps to.

use super::complaint::Complaint;
use super::source::{Line, Source};

/// One rule for one file.
type Rule = fn(&Source) -> Vec<Complaint>;

const RULES: &[Rule] = &[
    names,
    unsafe_code,
    forbidden_at_the_root,
    crate_docs,
    unfinished,
    allowances,
    ignored_tests,
    sleeps,
];

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

/// Where `unsafe` may stand, and why there.
const UNSAFE: &[(&str, &str)] = &[
    ("crates/kernel/", "it is the room that makes system calls"),
    (
        "bench/src/lib.rs",
        "the bare programs are what kernel's cost is held against, so they must not be made of it",
    ),
];

fn unsafe_code(source: &Source) -> Vec<Complaint> {
    if UNSAFE
        .iter()
        .any(|(place, _)| source.path.starts_with(place))
    {
        return Vec::new();
    }
    let sentence = "only kernel is unsafe, so that one room is to be read for soundness; put the call there, behind a \
                    safe function";
    source
        .words()
        .filter(|(_, _, word, _)| *word == "unsafe")
        .map(|(line, ..)| Complaint::at(&source.path, line, sentence))
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

fn unfinished(source: &Source) -> Vec<Complaint> {
    source
        .words()
        .filter(|(_, _, word, after)| {
            after.starts_with('!') && matches!(*word, "todo" | "unimplemented" | "dbg")
        })
        .map(|(line, _, word, _)| {
            let sentence =
                format!("`{word}!` is for the desk, not for the tree; finish it or take it out");
            Complaint::at(&source.path, line, sentence)
        })
        .collect()
}

/// Lint allowances say why they stand.
fn allowances(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (line, before, word, after) in source.words() {
        let attribute = before.ends_with("#[") || before.ends_with("#![");
        if attribute
            && matches!(word, "allow" | "expect")
            && !text_of_attribute(source, line, after).contains("reason =")
        {
            let sentence = format!(
                "`#[{word}(...)]` without `reason = \"...\"`: a silenced lint is a claim, and a claim has grounds; \
                 add them or mend the code"
            );
            complaints.push(Complaint::at(&source.path, line, sentence));
        }
    }
    complaints
}

/// From `after`, the rest of its line, to the line that closes the attribute.
fn text_of_attribute(source: &Source, line: usize, after: &str) -> String {
    let mut text = after.to_owned();
    for next in &source.lines[line..] {
        if text.contains(")]") {
            break;
        }
        text.push_str(&next.code);
    }
    text.split(")]").next().unwrap_or_default().to_owned()
}

fn ignored_tests(source: &Source) -> Vec<Complaint> {
    let sentence = "`#[ignore]` without a reason: a test that nobody runs is a defect; write `#[ignore = \"why\"]` \
                    and say who runs it";
    let ignored = |line: &Line| line.code.contains("#[ignore]");
    source
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| ignored(line))
        .map(|(index, _)| Complaint::at(&source.path, index + 1, sentence))
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
                "crates/cli/src/a.rs",
                "\nunsafe { call() }",
                "crates/cli/src/a.rs:2: only kernel is unsafe, so that one room is to be read for soundness; put the \
                 call there, behind a safe function",
            ),
            (
                "bench/src/bin/bare_client.rs",
                "unsafe { call() }",
                "bench/src/bin/bare_client.rs:1: only kernel is unsafe, so that one room is to be read for soundness; \
                 put the call there, behind a safe function",
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
                "fuzz/a.rs",
                "fn a() { todo!() }",
                "fuzz/a.rs:1: `todo!` is for the desk, not for the tree; finish it or take it out",
            ),
            (
                "crates/cli/src/a.rs",
                "let a = dbg!(b);",
                "crates/cli/src/a.rs:1: `dbg!` is for the desk, not for the tree; finish it or take it out",
            ),
            (
                "crates/cli/src/a.rs",
                "#[allow(\n    dead_code,\n)]\nfn a() { reason = 1 }",
                "crates/cli/src/a.rs:1: `#[allow(...)]` without `reason = \"...\"`: a silenced lint is a claim, and \
                 a claim has grounds; add them or mend the code",
            ),
            (
                "crates/cli/tests/a.rs",
                "#[test]\n#[ignore]\nfn a() {}",
                "crates/cli/tests/a.rs:2: `#[ignore]` without a reason: a test that nobody runs is a defect; write \
                 `#[ignore = \"why\"]` and say who runs it",
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
            ("crates/kernel/src/clock.rs", "unsafe { call() }"),
            ("bench/src/lib.rs", "unsafe { call() }"),
            (
                "crates/cli/src/a.rs",
                "// todo!() in words, unsafe too\nlet a = \"dbg!(\";",
            ),
            (
                "crates/cli/src/a.rs",
                "#[allow(\n    dead_code,\n    reason = \"the second of two\"\n)]",
            ),
            (
                "crates/cli/src/a.rs",
                "value.expect(\"stated\"); let v = [expect(1)];",
            ),
            ("crates/cli/tests/a.rs", "#[ignore = \"needs an hour\"]"),
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

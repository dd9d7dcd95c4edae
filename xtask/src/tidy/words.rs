//! Retired words: home-made ones for which the field has a standard term. They stay out of what users read, which is the
//! strings of the crates and the manual; two of them stay out of comments as well.

use super::complaint::Complaint;
use super::source::Source;
use super::tree::Tree;

/// Words that no reader looks for, and what stands in their place.
const RETIRED: &[(&str, &str)] = &[
    ("whoever", "the actor: the server, a client, the thread"),
    ("whom", "the actor: the server, a client, the thread"),
    ("nobody", "the actor: no client, no process"),
    ("somebody", "the actor: a client, a process"),
    ("held against", "`caveats`"),
    ("lateness", "`send delay`"),
    ("forgone", "`skipped`"),
    ("own code", "`user`"),
    ("the ruler", "`reference server`"),
    ("was the limit", "`was the bottleneck`"),
    ("ended well", "`ended ok`"),
    ("left away", "`omitted`"),
    ("leave it away", "`remove it`"),
    ("asks nothing", "`sends nothing`"),
];

/// Those that comments do without, too: they hide the actor.
const COMMENTS: &[&str] = &["whoever", "nobody"];

/// Searches the strings of the crates' production code, README and manual outside of `code`, and all comments.
pub fn check(tree: &Tree, sources: &[Source]) -> Vec<Complaint> {
    let crates = sources
        .iter()
        .filter(|source| source.path.starts_with("crates/"));
    let strings = crates.flat_map(|source| {
        let lines = source.lines.iter().zip(1..).filter(|(line, _)| !line.test);
        // A string without a space is a name.
        let lines = lines.filter(|(line, _)| line.text.contains(' '));
        lines.filter_map(|(line, number)| complain(&source.path, number, &line.text, None))
    });
    let comments = sources.iter().flat_map(|source| {
        let lines = source.lines.iter().zip(1..);
        lines.filter_map(|(line, number)| {
            let text = without_code(&line.comment);
            complain(&source.path, number, &text, Some(COMMENTS))
        })
    });
    let manual = tree
        .with_extension("md")
        .filter(|file| is_manual(&file.path));
    let texts = manual.flat_map(|file| {
        let lines = file.text.lines().zip(1..);
        lines.filter_map(|(line, number)| complain(&file.path, number, &without_code(line), None))
    });
    strings.chain(comments).chain(texts).collect()
}

/// README and the pages of docs/, without decisions, which are never rewritten, and measured tables.
fn is_manual(path: &str) -> bool {
    let page = path.strip_prefix("docs/");
    let measured = ["accuracy.md", "accuracy-tls.md", "faults.md"];
    let is_page = |page: &str| !page.contains('/') && !measured.contains(&page);
    path == "README.md" || page.is_some_and(is_page)
}

/// Leaves out what stands between backticks: names of a record are not words.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// A complaint about the first retired word in `text`, one of `only` if given.
fn complain(path: &str, line: usize, text: &str, only: Option<&[&str]>) -> Option<Complaint> {
    let text = text.to_lowercase();
    let is_meant = |word| only.is_none_or(|only| only.contains(word));
    let mut retired = RETIRED.iter().filter(|(word, _)| is_meant(word));
    let (word, better) = retired.find(|(word, _)| has(&text, word))?;
    let sentence =
        format!("`{word}` is a retired word, which readers have to read twice; write {better}");
    Some(Complaint::at(path, line, sentence))
}

/// Whether `text` holds `word`, not as a part of a longer one.
fn has(text: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "_-={}".contains(character);
    text.match_indices(word).any(|(start, _)| {
        let end = start + word.len();
        !text[..start].ends_with(is_part) && !text[end..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let file = File {
            path: path.into(),
            text: text.into(),
        };
        let sources: Vec<Source> = path
            .ends_with(".rs")
            .then(|| Source::parse(&file))
            .into_iter()
            .collect();
        let tree = Tree { files: vec![file] };
        let found = check(&tree, &sources);
        found.iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_retired_word_is_found_in_strings_and_in_the_manual() {
        for (word, better) in RETIRED {
            let wanted = |path: &str| {
                format!(
                    "{path}:2: `{word}` is a retired word, which readers have to read twice; write {better}"
                )
            };
            let code = format!("fn f() {{\n    print(\"So {word} it is\");\n}}");
            let path = "crates/cli/src/run.rs";
            assert_eq!(complaints(path, &code), [wanted(path)]);
            let page = format!("# Page\nSo {word}, it is");
            assert_eq!(complaints("docs/run.md", &page), [wanted("docs/run.md")]);
        }
    }

    #[test]
    fn two_of_them_are_found_in_every_comment() {
        for path in ["crates/cli/src/run.rs", "bench/tests/all.rs"] {
            for (code, count) in [
                ("/// Nobody listens.\nfn a() {}", 1),
                ("let a = 1; // for whoever asks", 1),
                ("/* a\n whoever */ let `nobody` = 1;", 1),
                ("// the user `nobody`, and lateness", 0),
            ] {
                assert_eq!(complaints(path, code).len(), count, "{code}");
            }
        }
    }

    #[test]
    fn names_comments_tests_and_decisions_may_have_it() {
        let code = "// forgone\nfn nobody() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}";
        assert_eq!(complaints("crates/cli/src/run.rs", code), [""; 0]);
        assert_eq!(
            complaints("docs/record.md", "the key `lateness`, lateness_us"),
            [""; 0]
        );
        assert_eq!(complaints("docs/decisions/0001.md", "nobody"), [""; 0]);
    }
}

//! Documents and command say the same: every option that a page names exists, every option that exists is on a page.

use crate::bench::Bench;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The pages for users, and the options of other programs that they name.
const PAGES: [&str; 11] = [
    "README.md",
    "docs/checks.md",
    "docs/columns.md",
    "docs/compare.md",
    "docs/doctor.md",
    "docs/measurement.md",
    "docs/record.md",
    "docs/run.md",
    "docs/serve.md",
    "docs/sweep.md",
    "docs/truth.md",
];
const FOREIGN: &[&str] = &[
    "--init",
    "--kill-whom",
    "--num-calls",
    "--num-conns",
    "--password",
    "--port",
    "--release",
    "--signal",
    "--workspace",
];
const VERBS: [&str; 6] = ["run", "sweep", "compare", "report", "doctor", "serve"];

fn page(name: &str) -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    fs::read_to_string(root.join(name)).unwrap()
}

/// The long options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || "-.0123456789".contains(letter);
    let words = text.split(|letter: char| !is_part(letter));
    let words = words.filter(|word| word.starts_with("--") && word.len() > 3);
    let words = words.filter(|word| word.as_bytes()[2].is_ascii_lowercase());
    words
        .map(|word| word.trim_end_matches(['.', '-']).to_owned())
        .collect()
}

#[test]
fn every_option_that_a_page_names_exists() {
    let bench = Bench::new();
    let helps = VERBS.map(|verb| bench.say(&format!("{verb} --help")).out);
    let mut known = options(&helps.concat());
    known.extend(FOREIGN.iter().map(|option| (*option).to_owned()));
    known.insert("--version".to_owned());
    for name in PAGES {
        let unknown: Vec<String> = options(&page(name)).difference(&known).cloned().collect();
        assert_eq!(unknown, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_option_that_exists_is_on_a_page() {
    let bench = Bench::new();
    let pages: String = PAGES.iter().map(|name| page(name)).collect();
    let named = options(&pages);
    for verb in VERBS {
        let help = bench.say(&format!("{verb} --help")).out;
        let missing: Vec<String> = options(&help).difference(&named).cloned().collect();
        let missing: Vec<String> = missing
            .into_iter()
            .filter(|option| option != "--help")
            .collect();
        assert_eq!(missing, Vec::<String>::new(), "of {verb}");
    }
}

#[test]
fn every_verb_is_on_a_page_and_nothing_stands_there_for_later() {
    let pages: String = PAGES.iter().map(|name| page(name)).collect();
    for verb in [
        "run",
        "sweep",
        "compare",
        "report",
        "doctor",
        "serve",
        "completions",
        "man",
    ] {
        assert!(pages.contains(&format!("weigh {verb}")), "{verb}");
    }
    for name in PAGES {
        let text = page(name);
        let line = text
            .lines()
            .find(|line| line.contains("(later)*") || line.contains("no sweeps"));
        assert_eq!(line, None, "{name}");
    }
}

/// The commands in fenced blocks that begin with `weigh run`, `weigh sweep` or a URL.
fn examples(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks
        .flat_map(str::lines)
        .map(|line| line.trim_start_matches("$ "));
    let is_load = |line: &&str| {
        ["weigh run ", "weigh sweep ", "weigh http"]
            .iter()
            .any(|begin| line.starts_with(begin))
    };
    lines
        .filter(is_load)
        .filter(|line| !line.ends_with('\\'))
        .filter(|line| !line.contains("[OPTIONS]"))
        .map(|line| {
            line.split("  ")
                .next()
                .unwrap_or(line)
                .replace(" URL ", " localhost:8080/ ")
        })
        .collect()
}

#[test]
fn every_example_command_can_be_carried_out() {
    let bench = Bench::new();
    let mut tried = 0;
    for name in PAGES {
        for line in examples(&page(name)) {
            if ["--urls", "--resume", "--chart", "@"]
                .iter()
                .any(|part| line.contains(part))
            {
                continue; // needs a file that is not here, or draws what is not measured
            }
            let dry = match line.split_once(" -- ") {
                Some((load, command)) => format!("{load} --dry-run -- {command}"),
                None => format!("{line} --dry-run"),
            };
            let words = shell_words(&dry);
            let said = bench.say_words(&words[1..]);
            assert_eq!(said.status, Some(0), "{name}: {line}: {said:#?}");
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried}");
}

/// The words of a line as a shell takes them, of which only quotes matter here.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, letter) => words.last_mut().expect("there is one").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

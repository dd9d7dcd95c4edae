//! `cargo xtask size`: how much code each workspace member has.
//!
//! A line counts where it has code: blank lines, comments and the text inside strings that span lines do not. Counted
//! apart as test code is what stands under `#[cfg(test)]` or a feature that only tests switch on, with all files of a
//! module that is declared so, and what is in a folder `tests` or a file `tests.rs`. The scanner is that of `tidy`, so
//! both agree on what a test is.

use crate::cargo::root;
use crate::tidy::{Source, Tree};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::count;

/// Count the lines of code of each member: no blanks, no comments, tests apart.
#[derive(Debug, clap::Args)]
pub struct Size {
    /// Root of the tree to count, such as an older checkout; this one if omitted.
    root: Option<PathBuf>,
}

/// Lines with code: of production, and of tests.
type Lines = [u64; 2];

impl Size {
    /// Prints a row a member, and the sum.
    pub fn run(&self) -> Result<()> {
        let tree = Tree::read(&self.root.clone().unwrap_or_else(root))?;
        print!("{}", table(&Source::all(&tree)));
        Ok(())
    }
}

fn table(sources: &[Source]) -> String {
    let mut members: BTreeMap<String, Lines> = BTreeMap::new();
    for source in sources {
        let lines = members.entry(member(&source.path)).or_default();
        for line in source.lines.iter().filter(|it| !it.code.trim().is_empty()) {
            lines[usize::from(line.test)] += 1;
        }
    }
    let sum = |kind: usize| members.values().map(|lines| lines[kind]).sum();
    let sum = [sum(0), sum(1)];
    let row = |name: &str, lines: Lines| {
        let [production, test] = lines.map(count);
        format!("{name:<24} {production:>10} {test:>10}\n")
    };
    let rows = members.iter().map(|(name, lines)| row(name, *lines));
    let head = format!("{:<24} {:>10} {:>10}\n", "member", "production", "test");
    head + &rows.collect::<String>() + &row("all", sum)
}

/// The folder above `src`, `tests`, ...: `crates/wire`, `xtask`.
fn member(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let depth = if parts[0] == "crates" { 2 } else { 1 };
    parts[..depth.min(parts.len())].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::File;

    #[test]
    fn blanks_and_comments_do_not_count_and_tests_count_apart() {
        let file = |path: &str, text: &str| {
            Source::parse(&File {
                path: path.to_owned(),
                text: text.to_owned(),
            })
        };
        let text = "//! Top.\n\nfn a() {} // said\n/* b\n c */\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let sources = [
            file("crates/wire/src/lib.rs", text),
            file("crates/wire/tests/all.rs", "fn c() {}\n"),
            file("xtask/src/main.rs", "fn d() {}\nfn e() {}\n"),
        ];
        let table = table(&sources);
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let wanted = [
            ["member", "production", "test"],
            ["crates/wire", "1", "5"],
            ["xtask", "2", "0"],
            ["all", "3", "5"],
        ];
        assert_eq!(rows, wanted);
    }
}

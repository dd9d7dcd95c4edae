//! How long a function may be.
//!
//! A table may be long, a function may not: what does not fit on a screen is not read as one thought. The few that are
//! longer stand in [`LONG`] with the reason, and the list is a ratchet: a function in it may shrink, which moves its
//! number, and never grow.

use super::complaint::Complaint;
use super::source::{Function, Source};

/// Lines of the longest function that needs no reason.
const LINES_MAX: usize = 70;

/// This file, as it is named in complaints.
const RATCHET: &str = "xtask/src/tidy/functions.rs";

/// One function that is longer, and why.
#[derive(Debug, Clone, Copy)]
pub struct Long {
    path: &'static str,
    function: &'static str,
    lines: usize,
    why: &'static str,
}

/// Every function of ours that is longer than [`LINES_MAX`].
pub const LONG: &[Long] = &[];

/// Measures every function outside of tests.
pub fn check(ratchet: &[Long], sources: &[Source]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut used = vec![false; ratchet.len()];
    for source in sources {
        for function in source.functions() {
            if function.lines <= LINES_MAX || source.is_test(function.line) {
                continue;
            }
            let row = ratchet
                .iter()
                .position(|long| long.path == source.path && long.function == function.name);
            if let Some(row) = row {
                used[row] = true;
            }
            let sentence = judge(row.map(|row| &ratchet[row]), &function);
            complaints
                .extend(sentence.map(|text| Complaint::at(&source.path, function.line, text)));
        }
    }
    let unused = ratchet
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|(long, _)| {
            let Long { path, function, .. } = long;
            let sentence = format!(
                "`{function}` of {path} is no longer over {LINES_MAX} lines; take its row out"
            );
            Complaint::about(RATCHET, sentence)
        });
    complaints.extend(unused);
    complaints
}

fn judge(row: Option<&Long>, function: &Function) -> Option<String> {
    let Function { name, lines, .. } = function;
    match row {
        None => Some(format!(
            "`{name}` has {lines} lines, over {LINES_MAX}; split it where its thoughts part"
        )),
        Some(long) if *lines > long.lines => Some(format!(
            "`{name}` has {lines} lines and grew beyond the {} it was let have because {}; split it where its \
             thoughts part",
            long.lines, long.why
        )),
        Some(long) if *lines < long.lines => Some(format!(
            "`{name}` has shrunk to {lines} lines; lower its {} in {RATCHET}, so that it stays so",
            long.lines
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn source(path: &str, lines: usize) -> Source {
        let text = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
        Source::parse(&File {
            path: path.into(),
            text,
        })
    }

    fn sentences(ratchet: &[Long], source: Source) -> Vec<String> {
        check(ratchet, &[source])
            .iter()
            .map(Complaint::to_string)
            .collect()
    }

    const ROW: Long = Long {
        path: "a.rs",
        function: "long",
        lines: 80,
        why: "its steps share one buffer",
    };

    #[test]
    fn seventy_lines_are_a_function_and_one_more_is_not() {
        assert_eq!(sentences(&[], source("a.rs", 70)), [""; 0]);
        assert_eq!(
            sentences(&[], source("a.rs", 71)),
            ["a.rs:1: `long` has 71 lines, over 70; split it where its thoughts part"]
        );
        assert_eq!(sentences(&[], source("crates/cli/tests/a.rs", 71)), [""; 0]);
    }

    #[test]
    fn the_ratchet_holds_turns_down_and_lets_go() {
        let cases = [
            (80, None),
            (
                81,
                Some(
                    "a.rs:1: `long` has 81 lines and grew beyond the 80 it was let have because its steps share one \
                     buffer; split it where its thoughts part",
                ),
            ),
            (
                79,
                Some(
                    "a.rs:1: `long` has shrunk to 79 lines; lower its 80 in xtask/src/tidy/functions.rs, so that it \
                     stays so",
                ),
            ),
            (
                60,
                Some(
                    "xtask/src/tidy/functions.rs: `long` of a.rs is no longer over 70 lines; take its row out",
                ),
            ),
        ];
        for (lines, sentence) in cases {
            assert_eq!(
                sentences(&[ROW], source("a.rs", lines)),
                Vec::from_iter(sentence)
            );
        }
    }
}

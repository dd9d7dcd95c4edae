//! What a room must not mention, although its edges would let it: the standard library has sockets and clocks too.

use super::complaint::Complaint;
use super::source::{Source, word_spans};

/// What may not be mentioned under one folder.
struct Ban {
    /// Files whose path starts so.
    folder: &'static str,
    /// The lines that mention it, from 1.
    finds: fn(&Source) -> Vec<usize>,
    /// What is wrong, why, and the remedy.
    sentence: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        folder: "crates/wire/",
        finds: |source| standard(source, &["fs", "net", "os", "time"]),
        sentence: "wire is sans-IO: it owns no socket, no file and no clock, so that every byte and every instant of \
                   a test is given; take bytes and `units::Instant` as arguments",
    },
    Ban {
        folder: "crates/stats/",
        finds: |source| words(source, |_, word| word.to_ascii_lowercase().contains("http")),
        sentence: "stats knows numbers and no HTTP, so that it can judge any samples; name the quantity instead",
    },
    Ban {
        folder: "crates/audit/",
        finds: |source| standard(source, &["net", "os"]),
        sentence: "audit judges the record alone and never looks at the machine; let the record carry the fact",
    },
    Ban {
        folder: "crates/report/",
        finds: |source| standard(source, &["net", "os"]),
        sentence: "report prints what the record holds and never opens a socket; let the record carry the fact",
    },
    Ban {
        folder: "crates/engine/",
        finds: |source| words(source, protocol),
        sentence: "engine drives a connection without knowing what it speaks, so that a protocol is added in wire \
                   alone; say it through `wire::`, or choose it in `Connection`'s constructor",
    },
    Ban {
        folder: "crates/",
        finds: prints,
        sentence: "only the command prints: a room that prints decides for its caller where text goes; return it, or \
                   write it to a `Write` that was given",
    },
];

/// Searches every file under each ban's folder.
pub fn check(sources: &[Source]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for ban in BANS {
        for source in sources.iter().filter(|it| it.path.starts_with(ban.folder)) {
            let mut lines = (ban.finds)(source);
            lines.dedup();
            let complaint = |line| Complaint::at(&source.path, line, ban.sentence);
            complaints.extend(lines.into_iter().map(complaint));
        }
    }
    complaints
}

/// The lines with a word that `wanted` says yes to; it is given what stands before the word, too.
fn words(source: &Source, wanted: impl Fn(&str, &str) -> bool) -> Vec<usize> {
    let words = source.words();
    let found = words.filter(|(_, before, word, _)| wanted(before, word));
    found.map(|(line, ..)| line).collect()
}

fn protocol(before: &str, word: &str) -> bool {
    let mut names = ["http", "Http", "h"].into_iter();
    let version = names.find_map(|name| word.strip_prefix(name));
    matches!(version, Some("1" | "2" | "3"))
        && !before.ends_with("wire::")
        && !before.ends_with("Connection::")
}

/// Printing outside of the command, tests and examples.
fn prints(source: &Source) -> Vec<usize> {
    if source.path.starts_with("crates/cli/") || source.path.contains("/examples/") {
        return Vec::new();
    }
    let macros = ["print", "println", "eprint", "eprintln"];
    let found = source.words().filter(|(line, _, word, after)| {
        after.starts_with('!') && macros.contains(word) && !source.is_test(*line)
    });
    found.map(|(line, ..)| line).collect()
}

/// The lines that name one of `modules` of the standard library, as `std::net` or as `net` inside `std::{...}`.
fn standard(source: &Source, modules: &[&str]) -> Vec<usize> {
    let code: Vec<&str> = source.lines.iter().map(|line| line.code.as_str()).collect();
    let code = code.join("\n");
    let mut lines = Vec::new();
    for library in ["std::", "core::"] {
        for (start, _) in code.match_indices(library) {
            let path = start + library.len();
            // A group ends with its `use`; a plain path is over after its first word.
            let end = match code[path..].starts_with('{') {
                true => code[path..].find(';').map_or(code.len(), |it| path + it),
                false => path + 1,
            };
            let words = word_spans(&code[path..]).map(|(from, to)| (path + from, path + to));
            let named = words
                .take_while(|(from, _)| *from < end)
                .filter(|(from, to)| {
                    let before = code[..*from].trim_end();
                    modules.contains(&&code[*from..*to]) && before.ends_with(['{', ',', ':'])
                });
            lines.extend(named.map(|(from, _)| code[..from].matches('\n').count() + 1));
        }
    }
    lines.sort_unstable();
    lines
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<Complaint> {
        check(&[Source::parse(&File {
            path: path.into(),
            text: text.into(),
        })])
    }

    #[test]
    fn what_a_room_must_not_mention_is_found_at_its_line() {
        let (wire, stats, audit, report, engine, print) = (
            BANS[0].sentence,
            BANS[1].sentence,
            BANS[2].sentence,
            BANS[3].sentence,
            BANS[4].sentence,
            BANS[5].sentence,
        );
        let cases: &[(&str, &str, usize, &str)] = &[
            ("crates/wire/src/a.rs", "use std::net::IpAddr;", 1, wire),
            (
                "crates/wire/src/a.rs",
                "\nlet now = std::time::Instant::now();",
                2,
                wire,
            ),
            ("crates/wire/src/a.rs", "use std::{fmt, fs};", 1, wire),
            (
                "crates/wire/src/a.rs",
                "use std::{\n    fmt,\n    os::fd::RawFd,\n};",
                3,
                wire,
            ),
            (
                "crates/wire/tests/a.rs",
                "use core::time::Duration;",
                1,
                wire,
            ),
            ("crates/stats/src/a.rs", "struct HttpTimes;", 1, stats),
            (
                "crates/audit/src/a.rs",
                "use std::net::TcpStream;",
                1,
                audit,
            ),
            (
                "crates/report/src/a.rs",
                "use std::os::fd::RawFd;",
                1,
                report,
            ),
            ("crates/engine/src/a.rs", "mod h2;", 1, engine),
            (
                "crates/engine/src/a.rs",
                "let a = http1::Client::new();",
                1,
                engine,
            ),
            ("crates/engine/src/a.rs", "\n\nprintln!();", 3, print),
            ("crates/host/src/a.rs", "eprint!();", 1, print),
        ];
        for (path, text, line, sentence) in cases {
            assert_eq!(
                complaints(path, text),
                [Complaint::at(path, *line, *sentence)],
                "{text}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_it_is_let_be() {
        let cases = [
            ("crates/wire/src/a.rs", "use std::{fmt, io::IoSlice};"),
            (
                "crates/wire/src/a.rs",
                "let time = 1; // std::time is not for us",
            ),
            (
                "crates/wire/src/a.rs",
                "use units::Instant; let fs = \"std::fs\";",
            ),
            (
                "crates/kernel/src/a.rs",
                "use std::{fs, net::IpAddr, os::fd::RawFd, time};",
            ),
            ("crates/stats/src/a.rs", "//! No HTTP in here."),
            (
                "crates/engine/src/a.rs",
                "wire::http1::prepare(); Connection::http1(); Version::Http10;",
            ),
            ("crates/cli/src/a.rs", "println!();"),
            ("crates/wire/examples/a.rs", "println!();"),
            ("crates/wire/tests/a.rs", "eprintln!(\"seed {seed}\");"),
            ("crates/wire/src/a.rs", "writeln!(to)"),
        ];
        for (path, text) in cases {
            assert_eq!(complaints(path, text), [], "{text}");
        }
    }
}

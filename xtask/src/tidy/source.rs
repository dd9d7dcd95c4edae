//! A Rust file as the rules see it: line by line, code, comments and strings apart, tests marked.
//!
//! The compiler's own lexer and no parser: the rules need words and blocks, which survive code that does not compile yet,
//! macros included. Text in strings and comments can never trip a rule, the rules' own text least of all.

use super::tree::{File, Tree};
use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// One line.
#[derive(Debug, Default, Clone)]
pub struct Line {
    /// Its code; comments are gone and strings are empty.
    pub code: String,
    /// What its comments say.
    pub comment: String,
    /// What its strings say.
    pub text: String,
    /// Whether it is test code.
    pub test: bool,
}

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    /// From the root.
    pub path: String,
    /// In order.
    pub lines: Vec<Line>,
}

/// Features of the workspace that only add support for tests.
const TEST_FEATURES: &[&str] = &["example", "sim"];

impl Source {
    /// Returns every Rust file of the tree. The files of a module that is declared for tests only are test code too.
    pub fn all(tree: &Tree) -> Vec<Source> {
        let mut sources: Vec<Source> = tree.with_extension("rs").map(Source::parse).collect();
        let modules: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
        let is_support = |path: &str| {
            let mut rest = modules
                .iter()
                .filter_map(|it| path.strip_prefix(it.as_str()));
            rest.any(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        for source in sources.iter_mut().filter(|it| is_support(&it.path)) {
            source.lines.iter_mut().for_each(|line| line.test = true);
        }
        sources
    }

    /// Takes a file apart.
    pub fn parse(file: &File) -> Source {
        let mut source = Source {
            path: file.path.clone(),
            lines: split(&file.text),
        };
        source.mark_tests();
        source
    }

    /// Every word (identifier, keyword, number) of the code: line from 1, what stands before it, the word, what follows.
    pub fn words(&self) -> impl Iterator<Item = (usize, &str, &str, &str)> {
        let lines = self.lines.iter().map(|line| line.code.as_str()).zip(1..);
        lines.flat_map(|(code, number)| {
            let word =
                move |(start, end)| (number, &code[..start], &code[start..end], &code[end..]);
            word_spans(code).map(word)
        })
    }

    /// Whether the line (from 1) is test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.lines[line - 1].test
    }

    /// Paths, without extension, of the modules that this file declares in test code: `src/a` has `mod b;` for `src/a/b`.
    fn test_modules(&self) -> Vec<String> {
        let path = self.path.trim_end_matches(".rs");
        let roots = ["/lib", "/main", "/mod"];
        let folder = roots.iter().find_map(|root| path.strip_suffix(root));
        let folder = folder.unwrap_or(path);
        let marked = self.lines.iter().filter(|line| line.test);
        let names =
            marked.filter_map(|line| line.code.trim().strip_suffix(';')?.rsplit_once("mod "));
        names.map(|(_, name)| format!("{folder}/{name}")).collect()
    }

    /// The line (from 1) in which the item that starts at `line` and `column` closes its braces, or has its semicolon.
    fn item_end(&self, line: usize, column: usize) -> Option<usize> {
        let (mut braces, mut brackets) = (0_u32, 0_u32);
        for (index, text) in self.lines.iter().enumerate().skip(line - 1) {
            let skipped = if index + 1 == line { column } else { 0 };
            for character in text.code[skipped..].chars() {
                match character {
                    '(' | '[' => brackets += 1,
                    ')' | ']' => brackets = brackets.saturating_sub(1),
                    ';' if braces == 0 && brackets == 0 => return Some(index + 1),
                    '{' => braces += 1,
                    '}' => {
                        braces = braces.saturating_sub(1);
                        if braces == 0 {
                            return Some(index + 1);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// A file of tests is one in a folder `tests`, or named so; elsewhere test code is what a [`Line::test_mark`] is for.
    fn mark_tests(&mut self) {
        let is_test = |part: &str| part == "tests" || part == "tests.rs";
        if self.path.split('/').any(is_test) {
            self.lines.iter_mut().for_each(|line| line.test = true);
            return;
        }
        for number in 1..=self.lines.len() {
            if let Some(column) = self.lines[number - 1].test_mark() {
                let end = self.item_end(number, column).unwrap_or(number);
                let lines = &mut self.lines[number - 1..end];
                lines.iter_mut().for_each(|line| line.test = true);
            }
        }
    }
}

impl Line {
    /// The column behind a condition that holds in tests only: `test`, or a feature that only tests switch on.
    fn test_mark(&self) -> Option<usize> {
        let start = self.code.find("#[cfg(")?;
        let end = start + self.code[start..].find(")]")? + 2;
        let condition = &self.code[start..end];
        let mut words = word_spans(condition).map(|(from, to)| &condition[from..to]);
        let has_feature = TEST_FEATURES.contains(&self.text.as_str());
        let is_for_tests = words.clone().any(|word| word == "test") || has_feature;
        (is_for_tests && words.all(|word| word != "not")).then_some(end)
    }
}

/// Where the words of `code` begin and end, in bytes.
pub fn word_spans(code: &str) -> impl Iterator<Item = (usize, usize)> + Clone {
    let part = |character: char| character.is_alphanumeric() || character == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + code[from..].find(part)?;
        let after = code[start..].find(|character| !part(character));
        let end = after.map_or(code.len(), |length| start + length);
        from = end;
        Some((start, end))
    })
}

/// The lines of a file, each token's text in the field that it belongs to.
fn split(text: &str) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    let mut rest = text;
    for token in tokenize(text, FrontmatterAllowed::No) {
        let (token_text, behind) = rest.split_at(token.len as usize);
        rest = behind;
        match token.kind {
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => {
                add(&mut lines, token_text, |line| &mut line.comment);
            }
            // A character such as `'x'` or `'\''` is emptied; a lifetime is code.
            TokenKind::Literal {
                kind: LiteralKind::Char { .. } | LiteralKind::Byte { .. },
                ..
            } => {
                add(&mut lines, "''", |line| &mut line.code);
            }
            TokenKind::Literal { .. } if token_text.contains('"') => string(&mut lines, token_text),
            _ => add(&mut lines, token_text, |line| &mut line.code),
        }
    }
    lines
}

/// Adds a text, whose line ends begin new lines.
fn add(lines: &mut Vec<Line>, text: &str, field: fn(&mut Line) -> &mut String) {
    for (place, piece) in text.split('\n').enumerate() {
        if place > 0 {
            lines.push(Line::default());
        }
        field(lines.last_mut().expect("there is a line from the start")).push_str(piece);
    }
}

/// Adds a string literal: its quotes are code, what it says is text, without escaped characters.
fn string(lines: &mut Vec<Line>, literal: &str) {
    let open = literal.find('"').map_or(literal.len(), |quote| quote + 1);
    let close = literal.rfind('"').map_or(open, |quote| quote.max(open));
    add(lines, &literal[..open], |line| &mut line.code);
    let mut characters = literal[open..close].chars();
    let is_raw = literal[..open].contains('r');
    while let Some(character) = characters.next() {
        let said = match character {
            // A backslash before the end of a line leaves the line's end to be counted.
            '\\' if !is_raw => characters.next().filter(|escaped| *escaped == '\n'),
            _ => Some(character),
        };
        let said = said.map_or(String::new(), String::from);
        add(lines, &said, |line| &mut line.text);
    }
    add(lines, &literal[close..], |line| &mut line.code);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::parse(&File {
            path: path.into(),
            text: text.into(),
        })
    }

    #[test]
    fn code_is_told_from_comments_and_strings() {
        let cases: &[(&str, &str, &str)] = &[
            ("let a = 1; // why", "let a = 1; ", "// why"),
            ("a /* b /* c */ d */ e", "a  e", "/* b /* c */ d */"),
            (r#"say("no // comment", x)"#, r#"say("", x)"#, ""),
            (r#"say("a \" b", x)"#, r#"say("", x)"#, ""),
            (r##"say(r#"a " b"#, x)"##, r##"say(r#""#, x)"##, ""),
            (r##"say(br"\", x)"##, r##"say(br"", x)"##, ""),
            ("let c = '\"'; x", "let c = ''; x", ""),
            (r"let c = '\''; x", "let c = ''; x", ""),
            (r"let c = '\u{41}'; x", "let c = ''; x", ""),
            ("fn a<'a>(b: &'a str) {}", "fn a<'a>(b: &'a str) {}", ""),
            ("let four = \"ä\"; ö", "let four = \"\"; ö", ""),
            ("/// says `unsafe`", "", "/// says `unsafe`"),
        ];
        for (text, code, comment) in cases {
            let lines = split(text);
            assert_eq!(
                (lines[0].code.as_str(), lines[0].comment.as_str()),
                (*code, *comment),
                "{text}"
            );
        }
    }

    #[test]
    fn strings_and_comments_over_several_lines_keep_the_lines_apart() {
        let lines = split("a(\"one\\\n two\n three\"); /* four\n five */ b");
        let code: Vec<&str> = lines.iter().map(|line| line.code.as_str()).collect();
        assert_eq!(code, ["a(\"", "", "\"); ", " b"]);
    }

    #[test]
    fn tests_are_told_from_the_rest() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let marks: Vec<bool> = source("src/a.rs", text)
            .lines
            .iter()
            .map(|line| line.test)
            .collect();
        assert_eq!(marks, [false, true, true, true, true, false, false]);
        assert!(source("crates/cli/tests/run.rs", text).is_test(1));
    }

    #[test]
    fn conditions_of_tests_are_told_from_others() {
        let cases = [
            ("#[cfg(test)]", true),
            ("#[cfg(feature = \"sim\")]", true),
            ("#[cfg(any(test, feature = \"example\"))]", true),
            ("#[cfg(feature = \"tls\")]", false),
            ("#[cfg(not(test))]", false),
            ("#[cfg(unix)] // not in a test", false),
        ];
        for (condition, is_test) in cases {
            let source = source("src/a.rs", &format!("{condition}\npub mod b;\nmod c;\n"));
            let marks = [1, 2, 3].map(|line| source.is_test(line));
            assert_eq!(marks, [is_test, is_test, false], "{condition}");
        }
    }

    #[test]
    fn a_module_for_tests_has_its_files_with_it() {
        let file = |(path, text): (&str, &str)| File {
            path: path.into(),
            text: text.into(),
        };
        let declared = "#[cfg(test)]\npub(crate) mod fixture;\nmod plain;\n";
        let files = [
            ("a/src/fixture.rs", "mod deep;"),
            ("a/src/fixture/deep.rs", "fn a() {}"),
            ("a/src/fixtures.rs", "fn a() {}"),
            ("a/src/lib.rs", declared),
            ("a/src/plain.rs", declared),
            ("a/src/plain/fixture.rs", "fn a() {}"),
        ];
        let tree = Tree {
            files: files.map(file).into(),
        };
        let found: Vec<bool> = Source::all(&tree).iter().map(|it| it.is_test(1)).collect();
        assert_eq!(found, [true, true, false, true, true, true]);
    }
}

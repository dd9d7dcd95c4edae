//! A command's arguments, without the secret values in them.

use super::{Secrets, WITHHELD, is_scheme};

/// How deep quotes and values within values are looked into. What lies deeper is withheld.
const DEEPEST: u32 = 16;
/// How often a command is looked through at most: once and again, unless quotes were cut apart.
const PASSES: usize = 8;

/// The arguments as they may be written down. Looked through again, they stay as they are: a campaign that goes on
/// compares them with those in its record.
pub(super) fn shown(secrets: Secrets<'_>, argv: &[String]) -> Vec<String> {
    let mut shown = argv.to_vec();
    for _ in 0..PASSES {
        let mut words = Words {
            secrets,
            next_is_secret: false,
        };
        let again = shown.iter().map(|word| words.word(word, DEEPEST)).collect();
        if std::mem::replace(&mut shown, again) == shown {
            break;
        }
    }
    shown
}

/// Goes through the words of a command.
struct Words<'a> {
    secrets: Secrets<'a>,
    /// Whether the name of a secret came last.
    next_is_secret: bool,
}

impl Words<'_> {
    fn word(&mut self, text: &str, depth: u32) -> String {
        let is_long_option = text.len() > 2 && text.starts_with("--");
        if std::mem::take(&mut self.next_is_secret) && !is_long_option || depth == 0 {
            self.next_is_secret = is_scheme(text);
            return WITHHELD.to_owned();
        }
        if let Some((quote, inner)) = quoted(text) {
            return format!("{quote}{}{quote}", self.word(inner, depth - 1));
        }
        if let Some(shown) = self.field(text).or_else(|| self.setting(text, depth)) {
            return shown;
        }
        if text.contains(char::is_whitespace) {
            return self.script(text, depth);
        }
        self.next_is_secret = is_long_option && self.secrets.covers(name(text));
        self.secrets.url(text)
    }

    /// `Name: value`, where that is a secret; or `Name:` and its value comes next.
    fn field(&mut self, text: &str) -> Option<String> {
        let (field, rest) = text.split_once(':')?;
        let value = rest.trim_start();
        if !is_name(field) || value.starts_with("//") {
            return None;
        }
        if value.is_empty() {
            self.next_is_secret = self.secrets.covers(name(field));
            return Some(text.to_owned());
        }
        let blank = &rest[..rest.len() - value.len()];
        let is_secret = self.secrets.header(name(field), value) == WITHHELD;
        is_secret.then(|| format!("{field}:{blank}{WITHHELD}"))
    }

    /// `NAME=value` or `--name=value`.
    fn setting(&mut self, text: &str, depth: u32) -> Option<String> {
        let (option, value) = text.split_once('=')?;
        if value.is_empty() || option.contains(char::is_whitespace) {
            return None;
        }
        let is_secret = self.secrets.covers(name(option));
        if option.contains("://") {
            let is_one = is_secret || !text.contains(char::is_whitespace);
            return is_one.then(|| self.secrets.url(text));
        }
        if is_secret {
            return Some(format!("{option}={WITHHELD}"));
        }
        is_name(option).then(|| format!("{option}={}", self.word(value, depth - 1)))
    }

    /// Words with blanks between them.
    fn script(&mut self, text: &str, depth: u32) -> String {
        let is_one = end_of_word(text.trim(), true) == text.trim().len();
        let mut shown = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(end_of_word(rest, !is_one));
            if !word.is_empty() {
                shown.push_str(&self.word(word, depth - 1));
            }
            rest = after.trim_start();
            shown.push_str(&after[..after.len() - rest.len()]);
        }
        shown
    }
}

/// Where the first word of a script ends: at a blank, but at none that a shell would take into the word where
/// `by_shell`. A quote that is not closed is a letter.
fn end_of_word(script: &str, by_shell: bool) -> usize {
    let mut open = None;
    let mut is_escaped = false;
    for (at, letter) in script.char_indices() {
        match letter {
            _ if std::mem::take(&mut is_escaped) => {}
            '\\' => is_escaped = by_shell && open != Some('\''),
            _ if open == Some(letter) => open = None,
            '\'' | '"' if by_shell && open.is_none() => {
                open = script[at + 1..].contains(letter).then_some(letter);
            }
            _ if open.is_none() && letter.is_whitespace() => return at,
            _ => {}
        }
    }
    script.len()
}

/// The quote that `text` is between, and what is between the two.
fn quoted(text: &str) -> Option<(char, &str)> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some((quote, inner))
    })
}

/// Whether an option, a variable or a header may be called so; perhaps after a quote.
fn is_name(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.'\"".contains(letter);
    !text.is_empty() && text.chars().all(fits)
}

/// The name of an option, without what stands before it.
fn name(option: &str) -> &str {
    let bare = option.rsplit(['\'', '"']).next().unwrap_or_default();
    bare.trim_start_matches('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts how a command is written down, the first time and the second.
    #[track_caller]
    fn assert_shown(argv: &[&str], expected: &[&str]) {
        let own = ["X-Own".to_owned()];
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let once = Secrets(&own).command(&argv);
        assert_eq!(once, expected);
        assert_eq!(Secrets(&own).command(&once), once, "twice");
    }

    #[test]
    fn a_command_is_written_down_without_the_values_of_secret_options() {
        assert_shown(
            &[
                "env",
                "API_TOKEN=x",
                "server",
                "--password",
                "p",
                "--port=80",
                "--key=k k",
                "--auth",
                "--v",
            ],
            &[
                "env",
                "API_TOKEN=(withheld)",
                "server",
                "--password",
                "(withheld)",
                "--port=80",
                "--key=(withheld)",
                "--auth",
                "--v",
            ],
        );
        assert_shown(&["--token", "-abc", "-d"], &["--token", "(withheld)", "-d"]);
        assert_shown(&["--token", "a b"], &["--token", "(withheld)"]);
        assert_shown(&["--token"], &["--token"]);
    }

    #[test]
    fn words_that_hold_a_secret_are_written_down_without_it() {
        for (word, shown) in [
            ("X-Api-Key: abc", "X-Api-Key: (withheld)"),
            ("X-Api-Key:abc", "X-Api-Key:(withheld)"),
            ("Authorization: Bearer x", "Authorization: (withheld)"),
            ("X-Other: Bearer x", "X-Other: (withheld)"),
            ("X-Own: x y", "X-Own: (withheld)"),
            ("Cookie: a=b; c=d", "Cookie: (withheld)"),
            ("Accept: */*", "Accept: */*"),
            ("localhost:80", "localhost:80"),
            ("--header=X-Api-Key: abc", "--header=X-Api-Key: (withheld)"),
            ("DB=postgres://u:pa?ss@h/d", "DB=postgres://(withheld)@h/d"),
            ("postgres://u:pa?ss@h", "postgres://(withheld)@h"),
            (
                "http://u:p@h/x?key=1",
                "http://(withheld)@h/x?key=(withheld)",
            ),
        ] {
            assert_shown(&[word], &[shown]);
        }
    }

    #[test]
    fn a_script_is_written_down_without_the_secrets_in_it() {
        for (script, shown) in [
            (
                "exec env PORT=1 API_KEY=xyz ./srv",
                "exec env PORT=1 API_KEY=(withheld) ./srv",
            ),
            ("  a\n\tb   c  ", "  a\n\tb   c  "),
            (
                "cd x;  srv --password 'a b'  --port 80",
                "cd x;  srv --password (withheld)  --port 80",
            ),
            (
                r#"env A_KEY="a \" b" B="c d" C_KEY=a\ b srv"#,
                r#"env A_KEY=(withheld) B="c d" C_KEY=(withheld) srv"#,
            ),
            (
                "get -H 'X-Api-Key: abc' -H \"X-Own: x\" u",
                "get -H 'X-Api-Key: (withheld)' -H \"X-Own: (withheld)\" u",
            ),
            (
                "say Authorization: Bearer x y",
                "say Authorization: (withheld) (withheld) y",
            ),
            (
                "say don't API_KEY=x now",
                "say don't API_KEY=(withheld) now",
            ),
            ("don't API_KEY=x won't", "don't API_KEY=(withheld) won't"),
            (
                "sh -c 'env P=1 \"API_KEY=a b\" srv'",
                "sh -c 'env P=1 \"API_KEY=(withheld)\" srv'",
            ),
            (
                "srv postgres://u:pa?ss@h/ 80",
                "srv postgres://(withheld)@h/ 80",
            ),
        ] {
            assert_shown(&["sh", "-c", script], &["sh", "-c", shown]);
        }
    }

    #[test]
    fn quotes_and_values_without_end_come_to_one() {
        for word in [
            "'\"".repeat(50_000),
            "a=".repeat(50_000),
            "' \"".repeat(9_999),
        ] {
            let once = Secrets::default().command(&[word]);
            assert_eq!(Secrets::default().command(&once), once);
        }
    }
}

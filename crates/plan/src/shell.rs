//! Words as a POSIX shell reads them.

use std::borrow::Cow;

/// Returns `word` so that a shell reads it as one word and expands nothing: as it stands where it is safe, else in single
/// quotes.
///
/// ```
/// assert_eq!(plan::shell_word("http://[::1]:80/a?id=1"), "'http://[::1]:80/a?id=1'");
/// assert_eq!(plan::shell_word("http://127.0.0.1:80/a"), "http://127.0.0.1:80/a");
/// ```
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_safe) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_each_word_as_it_was() {
        for word in [
            "",
            "a b",
            "$(id)`id`",
            "it's",
            "a\"b",
            "*&;|<>#~!",
            "\\",
            "a\nb",
            "grün",
        ] {
            let script = format!("printf %s {}", shell_word(word));
            let said = std::process::Command::new("sh")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}

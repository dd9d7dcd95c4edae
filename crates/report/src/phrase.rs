//! Words and numbers as they are printed, where `units` alone does not suffice.

/// Text that came from outside (a header, a path, a command) made fit for a terminal: no control characters, no marks
/// that reverse the direction of writing, and not longer than `most` characters.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(most)
        .map(|c| if is_harmless(c) { c } else { '?' })
        .collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

fn is_harmless(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !c.is_control() && !invisible
}

/// Columns that a text takes: one a character. (Wide East Asian characters in a URL would take two; they are written
/// with per cent signs there.)
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A rate per second; none at all is a plain 0.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second == 0.0 {
        "0".to_owned()
    } else {
        units::rate(per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_write_on_the_terminal() {
        let cases: &[(&str, &str)] = &[
            ("nginx/1.22.1", "nginx/1.22.1"),
            ("a\x1b[31mb", "a?[31mb"),
            ("a\u{202e}b\r\n", "a?b??"),
            ("0123456789abcdef", "0123456789ab…"),
            ("0123456789ab", "0123456789ab"),
        ];
        for (text, wanted) in cases {
            assert_eq!(clean(text, 12), *wanted);
        }
    }
}

//! Words as Perl programs read them: Getopt::Long, which says what is wrong with a word and goes on.

use std::collections::BTreeMap;

/// What belongs to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Nothing.
    Nothing,
    /// A text; the empty one where an option follows.
    Text,
    /// A text, whatever follows.
    AnyText,
    /// A whole number; 0 where none follows.
    Number,
}

/// What autobench takes.
const OPTIONS: [(&str, Takes); 20] = [
    ("host1", Takes::Text),
    ("host2", Takes::Text),
    ("uri1", Takes::Text),
    ("uri2", Takes::Text),
    ("add_header", Takes::Text),
    ("port1", Takes::Number),
    ("port2", Takes::Number),
    ("low_rate", Takes::Number),
    ("high_rate", Takes::Number),
    ("rate_step", Takes::Number),
    ("num_conn", Takes::Number),
    ("num_call", Takes::Number),
    ("timeout", Takes::Number),
    ("quiet", Takes::Nothing),
    ("single_host", Takes::Nothing),
    ("debug", Takes::Nothing),
    ("output_fmt", Takes::AnyText),
    ("file", Takes::AnyText),
    ("version", Takes::Nothing),
    ("const_test_time", Takes::Number),
];

/// Options with their values; those of switches are `1`.
pub(super) type Values = BTreeMap<String, String>;

/// Reads `words`; the text beside is what is said on standard error.
pub(super) fn read(words: &[String]) -> (Values, String) {
    let (mut values, mut complaints) = (Values::new(), String::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
            continue;
        };
        if option == "-" {
            break;
        }
        let option = option.strip_prefix('-').unwrap_or(option);
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let read = find(name).and_then(|(known, takes)| {
            let value = match (takes, value) {
                (Takes::Nothing, Some(_)) => {
                    return Err(format!("Option {name} does not take an argument"));
                }
                (Takes::Nothing, None) => "1".to_owned(),
                (Takes::Number, Some(value)) if !is_number(value) => {
                    return Err(format!(
                        "Value \"{value}\" invalid for option {name} (number expected)"
                    ));
                }
                (_, Some(value)) => value.to_owned(),
                (Takes::AnyText, None) => match words.next() {
                    Some(value) => value.clone(),
                    None => return Err(format!("Option {name} requires an argument")),
                },
                (Takes::Number, None) => {
                    let value = words.next_if(|next| is_number(next));
                    value.map_or("0", String::as_str).to_owned()
                }
                (Takes::Text, None) => {
                    let value = words.next_if(|next| !next.starts_with('-'));
                    value.cloned().unwrap_or_default()
                }
            };
            Ok((known, value))
        });
        match read {
            Ok((known, value)) => {
                values.insert(known.to_owned(), value);
            }
            Err(why) => complaints += &(why + "\n"),
        }
    }
    (values, complaints)
}

/// The option of this name, in any case, or the only one that begins with it.
fn find(name: &str) -> Result<(&'static str, Takes), String> {
    let wanted = name.to_ascii_lowercase();
    let mut all = OPTIONS.iter();
    if let Some(exact) = all.find(|(known, _)| *known == wanted) {
        return Ok(*exact);
    }
    let begun: Vec<_> = OPTIONS
        .iter()
        .filter(|(known, _)| known.starts_with(&wanted))
        .collect();
    match begun[..] {
        [only] => Ok(*only),
        [] => Err(format!("Unknown option: {wanted}")),
        _ => {
            let mut names: Vec<&str> = begun.iter().map(|(known, _)| *known).collect();
            names.sort_unstable();
            Err(format!("Option {name} is ambiguous ({})", names.join(", ")))
        }
    }
}

/// A whole number, perhaps with a sign.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_perl_reads_them() {
        let cases = [
            ("--low=5 --qui", "low_rate=5 quiet=1", ""),
            ("-LOW_rate 5 x", "low_rate=5", ""),
            ("--low_rate -5", "low_rate=-5", ""),
            ("--low_rate --quiet", "low_rate=0 quiet=1", ""),
            ("--host1 --quiet", "host1= quiet=1", ""),
            ("--file --quiet", "file=--quiet", ""),
            ("--quiet -- --debug", "quiet=1", ""),
            ("--foo --quiet", "quiet=1", "Unknown option: foo\n"),
            (
                "--num 5",
                "",
                "Option num is ambiguous (num_call, num_conn)\n",
            ),
            ("--file", "", "Option file requires an argument\n"),
            ("--quiet=1", "", "Option quiet does not take an argument\n"),
            (
                "--low_rate=abc",
                "",
                "Value \"abc\" invalid for option low_rate (number expected)\n",
            ),
        ];
        for (line, wanted, complaints) in cases {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let (values, said) = read(&words);
            let shown = values.iter().map(|(name, value)| format!("{name}={value}"));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), wanted, "{line}");
            assert_eq!(said, complaints, "{line}");
        }
    }
}

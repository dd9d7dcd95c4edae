//! Words as C programs read them: POSIX getopt.

/// One word read, or one that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// An option.
    Flag(char),
    /// An option with its value.
    Value(char, &'a str),
    /// An option that there is not.
    Unknown(char),
    /// An option whose value is missing.
    Lacking(char),
}

/// What stands on a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words<'a> {
    /// The options, in their order.
    pub(crate) options: Vec<Word<'a>>,
    /// What are none.
    pub(crate) operands: Vec<&'a str>,
}

/// Reads `words` by a specification as getopt has it (`"n:k"`: -n takes a value, -k does not). Options may stand behind operands,
/// as in glibc; `--` ends them.
pub(crate) fn getopt<'a>(words: &'a [String], specification: &str) -> Words<'a> {
    read(words, specification, false)
}

/// The same as Apache's library does it: options end at the first word that is none, or at one that it does not know.
pub(crate) fn getopt_in_front<'a>(words: &'a [String], specification: &str) -> Words<'a> {
    read(words, specification, true)
}

fn read<'a>(words: &'a [String], specification: &str, is_in_front: bool) -> Words<'a> {
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let letters = match word.strip_prefix('-') {
            Some("-") => {
                operands.extend(words.by_ref());
                break;
            }
            Some(letters) if !letters.is_empty() => letters,
            _ => {
                operands.push(word);
                if is_in_front {
                    operands.extend(words.by_ref());
                }
                continue;
            }
        };
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            let known = letter != ':' && specification.contains(letter);
            let takes_value = specification
                .split(letter)
                .nth(1)
                .is_some_and(|behind| behind.starts_with(':'));
            let word = match (known, takes_value) {
                (false, _) => Word::Unknown(letter),
                (true, false) => Word::Flag(letter),
                (true, true) if !rest.is_empty() => Word::Value(letter, rest),
                (true, true) => match words.next() {
                    Some(value) => Word::Value(letter, value),
                    None => Word::Lacking(letter),
                },
            };
            options.push(word);
            if is_in_front && matches!(word, Word::Unknown(_) | Word::Lacking(_)) {
                operands.extend(words.by_ref());
            }
            if known && takes_value {
                break;
            }
        }
    }
    Words { options, operands }
}

/// A long option: its name, whether it takes a value, and the short one that means the same.
pub(crate) type Long = (&'static str, bool, char);

/// What is wrong with a long option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// There is none.
    Unknown(String),
    /// It may be several.
    Ambiguous(String),
    /// Its value is missing.
    Lacking(&'static str),
    /// It takes no value.
    Needless(&'static str),
}

/// Writes the long options of `words` as short ones, as glibc reads them: abbreviated as long as they stay unique, the value behind
/// `=` or in the next word.
pub(crate) fn shortened(words: &[String], longs: &[Long]) -> Result<Vec<String>, Wrong> {
    let mut short = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) else {
            short.push(word.clone());
            if word == "--" {
                break;
            }
            continue;
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let exact = longs.iter().find(|(known, ..)| *known == name);
        let mut begun = longs.iter().filter(|(known, ..)| known.starts_with(name));
        let found = exact.or_else(|| begun.next());
        let Some((known, takes_value, letter)) = found else {
            return Err(Wrong::Unknown(format!("--{name}")));
        };
        if exact.is_none() && begun.any(|(_, _, other)| other != letter) {
            return Err(Wrong::Ambiguous(format!("--{name}")));
        }
        short.push(format!("-{letter}"));
        match (*takes_value, value) {
            (false, Some(_)) => return Err(Wrong::Needless(known)),
            (false, None) => {}
            (true, value) => match value.or_else(|| words.next().cloned()) {
                Some(value) => short.push(value),
                None => return Err(Wrong::Lacking(known)),
            },
        }
    }
    short.extend(words.cloned());
    Ok(short)
}

/// A number as C's `atoi` reads it: the digits that it begins with, behind blanks and a sign; 0 where there are none.
pub(crate) fn atoi(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    let number = digits.bytes().fold(0_i64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    });
    sign * number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Vec<String>, Vec<String>) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let read = getopt(&words, "n:kc:");
        let options = read.options.iter().map(|word| format!("{word:?}"));
        let operands = read.operands.iter().map(|word| (*word).to_owned());
        (options.collect(), operands.collect())
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("-n 5 -k url", &["Value('n', \"5\")", "Flag('k')"], &["url"]),
            ("url -n5", &["Value('n', \"5\")"], &["url"]),
            ("-kn5 url", &["Flag('k')", "Value('n', \"5\")"], &["url"]),
            ("-kn 5", &["Flag('k')", "Value('n', \"5\")"], &[]),
            ("-n", &["Lacking('n')"], &[]),
            ("-n -k", &["Value('n', \"-k\")"], &[]),
            ("-x -k", &["Unknown('x')", "Flag('k')"], &[]),
            ("-k -- -n url", &["Flag('k')"], &["-n", "url"]),
            ("-:", &["Unknown(':')"], &[]),
        ];
        for (line, options, operands) in cases {
            let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(read(line), (own(options), own(operands)), "{line}");
        }
        assert_eq!(read("-").1, ["-"]);
    }

    #[test]
    fn long_options_are_short_ones_by_another_name() {
        const LONGS: [Long; 3] = [
            ("latency", false, 'L'),
            ("late", true, 'l'),
            ("timeout", true, 'T'),
        ];
        let read = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            shortened(&words, &LONGS).map(|words| words.join(" "))
        };
        let unknown = |name: &str| Err(Wrong::Unknown(name.to_owned()));
        let cases = [
            ("--latency url", Ok("-L url".to_owned())),
            ("--late 5", Ok("-l 5".to_owned())),
            ("--t=5s -k", Ok("-T 5s -k".to_owned())),
            ("--timeout 5s", Ok("-T 5s".to_owned())),
            ("-- --latency", Ok("-- --latency".to_owned())),
            ("--lat", Err(Wrong::Ambiguous("--lat".to_owned()))),
            ("--x=3", unknown("--x")),
            ("--timeout", Err(Wrong::Lacking("timeout"))),
            ("--latency=3", Err(Wrong::Needless("latency"))),
        ];
        for (line, wanted) in cases {
            assert_eq!(read(line), wanted, "{line}");
        }
    }

    #[test]
    fn numbers_are_read_as_atoi_reads_them() {
        let cases = [
            ("12", 12),
            (" 7x", 7),
            ("-3", -3),
            ("+4", 4),
            ("x", 0),
            ("", 0),
            ("99999999999999999999", i64::MAX),
        ];
        for (text, number) in cases {
            assert_eq!(atoi(text), number, "{text}");
        }
    }
}

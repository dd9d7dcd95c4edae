//! Words as C programs read them: GNU getopt_long, for tools with long names and few short ones.

/// Whether a value belongs to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None: a switch.
    Nothing,
    /// One, behind `=` or in the next word.
    Value,
    /// One, if it stands behind `=`.
    Perhaps,
}

/// A long option: its name, and whether it takes a value.
pub(crate) type Long = (&'static str, Takes);

/// One option of a command line, or what getopt_long says of a word that is none.
pub(crate) type Item = Result<(&'static str, Option<String>), String>;

/// Reads `words`, in their order. `shorts` are letters that stand for long options. Operands are passed over; `--` ends the options.
pub(crate) fn options(words: &[String], longs: &[Long], shorts: &[(char, Long)]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            items.push(long_option(long, longs, &mut words));
        } else if let Some(letters) = word.strip_prefix('-') {
            short_options(letters, shorts, &mut words, &mut items);
        }
    }
    items
}

fn long_option<'a>(
    text: &str,
    longs: &[Long],
    words: &mut impl Iterator<Item = &'a String>,
) -> Item {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let (known, takes) = find(name, longs)?;
    match (takes, value) {
        (Takes::Nothing, Some(_)) => Err(format!("option '--{known}' doesn't allow an argument")),
        (Takes::Value, None) => match words.next() {
            Some(value) => Ok((known, Some(value.clone()))),
            None => Err(format!("option '--{known}' requires an argument")),
        },
        (_, value) => Ok((known, value)),
    }
}

/// The option of this name, or the only one that begins with it.
fn find(name: &str, longs: &[Long]) -> Result<Long, String> {
    let exact = longs.iter().find(|(known, _)| *known == name);
    let begun: Vec<&Long> = longs
        .iter()
        .filter(|(known, _)| known.starts_with(name))
        .collect();
    match (exact, &begun[..]) {
        (Some(exact), _) => Ok(*exact),
        (None, [only]) => Ok(**only),
        (None, []) => Err(format!("unrecognized option '--{name}'")),
        (None, several) => {
            let several = several.iter().map(|(known, _)| format!(" '--{known}'"));
            let several: String = several.collect();
            Err(format!(
                "option '--{name}' is ambiguous; possibilities:{several}"
            ))
        }
    }
}

fn short_options<'a>(
    letters: &str,
    shorts: &[(char, Long)],
    words: &mut impl Iterator<Item = &'a String>,
    items: &mut Vec<Item>,
) {
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        let known = shorts.iter().find(|(known, _)| *known == letter);
        let Some((_, (name, takes))) = known else {
            items.push(Err(format!("invalid option -- '{letter}'")));
            continue;
        };
        if *takes == Takes::Nothing {
            items.push(Ok((name, None)));
            continue;
        }
        let value = match rest {
            "" => words.next().cloned(),
            rest => Some(rest.to_owned()),
        };
        items.push(match value {
            Some(value) => Ok((name, Some(value))),
            None => Err(format!("option requires an argument -- '{letter}'")),
        });
        break;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGS: [Long; 6] = [
        ("num-calls", Takes::Value),
        ("num-conns", Takes::Value),
        ("hog", Takes::Nothing),
        ("print-reply", Takes::Perhaps),
        ("ssl", Takes::Nothing),
        ("ssl-ciphers", Takes::Value),
    ];
    const SHORTS: [(char, Long); 2] = [
        ('h', ("hog", Takes::Nothing)),
        ('n', ("num-calls", Takes::Value)),
    ];

    fn read(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let items = options(&words, &LONGS, &SHORTS);
        let shown = items.into_iter().map(|item| match item {
            Ok((name, Some(value))) => format!("{name}={value}"),
            Ok((name, None)) => name.to_owned(),
            Err(why) => format!("! {why}"),
        });
        shown.collect()
    }

    #[test]
    fn long_options_are_read_as_glibc_reads_them() {
        let cases: [(&str, &[&str]); 12] = [
            ("--num-ca 5 --hog", &["num-calls=5", "hog"]),
            ("--num-calls=5 x --ho", &["num-calls=5", "hog"]),
            (
                "--print-reply --pr=body",
                &["print-reply", "print-reply=body"],
            ),
            ("--ssl", &["ssl"]),
            ("-hn3 -n 4", &["hog", "num-calls=3", "num-calls=4"]),
            ("--hog -- --ssl", &["hog"]),
            ("--foo=1", &["! unrecognized option '--foo'"]),
            (
                "--num 5",
                &["! option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'"],
            ),
            ("--num-ca", &["! option '--num-calls' requires an argument"]),
            ("--hog=1", &["! option '--hog' doesn't allow an argument"]),
            ("-x", &["! invalid option -- 'x'"]),
            ("-n", &["! option requires an argument -- 'n'"]),
        ];
        for (line, wanted) in cases {
            assert_eq!(read(line), wanted, "{line}");
        }
    }
}

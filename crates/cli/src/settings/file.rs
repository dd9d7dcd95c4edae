//! A comparison in a file, such as `compare.toml`.
//!
//! A key is the long name of an option and its value what the option takes, so that the file becomes arguments of the same parser as
//! the command line's, and every sentence about a wrong value is that of the option. Where the command line gives an option, or one
//! that excludes it, the file's is left out.

use super::{Verb, Written, compare::COMPARE, output::OUTPUT};
use crate::refusal;
use clap::{ArgMatches, Command};
use plan::Takes;
use plan::settings::settings;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The ending of its name.
const ENDING: &str = ".toml";
/// A larger file holds something else.
const LARGEST: u64 = 1 << 20;

/// What a file says.
pub(super) struct FileMatches {
    /// The file.
    pub path: PathBuf,
    /// Its options, read as a command line.
    pub matches: ArgMatches,
}

impl FileMatches {
    /// Reads the file that the operands of `line` name; none where they name no such file.
    ///
    /// # Errors
    /// The sentence that names the file, what is wrong, and the remedy.
    pub fn named(line: &ArgMatches) -> Result<Option<FileMatches>, String> {
        let operands = line.get_many::<String>("servers").into_iter().flatten();
        let operands: Vec<&String> = operands.collect();
        let is_file = |text: &&&String| {
            text.ends_with(ENDING) && !text.contains(char::is_whitespace) && !text.contains("://")
        };
        let Some(name) = operands.iter().find(is_file) else {
            return Ok(None);
        };
        if operands.len() > 1 {
            return Err(format!(
                "{name} holds a whole comparison; write all servers into it, and name no other beside it"
            ));
        }
        let path = PathBuf::from(name);
        let words = read(&path)
            .and_then(|text| arguments(&text, &|option| Written::is_given(line, option)))
            .map_err(|why| format!("{name}: {why}"))?;
        let command = Command::new("weigh compare")
            .no_binary_name(true)
            .args(Verb::Compare.args());
        match command.try_get_matches_from(words) {
            Ok(matches) => Ok(Some(FileMatches { path, matches })),
            Err(error) => Err(format!("{name}: {}", refusal::sentence(&error))),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("the file of a comparison cannot be read: {error}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 1 MiB, and so no file of a comparison".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())
}

/// One option that a comparison has: its name, what it takes, and what it excludes.
type Known = (&'static str, Takes, &'static [&'static str]);

fn known() -> Vec<Known> {
    let takes = Verb::Compare;
    let own = COMPARE
        .iter()
        .map(|row| (row.name, row.takes, row.excludes));
    let plan = settings().filter(|row| takes.takes(*row));
    let plan = plan.map(|row| (row.name, row.takes, row.excludes));
    let output = OUTPUT.iter().filter(|row| takes.takes(*row));
    let output = output.map(|row| (row.name, row.takes, row.excludes));
    own.chain(plan).chain(output).collect()
}

/// The arguments that the file's `text` stands for, without options that the command line decides.
fn arguments(text: &str, is_given: &dyn Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let message = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        match error.span() {
            Some(span) => {
                let before = text.get(..span.start).unwrap_or(text);
                format!("line {}: {message}", before.matches('\n').count() + 1)
            }
            None => message,
        }
    })?;
    if table.is_empty() {
        return Err(format!("it is empty; write {SERVERS}"));
    }
    let known = known();
    let is_decided = |(name, _, excludes): &Known| {
        let excluded = excludes.iter().any(|other| is_given(other));
        let mut others = known.iter().filter(|(other, ..)| is_given(other));
        let is_excluded = excluded || others.any(|(_, _, excludes)| excludes.contains(name));
        *name != "servers" && (is_given(name) || is_excluded)
    };
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    for (key, value) in &table {
        let Some(option) = known.iter().find(|(name, ..)| name == key) else {
            return Err(unknown(key, &known));
        };
        let (name, takes, _) = *option;
        match (takes, values(name, takes, value)?) {
            (Takes::Operands(_), values) => operands.extend(values),
            _ if is_decided(option) => {}
            (Takes::Nothing, values) => options.extend(values.iter().map(|_| format!("--{name}"))),
            (_, values) => options.extend(values.iter().map(|value| format!("--{name}={value}"))),
        }
    }
    options.push("--".to_owned());
    options.extend(operands);
    Ok(options)
}

/// How servers are written.
const SERVERS: &str = "servers = [\"a=./server-a {port}\", \"b=./server-b {port}\"]";

/// The values of the option `name`; of a switch one that is empty where it is on.
fn values(name: &str, takes: Takes, value: &Value) -> Result<Vec<String>, String> {
    let is_one = matches!(takes, Takes::Value(_) | Takes::Word(_));
    match (takes, value) {
        (Takes::Nothing, Value::Boolean(is_on)) => {
            Ok(is_on.then(String::new).into_iter().collect())
        }
        (Takes::Nothing, _) => Err(format!("`{name}` is a switch; write {name} = true")),
        (Takes::Operands(_), Value::Array(all)) => {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let texts: Option<Vec<String>> = all.iter().map(text).collect();
            texts.ok_or_else(|| format!("`{name}` is a list of texts; write {SERVERS}"))
        }
        (Takes::Operands(_), _) => Err(format!("`{name}` is a list, in order; write {SERVERS}")),
        (_, Value::Array(all)) if !is_one => all.iter().map(|value| scalar(name, value)).collect(),
        (_, Value::Array(_)) => Err(format!("`{name}` takes one value, and no list")),
        (_, value) => Ok(vec![scalar(name, value)?]),
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(format!(
            "`{name}` takes a text or a number, not a value of type {}; write {name} = \"...\"",
            other.type_str()
        )),
    }
}

/// What is said of a key that is no option.
fn unknown(key: &str, known: &[Known]) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(name, key);
    let names = known.iter().map(|(name, ..)| *name);
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.filter(|name| likeness(name) > 0.8);
    let nearest = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let key: String = key
        .chars()
        .filter(|letter| !letter.is_control())
        .take(64)
        .collect();
    format!("`{key}` is no option of `weigh compare`, see its --help{nearest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::CompareFlags;
    use clap::FromArgMatches;

    fn words(text: &str, given: &[&str]) -> Result<Vec<String>, String> {
        arguments(text, &|name| given.contains(&name))
    }

    #[test]
    fn a_file_becomes_arguments_of_the_command_line_and_servers_keep_their_order() {
        let text = r#"
            # two builds
            servers = ["old=./old {port}", "new=./new {port}", "a=./a {port}"]
            connections = [10, 100]
            rate = "1k"
            until = "2%"
            max-regression = "2 %"
            header = ["Accept: text/html", "X-Id: 7"]
            aa = true
            all-pairs = false
            timeout = "1s"
            quiet = true
        "#;
        let wanted = [
            "--aa",
            "--connections=10",
            "--connections=100",
            "--header=Accept: text/html",
            "--header=X-Id: 7",
            "--max-regression=2 %",
            "--quiet",
            "--rate=1k",
            "--timeout=1s",
            "--until=2%",
            "--",
            "old=./old {port}",
            "new=./new {port}",
            "a=./a {port}",
        ];
        assert_eq!(words(text, &[]).unwrap(), wanted);
    }

    #[test]
    fn what_the_command_line_gives_or_excludes_is_left_out() {
        let text = "servers = [\"a=./a {port}\"]\ntime = \"9s\"\nuntil = \"2%\"\naa = true";
        let left = words(text, &["servers", "time", "precision"]).unwrap();
        assert_eq!(left, ["--aa", "--", "a=./a {port}"]);
        // `until` excludes `precision`, and so the other way round.
        let text = "servers = [\"a=./a {port}\"]\nprecision = \"1%\"";
        assert_eq!(words(text, &["until"]).unwrap(), ["--", "a=./a {port}"]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_key_or_line() {
        let cases: &[(&str, &[&str])] = &[
            ("", &["it is empty", "servers = ["]),
            ("# nothing\n", &["it is empty"]),
            ("time = \"1s\"\nservers = [\"a\"\nb", &["line 3"]),
            ("time = 1s", &["line 1"]),
            (
                "tme = \"1s\"",
                &["`tme` is no option", "did you mean `time`?"],
            ),
            ("help = true", &["`help` is no option"]),
            ("aa = \"yes\"", &["`aa` is a switch", "aa = true"]),
            (
                "time = true",
                &["`time` takes a text or a number", "boolean"],
            ),
            ("time = [\"1s\", \"2s\"]", &["`time` takes one value"]),
            ("connections = [[1]]", &["`connections`", "array"]),
            (
                "servers = \"a=./a {port}\"",
                &["`servers` is a list", "servers = ["],
            ),
            (
                "[servers]\na = \"./a {port}\"",
                &["`servers` is a list, in order"],
            ),
            ("servers = [1, 2]", &["`servers` is a list of texts"]),
            ("time = 1\ntime = 2", &["line 2"]),
        ];
        for (text, told) in cases {
            let said = words(text, &[]).unwrap_err();
            assert!(
                told.iter().all(|part| said.contains(part)),
                "{text}: {said}"
            );
            assert!(!said.contains('\n'), "{text}: {said}");
        }
    }

    #[test]
    fn the_example_of_the_manual_is_one_that_is_carried_out() {
        let page = include_str!("../../../../docs/compare.md");
        let example = page.split("```toml").nth(1).unwrap();
        let example = example.split("```").next().unwrap();
        let command = Command::new("weigh compare").no_binary_name(true);
        let matches = command
            .args(Verb::Compare.args())
            .get_matches_from(words(example, &[]).unwrap());
        let comparing = CompareFlags::from_arg_matches(&matches).unwrap().comparing;
        assert_eq!(comparing.servers.len(), 2);
        assert_eq!(comparing.connections, [10, 100]);
        assert_eq!(
            (comparing.until, comparing.max_regression),
            (Some(0.02), Some(0.02))
        );
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("compare.toml");
        std::fs::write(&path, vec![b'#'; LARGEST as usize]).unwrap();
        assert!(read(&path).is_ok());
        std::fs::write(&path, vec![b'#'; LARGEST as usize + 1]).unwrap();
        assert!(read(&path).unwrap_err().contains("larger than 1 MiB"));
        std::fs::write(&path, [0xff, b'a']).unwrap();
        assert!(read(&path).unwrap_err().contains("UTF-8"));
        assert!(read(folder.path()).unwrap_err().contains("cannot be read"));
        assert!(
            read(&folder.path().join("x"))
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}

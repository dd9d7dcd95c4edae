//! What the first word of a command line means: a command, or the URL of `weigh run`.
//!
//! A word is a URL only where it can be nothing else, so that a misspelt command never becomes a host that is looked up
//! in the network and loaded.

use crate::exit::Exit;
use crate::output;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

/// The name under which this program is the reference server alone.
const SERVER: &str = "counterweight";

/// From this likeness on (Jaro-Winkler, 0 to 1) a word is taken for a misspelt command; `swep` for `sweep` has 0.95,
/// `test` for `list` 0.67. (A choice, not a measured threshold.)
const ALIKE: f64 = 0.8;

/// What is printed where no command and no URL is given.
pub const USAGE: &str = "\
HTTP load generator that tells you how far its numbers can be trusted

  weigh demo                     measure the built-in server, to see what it prints
  weigh URL                      load a server: 5 rounds of 5 s, 10 connections
  weigh URL -- COMMAND           start the server, load it, stop it
  weigh sweep --connections 1..100:10 URL    load it at many levels
  weigh list, weigh report       show saved records
  weigh doctor                   say what is wrong with this machine for measuring
  weigh run -h, weigh --help     all options, all commands
";

/// Why a command line means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaningless {
    /// There is no word at all.
    Empty,
    /// The first word is neither a command nor a URL; says so and what may be meant.
    Unknown(String),
}

impl Meaningless {
    /// Says on standard error what is wrong and, where nothing was asked for, what can be.
    pub fn report(self) -> ExitCode {
        match self {
            Meaningless::Empty => {
                output::message(USAGE.trim_end());
                Exit::COULD_NOT.report()
            }
            Meaningless::Unknown(why) => {
                output::complain(&anyhow::anyhow!(why));
                Exit::COULD_NOT.report()
            }
        }
    }
}

/// Completes the words of a command line, of which the first is the program's name: puts `run` before a URL or an option of `run`.
/// A program called `counterweight` serves, whatever its words, and one that has the name of a drop-in takes those of that tool. `commands` are all that there are.
///
/// # Errors
/// [`Meaningless`].
pub fn complete(
    mut argv: Vec<OsString>,
    commands: &[String],
) -> Result<Vec<OsString>, Meaningless> {
    let name = argv.first().map(Path::new).and_then(Path::file_name);
    if name.is_some_and(|name| name == SERVER) {
        // So that help and sentences name a command that there is.
        argv[0] = "weigh".into();
        argv.insert(1, "serve".into());
        return Ok(argv);
    }
    let tool = name.and_then(|name| dropins::find(name.to_str()?));
    if let Some(tool) = tool {
        argv[0] = "weigh".into();
        argv.splice(1..1, ["as".into(), tool.name.into()]);
        return Ok(argv);
    }
    let Some(first) = argv.get(1) else {
        return Err(Meaningless::Empty);
    };
    let first = first.to_string_lossy();
    let is_about_weigh = ["-h", "--help", "-V", "--version"].contains(&&*first);
    if commands.iter().any(|each| **each == *first) || is_about_weigh {
        return Ok(argv);
    }
    if !first.starts_with('-') && !is_url(&first) {
        return Err(Meaningless::Unknown(unknown(&first, commands)));
    }
    argv.insert(1, "run".into());
    Ok(argv)
}

/// Whether `word` holds a scheme, a port or a path, or is `localhost` or an address in full.
fn is_url(word: &str) -> bool {
    let has_port = |word: &str| {
        let port = word.rsplit_once(':').map(|(_, port)| port);
        port.is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
    };
    let address = word.trim_start_matches('[').trim_end_matches(']');
    word.contains('/') || has_port(word) || word == "localhost" || address.parse::<IpAddr>().is_ok()
}

fn unknown(word: &str, commands: &[String]) -> String {
    let word: String = word.chars().take(64).filter(|c| !c.is_control()).collect();
    let likeness = |command: &&String| strsim::jaro_winkler(command, &word);
    let nearest = commands
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("no command `{word}`; did you mean 127.0.0.1:{word}?");
    }
    match nearest.filter(|near| likeness(near) >= ALIKE) {
        Some(near) => format!("no command `{word}`; did you mean `{near}`?"),
        None if word.contains('.') => {
            format!("no command `{word}`; if it is a host, write http://{word}/")
        }
        None => format!(
            "no command `{word}`; `weigh --help` lists them, and a URL has a scheme, a port or a slash"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: [&str; 6] = ["run", "sweep", "report", "list", "serve", "demo"];

    fn completed(line: &str) -> Result<String, Meaningless> {
        let argv = line.split_whitespace().map(OsString::from).collect();
        let commands = COMMANDS.map(str::to_owned);
        let words = complete(argv, &commands)?;
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn what_can_only_be_a_url_or_an_option_is_run() {
        for rest in [
            "http://example.com",
            "example.com/",
            "localhost",
            "localhost:8080",
            "example.com:80",
            "127.0.0.1",
            "::1",
            "[::1]",
            "[::1]:8080/a",
            "unix:/tmp/socket",
            "-c 10 localhost",
        ] {
            assert_eq!(
                completed(&format!("weigh {rest}")),
                Ok(format!("weigh run {rest}"))
            );
        }
    }

    #[test]
    fn commands_and_questions_about_weigh_stay() {
        for line in [
            "weigh run x",
            "weigh demo",
            "weigh --help",
            "weigh -V",
            "weigh sweep",
        ] {
            assert_eq!(completed(line).as_deref(), Ok(line));
        }
        assert_eq!(
            completed("/usr/bin/counterweight -p 80").as_deref(),
            Ok("weigh serve -p 80")
        );
    }

    #[test]
    fn any_other_word_is_refused_with_what_may_be_meant() {
        let cases: &[(&str, &str)] = &[
            ("swep", "no command `swep`; did you mean `sweep`?"),
            ("reprot", "no command `reprot`; did you mean `report`?"),
            (
                "example.com",
                "no command `example.com`; if it is a host, write http://example.com/",
            ),
            ("8080", "no command `8080`; did you mean 127.0.0.1:8080?"),
            (
                "127.1",
                "no command `127.1`; if it is a host, write http://127.1/",
            ),
            (
                "xyzzy",
                "no command `xyzzy`; `weigh --help` lists them, and a URL has a scheme, a port or a slash",
            ),
        ];
        for (word, wanted) in cases {
            let refused = completed(&format!("weigh {word}"));
            assert_eq!(refused, Err(Meaningless::Unknown((*wanted).to_owned())));
        }
        assert_eq!(completed("weigh"), Err(Meaningless::Empty));
    }
}

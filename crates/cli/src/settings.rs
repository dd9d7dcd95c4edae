//! From the settings table to the command line of `weigh run`, `weigh sweep` and `weigh compare`, and back to a plan.
//!
//! What shapes the plan are the rows of [`plan::settings`]; what is printed, and where, are those of [`output`]; what only a
//! comparison has, those of [`compare`].

mod compare;
mod file;
mod output;

pub use compare::{COMPARE, Comparing};
pub use output::{OUTPUT, Output};

use crate::choice::one_of;
use crate::environment::ThisMachine;
use crate::urls::UrlsFile;
use anyhow::Result;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use file::FileMatches;
use plan::settings::settings;
use plan::{Draft, Habits, Plan, Requests, Setting, Takes};
use std::path::PathBuf;

/// What the command line of a load says.
#[derive(Debug, Clone)]
pub struct Given {
    /// The plan in the making.
    pub draft: Draft,
    /// What is printed, and where the record goes.
    pub output: Output,
    /// The names of the settings that stand on the command line.
    pub names: Vec<&'static str>,
}

impl Given {
    /// Makes the plan.
    ///
    /// # Errors
    /// The sentence that says why it cannot be carried out.
    pub fn plan(&self) -> Result<Plan> {
        let mut draft = self.draft.clone();
        let file = draft
            .requests_file
            .as_deref()
            .map(UrlsFile::at)
            .transpose()?;
        if let Some(file) = &file {
            if draft.urls.is_empty() {
                draft.urls.push(file.first_url()?);
            }
            draft.requests_file = Some(file.path().to_owned());
        }
        let plan = draft.plan(&ThisMachine)?;
        if let (Some(file), Requests::File { common, .. }) = (&file, &plan.requests) {
            file.check_lines(common, &plan.target, plan.popularity.is_some())?;
        }
        Ok(plan)
    }

    /// Returns the files that are read, each with its option.
    pub fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        let draft = &self.draft;
        let file = |text: &String| text.strip_prefix('@').map(PathBuf::from);
        let bodies = draft
            .body
            .iter()
            .filter_map(file)
            .map(|path| ("body", path));
        let expected = draft.expect.iter().filter_map(file);
        let urls = draft.requests_file.iter().cloned();
        let named = expected.map(|path| ("expect", path));
        let named = named.chain(urls.map(|path| ("urls", path)));
        let script = draft.script.iter().cloned();
        let named = named.chain(script.map(|path| ("script", path)));
        named.chain(bodies).collect()
    }

    fn read(written: &Written<'_>, verb: Verb) -> Result<Given, Error> {
        let mut given = Given {
            draft: Draft::new(verb.habits()),
            output: Output::default(),
            names: Vec::new(),
        };
        for row in settings().filter(|row| verb.takes(*row)) {
            read(row, written, &mut given.draft, &mut given.names)?;
        }
        for row in OUTPUT.iter().filter(|row| verb.takes(*row)) {
            read(row, written, &mut given.output, &mut given.names)?;
        }
        Ok(given)
    }
}

/// Which verb takes a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Run,
    Sweep,
    Compare,
}

/// Settings of requests, connections and output that a comparison has as well, for all of its servers alike.
const COMPARED: [&str; 30] = [
    "method",
    "header",
    "body",
    "user",
    "cookie",
    "withhold",
    "expect",
    "max-errors",
    "no-keepalive",
    "requests-per-connection",
    "pipeline",
    "http1.0",
    "cacert",
    "insecure",
    "cert",
    "key",
    "tls-resume",
    "timeout",
    "connect-timeout",
    "ring",
    "seed",
    "ready-within",
    "resolve",
    "output",
    "json",
    "verbose",
    "quiet",
    "chart",
    "markdown",
    "dry-run",
];

impl Verb {
    const fn of(is_sweep: bool) -> Verb {
        if is_sweep { Verb::Sweep } else { Verb::Run }
    }

    fn habits(self) -> Habits {
        match self {
            Verb::Run | Verb::Compare => Habits::RUN,
            Verb::Sweep => Habits::SWEEP,
        }
    }

    fn takes<T>(self, row: &Setting<T>) -> bool {
        match self {
            Verb::Run => !row.sweep_only,
            Verb::Sweep => true,
            Verb::Compare => COMPARED.contains(&row.name),
        }
    }

    /// The arguments of its command line.
    fn args(self) -> Vec<Arg> {
        let own: Vec<_> = COMPARE.iter().filter(|_| self == Verb::Compare).collect();
        let plan: Vec<_> = settings().filter(|row| self.takes(*row)).collect();
        let output: Vec<_> = OUTPUT.iter().filter(|row| self.takes(*row)).collect();
        let mut names: Vec<&str> = own.iter().map(|row| row.name).collect();
        names.extend(plan.iter().map(|row| row.name));
        names.extend(output.iter().map(|row| row.name));
        let mut args: Vec<Arg> = own.into_iter().map(|row| arg(row, &names)).collect();
        args.extend(plan.into_iter().map(|row| arg(row, &names)));
        args.extend(output.into_iter().map(|row| arg(row, &names)));
        args
    }
}

/// The flags of `weigh run`, of which every setting has one value, or of `weigh sweep`, of which some have several.
#[derive(Debug, Clone)]
pub struct LoadFlags<const IS_SWEEP: bool>(pub Given);

impl<const IS_SWEEP: bool> FromArgMatches for LoadFlags<IS_SWEEP> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let line = Written {
            line: matches,
            file: None,
        };
        Given::read(&line, Verb::of(IS_SWEEP)).map(LoadFlags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const IS_SWEEP: bool> Args for LoadFlags<IS_SWEEP> {
    fn augment_args(command: Command) -> Command {
        command.args(Verb::of(IS_SWEEP).args())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The flags of `weigh compare`: what holds for the requests of all servers, and for the comparison.
#[derive(Debug, Clone)]
pub struct CompareFlags {
    /// What holds for all servers.
    pub given: Given,
    /// What holds for the comparison.
    pub comparing: Comparing,
}

impl FromArgMatches for CompareFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let file = FileMatches::named(matches)
            .map_err(|why| Error::raw(ErrorKind::ValueValidation, why))?;
        let written = Written {
            line: matches,
            file,
        };
        let mut given = Given::read(&written, Verb::Compare)?;
        let mut comparing = Comparing::default();
        for row in COMPARE {
            read(row, &written, &mut comparing, &mut given.names)?;
        }
        let own = COMPARE.iter().filter(|row| row.name != "resume");
        let (servers, own): (Vec<_>, Vec<_>) = own.partition(|row| row.name == "servers");
        let plan = settings().filter(|row| Verb::Compare.takes(*row));
        comparing.arguments = own
            .iter()
            .flat_map(|row| written.arguments(row))
            .chain(plan.flat_map(|row| written.arguments(row)))
            .chain(servers.iter().flat_map(|row| written.arguments(row)))
            .collect();
        comparing.file = written.file.map(|file| file.path);
        Ok(CompareFlags { given, comparing })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for CompareFlags {
    fn augment_args(command: Command) -> Command {
        command.args(Verb::Compare.args())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// A row as an argument, of a verb that takes the settings of these `names`.
fn arg<T>(row: &Setting<T>, names: &[&str]) -> Arg {
    let excluded = row.excludes.iter().filter(|name| names.contains(name));
    let arg = Arg::new(row.name)
        .help(row.summary())
        .long_help(row.documentation())
        .help_heading(row.group.title())
        .hide_short_help(!row.common)
        .conflicts_with_all(excluded.copied());
    let option = arg.clone().long(row.name);
    let option = match row.short {
        Some(short) => option.short(short),
        None => option,
    };
    let operands = |name: &str| {
        let arg = arg.clone().value_name(name.to_owned());
        arg.num_args(0..).action(ArgAction::Append)
    };
    let one = |name: &str| option.clone().value_name(name.to_owned()).num_args(1);
    match row.takes {
        Takes::Nothing => option.clone().action(ArgAction::SetTrue),
        Takes::Value(name) => one(name),
        Takes::Values(name) => one(name).action(ArgAction::Append),
        Takes::List(name) => one(name).action(ArgAction::Append).value_delimiter(','),
        Takes::Word(words) => {
            let words = words().into_iter();
            let words = one_of(words.map(|(word, meaning)| (word, word, meaning)));
            one(&row.name.to_uppercase()).value_parser(words.map(str::to_owned))
        }
        Takes::Operands(name) => operands(name),
        Takes::Command(name) => operands(name).last(true),
    }
}

/// What is given: on the command line, and in the file that it names.
struct Written<'a> {
    line: &'a ArgMatches,
    file: Option<FileMatches>,
}

impl Written<'_> {
    /// Whether `name` is an option here, and is given.
    fn is_given(matches: &ArgMatches, name: &str) -> bool {
        let is_known = matches.try_contains_id(name).is_ok();
        is_known && matches.value_source(name) == Some(ValueSource::CommandLine)
    }

    /// Where `name` is given. The file has no option that the command line gives, and its servers stand in place of its name.
    fn of(&self, name: &str) -> Option<&ArgMatches> {
        match &self.file {
            Some(file) if Written::is_given(&file.matches, name) => Some(&file.matches),
            Some(_) if name == "servers" => None,
            _ => Written::is_given(self.line, name).then_some(self.line),
        }
    }

    /// The values of `row`, one that is empty of a switch; none where it is not given.
    fn values<T>(&self, row: &Setting<T>) -> Option<Vec<&str>> {
        let matches = self.of(row.name)?;
        if matches!(row.takes, Takes::Nothing) {
            return Some(vec![""]);
        }
        let values = matches.get_many::<String>(row.name);
        Some(values.into_iter().flatten().map(String::as_str).collect())
    }

    /// The arguments that give `row` again.
    fn arguments<T>(&self, row: &Setting<T>) -> Vec<String> {
        let values = self.values(row).unwrap_or_default().into_iter();
        let word = |value: &str| match row.takes {
            Takes::Nothing => format!("--{}", row.name),
            Takes::Operands(_) => value.to_owned(),
            _ => format!("--{}={value}", row.name),
        };
        values.map(word).collect()
    }

    /// `FILE: `, where `name` is given in the file.
    fn place(&self, name: &str) -> String {
        let file = self.file.as_ref();
        let file = file.filter(|file| Written::is_given(&file.matches, name));
        file.map_or(String::new(), |file| format!("{}: ", file.path.display()))
    }
}

/// Reads what is given of `row` into `place`.
fn read<T>(
    row: &Setting<T>,
    written: &Written<'_>,
    place: &mut T,
    names: &mut Vec<&'static str>,
) -> Result<(), Error> {
    let Some(values) = written.values(row) else {
        return Ok(());
    };
    names.push(row.name);
    let is_given = |name: &&str| written.of(name).is_some();
    if !row.needs.is_empty() && !row.needs.iter().any(is_given) {
        let needed = row.needs.iter().map(|name| format!("--{name}"));
        let needed = needed.collect::<Vec<_>>().join(" or ");
        let sentence = format!("{}--{} needs {needed}", written.place(row.name), row.name);
        return Err(Error::raw(ErrorKind::MissingRequiredArgument, sentence));
    }
    for value in values {
        (row.parse)(place, value).map_err(|why| {
            let file = written.place(row.name);
            let sentence = match why.contains(&format!("`{value}`")) {
                true => format!("{file}--{}: {why}", row.name),
                false => format!("{file}--{} '{value}': {why}", row.name),
            };
            Error::raw(ErrorKind::ValueValidation, sentence)
        })?;
    }
    Ok(())
}

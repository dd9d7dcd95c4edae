//! The man pages and the shell completions, from the same table as `--help`.

use crate::args::{Cli, CompletionFlags, ManFlags};
use crate::exit::Exit;
use crate::output;
use anyhow::{Context, Result};
use clap::CommandFactory;

/// Prints a man page: that of the command, or of one verb.
pub fn man(flags: &ManFlags) -> Result<Exit> {
    let mut command = Cli::command();
    command.build();
    if let Some(verb) = &flags.verb {
        let known = command.find_subcommand(verb).cloned();
        command =
            known.with_context(|| format!("there is no verb `{verb}`; see `weigh --help`"))?;
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::YES)
}

/// Prints the completion script of a shell.
pub fn completions(flags: &CompletionFlags) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "weigh", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::YES)
}

#[cfg(test)]
mod tests {
    use crate::settings::{COMPARE, OUTPUT};
    use plan::settings::settings;
    use plan::{Group, Setting, Takes};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.md");
    const COMPARE_PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare.md");

    /// A line of the table of options.
    fn line<T>(row: &Setting<T>) -> String {
        let short = row
            .short
            .map_or(String::new(), |short| format!("`-{short}`, "));
        let (option, words) = match row.takes {
            Takes::Nothing => (format!("--{}", row.name), Vec::new()),
            Takes::Value(value) | Takes::Values(value) | Takes::List(value) => {
                (format!("--{} {value}", row.name), Vec::new())
            }
            Takes::Word(words) => (format!("--{}", row.name), words()),
            Takes::Operands(value) => (format!("{value}..."), Vec::new()),
            Takes::Command(value) => (format!("-- {value}..."), Vec::new()),
        };
        let words = words
            .iter()
            .map(|(word, meaning)| format!(" `{word}`: {meaning}"));
        let means = format!("{}{}", row.documentation(), words.collect::<String>());
        format!("| {short}`{}` | {means} |\n", option.replace('|', "\\|"))
    }

    fn options() -> String {
        let table = |group: Group| {
            let plan = settings().filter(|row| row.group == group).map(line);
            let output = OUTPUT.iter().filter(|row| row.group == group).map(line);
            let lines: String = plan.chain(output).collect();
            format!(
                "\n### {}\n\n| Option | Sets |\n|---|---|\n{lines}",
                group.title()
            )
        };
        Group::ALL.map(table).concat()
    }

    /// Holds the options of a page beside those of the table, or writes them anew.
    fn hold(path: &str, options: &str) {
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once("options` -->\n").unwrap();
        let (_, after) = rest.split_once("\n<!-- end").unwrap();
        let made = format!("{before}options` -->\n{options}\n<!-- end{after}");
        if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &made).unwrap();
        } else {
            assert_eq!(made, page, "write it with WEIGH_UPDATE_GOLDEN=1");
        }
    }

    #[test]
    fn the_options_of_the_pages_are_those_of_the_tables() {
        hold(PAGE, &options());
        let own: String = COMPARE.iter().map(line).collect();
        hold(
            COMPARE_PAGE,
            &format!("\n| Option | Sets |\n|---|---|\n{own}"),
        );
    }
}

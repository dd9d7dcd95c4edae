//! The man page and the shell completions, from the same table as `--help`.

use crate::args::{Cli, CompletionFlags};
use crate::exit::Exit;
use crate::output;
use anyhow::Result;
use clap::CommandFactory;

/// Prints the man page: the command itself, then each verb.
pub fn man() -> Result<Exit> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for verb in command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
    {
        let page = clap_mangen::Man::new(verb.clone());
        page.render_name_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
    }
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

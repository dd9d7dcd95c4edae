//! Where words go: results to standard output, remarks and complaints to standard error.

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use std::io::{ErrorKind, IsTerminal, Write};

/// The width of text that no terminal asks for.
const PLAIN_WIDTH: usize = 100;
/// Text is laid out between these widths.
const NARROWEST: usize = 60;
const WIDEST: usize = 400;

/// Prints a result. A reader that has gone away is no error of ours.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("the result could not be printed"),
    }
}

/// Prints a remark to standard error.
pub fn message(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}"); // there is no other place to write
}

/// Prints why nothing was done: one sentence.
pub fn complain(error: &anyhow::Error) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    message(&format!("{style}weigh:{style:#} {error:#}"));
}

/// Returns how results that tell `detail` are to look: in colour and as wide as the terminal, where there is one that says how wide it
/// is; else as wide as the variable COLUMNS says, or 100 columns.
pub fn look(detail: report::Detail) -> report::Look {
    let terminal = std::io::stdout().is_terminal();
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.into());
    let width = terminal.then(of_terminal).flatten().or_else(columns);
    report::Look {
        colour: terminal,
        width: width.unwrap_or(PLAIN_WIDTH).clamp(NARROWEST, WIDEST),
        detail,
        is_wide: false,
    }
}

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

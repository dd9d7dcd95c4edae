//! `cargo xtask faults`: docs/faults.md, a table of what a misbehaving server did and what each load generator made of it.
//!
//! In scope: every misbehaviour that meets one exchange or one connection, so that the script fixes how many failures
//! there are; weigh and whatever else is installed, each against a server of its own with the same script; one rule
//! that judges all of them, ours too. Nothing in the table is written by hand. Out of scope: misbehaviours of the whole
//! server, where chance decides how many exchanges are lost; weigh's own tests hold those against the server's log.

mod judge;
mod page;
mod rows;
mod tools;
mod trial;

use crate::catalogue::{ensure_none, read, write};
use crate::programs::{self, root};
use anyhow::Result;
use page::Line;
use rows::Row;
use std::path::PathBuf;
use std::time::Instant;
use tools::{Client, clients};

/// Write docs/faults.md: bad servers, and what weigh and other tools counted.
#[derive(Debug, clap::Args)]
pub struct Faults {
    /// Run nothing; only say whether the table has a line for every misbehaviour, and no wrong cell of ours.
    #[arg(long, conflicts_with = "only")]
    check_rows: bool,
    /// Only this misbehaviour; the table goes to standard output instead of the file.
    #[arg(long, value_name = "NAME", value_parser = rows::names())]
    only: Option<String>,
}

impl Faults {
    /// Writes the table, or looks at it.
    pub fn run(&self) -> Result<()> {
        if self.check_rows {
            return page::check(&read(&published())?);
        }
        programs::build("cli", &["weigh"])?;
        let mut present = clients();
        present.retain(|client| client.tool.is_installed());
        let lines = self.meet_all(&present)?;
        let text = page::text(&present, &lines)?;
        match self.only {
            Some(_) => print!("{text}"),
            None => write(&published(), &text)?,
        }
        let wrong = lines.iter().filter(|line| line.is_wrong_of_ours());
        ensure_none("weigh counted wrong", wrong.map(Line::name))
    }

    fn meet_all(&self, clients: &[Client]) -> Result<Vec<Line>> {
        let wanted = |row: &&Row| self.only.as_ref().is_none_or(|name| row.name() == name);
        let begun = Instant::now();
        let mut lines = Vec::new();
        for row in rows::all().iter().filter(wanted) {
            let mut trials = Vec::new();
            for client in clients {
                trials.push(trial::run(row, client)?);
            }
            eprintln!("{:5.1} s  {}", begun.elapsed().as_secs_f64(), row.name());
            lines.push(Line::new(row, trials));
        }
        Ok(lines)
    }
}

fn published() -> PathBuf {
    root().join("docs/faults.md")
}

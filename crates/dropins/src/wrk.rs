//! wrk 4.1 by Will Glozer, and wrk2, its fork by Gil Tene; with their scripts.
//!
//! Its latencies hold made-up responses, to correct for coordinated omission. Here they are those that were measured.

// What is asked for,
mod command;
// quantities as it writes them,
mod units;
// the report,
mod text;
// and the table of percentiles of wrk2.
mod spectrum;

use crate::{Dropin, Reading, Report, Said, Settings, round};
use command::{Command, Tool};
use record::Run;

/// The row of wrk,
pub(crate) const DROPIN: Dropin = Dropin {
    name: "wrk",
    about: "wrk 4.1",
    read: |words| read(Tool::Wrk, words),
};
/// and that of wrk2.
pub(crate) const WRK2: Dropin = Dropin {
    name: "wrk2",
    about: "wrk2, 4.0.0 of 2019",
    read: |words| read(Tool::Wrk2, words),
};

fn read(tool: Tool, words: &[String]) -> Reading {
    match command::read(tool, words) {
        Ok(command) => Reading::Load(Box::new(Wrk { command })),
        Err(said) => Reading::Said(said),
    }
}

/// A load in the words of wrk.
struct Wrk {
    command: Command,
}

impl Report for Wrk {
    fn loads(&self) -> Vec<Settings> {
        vec![self.command.settings()]
    }

    fn begins(&mut self, _: usize) -> Said {
        Said::out(text::begins(&self.command))
    }

    fn progress(&mut self, _: usize, _: u64) -> Said {
        Said::default()
    }

    fn ends(&mut self, _: usize, run: &Run) -> Said {
        let empty = record::Round::default();
        let round = round(run).unwrap_or(&empty);
        let text = text::ends(&self.command, &round.tally, round.window.span());
        let script = round.script.as_deref().cloned().unwrap_or_default();
        Said {
            err: script.err,
            ..Said::out(text + &script.out)
        }
    }

    fn failed(&mut self, _: usize, why: &str) -> Said {
        Said {
            err: format!("{why}\n"),
            status: 1,
            ..Said::default()
        }
    }
}

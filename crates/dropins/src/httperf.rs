//! httperf 0.9.0, without its sessions.
//!
//! Its rate is one of connections, which is what `--connection-rate` of weigh is.

// What is asked for,
mod command;
// the files of a working set,
mod wset;
// what is known of the load,
mod figures;
// and how it is printed.
mod text;

pub(crate) use command::{Command, read};
pub(crate) use figures::Figures;

use crate::{Dropin, Reading, Report, Said, Settings, round};
use record::Run;

/// The row.
pub(crate) const DROPIN: Dropin = Dropin {
    name: "httperf",
    about: "httperf 0.9.0, without sessions",
    read: |words| match read(words).and_then(|command| Ok((command.settings()?, command))) {
        Ok((settings, command)) => Reading::Load(Box::new(Httperf { command, settings })),
        Err(said) => Reading::Said(said),
    },
};

/// A load in the words of httperf.
struct Httperf {
    command: Command,
    settings: Settings,
}

impl Report for Httperf {
    fn loads(&self) -> Vec<Settings> {
        vec![self.settings.clone()]
    }

    fn begins(&mut self, _: usize) -> Said {
        Said {
            out: text::begins(&self.command),
            err: self.command.notices.clone(),
            ..Said::default()
        }
    }

    fn progress(&mut self, _: usize, _: u64) -> Said {
        Said::default()
    }

    fn ends(&mut self, _: usize, run: &Run) -> Said {
        let figures = figures(&self.command, run);
        Said {
            out: report(&self.command, &figures),
            err: figures.remark(),
            ..Said::default()
        }
    }

    fn failed(&mut self, _: usize, why: &str) -> Said {
        Said {
            err: format!("httperf: {why}\n"),
            status: 1,
            ..Said::default()
        }
    }
}

/// The figures of a load that was carried out.
pub(crate) fn figures(command: &Command, run: &Run) -> Figures {
    let empty = record::Round::default();
    Figures::of(round(run).unwrap_or(&empty), command.calls)
}

/// What is printed before the load.
pub(crate) fn echo(command: &Command) -> String {
    text::begins(command)
}

/// What is printed after it.
pub(crate) fn report(command: &Command, figures: &Figures) -> String {
    text::ends(command, figures)
}

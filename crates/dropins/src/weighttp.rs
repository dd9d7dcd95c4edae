//! weighttp 0.4 by Thomas Porzelt, whose text every wrapper reads, and with `--dropin-version 0.5` the JSON of its successor.
//!
//! Where its figures are wrong by construction ours stand in their place, and standard error says so: it counts requests that got no
//! response as done, and so in requests a second, and prints 0 for those that ended in an error.

// What is asked for,
mod command;
// written as 0.4 does,
mod text;
// or as 0.5 does.
mod json;

use crate::{Dropin, Reading, Report, Said, Settings, rate, round};
use command::{Command, Version};
use record::{Run, Tally};
use units::Nanos;

/// The row.
pub(crate) const DROPIN: Dropin = Dropin {
    name: "weighttp",
    about: "weighttp 0.4; with --dropin-version 0.5 its JSON",
    read: |words| match command::read(words) {
        Ok(command) => Reading::Load(Box::new(Weighttp { command, tenths: 0 })),
        Err(said) => Reading::Said(said),
    },
};

/// A load in the words of weighttp.
struct Weighttp {
    command: Command,
    /// Tenths of the progress that are told.
    tenths: u64,
}

/// What weighttp counts.
#[derive(Debug, Default)]
struct Counts {
    took: Nanos,
    started: u64,
    /// Complete responses, with any status.
    responses: u64,
    succeeded: u64,
    failed: u64,
    /// Those of `failed` that got no complete response.
    errored: u64,
    /// Statuses from 2xx to 5xx.
    classes: [u64; 4],
    bytes: u64,
    bytes_of_bodies: u64,
}

impl Counts {
    fn of(tally: &Tally, took: Nanos, requests: u64) -> Counts {
        let mut classes = [0; 4];
        for (status, count) in tally.statuses.sorted() {
            if let 200..=599 = status {
                classes[usize::from(status / 100) - 2] += count;
            }
        }
        let responses = tally.statuses.total();
        let failed = requests.saturating_sub(tally.ok);
        Counts {
            took,
            started: tally.started,
            responses,
            succeeded: tally.ok,
            failed,
            errored: requests.saturating_sub(responses),
            classes,
            bytes: tally.bytes_received,
            bytes_of_bodies: tally.bytes_of_bodies,
        }
    }

    /// `count` a second.
    fn rate(&self, count: u64) -> f64 {
        rate(count, self.took)
    }

    /// What stands in place of the original's figures.
    fn remark(&self) -> String {
        match self.errored {
            0 => String::new(),
            errored => format!(
                "weigh: {errored} requests got no complete response; req/s counts responses, and `errored` those requests \
                 (weighttp counts them as done, and prints 0 errored)\n"
            ),
        }
    }
}

impl Report for Weighttp {
    fn loads(&self) -> Vec<Settings> {
        vec![self.command.settings()]
    }

    fn begins(&mut self, _: usize) -> Said {
        Said::out(match self.command.version {
            Version::Text => text::begins(&self.command),
            Version::Json => json::begins(&self.command),
        })
    }

    fn progress(&mut self, _: usize, ended: u64) -> Said {
        let tenths = ended.saturating_mul(10) / self.command.requests;
        let new = self.tenths + 1..=tenths.min(10);
        self.tenths = self.tenths.max(tenths);
        let lines = new.map(|tenth| format!("progress: {:3}% done\n", tenth * 10));
        match self.command.is_quiet {
            true => Said::default(),
            false => Said::out(lines.collect::<String>()),
        }
    }

    fn ends(&mut self, _: usize, run: &Run) -> Said {
        let requests = self.command.requests;
        let empty = record::Round::default();
        let round = round(run).unwrap_or(&empty);
        let counts = Counts::of(&round.tally, round.window.span(), requests);
        Said {
            out: match self.command.version {
                Version::Text => text::ends(&counts, requests),
                Version::Json => json::ends(&counts, &round.tally),
            },
            err: counts.remark(),
            status: 0,
            ..Said::default()
        }
    }

    fn failed(&mut self, _: usize, why: &str) -> Said {
        Said {
            err: format!("error: {why}\n"),
            status: 1,
            ..Said::default()
        }
    }
}

//! ab 2.3, as Apache httpd 2.4 brings it.
//!
//! It counts a response of 404 or 500 as no failed request. So does this report, and standard error says so.

// What is asked for,
mod command;
// the distributions of the four times,
mod times;
// the report as text,
mod text;
// as HTML,
mod html;
// and the table of percentiles in a file.
mod csv;

use crate::{Dropin, Reading, Report, Said, Settings, rate, round};
use command::Command;
use record::{Kind, Probe, Run, Step, Tally};
use times::Times;
use units::Nanos;

/// The row.
pub(crate) const DROPIN: Dropin = Dropin {
    name: "ab",
    about: "ab 2.3 of Apache httpd 2.4",
    read: |words| match command::read(words) {
        Ok(command) => Reading::Load(Box::new(Ab { command, told: 0 })),
        Err(said) => Reading::Said(said),
    },
};

/// A load in the words of ab.
struct Ab {
    command: Command,
    /// Requests that the last line of progress named.
    told: u64,
}

/// What ab counts.
struct Counts {
    took: Nanos,
    /// Requests that ended.
    complete: u64,
    /// Failures: while connecting, while receiving, by another length, and others.
    failures: [u64; 4],
    not_2xx: u64,
    kept: u64,
    bytes: u64,
    bytes_of_bodies: u64,
    bytes_sent: u64,
    times: Times,
}

impl Counts {
    fn of(tally: &Tally, took: Nanos, probe: Option<&Probe>, is_variable: bool) -> Counts {
        let length = probe.map_or(0, |probe| probe.body_length);
        let same = |bodies: &record::RequestBodies| -> u64 {
            let known = bodies.lengths.kept.iter();
            known
                .filter(|(known, _)| *known == length)
                .map(|(_, count)| count)
                .sum()
        };
        let of_length: u64 = tally.bodies.iter().map(|(_, bodies)| same(bodies)).sum();
        let connect = tally
            .faults
            .count(|fault| matches!(fault.step, Step::Connect | Step::Handshake | Step::Queue));
        let receive = tally.faults.count(|fault| {
            let is_sent = matches!(fault.step, Step::Send | Step::Head | Step::Body);
            fault.kind == Kind::Reset && is_sent
        });
        let errors = tally.errors();
        let two = tally.statuses.sorted().into_iter();
        let two = two
            .filter(|(status, _)| (200..300).contains(status))
            .map(|(_, count)| count)
            .sum();
        Counts {
            took,
            complete: tally.ok + errors,
            failures: [
                connect,
                receive,
                match is_variable {
                    true => 0,
                    false => tally.ok.saturating_sub(of_length),
                },
                errors.saturating_sub(connect + receive),
            ],
            not_2xx: tally.statuses.total().saturating_sub(two),
            kept: tally.ok.saturating_sub(tally.connects.ended_by_response),
            bytes: tally.bytes_received,
            bytes_of_bodies: tally.bytes_of_bodies,
            bytes_sent: tally.bytes_sent,
            times: Times::of(tally),
        }
    }

    fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    fn seconds(&self) -> f64 {
        self.took.as_secs_f64()
    }

    /// `count` a second.
    fn rate(&self, count: u64) -> f64 {
        rate(count, self.took)
    }
}

impl Report for Ab {
    fn loads(&self) -> Vec<Settings> {
        vec![self.command.settings()]
    }

    fn begins(&mut self, _: usize) -> Said {
        Said::out(match self.command.is_html {
            true => html::begins(),
            false => text::begins(&self.command),
        })
    }

    fn progress(&mut self, _: usize, ended: u64) -> Said {
        let mut said = Said::default();
        if let Some(step) = self.command.heartbeat() {
            while self.told + step <= ended {
                self.told += step;
                said.err += &format!("Completed {} requests\n", self.told);
            }
        }
        said
    }

    fn ends(&mut self, _: usize, run: &Run) -> Said {
        let empty = record::Round::default();
        let round = round(run).unwrap_or(&empty);
        let probe = run.probe.as_ref();
        let command = &self.command;
        let counts = Counts::of(
            &round.tally,
            round.window.span(),
            probe,
            command.is_variable,
        );
        let finished = match command.heartbeat() {
            Some(_) => format!("Finished {} requests\n", counts.complete),
            None => String::new(),
        };
        let encryption = run
            .probe
            .as_ref()
            .and_then(|probe| probe.encryption.as_ref());
        let lines = text::lines(command, &counts, probe, encryption);
        let out = match command.is_html {
            true => html::ends(command, &lines, &counts),
            false => text::ends(command, &lines, &counts),
        };
        let file = command.csv.as_ref();
        Said {
            out,
            err: finished + &remark(&counts),
            files: file
                .map(|path| (path.into(), csv::table(&counts.times.total)))
                .into_iter()
                .collect(),
            status: 0,
        }
    }

    fn failed(&mut self, _: usize, why: &str) -> Said {
        let status = if why.contains("refused") { REFUSED } else { 1 };
        Said {
            err: format!("ab: {why}\n"),
            status,
            ..Said::default()
        }
    }
}

/// ECONNREFUSED: ab ends with the number of the error.
const REFUSED: u8 = 111;

/// What stands in place of the original's figures.
fn remark(counts: &Counts) -> String {
    match counts.not_2xx {
        0 => String::new(),
        others => format!(
            "weigh: {others} responses had another status than 2xx; ab does not count them among the failed requests, and neither does this report\n"
        ),
    }
}

//! autobench 2.1.2 by Julian Midgley: httperf at one rate after the other, for one or two hosts, as a table for spreadsheets.
//!
//! No httperf is started: each test is a load of ours in the words of httperf.

// What is asked for,
mod command;
// the conf file,
mod config;
// and words as Perl reads them.
mod options;

use crate::printf::general;
use crate::{Dropin, Reading, Report, Said, Settings, httperf};
use command::{Command, Test};
use record::Run;

/// The row.
pub(crate) const DROPIN: Dropin = Dropin {
    name: "autobench",
    about: "autobench 2.1.2",
    read: |words| match command::read(words) {
        Ok(command) => {
            let autobench = Autobench::new(command);
            match autobench.command.tests.is_empty() {
                true => Reading::Said(autobench.table_said()),
                false => Reading::Load(Box::new(autobench)),
            }
        }
        Err(said) => Reading::Said(said),
    },
};

/// Its columns of each host, behind the demanded rate.
const COLUMNS: [&str; 9] = [
    "req_rate",
    "con_rate",
    "min_rep_rate",
    "avg_rep_rate",
    "max_rep_rate",
    "stddev_rep_rate",
    "resp_time",
    "net_io",
    "errors",
];
/// What it prints for the share of errors where there was no reply.
const NO_REPLIES: &str = "101";

/// A table in the making.
struct Autobench {
    command: Command,
    /// The table up to here, of which the last row may lack a host.
    table: String,
    /// How much of it was printed.
    printed: usize,
}

impl Autobench {
    fn new(command: Command) -> Autobench {
        let mut cells = vec!["dem_req_rate".to_owned()];
        for host in &command.hosts {
            cells.extend(COLUMNS.map(|column| format!("{column}_{host}")));
        }
        let table = cells.join(&command.separator.to_string()) + "\n";
        Autobench {
            command,
            table,
            printed: 0,
        }
    }

    /// The table, in its file, or what is new of it for standard output.
    fn table_said(&self) -> Said {
        match &self.command.file {
            Some(file) => Said {
                files: vec![(file.clone(), self.table.clone())],
                ..Said::default()
            },
            None => Said::out(&self.table[self.printed..]),
        }
    }

    /// Adds the cells of a test; after those of the last host the row is over.
    fn add(&mut self, load: usize, cells: &[String; 9]) -> Said {
        let separator = self.command.separator.to_string();
        let hosts = self.command.hosts.len();
        let test = &self.command.tests[load];
        if load.is_multiple_of(hosts) {
            self.table += &general(test.command.calls as f64 * test.rate, 15);
        }
        self.table += &(separator.clone() + &cells.join(&separator));
        if (load + 1).is_multiple_of(hosts) {
            self.table += "\n";
            let said = self.table_said();
            self.printed = self.table.len();
            return said;
        }
        Said::default()
    }
}

impl Report for Autobench {
    fn loads(&self) -> Vec<Settings> {
        let tests = self.command.tests.iter();
        tests.map(|test| test.settings.clone()).collect()
    }

    fn begins(&mut self, load: usize) -> Said {
        let mut said = Said::default();
        if load == 0 {
            said = self.table_said();
            said.err.clone_from(&self.command.notices);
            self.printed = self.table.len();
        }
        let test = &self.command.tests[load];
        if self.command.is_debug {
            said.err += &format!("{}\n", test.line);
        }
        if !self.command.is_quiet {
            said.out += &httperf::echo(&test.command);
        }
        said
    }

    fn progress(&mut self, _: usize, _: u64) -> Said {
        Said::default()
    }

    fn ends(&mut self, load: usize, run: &Run) -> Said {
        let test = &self.command.tests[load];
        let figures = httperf::figures(&test.command, run);
        let report = httperf::report(&test.command, &figures);
        let err = remarks(test, &figures);
        let cells = cells(&figures);
        let said = self.add(load, &cells);
        Said {
            out: match self.command.is_quiet {
                true => said.out,
                false => report + &said.out,
            },
            err,
            ..said
        }
    }

    fn failed(&mut self, load: usize, why: &str) -> Said {
        let test = &self.command.tests[load];
        let mut err = format!("autobench: {why}\n");
        err += &no_replies(test.rate);
        let cells = std::array::from_fn(|column| match column {
            8 => NO_REPLIES.to_owned(),
            _ => "0.0".to_owned(),
        });
        Said {
            err,
            status: 1,
            ..self.add(load, &cells)
        }
    }

    fn goes_on(&self, _: bool) -> bool {
        true
    }
}

/// What autobench says where nothing came back.
fn no_replies(rate: f64) -> String {
    format!(
        "Zero replies received, test invalid: rate {}\n",
        general(rate, 15)
    )
}

/// What is to be known about the figures.
fn remarks(test: &Test, figures: &httperf::Figures) -> String {
    let mut remarks = figures.remark();
    if figures.replies == 0 {
        remarks += &no_replies(test.rate);
    } else if figures.samples.is_empty() {
        remarks += &format!(
            "weigh: at rate {} the load took less than the 5 s of a sample of the reply rate: min, avg and max are the mean of the \
             whole load (autobench prints 0.0)\n",
            general(test.rate, 15)
        );
    }
    remarks
}

/// The cells of a host.
fn cells(figures: &httperf::Figures) -> [String; 9] {
    let [min, mean, max, deviation] = match figures.samples.is_empty() {
        true => {
            let mean = figures.rate(figures.replies);
            [mean, mean, mean, 0.0]
        }
        false => figures.reply_rate(),
    };
    let errors = match figures.replies {
        0 => NO_REPLIES.to_owned(),
        replies => general(100.0 * figures.errors() as f64 / replies as f64, 15),
    };
    [
        format!("{:.1}", figures.rate(figures.requests)),
        format!("{:.1}", figures.rate(figures.connections)),
        format!("{min:.1}"),
        format!("{mean:.1}"),
        format!("{max:.1}"),
        format!("{deviation:.1}"),
        format!("{:.1}", figures.response),
        format!("{:.1}", figures.kilobytes_a_second()),
        errors,
    ]
}

//! Output: what is printed, and which files are written. Nothing of it shapes the plan.

use crate::output;
use crate::output_file::OutputFile;
use plan::Takes::Value;
use plan::settings::keep;
use plan::{Group, Setting};
use record::{RecordName, RecordNameError};
use report::{Detail, Look};
use std::path::PathBuf;

/// What is printed, and which files are written.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "a field is what the setting of its name says")]
pub struct Output {
    pub record: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    /// The files of `--chart`, `--junit` and `--markdown`.
    pub beside: Vec<OutputFile>,
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    pub wide: bool,
    pub name: Option<RecordName>,
    pub show_exchange: bool,
    pub dry_run: bool,
}

impl Output {
    /// Nothing is said of the record.
    pub fn quiet() -> Output {
        Output {
            quiet: true,
            ..Output::default()
        }
    }

    /// Returns how the result is to look.
    pub fn look(&self) -> Look {
        Look {
            is_wide: self.wide,
            ..output::look(Detail::of(self.quiet, self.verbose))
        }
    }
}

/// What all rows of the group have in common.
const ROW: Setting<Output> = Setting {
    group: Group::Output,
    ..Setting::BASE
};

/// The settings of what is printed; each is listed under its group, as those of the plan are.
#[rustfmt::skip]
pub static OUTPUT: &[Setting<Output>] = &[
    Setting { name: "resume", group: Group::Sweep, takes: Value("RECORD"), common: true, sweep_only: true,
        excludes: &["output"],
        help: "Continue the interrupted sweep of this record.",
        long: "Give the option alone, or with the command that began the sweep.",
        parse: |output, text| keep(&mut output.resume, Ok(Some(text.into()))),
        ..ROW },
    Setting { name: "output", short: Some('o'), takes: Value("FILE"), common: true,
        help: "File for the record.",
        computed: "a new file in the state directory",
        parse: |output, text| keep(&mut output.record, Ok(Some(text.into()))),
        ..ROW },
    Setting { name: "chart", takes: Value("FILE"), excludes: &["dry-run", "show-exchange"],
        help: "Draw a chart into FILE, whose name ends in .svg or .png.",
        long: "Of a run it shows requests/s over the window of each round, of a sweep its curves.",
        parse: |output, text| {
            output.beside.push(OutputFile::chart(text)?);
            Ok(())
        },
        ..ROW },
    Setting { name: "junit", takes: Value("FILE"), excludes: &["dry-run", "show-exchange"],
        help: "Write a test case for each requirement into FILE, as JUnit's XML.",
        parse: |output, text| {
            output.beside.push(OutputFile::text("junit", text));
            Ok(())
        },
        ..ROW },
    Setting { name: "markdown", takes: Value("FILE"), excludes: &["dry-run", "show-exchange"],
        help: "Write the result into FILE as Markdown, for a pull request.",
        parse: |output, text| {
            output.beside.push(OutputFile::text("markdown", text));
            Ok(())
        },
        ..ROW },
    Setting { name: "json", common: true,
        help: "Print the record as JSON instead of the text.",
        parse: |output, _| keep(&mut output.json, Ok(true)),
        ..ROW },
    Setting { name: "verbose", short: Some('v'), common: true,
        help: "Print everything that is known of the result.",
        long: "`weigh report -v` prints it later, from the record.",
        parse: |output, _| keep(&mut output.verbose, Ok(true)),
        ..ROW },
    Setting { name: "wide", sweep_only: true,
        help: "Print every column of the table, however wide the terminal is.",
        parse: |output, _| keep(&mut output.wide, Ok(true)),
        ..ROW },
    Setting { name: "name", takes: Value("NAME"),
        help: "Name of the record, for `weigh report NAME`.",
        long: "Letters, digits, dots, dashes and underscores. Of several records with one name, the newest is meant.",
        parse: |output, text| {
            let name = text.parse().map_err(|error: RecordNameError| error.to_string());
            keep(&mut output.name, name.map(Some))
        },
        ..ROW },
    Setting { name: "quiet", short: Some('q'), common: true, excludes: &["verbose"],
        help: "Print the result in five lines, no progress and no messages.",
        parse: |output, _| keep(&mut output.quiet, Ok(true)),
        ..ROW },
    Setting { name: "show-exchange", excludes: &["dry-run"],
        help: "Send one request, print request and response, and exit.",
        parse: |output, _| keep(&mut output.show_exchange, Ok(true)),
        ..ROW },
    Setting { name: "dry-run", common: true,
        help: "Print the plan with every setting, and exit.",
        parse: |output, _| keep(&mut output.dry_run, Ok(true)),
        ..ROW },
];

//! Output: what is printed, and where records and charts go. Nothing of it shapes the plan.

use crate::chart::Picture;
use plan::{Group, Setting, Takes};
use std::path::PathBuf;

/// What is printed, and where records and charts go.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "a field is what the setting of its name says")]
pub struct Output {
    pub record: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    pub chart: Option<Picture>,
    pub json: bool,
    pub quiet: bool,
    pub show_exchange: bool,
    pub dry_run: bool,
}

/// The settings of what is printed; each is listed under its group, as those of the plan are.
pub static ROWS: &[Setting<Output>] = &[
    Setting {
        name: "resume",
        takes: Takes::Value("FILE"),
        group: Group::Sweep,
        sweep_only: true,
        help: "Continue the interrupted sweep of this record.",
        long: "Give the option alone, or with the command that began the sweep.",
        common: true,
        excludes: &["output"],
        parse: |output, text| {
            output.resume = Some(text.into());
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "output",
        short: Some('o'),
        takes: Takes::Value("FILE"),
        group: Group::Output,
        help: "File for the record.",
        computed: "a new file in the state directory",
        common: true,
        parse: |output, text| {
            output.record = Some(text.into());
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "chart",
        takes: Takes::Value("FILE"),
        group: Group::Output,
        help: "Draw a chart into FILE, whose name ends in .svg or .png.",
        long: "Of a run it shows requests/s over the window of each round, of a sweep its curves.",
        excludes: &["dry-run", "show-exchange"],
        parse: |output, text| {
            output.chart = Some(Picture::named(text)?);
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "json",
        group: Group::Output,
        help: "Print the record as JSON instead of the text.",
        common: true,
        parse: |output, _| {
            output.json = true;
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "quiet",
        short: Some('q'),
        group: Group::Output,
        help: "Print only the result: no progress, no messages.",
        common: true,
        parse: |output, _| {
            output.quiet = true;
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "show-exchange",
        group: Group::Output,
        help: "Send one request, print request and response, and exit.",
        excludes: &["dry-run"],
        parse: |output, _| {
            output.show_exchange = true;
            Ok(())
        },
        ..Setting::BASE
    },
    Setting {
        name: "dry-run",
        group: Group::Output,
        help: "Print the plan with every setting, and exit.",
        common: true,
        parse: |output, _| {
            output.dry_run = true;
            Ok(())
        },
        ..Setting::BASE
    },
];

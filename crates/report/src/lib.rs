//! Pages and formats: what a Run says, and how that is laid out.
//!
//! In scope: the [`Page`](page::Page) that is computed from a [`Run`] alone, and the formats in [`FORMATS`] that lay it
//! out as text, JSON or CSV. Out of scope: measuring, judging (the Run carries its findings), files and sockets: a
//! format returns a `String`, and the same Run gives the same bytes today and in a year.
//!
//! ```
//! use report::{Look, format};
//!
//! let runs = [record::example::ok()];
//! let text = format("text").unwrap();
//! let shown = (text.render)(&runs, &Look::default());
//! assert!(shown.contains("requests/s"));
//! ```
#![forbid(unsafe_code)]

pub mod chart;
pub mod comparison;
pub mod csv;
mod json;
mod junit;
mod markdown;
pub mod page;
mod phrase;
pub mod sweep;
mod text;

pub use page::search_budget;
pub use text::{plan as plan_text, render as page_text};

use record::{Comparison, Run};

/// How a terminal or file wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether colours may be used.
    pub colour: bool,
    /// Columns of the text; lines are broken to fit where they can be.
    pub width: usize,
    /// How much text tells.
    pub detail: Detail,
    /// Whether tables have all their columns, however wide they are.
    pub is_wide: bool,
}

/// How much the text about a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// The answer in five lines.
    Quiet,
    /// The answer, its reliability and the next step, in some twelve lines.
    #[default]
    Brief,
    /// Everything.
    Full,
}

impl Detail {
    /// Returns what the options `--quiet` and `--verbose` ask for.
    pub fn of(is_quiet: bool, is_verbose: bool) -> Detail {
        match (is_quiet, is_verbose) {
            (true, _) => Detail::Quiet,
            (false, true) => Detail::Full,
            (false, false) => Detail::Brief,
        }
    }
}

impl Default for Look {
    /// No colours, 80 columns, the short page.
    fn default() -> Self {
        Look {
            colour: false,
            width: 80,
            detail: Detail::Brief,
            is_wide: false,
        }
    }
}

/// One way of laying out Runs.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Lays out.
    pub render: fn(&[Run], &Look) -> String,
    /// Lays out a comparison; none where this layout has no place for one.
    pub compared: Option<fn(&Comparison, &Look) -> String>,
    /// Says in the same layout why nothing could be measured; none where only a record can be laid out.
    pub failed: Option<fn(&str) -> String>,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        doc: "for people: target and load, figures, caveats",
        render: text::runs,
        compared: Some(comparison::text),
        failed: None,
    },
    Format {
        name: "json",
        doc: "for programs: the whole record on one line; of several records a line each (NDJSON)",
        render: json::render,
        compared: Some(comparison::json),
        failed: None,
    },
    Format {
        name: "markdown",
        doc: "for a pull request or the summary of a job: the page of text, as GitHub's Markdown",
        render: markdown::render,
        compared: Some(comparison::markdown),
        failed: Some(markdown::failed),
    },
    Format {
        name: "junit",
        doc: "for build servers: a test case for each requirement, as JUnit's XML",
        render: junit::render,
        compared: None,
        failed: Some(junit::failed),
    },
    Format {
        name: "csv",
        doc: "for tables: a row for each point, each request of a list and each round, with a header row",
        render: csv::render,
        compared: Some(comparison::csv),
        failed: None,
    },
];

/// The format of that name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_their_unique_names() {
        for each in FORMATS {
            assert_eq!(format(each.name).map(|found| found.doc), Some(each.doc));
        }
        assert!(format("pdf").is_none());
    }
}

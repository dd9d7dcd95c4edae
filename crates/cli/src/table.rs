//! The table of a sweep while it is measured: a row for each point when its rounds are over.

use crate::output;
use anyhow::Error;
use indicatif::ProgressBar;
use record::{Finding, Run};
use report::Look;
use std::collections::BTreeSet;
use std::io::IsTerminal;

/// The table as far as it is printed.
pub struct Table {
    look: Look,
    /// On a terminal the points whose rows stand above the progress, without anything else between: a row that comes
    /// again is printed in the place of the one before.
    rows: Vec<usize>,
    /// The points that have a row.
    printed: BTreeSet<usize>,
    /// Why a line could not be printed, if any.
    unprinted: Option<Error>,
}

impl Table {
    /// Returns a table of which nothing is printed yet.
    pub fn new(look: Look) -> Table {
        Table {
            look,
            rows: Vec::new(),
            printed: BTreeSet::new(),
            unprinted: None,
        }
    }

    /// Prints target, load and headings, while `bar` is out of sight.
    pub fn begin(&mut self, bar: &ProgressBar, run: &Run) {
        let head = report::sweep::head(run, &self.look);
        self.print(bar, &head);
    }

    /// Prints the row of a point, on a terminal in place of the one that it had. A row that the terminal has scrolled away
    /// stays. Elsewhere the rows of a search, of which each comes several times, wait for its end.
    pub fn row(&mut self, bar: &ProgressBar, run: &Run, point: usize, findings: &[Finding]) {
        if !run.plan.is_search() || std::io::stdout().is_terminal() {
            self.print_row(bar, run, point, findings);
        }
    }

    fn print_row(&mut self, bar: &ProgressBar, run: &Run, point: usize, findings: &[Finding]) {
        let row = report::sweep::line(run, point, findings, &self.look);
        self.printed.insert(point);
        let known = self.rows.iter().rposition(|known| *known == point);
        let height = match std::io::stdout().is_terminal() {
            true => terminal_size::terminal_size().map_or(0, |(_, height)| height.0.into()),
            false => 0,
        };
        match known.map(|place| self.rows.len() - place) {
            Some(up) if up + 2 < height => {
                // Up to its line, which is cleared, and down again.
                let down = "\n".repeat(up - 1);
                self.print(bar, &format!("\x1b[{up}A\r\x1b[2K{row}{down}"));
            }
            _ => {
                self.print(bar, &row);
                self.rows.push(point);
            }
        }
    }

    /// Forgets which rows stand above the progress: something else was printed below them.
    pub fn interrupt(&mut self) {
        self.rows.clear();
    }

    /// Prints the rows of points that were not measured to their end, and what follows from all rows together; false when
    /// something could not be printed.
    pub fn conclude(mut self, run: &Run) -> bool {
        let hidden = ProgressBar::hidden();
        for point in 0..run.points.len() {
            if self.printed.contains(&point) {
                continue;
            }
            let about = run
                .findings
                .iter()
                .filter(|finding| finding.concerns(point));
            let findings: Vec<Finding> = about.cloned().collect();
            self.print_row(&hidden, run, point, &findings);
        }
        let foot = report::sweep::foot(run, &self.look);
        self.print(&hidden, &foot);
        self.unprinted.iter().for_each(output::complain);
        self.unprinted.is_none()
    }

    fn print(&mut self, bar: &ProgressBar, text: &str) {
        if let Err(error) = bar.suspend(|| output::print(text)) {
            self.unprinted.get_or_insert(error);
        }
    }
}

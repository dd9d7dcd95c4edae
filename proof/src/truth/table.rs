//! The figures of a case as rows of text: for docs/accuracy.md, and for people at a terminal.

use super::case::{FIGURES, Nature};
use super::judge::{Cell, is_nearer};
use super::outcome::{Outcome, Row};
use super::tls::Encrypted;
use std::iter;

/// Behind a cell of weigh's that is outside its bound.
pub const OUTSIDE: &str = "**✗**";
/// Behind a cell of another tool that is nearer to the truth than weigh's.
pub const NEARER: &str = "**nearer**";

/// Returns a row for each tool, and one against packets where they were looked at: its name and its figures. weigh's are
/// judged, another tool's are compared with weigh's.
pub fn rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let ours = outcome.row("weigh");
    let mut rows = Vec::new();
    for tool in outcome.tools() {
        let mark = |figure: usize, cell: &Cell| match tool {
            "weigh" if cell.is_outside(figure) => OUTSIDE,
            "weigh" => "",
            _ if ours[figure].is_some_and(|ours| is_nearer(cell, &ours)) => NEARER,
            _ => "",
        };
        rows.push(row(tool.to_owned(), outcome, &outcome.row(tool), mark));
        if let Some(packets) = outcome.row_by_packets(tool) {
            let name = format!("{tool}, by packets");
            rows.push(row(name, outcome, &packets, |_, _| ""));
        }
    }
    rows
}

fn row(
    name: String,
    outcome: &Outcome,
    row: &Row,
    mark: impl Fn(usize, &Cell) -> &'static str,
) -> Vec<String> {
    let text = |(figure, cell): (usize, &Option<Cell>)| match cell {
        Some(cell) => format!("{cell} {}", mark(figure, cell))
            .trim_end()
            .to_owned(),
        None if outcome.case.nature != Nature::Overload => "–".to_owned(),
        // What the page said: a case in which it did not has that among its wrongs.
        None if outcome.wrongs().is_empty() => "OVERLOAD".to_owned(),
        None => OUTSIDE.to_owned(),
    };
    let cells = row.iter().enumerate().map(text);
    iter::once(name).chain(cells).collect()
}

/// Returns the names of the columns for a terminal. Times are in microseconds.
pub fn head() -> String {
    let names = iter::once("").chain(FIGURES).map(str::to_owned);
    line("case (µs)", &names.collect::<Vec<_>>())
}

/// Returns one case for a terminal: a line for each row, and below whatever else there is to say of its runs.
pub fn text(outcome: &Outcome) -> String {
    let rows = rows(outcome).into_iter();
    let mut lines: Vec<String> = rows.map(|row| line(outcome.case.name, &row)).collect();
    for trial in &outcome.trials {
        let wrongs = trial.all_wrongs().into_iter();
        let wrongs = wrongs.map(|wrong| format!("{}: {wrong}", trial.tool));
        let notes = trial.notes().chain(wrongs);
        lines.extend(notes.map(|note| format!("    round {}: {note}", trial.round + 1)));
    }
    let encrypted = outcome.encrypted.as_ref();
    let encrypted = encrypted.and_then(Encrypted::text);
    lines.extend(encrypted.map(|text| format!("    {text}")));
    let wrongs = outcome.wrongs();
    lines.extend(wrongs.iter().map(|wrong| format!("    WRONG: {wrong}")));
    lines.join("\n")
}

fn line(case: &str, row: &[String]) -> String {
    let cells = row
        .iter()
        .map(|cell| format!(" {:>22}", cell.replace("**", "")));
    format!("{case:<22}{}", cells.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn a_cell_outside_its_bound_is_marked_and_one_that_says_nothing_too() {
        let mut outcome = Outcome::example(0, 0);
        for trial in &mut outcome.trials[..] {
            trial.truth = (0..20_000).map(|_| Nanos::from_micros(100)).collect();
            let reported = [Some(110), Some(150), None, Some(100), Some(900)];
            trial.reported = reported.map(|us| us.map(Nanos::from_micros));
        }
        let shown = text(&outcome);
        let shown: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
        let wanted = "even-1k weigh 100.0 (+10.00) 100.0 (+50.00) ✗ 100.0 (not said) ✗ 100.0 (+0.00) 100.0 (+800.0)";
        assert_eq!(shown.join(" "), wanted);
    }
}

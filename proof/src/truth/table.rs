//! What came of it, for people at a terminal.

use super::case::FIGURES;
use super::judge::{Cell, Verdict};
use super::outcome::{Outcome, Row};
use units::Nanos;

/// What the columns are. Times are in microseconds.
pub fn head() -> String {
    let mut text = format!("{:<22} {:<8}", "case (µs)", "");
    for figure in FIGURES {
        text += &format!(" {figure:>22}");
    }
    text
}

/// One case: a line for each tool, the truth and the error in brackets; then whatever else there is to say.
pub fn text(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    let name = outcome.case.name;
    for tool in outcome.tools() {
        lines.push(line(name, tool, &outcome.row(tool), tool == "weigh"));
        if let Some(row) = outcome.row_by_packets(tool) {
            lines.push(line(name, "packets", &row, false));
        }
    }
    for trial in &outcome.trials {
        let reported = trial.sending.iter().map(|sending| sending.text());
        let reported = reported.chain(trial.queue.iter().map(|queue| queue.text()));
        lines.extend(reported.map(|reported| format!("    round {}: {reported}", trial.round + 1)));
        let wrongs = trial.all_wrongs();
        lines.extend(
            wrongs
                .into_iter()
                .map(|wrong| format!("    round {}: {}: {wrong}", trial.round + 1, trial.tool)),
        );
    }
    let wrongs = outcome.wrongs();
    lines.extend(wrongs.iter().map(|wrong| format!("    WRONG: {wrong}")));
    lines.join("\n")
}

fn line(name: &str, tool: &str, row: &Row, is_judged: bool) -> String {
    let mut text = format!("{name:<22} {tool:<8}");
    for (figure, cell) in row.iter().enumerate() {
        let cell = cell.map_or("-".to_owned(), |cell| match is_judged {
            true => format!("{}{}", shown(&cell), mark(&cell, figure)),
            false => shown(&cell),
        });
        text += &format!(" {cell:>22}");
    }
    text.trim_end().to_owned()
}

fn mark(cell: &Cell, figure: usize) -> &'static str {
    match cell.verdict(figure) {
        Verdict::Outside => " OUT",
        Verdict::Inside | Verdict::Shown => "",
    }
}

/// The truth, and by how much the tool is off.
fn shown(cell: &Cell) -> String {
    match (cell.truth, cell.error()) {
        (None, _) => "-".to_owned(),
        (Some(truth), _) if cell.is_least => {
            let reported = cell.reported.map_or("-".to_owned(), micros);
            format!("{} (>= {reported})", micros(truth))
        }
        (Some(truth), None) => format!("{} (not said)", micros(truth)),
        (Some(truth), Some(error)) => format!("{} ({})", micros(truth), signed(error)),
    }
}

/// Microseconds with as many digits as are worth anything.
pub fn micros(span: Nanos) -> String {
    digits(span.as_micros_f64())
}

/// An error in microseconds, with its sign.
pub fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", digits(nanos.unsigned_abs() as f64 / 1e3))
}

fn digits(us: f64) -> String {
    match us {
        1000.0.. => format!("{us:.0}"),
        100.0.. => format!("{us:.1}"),
        _ => format!("{us:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_they_are_worth() {
        let cases = [(1_234, "1.23"), (123_456, "123.5"), (12_345_678, "12346")];
        for (nanos, text) in cases {
            assert_eq!(micros(Nanos::from_nanos(nanos)), text);
        }
        assert_eq!(
            (signed(-1_500), signed(40_000)),
            ("-1.50".into(), "+40.00".into())
        );
    }

    #[test]
    fn a_cell_outside_its_bound_is_marked_and_one_that_says_nothing_too() {
        let cell = |reported: Option<u64>| {
            Some(Cell {
                truth: Some(Nanos::from_micros(100)),
                reported: reported.map(Nanos::from_micros),
                is_least: false,
            })
        };
        let row = [
            cell(Some(110)),
            cell(Some(150)),
            cell(None),
            None,
            cell(Some(900)),
        ];
        let shown = line("a", "weigh", &row, true);
        let shown: Vec<&str> = shown.split_whitespace().collect();
        let wanted =
            "a weigh 100.0 (+10.00) 100.0 (+50.00) OUT 100.0 (not said) OUT - 100.0 (+800.0)";
        assert_eq!(shown.join(" "), wanted);
    }
}

//! Tables: text in columns for terminals, and Markdown for pages.

use anyhow::{Result, ensure};

/// Returns rows as text, each column as wide as its widest cell. The first column is aligned to the left, the others to
/// the right. A row of one cell is a line of its own.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| row.len() > 1);
        let widths = cells.filter_map(|row| Some(row.get(column)?.chars().count()));
        widths.max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<0$}", width(column)),
            _ => format!("   {cell:>0$}", width(column)),
        });
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns a Markdown table.
pub fn markdown(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = line(head.iter().map(|name| (*name).to_owned()).collect());
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let rows = rows.into_iter().map(line);
    names.replace("|  |", "| |") + &rule + &rows.collect::<String>()
}

/// Returns the rows of a published page whose first cell is a name in backticks, which must be `wanted`.
///
/// # Errors
/// They are not; `again` is the remedy.
pub fn check_rows<'a>(
    page: &str,
    text: &'a str,
    wanted: &[&str],
    again: &str,
) -> Result<Vec<&'a str>> {
    let lines = text.lines().filter(|line| line.starts_with("| `"));
    let lines: Vec<&str> = lines.collect();
    let found = lines.iter().filter_map(|line| line.split('`').nth(1));
    let found: Vec<&str> = found.collect();
    let missing = wanted.iter().filter(|name| !found.contains(name));
    let missing: Vec<&str> = missing.copied().collect();
    let missing = missing.join(", ");
    ensure!(
        found == wanted,
        "{page} does not have the rows of the table (missing: {missing}); {again}"
    );
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            row(&["", "CPU µs", "of it"]),
            row(&["a line that is longer than the first column"]),
            row(&["weigh", "1.0", ""]),
        ];
        let wanted =
            "        CPU µs   of it\na line that is longer than the first column\nweigh      1.0\n";
        assert_eq!(aligned(&rows), wanted);
    }

    #[test]
    fn a_markdown_table_has_its_rule_below_the_head() {
        let table = markdown(&["Case", ""], [row(&["a", "1"]), row(&["", "2"])]);
        assert_eq!(table, "| Case | |\n|---|---|\n| a | 1 |\n|  | 2 |\n");
    }
}

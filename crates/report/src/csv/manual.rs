//! The columns as a page of the manual, from the same tables that the rows are made of.

use super::{cost, points, woven};

/// `docs/columns.md`.
pub fn manual() -> String {
    let rounds = super::COLUMNS
        .iter()
        .map(|column| (column.name, column.doc));
    let points = points::COLUMNS
        .iter()
        .map(|column| (column.name, column.doc));
    format!(
        "{HEAD}\n## A row a point\n\n{}\n## A row a round\n\n{}",
        table(points),
        table(rounds)
    )
}

const HEAD: &str = "\
# Columns

`weigh report --format csv` and `tsv` print a row for each point of a record, `csv-rounds` and `tsv-rounds` one for each
round. CSV separates fields by commas and quotes them where it must (RFC 4180), TSV by tabs; lines end with a newline,
numbers have a point and no grouping. A figure that the samples do not carry is empty, never 0.

This page is made from the tables that the rows are made of.
";

fn table(rows: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let costs = cost::COLUMNS.iter().map(|column| (column.name, column.doc));
    let rows: String = woven(rows, costs)
        .map(|(name, doc)| format!("| `{name}` | {doc} |\n"))
        .collect();
    format!("| Column | Is |\n|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manuals_page_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/columns.md");
        if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, manual()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == manual(),
            "WEIGH_UPDATE_GOLDEN=1 cargo test -p report writes it anew"
        );
    }
}

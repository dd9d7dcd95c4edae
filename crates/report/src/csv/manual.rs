//! The columns as a page of the manual, from the table that the rows are made of.

use figures::Grain;
use units::Percentile;

/// Returns the text of `docs/columns.md`.
pub fn manual() -> String {
    let (points, rounds) = (table(Grain::Point), table(Grain::Round));
    format!("{HEAD}\n## A row for each point\n\n{points}\n## A row for each round\n\n{rounds}")
}

const HEAD: &str = "\
# Columns

`weigh report --format csv` and `tsv` print a row for each point of a record, `csv-rounds` and `tsv-rounds` one for each
round. CSV separates fields by commas and quotes them where needed (RFC 4180), TSV by tabs; lines end with a newline,
numbers have a point and no grouping. A figure that the samples do not carry is empty, never 0.

This page is generated from the table that the rows are made of. `Figure` is the name by which `weigh` knows the figure
everywhere else.
";

fn table(grain: Grain) -> String {
    let columns = figures::columns(grain, &Percentile::DEFAULT);
    let rows: String = columns
        .iter()
        .map(|(name, figure)| format!("| `{name}` | `{figure}` | {} |\n", figure.doc()))
        .collect();
    format!("| Column | Figure | Is |\n|---|---|---|\n{rows}")
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

//! The columns as a page of the manual, from the table that the rows are made of.

use units::Percentile;

/// Returns the text of `docs/columns.md`.
pub fn manual() -> String {
    let columns = figures::columns(&Percentile::DEFAULT);
    let rows = columns
        .iter()
        .map(|(name, figure)| format!("| `{name}` | `{figure}` | {} |\n", figure.doc()));
    std::iter::once(HEAD.to_owned()).chain(rows).collect()
}

const HEAD: &str = "\
# Columns

`weigh report --format csv` prints, for each point of each record, a row over all its rounds (`round` and `request` are
empty), a row for each request where several are listed (`request` names it), and a row for each round. Fields are separated
by commas and quoted where needed (RFC 4180); lines end with a newline, numbers have a point and no grouping. A figure that
the samples do not carry, or that a request has not by itself, is empty, never 0.

This page is generated from the table that the rows are made of. `Figure` is the name by which `weigh` knows the figure
everywhere else.

| Column | Figure | Is |
|---|---|---|
";

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

//! The columns as a page of the manual, from the table that the rows are made of.

use record::Kind;
use units::Percentile;

/// Returns the text of `docs/columns.md`.
pub fn manual() -> String {
    let columns = figures::columns(&Percentile::DEFAULT);
    let rows = columns
        .iter()
        .map(|(name, figure)| format!("| `{name}` | `{figure}` | {} |\n", figure.doc()));
    let names = figures::rows().map(|figure| {
        let others: Vec<String> = figure
            .aliases
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let (kind, _) = figure.unit.kind();
        format!(
            "| `{}` | {} | {kind} | {} |\n",
            figure.name,
            others.join(", "),
            figure.doc
        )
    });
    let parts = [HEAD.to_owned()].into_iter().chain(rows);
    let kinds: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| format!("`{}`", kind.name()))
        .collect();
    let guide = NAMES.replace("KINDS", &kinds.join(", "));
    parts.chain([guide]).chain(names).collect()
}

const HEAD: &str = "\
# Columns

`weigh report --format csv` prints, for each point of each record, a row over all its rounds (`round` and `request` are
empty), a row for each request where several are listed (`request` names it), and a row for each round. Fields are separated
by commas and quoted where needed (RFC 4180); lines end with a newline, numbers have a point and no grouping. A figure that
the samples do not carry, or that a request has not by itself, is empty, never 0.

This page is generated from the table that the rows are made of. `Figure` is the name by which `weigh` knows the figure
everywhere else; [below](#names-of-figures) are all names, also of figures without a column.

| Column | Figure | Is |
|---|---|---|
";

const NAMES: &str = "
## Names of figures

All names that `--require`, `--abort-if` and `weigh report --get` know. Each number of a record's `summary` has the name of
its path in that object (`open.sessions.skipped`, `per_request.cpu_us.low`), and most have shorter ones.

- `{p}` stands for any percentile (`p50`, `p99.9` or `p999`), `min`, `mean` or `max`.
- `{status}` stands for a status, such as `404`; `{kind}` for a kind of error, which is also a name by itself: KINDS.
- `by_request.N.` before a name is the figure of one request, where several are listed; N is its index in the summary's
  `by_request`, from 0: `by_request.0.latency_us.p99`. It can stand before `requests`, `ok`, `errors` and the names that
  begin with `latency_us`.
- A time is compared with such as `20ms`, a share with `80%`, a size with `20MiB`, a rate, count or number with `10k`; a count
  of requests (errors, statuses, `ok`, `never_sent`) also with `0.1%`. Where the name tells the unit of a time (`_us`, `_s`), it can be
  left out. Text can be printed, but not required.

`reliable` is required without a bound: no figure is invalid.

| Figure | Other names | Is | Meaning |
|---|---|---|---|
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

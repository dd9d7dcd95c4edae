//! Rows for spreadsheets and scripts: for each point one over all its rounds, one for each request of a list, and one for
//! each round; with the columns that the table of figures names.
//!
//! Lines end with a bare newline as other Unix tools expect, numbers have a point and no grouping. A figure that the
//! samples do not carry is empty, never 0. The last column has the caveats, so that no number leaves without them.

mod manual;

pub use manual::manual;

use crate::Look;
use figures::Figures;
use record::Run;
use std::collections::BTreeSet;
use units::Percentile;

/// The header row, and the rows of every point of which something was measured.
pub(crate) fn render(runs: &[Run], _: &Look) -> String {
    let columns = figures::columns(&percentiles(runs));
    let row = |of: &Figures<'_>| line(columns.iter().map(|(_, figure)| figure.written(of)));
    let mut text = line(columns.iter().map(|(name, _)| name.clone()));
    for (record, run) in (1..).zip(runs) {
        for mut point in Figures::points(run) {
            point.record = record;
            text.push_str(&row(&point));
            text.extend(point.each_request().map(|request| row(&request)));
            text.extend(point.each_round().map(|round| row(&round)));
        }
    }
    text
}

/// The percentiles that any of `runs` shows; the usual ones where there is no run.
fn percentiles(runs: &[Run]) -> Vec<Percentile> {
    match runs {
        [] => Percentile::DEFAULT.to_vec(),
        _ => {
            let all = runs.iter().flat_map(|run| &run.plan.percentiles);
            BTreeSet::from_iter(all.copied()).into_iter().collect()
        }
    }
}

/// One line: fields with commas between them, in double quotes where they must be (RFC 4180).
pub(crate) fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted = |field: String| match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    let fields: Vec<String> = fields.map(quoted).collect();
    format!("{}\n", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    #[test]
    fn every_row_has_every_column() {
        let mut run = example::errors();
        run.points.push(run.points[0].clone());
        let runs = [
            run,
            example::empty(),
            example::open_loop(),
            example::two_generators(),
        ];
        let points = runs.iter().flat_map(|run| &run.points);
        let measured = points.clone().filter(|point| !point.rounds.is_empty());
        let twins = points.clone().flat_map(|point| &point.split_generators);
        let rounds = points.map(|point| point.rounds.len()).sum::<usize>();
        let rounds = rounds + twins.map(|twin| twin.rounds.len()).sum::<usize>();
        let text = render(&runs, &Look::default());
        assert_eq!(text.lines().count(), 1 + measured.count() + rounds);
        let columns = figures::columns(&Percentile::DEFAULT).len();
        assert!(
            text.lines().all(|line| line.split(',').count() == columns),
            "{text}"
        );
        assert!(text.lines().next().unwrap().ends_with("findings"));
        assert!(text.lines().last().unwrap().starts_with("4,"), "{text}");
    }

    #[test]
    fn a_figure_is_a_row_of_one_table_and_no_list_here_names_it() {
        let source = [include_str!("csv.rs"), include_str!("csv/manual.rs")];
        let source = source.map(|text| text.split("#[cfg(test)]").next().unwrap());
        let (text, page) = (render(&[example::ok()], &Look::default()), manual());
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for (name, figure) in figures::columns(&Percentile::DEFAULT) {
            assert!(header.contains(&&*name), "{name}");
            assert!(
                page.contains(&format!("| `{name}` | `{figure}` |")),
                "{name}"
            );
            let found = figures::find(&figure.to_string()).unwrap();
            assert_eq!(found.name(), figure.name());
            let quoted = format!("\"{}\"", figure.figure.name);
            assert!(source.iter().all(|text| !text.contains(&quoted)), "{name}");
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let cases: &[(&str, &str)] = &[
            ("plain text", "plain text"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("a\tb", "a\tb"),
            ("", ""),
        ];
        for (field, wanted) in cases {
            let fields = [*field, "x"].map(str::to_owned);
            assert_eq!(line(fields.into_iter()), format!("{wanted},x\n"));
        }
    }
}

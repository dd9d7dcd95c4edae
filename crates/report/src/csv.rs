//! Rows for spreadsheets and scripts: one for each point or one for each round, with the columns that the table of
//! figures names.
//!
//! Lines end with a bare newline as other Unix tools expect, numbers have a point and no grouping. A figure that the
//! samples do not carry is empty, never 0. The last column has the caveats, so that no number leaves without them.

mod manual;
mod sheet;

pub use manual::manual;
use sheet::Sheet;

use crate::Look;
use figures::{Figures, Grain};
use record::Run;
use std::collections::BTreeSet;
use units::Percentile;

/// One row for each point, separated by commas.
pub(crate) fn csv(runs: &[Run], _: &Look) -> String {
    render(runs, Grain::Point, Sheet::Commas)
}

/// One row for each point, separated by tabs.
pub(crate) fn tsv(runs: &[Run], _: &Look) -> String {
    render(runs, Grain::Point, Sheet::Tabs)
}

/// One row for each round, separated by commas.
pub(crate) fn csv_rounds(runs: &[Run], _: &Look) -> String {
    render(runs, Grain::Round, Sheet::Commas)
}

/// One row for each round, separated by tabs.
pub(crate) fn tsv_rounds(runs: &[Run], _: &Look) -> String {
    render(runs, Grain::Round, Sheet::Tabs)
}

/// The header row, and a row for each point or round of which something was measured.
fn render(runs: &[Run], grain: Grain, sheet: Sheet) -> String {
    let columns = figures::columns(grain, &percentiles(runs));
    let row = |of: &Figures<'_>| sheet.row(columns.iter().map(|(_, figure)| figure.written(of)));
    let mut text = sheet.row(columns.iter().map(|(name, _)| name.clone()));
    for point in runs.iter().flat_map(Figures::points) {
        match grain {
            Grain::Point => {
                text.push_str(&row(&point));
                text.extend(point.each_request().map(|request| row(&request)));
            }
            Grain::Round => text.extend(point.each_round().map(|round| row(&round))),
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
        let twins = points.clone().flat_map(|point| &point.twin);
        let rounds = points.map(|point| point.rounds.len()).sum::<usize>();
        let rounds = rounds + twins.map(|twin| twin.rounds.len()).sum::<usize>();
        for (grain, rows) in [(Grain::Point, measured.count()), (Grain::Round, rounds)] {
            for (sheet, separator) in [(Sheet::Commas, ','), (Sheet::Tabs, '\t')] {
                let text = render(&runs, grain, sheet);
                assert_eq!(text.lines().count(), rows + 1);
                let columns = figures::columns(grain, &Percentile::DEFAULT).len();
                assert!(
                    text.lines()
                        .all(|line| line.split(separator).count() == columns),
                    "{text}"
                );
                assert!(text.lines().next().unwrap().ends_with("findings"));
            }
        }
    }
}

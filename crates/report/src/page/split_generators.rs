//! Split-generator check: results of two generator processes with the same load, beside those of one.

use super::{Item, Role, Row};
use crate::phrase::{clean, rate};
use record::{Point, Ratio};
use units::{Percentile, micros, number};

/// The longest reason that is shown whole.
const LONGEST: usize = 300;

/// Results of two generators beside those of one; no rows where there was only one.
pub(super) fn rows(point: &Point) -> Vec<Row> {
    let Some(split) = &point.split_generators else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    if let Some(summary) = &split.summary {
        let mut got = vec![Item::strong(rate(summary.rps.mean)).and(Role::Plain, " requests/s")];
        got.extend(split.rps_ratio.iter().flat_map(beside));
        rows.push(Row::new("two generators", got));
        let p99 = summary.latency_us.at(Percentile::P99);
        rows.extend(p99.map(|p99| {
            let mut items = vec![Item::named("p99", Role::Plain, micros(p99))];
            items.extend(split.latency_p99_ratio.iter().flat_map(beside));
            Row::new("", items)
        }));
        let errors = number(summary.errors.total, "error");
        let counted = format!("{} ok, {errors}", units::count(summary.ok));
        if let Some(last) = rows.last_mut() {
            last.items.push(Item::dim(counted));
        }
    }
    let failed = split.failed.as_ref();
    let failed = failed.map(|why| vec![Item::wrong(clean(why, LONGEST))]);
    let label = ["two generators", ""][usize::from(!rows.is_empty())];
    rows.extend(failed.map(|items| Row::new(label, items)));
    rows
}

/// How it compares with one generator.
fn beside(ratio: &Ratio) -> Vec<Item> {
    let times = Item::named("by one", Role::Plain, format!("{:.3} times", ratio.centre));
    let ends = ratio.low.zip(ratio.high);
    let interval =
        ends.map(|(low, high)| Item::interval((format!("{low:.3}"), format!("{high:.3}"))));
    std::iter::once(times).chain(interval).collect()
}

//! Output: which figures a record and everything made from it shows. What is printed where is no part of a plan.

use super::Takes::Value;
use super::{Group, Setting, keep, list};
use units::Percentile;

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "percentiles", group: Group::Output, takes: Value("P,..."), default: "50,90,95,99,99.9",
        help: "Percentiles of latency to show, such as 50,75,95,99.99.",
        long: "In the text, CSV and JSON. One with fewer than ten slower samples shows `too few samples`. `weigh report` has the \
               same option for a record.",
        parse: |draft, text| keep(&mut draft.plan.percentiles, percentiles(text)),
        show: |plan| list(plan.percentiles.iter(), ", "),
        ..Setting::BASE },
];

fn percentiles(text: &str) -> Result<Vec<Percentile>, String> {
    Percentile::list(text).map_err(|error| error.to_string())
}

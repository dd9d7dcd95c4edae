//! The table. A row is a figure; rows stand in the order of the columns that they are.

mod cost;
mod requests;
mod setting;
mod times;

use crate::{Figure, Figures, Value};

/// Returns every row, in order.
pub(crate) fn all() -> impl Iterator<Item = &'static Figure> {
    let parts = [
        setting::ROWS,
        requests::RATES,
        times::LATENCY,
        requests::COUNTS,
        requests::TRAFFIC,
        cost::BUSY,
        setting::SCHEDULE,
        times::OPEN,
        times::HANDSHAKES,
        cost::SERVER,
        cost::REQUEST_CPU,
        cost::PER_CPU,
        cost::MACHINE,
        times::SETTLING,
        requests::TIME,
        setting::CAVEATS,
    ];
    parts.into_iter().flatten()
}

fn number(value: impl Into<Option<f64>>) -> Option<Value> {
    value.into().map(Value::Number)
}

fn count(value: impl Into<Option<u64>>) -> Option<Value> {
    value.into().map(Value::Count)
}

fn text(value: impl Into<Option<String>>) -> Option<Value> {
    value.into().map(Value::Text)
}

/// Says why a closed loop has no such figure.
fn unscheduled(f: &Figures<'_>) -> Option<String> {
    let is_closed = !f.plan.load.is_open();
    is_closed.then(|| "exists only with --rate or --connection-rate".to_owned())
}

/// Says why a load without a rate of connections has no such figure.
fn unconnected(f: &Figures<'_>) -> Option<String> {
    let is_connected = f.plan.load.is_of_connections();
    (!is_connected).then(|| "exists only with --connection-rate".to_owned())
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::{Part, columns, find, names};
    use record::Statistic;
    use units::Percentile;

    #[test]
    fn every_name_is_unique_documented_and_found_again() {
        let mut seen: Vec<String> = Vec::new();
        for name in names() {
            assert!(!seen.contains(&name), "{name}");
            let found = find(&name).unwrap_or_else(|| panic!("{name}"));
            assert!(!found.doc().is_empty(), "{name}");
            let again = find(&found.name()).unwrap();
            assert_eq!(
                (again.figure.name, again.part),
                (found.figure.name, found.part)
            );
            seen.push(name);
        }
        assert!(all().all(|figure| {
            seen.iter()
                .any(|name| find(name).unwrap().figure.name == figure.name)
        }));
    }

    #[test]
    fn columns_have_names_of_their_own() {
        let mut names: Vec<String> = columns(&Percentile::DEFAULT)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let many = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), many);
    }

    #[test]
    fn what_people_type_is_found() {
        let cases = [
            ("p99", Some("latency_us.p99")),
            (" p99.9 ", Some("latency_us.p999")),
            ("latency_us.p99.99", Some("latency_us.p9999")),
            ("latency.p75", Some("latency_us.p75")),
            ("max", Some("latency_us.max")),
            ("rps", Some("rps.mean")),
            ("errors", Some("errors.total")),
            ("error_rate", Some("errors.share")),
            ("errors.timeout", Some("errors.timeout")),
            ("status.404", Some("status.404")),
            ("cpu_us_per_request", Some("cpu_us_per_request")),
            ("rss", Some("pss_bytes.peak")),
            ("99", None),
            ("p100", None),
            ("latency_us", None),
            ("status.99", None),
            ("errors.none", None),
            ("{p}", None),
            ("", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(
                find(name).map(|found| found.name()).as_deref(),
                wanted,
                "{name}"
            );
        }
        assert_eq!(
            find("p99.9").unwrap().part,
            Part::Statistic(Statistic::At(Percentile::P999))
        );
    }
}

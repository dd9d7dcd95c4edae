//! Latency of a tally: its percentiles, and which figures are only lower bounds.

use crate::{Censored, Tally};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use stats::Histogram;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use units::{ParseError, Percentile};

/// Latency of ok and censored exchanges, in microseconds; null where the samples do not carry the figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The smallest.
    pub min: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The percentiles that were asked for.
    #[serde(flatten)]
    pub percentiles: Percentiles,
    /// The largest.
    pub max: Option<f64>,
    /// Exchanges it rests on; percentiles of fewer than 100 are indicative.
    pub count: u64,
    /// The figures that are lower bounds: censored exchanges, had they taken for ever, would make them larger in print.
    pub at_least: Vec<Statistic>,
    /// For percentiles whose slower samples come together: as how many independent samples `count` counts there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effective_samples: BTreeMap<String, u64>,
    /// 95 % intervals of the percentiles by ranks, with the effective number of samples; none where an end lies beyond all
    /// samples.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, (f64, f64)>,
}

/// Percentiles with their values, by nearest rank; ascending. In a record each is a field such as `p999`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Percentiles(pub Vec<(Percentile, Option<f64>)>);

/// One figure of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(inline)]
pub enum Statistic {
    /// The smallest value.
    Min,
    /// The arithmetic mean.
    Mean,
    /// A percentile.
    At(Percentile),
    /// The largest value.
    Max,
}

impl Latency {
    /// Returns the figures of what is called latency in `tally`, with the usual percentiles.
    /// [`CoordinatedOmission::affected`](crate::CoordinatedOmission::affected) names those that coordinated omission makes smaller than what
    /// randomly arriving requests would have seen.
    pub fn of(tally: &Tally) -> Latency {
        Latency::with(tally, &Percentile::DEFAULT)
    }

    /// Returns the same with the percentiles of `list`.
    pub(crate) fn with(tally: &Tally, list: &[Percentile]) -> Latency {
        let times = tally.latency();
        let mut latency = Latency::from(times, Censored::of_latency(tally), list);
        for (p, value) in &mut latency.percentiles.0 {
            value.take_if(|_| !tally.carries(p.quantile()));
        }
        if tally.clusters.is_empty() {
            return latency;
        }
        for p in list {
            let number = tally.effective_samples(p.quantile());
            if number < latency.count {
                latency.effective_samples.insert(p.key(), number);
            }
            let interval = latency
                .at(*p)
                .and_then(|_| interval(times, p.quantile(), number));
            if let Some(interval) = interval {
                latency.intervals.insert(p.key(), interval);
            }
        }
        latency
    }

    /// The figures of `times`, of which some are censored.
    pub(crate) fn from(
        times: &Histogram,
        censored: Option<Censored>,
        list: &[Percentile],
    ) -> Latency {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let value = |p: &Percentile| times.quantile_if_carried(p.quantile()).map(micros);
        let mut latency = Latency {
            min: times.min().map(micros),
            mean: times.mean().map(|mean| mean / 1e3),
            percentiles: Percentiles(list.iter().map(|p| (*p, value(p))).collect()),
            max: times.max().map(micros),
            count: times.count(),
            at_least: Vec::new(),
            effective_samples: BTreeMap::new(),
            intervals: BTreeMap::new(),
        };
        if let Some(censored) = censored {
            let known = latency.named().filter(|(_, value)| value.is_some());
            let bound = known.filter(|(figure, _)| censored.bounds(times, *figure));
            latency.at_least = bound.map(|(figure, _)| figure).collect();
        }
        latency
    }

    /// Returns a percentile; none where it is withheld, and where it was not asked for.
    pub fn at(&self, p: Percentile) -> Option<f64> {
        let mut known = self.percentiles.0.iter();
        known
            .find(|(known, _)| *known == p)
            .and_then(|(_, value)| *value)
    }

    /// Returns the figures with their values, in the order in which they are shown.
    pub fn named(&self) -> impl Iterator<Item = (Statistic, Option<f64>)> {
        let percentiles = self.percentiles.0.iter();
        let percentiles = percentiles.map(|(p, value)| (Statistic::At(*p), *value));
        let least = [(Statistic::Min, self.min), (Statistic::Mean, self.mean)];
        let all = least.into_iter().chain(percentiles);
        all.chain([(Statistic::Max, self.max)])
    }

    /// Returns whether a figure is only a lower bound.
    pub fn is_at_least(&self, figure: Statistic) -> bool {
        self.at_least.contains(&figure)
    }
}

/// The 95 % interval of the quantile `p` of `times`, in microseconds, where they are worth `number` independent ones: the values
/// at the shares `p -+ 1.96 sqrt(p (1 - p) / number)` (the normal form of the binomial interval by ranks; Conover, "Practical
/// Nonparametric Statistics", 3.2). None where the upper share is 1 or more.
fn interval(times: &Histogram, p: f64, number: u64) -> Option<(f64, f64)> {
    let half = 1.96 * (p * (1.0 - p) / number as f64).sqrt();
    let at = |share: f64| Some(times.quantile(share)? as f64 / 1e3);
    (p + half < 1.0).then(|| Some((at((p - half).max(0.0))?, at(p + half)?)))?
}

impl fmt::Display for Statistic {
    /// Writes `min`, `mean`, `p99.9`, `max`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Min => f.write_str("min"),
            Statistic::Mean => f.write_str("mean"),
            Statistic::At(p) => p.fmt(f),
            Statistic::Max => f.write_str("max"),
        }
    }
}

impl Statistic {
    /// Returns the name that records use: `p999`.
    pub fn key(self) -> String {
        match self {
            Statistic::At(p) => p.key(),
            other => other.to_string(),
        }
    }
}

impl From<Statistic> for String {
    fn from(figure: Statistic) -> String {
        figure.key()
    }
}

impl TryFrom<String> for Statistic {
    type Error = ParseError;

    fn try_from(name: String) -> Result<Statistic, ParseError> {
        Ok(match name.as_str() {
            "min" => Statistic::Min,
            "mean" => Statistic::Mean,
            "max" => Statistic::Max,
            other => Statistic::At(other.parse()?),
        })
    }
}

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(p, value)| (p.key(), value)))
    }
}

impl<'de> Deserialize<'de> for Percentiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Percentiles, D::Error> {
        let fields = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let named = fields.into_iter().filter_map(|(name, value)| {
            let p = name.strip_prefix('p').and_then(|_| name.parse().ok());
            Some((p?, value))
        });
        let read = |(p, value)| Ok((p, Option::deserialize(value).map_err(de::Error::custom)?));
        let mut found: Vec<_> = named.map(read).collect::<Result<_, _>>()?;
        found.sort_by_key(|(p, _)| *p);
        match found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(twice) => Err(de::Error::custom(format!("{} is there twice", twice[0].0))),
            None => Ok(Percentiles(found)),
        }
    }
}

impl JsonSchema for Percentiles {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Percentiles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "object", "properties": {} });
        let properties = Percentile::DEFAULT.map(|p| {
            let property = serde_json::json!({
                "description": format!("{p}, by nearest rank."),
                "format": "double",
                "type": ["number", "null"],
            });
            (p.key(), property)
        });
        schema.insert("properties".to_owned(), properties.into_iter().collect());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blame, Exchange, Fault, Kind, Outcome, Step};
    use units::Instant;
    use units::Nanos;

    #[test]
    fn a_percentile_that_is_there_twice_is_refused() {
        let read = serde_json::from_str::<Percentiles>;
        assert_eq!(
            read(r#"{"p99": 1.5}"#).unwrap().0,
            [(Percentile::P99, Some(1.5))]
        );
        let twice = read(r#"{"p99": 1.0, "p99.0": 1.5}"#).unwrap_err();
        assert!(twice.to_string().contains("p99 is there twice"), "{twice}");
    }

    /// A tally of ok exchanges of 1 to `ok` us, and of `cut` that timed out after `age`.
    fn latencies(ok: u64, cut: u64, age: Nanos) -> Tally {
        let mut tally = Tally {
            scheduled: ok + cut,
            ..Tally::default()
        };
        let scheduled = Instant::from_nanos(1_000);
        let mut observe = |service: Nanos, outcome| {
            let exchange = Exchange {
                scheduled,
                sent: scheduled,
                first: scheduled,
                done: scheduled + service,
            };
            tally.observe(&exchange, outcome, 200);
        };
        (1..=ok).for_each(|micros| observe(Nanos::from_micros(micros), Outcome::Ok));
        let fault = Fault {
            kind: Kind::Timeout,
            step: Step::Head,
            blame: Blame::Server,
        };
        (0..cut).for_each(|_| observe(age, Outcome::Fault(fault)));
        tally
    }

    #[test]
    fn percentiles_are_withheld_until_ten_samples_lie_beyond_them() {
        let cases = [
            (19, 0),
            (20, 1),
            (100, 2),
            (199, 2),
            (200, 3),
            (999, 3),
            (1_000, 4),
            (10_000, 5),
        ];
        for (count, carried) in &cases {
            let latency = Latency::of(&latencies(*count, 0, Nanos::ZERO));
            let shown = Percentile::DEFAULT.map(|p| latency.at(p));
            let known = [0, 1, 2, 3, 4].map(|place| place < *carried);
            assert_eq!(shown.map(|figure| figure.is_some()), known, "{count}");
            assert_eq!(
                (latency.count, latency.min, latency.max),
                (*count, Some(1.0), Some(*count as f64))
            );
        }
    }

    #[test]
    fn percentiles_of_one_to_a_thousand_microseconds_are_nearest_rank() {
        let latency = Latency::of(&latencies(1_000, 0, Nanos::ZERO));
        assert_eq!(latency.mean, Some(500.5));
        for (figure, wanted) in [
            (latency.at(Percentile::P50), 500.0),
            (latency.at(Percentile::P90), 900.0),
            (latency.at(Percentile::P99), 990.0),
        ] {
            let figure = figure.unwrap();
            assert!(
                figure >= wanted && figure < wanted * 1.001,
                "{figure} for {wanted}"
            );
        }
        assert!(latency.at_least.is_empty());
    }

    #[test]
    fn figures_above_the_smallest_censored_age_are_lower_bounds() {
        let cases: &[(u64, u64, u64, &[&str])] = &[
            (1_000, 0, 0, &[]),
            (990, 10, 5_000, &["mean", "max"]), // the 990th of 1000 is still an ok one
            (980, 20, 5_000, &["mean", "p99", "max"]),
            (
                400,
                600,
                5_000,
                &["mean", "p50", "p90", "p95", "p99", "max"],
            ),
            (980, 20, 700, &["mean", "p90", "p95", "p99", "max"]),
            (0, 20, 5_000, &["min", "mean", "p50", "max"]), // p90 is withheld
            (5, 1, 5_000, &["mean", "max"]),
        ];
        for (ok, cut, age, wanted) in cases {
            let latency = Latency::of(&latencies(*ok, *cut, Nanos::from_micros(*age)));
            let names: Vec<String> = latency.at_least.iter().map(|each| each.key()).collect();
            assert_eq!(names, *wanted, "{ok} ok, {cut} cut at {age} us");
            assert_eq!(latency.count, ok + cut);
        }
    }

    #[test]
    fn nothing_ok_and_nothing_censored_gives_no_figure() {
        let latency = Latency::of(&Tally::default());
        assert!(latency.named().all(|(_, figure)| figure.is_none()) && latency.count == 0);
    }
}

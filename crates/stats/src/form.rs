//! A histogram in a record: HdrHistogram's text, and beside it in plain numbers what that text
//! cannot carry.
//!
//! The plain numbers are also what a reader without an HdrHistogram library gets. Both parts say
//! how many samples there are and how large they were, so a record that was edited or damaged is
//! noticed here: a histogram that is read is one that could have been recorded.

use crate::Histogram;
use crate::hdr::HdrError;
use crate::histogram::Exact;
use crate::layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// Samples counted by value. Values are whole numbers (nanoseconds, where they are times), to 0.1
/// %; `min`, `max`, `count` and `sum` are exact.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
pub(crate) struct Form {
    /// The buckets: HdrHistogram V2, compressed, base64; lowest value 1, three significant digits.
    hdr: String,
    /// Samples recorded.
    count: u64,
    /// The smallest sample; null when there is none.
    min: Option<u64>,
    /// The largest sample, also where it is above 2^36; null when there is none.
    max: Option<u64>,
    /// The sum of all samples; it stops at 2^64 - 1.
    sum: u64,
    /// Samples above 2^36, a subset of `count`; all of them are in the last bucket.
    saturated: u64,
}

/// Why the parts of a form cannot be of the same samples.
#[derive(Debug, PartialEq, Error)]
pub(crate) enum FormError {
    #[error("histogram: {0}")]
    Hdr(#[from] HdrError),
    #[error("histogram: `count` is {said}, but its buckets hold {held}")]
    Count { said: u64, held: u64 },
    #[error("histogram: `min` and `max` are not in its lowest and highest bucket")]
    Extremes,
    #[error("histogram: `saturated` does not agree with `max` and the last bucket")]
    Saturated,
    #[error("histogram: `sum` is not between what its buckets allow")]
    Sum,
}

impl From<&Histogram> for Form {
    fn from(histogram: &Histogram) -> Form {
        Form {
            hdr: histogram.to_hdr(),
            count: histogram.count(),
            min: histogram.min(),
            max: histogram.max(),
            sum: histogram.sum(),
            saturated: histogram.saturated(),
        }
    }
}

impl TryFrom<Form> for Histogram {
    type Error = FormError;

    fn try_from(form: Form) -> Result<Histogram, FormError> {
        let held = Histogram::from_hdr(&form.hdr)?;
        if form.count != held.count() {
            return Err(FormError::Count {
                said: form.count,
                held: held.count(),
            });
        }
        match (form.min, form.max) {
            (None, None) => empty(&form, held),
            (Some(min), Some(max)) => {
                let exact = Exact {
                    saturated: form.saturated,
                    min,
                    max,
                    sum: form.sum,
                };
                check(&held, exact)?;
                Ok(held.sharpened(exact))
            }
            _ => Err(FormError::Extremes),
        }
    }
}

fn empty(form: &Form, held: Histogram) -> Result<Histogram, FormError> {
    match (held.is_empty(), form.saturated, form.sum) {
        (false, ..) => Err(FormError::Extremes),
        (_, 0, 0) => Ok(held),
        (_, 0, _) => Err(FormError::Sum),
        _ => Err(FormError::Saturated),
    }
}

/// Whether samples in these buckets can have had these figures.
fn check(held: &Histogram, exact: Exact) -> Result<(), FormError> {
    let slot = |value: u64| layout::slot(value.min(Histogram::TOP));
    let ends = (held.min().map(slot), held.max().map(slot));
    if exact.min > exact.max || ends != (Some(slot(exact.min)), Some(slot(exact.max))) {
        return Err(FormError::Extremes);
    }
    let last = held
        .buckets()
        .last()
        .filter(|bucket| bucket.low == Histogram::TOP);
    let last = last.map_or(0, |bucket| bucket.count);
    let all = exact.min > Histogram::TOP;
    let some = exact.max > Histogram::TOP;
    let plausible = if all {
        exact.saturated == last
    } else {
        exact.saturated <= last
    };
    if !plausible || (exact.saturated > 0) != some {
        return Err(FormError::Saturated);
    }
    let is_possible = sum_is_possible(held, exact);
    is_possible.then_some(()).ok_or(FormError::Sum)
}

/// Whether the sum lies between that of the lower and that of the upper bounds. The last bucket
/// ends at the maximum. Where the count is full, samples were left out of it and only the lower
/// bound holds.
fn sum_is_possible(held: &Histogram, exact: Exact) -> bool {
    let (mut low, mut high) = (0_u128, 0_u128);
    for bucket in held.buckets() {
        let end = if bucket.low == Histogram::TOP {
            exact.max
        } else {
            bucket.high
        };
        low += u128::from(bucket.low) * u128::from(bucket.count);
        high += u128::from(end) * u128::from(bucket.count);
    }
    let stop = u128::from(u64::MAX);
    let sum = u128::from(exact.sum);
    low.min(stop) <= sum && (sum <= high.min(stop) || held.count_is_full())
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Form::from(self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn a_histogram_is_an_object_of_its_buckets_and_its_exact_figures() {
        let histogram = of(&[3, 5_001, Histogram::TOP + 9]);
        let wanted = json!({
            "hdr": histogram.to_hdr(), "count": 3, "min": 3, "max": 68_719_476_745_u64,
            "sum": 68_719_481_749_u64, "saturated": 1,
        });
        assert_eq!(serde_json::to_value(&histogram).unwrap(), wanted);
    }

    #[test]
    fn an_empty_histogram_has_null_extremes() {
        let value = serde_json::to_value(Histogram::new()).unwrap();
        assert_eq!(
            (&value["min"], &value["max"], &value["count"]),
            (&Value::Null, &Value::Null, &json!(0))
        );
        assert_eq!(
            serde_json::from_value::<Histogram>(value).unwrap(),
            Histogram::new()
        );
    }

    #[test]
    fn figures_that_do_not_agree_with_the_buckets_are_refused() {
        let full = of(&[3, 5_001, Histogram::TOP, Histogram::TOP + 9]);
        let none = Histogram::new();
        let high = of(&[Histogram::TOP + 5, Histogram::TOP + 9]);
        let cases: &[(&Histogram, &str, Value, &str)] = &[
            (&full, "hdr", json!("HIST"), "cut off"),
            (
                &full,
                "hdr",
                json!(of(&[3]).to_hdr()),
                "`count` is 4, but its buckets hold 1",
            ),
            (
                &full,
                "count",
                json!(5),
                "`count` is 5, but its buckets hold 4",
            ),
            (&full, "min", json!(2), "`min` and `max`"),
            (&full, "min", json!(null), "`min` and `max`"),
            (&full, "max", json!(5_001), "`min` and `max`"),
            (&full, "max", json!(Histogram::TOP), "`saturated`"),
            (&full, "saturated", json!(0), "`saturated`"),
            (&full, "saturated", json!(3), "`saturated`"),
            (&high, "saturated", json!(1), "`saturated`"),
            (&full, "sum", json!(0), "`sum`"),
            (&full, "sum", json!(u64::MAX), "`sum`"),
            (&none, "count", json!(1), "`count` is 1"),
            (&none, "min", json!(1), "`min` and `max`"),
            (&none, "sum", json!(1), "`sum`"),
            (&none, "saturated", json!(1), "`saturated`"),
            (&full, "count", json!(-4), "invalid value"),
            (&full, "max", json!("9"), "invalid type"),
        ];
        for (histogram, field, wrong, reason) in cases {
            let mut value = serde_json::to_value(histogram).unwrap();
            value[field] = wrong.clone();
            let error = serde_json::from_value::<Histogram>(value)
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{field} = {wrong}: {error}");
        }
    }

    #[test]
    fn extremes_of_an_empty_histogram_are_refused() {
        let mut value = serde_json::to_value(Histogram::new()).unwrap();
        value["min"] = json!(1);
        value["max"] = json!(1);
        assert!(serde_json::from_value::<Histogram>(value).is_err());
    }

    #[test]
    fn the_schema_names_every_field_and_lets_extremes_be_null() {
        let schema = schemars::schema_for!(Histogram).to_value();
        assert_eq!(schema["title"], "Histogram");
        let value = serde_json::to_value(of(&[1])).unwrap();
        let names: Vec<&String> = value.as_object().unwrap().keys().collect();
        let named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(named, names);
        assert_eq!(
            schema["properties"]["min"]["type"],
            json!(["integer", "null"])
        );
        assert_eq!(
            schema["required"],
            json!(["hdr", "count", "sum", "saturated"])
        );
    }

    proptest! {
        #[test]
        fn a_histogram_comes_back_as_it_was(
            values in proptest::collection::vec(
                (0_u32..64).prop_flat_map(|bits| 0..=1_u64 << bits),
                0..100,
            ),
            n in prop_oneof![Just(1), Just(1_u64 << 40), Just(u64::MAX)],
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record_n(*value, n));
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }
    }
}

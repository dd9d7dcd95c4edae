//! How often something happens: a rate per second, exact to a millionth.
//!
//! A whole number of millionths and not a float, so that the thousandth arrival of a rate is due at an instant that
//! anybody can compute, whatever was added up before.

use crate::parse::{Fault, multiplied};
use crate::{Nanos, ParseError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::str::FromStr;

/// A rate per second, in whole millionths; written into records as a number per second.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Parts in one a second: rates are whole millionths.
    pub(crate) const PARTS: u64 = 1_000_000;

    /// So many millionths a second, at most [`Rate::MOST`].
    pub(crate) fn of_parts(parts: u64) -> Rate {
        Rate(parts).min(Self::MOST)
    }

    /// How many millionths a second.
    pub(crate) fn parts(self) -> u64 {
        self.0
    }

    /// The highest rate: one a nanosecond, beyond which instants could not be told apart. (Every rate up to it is a
    /// float without loss.)
    pub const MOST: Rate = Rate(1_000_000_000 * Rate::PARTS);

    /// So many a second, at most [`Rate::MOST`].
    pub const fn per_second(whole: u64) -> Rate {
        let most = Self::MOST.0 / Rate::PARTS;
        Rate(if whole > most { most } else { whole } * Rate::PARTS)
    }

    /// So many a second, to the nearest millionth; none where that is no rate.
    pub fn of_f64(per_second: f64) -> Option<Rate> {
        let is_rate = (0.0..=Self::MOST.as_f64()).contains(&per_second);
        is_rate.then(|| Rate((per_second * Rate::PARTS as f64).round() as u64))
    }

    /// How many a second.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Rate::PARTS as f64
    }

    /// How long `number` of them take, in whole nanoseconds and never more; for ever ([`u64::MAX`]) beyond that, and at
    /// a rate of nothing.
    pub fn time_of(self, number: u64) -> Nanos {
        const PER_NANO: u128 = 1_000_000_000 * Rate::PARTS as u128;
        match (u128::from(number) * PER_NANO).checked_div(u128::from(self.0)) {
            Some(nanos) => Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
            None => Nanos::from_nanos(u64::MAX),
        }
    }

    /// How many of them `span` holds, the last one perhaps in part.
    pub fn number_in(self, span: Nanos) -> f64 {
        self.as_f64() * span.as_secs_f64()
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    /// Reads a number, perhaps with a fraction of up to six digits, perhaps with `k`, `m` or `g`, perhaps followed by
    /// `/s`.
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let number = text.strip_suffix("/s").unwrap_or(text);
        match multiplied(number, Rate::PARTS) {
            Ok(parts) if parts <= Self::MOST.0 => Ok(Rate(parts)),
            Ok(_) | Err(Fault::Large) => Err(ParseError::TooLarge(text.to_owned())),
            Err(Fault::Form) => Err(ParseError::Rate(text.to_owned())),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let per_second = f64::deserialize(deserializer)?;
        let wrong = || de::Error::custom(format!("{per_second} is not a rate"));
        Rate::of_f64(per_second).ok_or_else(wrong)
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A rate per second.",
            "type": "number",
            "minimum": 0,
            "maximum": Self::MOST.as_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_exactly_or_refused() {
        let cases: &[(&str, Option<u64>)] = &[
            ("0", Some(0)),
            ("1", Some(1_000_000)),
            ("0.5", Some(500_000)),
            ("0.000001", Some(1)),
            ("0.0000001", None),
            ("1k", Some(1_000_000_000)),
            ("10k/s", Some(10_000_000_000)),
            ("1.5M", Some(1_500_000_000_000)),
            ("1g", Some(1_000_000_000_000_000)),
            ("1.1g", None),
            ("99999999999999999999", None),
            ("-1", None),
            ("1/m", None),
            ("k", None),
            ("/s", None),
            ("", None),
            ("1e3", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(text.parse::<Rate>().ok(), wanted.map(Rate), "{text}");
        }
    }

    #[test]
    fn the_time_of_a_number_is_exact_however_large_it_is() {
        let cases: &[(&str, u64, u64)] = &[
            ("1k", 0, 0),
            ("1k", 7, 7_000_000),
            ("3", 1, 333_333_333),
            ("3", 3, 1_000_000_000),
            ("0.5", 3, 6_000_000_000),
            ("30k", 1_000_000_000_001, 33_333_333_333_366_666),
            ("1g", u64::MAX, u64::MAX),
            ("0.000001", u64::MAX, u64::MAX),
            ("0", 1, u64::MAX),
        ];
        for (rate, number, wanted) in cases {
            let rate: Rate = rate.parse().unwrap();
            assert_eq!(
                rate.time_of(*number).as_nanos(),
                *wanted,
                "{rate:?} {number}"
            );
        }
    }

    #[test]
    fn a_rate_comes_back_from_a_record_as_it_went() {
        for text in ["0.000001", "0.3", "9999.999999", "1g"] {
            let rate: Rate = text.parse().unwrap();
            let read: Rate = Rate::deserialize(
                de::value::F64Deserializer::<de::value::Error>::new(rate.as_f64()),
            )
            .unwrap();
            assert_eq!(read, rate, "{text}");
        }
        for wrong in [-1.0, 1e10, f64::NAN] {
            let read =
                Rate::deserialize(de::value::F64Deserializer::<de::value::Error>::new(wrong));
            assert!(read.is_err(), "{wrong}");
        }
    }
}

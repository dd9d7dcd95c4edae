//! Percentiles: which share of the samples lies at or below a value.
//!
//! A whole number of parts and not a float, so that two spellings of one percentile are equal and 99.9 is exact.

use crate::ParseError;
use crate::parse::scaled;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A percentile above 0 and below 100, exact to a millionth of a percent; written into records by its name, `p999`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u32);

impl Percentile {
    /// Parts of one percent.
    const PARTS: u64 = 1_000_000;

    /// The median.
    pub const P50: Percentile = Percentile(50_000_000);
    /// The 90th percentile.
    pub const P90: Percentile = Percentile(90_000_000);
    /// The 95th percentile.
    pub const P95: Percentile = Percentile(95_000_000);
    /// The 99th percentile.
    pub const P99: Percentile = Percentile(99_000_000);
    /// The 99.9th percentile.
    pub const P999: Percentile = Percentile(99_900_000);

    /// Those that are shown where no others are asked for.
    pub const DEFAULT: [Percentile; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    /// Returns it as a share of the samples, above 0 and below 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.0) / (100 * Self::PARTS) as f64
    }

    /// Returns the name that records and columns use: as shown (`p12.5`), from p90 on without the point (`p999`).
    pub fn key(self) -> String {
        let shown = self.to_string();
        match self < Percentile::P90 {
            true => shown,
            false => shown.replace('.', ""),
        }
    }

    /// Reads a list such as `50,75,99.99`, ascending, each percentile once.
    ///
    /// # Errors
    /// [`ParseError::Percentile`] with the first part that is none.
    pub fn list(text: &str) -> Result<Vec<Percentile>, ParseError> {
        let mut list: Vec<Percentile> = text
            .split(',')
            .map(|part| part.trim().parse())
            .collect::<Result<_, _>>()?;
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }
}

impl fmt::Display for Percentile {
    /// Writes `p50`, `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", f64::from(self.0) / Self::PARTS as f64)
    }
}

impl FromStr for Percentile {
    type Err = ParseError;

    /// Reads `99.9`, `p99.9`, and the name that records use, `p999`.
    fn from_str(text: &str) -> Result<Percentile, ParseError> {
        let wrong = || ParseError::Percentile(text.to_owned());
        let number = text.strip_prefix(['p', 'P']);
        let is_whole = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        let parts = match number {
            // Without its point: only percentiles of 90 and more have so many digits.
            Some(digits) if digits.len() > 2 && digits.starts_with('9') && is_whole(digits) => {
                scaled(&format!("{}.{}", &digits[..2], &digits[2..]), Self::PARTS)
            }
            _ => scaled(number.unwrap_or(text), Self::PARTS),
        };
        let parts = parts.map_err(|_| wrong())?;
        let is_inside = parts > 0 && parts < 100 * Self::PARTS;
        is_inside
            .then_some(Percentile(parts as u32))
            .ok_or_else(wrong)
    }
}

impl Serialize for Percentile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }
}

impl<'de> Deserialize<'de> for Percentile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Percentile, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        name.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_percentile_is_the_same_one() {
        let cases: &[(&str, Option<&str>)] = &[
            ("50", Some("p50")),
            ("p50", Some("p50")),
            ("P99", Some("p99")),
            ("99.9", Some("p99.9")),
            ("p99.90", Some("p99.9")),
            ("p999", Some("p99.9")),
            ("p9999", Some("p99.99")),
            ("99.999999", Some("p99.999999")),
            ("0.5", Some("p0.5")),
            ("p12.5", Some("p12.5")),
            ("5.5", Some("p5.5")),
            ("7", Some("p7")),
            ("999", None),
            ("p500", None),
            ("100", None),
            ("p100", None),
            ("0", None),
            ("99.9999999", None),
            ("-1", None),
            ("p", None),
            ("p9€9", None),
            ("", None),
            ("max", None),
        ];
        for (text, wanted) in cases {
            let read = text.parse::<Percentile>().ok();
            assert_eq!(read.map(|p| p.to_string()).as_deref(), *wanted, "{text}");
            assert_eq!(read.map(|p| p.key().parse()), read.map(Ok), "{text}");
        }
    }

    #[test]
    fn quantiles_are_those_of_decimal_arithmetic() {
        let each = [
            Percentile::P50,
            Percentile::P90,
            Percentile::P95,
            Percentile::P99,
            Percentile::P999,
        ];
        assert_eq!(
            each.map(Percentile::quantile),
            [0.5, 0.9, 0.95, 0.99, 0.999]
        );
        assert_eq!(
            each.map(Percentile::key),
            ["p50", "p90", "p95", "p99", "p999"]
        );
    }

    #[test]
    fn a_list_is_ascending_and_has_each_once() {
        let list = Percentile::list("99.99, 50,75,p50,95").unwrap();
        let shown: Vec<String> = list.iter().map(Percentile::to_string).collect();
        assert_eq!(shown, ["p50", "p75", "p95", "p99.99"]);
        let error = Percentile::list("50,,99").unwrap_err();
        assert_eq!(error, ParseError::Percentile(String::new()));
    }
}

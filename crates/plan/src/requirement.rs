//! What a result must be: `p99<20ms`, `errors<0.1%`, `reliable`.
//!
//! Here is the grammar alone. Which figures exist, and what they are, is known where they are computed: so a bound keeps
//! its text, and is read in the figure's unit (`2m` is two minutes of a latency and two million of a rate).

use crate::Tolerance;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use units::{Nanos, Rate};

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// No figure is void.
    Reliable,
    /// A figure lies on one side of a bound.
    Figure(Comparison),
}

/// A figure with its bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The figure's name.
    pub figure: String,
    /// How the figure must compare to the bound.
    pub operator: Operator,
    /// The bound.
    pub bound: Bound,
}

/// How a figure must compare to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

/// A bound as it was written, without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound(String);

/// Why a text is no requirement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a requirement; write such as p99<20ms, errors<0.1%, rps>10k or reliable, several with commas"
)]
pub struct RequirementError(String);

impl Comparison {
    /// Whether it is about the number of all errors.
    pub fn counts_errors(&self) -> bool {
        ["errors", "errors.total"].contains(&self.figure.as_str())
    }
}

impl Operator {
    /// The operators by their signs; a longer sign stands before the one that it begins with.
    const SIGNS: [(&str, Operator); 5] = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Below),
        (">", Operator::Above),
        ("=", Operator::Equal),
    ];

    /// The sign.
    pub fn sign(self) -> &'static str {
        let mut signs = Operator::SIGNS.iter();
        let row = signs.find(|(_, operator)| *operator == self);
        row.expect("every operator has a row").0
    }

    /// Whether `value` compares so to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Operator::Below => value < bound,
            Operator::AtMost => value <= bound,
            Operator::Above => value > bound,
            Operator::AtLeast => value >= bound,
            Operator::Equal => value == bound,
        }
    }

    /// Whether it limits a figure from below.
    pub fn is_lower(self) -> bool {
        matches!(self, Operator::Above | Operator::AtLeast)
    }

    /// Whether it limits a figure from above.
    pub fn is_upper(self) -> bool {
        matches!(self, Operator::Below | Operator::AtMost)
    }
}

impl Bound {
    /// A span of time in nanoseconds; none without a unit, as a bare number would be seconds.
    pub fn time(&self) -> Option<Nanos> {
        let span = self.0.parse().ok()?;
        self.0.ends_with(['s', 'm', 'h']).then_some(span)
    }

    /// A share, 0 to 1, written in percent.
    pub fn share(&self) -> Option<f64> {
        let percent: f64 = self.0.strip_suffix('%')?.parse().ok()?;
        (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
    }

    /// A number, perhaps with `k`, `m` or `g`.
    pub fn number(&self) -> Option<f64> {
        self.0.parse().ok().map(Rate::as_f64)
    }

    /// A size in bytes: `512`, `10KiB`, `1.5MiB`, `2GiB`.
    pub fn bytes(&self) -> Option<f64> {
        const UNITS: [(&str, u64); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("B", 0)];
        let scaled = UNITS.iter().find_map(|(unit, shift)| {
            let number = self.0.strip_suffix(unit)?;
            Some((number, (1u64 << shift) as f64))
        });
        let (number, scale) = scaled.unwrap_or((&self.0, 1.0));
        let number: f64 = number.parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number * scale)
    }

    /// Whether it can be read in any unit.
    fn is_sound(&self) -> bool {
        self.time().is_some()
            || self.share().is_some()
            || self.number().is_some()
            || self.bytes().is_some()
    }
}

impl Requirement {
    /// Whether it limits all errors, of whatever kind.
    pub fn limits_errors(&self) -> bool {
        matches!(self, Requirement::Figure(compared) if compared.counts_errors() || ["errors.share", "error_share", "error_rate"].contains(&compared.figure.as_str()))
    }

    /// Whether it limits all errors to a share of the requests that is not the whole.
    pub fn limits_error_share(&self) -> bool {
        let Requirement::Figure(compared) = self else {
            return false;
        };
        self.limits_errors() && compared.bound.share().is_some_and(|share| share < 1.0)
    }
}

/// What a number of tolerated errors requires.
pub(crate) fn at_most_errors(tolerance: Tolerance) -> Requirement {
    let bound = match tolerance {
        // Rounded to what anybody writes: 0.07 is 7.000000000000001 % in binary.
        Tolerance::Share(share) => format!("{}%", (share * 1e12).round() / 1e10),
        Tolerance::Count(count) => count.to_string(),
    };
    Requirement::Figure(Comparison {
        figure: "errors".into(),
        operator: Operator::AtMost,
        bound: Bound(bound),
    })
}

impl FromStr for Requirement {
    type Err = RequirementError;

    /// Reads one requirement; spaces do not matter.
    fn from_str(text: &str) -> Result<Requirement, RequirementError> {
        let bare: String = text.split_whitespace().collect();
        if bare == "reliable" {
            return Ok(Requirement::Reliable);
        }
        let compared = comparison(&bare).map(Requirement::Figure);
        compared.ok_or_else(|| RequirementError(text.trim().to_owned()))
    }
}

fn comparison(text: &str) -> Option<Comparison> {
    let at = text.find(['<', '>', '='])?;
    let (figure, rest) = text.split_at(at);
    let mut signs = Operator::SIGNS.iter();
    let (sign, operator) = signs.find(|(sign, _)| rest.starts_with(sign))?;
    let bound = Bound(rest[sign.len()..].to_owned());
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
    let is_sound = !figure.is_empty() && figure.chars().all(is_name) && bound.is_sound();
    is_sound.then(|| Comparison {
        figure: figure.to_owned(),
        operator: *operator,
        bound,
    })
}

/// Reads requirements that are separated by commas.
///
/// # Errors
/// [`RequirementError`] with the first that is none.
pub fn requirements(text: &str) -> Result<Vec<Requirement>, RequirementError> {
    text.split(',').map(str::parse).collect()
}

/// The quantile, 0 to 1, that is called so: `p50`, `p99.9` (or `p999`), `max`.
pub fn quantile(name: &str) -> Option<f64> {
    if name == "max" {
        return Some(1.0);
    }
    let digits = name.strip_prefix('p')?;
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let percent: f64 = match digits.strip_prefix("99") {
        _ if !digits.chars().all(is_number) => return None,
        Some(rest) if !rest.starts_with('.') => format!("99.{rest}0").parse().ok()?,
        _ => digits.parse().ok()?,
    };
    (0.0 < percent && percent < 100.0).then(|| (percent * 1e6).round() / 1e8)
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::Reliable => f.write_str("reliable"),
            Requirement::Figure(compared) => compared.fmt(f),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison {
            figure,
            operator,
            bound,
        } = self;
        write!(f, "{figure}{}{}", operator.sign(), bound.0)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Requirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Requirement, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Requirement {
    fn schema_name() -> Cow<'static, str> {
        "Requirement".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a result must be: a figure, an operator and a bound, such as p99<20ms; or reliable.",
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_and_shown_as_they_were_written() {
        let cases = [
            ("p99 < 20ms", "p99<20ms"),
            ("errors<0.1 %", "errors<0.1%"),
            ("rps>10k", "rps>10k"),
            ("errors <= 5", "errors<=5"),
            ("status_5xx=0", "status_5xx=0"),
            ("p99.9>=1m30s", "p99.9>=1m30s"),
            ("latency_us.p99<2s", "latency_us.p99<2s"),
            ("memory<1.5MiB", "memory<1.5MiB"),
            (" reliable ", "reliable"),
        ];
        for (text, shown) in cases {
            let read: Requirement = text.parse().unwrap();
            assert_eq!(read.to_string(), shown);
            assert_eq!(shown.parse(), Ok(read.clone()));
            let stored = serde_json::to_string(&read).unwrap();
            assert_eq!(stored, format!("\"{shown}\""));
            assert_eq!(serde_json::from_str::<Requirement>(&stored).unwrap(), read);
        }
        let several = requirements("errors<1%, reliable,p50<1ms").unwrap();
        let shown: Vec<String> = several.iter().map(Requirement::to_string).collect();
        assert_eq!(shown, ["errors<1%", "reliable", "p50<1ms"]);
    }

    #[test]
    fn what_is_no_requirement_is_refused_with_what_was_read() {
        let wrong = [
            "",
            "p99",
            "p99<",
            "<20ms",
            "p99!20ms",
            "p99=>20ms",
            "p99==20ms",
            "p99<20 parsecs",
            "p99<-1ms",
            "errors<101%",
            "errors<NaN%",
            "rps>inf",
            "p 99<ms",
            "rel iable!",
            "p99<10ms,",
            "a-b<1",
            "\"p99\"<1",
        ];
        for text in wrong {
            let read = requirements(text);
            assert!(read.is_err(), "{text}: {read:?}");
        }
        let said = requirements("p50<1ms, p99~2").unwrap_err().to_string();
        assert!(said.starts_with("`p99~2` is not a requirement; "), "{said}");
    }

    #[test]
    fn a_bound_is_read_in_the_unit_of_its_figure() {
        let bound = |text: &str| Bound(text.to_owned());
        assert_eq!(bound("2m").time(), Some(Nanos::from_secs(120)));
        assert_eq!(bound("2m").number(), Some(2e6));
        assert_eq!(bound("20").time(), None, "a bare number is no time");
        assert_eq!(bound("0.1%").share(), Some(0.001));
        assert_eq!(bound("0.1").share(), None);
        assert_eq!(bound("10k").number(), Some(10_000.0));
        assert_eq!(bound("1.5MiB").bytes(), Some(1_572_864.0));
        assert_eq!(bound("512").bytes(), Some(512.0));
        assert_eq!(bound("512B").bytes(), Some(512.0));
        assert_eq!(bound("-1").bytes(), None);
    }

    #[test]
    fn any_percentile_has_a_name() {
        let cases = [
            ("p50", Some(0.5)),
            ("p95", Some(0.95)),
            ("p99.9", Some(0.999)),
            ("p999", Some(0.999)),
            ("p99", Some(0.99)),
            ("p99.999", Some(0.99999)),
            ("p05", Some(0.05)),
            ("max", Some(1.0)),
            ("p100", None),
            ("p00", None),
            ("p5", Some(0.05)),
            ("p", None),
            ("p99.9.9", None),
            ("pmm", None),
            ("rps", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(quantile(name), wanted, "{name}");
        }
    }

    #[test]
    fn operators_differ_at_the_bound() {
        let at_the_bound = [
            (Operator::Below, false),
            (Operator::AtMost, true),
            (Operator::Above, false),
            (Operator::AtLeast, true),
            (Operator::Equal, true),
        ];
        for (operator, holds) in at_the_bound {
            assert_eq!(operator.holds(2.0, 2.0), holds, "{operator:?}");
            assert_eq!(operator.holds(1.0, 2.0), operator.is_upper());
        }
    }
}

//! What a result must be: `p99<20ms`, `errors<0.1%`, `reliable`.
//!
//! Here is the grammar alone. Which figures exist, and what they are, is known where they are computed: so a bound keeps
//! its text, and is read in the figure's unit (`2m` is two minutes of a latency and two million of a rate).

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

/// Requirements that must all hold at a rate, for which a search looks: percentiles of latency under a time, and errors
/// under a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions(pub Vec<Requirement>);

/// Why a text is no requirement, or none of those that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a {kind}, several with commas")]
pub struct RequirementError {
    text: String,
    kind: &'static str,
}

const REQUIREMENT: &str = "requirement; write such as p99<20ms, errors<0.1%, rps>10k or reliable";
const CONDITION: &str = "condition; write such as p99<10ms, max<1s or errors<1%";

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
    /// Returns the limit on errors that goes without saying: 1 % of the requests.
    pub fn few_errors() -> Requirement {
        Requirement::at_most_errors("1%").expect("a share")
    }

    /// Returns the requirement that at most `bound` requests fail: a share such as `0.5%`, or a number such as `1k`.
    ///
    /// # Errors
    /// The sentence that says how to write it.
    pub fn at_most_errors(bound: &str) -> Result<Requirement, String> {
        let bound = Bound(bound.to_owned());
        let is_count = units::parse_count(&bound.0).is_ok();
        if bound.share().is_none() && !is_count {
            let remedy = "is neither a share nor a number; write 0.5% or 100";
            return Err(format!("`{bound}` {remedy}"));
        }
        Ok(Requirement::Figure(Comparison {
            figure: "errors".into(),
            operator: Operator::AtMost,
            bound,
        }))
    }

    /// Returns whether it limits all errors, of whatever kind.
    pub fn limits_errors(&self) -> bool {
        let shares = ["errors.share", "error_share", "error_rate"];
        matches!(self, Requirement::Figure(compared) if compared.counts_errors() || shares.contains(&compared.figure.as_str()))
    }

    /// Returns whether it allows `errors` of `requests` to fail; true where it is about something else.
    pub fn allows_errors(&self, errors: u64, requests: u64) -> bool {
        let Requirement::Figure(compared) = self else {
            return true;
        };
        let share = compared.bound.share();
        // 29 % of 100 is 28.999999999999996 in binary.
        let share = share.map(|share| share * requests as f64 * (1.0 + 1e-12));
        let most = share.or(compared.bound.number()).unwrap_or_default();
        !self.limits_errors() || compared.operator.holds(errors as f64, most)
    }

    /// Returns the quantile of latency, 0 to 1, that must lie under a time, with that time.
    pub fn latency_below(&self) -> Option<(f64, Nanos)> {
        let compared = self.below()?;
        let time = compared.bound.time()?;
        quantile(&compared.figure).zip((time > Nanos::ZERO).then_some(time))
    }

    /// Returns the share of errors under which a rate must stay.
    pub fn errors_below(&self) -> Option<f64> {
        let compared = self.below()?;
        let share = compared.bound.share().filter(|share| *share > 0.0);
        share.filter(|_| compared.figure == "errors")
    }

    fn below(&self) -> Option<&Comparison> {
        match self {
            Requirement::Figure(compared) if compared.operator == Operator::Below => Some(compared),
            _ => None,
        }
    }
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
        compared.ok_or_else(|| RequirementError {
            text: text.trim().to_owned(),
            kind: REQUIREMENT,
        })
    }
}

impl FromStr for Conditions {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Conditions, RequirementError> {
        let condition = |text: &str| {
            let read = text.parse().ok();
            let fits = |read: &Requirement| {
                read.latency_below().is_some() || read.errors_below().is_some()
            };
            read.filter(fits).ok_or_else(|| RequirementError {
                text: text.trim().to_owned(),
                kind: CONDITION,
            })
        };
        text.split(',')
            .map(condition)
            .collect::<Result<_, _>>()
            .map(Conditions)
    }
}

impl fmt::Display for Conditions {
    /// Writes `p99 < 10.0 ms, errors < 1 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().map(Requirement::spaced).collect();
        f.write_str(&shown.join(", "))
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
fn quantile(name: &str) -> Option<f64> {
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

impl Requirement {
    /// Returns the text of a condition for people: `p99 < 10.0 ms`.
    pub fn spaced(&self) -> String {
        let time = self.latency_below().map(|(_, below)| units::span(below));
        let bound = time.or_else(|| self.errors_below().map(units::percent));
        match (self, bound) {
            (Requirement::Figure(compared), Some(bound)) => {
                format!("{} < {bound}", compared.figure)
            }
            _ => self.to_string(),
        }
    }
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

/// A requirement as it is recorded; conditions of searches and allowed errors had forms of their own before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Older(Older),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Older {
    Latency { quantile: f64, below: Nanos },
    Errors { below: f64 },
    Share(f64),
    Count(u64),
}

impl<'de> Deserialize<'de> for Requirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Requirement, D::Error> {
        // Rounded to what was written: 0.07 is 7.000000000000001 % in binary.
        let percent = |share: f64| (share * 1e12).round() / 1e10;
        let nanos = |below: Nanos| format!("{}ns", below.as_nanos());
        let text = match Stored::deserialize(deserializer)? {
            Stored::Text(text) => text,
            Stored::Older(Older::Latency {
                quantile: 1.0,
                below,
            }) => format!("max<{}", nanos(below)),
            Stored::Older(Older::Latency { quantile, below }) => {
                format!("p{}<{}", percent(quantile), nanos(below))
            }
            Stored::Older(Older::Errors { below }) => format!("errors<{}%", percent(below)),
            Stored::Older(Older::Share(share)) => format!("errors<={}%", percent(share)),
            Stored::Older(Older::Count(count)) => format!("errors<={count}"),
        };
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Requirement {
    fn schema_name() -> Cow<'static, str> {
        "Requirement".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a result must be: a figure, an operator and a bound, such as p99<20ms; or reliable. Some older records have an object.",
            "type": ["string", "object"],
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
    #[test]
    fn conditions_of_a_search_are_read_as_they_are_meant_and_shown_again() {
        let cases = [
            ("p99<10ms", "p99 < 10.0 ms"),
            ("p99.9 < 1s , errors<0.5%", "p99.9 < 1.00 s, errors < 0.5 %"),
            ("max<250us", "max < 250 us"),
            ("p57<2m", "p57 < 2 min"),
        ];
        for (text, shown) in cases {
            let read: Conditions = text.parse().unwrap();
            assert_eq!(read.to_string(), shown);
        }
        let both: Conditions = "p50<1ms,errors<1%".parse().unwrap();
        assert_eq!(
            both.0[0].latency_below(),
            Some((0.5, Nanos::from_millis(1)))
        );
        assert_eq!(both.0[1].errors_below(), Some(0.01));
        let wrong = [
            "",
            "p99",
            "p99<",
            "p99<10",
            "p99>10ms",
            "p99<=10ms",
            "p100<10ms",
            "reliable",
            "p99<0ms",
            "errors<1",
            "errors<0%",
            "errors<101%",
            "errors<NaN%",
            "latency<1ms",
            "p99<10ms,",
            "p99<-1ms",
        ];
        for text in wrong {
            let read = text.parse::<Conditions>();
            assert!(read.is_err(), "{text}: {read:?}");
        }
        let said = "p50<1ms, p99=2".parse::<Conditions>().unwrap_err();
        assert!(
            said.to_string().starts_with("`p99=2` is not a condition; "),
            "{said}"
        );
    }

    #[test]
    fn allowed_errors_are_a_share_or_a_number() {
        let cases = [
            ("0.5%", 5, true),
            ("0.5%", 6, false),
            ("6", 6, true),
            ("1k", 1_001, false),
        ];
        for (bound, errors, wanted) in cases {
            let limit = Requirement::at_most_errors(bound).unwrap();
            assert_eq!(limit.allows_errors(errors, 1_000), wanted, "{bound}");
        }
        assert!(
            "p99<1ms"
                .parse::<Requirement>()
                .unwrap()
                .allows_errors(1, 1)
        );
        for wrong in ["%", "101%", "-1%", "x", "NaN%", "5s", "0.5"] {
            assert!(Requirement::at_most_errors(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_limit_on_errors_gives_way_to_a_requirement_and_a_given_one_does_not() {
        let mut plan = crate::Plan::example("127.0.0.1:1".parse().unwrap());
        let texts = |plan: &crate::Plan| -> Vec<String> {
            plan.required().iter().map(Requirement::to_string).collect()
        };
        assert_eq!(texts(&plan), ["errors<=1%"]);
        plan.requirements = requirements("errors<2%").unwrap();
        assert_eq!(texts(&plan), ["errors<2%"]);
        plan.max_errors = Requirement::at_most_errors("5").unwrap();
        assert_eq!(texts(&plan), ["errors<=5", "errors<2%"]);
    }

    #[test]
    fn what_records_held_before_requirements_is_read() {
        let cases = [
            (
                r#"{"latency":{"quantile":0.999,"below":10000000}}"#,
                "p99.9<10000000ns",
            ),
            (r#"{"latency":{"quantile":1.0,"below":7}}"#, "max<7ns"),
            (r#"{"errors":{"below":0.07}}"#, "errors<7%"),
            (r#"{"share":0.07}"#, "errors<=7%"),
            (r#"{"count":1000}"#, "errors<=1000"),
            (r#""errors<1%""#, "errors<1%"),
        ];
        for (stored, shown) in cases {
            let read: Requirement = serde_json::from_str(stored).unwrap();
            assert_eq!(read.to_string(), shown);
        }
    }
}

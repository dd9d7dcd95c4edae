//! What must hold at a rate that a search tries: `p99<10ms`, `errors<1%`, several with commas. A part of what can be
//! required of a result, in the same grammar.

use crate::requirement::{Operator, Requirement, quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use units::Nanos;

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions(pub Vec<Condition>);

/// One condition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A quantile of latency (0 to 1, by nearest rank; 1 is the maximum) is under a span.
    Latency {
        /// Which.
        quantile: f64,
        /// The span.
        below: Nanos,
    },
    /// The share of the exchanges that did not end well is under a share, 0 to 1.
    Errors {
        /// The share.
        below: f64,
    },
}

/// Why there is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a condition; write such as p99<10ms, max<1s or errors<1%, several with commas"
)]
pub struct ConditionError(String);

impl FromStr for Conditions {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Conditions, ConditionError> {
        let conditions = text.split(',').map(|part| {
            condition(part.trim()).ok_or_else(|| ConditionError(part.trim().to_owned()))
        });
        Ok(Conditions(conditions.collect::<Result<_, _>>()?))
    }
}

fn condition(text: &str) -> Option<Condition> {
    let Requirement::Figure(compared) = text.parse().ok()? else {
        return None;
    };
    if compared.operator != Operator::Below {
        return None;
    }
    if compared.figure == "errors" {
        let below = compared.bound.share().filter(|share| *share > 0.0)?;
        return Some(Condition::Errors { below });
    }
    let quantile = quantile(&compared.figure)?;
    let below = compared.bound.time().filter(|span| *span > Nanos::ZERO)?;
    Some(Condition::Latency { quantile, below })
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, condition) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Latency { quantile, below } => {
                match quantile {
                    1.0 => f.write_str("max")?,
                    // Rounded to what anybody writes: 0.57 * 100 is 56.99999999999999 in binary.
                    share => write!(f, "p{}", (share * 1e8).round() / 1e6)?,
                }
                write!(f, " < {}", units::span(*below))
            }
            Condition::Errors { below } => write!(f, "errors < {}", units::percent(*below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_meant_and_shown_again() {
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
        let wanted = [
            Condition::Latency {
                quantile: 0.5,
                below: Nanos::from_millis(1),
            },
            Condition::Errors { below: 0.01 },
        ];
        assert_eq!(both.0, wanted);
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_was_read() {
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
        assert!(said.to_string().starts_with("`p99=2` is not"), "{said}");
    }
}

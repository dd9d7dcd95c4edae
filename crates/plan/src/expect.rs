//! What a right response is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// Which responses are expected; any other is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// Expected statuses.
    pub statuses: Vec<StatusRange>,
    /// The expected body, if it is known.
    pub body: Option<BodyExpectation>,
}

impl Expect {
    /// Whether `status` is one of the expected statuses.
    pub fn holds(&self, status: u16) -> bool {
        let mut ranges = self.statuses.iter();
        ranges.any(|range| (range.first..=range.last).contains(&status))
    }
}

impl Default for Expect {
    /// 2xx and 3xx are right, whatever their body.
    fn default() -> Self {
        Expect {
            statuses: vec![StatusRange {
                first: 200,
                last: 399,
            }],
            body: None,
        }
    }
}

/// Statuses from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl FromStr for StatusRange {
    type Err = String;

    /// Reads `200`, `2xx` or `200..299`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a status; write 200, 2xx, or @FILE for a body");
        let number = |digits: &str| match digits.parse::<u16>() {
            Ok(status @ 100..=999) if digits.len() == 3 => Ok(status),
            _ => Err(wrong()),
        };
        if let Some(class) = text.strip_suffix("xx") {
            let first = number(&format!("{class}00"))?;
            return Ok(StatusRange {
                first,
                last: first + 99,
            });
        }
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first > last {
            Err(wrong())
        } else {
            Ok(StatusRange { first, last })
        }
    }
}

/// The expected body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyExpectation {
    /// The file that holds it.
    pub path: PathBuf,
    /// Its length in bytes when the plan was made.
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_or_refused() {
        let cases: &[(&str, Option<(u16, u16)>)] = &[
            ("200", Some((200, 200))),
            ("2xx", Some((200, 299))),
            ("200..204", Some((200, 204))),
            ("204..200", None),
            ("20", None),
            ("0200", None),
            ("xx", None),
            ("ok", None),
        ];
        for (text, wanted) in cases {
            let read = text
                .parse::<StatusRange>()
                .ok()
                .map(|range| (range.first, range.last));
            assert_eq!(read, *wanted, "{text}");
        }
    }
}

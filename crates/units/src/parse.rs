//! How people write quantities: `10k`, `1m`, `500ms`, `2m30s`.

use crate::Nanos;
use std::str::FromStr;
use thiserror::Error;

/// Why a quantity could not be read; its text names the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// Not a count such as `1000`, `10k` or `1m`.
    #[error("`{0}` is not a count; write a whole number such as 1000, 10k, 1.5m or 2g")]
    Count(String),
    /// Not a span of time such as `500ms`.
    #[error("`{0}` is not a duration; write a number with a unit such as 500ms, 10s, 2m or 1m30s")]
    Span(String),
    /// Not a rate such as `1k` or `0.5`.
    #[error(
        "`{0}` is not a rate; write a number a second such as 100, 10k or 0.5, with six decimals at most"
    )]
    Rate(String),
    /// Not a range such as `1..1000:10`.
    #[error(
        "`{0}` is not a range, or has no step; write FROM..TO:STEP such as 1..1000:10, FROM..TO*FACTOR such as 1..1000*2, or \
         a list such as 1,2,4"
    )]
    Range(String),
    /// Not a percentile such as `99.9`.
    #[error("`{0}` is not a percentile; write a number between 0 and 100 such as 50, 99 or 99.9")]
    Percentile(String),
    /// The same value in a list again.
    #[error("`{0}` has a value twice; write each once")]
    Twice(String),
    /// More values than can be measured.
    #[error("`{0}` has more than 10,000 values; take larger steps")]
    ManyValues(String),
    /// Larger than can be counted.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// Reads a count: digits, perhaps a fraction, perhaps `k`, `m` or `g` (powers of 1000, either case).
///
/// # Errors
/// [`ParseError::Count`] for anything else, or when the result is no whole number; [`ParseError::TooLarge`] beyond u64.
pub fn parse_count(text: &str) -> Result<u64, ParseError> {
    multiplied(text, 1).map_err(|fault| match fault {
        Fault::Form => ParseError::Count(text.to_owned()),
        Fault::Large => ParseError::TooLarge(text.to_owned()),
    })
}

/// A number in units of which one has so many `parts`; it may end in `k`, `m` or `g`.
pub(crate) fn multiplied(text: &str, parts: u64) -> Result<u64, Fault> {
    let unit = text.chars().last().map(|last| last.to_ascii_lowercase());
    let scale = match unit {
        Some('k') => 1_000,
        Some('m') => 1_000_000,
        Some('g') => 1_000_000_000,
        _ => return scaled(text, parts),
    };
    scaled(&text[..text.len() - 1], scale * parts)
}

impl FromStr for Nanos {
    type Err = ParseError;

    /// Reads one or more numbers, each with a unit of `ns`, `us` (or `µs`), `ms`, `s`, `m`, `h`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Nanos, ParseError> {
        let wrong = || ParseError::Span(text.to_owned());
        let mut rest = text;
        let mut total: u64 = 0;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(rest.len());
            let tail = &rest[digits..];
            let letters = tail
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(tail.len());
            let unit = &tail[..letters];
            let scale = match unit {
                "ns" => 1,
                "us" | "µs" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "m" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "" if digits == text.len() => 1_000_000_000,
                _ => return Err(wrong()),
            };
            let part = scaled(&rest[..digits], scale).map_err(|fault| match fault {
                Fault::Form => wrong(),
                Fault::Large => ParseError::TooLarge(text.to_owned()),
            })?;
            total = total
                .checked_add(part)
                .ok_or_else(|| ParseError::TooLarge(text.to_owned()))?;
            rest = &tail[letters..];
        }
        Ok(Nanos::from_nanos(total))
    }
}

/// Why digits are no quantity.
pub(crate) enum Fault {
    Form,
    Large,
}

/// `digits` times `scale`, exact: no floating point, so that 1.001k is 1001 and never 1000.
pub(crate) fn scaled(digits: &str, scale: u64) -> Result<u64, Fault> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || !fits(whole)
        || !fits(fraction)
        || digits.ends_with('.')
        || fraction.len() > 18
    {
        return Err(Fault::Form);
    }
    let whole: u128 = whole.parse().map_err(|_| Fault::Large)?;
    let places = 10u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| Fault::Form)?
    };
    let scaled = whole
        .checked_mul(places)
        .and_then(|whole| whole.checked_add(fraction))
        .and_then(|all| all.checked_mul(u128::from(scale)))
        .ok_or(Fault::Large)?;
    if scaled % places != 0 {
        return Err(Fault::Form);
    }
    u64::try_from(scaled / places).map_err(|_| Fault::Large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_exactly_or_refused() {
        let cases: &[(&str, Option<u64>)] = &[
            ("0", Some(0)),
            ("1000", Some(1_000)),
            ("10k", Some(10_000)),
            ("1M", Some(1_000_000)),
            ("1.5m", Some(1_500_000)),
            ("1.001k", Some(1_001)),
            ("2g", Some(2_000_000_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1.5", None),
            ("1.", None),
            (".5k", None),
            ("k", None),
            ("", None),
            ("-1", None),
            ("1kk", None),
            ("µ", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_count(text).ok(), *wanted, "{text}");
        }
    }

    #[test]
    fn spans_are_read_exactly_or_refused() {
        let cases: &[(&str, Option<u64>)] = &[
            ("10", Some(10_000_000_000)),
            ("0.5s", Some(500_000_000)),
            ("500ms", Some(500_000_000)),
            ("2m30s", Some(150_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            ("7us", Some(7_000)),
            ("7µs", Some(7_000)),
            ("1ns", Some(1)),
            ("0.5ns", None),
            ("2m30", None),
            ("ms", None),
            ("", None),
            ("-1s", None),
            ("10x", None),
            ("999999999999h", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(
                text.parse::<Nanos>().ok().map(Nanos::as_nanos),
                *wanted,
                "{text}"
            );
        }
    }
}

//! Several values of one quantity, as people write them: `1..1000:10`, `1..1000*2`, `1,2,4,8`.

use crate::parse::{Fault, multiplied, parse_count};
use crate::{ParseError, Rate};
use std::str::FromStr;

/// Values in the order in which they were written, each once; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series<T>(pub Vec<T>);

/// The most values of one series.
const MOST: usize = 10_000;

impl<T: Copy> Series<T> {
    /// The first value.
    pub fn first(&self) -> T {
        self.0[0]
    }

    /// The only value; none where there are several.
    pub fn only(&self) -> Option<T> {
        match self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl FromStr for Series<u32> {
    type Err = ParseError;

    /// Reads counts: single ones, `FROM..TO:STEP`, `FROM..TO*FACTOR`, or several of these with commas. From 1 the first
    /// step goes to STEP, so that `1..1000:10` is 1, 10, 20, ... 1000.
    fn from_str(text: &str) -> Result<Series<u32>, ParseError> {
        let values = series(text, 1, parse_count)?;
        let narrow =
            |value: u64| u32::try_from(value).map_err(|_| ParseError::TooLarge(text.to_owned()));
        Ok(Series(
            values.into_iter().map(narrow).collect::<Result<_, _>>()?,
        ))
    }
}

impl FromStr for Series<Rate> {
    type Err = ParseError;

    /// Reads rates, in the same forms as counts.
    fn from_str(text: &str) -> Result<Series<Rate>, ParseError> {
        let read = |text: &str| text.parse::<Rate>().map(Rate::parts);
        let values = series(text, Rate::PARTS, read)?;
        Ok(Series(values.into_iter().map(Rate::of_parts).collect()))
    }
}

/// The values that `text` lists, as whole numbers of which `one` make 1.
fn series(
    text: &str,
    one: u64,
    read: impl Fn(&str) -> Result<u64, ParseError>,
) -> Result<Vec<u64>, ParseError> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => values.push(read(part)?),
            Some((from, rest)) => {
                let range = range(text, from, rest, &read)?;
                values.extend(range.values(one).take(MOST + 1));
            }
        }
        if values.len() > MOST {
            return Err(ParseError::ManyValues(text.to_owned()));
        }
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(_) => Err(ParseError::Twice(text.to_owned())),
        None => Ok(values),
    }
}

/// `FROM..TO` with what leads from one value to the next.
struct Range {
    from: u64,
    to: u64,
    stride: Stride,
}

enum Stride {
    Step(u64),
    /// A factor, in millionths.
    Factor(u64),
}

/// Millionths in a factor of 1.
const FACTOR_PARTS: u64 = 1_000_000;

fn range(
    text: &str,
    from: &str,
    rest: &str,
    read: impl Fn(&str) -> Result<u64, ParseError>,
) -> Result<Range, ParseError> {
    let wrong = || ParseError::Range(text.to_owned());
    let (to, stride) = if let Some((to, step)) = rest.split_once(':') {
        (to, Stride::Step(read(step)?))
    } else if let Some((to, factor)) = rest.split_once('*') {
        let factor = multiplied(factor, FACTOR_PARTS).map_err(|fault| match fault {
            Fault::Form => wrong(),
            Fault::Large => ParseError::TooLarge(text.to_owned()),
        })?;
        (to, Stride::Factor(factor))
    } else {
        return Err(wrong());
    };
    let range = Range {
        from: read(from)?,
        to: read(to)?,
        stride,
    };
    let moves = match range.stride {
        Stride::Step(step) => step > 0,
        Stride::Factor(factor) => factor > FACTOR_PARTS && range.from > 0,
    };
    if moves && range.from <= range.to {
        Ok(range)
    } else {
        Err(wrong())
    }
}

impl Range {
    /// From `from` on, up to `to`; `one` is 1.
    fn values(&self, one: u64) -> impl Iterator<Item = u64> {
        let next = move |value: u64| match self.stride {
            // Round numbers are asked for: the first step from 1 goes to the step itself.
            Stride::Step(step) if value == one && self.from == one && step > one => Some(step),
            Stride::Step(step) => value.checked_add(step),
            Stride::Factor(factor) => {
                let exact = u128::from(value) * u128::from(factor) / u128::from(FACTOR_PARTS);
                // A factor near 1 is to lead on all the same.
                u64::try_from(exact).ok().map(|grown| grown.max(value + 1))
            }
        };
        let to = self.to;
        std::iter::successors(Some(self.from), move |value| next(*value))
            .take_while(move |value| *value <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u32>, ParseError> {
        text.parse().map(|series: Series<u32>| series.0)
    }

    #[test]
    fn ranges_and_lists_are_read_as_they_are_meant() {
        let cases: &[(&str, &[u32])] = &[
            ("7", &[7]),
            ("1,2,4,8", &[1, 2, 4, 8]),
            ("8,4", &[8, 4]),
            ("1..40:10", &[1, 10, 20, 30, 40]),
            ("1..5:1", &[1, 2, 3, 4, 5]),
            ("2..9:3", &[2, 5, 8]),
            ("0..4:2", &[0, 2, 4]),
            ("1..1000*10", &[1, 10, 100, 1000]),
            ("1..10*2", &[1, 2, 4, 8]),
            ("1..6*1.5", &[1, 2, 3, 4, 6]),
            ("1,10..30:10,1k", &[1, 10, 20, 30, 1000]),
            ("5..5:1", &[5]),
        ];
        for (text, wanted) in cases {
            assert_eq!(counts(text).as_deref(), Ok(*wanted), "{text}");
        }
        assert_eq!(counts("1..1000:10").unwrap().len(), 101);
    }

    #[test]
    fn what_is_no_series_is_refused_with_the_remedy() {
        let cases = [
            ("1..10", "is not a range"),
            ("10..1:1", "is not a range"),
            ("1..10:0", "is not a range"),
            ("1..10*1", "is not a range"),
            ("0..10*2", "is not a range"),
            ("1..10*x", "is not a range"),
            ("", "is not a count"),
            ("1,,2", "is not a count"),
            ("1..x:1", "is not a count"),
            ("1,2,1", "twice"),
            ("1..100,1..5:1", "is not a range"),
            ("1..1m:1", "more than"),
            ("5g", "too large"),
        ];
        for (text, wanted) in cases {
            let said = counts(text).unwrap_err().to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }

    #[test]
    fn rates_step_from_one_a_second_as_counts_do_and_may_have_fractions() {
        let rates = |text: &str| -> Vec<f64> {
            let series: Series<Rate> = text.parse().unwrap();
            series.0.iter().map(|rate| rate.as_f64()).collect()
        };
        assert_eq!(rates("1k..3k:1k"), [1e3, 2e3, 3e3]);
        assert_eq!(rates("1..30:10"), [1.0, 10.0, 20.0, 30.0]);
        assert_eq!(rates("0.5..2*2"), [0.5, 1.0, 2.0]);
        assert_eq!(rates("0.5..2:0.5"), [0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn a_series_of_one_value_is_that_value() {
        assert_eq!(Series(vec![3]).only(), Some(3));
        assert_eq!(Series(vec![3, 4]).only(), None);
        assert_eq!(Series(vec![3, 4]).first(), 3);
    }
}

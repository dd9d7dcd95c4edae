//! Values of figures, and how they are written.

use units::Nanos;

/// Value of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// Any other number, in the figure's unit.
    Number(f64),
    /// Words.
    Text(String),
}

impl Value {
    /// Returns it as a number; none of words.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Count(count) => Some(*count as f64),
            Value::Number(number) => Some(*number),
            Value::Text(_) => None,
        }
    }
}

/// Unit of a figure: what a number means, and how many digits are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Text,
    /// None: a number that is written as it was given.
    Plain,
    /// Whole things.
    Count,
    /// Per second.
    PerSecond,
    /// Microseconds.
    Micros,
    /// Seconds.
    Seconds,
    /// Share of a whole, 0 to 1.
    Share,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Writes `value` for programs: a point, no grouping, a fixed number of decimals.
    pub fn written(self, value: &Value) -> String {
        let number = match value {
            Value::Count(count) => return count.to_string(),
            Value::Text(words) => return words.clone(),
            Value::Number(number) => *number,
        };
        match self {
            Unit::PerSecond | Unit::Micros => format!("{number:.3}"),
            Unit::Share => format!("{number:.4}"),
            Unit::Seconds => format!("{number:.6}"),
            Unit::Text | Unit::Plain | Unit::Count | Unit::Bytes => number.to_string(),
        }
    }

    /// Returns what a value is, and how one to compare it with is written; text is compared with nothing.
    pub fn kind(self) -> (&'static str, Option<&'static str>) {
        match self {
            Unit::Text => ("text", None),
            Unit::Plain => ("a number", Some("4")),
            Unit::Count => ("a count", Some("10")),
            Unit::PerSecond => ("a rate", Some("10k")),
            Unit::Micros => ("a time", Some("20ms")),
            Unit::Seconds => ("a time", Some("2s")),
            Unit::Share => ("a share", Some("80%")),
            Unit::Bytes => ("a size", Some("20MiB")),
        }
    }

    /// Returns the width to expect of values that people read; larger ones may be wider.
    pub fn width(self) -> usize {
        match self {
            Unit::Bytes => 8,
            _ => 7,
        }
    }

    /// Writes `value` for people: three significant digits and the unit that suits them.
    pub fn shown(self, value: &Value) -> String {
        let number = match value {
            Value::Text(words) => return words.clone(),
            Value::Count(count) if self == Unit::Bytes => return units::bytes(*count),
            Value::Count(count) => return units::count(*count),
            Value::Number(number) => *number,
        };
        match self {
            Unit::PerSecond if number == 0.0 => "0".to_owned(),
            Unit::PerSecond => units::rate(number),
            Unit::Micros => units::micros(number),
            Unit::Seconds => units::span(Nanos::from_nanos((number * 1e9) as u64)),
            Unit::Share => units::percent(number),
            Unit::Bytes => units::bytes(number as u64),
            Unit::Text | Unit::Plain | Unit::Count => number.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_decimals_and_people_three_digits_with_a_unit() {
        let cases: &[(Unit, Value, &str, &str)] = &[
            (
                Unit::Count,
                Value::Count(1_234),
                "1234",
                &units::count(1_234),
            ),
            (Unit::PerSecond, Value::Number(0.0), "0.000", "0"),
            (
                Unit::PerSecond,
                Value::Number(4892.0),
                "4892.000",
                &units::rate(4892.0),
            ),
            (
                Unit::Micros,
                Value::Number(1500.0014),
                "1500.001",
                &units::span(Nanos::from_micros(1500)),
            ),
            (Unit::Seconds, Value::Number(5.0), "5.000000", "5.00 s"),
            (Unit::Share, Value::Number(0.12), "0.1200", "12 %"),
            (Unit::Bytes, Value::Count(1 << 20), "1048576", "1.00 MiB"),
            (Unit::Plain, Value::Number(0.5), "0.5", "0.5"),
            (Unit::Text, Value::Text("words".into()), "words", "words"),
        ];
        for (unit, value, written, shown) in cases {
            assert_eq!(unit.written(value), *written);
            assert_eq!(unit.shown(value), *shown);
        }
    }
}

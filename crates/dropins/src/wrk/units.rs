//! Quantities as wrk reads and writes them.

/// A scale of units.
struct Scale {
    /// What one of them is of the one before.
    step: f64,
    base: &'static str,
    /// The larger ones; the last is never reached.
    units: &'static [&'static str],
}

const MICROS: Scale = Scale {
    step: 1000.0,
    base: "us",
    units: &["ms", "s"],
};
const SECONDS: Scale = Scale {
    step: 60.0,
    base: "s",
    units: &["m", "h"],
};
const METRIC: Scale = Scale {
    step: 1000.0,
    base: "",
    units: &["k", "M", "G", "T", "P"],
};
const BINARY: Scale = Scale {
    step: 1024.0,
    base: "",
    units: &["K", "M", "G", "T", "P"],
};

impl Scale {
    /// A unit is left for the next at 0.85 of it.
    fn show(&self, amount: f64, decimals: usize) -> String {
        let (mut amount, mut unit) = (amount, self.base);
        for pair in self.units.windows(2) {
            if amount < self.step * 0.85 {
                break;
            }
            amount /= self.step;
            unit = pair[0];
        }
        format!("{amount:.decimals$}{unit}")
    }

    /// A whole number with a unit or without; none where it is neither.
    fn read(&self, text: &str) -> Option<u64> {
        let text = text.trim_start();
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let number: u64 = digits.parse().ok()?;
        if unit.is_empty() || unit.eq_ignore_ascii_case(self.base) {
            return Some(number);
        }
        let is_it = |known: &str| unit.eq_ignore_ascii_case(known);
        let power = self.units.iter().position(|known| is_it(known))? + 1;
        let times = (self.step as u64).checked_pow(power as u32)?;
        number.checked_mul(times)
    }
}

/// `588.10us`.
pub(super) fn micros(micros: f64) -> String {
    match micros >= 1e6 {
        true => SECONDS.show(micros / 1e6, 2),
        false => MICROS.show(micros, 2),
    }
}

/// `2s`.
pub(super) fn seconds(seconds: u64) -> String {
    SECONDS.show(seconds as f64, 0)
}

/// `46.19k`.
pub(super) fn metric(number: f64) -> String {
    METRIC.show(number, 2)
}

/// `59.09M`, of bytes.
pub(super) fn binary(number: f64) -> String {
    BINARY.show(number, 2)
}

/// Reads `100`, `1k`, `2M`.
pub(super) fn read_metric(text: &str) -> Option<u64> {
    METRIC.read(text)
}

/// Reads `10`, `10s`, `2m`, `1h` as seconds.
pub(super) fn read_seconds(text: &str) -> Option<u64> {
    SECONDS.read(text)
}

/// `text` to the right in a column whose last two places are for letters of units.
pub(super) fn column(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2);
    let letters = letters.filter(char::is_ascii_alphabetic).count();
    let last = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
    // One letter before a figure is no unit.
    let pad = 2 - if last { letters } else { 0 };
    format!("{text:>width$}{:pad$}", "", width = width - pad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_look_as_those_of_wrk() {
        let cases = [
            (micros(588.1), "588.10us"),
            (micros(849.9), "849.90us"),
            (micros(850.0), "0.85ms"),
            (micros(12_100.0), "12.10ms"),
            (micros(999_999.0), "1000.00ms"),
            (micros(1_500_000.0), "1.50s"),
            (micros(51e6), "0.85m"),
            (seconds(2), "2s"),
            (seconds(60), "1m"),
            (metric(46_190.0), "46.19k"),
            (metric(12.0), "12.00"),
            (binary(59.09 * 1024.0 * 1024.0), "59.09M"),
        ];
        for (shown, wanted) in cases {
            assert_eq!(shown, wanted);
        }
        assert_eq!(column("588.10us", 8), "588.10us");
        assert_eq!(column("46.19k", 8), " 46.19k ");
        assert_eq!(column("12.00", 8), " 12.00  ");
    }

    #[test]
    fn quantities_are_read_as_by_wrk() {
        let cases = [
            (read_metric("100"), Some(100)),
            (read_metric("1k"), Some(1000)),
            (read_metric("2M"), Some(2_000_000)),
            (read_metric("x"), None),
            (read_metric("1x"), None),
            (read_metric(""), None),
            (read_seconds("2"), Some(2)),
            (read_seconds("2s"), Some(2)),
            (read_seconds("2m"), Some(120)),
            (read_seconds("1H"), Some(3600)),
            (read_seconds("1d"), None),
        ];
        for (read, wanted) in cases {
            assert_eq!(read, wanted);
        }
    }
}

//! How quantities are shown to people: three significant digits and a unit, never more digits than are worth reading.

use crate::Nanos;

/// A span with the unit that suits it: `871 ns`, `42.3 us`, `1.20 ms`, `10.0 s`, `5 min`, `2m30s`.
pub fn span(span: Nanos) -> String {
    let nanos = span.as_nanos();
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..999_500 => format!("{} us", three(nanos as f64 / 1e3)),
        999_500..999_500_000 => format!("{} ms", three(nanos as f64 / 1e6)),
        999_500_000..60_000_000_000 => format!("{} s", three(nanos as f64 / 1e9)),
        _ => minutes(nanos / 1_000_000_000),
    }
}

/// A span to the digit, as it was asked for: `5 s`, `0.5 s`, `1m30s`, `5 min`.
pub fn exact(asked: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    let nanos = asked.as_nanos();
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} us", nanos as f64 / 1e3),
        1_000_000..100_000_000 => format!("{} ms", nanos as f64 / 1e6),
        MINUTE..HOUR if nanos.is_multiple_of(SECOND) => span(asked),
        HOUR.. if nanos.is_multiple_of(MINUTE) => span(asked),
        _ => format!("{} s", nanos as f64 / 1e9),
    }
}

fn minutes(secs: u64) -> String {
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    match (hours, minutes, secs) {
        (0, _, 0) => format!("{minutes} min"),
        (0, _, _) => format!("{minutes}m{secs:02}s"),
        (_, 0, _) => format!("{hours} h"),
        _ => format!("{hours}h{minutes:02}m"),
    }
}

/// A whole count, its thousands separated by commas: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count with its noun, which takes an ending where there are none or several: `1 request`, `2 requests`, `0 processes`.
pub fn number(count: u64, noun: &str) -> String {
    let ending = if noun.ends_with('s') { "es" } else { "s" };
    counted(count, noun, &format!("{noun}{ending}"))
}

/// A count with the words for one or for several: `1 error was`, `2 errors were`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    let words = if number == 1 { one } else { many };
    format!("{} {words}", count(number))
}

/// Microseconds as a span with its unit: `940 us`.
pub fn micros(micros: f64) -> String {
    span(Nanos::from_nanos((micros * 1e3).round() as u64))
}

/// A rate per second, grouped like a count, with as much fraction as keeps three significant digits.
pub fn rate(per_second: f64) -> String {
    if per_second >= 100.0 {
        count(per_second.round() as u64)
    } else {
        three(per_second)
    }
}

/// A share as per cent: `63 %`; with one digit more near either end, where it tells: `6.4 %`, `99.7 %`. Something is never
/// shown as nothing, nor nearly all as all: `< 0.1 %`, `> 99.9 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        "< 0.1 %".to_owned()
    } else if (99.95..100.0).contains(&percent) {
        "> 99.9 %".to_owned()
    } else if percent == 0.0 || (9.95..99.0).contains(&percent) || percent >= 100.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A size in powers of 1024: `43 B`, `1.50 KiB`, `2.00 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three(value), UNITS[unit])
}

fn three(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_the_plan_is_shown_to_the_digit() {
        let cases: &[(&str, &str)] = &[
            ("5s", "5 s"),
            ("500ms", "0.5 s"),
            ("20ms", "20 ms"),
            ("1.5s", "1.5 s"),
            ("90s", "1m30s"),
            ("61.5s", "61.5 s"),
            ("5m", "5 min"),
            ("2h", "2 h"),
            ("90m", "1h30m"),
            ("3605s", "3605 s"),
            ("250us", "250 us"),
            ("0", "0 ns"),
        ];
        for (text, wanted) in cases {
            assert_eq!(exact(text.parse().unwrap()), *wanted, "{text}");
        }
    }

    #[test]
    fn spans_show_three_digits_and_their_unit() {
        let cases: &[(u64, &str)] = &[
            (0, "0 ns"),
            (871, "871 ns"),
            (42_310, "42.3 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (1_200_000, "1.20 ms"),
            (10_000_000_000, "10.0 s"),
            (60_000_000_000, "1 min"),
            (150_000_000_000, "2m30s"),
            (300_000_000_000, "5 min"),
            (5_400_000_000_000, "1h30m"),
            (7_200_000_000_000, "2 h"),
        ];
        for (nanos, wanted) in cases {
            assert_eq!(span(Nanos::from_nanos(*nanos)), *wanted, "{nanos}");
        }
    }

    #[test]
    fn shares_show_what_tells_and_round_to_neither_end() {
        let cases: &[(f64, &str)] = &[
            (0.0, "0 %"),
            (1e-9, "< 0.1 %"),
            (0.000_499, "< 0.1 %"),
            (0.000_501, "0.1 %"),
            (0.004, "0.4 %"),
            (0.014, "1.4 %"),
            (0.0994, "9.9 %"),
            (0.0996, "10 %"),
            (0.634, "63 %"),
            (0.989, "99 %"),
            (0.994, "99.4 %"),
            (0.9994, "99.9 %"),
            (0.9996, "> 99.9 %"),
            (1.0 - 1e-9, "> 99.9 %"),
            (1.0, "100 %"),
            (1.04, "104 %"),
        ];
        for (share, wanted) in cases {
            assert_eq!(percent(*share), *wanted, "{share}");
        }
    }

    #[test]
    fn counts_rates_and_sizes_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(rate(41_234.6), "41,235");
        assert_eq!(rate(0.5), "0.50");
        assert_eq!(bytes(43), "43 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(1_073_741_824), "1.00 GiB");
    }
}

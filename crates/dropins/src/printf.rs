//! Numbers as C programs read and print them.

/// A number as `%.Ng` prints it, N being `digits`: so many significant digits, without trailing zeros.
pub(crate) fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let is_plain = exponent >= -4 && exponent < i32::try_from(digits).unwrap_or(i32::MAX);
    if is_plain {
        let decimals = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
        let decimals = usize::try_from(decimals).unwrap_or(0);
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// Without zeros behind the last decimal that is none.
pub(crate) fn trimmed(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A whole number as `strtoul` reads it, if it is all of the text. One with a minus, which C turns into a huge one, is none.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// A number as `strtod` reads it, if it is all of the text.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let number: f64 = text.trim_start().parse().ok()?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_by_percent_g() {
        let cases = [
            (5.0, 6, "5"),
            (1.5, 6, "1.5"),
            (200.0, 6, "200"),
            (1.0 / 3.0, 6, "0.333333"),
            (100.0 / 3.0, 15, "33.3333333333333"),
            (1_234_567.0, 6, "1.23457e+06"),
            (0.000_012, 6, "1.2e-05"),
            (0.0, 6, "0"),
            (999_999.9, 6, "1e+06"),
        ];
        for (value, digits, wanted) in cases {
            assert_eq!(general(value, digits), wanted);
        }
    }

    #[test]
    fn numbers_are_read_whole_or_not_at_all() {
        assert_eq!(whole(" +12"), Some(12));
        for text in ["", "-3", "5x", "+", "1.5"] {
            assert_eq!(whole(text), None, "{text}");
        }
        assert_eq!(decimal("1e3"), Some(1000.0));
        assert_eq!(decimal(".5"), Some(0.5));
        for text in ["", "5s", "inf", "x"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}

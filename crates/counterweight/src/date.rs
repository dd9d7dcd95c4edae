//! The Date header's text (RFC 9110 §5.6.7).
//!
//! Years and months are counted off one by one: that is some sixty steps, once a second, and nothing to get wrong.

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) const LENGTH: usize = 29;

/// The first day of the count was a Thursday.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
#[rustfmt::skip]
const MONTHS: [(&str, u64); 12] = [
    ("Jan", 31), ("Feb", 28), ("Mar", 31), ("Apr", 30), ("May", 31), ("Jun", 30),
    ("Jul", 31), ("Aug", 31), ("Sep", 30), ("Oct", 31), ("Nov", 30), ("Dec", 31),
];
/// The last second of the year 9999: the text has room for four digits.
const LAST: u64 = 253_402_300_799;

/// The text for a moment in seconds since 1970-01-01 UTC.
pub(crate) fn text(seconds: u64) -> String {
    let seconds = seconds.min(LAST);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{}, {day:02} {month} {year:04} {:02}:{:02}:{:02} GMT",
        DAYS[(days % 7) as usize],
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// The same moment as access logs write it: `06/Nov/1994:08:49:37 +0000`.
pub(crate) fn log_text(seconds: u64) -> String {
    let seconds = seconds.min(LAST);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{day:02}/{month}/{year:04}:{:02}:{:02}:{:02} +0000",
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// Year, month and day of the month, from days since 1970-01-01.
fn civil(mut days: u64) -> (u64, &'static str, u64) {
    let mut year = 1970;
    while days >= 365 + leap(year) {
        days -= 365 + leap(year);
        year += 1;
    }
    for (month, length) in MONTHS {
        let length = length + if month == "Feb" { leap(year) } else { 0 };
        if days < length {
            return (year, month, days + 1);
        }
        days -= length;
    }
    unreachable!("the months make up the year")
}

/// One for a leap year.
fn leap(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    u64::from(is_leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date -u -d @SECONDS` says.
    #[test]
    fn moments_are_written_as_http_wants_them() {
        let cases: &[(u64, &str)] = &[
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (68_255_999, "Tue, 29 Feb 1972 23:59:59 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (1_735_689_600, "Wed, 01 Jan 2025 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (LAST, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ];
        for (seconds, written) in cases {
            assert_eq!(text(*seconds), *written);
            assert_eq!(written.len(), LENGTH);
        }
    }

    #[test]
    fn logs_write_the_same_moment_in_their_own_way() {
        assert_eq!(log_text(784_111_777), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(log_text(0), "01/Jan/1970:00:00:00 +0000");
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut last = civil(0);
        for day in 1..200_000 {
            let next = civil(day);
            let in_month = next == (last.0, last.1, last.2 + 1);
            let new_month = next.2 == 1 && next.1 != last.1 && last.2 >= 28;
            assert!(in_month || new_month, "{last:?} {next:?}");
            last = next;
        }
    }
}

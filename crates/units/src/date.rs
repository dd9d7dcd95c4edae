//! Seconds since 1970 as a date that people and spreadsheets read. UTC only: a record does not say where its reader lives.

const DAY: u64 = 86_400;

/// Returns the date and time in the form of ISO 8601: `2023-11-14T22:13:20Z`.
pub fn iso(unix: u64) -> String {
    let (year, month, day) = civil(unix / DAY);
    let second = unix % DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the date and time to the minute: `2023-11-14 22:13 UTC`.
pub fn minute(unix: u64) -> String {
    let iso = iso(unix);
    format!("{} UTC", iso[..iso.len() - 4].replace('T', " "))
}

/// Year, month and day of a number of days since 1970, by counting whole 400-year cycles of 146,097 days from 1 March
/// of year 0, so that the leap day comes last (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = cycle * 400 + year + u64::from(month <= 2);
    (year, month, day - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases: &[(u64, &str)] = &[
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (unix, wanted) in cases {
            assert_eq!(iso(*unix), *wanted);
        }
        assert_eq!(minute(1_700_000_000), "2023-11-14 22:13 UTC");
    }

    #[test]
    fn every_day_of_four_centuries_follows_its_predecessor() {
        let every = |years: u64, year: u64| year.is_multiple_of(years);
        let leap = |year| every(4, year) && (!every(100, year) || every(400, year));
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 {
            assert_eq!(civil(days), (year, month, day), "day {days}");
            let length = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    #[test]
    fn a_moment_that_no_clock_shows_still_has_a_date() {
        assert!(iso(u64::MAX).ends_with('Z'));
    }
}

//! A moment, read from the three ways in which HTTP writes one (RFC 9110 §5.6.7).
//!
//! ```text
//! Sun, 06 Nov 1994 08:49:37 GMT      what everybody writes
//! Sunday, 06-Nov-94 08:49:37 GMT     as RFC 850 did
//! Sun Nov  6 08:49:37 1994           as C's asctime does
//! ```
//! The name of the day must be one, but nobody looks whether it is the right one: the date says that better.

#[rustfmt::skip]
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
#[rustfmt::skip]
const MONTHS: [(&str, i64); 12] = [
    ("Jan", 31), ("Feb", 28), ("Mar", 31), ("Apr", 30), ("May", 31), ("Jun", 30),
    ("Jul", 31), ("Aug", 31), ("Sep", 30), ("Oct", 31), ("Nov", 30), ("Dec", 31),
];
/// From the first day of the year 1 to the first of 1970.
const DAYS_TO_1970: i64 = 719_162;
/// In seconds, as the Gregorian calendar has it on average.
const YEAR: i64 = 31_556_952;
/// The most words that one of the three ways has.
const WORDS: usize = 6;

/// Seconds since 1970-01-01 UTC; none if `text` is no date. `now`, likewise in seconds, tells the century of a year of
/// two digits: what would be more than 50 years ahead is past.
pub(crate) fn parse(text: &[u8], now: i64) -> Option<i64> {
    let mut words = [&b""[..]; WORDS];
    let mut count = 0;
    for word in text.split(|&byte| byte == b' ') {
        *words.get_mut(count)? = word;
        count += 1;
    }
    match words[..count] {
        [day, date, month, year, time, b"GMT"] => {
            is_short_day(day.strip_suffix(b",")?)?;
            moment(number(year, 4)?, month, number(date, 2)?, time)
        }
        [day, date, time, b"GMT"] => {
            is_day(day.strip_suffix(b",")?)?;
            with_short_year(date, time, now)
        }
        [day, month, b"", date, time, year] => {
            is_short_day(day)?;
            moment(number(year, 4)?, month, number(date, 1)?, time)
        }
        [day, month, date, time, year] => {
            is_short_day(day)?;
            moment(number(year, 4)?, month, number(date, 2)?, time)
        }
        _ => None,
    }
}

fn is_day(name: &[u8]) -> Option<()> {
    DAYS.iter().any(|day| day.as_bytes() == name).then_some(())
}

fn is_short_day(name: &[u8]) -> Option<()> {
    let is_one = DAYS.iter().any(|day| day.as_bytes()[..3] == *name);
    is_one.then_some(())
}

/// `06-Nov-94`.
fn with_short_year(date: &[u8], time: &[u8], now: i64) -> Option<i64> {
    let mut parts = date.splitn(3, |&byte| byte == b'-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let (day, year) = (number(day, 2)?, number(year, 2)?);
    let this_year = 1970 + now / YEAR;
    let year = this_year - this_year % 100 + year;
    let then = moment(year, month, day, time);
    if then.is_some_and(|then| then <= now.saturating_add(50 * YEAR)) {
        return then;
    }
    // The 29th of February may be in one century and not in the other.
    moment(year - 100, month, day, time)
}

fn moment(year: i64, month: &[u8], day: i64, time: &[u8]) -> Option<i64> {
    let place = MONTHS.iter().position(|row| row.0.as_bytes() == month)?;
    let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let length = MONTHS[place].1 + if place == 1 { leap } else { 0 };
    if !(1..=length).contains(&day) {
        return None;
    }
    let before: i64 = MONTHS[..place].iter().map(|row| row.1).sum();
    let before = before + if place > 1 { leap } else { 0 };
    let days = days_before(year) + before + day - 1;
    Some(days * 86_400 + seconds(time)?)
}

/// From 1970 to the first day of `year`; negative for earlier ones.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    let leaps = past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400);
    past * 365 + leaps - DAYS_TO_1970
}

/// `08:49:37`; a leap second is the first of the next minute.
fn seconds(time: &[u8]) -> Option<i64> {
    let [h, hh, b':', m, mm, b':', s, ss] = *time else {
        return None;
    };
    let (hours, minutes) = (number(&[h, hh], 2)?, number(&[m, mm], 2)?);
    let seconds = number(&[s, ss], 2)?;
    let is_time = hours < 24 && minutes < 60 && seconds <= 60;
    is_time.then_some((hours * 60 + minutes) * 60 + seconds)
}

/// A number of exactly so many digits.
fn number(text: &[u8], digits: usize) -> Option<i64> {
    if text.len() != digits {
        return None;
    }
    text.iter().try_fold(0, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(number * 10 + i64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-20 00:00:00.
    const NOW: i64 = 1_795_132_800;

    #[test]
    fn three_ways_of_writing_a_moment_are_read_and_no_other() {
        const THEN: Option<i64> = Some(784_111_777);
        #[rustfmt::skip]
        let cases: &[(&str, Option<i64>)] = &[
            ("Sun, 06 Nov 1994 08:49:37 GMT", THEN), ("Sunday, 06-Nov-94 08:49:37 GMT", THEN), ("Sun Nov  6 08:49:37 1994", THEN),
            ("Mon, 06 Nov 1994 08:49:37 GMT", THEN), ("Sun Nov 16 08:49:37 1994", Some(784_111_777 + 864_000)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)), ("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1)),
            ("Sat, 01 Jan 0000 00:00:00 GMT", Some(-62_167_219_200)), ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            // Leap years and leap seconds.
            ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)), ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sat, 29 Feb 1900 00:00:00 GMT", None), ("Sun, 29 Feb 2026 00:00:00 GMT", None),
            ("Sat, 31 Dec 2016 23:59:60 GMT", Some(1_483_228_800)), ("Sat, 31 Dec 2016 23:59:61 GMT", None),
            // Years of two digits, from November 2026.
            ("Friday, 20-Nov-26 00:00:00 GMT", Some(NOW)), ("Friday, 20-Nov-27 00:00:00 GMT", Some(NOW + 365 * 86_400)),
            ("Friday, 01-Nov-76 00:00:00 GMT", Some(3_371_414_400)), ("Friday, 01-Dec-76 00:00:00 GMT", Some(218_246_400)),
            ("Friday, 01-Jan-77 00:00:00 GMT", Some(220_924_800)), ("Friday, 01-Jan-00 00:00:00 GMT", Some(946_684_800)),
            ("Friday, 29-Feb-96 00:00:00 GMT", Some(825_552_000)), ("Friday, 29-Feb-95 00:00:00 GMT", None),
            // No dates.
            ("", None), (" ", None), ("0", None), ("784111777", None), ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 Nov 1994 08:49:37 UTC", None), ("Sun, 06 Nov 1994 08:49:37 +0000", None), ("sun, 06 nov 1994 08:49:37 gmt", None),
            ("Sun 06 Nov 1994 08:49:37 GMT", None), ("Sun, 6 Nov 1994 08:49:37 GMT", None), ("Sun,  6 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 94 08:49:37 GMT", None), ("Sun, 00 Nov 1994 08:49:37 GMT", None), ("Sun, 31 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None), ("Sun, 06 Nov 1994 08:60:00 GMT", None), ("Sun, 06 Nov 1994 8:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None), ("Sun, 06 Nov 1994 08:49:3a GMT", None), ("Sun, +6 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT ", None), (" Sun, 06 Nov 1994 08:49:37 GMT", None), ("So, 06 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT; length=4", None), ("Sun, 06-Nov-1994 08:49:37 GMT", None),
            ("Sun, 06-Nov-94 08:49:37 GMT", None), ("Sunday, 06-Nov-1994 08:49:37 GMT", None), ("Sunday, 06 Nov 1994 08:49:37 GMT", None),
            ("Sun Nov 6 08:49:37 1994", None), ("Sun Nov 06 08:49:37 94", None), ("Sun Nov   6 08:49:37 1994", None),
            ("Sun, Nov  6 08:49:37 1994", None), ("Sun Nov  6 08:49:37 1994 GMT", None), ("Sun Nox  6 08:49:37 1994", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text.as_bytes(), NOW), *wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in 0u64..253_402_300_800) {
            let text = crate::date::text(seconds);
            prop_assert_eq!(parse(text.as_bytes(), NOW), Some(seconds as i64));
        }

        #[test]
        fn nothing_that_is_written_breaks_it(text in any::<Vec<u8>>(), now in any::<i64>()) {
            parse(&text, now);
        }

        #[test]
        fn nor_what_looks_like_a_date(text in "(Sunday|Sun),? [0-9]{2}[- ](Feb|Nov)[- ][0-9]{2,4} [0-6:]{8} GMT", now in any::<i64>()) {
            parse(text.as_bytes(), now);
        }
    }
}

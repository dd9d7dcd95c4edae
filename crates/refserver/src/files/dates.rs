//! A moment, read from the three ways in which HTTP writes one (RFC 9110 §5.6.7).
//!
//! ```text
//! Sun, 06 Nov 1994 08:49:37 GMT      what is written today
//! Sunday, 06-Nov-94 08:49:37 GMT     as RFC 850 did; years below 70 are of this century
//! Sun Nov  6 08:49:37 1994           as C's asctime does
//! ```
//! The name of the day must be the right one. No file is from before 1970, so such a date is none.

use std::time::UNIX_EPOCH;

/// Seconds since 1970-01-01 UTC; none if `text` is no date.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    let moment = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    let since = moment.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_ways_of_writing_a_moment_are_read_and_no_other() {
        const THEN: Option<i64> = Some(784_111_777);
        #[rustfmt::skip]
        let cases: &[(&str, Option<i64>)] = &[
            ("Sun, 06 Nov 1994 08:49:37 GMT", THEN), ("Sunday, 06-Nov-94 08:49:37 GMT", THEN), ("Sun Nov  6 08:49:37 1994", THEN),
            ("Mon, 06 Nov 1994 08:49:37 GMT", None), ("Wed Nov 16 08:49:37 1994", Some(784_111_777 + 864_000)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)), ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("Sat, 01 Jan 0000 00:00:00 GMT", None), ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            // Leap years; a leap second is none.
            ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)), ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sat, 29 Feb 1900 00:00:00 GMT", None), ("Sun, 29 Feb 2026 00:00:00 GMT", None),
            ("Sat, 31 Dec 2016 23:59:60 GMT", None), ("Sat, 31 Dec 2016 23:59:61 GMT", None),
            // Years of two digits.
            ("Friday, 20-Nov-26 00:00:00 GMT", Some(1_795_132_800)), ("Wednesday, 01-Dec-76 00:00:00 GMT", Some(218_246_400)),
            ("Saturday, 01-Jan-77 00:00:00 GMT", Some(220_924_800)), ("Saturday, 01-Jan-00 00:00:00 GMT", Some(946_684_800)),
            ("Thursday, 29-Feb-96 00:00:00 GMT", Some(825_552_000)), ("Friday, 29-Feb-95 00:00:00 GMT", None),
            // No dates.
            ("", None), (" ", None), ("0", None), ("784111777", None), ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 Nov 1994 08:49:37 UTC", None), ("Sun, 06 Nov 1994 08:49:37 +0000", None), ("sun, 06 nov 1994 08:49:37 gmt", None),
            ("Sun 06 Nov 1994 08:49:37 GMT", None), ("Sun, 6 Nov 1994 08:49:37 GMT", None), ("Sun,  6 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 94 08:49:37 GMT", None), ("Sun, 00 Nov 1994 08:49:37 GMT", None), ("Sun, 31 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None), ("Sun, 06 Nov 1994 08:60:00 GMT", None), ("Sun, 06 Nov 1994 8:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None), ("Sun, 06 Nov 1994 08:49:3a GMT", None), ("Sun, +6 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT ", THEN), (" Sun, 06 Nov 1994 08:49:37 GMT", THEN), ("So, 06 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT; length=4", None), ("Sun, 06-Nov-1994 08:49:37 GMT", None),
            ("Sun, 06-Nov-94 08:49:37 GMT", None), ("Sunday, 06-Nov-1994 08:49:37 GMT", None), ("Sunday, 06 Nov 1994 08:49:37 GMT", None),
            ("Sun Nov 6 08:49:37 1994", None), ("Sun Nov 06 08:49:37 94", None), ("Sun Nov   6 08:49:37 1994", None),
            ("Sun, Nov  6 08:49:37 1994", None), ("Sun Nov  6 08:49:37 1994 GMT", None), ("Sun Nox  6 08:49:37 1994", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text.as_bytes()), *wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in 0u64..253_402_300_800) {
            let text = crate::date::text(seconds);
            prop_assert_eq!(parse(text.as_bytes()), Some(seconds as i64));
        }

        #[test]
        fn nothing_that_is_written_breaks_it(text in any::<Vec<u8>>()) {
            parse(&text);
        }

        #[test]
        fn nor_what_looks_like_a_date(text in "(Sunday|Sun),? [0-9]{2}[- ](Feb|Nov)[- ][0-9]{2,4} [0-6:]{8} GMT") {
            parse(text.as_bytes());
        }
    }
}

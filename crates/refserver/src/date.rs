//! The Date header's text (RFC 9110 §5.6.7), and the same moment in an access log.

use std::time::{Duration, UNIX_EPOCH};

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) const LENGTH: usize = 29;

/// The last second of the year 9999: the text has room for four digits.
const LAST: u64 = 253_402_300_799;

/// Returns the Date of a moment in seconds since 1970-01-01 UTC.
pub fn text(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST)))
}

/// The same moment as access logs write it: `06/Nov/1994:08:49:37 +0000`.
pub(crate) fn log_text(seconds: u64) -> String {
    let text = text(seconds);
    let (day, month, year, time) = (&text[5..7], &text[8..11], &text[12..16], &text[17..25]);
    format!("{day}/{month}/{year}:{time} +0000")
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
}

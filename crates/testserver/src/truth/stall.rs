//! Stalls by the clock: everything stands still at the beginning of each period, as in a collector's pause.
//!
//! A stall begins and ends at instants that follow from the server's start alone, whatever is asked meanwhile; so what
//! a request met can be told afterwards from its stamps.

use super::query::QueryError;
use std::str::FromStr;
use units::{Instant, Nanos};

/// Everything stands still for `length` at the beginning of each `period`, the first time at the server's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    length: Nanos,
    period: Nanos,
}

impl Stall {
    /// When the stall ends that there is at `now`; none: there is none. `start` is when the first one began.
    pub fn end(self, start: Instant, now: Instant) -> Option<Instant> {
        let since = now.since(start).as_nanos() % self.period.as_nanos();
        let left = self.length.as_nanos().checked_sub(since)?;
        (left > 0 && now >= start).then(|| now + Nanos::from_nanos(left))
    }
}

impl FromStr for Stall {
    type Err = QueryError;

    /// Reads `100ms/1s`.
    fn from_str(text: &str) -> Result<Stall, QueryError> {
        let read = || {
            let (length, period) = text.split_once('/')?;
            let (length, period) = (length.parse().ok()?, period.parse().ok()?);
            // It is over before the next one begins.
            let is_sound = length > Nanos::ZERO && length < period;
            is_sound.then_some(Stall { length, period })
        };
        read().ok_or_else(|| {
            let remedy = "its length and a longer period, such as 100ms/1s";
            QueryError::text(text, "a stall", remedy)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_lasts_from_the_beginning_of_each_period_for_its_length() {
        let stall: Stall = "100ms/1s".parse().unwrap();
        let millis = |millis| Instant::ZERO + Nanos::from_millis(millis);
        let start = millis(5_000);
        let cases = [
            (5_000, Some(5_100)),
            (5_099, Some(5_100)),
            (5_100, None),
            (5_999, None),
            (6_000, Some(6_100)),
            (65_050, Some(65_100)),
            (4_999, None),
        ];
        for (now, end) in cases {
            assert_eq!(stall.end(start, millis(now)), end.map(millis), "{now}");
        }
        let last = millis(5_100).as_nanos() - 1;
        assert_eq!(
            stall.end(start, Instant::from_nanos(last)),
            Some(millis(5_100))
        );
    }

    #[test]
    fn what_is_no_stall_is_refused_with_a_remedy() {
        for text in [
            "",
            "100ms",
            "1s/1s",
            "2s/1s",
            "0s/1s",
            "1ms/0s",
            "a/b",
            "1ms/1s/1s",
        ] {
            let error = text.parse::<Stall>().unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}` is not a stall")),
                "{error}"
            );
            assert!(error.ends_with("such as 100ms/1s"), "{error}");
        }
    }
}

//! Instants and spans of CLOCK_MONOTONIC time, in whole nanoseconds.
//!
//! `std::time::Instant` would hide its number, and a record needs the number: stamps are written to files, compared
//! with a server's log and replayed in virtual time. One u64 of nanoseconds lasts 584 years.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A moment on CLOCK_MONOTONIC, in nanoseconds since an origin that only this boot of the machine knows.
#[derive(
    Debug,
    Default,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Instant(u64);

/// A span of time in nanoseconds; never negative.
#[derive(
    Debug,
    Default,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(u64);

impl Instant {
    /// The origin; also "not yet" where a stamp is still missing.
    pub const ZERO: Instant = Instant(0);
    /// Later than every moment that can be read from a clock: "never".
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, or zero where `earlier` is in fact later.
    pub const fn since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// A span of whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Nanos(nanos)
    }

    /// A span of whole microseconds; the longest span where it would be longer.
    pub const fn from_micros(micros: u64) -> Self {
        Nanos(micros.saturating_mul(1_000))
    }

    /// A span of whole milliseconds; the longest span where it would be longer.
    pub const fn from_millis(millis: u64) -> Self {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// A span of whole seconds; the longest span where it would be longer.
    pub const fn from_secs(secs: u64) -> Self {
        Nanos(secs.saturating_mul(1_000_000_000))
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Microseconds with their fraction.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds with their fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span as the standard library's type, for its own calls.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }

    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    /// Saturates at [`Instant::NEVER`].
    fn add(self, span: Nanos) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Nanos;
    /// Saturates at zero; see [`Instant::since`].
    fn sub(self, earlier: Instant) -> Nanos {
        self.since(earlier)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, times: u64) -> Nanos {
        Nanos(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Nanos {
    type Output = Nanos;
    fn div(self, parts: u64) -> Nanos {
        Nanos(self.0 / parts)
    }
}

impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(spans: I) -> Nanos {
        spans.fold(Nanos::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_to_an_earlier_moment_is_zero() {
        assert_eq!(Instant::from_nanos(5) - Instant::from_nanos(9), Nanos::ZERO);
    }

    #[test]
    fn adding_to_never_stays_never() {
        assert_eq!(Instant::NEVER + Nanos::from_secs(1), Instant::NEVER);
    }
}

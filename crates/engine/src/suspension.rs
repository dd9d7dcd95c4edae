//! Whether the machine was suspended during a round: its clock then stood still while all others went on.
//!
//! Noted at the round's two ends and not with each exchange; which of them it fell into cannot be told anyway.

use units::Nanos;

/// What two readings may differ by though nothing has happened: each is right to about 0.1 us, and to some microseconds
/// where a hypervisor took the CPU away in the middle of every attempt. No machine sleeps and wakes in so short a time.
const NOISE: Nanos = Nanos::from_micros(100);

/// A round's watch on the machine's sleep.
#[derive(Debug)]
pub(crate) struct Suspension<F> {
    read: F,
    before: Nanos,
}

impl<F: FnMut() -> Nanos> Suspension<F> {
    /// Begins with a reading; `read` says how long the machine has been suspended so far.
    pub(crate) fn begin(mut read: F) -> Suspension<F> {
        let before = read();
        Suspension { read, before }
    }

    /// How long it was suspended since.
    pub(crate) fn end(mut self) -> Nanos {
        let span = (self.read)().saturating_sub(self.before);
        if span > NOISE { span } else { Nanos::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_clock_of_sleep_has_gained_is_noted_and_its_noise_is_not() {
        let noise = NOISE.as_nanos();
        let cases = [
            ([7, 7], 0),
            ([7, 7 + noise], 0),
            ([7, 8 + noise], noise + 1),
            ([0, 3_000_000_000], 3_000_000_000),
            ([7 + noise, 7], 0),
        ];
        for (readings, wanted) in cases {
            let mut readings = readings.into_iter().map(Nanos::from_nanos);
            let suspension = Suspension::begin(|| readings.next().unwrap());
            assert_eq!(suspension.end().as_nanos(), wanted);
        }
    }
}

//! When the kernel received bytes: what it says beside them, turned into the monotonic clock.
//!
//! The kernel stamps packets with CLOCK_REALTIME (SO_TIMESTAMPNS), and everything else here is on CLOCK_MONOTONIC.
//! Both run at the same, slewed speed, so their difference only changes when the wall clock is set. It is
//! sampled as tightly as it can be, monotonic before and after real time, the narrowest of several, and anew when a
//! stamp comes [`FRESH`] later.
//!
//! Precision: half of that bracket, some 20 to 50 ns with a clock source that is read without a system call; between
//! two samples the error does not grow. When the wall clock is set, stamps are wrong by as much as it was set for at
//! most [`FRESH`]; of those that it would put into the future it is noticed at once. No stamp is later than its
//! reading.

use crate::clock;
use units::{Instant, Nanos};

/// How long a sampled difference is taken for the present one. A sample costs half a microsecond, so this makes it
/// nothing, and a wall clock that is set does harm for no longer.
const FRESH: Nanos = Nanos::from_millis(100);
/// Brackets of which the narrowest is taken: an interrupt in one of them does not matter.
const BRACKETS: usize = 5;

/// Where the parts of such a message are: how long it is (8 bytes), level and kind (4 each), seconds, nanoseconds.
const HEADER: usize = size_of::<libc::cmsghdr>();
const STAMP: usize = HEADER + size_of::<libc::timespec>();

/// Room for what the kernel says beside the bytes of one receive; a stamp takes 32 bytes of it.
#[derive(Default)]
#[repr(align(8))]
pub(crate) struct Control(pub(crate) [u8; 32]);

/// The stamp in a kernel's control message, of which there is one at most, because nothing else was asked for.
pub(crate) fn read(control: &[u8]) -> Option<u64> {
    let header = control.get(..HEADER)?;
    let time = control.get(HEADER..STAMP)?;
    let word = |at: usize| header[at..at + 4].try_into().map(i32::from_ne_bytes).ok();
    let (level, kind) = (word(HEADER - 8)?, word(HEADER - 4)?);
    if (level, kind) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    let (seconds, nanos) = time.split_at(time.len() / 2);
    let seconds = u64::from_ne_bytes(seconds.try_into().ok()?);
    let nanos = u64::from_ne_bytes(nanos.try_into().ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The difference between the wall clock and the monotonic one.
#[derive(Debug, Default)]
pub(crate) struct WallClock {
    /// Nanoseconds that the wall clock is ahead: some fifty years.
    ahead: i128,
    sampled: Option<Instant>,
}

impl WallClock {
    /// The instant of a stamp that was read just now.
    pub(crate) fn instant(&mut self, stamp: u64) -> Instant {
        let now = clock::now();
        if self.sampled.is_none_or(|then| now - then >= FRESH) {
            self.sample(now);
        }
        let mut at = self.convert(stamp);
        if at > now {
            // The wall clock was set forward; or it is only the sample's own error.
            self.sample(now);
            at = self.convert(stamp).min(now);
        }
        at
    }

    fn convert(&self, stamp: u64) -> Instant {
        let nanos = i128::from(stamp) - self.ahead;
        Instant::from_nanos(nanos.clamp(1, i128::from(u64::MAX)) as u64)
    }

    fn sample(&mut self, now: Instant) {
        let narrowest = (0..BRACKETS).map(|_| bracket()).min();
        self.ahead = narrowest.map_or(0, |(_, ahead)| ahead);
        self.sampled = Some(now);
    }
}

/// How wide it is, and by how much the wall clock was ahead in its middle.
fn bracket() -> (Nanos, i128) {
    let before = clock::now();
    let real = clock::realtime().as_nanos() as i128;
    let width = clock::now() - before;
    let middle = before + width / 2;
    (width, real - i128::from(middle.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control message as the kernel writes it.
    fn message(level: i32, kind: i32, seconds: u64, nanos: u64) -> Vec<u8> {
        let mut bytes = (STAMP as u64).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(seconds.to_ne_bytes());
        bytes.extend(nanos.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_stamp_is_read_and_nothing_else_is_taken_for_one() {
        let stamp =
            |seconds, nanos| message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, seconds, nanos);
        let cases = [
            (stamp(5, 7), Some(5_000_000_007)),
            (stamp(u64::MAX, 0), None),
            (stamp(5, 7)[..STAMP - 1].to_vec(), None),
            (message(libc::SOL_SOCKET, libc::SCM_RIGHTS, 5, 7), None),
            (
                message(libc::IPPROTO_TCP, libc::SCM_TIMESTAMPNS, 5, 7),
                None,
            ),
            (Vec::new(), None),
        ];
        for (control, wanted) in cases {
            assert_eq!(read(&control), wanted, "{control:?}");
        }
    }

    #[test]
    fn the_wall_clock_is_converted_to_within_microseconds() {
        let mut wall = WallClock::default();
        let best = (0..100)
            .map(|_| {
                let before = clock::now();
                let at = wall.instant(clock::realtime().as_nanos() as u64);
                assert!(at <= clock::now());
                before.max(at) - before.min(at)
            })
            .min();
        assert!(best.unwrap() < Nanos::from_micros(20), "{best:?}");
    }

    #[test]
    fn a_wall_clock_that_is_set_does_harm_for_no_longer_than_a_sample_is_fresh() {
        let mut wall = WallClock::default();
        let (stamp, now) = (clock::realtime().as_nanos() as u64, clock::now());
        let near = |at: Instant| at <= clock::now() && now - at.min(now) < Nanos::from_secs(1);
        assert!(near(wall.instant(stamp)));
        // As if the wall clock had been an hour behind when it was sampled: it would lie in the future.
        wall.ahead -= 3_600_000_000_000;
        assert!(near(wall.instant(stamp)));
        // And an hour ahead: that cannot be known, until the sample is old.
        wall.ahead += 3_600_000_000_000;
        let hidden = wall.instant(stamp);
        assert!(!near(hidden), "{hidden:?}");
        wall.sampled = Some(Instant::ZERO);
        assert!(near(wall.instant(stamp)));
    }
}

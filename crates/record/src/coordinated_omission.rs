//! Stalls that a closed loop did not see: it sends nothing while no request ends.
//!
//! The measure is the omission index: the share of the time in which a request at a random time would have met a stall.
//! At a rate the backlog that a stall leaves waits too, so that OI / (1 - rho) of the requests are affected, rho being
//! the utilisation; half the measured throughput is what is advised. The complement of that share is the percentile up to
//! which stalls do not matter. The loop's own samples begin to show them at
//! another one, because each stall hides no more than one sample for each place that was in flight. Between the two a
//! percentile of the samples is smaller than what it is taken for. (The index follows the idea of coordinated omission
//! that is Gil Tene's; the derivation is in docs/measurement.md.)

use crate::{Stalls, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Bucket, Histogram};
use units::{Nanos, Percentile};

/// Stalls that a closed loop did not see, and the percentiles that they affect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoordinatedOmission {
    /// The omission index: the share of the threads' time, 0 to 1, that counted stalls took beyond what lies between two
    /// endings in the mean.
    pub index: f64,
    /// Stalls that count: longer than a millisecond, and than five times the median service time.
    #[serde(alias = "gaps")]
    pub stalls: u64,
    /// The longest of them, in microseconds; null where there is none.
    pub longest_us: Option<f64>,
    /// Percentiles above this one (0 to 1) would show the stalls to requests at random times; null where none is affected.
    #[serde(alias = "blind_from")]
    pub affected_from: Option<f64>,
    /// From this one on the samples show them; null likewise.
    #[serde(alias = "blind_to")]
    pub affected_to: Option<f64>,
    /// The percentiles that coordinated omission makes too small, of those that are printed; they carry a mark.
    #[serde(alias = "withheld")]
    #[schemars(with = "Vec<String>")]
    pub affected: Vec<Percentile>,
}

impl CoordinatedOmission {
    /// The utilisation at the rate that is advised: half of the measured throughput.
    pub const UTILISATION: f64 = 0.5;
    /// Median service times that a stall must exceed to count as a stall.
    pub const USUAL: u64 = 5;

    /// Returns what follows from the stalls in `tally` for the usual percentiles; none of an open loop, where the stalls were
    /// not recorded, and where nothing ended ok.
    pub fn of(tally: &Tally) -> Option<CoordinatedOmission> {
        CoordinatedOmission::with(tally, &Percentile::DEFAULT)
    }

    /// Returns the same for the percentiles of `list`.
    pub(crate) fn with(tally: &Tally, list: &[Percentile]) -> Option<CoordinatedOmission> {
        let (stalls, limit) = counted(tally)?;
        let mut omission = CoordinatedOmission {
            index: index(stalls, tally.series.endings(), limit),
            stalls: longer(&stalls.length, limit).map(|each| each.count).sum(),
            ..CoordinatedOmission::default()
        };
        if omission.stalls > 0 {
            omission.longest_us = stalls.length.max().map(|nanos| nanos as f64 / 1e3);
        }
        // A stall may have as many samples as could be in flight; no more than there are can be of stalls.
        let places: u64 = longer(&stalls.caught, limit).map(|each| each.count).sum();
        let slow: u64 = longer(&tally.service, limit).map(|each| each.count).sum();
        let caught = places.min(slow);
        let count = tally.service.count();
        let affected = (
            1.0 - omission.share(),
            1.0 - caught as f64 / count.max(1) as f64,
        );
        if affected.0 < affected.1 {
            (omission.affected_from, omission.affected_to) = (Some(affected.0), Some(affected.1));
        }
        let carried = list.iter().copied();
        let carried = carried.filter(|p| tally.carries(p.quantile()));
        let affected = carried.filter(|p| omission.affects(tally, *p));
        omission.affected = affected.collect();
        Some(omission)
    }

    /// Returns the share of requests at the advised rate that stalls would affect: OI / (1 - rho), at most 1. A stall leaves
    /// a backlog, whose requests wait too until it is gone.
    pub fn share(&self) -> f64 {
        (self.index / (1.0 - Self::UTILISATION)).min(1.0)
    }

    /// Returns whether stalls in `tally`, from which this follows, make percentile `p` of its samples smaller than what it
    /// is taken for.
    pub fn affects(&self, tally: &Tally, p: Percentile) -> bool {
        let is_small =
            |(stalls, limit): (&Stalls, Nanos)| is_too_small(tally, stalls, limit, p.quantile());
        self.hides(p.quantile()) || counted(tally).is_some_and(is_small)
    }

    /// Whether stalls begin to matter to requests at random times below `p`, and to the samples above it.
    fn hides(&self, p: f64) -> bool {
        let affected = self.affected_from.zip(self.affected_to);
        affected.is_some_and(|(from, to)| from < p && p < to)
    }
}

/// The stalls of a closed loop, and the length above which they count; none where nothing ended well.
fn counted(tally: &Tally) -> Option<(&Stalls, Nanos)> {
    let usual = Nanos::from_nanos(tally.service.quantile(0.5)?) * CoordinatedOmission::USUAL;
    Some((tally.stalls.as_deref()?, usual.max(Stalls::SHORTEST)))
}

/// Whether more than 1 - p of the time lies in stalls, longer than `limit`, as far as more than the samples' p-quantile of
/// them is still to come, or in the backlog that they leave: then a request at the advised rate has to wait longer than that
/// more often than once in 1 / (1 - p).
///
/// This looks at the percentile's own value, and so at the long stalls alone where short ones are what is below it.
fn is_too_small(tally: &Tally, stalls: &Stalls, limit: Nanos, p: f64) -> bool {
    let quantile = tally.service.quantile(p).unwrap_or(0);
    let limit = limit.max(Nanos::from_nanos(quantile));
    let waits = beyond(stalls, limit, quantile as f64) / (1.0 - CoordinatedOmission::UTILISATION);
    waits > 1.0 - p
}

/// The omission index: the sum over the stalls longer than `limit` of what they exceed the mean stall by, as a share of the
/// time.
fn index(stalls: &Stalls, endings: u64, limit: Nanos) -> f64 {
    let mean = stalls.time.as_nanos() as f64 / endings.max(1) as f64;
    beyond(stalls, limit, mean)
}

/// The sum over the stalls longer than `limit` of what they exceed `least` nanoseconds by, as a share of the time.
fn beyond(stalls: &Stalls, limit: Nanos, least: f64) -> f64 {
    let time = stalls.time.as_nanos() as f64;
    if time == 0.0 {
        return 0.0;
    }
    let (shortest, longest) = (stalls.length.min(), stalls.length.max());
    let middle = |each: &Bucket| {
        let low = shortest.map_or(each.low, |shortest| each.low.max(shortest));
        low.midpoint(longest.map_or(each.high, |longest| each.high.min(longest)))
    };
    let beyond = longer(&stalls.length, limit)
        .map(|each| (middle(&each) as f64 - least).max(0.0) * each.count as f64)
        .fold(0.0, |sum, each| sum + each); // an empty `sum` of floats is -0.0
    (beyond / time).min(1.0)
}

/// The buckets of which every value is above `limit`.
fn longer(histogram: &Histogram, limit: Nanos) -> impl Iterator<Item = Bucket> {
    let limit = limit.as_nanos();
    histogram.buckets().filter(move |each| each.low > limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Latency;

    const MS: Nanos = Nanos::from_millis(1);

    /// A second of `count` exchanges, of which stalls of so many microseconds caught `capacity` each (as long as there
    /// are any), and the others took `service`.
    fn tally(count: u64, service: Nanos, stalls: &[u64], capacity: u64) -> Tally {
        let mut noted = Stalls {
            time: MS * 1_000,
            ..Stalls::default()
        };
        let mut rest = count;
        let mut service_time = Histogram::default();
        for micros in stalls {
            let length = Nanos::from_micros(*micros);
            noted.add(length, Nanos::ZERO, capacity);
            service_time.record_n(length.as_nanos(), capacity.min(rest));
            rest -= capacity.min(rest);
        }
        service_time.record_n(service.as_nanos(), rest);
        let mut tally = Tally {
            stalls: Some(Box::new(noted)),
            service: service_time,
            ..Tally::default()
        };
        tally.series.add(Nanos::ZERO, count, 0);
        tally
    }

    fn names(omission: &CoordinatedOmission) -> Vec<String> {
        omission.affected.iter().map(|p| p.key()).collect()
    }

    #[test]
    fn a_gap_counts_above_a_millisecond_and_above_five_median_service_times() {
        let cases = [
            (100, 1_000, 0),
            (100, 1_010, 1),
            (200, 1_010, 1),
            (210, 1_010, 0),
            (2_000, 10_000, 0),
            (2_000, 10_050, 1),
        ];
        for (service, stall, counted) in cases {
            let tally = tally(1_000, Nanos::from_micros(service), &[stall], 1);
            let omission = CoordinatedOmission::of(&tally).unwrap();
            assert_eq!(omission.stalls, counted, "{service} {stall}");
            assert_eq!(omission.longest_us.is_some(), counted > 0);
        }
    }

    #[test]
    fn the_index_is_what_gaps_exceed_the_mean_by_as_a_share_of_the_time() {
        // A thousand endings in a second: a millisecond is between two of them in the mean.
        let tally = tally(1_000, MS / 10, &[11_000, 21_000, 2_000], 1);
        let omission = CoordinatedOmission::of(&tally).unwrap();
        assert!((omission.index - 0.031).abs() < 2e-5, "{omission:?}");
        assert_eq!((omission.stalls, omission.longest_us), (3, Some(21_000.0)));
    }

    #[test]
    fn percentiles_between_what_gaps_hide_and_what_the_samples_show_are_affected() {
        // Of 20,000 samples the stall caught so many; one request of ten would have met it
        // (less 5 parts in 100,000), and at half the throughput one more its backlog.
        let cases: &[(u64, &[&str])] = &[
            (1, &["p90", "p95", "p99", "p999"]),
            (20, &["p90", "p95", "p99", "p999"]),
            (21, &["p90", "p95", "p99"]),
            (200, &["p90", "p95", "p99"]),
            (201, &["p90", "p95"]),
            (900, &["p90", "p95"]),
            (1_100, &["p90"]),
            (2_100, &[]),
            (30_000, &[]),
        ];
        for (caught, wanted) in cases {
            let tally = tally(20_000, MS / 10, &[100_000], *caught);
            let omission = CoordinatedOmission::of(&tally).unwrap();
            assert_eq!(names(&omission), *wanted, "{caught}");
            let latency = Latency::of(&tally);
            assert!(Percentile::DEFAULT.iter().all(|p| latency.at(*p).is_some()));
        }
        let more = tally(20_000, MS / 10, &[100_000, 2_000], 1);
        assert_eq!(
            names(&CoordinatedOmission::of(&more).unwrap()),
            ["p90", "p95", "p99", "p999"]
        );
        // Too few samples are another reason, and not named here.
        let few = tally(999, MS / 10, &[200_000], 0);
        assert_eq!(
            names(&CoordinatedOmission::of(&few).unwrap()),
            ["p90", "p95"]
        );
    }

    #[test]
    fn a_long_stall_is_not_outweighed_by_the_samples_of_many_short_gaps() {
        // Ten samples are of 200 ms, and so many times ten of 4 ms: p99 is of those from 20 on.
        for (short, wanted) in [
            (0, &["p90", "p95", "p99", "p999"][..]),
            (19, &["p50", "p90", "p95", "p99", "p999"]),
            (30, &["p50", "p90", "p95", "p99", "p999"]),
        ] {
            let mut stalls = vec![200_000];
            stalls.extend(vec![4_000; short]);
            let omission = CoordinatedOmission::of(&tally(20_000, MS / 10, &stalls, 10)).unwrap();
            assert_eq!(names(&omission), wanted, "{short}");
        }
        // The same time in a stall that one in a hundred never meets: p99 holds what it is taken for.
        let mut stalls = vec![8_500];
        stalls.extend(vec![4_000; 30]);
        let omission = CoordinatedOmission::of(&tally(20_000, MS / 10, &stalls, 10)).unwrap();
        assert_eq!(names(&omission), ["p90", "p95", "p999"]);
    }

    #[test]
    fn gaps_have_no_more_samples_than_there_are_slow_ones() {
        // Of a stall that could have caught 5,000 only 3 were in flight: p99 is none of its samples.
        let mut tally = tally(20_000, MS / 10, &[100_000], 3);
        tally.stalls.as_mut().unwrap().caught = Histogram::default();
        tally
            .stalls
            .as_mut()
            .unwrap()
            .caught
            .record_n(100_000_000, 5_000);
        let omission = CoordinatedOmission::of(&tally).unwrap();
        assert!((omission.affected_to.unwrap() - (1.0 - 3.0 / 20_000.0)).abs() < 1e-12);
        assert_eq!(names(&omission), ["p90", "p95", "p99", "p999"]);
    }

    #[test]
    fn nothing_follows_where_gaps_were_not_noted_or_nothing_ended_well() {
        assert_eq!(CoordinatedOmission::of(&Tally::default()), None);
        assert_eq!(CoordinatedOmission::of(&tally(0, MS, &[50_000], 1)), None);
        let mut timeless = tally(1_000, MS / 10, &[50_000], 1);
        timeless.stalls.as_mut().unwrap().time = Nanos::ZERO;
        assert_eq!(CoordinatedOmission::of(&timeless).unwrap().index, 0.0);
        timeless.stalls.as_mut().unwrap().time = MS;
        assert_eq!(CoordinatedOmission::of(&timeless).unwrap().index, 1.0);
        let quiet = CoordinatedOmission::of(&tally(1_000, MS / 10, &[], 1)).unwrap();
        assert!(quiet.index == 0.0 && quiet.index.is_sign_positive());
    }
}

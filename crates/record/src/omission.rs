//! What a closed loop did not see: while nothing ended, it asked nothing.
//!
//! The measure is the omission index: the share of the time in which a user who comes at random would have met a gap.
//! Its complement is the percentile up to which the gaps matter to nobody. The loop's own samples begin to show them at
//! another one, because each gap hides no more than one sample for each place that was in flight. Between the two a
//! percentile of the samples is smaller than what it is taken for. (The index follows the idea of coordinated omission
//! that is Gil Tene's; the derivation is in docs/measurement.md.)

use crate::{Gaps, Latency, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Bucket, Histogram};
use units::Nanos;

/// What a closed loop did not see, and which percentiles that makes blind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Omission {
    /// The omission index: the share of the threads' time, 0 to 1, that counted gaps took beyond what lies between two
    /// endings in the mean.
    pub index: f64,
    /// Gaps that count: longer than a millisecond, and than five times the median service time.
    pub gaps: u64,
    /// The longest of them, in microseconds; null where there is none.
    pub longest_us: Option<f64>,
    /// Percentiles above this one (0 to 1) would show the gaps to whoever comes at random; null where none is blind.
    pub blind_from: Option<f64>,
    /// From this one on the samples show them; null likewise.
    pub blind_to: Option<f64>,
    /// The percentiles between the two, which are withheld although there are samples enough for them.
    pub withheld: Vec<String>,
}

/// A gap counts above so many median service times: what a server takes is no standstill.
const USUAL: u64 = 5;

impl Omission {
    /// What follows from the gaps in `tally`; none of an open loop, where the gaps were not recorded, or where nothing
    /// ended well and no percentile could be blind.
    pub fn of(tally: &Tally) -> Option<Omission> {
        let gaps = tally.gaps.as_ref()?;
        let usual = Nanos::from_nanos(tally.service.quantile(0.5)?) * USUAL;
        let limit = usual.max(Gaps::SHORTEST);
        let mut omission = Omission {
            index: index(gaps, tally.series.endings(), limit),
            gaps: longer(&gaps.length, limit).map(|each| each.count).sum(),
            ..Omission::default()
        };
        if omission.gaps > 0 {
            omission.longest_us = gaps.length.max().map(|nanos| nanos as f64 / 1e3);
        }
        let caught: u64 = longer(&gaps.caught, limit).map(|each| each.count).sum();
        let count = tally.service.count();
        let blind = (
            1.0 - omission.index,
            1.0 - caught as f64 / count.max(1) as f64,
        );
        if blind.0 < blind.1 {
            (omission.blind_from, omission.blind_to) = (Some(blind.0), Some(blind.1));
        }
        let withheld = Latency::PERCENTILES
            .iter()
            .filter(|(_, p)| omission.hides(*p) && stats::carries(count, *p));
        omission.withheld = withheld.map(|(name, _)| (*name).to_owned()).collect();
        Some(omission)
    }

    /// Whether the samples' p-quantile says less than what it is taken for.
    pub fn hides(&self, p: f64) -> bool {
        let blind = self.blind_from.zip(self.blind_to);
        blind.is_some_and(|(from, to)| from < p && p < to)
    }
}

/// The omission index: the sum over the gaps longer than `limit` of what they exceed the mean gap by, as a share of the
/// time.
fn index(gaps: &Gaps, endings: u64, limit: Nanos) -> f64 {
    let time = gaps.time.as_nanos() as f64;
    if time == 0.0 {
        return 0.0;
    }
    let mean = time / endings.max(1) as f64;
    let (least, most) = (gaps.length.min(), gaps.length.max());
    let middle = |each: &Bucket| {
        let low = least.map_or(each.low, |least| each.low.max(least));
        low.midpoint(most.map_or(each.high, |most| each.high.min(most)))
    };
    let beyond = longer(&gaps.length, limit)
        .map(|each| (middle(&each) as f64 - mean).max(0.0) * each.count as f64)
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

    const MS: Nanos = Nanos::from_millis(1);

    /// A second in which `count` exchanges took `service` each, and gaps of so many microseconds caught `capacity`
    /// samples each.
    fn tally(count: u64, service: Nanos, gaps: &[u64], capacity: u64) -> Tally {
        let mut noted = Gaps {
            time: MS * 1_000,
            ..Gaps::default()
        };
        for micros in gaps {
            noted.add(Nanos::from_micros(*micros), Nanos::ZERO, capacity);
        }
        let mut tally = Tally {
            gaps: Some(Box::new(noted)),
            ..Tally::default()
        };
        tally.service.record_n(service.as_nanos(), count);
        tally.series.add(Nanos::ZERO, count, 0);
        tally
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
        for (service, gap, counted) in cases {
            let tally = tally(1_000, Nanos::from_micros(service), &[gap], 1);
            let omission = Omission::of(&tally).unwrap();
            assert_eq!(omission.gaps, counted, "{service} {gap}");
            assert_eq!(omission.longest_us.is_some(), counted > 0);
        }
    }

    #[test]
    fn the_index_is_what_gaps_exceed_the_mean_by_as_a_share_of_the_time() {
        // A thousand endings in a second: a millisecond is between two of them in the mean.
        let tally = tally(1_000, MS / 10, &[11_000, 21_000, 2_000], 1);
        let omission = Omission::of(&tally).unwrap();
        assert!((omission.index - 0.031).abs() < 2e-5, "{omission:?}");
        assert_eq!((omission.gaps, omission.longest_us), (3, Some(21_000.0)));
    }

    #[test]
    fn percentiles_between_what_gaps_hide_and_what_the_samples_show_are_withheld() {
        // Of 20 000 samples the gap caught so many; a user would have met it in one of ten cases, less 5 parts in 100 000.
        let cases: &[(u64, &[&str])] = &[
            (1, &["p99", "p999"]),
            (19, &["p99", "p999"]),
            (20, &["p99"]),
            (199, &["p99"]),
            (200, &[]),
            (30_000, &[]),
        ];
        for (caught, wanted) in cases {
            let tally = tally(20_000, MS / 10, &[100_000], *caught);
            let omission = Omission::of(&tally).unwrap();
            assert_eq!(omission.withheld, *wanted, "{caught}");
            let latency = Latency::of(&tally);
            assert!(latency.p50.is_some() && latency.p90.is_some());
            assert_eq!(latency.p99.is_none(), wanted.contains(&"p99"), "{caught}");
            assert_eq!(latency.p999.is_none(), wanted.contains(&"p999"), "{caught}");
        }
        let more = tally(20_000, MS / 10, &[100_000, 2_000], 1);
        assert_eq!(
            Omission::of(&more).unwrap().withheld,
            ["p90", "p99", "p999"]
        );
        // Too few samples are another reason, and not named here.
        let few = tally(999, MS / 10, &[200_000], 0);
        assert_eq!(Omission::of(&few).unwrap().withheld, ["p90"]);
    }

    #[test]
    fn a_withheld_percentile_is_no_lower_bound_either() {
        let mut tally = tally(20_000, MS, &[100_000], 1);
        tally.censored_from = Some(Nanos::from_micros(10));
        let latency = Latency::of(&tally);
        assert_eq!(latency.at_least, ["min", "mean", "p50", "p90", "max"]);
    }

    #[test]
    fn nothing_follows_where_gaps_were_not_noted_or_nothing_ended_well() {
        assert_eq!(Omission::of(&Tally::default()), None);
        assert_eq!(Omission::of(&tally(0, MS, &[50_000], 1)), None);
        let mut timeless = tally(1_000, MS / 10, &[50_000], 1);
        timeless.gaps.as_mut().unwrap().time = Nanos::ZERO;
        assert_eq!(Omission::of(&timeless).unwrap().index, 0.0);
        timeless.gaps.as_mut().unwrap().time = MS;
        assert_eq!(Omission::of(&timeless).unwrap().index, 1.0);
        let quiet = Omission::of(&tally(1_000, MS / 10, &[], 1)).unwrap();
        assert!(quiet.index == 0.0 && quiet.index.is_sign_positive());
    }
}

//! The baseline: what the load generator measures against the built-in server, which costs next to nothing.

use crate::{Latency, Round, Statistic, ThreadAccounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use units::{Nanos, Percentile, Rate};

/// What the self-test found before the first round of an open loop: the same generator, on the same schedule, against our
/// own small server on loopback. So its times are those of the generator, of the kernel's loopback path and of the least of
/// servers together; its exchanges went nowhere else, and are in no other count of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// The rate at which it was measured: the load's, but no less than 200/s and no more than any generator could offer.
    pub rate: Rate,
    /// How long was measured.
    pub window: Nanos,
    /// Exchanges that were scheduled in it.
    #[serde(alias = "exchanges")]
    pub requests: u64,
    /// Those of them that ended well before it closed, per second of it: the rate that was offered and answered.
    pub rps: f64,
    /// Generator threads.
    pub threads: u32,
    /// Response time (done - scheduled), in microseconds; null where the self-test, or its server, could not keep up, so that it is
    /// the length of a backlog, and no baseline.
    pub response_us: BaselineTimes,
    /// What the generator itself took to send, in microseconds; likewise.
    pub generator_late_us: BaselineTimes,
    /// CPU time of all generator threads for each exchange that ended in the window, deliberate spinning excluded; null
    /// where they hardly did anything but spin.
    #[serde(default, alias = "cpu_per_exchange")]
    pub cpu_per_request: Option<Nanos>,
    /// The busiest generator thread's share of the window; null where it was too short for shares of time.
    pub generator_busy: Option<f64>,
}

/// Two percentiles of the self-test, in microseconds; null where the samples do not carry them (ten must lie beyond).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineTimes {
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

/// Of what was scheduled in the self-test so much may be unanswered at the window's end, beside one exchange a connection:
/// otherwise generator or server could not keep up.
const BEHIND_MAX: f64 = 0.01;

impl Baseline {
    /// Below so many times the baseline, a latency is less than twice what our own server takes. (Ten times, as is usual for a bare
    /// timer's lag, would be too much: this baseline contains the kernel's whole round trip, which every server pays.)
    pub const CLEAR_FROM: f64 = 2.0;

    /// Returns the percentiles of `latency` that do not rise clear of the baseline, each with its own value and the baseline's,
    /// in microseconds. A percentile that is only a lower bound is not among them.
    pub fn near(&self, latency: &Latency) -> Vec<(Percentile, f64, f64)> {
        let times = self.response_us;
        let pairs = [(Percentile::P50, times.p50), (Percentile::P99, times.p99)];
        let known = pairs
            .into_iter()
            .filter(|(p, _)| !latency.is_at_least(Statistic::At(*p)))
            .filter_map(|(p, baseline)| Some((p, latency.at(p)?, baseline?)));
        known
            .filter(|(_, latency, baseline)| *latency < Self::CLEAR_FROM * baseline)
            .collect()
    }

    /// What follows from the self-test's only round, at `rate` over `connections`; none where no exchange ended well.
    pub fn of(round: &Round, rate: Rate, connections: u32) -> Option<Baseline> {
        let ended = round.tally.ok_in_window;
        let open = round.tally.open.as_ref()?;
        if ended == 0 {
            return None;
        }
        let cpu: Option<Nanos> = round.threads.iter().map(ThreadAccounts::worked).sum();
        let busy = round.generator_busy();
        let scheduled = round.tally.scheduled;
        let behind = scheduled.saturating_sub(ended) as f64;
        let kept_up = behind <= BEHIND_MAX * scheduled as f64 + f64::from(connections);
        let times = |times: &Histogram| match kept_up {
            true => BaselineTimes::of(times),
            false => BaselineTimes::default(),
        };
        Some(Baseline {
            rate,
            window: round.window.span(),
            requests: scheduled,
            rps: round.rps(),
            threads: round.threads.len() as u32,
            response_us: times(&open.response),
            generator_late_us: times(&open.generator_late),
            cpu_per_request: cpu.map(|cpu| cpu / ended),
            generator_busy: busy,
        })
    }

    /// Whether it kept up with its rate, so that it has times.
    pub fn kept_up(&self) -> bool {
        self.response_us.p50.is_some()
    }
}

impl BaselineTimes {
    fn of(times: &Histogram) -> BaselineTimes {
        let micros = |p| Some(times.quantile_if_carried(p)? as f64 / 1e3);
        BaselineTimes {
            p50: micros(0.5),
            p99: micros(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenTimes, Window};
    use units::Instant;

    /// A second at 2000/s on one thread that was this busy; `ended` of the 2000 due ended in it, each 50 us after its intended start.
    fn round(ended: u64, busy: f64) -> Round {
        let mut round = Round {
            window: Window {
                start: Instant::from_nanos(7),
                end: Instant::from_nanos(1_000_000_007),
            },
            threads: vec![ThreadAccounts {
                wall: Nanos::from_secs(1),
                cpu: Nanos::from_nanos((busy * 1e9) as u64),
                ..ThreadAccounts::default()
            }],
            ..Round::default()
        };
        let mut open = OpenTimes::default();
        open.response.record_n(50_000, ended);
        open.generator_late.record_n(5_000, ended);
        (round.tally.scheduled, round.tally.ok_in_window) = (2_000, ended);
        round.tally.open = Some(Box::new(open));
        round
    }

    fn baseline(round: &Round) -> Option<Baseline> {
        Baseline::of(round, Rate::per_second(2_000), 10)
    }

    #[test]
    fn times_cost_and_rate_follow_from_the_round() {
        let baseline = baseline(&round(2_000, 0.02)).unwrap();
        assert_eq!(
            (baseline.requests, baseline.rps, baseline.threads),
            (2_000, 2_000.0, 1)
        );
        assert_eq!(baseline.cpu_per_request, Some(Nanos::from_micros(10)));
        assert_eq!(baseline.generator_busy, Some(0.02));
        let near = |value: Option<f64>, wanted: f64| (value.unwrap() / wanted - 1.0).abs() < 1e-3;
        assert!(near(baseline.response_us.p50, 50.0) && near(baseline.response_us.p99, 50.0));
        assert!(near(baseline.generator_late_us.p99, 5.0));
    }

    #[test]
    fn spinning_on_purpose_costs_no_exchange_anything() {
        let mut round = round(2_000, 0.9);
        round.threads[0].busy_polled = Nanos::from_millis(880);
        assert_eq!(
            baseline(&round).unwrap().cpu_per_request,
            Some(Nanos::from_micros(10))
        );
        // A rest of a hundredth and less is unknown, and not nothing.
        round.threads[0].busy_polled = Nanos::from_millis(892);
        assert_eq!(baseline(&round).unwrap().cpu_per_request, None);
    }

    #[test]
    fn a_percentile_that_the_samples_do_not_carry_is_none() {
        let mut round = round(999, 0.02);
        round.tally.scheduled = 999;
        let times = baseline(&round).unwrap().response_us;
        assert!(times.p50.is_some() && times.p99.is_none());
    }

    #[test]
    fn times_of_a_self_test_that_did_not_keep_up_are_no_floor_whatever_the_bottleneck() {
        // Of 2000 scheduled one in a hundred may be behind, and one for each of ten connections.
        for (ended, busy, known) in [
            (1_970, 0.5, true),
            (1_969, 0.5, false),
            (1_969, 0.99, false),
            (5, 0.99, false), // too few samples
        ] {
            let baseline = baseline(&round(ended, busy)).unwrap();
            assert_eq!(baseline.kept_up(), known, "{ended} {busy}");
            assert_eq!(
                baseline.generator_late_us.p50.is_some(),
                known,
                "{ended} {busy}"
            );
            assert!(baseline.cpu_per_request > Some(Nanos::ZERO));
        }
    }

    #[test]
    fn nothing_follows_from_a_round_in_which_nothing_ended_well_or_of_a_closed_loop() {
        assert_eq!(baseline(&round(0, 0.5)), None);
        let mut closed = round(2_000, 0.5);
        closed.tally.open = None;
        assert_eq!(baseline(&closed), None);
    }
}

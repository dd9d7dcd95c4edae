//! The load before the first round against a server: until its state is steady, or a limit is reached.

use crate::Round;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What was seen of a server before its first round, from the first request on. None of it is part of the rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settling {
    /// From the start of the first connect to the end of the first response, which is the probe's; none where none came.
    pub first_response: Option<Nanos>,
    /// The first second of load; none where it was cut short.
    pub first_second: Option<FirstSecond>,
    /// How long the load lasted, the short warm-up of each window but the first included.
    pub load: Nanos,
    /// Whether the state was steady at the end; false where it was not at the limit, none where that cannot be told: too few
    /// responses, or only errors.
    pub is_steady: Option<bool>,
    /// When the steady state began, in time of load; 0 where it was steady from the first request on, none where it was not steady.
    pub steady_after: Option<Nanos>,
    /// Requests that were sent.
    pub sent: u64,
}

/// The first second of load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstSecond {
    /// Requests that ended ok in it, per second.
    pub rps: f64,
    /// p99 of the latency of the requests scheduled in it; none of too few samples.
    pub p99: Option<Nanos>,
    /// The longest; none where none ended ok.
    pub max: Option<Nanos>,
}

impl Settling {
    /// Length of a window.
    pub const WINDOW: Nanos = Nanos::from_secs(1);
    /// The most windows: the limit.
    pub const MOST_WINDOWS: usize = 10;
    /// The longest warm-up of each window but the first, so that responses come from its start on.
    pub const WARMUP: Nanos = Nanos::from_millis(200);
    /// The fewest responses in all windows that are judged.
    const RESPONSES_LEAST: u64 = 20;

    /// Judges `windows`, the first without a warm-up, the others with one of `warmup` each, of a load that is open or not. Returns
    /// also whether another window is needed.
    ///
    /// Bins of 100 ms are compared: of a closed loop their ok endings, of an open loop, whose throughput is the planned rate, one by
    /// the mean latency. Both rise while a server warms up.
    pub fn of(windows: &[Round], warmup: Nanos, is_open: bool) -> (Settling, bool) {
        let mut load = Nanos::ZERO;
        let mut bins: Vec<(Nanos, f64)> = Vec::new();
        for (place, window) in windows.iter().enumerate() {
            load += if place > 0 { warmup } else { Nanos::ZERO };
            let of_window = if is_open {
                speeds(window)
            } else {
                endings(window)
            };
            bins.extend(
                of_window
                    .into_iter()
                    .map(|(offset, value)| (load + offset, value)),
            );
            load += window.window.span();
        }
        let values: Vec<f64> = bins.iter().map(|(_, value)| *value).collect();
        let responses: u64 = windows.iter().map(|window| window.tally.ok_in_window).sum();
        let is_rising = stats::is_rising(&values).filter(|_| responses >= Self::RESPONSES_LEAST);
        let is_last = windows.len() >= Self::MOST_WINDOWS;
        let is_steady = is_rising.and_then(|rises| (!rises || is_last).then_some(!rises));
        let first = windows.first().filter(|first| !first.partial);
        let settling = Settling {
            first_response: None,
            first_second: first.map(FirstSecond::of),
            load,
            is_steady,
            steady_after: (is_steady == Some(true))
                .then(|| bins.get(stats::warm_up(&values)).map(|(offset, _)| *offset))
                .flatten(),
            sent: windows.iter().map(|window| window.sent_total.sum()).sum(),
        };
        let is_short = windows.len() < 2;
        (settling, !is_last && (is_short || is_rising == Some(true)))
    }

    /// Returns how long a load of `windows` windows lasts, each but the first with a warm-up of `warmup`.
    pub fn lasts(windows: usize, warmup: Nanos) -> Nanos {
        Self::WINDOW * windows as u64 + warmup.min(Self::WARMUP) * (windows as u64 - 1)
    }
}

impl FirstSecond {
    fn of(window: &Round) -> FirstSecond {
        let latency = window.tally.latency();
        FirstSecond {
            rps: window.rps(),
            p99: latency.quantile_if_carried(0.99).map(Nanos::from_nanos),
            max: latency.max().map(Nanos::from_nanos),
        }
    }
}

/// Ok endings in each whole bin of a window, with the bin's offset.
fn endings(window: &Round) -> Vec<(Nanos, f64)> {
    let series = &window.tally.series;
    let whole = window.window.span().as_nanos() / series.interval.as_nanos();
    let ok = |bin: u64| series.ok.get(bin as usize).copied().unwrap_or(0) as f64;
    (0..whole)
        .map(|bin| (series.interval * bin, ok(bin)))
        .collect()
}

/// One by the mean latency of each bin of a window in which requests ended, with the bin's offset.
fn speeds(window: &Round) -> Vec<(Nanos, f64)> {
    let start = window.window.start.as_nanos();
    let clusters = &window.tally.clusters;
    let interval = clusters.interval();
    // Bins lie on the clock, each with what ended from the window's own bin in it on.
    let offset = |at: u64| {
        Nanos::from_nanos((at + interval - 1).saturating_sub(start) / interval * interval)
    };
    clusters
        .means()
        .map(|(at, mean)| (offset(at), 1.0 / mean))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tally, Window};
    use units::Instant;

    /// A window of a closed loop with so many endings in each of its ten bins.
    fn window(ok: impl Fn(u64) -> u64) -> Round {
        let mut round = Round::default();
        let start = Instant::from_nanos(5_050_000_000);
        round.window = Window {
            start,
            end: start + Settling::WINDOW,
        };
        round.sent_total.measure = 100;
        for bin in 0..10 {
            let offset = Nanos::from_millis(100) * bin;
            round.tally.series.add(offset, ok(bin), 0);
            round.tally.ok_in_window += ok(bin);
        }
        round
    }

    const WARMUP: Nanos = Settling::WARMUP;

    #[test]
    fn a_steady_server_takes_two_windows_and_a_slow_start_is_found() {
        let steady = |bin| 1_000 + bin % 3;
        let (_, goes_on) = Settling::of(&[window(steady)], WARMUP, false);
        assert!(goes_on);
        let (settling, goes_on) = Settling::of(&[window(steady), window(steady)], WARMUP, false);
        assert!(!goes_on);
        assert_eq!(
            (settling.is_steady, settling.steady_after),
            (Some(true), Some(Nanos::ZERO))
        );
        assert_eq!(
            (settling.sent, settling.load),
            (200, Nanos::from_millis(2_200))
        );
        let cold = |bin| if bin < 7 { 500 } else { 1_000 + bin % 3 };
        let windows = [window(cold), window(steady), window(steady)];
        let (_, goes_on) = Settling::of(&windows[..2], WARMUP, false);
        assert!(goes_on, "requests/s rose");
        let (settling, goes_on) = Settling::of(&windows, WARMUP, false);
        assert!(!goes_on && settling.is_steady == Some(true));
        assert_eq!(settling.steady_after, Some(Nanos::from_millis(700)));
        let first = settling.first_second.as_ref().unwrap();
        assert!((first.rps - 6_503.0).abs() < 5.0, "{first:?}");
    }

    #[test]
    fn at_the_limit_a_rise_is_told_and_too_few_responses_are_no_verdict() {
        let windows: Vec<Round> = (0..10)
            .map(|number| window(|bin| 1_000 + 20 * (10 * number + bin)))
            .collect();
        let (settling, goes_on) = Settling::of(&windows[..9], WARMUP, false);
        assert!(goes_on && settling.is_steady.is_none());
        let (settling, goes_on) = Settling::of(&windows, WARMUP, false);
        assert_eq!(
            (settling.is_steady, goes_on, settling.steady_after),
            (Some(false), false, None)
        );
        assert_eq!(settling.load, Settling::lasts(10, Nanos::from_secs(3)));
        let slow = || window(|bin| u64::from(bin == 9));
        let (settling, goes_on) = Settling::of(&[slow(), slow()], WARMUP, false);
        assert_eq!((settling.is_steady, goes_on), (None, false));
    }

    #[test]
    fn in_an_open_loop_falling_latency_is_a_warm_up() {
        let open = |nanos: &dyn Fn(u64) -> u64| {
            let mut round = window(|_| 100);
            let mut tally = Tally::default();
            for bin in 0..10u64 {
                let mut counts = vec![0u32; stats::clusters::CLASSES];
                counts[stats::Clusters::class_of(nanos(bin))] = 100;
                let at = round.window.start.as_nanos() + bin * 100_000_000;
                tally.clusters.add(at, &counts);
            }
            round.tally.clusters = tally.clusters;
            round
        };
        let (cold, warm) = (open(&|bin| 40_000_000 >> bin.min(5)), open(&|_| 1_250_000));
        let (settling, goes_on) = Settling::of(&[cold, warm], WARMUP, true);
        assert!(!goes_on && settling.is_steady == Some(true));
        assert_eq!(settling.steady_after, Some(Nanos::from_millis(500)));
    }
}

//! Spans with silence between them: a steady process of which each period is compressed into the period's first part.
//!
//! What a period of the steady process has, its span has too, in the same order and proportion. So the mean rate over whole
//! periods is that of the steady process, and a Poisson process stays one within the spans.

use units::Nanos;

/// The instants of `steady`, with time that stands still in the rest of each period.
#[derive(Debug, Clone)]
pub(super) struct Spans<P> {
    steady: P,
    /// Length of a span.
    on: u64,
    /// From the beginning of a span to that of the next.
    period: u64,
}

impl<P> Spans<P> {
    pub(super) fn new(steady: P, on: Nanos, period: Nanos) -> Spans<P> {
        Spans {
            steady,
            on: on.as_nanos(),
            period: period.as_nanos().max(1),
        }
    }
}

impl<P: Iterator<Item = Nanos>> Iterator for Spans<P> {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.nth(0)
    }

    fn nth(&mut self, skip: usize) -> Option<Nanos> {
        let at = self.steady.nth(skip)?.as_nanos();
        let into = at % self.period;
        let compressed = u128::from(into) * u128::from(self.on) / u128::from(self.period);
        Some(Nanos::from_nanos(at - into + compressed as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::constant::Even;
    use super::super::poisson::Random;
    use super::super::poisson::tests::{SEEDS, anderson_darling};
    use super::*;

    #[test]
    fn a_burst_is_even_and_has_the_requests_of_its_period() {
        let rate = "500".parse().unwrap();
        let bursts = Spans::new(Even::new(rate), Nanos::from_millis(10), Nanos::from_secs(1));
        let due: Vec<u64> = bursts.take(2_000).map(Nanos::as_nanos).collect();
        for (number, due) in due.iter().enumerate() {
            let (burst, place) = (number as u64 / 500, number as u64 % 500);
            assert_eq!(*due, burst * 1_000_000_000 + place * 20_000, "{number}");
        }
    }

    #[test]
    fn any_whole_number_of_periods_has_the_mean_rate_wherever_it_begins() {
        let rate: units::Rate = "333.3".parse().unwrap();
        let (on, period) = (Nanos::from_millis(70), Nanos::from_millis(300));
        let due: Vec<Nanos> = Spans::new(Even::new(rate), on, period)
            .take(5_000)
            .collect();
        for begin in (0..2_000).map(|step| Nanos::from_millis(step * 3)) {
            let end = begin + period * 7;
            let number = due.iter().filter(|due| (begin..end).contains(*due)).count();
            let wanted = rate.number_in(period * 7);
            assert!((number as f64 - wanted).abs() <= 1.0, "{begin:?}: {number}");
        }
    }

    /// 300 ms on, 700 ms off, at a mean rate of 1000/s.
    fn on_off(seed: u64) -> impl Iterator<Item = u64> {
        let steady = Random::new(units::Rate::per_second(1_000), seed);
        let (on, period) = (Nanos::from_millis(300), Nanos::from_secs(1));
        Spans::new(steady, on, period).map(Nanos::as_nanos)
    }

    #[test]
    fn nothing_arrives_while_it_is_off_and_gaps_are_exponential_while_it_is_on() {
        for seed in SEEDS {
            let due: Vec<u64> = on_off(seed).take(2_001).collect();
            assert!(due.iter().all(|due| due % 1_000_000_000 < 300_000_000));
            // The clock stands still while it is off.
            let on = |due: u64| (due / 1_000_000_000 * 300_000_000 + due % 1_000_000_000) as f64;
            let gaps = due.windows(2).map(|pair| on(pair[1]) - on(pair[0]));
            // 300 ms have the requests of a second.
            let statistic = anderson_darling(gaps.collect(), 0.3e6);
            assert!(statistic < 3.86, "{seed}: {statistic}");
        }
    }

    #[test]
    fn whole_periods_have_the_mean_rate_and_scatter_as_much_as_a_poisson_process() {
        const PERIODS: usize = 400;
        for seed in SEEDS {
            let mut counts = [0_u32; PERIODS];
            on_off(seed)
                .map(|due| (due / 1_000_000_000) as usize)
                .take_while(|period| *period < PERIODS)
                .for_each(|period| counts[period] += 1);
            let mean = counts.iter().sum::<u32>() as f64 / PERIODS as f64;
            let squares = counts
                .iter()
                .map(|count| (f64::from(*count) - mean).powi(2));
            let dispersion = squares.sum::<f64>() / (PERIODS - 1) as f64 / mean;
            // Four standard deviations: of the mean sqrt(1000 / 400), of the dispersion sqrt(2 / 400).
            assert!((mean - 1_000.0).abs() < 6.4, "{seed}: {mean}");
            assert!((dispersion - 1.0).abs() < 0.29, "{seed}: {dispersion}");
        }
    }
}

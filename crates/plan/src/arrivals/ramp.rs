//! A rate that changes linearly: a steady process at the mean rate, read from a clock that runs at the speed of the rate.
//!
//! That makes an inhomogeneous Poisson process of a steady one (time change), and keeps an even spacing exact: arrival `k`
//! is scheduled when `k` requests were to come. Before the change the first rate holds, after it the last. The root is
//! written so that it never falls where rounding has a part in it; the other form, without a difference, would.

use super::constant::Even;
use super::poisson::Random;
use super::{Instants, Process};
use crate::Arrivals;
use units::{Nanos, Rate};

/// The process.
pub(crate) struct Ramp {
    /// Rate of the warm-up and at the start of the window.
    pub(crate) from: Rate,
    /// Rate at its end.
    pub(crate) to: Rate,
    /// Length of the warm-up.
    pub(crate) after: Nanos,
    /// Length of the window.
    pub(crate) over: Nanos,
    /// Whether they are evenly spaced; otherwise at random.
    pub(crate) even: bool,
}

impl Process for Ramp {
    /// What `--arrivals` writes of it, and its rates.
    fn written(&self) -> String {
        let (from, to) = (self.from.as_f64(), self.to.as_f64());
        format!("{}, ramp:{from}..{to}", self.steady())
    }

    fn words(&self) -> String {
        let steady = if self.even {
            "evenly spaced"
        } else {
            "Poisson"
        };
        format!("ramp, {steady}")
    }

    fn steady(&self) -> Arrivals {
        match self.even {
            true => Arrivals::Constant,
            false => Arrivals::Poisson,
        }
    }

    fn dispersion(&self) -> f64 {
        self.steady().dispersion()
    }

    fn instants(&self, rate: Rate, seed: u64) -> Box<dyn Instants> {
        let (ends, after, over) = ([self.from, self.to], self.after, self.over);
        match self.even {
            true => Box::new(Changing::new(Even::new(rate), ends, after, over)),
            false => Box::new(Changing::new(Random::new(rate, seed), ends, after, over)),
        }
    }
}

/// The instants of `steady`, at a rate that goes from `from` to `to` mean rates.
#[derive(Debug, Clone)]
struct Changing<P> {
    steady: P,
    /// In mean rates.
    from: f64,
    /// In mean rates.
    to: f64,
    /// When the change begins, in nanoseconds.
    after: f64,
    /// How long it takes, in nanoseconds.
    over: f64,
}

impl<P> Changing<P> {
    fn new(steady: P, [from, to]: [Rate; 2], after: Nanos, over: Nanos) -> Changing<P> {
        let mean = (from.as_f64() + to.as_f64()) / 2.0;
        Changing {
            steady,
            from: from.as_f64() / mean,
            to: to.as_f64() / mean,
            after: after.as_nanos() as f64,
            over: over.as_nanos() as f64,
        }
    }

    /// Returns when as many have come as come at the mean rate in `number` nanoseconds.
    fn when(&self, number: f64) -> f64 {
        let before = self.from * self.after;
        if number < before {
            return number / self.from;
        }
        let number = number - before;
        let since = match number < self.over {
            true => {
                let growth = (self.to - self.from) / self.over;
                let square = self.from * self.from + 2.0 * growth * number;
                (square.max(0.0).sqrt() - self.from) / growth
            }
            // A rate that ends at 0 has none behind its end.
            false => (self.over + (number - self.over) / self.to).max(self.over),
        };
        self.after + since
    }
}

impl<P: Iterator<Item = Nanos>> Iterator for Changing<P> {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.nth(0)
    }

    fn nth(&mut self, skip: usize) -> Option<Nanos> {
        let number = self.steady.nth(skip)?.as_nanos() as f64;
        Some(Nanos::from_nanos(self.when(number) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::constant::Even;
    use super::super::poisson::Random;
    use super::super::poisson::tests::SEEDS;
    use super::*;

    const AFTER: Nanos = Nanos::from_millis(500);
    const OVER: Nanos = Nanos::from_secs(4);

    fn ramp<P>(steady: fn(Rate) -> P, from: u64, to: u64) -> Changing<P> {
        let mean = Rate::of_f64((from + to) as f64 / 2.0).unwrap();
        let rates = [from, to].map(Rate::per_second);
        Changing::new(steady(mean), rates, AFTER, OVER)
    }

    /// How many come before `seconds` from the beginning.
    fn expected(from: f64, to: f64, seconds: f64) -> f64 {
        let since = (seconds - AFTER.as_secs_f64()).clamp(0.0, OVER.as_secs_f64());
        let rest = (seconds - AFTER.as_secs_f64() - since).max(0.0);
        let before = from * seconds.min(AFTER.as_secs_f64());
        let growth = (to - from) / OVER.as_secs_f64();
        before + from * since + growth * since * since / 2.0 + to * rest
    }

    #[test]
    fn evenly_as_many_have_come_at_any_time_as_the_rates_until_then_make() {
        for (from, to) in [(0, 1_000), (1_000, 0), (100, 3_000), (1_000, 999), (7, 8)] {
            let due: Vec<f64> = ramp(Even::new, from, to)
                .map(Nanos::as_secs_f64)
                .take_while(|due| *due < 6.0)
                .take(20_000)
                .collect();
            assert!(due.is_sorted());
            for at in (0..60).map(|tenth| f64::from(tenth) / 10.0) {
                let number = due.iter().filter(|due| **due < at).count() as f64;
                let wanted = expected(from as f64, to as f64, at);
                assert!(
                    (number - wanted).abs() <= 1.001,
                    "{from}..{to} {at}: {number} {wanted}"
                );
            }
        }
    }

    #[test]
    fn the_window_has_the_mean_rate() {
        for (from, to) in [(0, 1_000), (1_000, 0), (100, 3_000)] {
            let inside = |due: &Nanos| (AFTER..AFTER + OVER).contains(due);
            let number = ramp(Even::new, from, to)
                .take(50_000)
                .filter(inside)
                .count();
            let wanted = (from + to) as f64 / 2.0 * OVER.as_secs_f64();
            assert!(
                (number as f64 - wanted).abs() <= 1.0,
                "{from}..{to}: {number}"
            );
        }
    }

    /// What is counted on the clock of the rate is the steady process: a Poisson process stays one.
    #[test]
    fn on_the_clock_of_its_rate_it_is_the_steady_process() {
        for seed in SEEDS {
            for (from, to) in [(0, 1_000), (1_000, 0), (200, 800)] {
                let steady = Random::new(Rate::per_second(500), seed);
                let rates = [from, to].map(Rate::per_second);
                let ramp = Changing::new(steady.clone(), rates, AFTER, OVER);
                let inside = ramp.take_while(|due| *due < AFTER + OVER);
                for (number, (due, steady)) in inside.zip(steady).enumerate() {
                    let come = expected(from as f64, to as f64, due.as_secs_f64());
                    let wanted = steady.as_secs_f64() * 500.0;
                    let what = format!("{from}..{to} {seed} {number}: {come} {wanted}");
                    assert!((come - wanted).abs() < 1e-4, "{what}");
                }
            }
        }
    }
}

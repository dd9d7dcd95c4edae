//! Did requests/s switch between two states?

use super::bins::{Bins, bins};
use super::prelude::*;

pub(super) const CHECK: Check = Check {
    name: "modes",
    question: "Did requests/s switch between two states?",
    looks_at: "Closed loops of 100 whole bins of 100 ms or more, all rounds together. A mixture of two normal \
               distributions of one variance is fitted to the logarithms of requests/s in each bin (EM) and compared \
               with one normal distribution by the Bayesian information criterion. Because skewed and slowly waving \
               series look like two distributions too, the number of bins is reduced by the memory from bin to bin, \
               and the valley between both means must be real.",
    thresholds: &[
        threshold(
            "advantage of two distributions by the criterion, over",
            || BIC_LEAST.to_string(),
            "very strong evidence: Kass and Raftery, JASA 90, 1995",
        ),
        guess("share of the rarer state, from", || percent(WEIGHT_LEAST)),
        guess("distance of the means in standard deviations, over", || {
            DISTANCE_LEAST.to_string()
        }),
        threshold(
            "bins in the middle third between the means, of those around the rarer mean, up to",
            || percent(VALLEY_MOST),
            "simulation: without it 46 % of runs with a skewed scatter are found",
        ),
        guess("switches between the states, from", || {
            SWITCHES_LEAST.to_string()
        }),
        guess("difference of requests/s, from", || percent(SIZE_LEAST)),
    ],
    false_alarms: "simulation of 1,000 runs of five rounds of 50 bins, normal, skewed or with stalls, AR(1) 0 to 0.8, \
                   which a test repeats: at most 0.5 %",
    power: "the same simulation: two states six standard deviations apart, the rarer with 25 % and 1.2 s at a time, are \
            found in over 85 % of runs; four standard deviations apart in under 40 %",
    effect: "Requests/s, its interval and latency get a caveat: their means are of a state that there was not.",
    remedy: "Look for what switches: CPU frequency, placement of threads on CPUs (taskset, --pin), garbage collection, \
             other programs. Quote both states.",
    cause: Cause::Other,
    judge: |evidence| judge(evidence).into_iter().collect(),
};

/// The fewest bins of all rounds.
const BINS_LEAST: usize = 100;
const BIC_LEAST: f64 = 10.0;
const WEIGHT_LEAST: f64 = 0.10;
const DISTANCE_LEAST: f64 = 3.0;
const VALLEY_MOST: f64 = 0.5;
const SWITCHES_LEAST: usize = 4;
const SIZE_LEAST: f64 = 0.10;
/// Steps of the fit; it converges in far fewer where the states are apart.
const STEPS: usize = 60;

fn judge(evidence: &Evidence<'_>) -> Option<Finding> {
    let states = states(&bins(evidence))?;
    let [low, high] = states.rates.map(units::rate);
    let rarer = states.share.min(1.0 - states.share);
    let headline = format!("two states: {low} and {high} requests/s");
    let sentence = format!(
        "two states: {high} requests/s ({}) and {low} requests/s ({}), {:.1} s at a time in the rarer",
        percent(1.0 - states.share),
        percent(states.share),
        states.dwell.as_secs_f64(),
    );
    Some(
        caveat(
            &[Figure::Rps, Figure::Latency, Figure::Interval],
            headline,
            sentence,
        )
        .evidence([
            ("requests/s in the lower state", states.rates[0]),
            ("requests/s in the higher state", states.rates[1]),
            ("share of the rarer state", rarer),
            ("seconds at a time", states.dwell.as_secs_f64()),
        ]),
    )
}

/// Two states of requests/s.
#[derive(Debug)]
pub(super) struct States {
    /// The lower and the higher.
    rates: [f64; 2],
    /// The share of time in the lower.
    share: f64,
    /// How long the rarer lasts at a time, on average.
    dwell: Nanos,
}

/// Returns the two states that requests/s switches between, where there are two.
pub(super) fn states(bins: &[Bins<'_>]) -> Option<States> {
    let width = bins.first()?.width;
    let rates = bins
        .iter()
        .filter(|bins| bins.width == width)
        .flat_map(|bins| &bins.rates);
    let logs: Vec<f64> = rates
        .map(|rate| rate.max(1.0 / width.as_secs_f64()).ln())
        .collect();
    let (fit, is_low) = two(&logs)?;
    let [low, high] = fit.means.map(f64::exp);
    let is_rarer = |low: &bool| *low == (fit.weight < 0.5);
    let visits = is_low
        .chunk_by(|one, other| one == other)
        .filter(|visit| is_rarer(&visit[0]))
        .count();
    let inside = is_low.iter().filter(|low| is_rarer(low)).count();
    let dwell = width.as_secs_f64() * inside as f64 / visits.max(1) as f64;
    (high / low - 1.0 >= SIZE_LEAST).then(|| States {
        rates: [low, high],
        share: fit.weight,
        dwell: Nanos::from_nanos((dwell * 1e9) as u64),
    })
}

/// Two normal distributions of one variance.
struct Mixture {
    /// The lower mean and the higher.
    means: [f64; 2],
    variance: f64,
    /// Of the lower.
    weight: f64,
}

/// Returns the mixture, and which values are of the lower part, where two distributions explain the values far better than
/// one.
fn two(values: &[f64]) -> Option<(Mixture, Vec<bool>)> {
    if values.len() < BINS_LEAST {
        return None;
    }
    let (fit, gained) = fit(values)?;
    let is_low: Vec<bool> = values
        .iter()
        .map(|value| fit.in_low(*value) > 0.5)
        .collect();
    let [low, high] = fit.means;
    let rest = |(value, low_one): (&f64, &bool)| value - if *low_one { low } else { high };
    let rest: Vec<f64> = values.iter().zip(&is_low).map(rest).collect();
    let squares: f64 = rest.iter().map(|rest| rest * rest).sum();
    let lagged: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let memory = (lagged / squares).clamp(0.0, 0.98);
    let effective = (1.0 - memory) / (1.0 + memory);
    let bic = 2.0 * gained * effective - 2.0 * (values.len() as f64 * effective).max(2.0).ln();
    let near = |centre: f64| {
        let is_near = |value: &&f64| (**value - centre).abs() <= (high - low) / 6.0;
        values.iter().filter(is_near).count() as f64
    };
    let valley = near(f64::midpoint(low, high)) <= VALLEY_MOST * near(low).min(near(high));
    let switches = is_low.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let is_two = bic > BIC_LEAST
        && fit.weight.min(1.0 - fit.weight) >= WEIGHT_LEAST
        && high - low > DISTANCE_LEAST * fit.variance.sqrt()
        && valley
        && switches >= SWITCHES_LEAST;
    is_two.then_some((fit, is_low))
}

/// Fits two normal distributions, from the halves on either side of the median; returns how much larger the logarithm of
/// the likelihood is than with one. None where the values do not scatter.
fn fit(values: &[f64]) -> Option<(Mixture, f64)> {
    let n = values.len() as f64;
    let mean = stats::mean(values)?;
    let spread = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n;
    let median = stats::median(values)?;
    let half = |above: bool| {
        let half: Vec<f64> = values
            .iter()
            .copied()
            .filter(|value| (*value > median) == above)
            .collect();
        stats::mean(&half)
    };
    let floor = spread * 1e-6;
    let mut fit = Mixture {
        means: [half(false)?, half(true)?],
        variance: spread / 4.0,
        weight: 0.5,
    };
    for _ in 0..STEPS {
        let low: Vec<f64> = values.iter().map(|value| fit.in_low(*value)).collect();
        let sum: f64 = low.iter().sum();
        if !(1.0..=n - 1.0).contains(&sum) {
            return None; // one of them is empty
        }
        let of = |part: fn(f64) -> f64, sum: f64| {
            let parts = values.iter().zip(&low);
            parts.map(|(value, low)| part(*low) * value).sum::<f64>() / sum
        };
        let means = [of(|low| low, sum), of(|low| 1.0 - low, n - sum)];
        let squares = values.iter().zip(&low).map(|(value, low)| {
            low * (value - means[0]).powi(2) + (1.0 - low) * (value - means[1]).powi(2)
        });
        fit = Mixture {
            means,
            variance: (squares.sum::<f64>() / n).max(floor),
            weight: sum / n,
        };
    }
    let two: f64 = values.iter().map(|value| fit.likelihood(*value)).sum();
    let one = -n / 2.0 * spread.ln() - n / 2.0;
    (spread > 0.0).then_some((fit, two - one))
}

impl Mixture {
    /// Logarithms of both densities at `value`, without the factor that all normal densities have.
    fn densities(&self, value: f64) -> [f64; 2] {
        let of = |mean: f64, weight: f64| {
            weight.ln() - self.variance.ln() / 2.0 - (value - mean).powi(2) / (2.0 * self.variance)
        };
        [
            of(self.means[0], self.weight),
            of(self.means[1], 1.0 - self.weight),
        ]
    }

    /// The chance that `value` is of the lower part.
    fn in_low(&self, value: f64) -> f64 {
        let [low, high] = self.densities(value);
        1.0 / (1.0 + (high - low).exp())
    }

    fn likelihood(&self, value: f64) -> f64 {
        let [low, high] = self.densities(value);
        low.max(high) + (-(low - high).abs()).exp().ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Chance, healthy};
    use record::{Grade, Run, Series};

    /// Five rounds of 5 s, in whose bins so many requests ended.
    fn run(of: impl Fn(u64) -> u64) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.window.end = round.window.start + Nanos::from_secs(5);
            let mut series = Series::default();
            (0..50).for_each(|bin| series.add(Series::INTERVAL * bin, of(bin) + bin * 7 % 10, 0));
            round.tally.series = series;
        }
        run
    }

    fn found(run: &Run) -> Option<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn two_states_are_told_with_shares_and_dwell_times() {
        let run = run(|bin| {
            if (10..22).contains(&bin) {
                5_000
            } else {
                6_900
            }
        });
        let finding = found(&run).unwrap();
        let wanted = "two states: 69,046 requests/s (76 %) and 50,043 requests/s (24 %), 1.2 s at a time in the rarer";
        assert_eq!(
            (finding.sentence.as_str(), finding.grade()),
            (wanted, Grade::Caveat)
        );
    }

    #[test]
    fn one_state_close_states_and_one_switch_are_none() {
        let cases: [fn(u64) -> u64; 4] = [
            |_| 5_000,
            |bin| {
                if (10..22).contains(&bin) {
                    6_500
                } else {
                    6_900
                }
            },
            |bin| {
                if (10..12).contains(&bin) {
                    3_000
                } else {
                    6_900
                }
            },
            |bin| 5_000 + bin * 40,
        ];
        for (at, case) in cases.into_iter().enumerate() {
            assert!(found(&run(case)).is_none(), "{at}");
        }
        let mut run = run(|_| 5_000);
        let rounds = &mut run.points[0].rounds;
        rounds[4]
            .tally
            .series
            .ok
            .iter_mut()
            .for_each(|ok| *ok -= 2_000);
        assert!(found(&run).is_none(), "one round is slower");
    }

    /// The share of 1,000 runs of 250 bins that are found, with the lower state `apart` deviations below.
    fn simulated(scatter: fn(&mut Chance) -> f64, memory: f64, apart: f64) -> f64 {
        let mut chance = Chance::seeded();
        let found = (0..1_000).filter(|_| {
            let (mut state, mut is_low) = (scatter(&mut chance), false);
            let values: Vec<f64> = (0..250)
                .map(|_| {
                    state = memory * state + (1.0 - memory * memory).sqrt() * scatter(&mut chance);
                    let leaves = if is_low { 1.0 / 12.0 } else { 1.0 / 36.0 };
                    is_low ^= chance.uniform() < leaves;
                    state - if is_low { apart } else { 0.0 }
                })
                .collect();
            two(&values).is_some()
        });
        found.count() as f64 / 1_000.0
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        let stalls = |chance: &mut Chance| {
            let stall = if chance.uniform() < 0.05 {
                5.0 * chance.exponential()
            } else {
                0.0
            };
            chance.normal() - stall
        };
        for scatter in [
            Chance::normal,
            |chance: &mut Chance| 1.0 - chance.exponential(),
            stalls,
        ] {
            for memory in [0.0, 0.5, 0.8] {
                let alarms = simulated(scatter, memory, 0.0);
                assert!(alarms <= 0.005, "{memory}: {alarms}");
            }
        }
        let power = [6.0, 4.0].map(|apart| simulated(Chance::normal, 0.0, apart));
        assert!(power[0] > 0.85 && power[1] < 0.40, "{power:?}");
    }
}

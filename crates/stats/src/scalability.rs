//! How throughput grows with workers: Gunther's universal scalability law, and when it says anything.
//!
//! `X(N) = g N / (1 + a (N - 1) + b N (N - 1))`: `g` is what one worker does, `a` what they wait for each other, `b` what
//! they must agree on ("Guerrilla Capacity Planning", 2007). It is a model of contention only where N counts what
//! contends, workers or threads; over client connections it is a description, and is not fitted here.
//!
//! The fit is weighted least squares on `N / X`, which is linear in the parameters, with the weights that make it
//! least squares on X to first order; parameters below zero have no meaning, so the best fit without them is taken
//! instead. A few rounds of one level do not say how much they scatter, those of all levels together do: one relative
//! variance is taken for all. Intervals come from drawing what the rounds leave over again, each for any level
//! (bootstrap of residuals, percentiles), widened by what the levels' own means took from the scatter and by Student's
//! t over its limit, as for any interval from few rounds.

use crate::student_t;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fewest levels that a law with three parameters is fitted to.
pub const LEVELS_LEAST: usize = 6;
/// Times that rounds are drawn again: the ends of a 95 % interval are then the 25th draws from either end.
const DRAWS: u64 = 1_000;
/// Half the width of a normal 95 % interval, in standard deviations.
const NORMAL: f64 = 1.96;
/// Relative scatter under which rounds are not believed to agree.
const LEAST_SCATTER: f64 = 1e-3;

/// What was measured at one number of workers.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Workers.
    pub n: f64,
    /// Throughput of each round; of each start of the server, as the mean of its rounds, where a level has several.
    pub rates: Vec<f64>,
}

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Law {
    gamma: f64,
    alpha: f64,
    beta: f64,
}

/// The universal scalability law `X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))` as fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Requests/s of one worker or thread.
    pub gamma: f64,
    /// Contention.
    pub alpha: f64,
    /// Its 95 % interval.
    pub alpha_interval: (f64, f64),
    /// Coherence.
    pub beta: f64,
    /// Its 95 % interval.
    pub beta_interval: (f64, f64),
    /// Where requests/s are highest by the law; none where its interval of beta reaches 0, so that nothing shows that
    /// they ever fall.
    pub peak_at: Option<f64>,
    /// Whether that lies beyond what was measured, above or below.
    pub extrapolated: bool,
    /// The model that explains the levels best for its number of parameters.
    pub best: Model,
    /// Whether what the law leaves over looks like chance.
    pub patternless: bool,
}

/// What throughput may follow, by Akaike's criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The universal scalability law.
    Universal,
    /// Amdahl's: without coherence.
    Amdahl,
    /// Straight up to a ceiling.
    Ceiling,
}

impl Law {
    /// Throughput at `n` workers.
    fn at(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0))
    }

    /// Where throughput is highest; none without coherence, where it never falls.
    fn peak(&self) -> Option<f64> {
        (self.beta > 0.0 && self.alpha < 1.0).then(|| ((1.0 - self.alpha) / self.beta).sqrt())
    }
}

/// Fits the law to `levels`; `seed` is that of the draws. None for fewer levels than [`LEVELS_LEAST`], and where a level has
/// under two rounds, or one without throughput.
pub fn fit(levels: &[Level], seed: u64) -> Option<Scaling> {
    let sound = |level: &Level| level.rates.len() > 1 && level.rates.iter().all(|x| *x > 0.0);
    if levels.len() < LEVELS_LEAST || !levels.iter().all(sound) {
        return None;
    }
    let scatter = Scatter::of(levels);
    let points: Vec<Point> = levels
        .iter()
        .map(|level| Point::of(level, &scatter))
        .collect();
    let law = best(&points);
    let mut draws: Vec<Law> = (0..DRAWS)
        .map(|number| best(&again(levels, &points, &scatter, seed, number)))
        .collect();
    let mut interval = |of: fn(&Law) -> f64| {
        draws.sort_by(|a, b| of(a).total_cmp(&of(b)));
        let end = DRAWS as usize / 40;
        (of(&draws[end]), of(&draws[draws.len() - 1 - end]))
    };
    let beta_interval = interval(|law| law.beta);
    let peak_at = law.peak().filter(|_| beta_interval.0 > 0.0);
    let numbers: Vec<f64> = levels.iter().map(|level| level.n).collect();
    let (least, most) = crate::min_max(&numbers)?;
    Some(Scaling {
        gamma: law.gamma,
        alpha: law.alpha,
        alpha_interval: interval(|law| law.alpha),
        beta: law.beta,
        beta_interval,
        peak_at,
        extrapolated: peak_at.is_some_and(|peak| !(least..=most).contains(&peak)),
        best: model(&points, &law),
        patternless: is_patternless(&points, &law),
    })
}

/// A level as the fit sees it.
#[derive(Debug, Clone, Copy)]
struct Point {
    n: f64,
    x: f64,
    weight: f64,
}

/// How the rounds of all levels lie around their level's mean.
#[derive(Debug)]
struct Scatter {
    /// Each round's distance from the mean of its level, as a share of it, scaled to the scatter that it comes from.
    residuals: Vec<f64>,
    /// Relative variance of a round.
    variance: f64,
}

impl Scatter {
    fn of(levels: &[Level]) -> Scatter {
        let of_level = |level: &Level| {
            let number = level.rates.len() as f64;
            let mean = level.mean();
            let scale = (number / (number - 1.0)).sqrt();
            let scaled = move |rate: &f64| (rate / mean - 1.0) * scale;
            level.rates.iter().map(scaled).collect::<Vec<f64>>()
        };
        let mut residuals: Vec<f64> = levels.iter().flat_map(of_level).collect();
        let number = residuals.len() as f64;
        let squares: f64 = residuals.iter().map(|each| each * each).sum();
        let freedom = residuals.len() - levels.len();
        let known = u32::try_from(freedom)
            .ok()
            .and_then(|freedom| student_t(freedom, 0.95));
        let widening = known.map_or(1.0, |t| t / NORMAL);
        residuals.iter_mut().for_each(|each| *each *= widening);
        // Rounds that happen to agree do not make a level exact.
        let variance = (squares / number).max(LEAST_SCATTER.powi(2));
        Scatter {
            residuals,
            variance,
        }
    }
}

impl Level {
    fn mean(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len() as f64
    }
}

impl Point {
    fn of(level: &Level, scatter: &Scatter) -> Point {
        let x = level.mean();
        Point {
            n: level.n,
            x,
            weight: level.rates.len() as f64 / (scatter.variance * x * x),
        }
    }
}

/// The levels, each with as many rounds as it had drawn around its mean from what all rounds left over.
fn again(
    levels: &[Level],
    points: &[Point],
    scatter: &Scatter,
    seed: u64,
    number: u64,
) -> Vec<Point> {
    let residuals = &scatter.residuals;
    let mut counter = number << 32;
    let mut drawn = |rounds: usize| {
        let sum: f64 = (0..rounds)
            .map(|_| {
                counter += 1;
                residuals[(random(seed, counter) % residuals.len() as u64) as usize]
            })
            .sum();
        sum / rounds as f64
    };
    let redrawn = levels.iter().zip(points).map(|(level, point)| Point {
        x: point.x * (1.0 + drawn(level.rates.len())),
        ..*point
    });
    redrawn.collect()
}

/// SplitMix64's finaliser over seed and counter (Steele, Lea and Flood, 2014).
fn random(seed: u64, counter: u64) -> u64 {
    let mut bits = seed.wrapping_add(counter.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The best law whose parameters mean something.
fn best(points: &[Point]) -> Law {
    let candidates = [(true, true), (true, false), (false, true), (false, false)];
    let laws = candidates
        .into_iter()
        .filter_map(|(alpha, beta)| linear(points, alpha, beta))
        .filter(|law| law.gamma > 0.0 && law.alpha >= 0.0 && law.beta >= 0.0);
    let least = laws.min_by(|a, b| squares(points, a).total_cmp(&squares(points, b)));
    least.unwrap_or(Law {
        gamma: points[0].x / points[0].n,
        alpha: 0.0,
        beta: 0.0,
    })
}

/// Weighted least squares of `N / X` on 1, N - 1 and N (N - 1), the latter two where they are wanted.
fn linear(points: &[Point], alpha: bool, beta: bool) -> Option<Law> {
    let mut sums = [[0.0; 4]; 3];
    for point in points {
        let terms = [
            1.0,
            if alpha { point.n - 1.0 } else { 0.0 },
            if beta { point.n * (point.n - 1.0) } else { 0.0 },
        ];
        // An error of X is one of N / X that is N / X^2 times as large.
        let weight = point.weight * (point.x * point.x / point.n).powi(2);
        for row in 0..3 {
            for column in 0..3 {
                sums[row][column] += weight * terms[row] * terms[column];
            }
            sums[row][3] += weight * terms[row] * point.n / point.x;
        }
    }
    for (row, wanted) in [(1, alpha), (2, beta)] {
        if !wanted {
            sums[row][row] = 1.0; // its parameter is then 0
        }
    }
    let [one, contention, coherence] = solve(sums)?;
    Some(Law {
        gamma: 1.0 / one,
        alpha: contention / one,
        beta: coherence / one,
    })
}

/// Solves three linear equations by elimination; none where they do not determine three numbers.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for at in 0..3 {
        let pivot = (at..3).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        rows.swap(at, pivot);
        let head = rows[at];
        if head[at].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (place, row) in rows.iter_mut().enumerate() {
            if place != at {
                let factor = row[at] / head[at];
                row.iter_mut()
                    .zip(head)
                    .for_each(|(cell, above)| *cell -= factor * above);
            }
        }
    }
    Some([0, 1, 2].map(|at| rows[at][3] / rows[at][at]))
}

/// The weighted squares of what a law leaves over.
fn squares(points: &[Point], law: &Law) -> f64 {
    let square = |point: &Point| point.weight * (point.x - law.at(point.n)).powi(2);
    points.iter().map(square).sum()
}

/// Akaike's criterion, of weighted squares with known variances: the squares, and two for each parameter.
fn model(points: &[Point], law: &Law) -> Model {
    let amdahl = [linear(points, true, false), linear(points, false, false)];
    let amdahl = amdahl
        .into_iter()
        .flatten()
        .filter(|law| law.alpha >= 0.0)
        .map(|law| squares(points, &law))
        .fold(f64::INFINITY, f64::min);
    let universal = match law.beta > 0.0 {
        true => squares(points, law) + 6.0,
        false => f64::INFINITY, // it is Amdahl's
    };
    let candidates = [
        (Model::Ceiling, ceiling(points) + 4.0),
        (Model::Amdahl, amdahl + 4.0),
        (Model::Universal, universal),
    ];
    let least = candidates.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    least.map_or(Model::Universal, |(model, _)| model)
}

/// The least weighted squares of straight growth up to a ceiling, over every place where it may begin.
fn ceiling(points: &[Point]) -> f64 {
    let mean = |points: &[Point], of: fn(&Point) -> (f64, f64)| {
        let (sum, weight) = points.iter().fold((0.0, 0.0), |(sum, weight), point| {
            let (value, share) = of(point);
            (
                sum + point.weight * share * value,
                weight + point.weight * share,
            )
        });
        sum / weight
    };
    let mut order = points.to_vec();
    order.sort_by(|a, b| a.n.total_cmp(&b.n));
    let squares_from = |from: usize| {
        let (below, above) = order.split_at(from);
        let slope = mean(below, |point| (point.x / point.n, point.n * point.n));
        let top = mean(above, |point| (point.x, 1.0));
        let square = |point: &Point| {
            let expected = (slope * point.n).min(top);
            point.weight * (point.x - expected).powi(2)
        };
        order.iter().map(square).sum::<f64>()
    };
    (1..order.len())
        .map(squares_from)
        .fold(f64::INFINITY, f64::min)
}

/// Returns whether the signs of the residuals, in the order of the levels, have no fewer runs than chance gives in 2.5 % of
/// cases (Wald and Wolfowitz, exact law). With eight levels and fewer only residuals all on one side can be told.
fn is_patternless(points: &[Point], law: &Law) -> bool {
    let mut order = points.to_vec();
    order.sort_by(|a, b| a.n.total_cmp(&b.n));
    let signs: Vec<bool> = order
        .iter()
        .map(|point| point.x > law.at(point.n))
        .collect();
    let above = signs.iter().filter(|sign| **sign).count();
    let below = signs.len() - above;
    let runs = 1 + signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
    above > 0 && below > 0 && few_runs(above, below, runs) > 0.025
}

/// Returns the chance of at most so many runs among `above` and `below` signs in random order.
fn few_runs(above: usize, below: usize, runs: usize) -> f64 {
    let choose = |n: usize, k: usize| -> f64 {
        let k = if k > n { return 0.0 } else { k };
        (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
    };
    let exactly = |runs: usize| {
        let half = runs / 2;
        let ways = |a: usize, b: usize| choose(above - 1, a - 1) * choose(below - 1, b - 1);
        match runs % 2 {
            0 => 2.0 * ways(half, half),
            _ => ways(half + 1, half) + ways(half, half + 1),
        }
    };
    (2..=runs).map(exactly).sum::<f64>() / choose(above + below, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds around the law, with the same small scatter at each level.
    fn levels(law: Law, numbers: &[f64]) -> Vec<Level> {
        let level = |(place, n): (usize, &f64)| {
            let x = law.at(*n);
            let wobble = [0.004, -0.003, 0.001, -0.002];
            let rates = (0..4).map(|round| x * (1.0 + wobble[(place + round) % 4]));
            Level {
                n: *n,
                rates: rates.collect(),
            }
        };
        numbers.iter().enumerate().map(level).collect()
    }

    const NUMBERS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0];

    #[test]
    fn a_law_that_was_put_in_comes_out() {
        let law = Law {
            gamma: 1000.0,
            alpha: 0.03,
            beta: 0.001,
        };
        let fit = fit(&levels(law, &NUMBERS), 1).unwrap();
        for (found, wanted) in [
            (fit.gamma, law.gamma),
            (fit.alpha, law.alpha),
            (fit.beta, law.beta),
        ] {
            assert!((found / wanted - 1.0).abs() < 0.05, "{fit:?}");
        }
        assert!(
            fit.alpha_interval.0 <= law.alpha && law.alpha <= fit.alpha_interval.1,
            "{fit:?}"
        );
        assert!(
            fit.beta_interval.0 > 0.0
                && fit.beta_interval.0 <= law.beta
                && law.beta <= fit.beta_interval.1
        );
        assert_eq!(fit.best, Model::Universal);
        let peak = fit.peak_at.unwrap();
        assert!((peak / 31.1 - 1.0).abs() < 0.05, "{peak}");
    }

    /// The intervals of 80 campaigns of six levels and three rounds, with normal scatter of 3 %, hold the law that was
    /// put in about as often as they say.
    #[test]
    fn intervals_of_few_rounds_hold_what_was_put_in() {
        let law = Law {
            gamma: 1000.0,
            alpha: 0.05,
            beta: 0.002,
        };
        let uniform = |counter: u64| (random(7, counter) >> 11) as f64 / (1u64 << 53) as f64;
        let normal = |counter: u64| (0..12).map(|k| uniform(counter * 12 + k)).sum::<f64>() - 6.0;
        // Three rounds of a level; or two starts of the server, whose own differences are as large as those of rounds.
        for units in [3, 2] {
            let (mut alpha, mut beta) = (0, 0);
            for campaign in 0..80u64 {
                let level = |(place, n): (usize, &f64)| {
                    let unit = |unit| {
                        let noise = normal(campaign * 100 + place as u64 * 3 + unit);
                        law.at(*n) * (1.0 + 0.03 * noise)
                    };
                    Level {
                        n: *n,
                        rates: (0..units).map(unit).collect(),
                    }
                };
                let levels: Vec<Level> = NUMBERS[..6].iter().enumerate().map(level).collect();
                let fit = fit(&levels, 1).unwrap();
                let holds =
                    |(low, high): (f64, f64), truth| u32::from(low <= truth && truth <= high);
                alpha += holds(fit.alpha_interval, law.alpha);
                beta += holds(fit.beta_interval, law.beta);
            }
            assert!(
                (72..=80).contains(&alpha) && (72..=80).contains(&beta),
                "{units}: {alpha} {beta}"
            );
        }
    }

    #[test]
    fn without_coherence_no_peak_is_claimed() {
        let law = Law {
            gamma: 1000.0,
            alpha: 0.05,
            beta: 0.0,
        };
        let fit = fit(&levels(law, &NUMBERS), 1).unwrap();
        assert_eq!(fit.best, Model::Amdahl, "{fit:?}");
        assert!(fit.beta_interval.0 <= 0.0, "{fit:?}");
        assert_eq!(fit.peak_at, None);
    }

    #[test]
    fn a_ceiling_is_told_from_contention() {
        let rates = |n: f64| (1000.0 * n).min(8000.0);
        let levels: Vec<Level> = NUMBERS
            .iter()
            .map(|n| Level {
                n: *n,
                rates: vec![rates(*n) * 1.001, rates(*n) * 0.999],
            })
            .collect();
        assert_eq!(fit(&levels, 1).unwrap().best, Model::Ceiling);
    }

    #[test]
    fn a_pattern_in_what_is_left_over_is_seen() {
        let law = Law {
            gamma: 1.0,
            alpha: 0.0,
            beta: 0.0,
        };
        let points = |signs: [f64; 10]| -> Vec<Point> {
            let point = |(n, sign): (f64, f64)| Point {
                n,
                x: n + sign * 0.1,
                weight: 1.0,
            };
            (1..11).map(f64::from).zip(signs).map(point).collect()
        };
        let mixed = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0];
        assert!(is_patternless(&points(mixed), &law));
        let bent = [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0];
        assert!(!is_patternless(&points(bent), &law));
        assert!((few_runs(4, 5, 2) - 2.0 / 126.0).abs() < 1e-12);
        assert!((few_runs(4, 5, 3) - (2.0 + 3.0 + 4.0) / 126.0).abs() < 1e-12);
        assert!((few_runs(4, 5, 9) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn too_little_is_not_fitted() {
        let law = Law {
            gamma: 10.0,
            alpha: 0.0,
            beta: 0.0,
        };
        assert_eq!(fit(&levels(law, &NUMBERS[..5]), 1), None);
        let mut one_round = levels(law, &NUMBERS);
        one_round[3].rates.truncate(1);
        assert_eq!(fit(&one_round, 1), None);
        let mut dead = levels(law, &NUMBERS);
        dead[0].rates[0] = 0.0;
        assert_eq!(fit(&dead, 1), None);
    }
}

//! Whether a series has come to a steady state, and from where on.

use crate::{mean, median, student_t};

/// The fewest values that are judged; of more, the later half.
const VALUES_LEAST: usize = 20;
/// One-sided 5 %: a steady series is called rising so often in one look.
const CONFIDENCE: f64 = 0.90;
/// A smaller rise over the values that are judged is none.
const RISE_LEAST: f64 = 0.02;
/// The strongest memory from value to value that is allowed for.
const MEMORY_MOST: f64 = 0.8;

/// Whether `values` still rise: the ranks of the later half, but of 20 values at least, have a slope above 0 by a one-sided test at
/// 5 %, and the median of their second half is 1 % above that of the first, which is a rise of 2 % in all. None for fewer values.
///
/// Ranks, so that a stall, which is a few very low values, hides no rise. The line of least squares; its standard error is widened,
/// and its degrees of freedom are lowered, by the memory of the residuals from value to value (an AR(1) process; von Storch and Zwiers,
/// "Statistical Analysis in Climate Research", 1999, 6.6.8), whose estimate is raised by its bias in a short series.
pub fn is_rising(values: &[f64]) -> Option<bool> {
    if values.len() < VALUES_LEAST {
        return None;
    }
    let from = (values.len() / 2).min(values.len() - VALUES_LEAST);
    let (late, ranks) = (&values[from..], ranks(&values[from..]));
    let n = late.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let x = |place: usize| place as f64 - middle;
    let each = || ranks.iter().enumerate();
    let square: f64 = each().map(|(place, _)| x(place).powi(2)).sum();
    let slope = each().map(|(place, y)| x(place) * y).sum::<f64>() / square;
    let left: Vec<f64> = each()
        .map(|(place, y)| y - middle - slope * x(place))
        .collect();
    let residual: f64 = left.iter().map(|each| each * each).sum();
    let memory = match residual > 0.0 {
        true => left.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / residual,
        false => 0.0,
    };
    let memory = (memory + (1.0 + 4.0 * memory) / n).clamp(0.0, MEMORY_MOST);
    let factor = (1.0 + memory) / (1.0 - memory);
    let error = (residual / (n - 2.0) * factor / square).sqrt();
    let freedom = (n / factor - 2.0).max(1.0) as u32;
    let (first, second) = late.split_at(late.len() / 2);
    let is_large = median(first)? < median(second)? * (1.0 - RISE_LEAST / 2.0);
    Some(is_large && slope > error * student_t(freedom, CONFIDENCE)?)
}

/// How many of the first `values` belong to a warm-up: as many as leave the mean rank of the rest with the least estimated error, at
/// most half of them (MSER; White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997).
/// None of them where their median is not below that of the rest by 2 %.
///
/// ```
/// let values = [[5.0; 6].as_slice(), &[9.9, 10.1].repeat(10)].concat();
/// assert_eq!(stats::warm_up(&values), 6);
/// ```
pub fn warm_up(values: &[f64]) -> usize {
    let ranks = ranks(values);
    let error = |from: usize| {
        let rest = &ranks[from..];
        let centre = mean(rest)?;
        let squares: f64 = rest.iter().map(|each| (each - centre).powi(2)).sum();
        Some(squares / (rest.len() as f64).powi(2))
    };
    let each = (0..=values.len() / 2).filter_map(|from| Some((error(from)?, from)));
    let best = each.min_by(|one, other| one.0.total_cmp(&other.0));
    let from = best.map_or(0, |(_, from)| from);
    let (first, rest) = values.split_at(from);
    let is_lower = median(first)
        .zip(median(rest))
        .is_some_and(|(first, rest)| first < rest * (1.0 - RISE_LEAST));
    if is_lower { from } else { 0 }
}

/// The rank of each value from 0; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let lower = values.iter().filter(|other| *other < value).count() as f64;
        let same = values.iter().filter(|other| *other == value).count() as f64;
        lower + (same - 1.0).max(0.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    /// What comes of 2,000 servers that are watched for up to 10 s in bins of 100 ms, with a look each second from the
    /// second on; 2 % of the bins are stalls.
    #[derive(Debug)]
    struct Rates {
        /// Shares that were watched for over 2 s, and that still rose at the end.
        longer: f64,
        unsteady: f64,
        /// Mean of the level where the watch ended, by that of the steady state.
        level: f64,
    }

    /// Servers that warm up from 70 % with the time constant `tau` in bins (0: steady), scatter `cv` and memory `rho`.
    fn simulate(tau: f64, cv: f64, rho: f64) -> Rates {
        const SERVERS: u32 = 2_000;
        let mut noise = Noise::new(1);
        let (mut longer, mut unsteady, mut sum) = (0, 0, 0.0);
        for _ in 0..SERVERS {
            let mut memory = noise.normal();
            let level = |bin: usize| match tau > 0.0 {
                true => 1.0 - 0.3 * (-(bin as f64 + 0.5) / tau).exp(),
                false => 1.0,
            };
            let mut values = Vec::new();
            loop {
                memory = rho * memory + (1.0 - rho * rho).sqrt() * noise.normal();
                let stall = if noise.normal() > 2.05 { 0.3 } else { 1.0 }; // 2 % of the bins
                values.push(level(values.len()) * stall * (1.0 + cv * memory));
                if values.len() < VALUES_LEAST || values.len() % 10 > 0 {
                    continue;
                }
                let rises = is_rising(&values).unwrap();
                if !rises || values.len() == 100 {
                    longer += u32::from(values.len() > VALUES_LEAST);
                    unsteady += u32::from(rises);
                    sum += level(values.len() - 1);
                    break;
                }
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(SERVERS);
        Rates {
            longer: share(longer),
            unsteady: share(unsteady),
            level: sum / f64::from(SERVERS),
        }
    }

    #[test]
    fn a_steady_series_is_seldom_called_rising() {
        for cv in [0.03, 0.1] {
            for (rho, most) in [(0.0, 0.05), (0.3, 0.08), (0.5, 0.10)] {
                let rates = simulate(0.0, cv, rho);
                assert!(
                    rates.longer < most && rates.unsteady < 0.001,
                    "{cv} {rho}: {rates:?}"
                );
            }
        }
    }

    #[test]
    fn a_warm_up_over_seconds_is_watched_to_its_end_or_found_unsteady() {
        // Time constant in bins of 100 ms and scatter; the least share watched longer, and the least mean level at the end.
        let cases = [
            (5.0, 0.03, 0.88, 0.995),
            (10.0, 0.03, 0.96, 0.985),
            (20.0, 0.03, 0.97, 0.965),
            (30.0, 0.03, 0.95, 0.940),
            (50.0, 0.03, 0.88, 0.885),
            (10.0, 0.1, 0.66, 0.970),
            (20.0, 0.1, 0.58, 0.910),
        ];
        for (tau, cv, longer, level) in cases {
            let rates = simulate(tau, cv, 0.3);
            assert!(
                rates.longer > longer && rates.level > level,
                "{tau} {cv}: {rates:?}"
            );
        }
    }

    #[test]
    fn the_warm_up_ends_where_the_rest_is_level_and_a_fall_is_none() {
        let mut noise = Noise::new(2);
        let mut series = |warm: usize, low: f64| -> Vec<f64> {
            let level = |place| if place < warm { low } else { 1.0 };
            (0..30)
                .map(|place| level(place) * (1.0 + 0.05 * noise.normal()))
                .collect()
        };
        for warm in [1, 3, 8, 12] {
            let found = warm_up(&series(warm, 0.5));
            assert!((warm..warm + 6).contains(&found), "{warm}: {found}");
        }
        assert_eq!(warm_up(&series(8, 1.5)), 0);
        let found = (0..1_000).filter(|_| warm_up(&series(0, 1.0)) > 0).count();
        assert!(found < 200, "{found} of 1,000 steady series");
        assert_eq!(
            (warm_up(&[]), is_rising(&[1.0; 19]), is_rising(&[0.0; 20])),
            (0, None, Some(false))
        );
    }
}

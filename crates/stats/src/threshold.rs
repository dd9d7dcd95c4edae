//! The threshold of a yes-or-no answer that chance blurs: from trials at several heights, the height at which nine of ten
//! are still a yes.

/// Trials at one height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trials {
    /// Where: a positive number, such as a rate.
    pub height: f64,
    /// How many were a yes.
    pub held: u64,
    /// How many were a no.
    pub failed: u64,
}

/// Where nine of ten trials are a yes, with the ends of the interval that holds it with a probability of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Its lower end.
    pub low: f64,
    /// The median.
    pub centre: f64,
    /// Its upper end.
    pub high: f64,
    /// Where every other trial is a yes: the median.
    pub even: f64,
}

/// The share of trials that are a yes at the threshold.
pub const YES: f64 = 0.9;

/// The share that is a no at any height, however low: a moment in which something else took the machine.
const LAPSES: f64 = 0.02;
/// Steps of the logarithm of the height.
const STEP: f64 = 0.005;
/// How far beyond the trials a threshold is looked for, as a factor.
const BEYOND: f64 = 4.0;
/// Widths of the passage from yes to no that are considered, as the least and the greatest share of the height and how many.
const WIDTHS: (f64, f64, usize) = (0.003, 0.3, 10);

impl Threshold {
    /// Returns what `trials` tell of the threshold; none without a yes and a no.
    ///
    /// The share of a yes is taken as `(1 - 0.02) / (1 + exp((ln height - a) / w))`, with every `a` and every logarithm of `w`
    /// equally likely beforehand: the posterior on a grid. It does not matter how the heights were chosen, so a search may
    /// choose each by the answers before. On simulated queues (M/M/1, M/D/1, M/H2/1; 36 trials chosen so, 40 to 60 searches of
    /// each) the centre's median was 0.97 to 1.04 of the true threshold, and the interval held it in 93 to 100 %.
    pub fn of(trials: &[Trials]) -> Option<Threshold> {
        let has = |of: fn(&Trials) -> u64| trials.iter().any(|trial| of(trial) > 0);
        if !has(|trial| trial.held) || !has(|trial| trial.failed) {
            return None;
        }
        let mut trials = trials.to_vec(); // in one order, so that sums do not depend on it
        trials.sort_by(|a, b| a.height.total_cmp(&b.height));
        let lowest = (trials.first()?.height / BEYOND).ln();
        let highest = (trials.last()?.height * BEYOND).ln();
        let (least, greatest, number) = WIDTHS;
        let widths = (0..number).map(|place| {
            let share = place as f64 / (number - 1) as f64;
            least * (greatest / least).powf(share)
        });
        let steps = ((highest - lowest) / STEP) as usize;
        let cells: Vec<Cell> = widths
            .flat_map(|width| (0..=steps).map(move |step| (lowest + step as f64 * STEP, width)))
            .map(|(even, width)| Cell {
                even,
                width,
                log: trials
                    .iter()
                    .map(|trial| likelihood(trial, even, width))
                    .sum(),
            })
            .collect();
        let [low, centre, high] = quantiles(&cells, odds(YES), [0.025, 0.5, 0.975]);
        let [even] = quantiles(&cells, 0.0, [0.5]);
        Some(Threshold {
            low,
            centre,
            high,
            even,
        })
    }
}

/// One pair of parameters: where (as a logarithm) half of the trials hold, how wide the passage is, and the logarithm of its
/// likelihood.
struct Cell {
    even: f64,
    width: f64,
    log: f64,
}

/// By how many widths under the even point a share `yes` holds.
fn odds(yes: f64) -> f64 {
    let share = yes / (1.0 - LAPSES);
    (share / (1.0 - share)).ln()
}

fn likelihood(trial: &Trials, even: f64, width: f64) -> f64 {
    let above = (trial.height.ln() - even) / width;
    let yes = ((1.0 - LAPSES) / (1.0 + above.min(500.0).exp())).max(1e-12);
    trial.held as f64 * yes.ln() + trial.failed as f64 * (1.0 - yes).ln()
}

/// The heights that are `widths` under the even point, at each of these shares of the probability.
fn quantiles<const N: usize>(cells: &[Cell], widths: f64, shares: [f64; N]) -> [f64; N] {
    let best = cells.iter().map(|cell| cell.log).fold(f64::MIN, f64::max);
    let weighed = cells.iter().map(|cell| {
        let height = cell.even - widths * cell.width;
        (height, (cell.log - best).exp())
    });
    let mut weighed: Vec<(f64, f64)> = weighed.filter(|(_, weight)| *weight > 1e-12).collect();
    weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sum: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    shares.map(|share| {
        let mut left = share * sum;
        let found = weighed.iter().find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        });
        found
            .or(weighed.last())
            .map_or(0.0, |(height, _)| height.exp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(height: f64, held: u64, failed: u64) -> Trials {
        Trials {
            height,
            held,
            failed,
        }
    }

    #[test]
    fn a_sharp_edge_is_found_between_what_held_and_what_failed() {
        let found = Threshold::of(&[at(980.0, 6, 0), at(1_020.0, 0, 6)]).unwrap();
        assert!(900.0 < found.low && found.high < 1_025.0, "{found:?}");
        assert!((980.0..1_020.0).contains(&found.even), "{found:?}");
        assert!(found.low <= found.centre && found.centre <= found.high);
    }

    #[test]
    fn without_a_yes_or_without_a_no_nothing_is_known() {
        assert_eq!(Threshold::of(&[]), None);
        assert_eq!(Threshold::of(&[at(10.0, 5, 0), at(20.0, 5, 0)]), None);
        assert_eq!(Threshold::of(&[at(10.0, 0, 5)]), None);
    }

    #[test]
    fn a_failure_among_many_that_held_at_a_low_height_is_a_lapse() {
        let edge = [at(900.0, 8, 0), at(1_000.0, 4, 4), at(1_100.0, 0, 8)];
        let clean = Threshold::of(&edge).unwrap();
        let lapsed = Threshold::of(&[&edge[..], &[at(100.0, 0, 1), at(200.0, 9, 0)]].concat());
        let change = lapsed.unwrap().centre / clean.centre;
        assert!((0.97..1.03).contains(&change), "{change}");
    }

    #[test]
    fn the_order_of_trials_does_not_matter() {
        let mut trials = [at(3.0, 2, 1), at(2.0, 3, 0), at(5.0, 0, 2), at(4.0, 1, 1)];
        let found = Threshold::of(&trials);
        trials.reverse();
        assert_eq!(Threshold::of(&trials), found);
    }

    /// Trials at heights that the answers before choose, as the search does; the interval has to hold the truth as often as
    /// it says. 200 searches: at 95 % fewer than 180 would be seen in one case of ten thousand.
    #[test]
    fn the_interval_holds_the_truth_however_the_heights_are_chosen() {
        let mut state = 9u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (even, width) = (1_000f64, 0.05);
        let truth = (even.ln() - odds(YES) * width).exp();
        let mut held = 0;
        for _ in 0..200 {
            let mut trials = vec![at(500.0, 1, 0), at(2_000.0, 0, 1)];
            for number in 0..24 {
                let known = Threshold::of(&trials).unwrap();
                let height: f64 = if number % 2 == 0 {
                    known.centre
                } else {
                    known.even
                };
                let yes = (1.0 - LAPSES) / (1.0 + ((height / even).ln() / width).exp());
                let is_yes = uniform() < yes;
                trials.push(at(height, is_yes.into(), (!is_yes).into()));
            }
            let found = Threshold::of(&trials).unwrap();
            held += u32::from(found.low <= truth && truth <= found.high);
        }
        assert!(held >= 180, "{held} of 200");
    }
}

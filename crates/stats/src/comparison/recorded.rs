//! The rules on recorded slices of two equal servers: 2,000 comparisons, whose starts are drawn from the recorded ones
//! with replacement. One minute allows 8 to 10 starts of 6 s.

use super::*;
use crate::noise::Noise;
use std::f64::consts::FRAC_PI_2;

const SLICES: &str = include_str!("slices.txt");
const COMPARISONS: u32 = 2_000;

/// A figure by its place among the pairs of a cycle.
#[derive(Debug, Clone, Copy)]
enum Figure {
    Cpu,
    P50,
    Throughput,
}

/// The cycles of each start, as pairs of A and B.
fn starts(figure: Figure) -> Vec<Vec<(f64, f64)>> {
    let mut starts = vec![Vec::new(); 16];
    for line in SLICES.lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let pair = 1 + 2 * figure as usize;
        starts[numbers[0] as usize - 1].push((numbers[pair], numbers[pair + 1]));
    }
    starts
}

fn log_ratios(figure: Figure) -> Vec<f64> {
    let starts = starts(figure);
    starts
        .iter()
        .map(|pairs| median_of_cycles(pairs).unwrap())
        .collect()
}

/// Which of the two equal servers is called B.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Names {
    /// The one that was in the recording.
    Recorded,
    /// One or the other, by chance in each start, so that there is no difference at all.
    Drawn,
}

/// Draws `n` of the starts with replacement, and adds `planted` to B.
fn draw(noise: &mut Noise, recorded: &[f64], n: usize, names: Names, planted: f64) -> Vec<f64> {
    let mut one = || {
        let value = recorded[(noise.uniform() * recorded.len() as f64) as usize];
        let is_exchanged = names == Names::Drawn && noise.uniform() < 0.5;
        planted + if is_exchanged { -value } else { value }
    };
    (0..n).map(|_| one()).collect()
}

/// Shares of comparisons.
#[derive(Debug, Default)]
struct Shares {
    /// The answer is more, and less.
    more: f64,
    less: f64,
    /// The interval does not hold 0, whatever the margin.
    without_zero: f64,
}

fn fixed(figure: Figure, n: usize, names: Names, planted: f64) -> Shares {
    let (mut noise, recorded) = (Noise::new(7), log_ratios(figure));
    let mut shares = Shares::default();
    for _ in 0..COMPARISONS {
        let values = draw(&mut noise, &recorded, n, names, planted.ln_1p());
        let difference = Difference::of(&values, CONFIDENCE).unwrap();
        let one = 1.0 / f64::from(COMPARISONS);
        match FixedBudget::default().answer(&difference) {
            Answer::More => shares.more += one,
            Answer::Less => shares.less += one,
            Answer::NoDifferenceLargerThan(_) | Answer::CannotTell { .. } => {}
        }
        if difference.low() > 0.0 || difference.high() < 0.0 {
            shares.without_zero += one;
        }
    }
    shares
}

#[test]
fn all_starts_are_there_and_exchanging_the_servers_negates_each_exactly() {
    for figure in [Figure::Cpu, Figure::P50, Figure::Throughput] {
        let starts = starts(figure);
        assert!(starts.iter().all(|pairs| (23..=25).contains(&pairs.len())));
        for pairs in starts {
            let exchanged: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let (there, back) = (median_of_cycles(&pairs), median_of_cycles(&exchanged));
            assert_eq!(there.unwrap().to_bits(), (-back.unwrap()).to_bits());
        }
    }
}

/// 2 % more or less, planted in CPU time per request or in the median latency, was found in 99.9 to 100 % of
/// comparisons: the interval lay wholly beyond the margin on the right side. 1 % more CPU time per request was found in
/// 60, 66 and 72 % with 8, 9 and 10 starts.
#[test]
fn two_per_cent_are_found_within_one_minute() {
    for n in [8, 9, 10] {
        for figure in [Figure::Cpu, Figure::P50] {
            for names in [Names::Recorded, Names::Drawn] {
                let more = fixed(figure, n, names, 0.02);
                let less = fixed(figure, n, names, 1.0 / 1.02 - 1.0);
                let found = more.more.min(less.less);
                assert!(found > 0.95, "{figure:?} {n} {names:?}: {more:?} {less:?}");
            }
        }
        let one = fixed(Figure::Cpu, n, Names::Drawn, 0.01).more;
        assert!((0.5..0.8).contains(&one), "{n}: {one}");
    }
}

/// Requests/s scatter by 3.2 % between starts. 2 % more were found in 33, 38 and 42 % of comparisons with 8, 9 and 10
/// starts, and in 95 % with 45, which take five minutes.
#[test]
fn two_per_cent_of_requests_per_second_take_longer() {
    let found = |n: usize| fixed(Figure::Throughput, n, Names::Drawn, 0.02).more;
    assert!(found(8) < 0.5 && found(10) < 0.5);
    assert!(found(45) > 0.9, "{}", found(45));
}

/// A difference beyond the margin of 0.25 % was reported in 0.3 to 0.7 % of comparisons for CPU time per request, in 0
/// to 0.1 % for the median latency and in 1.8 to 2.8 % for requests/s. Intervals did not hold 0 in 3.6 to 5.3 %.
#[test]
fn equal_servers_are_seldom_called_different() {
    for figure in [Figure::Cpu, Figure::P50, Figure::Throughput] {
        for n in [8, 9, 10] {
            let shares = fixed(figure, n, Names::Drawn, 0.0);
            assert!(
                shares.more + shares.less < 0.04,
                "{figure:?} {n}: {shares:?}"
            );
            let without_zero = shares.without_zero;
            assert!(
                (0.025..0.065).contains(&without_zero),
                "{figure:?} {n}: {shares:?}"
            );
        }
    }
}

/// In the recording B has 0.32 % more CPU time per request than A (-0.09 to 0.74 %), and where starts are drawn from it
/// with the names that it has, this is the truth. Intervals did not hold 0 in 32 to 37 % of comparisons; beyond the
/// margin of 0.25 % they lay in 7 to 8 %.
#[test]
fn a_small_systematic_difference_stays_mostly_within_the_margin() {
    let bias = Difference::of(&log_ratios(Figure::Cpu), CONFIDENCE).unwrap();
    assert!(
        bias.low() < 0.0 && bias.mean > 0.003 && bias.high() < 0.0075,
        "{bias:?}"
    );
    for n in [8, 9, 10] {
        let shares = fixed(Figure::Cpu, n, Names::Recorded, 0.0);
        assert!(shares.without_zero > 0.25, "{n}: {shares:?}");
        assert!(shares.more < 0.1 && shares.less < 0.001, "{n}: {shares:?}");
    }
}

/// All of 2,000 comparisons were answered correctly, that without a difference after 13 starts in the mean and that of
/// 2 % after 11.
#[test]
fn a_sequential_comparison_tells_two_per_cent_from_none() {
    let (mut noise, recorded) = (Noise::new(9), log_ratios(Figure::Cpu));
    let rule = Sequential::new(0.02);
    for planted in [0.0, 0.02] {
        let (mut right, mut starts) = (0, 0);
        for _ in 0..COMPARISONS {
            let values = draw(&mut noise, &recorded, 40, Names::Drawn, f64::ln_1p(planted));
            let found = (8..=40).find_map(|n| Some((rule.answer(&values[..n], None)?, n)));
            let (answer, n) = found.unwrap();
            right += u32::from(match answer {
                Answer::More => planted > 0.0,
                Answer::NoDifferenceLargerThan(_) => planted == 0.0,
                Answer::Less | Answer::CannotTell { .. } => false,
            });
            starts += n;
        }
        assert!(right > COMPARISONS * 98 / 100, "{planted}: {right}");
        assert!(starts < 16 * COMPARISONS as usize, "{planted}: {starts}");
    }
}

#[test]
fn scatter_of_cycles_predicts_that_of_starts() {
    let recorded = starts(Figure::Cpu);
    let scatter = Scatter::of(&recorded).unwrap();
    let predicted = (FRAC_PI_2 / 25.0).sqrt() * scatter.pair;
    let sd = Difference::of(&log_ratios(Figure::Cpu), CONFIDENCE)
        .unwrap()
        .sd;
    assert!((0.7..1.4).contains(&(predicted / sd)), "{scatter:?} {sd}");
    // Cycles alone explain it, so the smallest scatter between starts counts: sqrt(3) * 0.0385 / (sqrt(2) * 0.002) =
    // 23.6.
    assert_eq!(scatter.start, 0.0);
    assert_eq!(cycles_per_start(0.6, 0.2, scatter.pair, scatter.start), 24);
}

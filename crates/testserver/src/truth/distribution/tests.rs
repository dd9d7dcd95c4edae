//! Each distribution's draws against its distribution function, written down here once more; and that wrong ones fail.

use super::*;

const SEED: u64 = 20_240_607;
/// Draws of one test. More would find errors that no load is long enough to show.
const DRAWS: u64 = 20_000;

/// Anderson and Darling's A² of draws that ought to be uniform between 0 and 1 (Stephens 1974, case 0).
fn anderson_darling(mut parts: Vec<f64>) -> f64 {
    parts.sort_by(f64::total_cmp);
    let count = parts.len();
    let term = |(index, part): (usize, &f64)| {
        let mirrored: f64 = 1.0 - parts[count - 1 - index];
        (2 * index + 1) as f64 * (part.max(1e-300).ln() + mirrored.max(1e-300).ln())
    };
    let sum: f64 = parts.iter().enumerate().map(term).sum();
    -(count as f64) - sum / count as f64
}

/// What A² exceeds once in a hundred times, however many draws there are (Stephens 1974, table 1.3).
const LIMIT: f64 = 3.857;

fn draws(given: Distribution) -> impl Iterator<Item = f64> {
    (0..DRAWS).map(move |id| delay(given, SEED, id).as_nanos() as f64)
}

/// A² of the draws of `drawn`, compared with the distribution function of `given`.
fn misfit(drawn: Distribution, given: Distribution) -> f64 {
    anderson_darling(
        draws(drawn)
            .map(|nanos| distribution(given, nanos))
            .collect(),
    )
}

/// The share of delays of at most `nanos`, as textbooks have it.
fn distribution(given: Distribution, nanos: f64) -> f64 {
    match given {
        Distribution::Uniform { low, high } => {
            ((nanos - float(low)) / (float(high) - float(low))).clamp(0.0, 1.0)
        }
        Distribution::Exponential { mean } => 1.0 - (-nanos / float(mean)).exp(),
        Distribution::Lognormal { median, sigma } => normal((nanos / float(median)).ln() / sigma),
        Distribution::Pareto { scale, shape } => {
            (1.0 - (float(scale) / nanos).powf(shape)).max(0.0)
        }
        Distribution::Constant { .. } | Distribution::Bimodal { .. } => {
            panic!("{given:?} has steps")
        }
    }
}

/// The normal distribution function, by its series (Abramowitz and Stegun, 26.2.11); to 1e-12 within six deviations.
fn normal(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for odd in (3..200).step_by(2) {
        term *= z * z / f64::from(odd);
        sum += term;
    }
    0.5 + sum * (-z * z / 2.0).exp() / TAU.sqrt()
}

fn parsed(text: &str) -> Distribution {
    text.parse()
        .unwrap_or_else(|wrong| panic!("{text}: {wrong}"))
}

const SMOOTH: [&str; 6] = [
    "law=uniform&low=1ms&high=9ms",
    "law=exponential&mean=5ms",
    "law=lognormal&median=5ms&sigma=0.5",
    "law=lognormal&median=2ms&sigma=1.2",
    "law=pareto&scale=1ms&shape=1.5",
    "law=pareto&scale=2ms&shape=3",
];

#[test]
fn the_draws_of_each_law_fit_it() {
    for text in SMOOTH {
        let misfit = misfit(parsed(text), parsed(text));
        assert!(misfit < LIMIT, "{text}: A² = {misfit}");
    }
}

#[test]
fn the_draws_of_no_law_fit_another() {
    for (index, drawn) in SMOOTH.iter().enumerate() {
        for (other, wanted) in SMOOTH.iter().enumerate() {
            let misfit = misfit(parsed(drawn), parsed(wanted));
            assert!(
                other == index || misfit > 100.0,
                "{drawn} as {wanted}: A² = {misfit}"
            );
        }
    }
}

#[test]
fn a_law_that_is_a_little_wrong_is_found_out() {
    let cases = [
        (
            "law=uniform&low=1ms&high=9ms",
            "law=uniform&low=1ms&high=9.2ms",
        ),
        ("law=exponential&mean=5ms", "law=exponential&mean=5.2ms"),
        (
            "law=lognormal&median=5ms&sigma=0.5",
            "law=lognormal&median=5.1ms&sigma=0.5",
        ),
        (
            "law=lognormal&median=5ms&sigma=0.5",
            "law=lognormal&median=5ms&sigma=0.52",
        ),
        (
            "law=pareto&scale=1ms&shape=1.5",
            "law=pareto&scale=1ms&shape=1.56",
        ),
    ];
    for (drawn, wanted) in cases {
        let misfit = misfit(parsed(drawn), parsed(wanted));
        assert!(misfit > LIMIT, "{drawn} as {wanted}: A² = {misfit}");
    }
}

#[test]
fn delays_that_follow_each_other_are_strangers() {
    let given = parsed("law=uniform&low=0s&high=1s");
    let parts: Vec<f64> = draws(given).map(|nanos| nanos / 1e9 - 0.5).collect();
    for lag in [1, 2, 7, 64, 1000] {
        let pairs = parts.iter().zip(&parts[lag..]);
        let covariance: f64 = pairs.map(|(a, b)| a * b).sum();
        // Standardised, it is normal with deviation 1 / sqrt(n).
        let correlation = covariance / (parts.len() - lag) as f64 * 12.0;
        assert!(
            correlation.abs() < 4.0 / (DRAWS as f64).sqrt(),
            "lag {lag}: {correlation}"
        );
    }
}

#[test]
fn a_constant_is_constant_and_of_two_values_each_has_its_share() {
    let constant = parsed("law=constant&mean=5ms");
    assert!(draws(constant).all(|nanos| nanos == 5e6));
    for (share, deviations) in [(0.01, 4.0), (0.3, 4.0), (0.0, 0.0), (1.0, 0.0)] {
        let two = parsed(&format!("law=bimodal&low=1ms&high=9ms&share={share}"));
        let high = draws(two).filter(|nanos| *nanos == 9e6).count() as f64;
        let low = draws(two).filter(|nanos| *nanos == 1e6).count() as f64;
        let n = DRAWS as f64;
        assert_eq!(high + low, n);
        let deviation = (n * share * (1.0 - share)).sqrt();
        assert!(
            (high - n * share).abs() <= deviations * deviation,
            "{share}: {high}"
        );
    }
}

/// Computed apart from this program, by the formulas in docs/truth.md.
#[test]
fn single_delays_are_those_of_the_definition() {
    let cases: &[(&str, [u64; 3])] = &[
        ("law=constant&mean=5ms", [5_000_000; 3]),
        (
            "law=uniform&low=1ms&high=3ms",
            [1_875_512, 2_580_214, 1_178_901],
        ),
        (
            "law=exponential&mean=5ms",
            [4_130_468, 1_177_936, 12_070_351],
        ),
        (
            "law=lognormal&median=2ms&sigma=0.5",
            [1_052_397, 1_488_302, 717_505],
        ),
        (
            "law=pareto&scale=1ms&shape=1.5",
            [1_734_517, 1_170_064, 4_999_711],
        ),
        (
            "law=bimodal&low=1ms&high=9ms&share=0.5",
            [9_000_000, 1_000_000, 9_000_000],
        ),
    ];
    for (text, wanted) in cases {
        let drawn = [0, 1, 2].map(|id| delay(parsed(text), 7, id).as_nanos());
        // A float's last bit may be another one elsewhere.
        let is_same = drawn.iter().zip(wanted).all(|(a, b)| a.abs_diff(*b) <= 1);
        assert!(is_same, "{text}: {drawn:?}");
    }
}

#[test]
fn no_delay_is_longer_than_an_hour() {
    let wild = parsed("law=pareto&scale=1h&shape=0.001");
    assert!(draws(wild).all(|nanos| nanos == float(DELAY_MAX)));
    let wild = parsed("law=lognormal&median=1h&sigma=1000");
    assert!(draws(wild).all(|nanos| nanos <= float(DELAY_MAX)));
}

#[test]
fn laws_of_nothing_wait_for_nothing() {
    for text in [
        "law=constant&mean=0s",
        "law=uniform&low=0s&high=0s",
        "law=exponential&mean=0s",
        "law=lognormal&median=0s&sigma=1000",
        "law=pareto&scale=0s&shape=0.001",
        "law=bimodal&low=0s&high=0s&share=1",
    ] {
        assert!(draws(parsed(text)).all(|nanos| nanos == 0.0), "{text}");
    }
}

#[test]
fn an_unknown_distribution_is_refused_in_one_sentence() {
    let cases: &[(&str, &str)] = &[
        (
            "",
            "`law=` is missing; name one such as law=constant&mean=5ms",
        ),
        (
            "law=gamma",
            "law: `gamma` is not a law; write constant, uniform, exponential, lognormal, pareto or bimodal",
        ),
        (
            "law=constant",
            "`mean=` is missing; write a time such as 500us, 5ms or 1s",
        ),
        (
            "law=constant&mean=5x",
            "mean: `5x` is not a duration; write a number with a unit such as 500ms, 10s, 2m or 1m30s",
        ),
        (
            "law=constant&mean=2h",
            "mean: `2h` is not an hour or less; write a shorter time",
        ),
        (
            "law=constant&mean=5ms&low=1ms",
            "`low` is not a parameter here; remove it",
        ),
        (
            "law=constant&mean=5ms&mean=6ms",
            "`mean=` is given twice; give it once",
        ),
        (
            "law=uniform&low=2ms&high=1ms",
            "`low=` is above `high=`; swap them",
        ),
        (
            "law=bimodal&low=2ms&high=1ms&share=0",
            "`low=` is above `high=`; swap them",
        ),
        (
            "law=bimodal&low=1ms&high=2ms&share=2",
            "share: `2` is not a share; write one from 0 to 1, such as 0.01",
        ),
        (
            "law=lognormal&median=1ms&sigma=0",
            "sigma: `0` is not a number above 0 that is not huge; write one such as 0.5 or 2",
        ),
        (
            "law=pareto&scale=1ms&shape=nan",
            "shape: `nan` is not a number above 0 that is not huge; write one such as 0.5 or 2",
        ),
        (
            "law=pareto&scale=1ms&shape=inf",
            "shape: `inf` is not a number above 0 that is not huge; write one such as 0.5 or 2",
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(
            text.parse::<Distribution>().unwrap_err().to_string(),
            *sentence,
            "{text}"
        );
    }
}

//! Chances of a count of random arrivals.

/// Returns the chance that a Poisson variable of mean `mean` is as far from it as `count`, or farther on that side:
/// `P(X >= count)` above the mean, `P(X <= count)` below it. 1 where `count` is the mean, 0 where `mean` is not positive and
/// `count` is above it.
///
/// The terms are added up from `count` outwards, by logarithms, until they no longer matter.
///
/// ```
/// // None of ten: e^-10.
/// assert!((stats::poisson_tail(10.0, 0) - 4.54e-5).abs() < 1e-7);
/// // Ten or more where one is the mean: 1.11e-7.
/// assert!((stats::poisson_tail(1.0, 10) - 1.114e-7).abs() < 1e-10);
/// ```
pub fn poisson_tail(mean: f64, count: u64) -> f64 {
    let at = count as f64;
    if at == mean {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    let first = at * mean.ln() - mean - ln_factorial(count);
    let (mut sum, mut term, mut k) = (0.0, 1.0, at);
    while term > f64::EPSILON * sum {
        sum += term;
        if at > mean {
            k += 1.0;
            term *= mean / k;
        } else {
            term *= k / mean;
            k -= 1.0;
        }
    }
    (first.exp() * sum).min(1.0)
}

/// The logarithm of `count!`: the sum up to 255, above it Stirling's series, whose error is then under 1e-15.
fn ln_factorial(count: u64) -> f64 {
    if count < 256 {
        return (2..=count).map(|each| (each as f64).ln()).sum();
    }
    let n = count as f64;
    let tau = std::f64::consts::TAU;
    n * n.ln() - n + 0.5 * (tau * n).ln() + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_an_exact_sum() {
        // Added up in decimals of 60 digits.
        let cases = [
            (10.0, 0, 4.539992976e-5),
            (1.0, 10, 1.114254783e-7),
            (10.0, 30, 2.509951202e-7),
            (7.5, 8, 4.753614735e-1),
            (1_000.0, 1_170, 8.775808446e-8),
            (1_000.0, 840, 1.095949174e-7),
            (100_000.0, 101_700, 4.168000178e-8),
            (100_000.0, 98_400, 1.977517886e-7),
        ];
        for (mean, count, wanted) in cases {
            let tail = poisson_tail(mean, count);
            assert!(
                (tail / wanted - 1.0).abs() < 1e-6,
                "{mean} {count}: {tail} {wanted}"
            );
        }
        assert_eq!(poisson_tail(5.0, 5), 1.0);
        assert_eq!(poisson_tail(0.0, 3), 0.0);
    }
}

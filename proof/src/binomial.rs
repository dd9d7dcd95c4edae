//! Exact limits of a proportion.

/// Returns a number of runs with the limits of its share, such as `1 of 3 (0.8 .. 90.6 %)`.
pub fn share(count: u32, runs: u32) -> String {
    let [low, high] = limits(count, runs).map(|limit| limit * 100.0);
    format!("{count} of {runs} ({low:.1} .. {high:.1} %)")
}

/// Returns the exact 95 % confidence limits of a proportion of which `count` of `runs` were seen (Clopper and Pearson,
/// Biometrika 26, 1934), each between 0 and 1.
pub fn limits(count: u32, runs: u32) -> [f64; 2] {
    // The proportion at which so few, or so many, are seen in 2.5 % of cases.
    let solve = |chance: &dyn Fn(f64) -> f64| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            match chance(middle) > 0.025 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    };
    let low = match count {
        0 => 0.0,
        count => 1.0 - solve(&|rest| at_most(runs - count, runs, rest)),
    };
    let high = match count == runs {
        true => 1.0,
        false => solve(&|share| at_most(count, runs, share)),
    };
    [low, high]
}

/// Returns the chance of at most `count` of `runs`, each with the chance `share`.
fn at_most(count: u32, runs: u32, share: f64) -> f64 {
    let odds = (share / (1.0 - share)).ln();
    let mut term = f64::from(runs) * (1.0 - share).ln(); // logarithm of the chance of none
    let mut sum = term.exp();
    for k in 0..count {
        term += (f64::from(runs - k) / f64::from(k + 1)).ln() + odds;
        sum += term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_tables() {
        // Hanley and Lippman-Hand, JAMA 249, 1983: none of n, with 2.5 % on one side: 1 - 0.025^(1/n).
        for runs in [10, 300, 600] {
            let wanted = 1.0 - 0.025_f64.powf(1.0 / f64::from(runs));
            let [low, high] = limits(0, runs);
            assert!(
                low == 0.0 && (high - wanted).abs() < 1e-9,
                "{high} {wanted}"
            );
            let [from, to] = limits(runs, runs);
            assert!(to == 1.0 && (1.0 - from - wanted).abs() < 1e-9);
        }
        // Johnson, Kotz and Kemp, Univariate Discrete Distributions: 5 of 10 is .187 to .813.
        let [low, high] = limits(5, 10);
        assert!((low - 0.1871).abs() < 1e-4 && (high - 0.8129).abs() < 1e-4);
    }
}

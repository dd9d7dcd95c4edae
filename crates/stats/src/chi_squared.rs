//! How large a variance may be by chance.

/// Returns the quantile of chi-squared with `free` degrees of freedom divided by `free`: how many times its expectation a sample
/// variance of normal values reaches. `z` is the same quantile of the standard normal distribution. The cube of Wilson and
/// Hilferty, "The distribution of chi-square", 1931.
pub(crate) fn by_chance(free: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * free);
    (1.0 - spread + z * spread.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        // chi-squared: 4.605 (2, 90 %), 18.307 (10, 95 %), 135.807 (100, 99 %).
        for (free, z, wanted) in [
            (2.0, 1.2816, 4.605),
            (10.0, 1.6449, 18.307),
            (100.0, 2.3263, 135.807),
        ] {
            let found = by_chance(free, z) * free;
            assert!((found / wanted - 1.0).abs() < 0.011, "{found} {wanted}");
        }
    }
}

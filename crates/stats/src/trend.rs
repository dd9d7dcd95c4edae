//! The exact law of Mann and Kendall's trend test.
//!
//! (Mann, "Nonparametric tests against trend", Econometrica 13, 1945.)

/// More values than this are not judged: the law takes time that grows with their cube.
const VALUES_MAX: usize = 300;

/// The chance that independent values of one distribution rise in at least as many pairs as `values` do; a pair of equals
/// does not rise. None for fewer than two values and for more than 300.
///
/// ```
/// let chance = stats::rising_chance(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
/// assert!((chance - 1.0 / 120.0).abs() < 1e-12);
/// ```
pub fn rising_chance(values: &[f64]) -> Option<f64> {
    if !(2..=VALUES_MAX).contains(&values.len()) {
        return None;
    }
    let above = |(at, value): (usize, &f64)| {
        values[at + 1..]
            .iter()
            .filter(|later| *later > value)
            .count()
    };
    let rising: usize = values.iter().enumerate().map(above).sum();
    // Chances of each number of rising pairs: the n-th value rises above 0 to n - 1 earlier ones, each as likely.
    let mut chances = vec![1.0];
    for n in 2..=values.len() {
        let mut next = vec![0.0; chances.len() + n - 1];
        for (pairs, chance) in chances.iter().enumerate() {
            next[pairs..pairs + n]
                .iter_mut()
                .for_each(|sum| *sum += chance / n as f64);
        }
        chances = next;
    }
    Some(chances[rising..].iter().rev().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_that_of_all_orders_counted_out() {
        // Of four values: 1, 3, 5, 6, 5, 3 and 1 of 24 orders have 0 to 6 rising pairs.
        let cases: [(&[f64], f64); 5] = [
            (&[1.0, 2.0, 3.0, 4.0], 1.0),
            (&[1.0, 2.0, 4.0, 3.0], 4.0),
            (&[2.0, 1.0, 4.0, 3.0], 9.0),
            (&[4.0, 3.0, 2.0, 1.0], 24.0),
            (&[1.0, 1.0, 1.0, 2.0], 15.0),
        ];
        for (values, orders) in cases {
            let chance = rising_chance(values).unwrap();
            assert!(
                (chance * 24.0 - orders).abs() < 1e-9,
                "{values:?}: {chance}"
            );
        }
        assert_eq!(rising_chance(&[1.0]), None);
        assert_eq!(rising_chance(&[0.0; 301]), None);
    }
}

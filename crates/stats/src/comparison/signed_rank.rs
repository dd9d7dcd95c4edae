//! The interval that belongs to the signed-rank test.
//!
//! Its ends are two of the Walsh averages, the midpoints of all pairs of values and of each value with itself. As many
//! lie outside at either end as the exact distribution of the signed-rank statistic allows (Hollander, Wolfe and
//! Chicken, "Nonparametric Statistical Methods", 3.3; Tukey). It assumes that values are independent and symmetric
//! about the truth, and not that they are normal.

/// More values get no interval, which bounds the work: there are `n^2 / 2` averages, and the distribution takes `n^3 /
/// 4` additions.
const VALUES_MAX: usize = 200;

/// The interval that holds the centre of symmetry with a probability of at least `confidence`. None where so few values
/// cannot promise as much (fewer than 6 at 95 %, 8 at 99 %), and for more than 200.
pub(super) fn interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let outside = critical(values.len(), (1.0 - confidence) / 2.0)?;
    let pairs =
        (0..values.len()).flat_map(|one| (one..values.len()).map(move |other| (one, other)));
    let mut averages: Vec<f64> = pairs
        .map(|(one, other)| values[one].midpoint(values[other]))
        .collect();
    averages.sort_unstable_by(f64::total_cmp);
    Some((averages[outside], averages[averages.len() - 1 - outside]))
}

/// The largest sum that the ranks of the positive among `n` symmetric values do not exceed with a probability above
/// `tail`: the critical value of the published tables. None where even a sum of 0 is more probable.
fn critical(n: usize, tail: f64) -> Option<usize> {
    if n > VALUES_MAX {
        return None;
    }
    // The chance of each sum, up to the middle of the distribution: every rank is in the sum or not, as a fair coin
    // falls.
    let mut chances = vec![0.0; n * (n + 1) / 4 + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..chances.len()).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| chances[rest]);
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let first_above = chances.iter().position(|chance| {
        below += chance;
        below > tail
    });
    first_above?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_published_tables() {
        // Two-sided levels 10 %, 5 %, 2 % and 1 %, as exact tables of the signed-rank test print them (McCornack,
        // Journal of the American Statistical Association 60, 1965).
        let none = None;
        let cases = [
            (4, [none, none, none, none]),
            (5, [Some(0), none, none, none]),
            (6, [Some(2), Some(0), none, none]),
            (7, [Some(3), Some(2), Some(0), none]),
            (8, [Some(5), Some(3), Some(1), Some(0)]),
            (9, [Some(8), Some(5), Some(3), Some(1)]),
            (10, [Some(10), Some(8), Some(5), Some(3)]),
            (12, [Some(17), Some(13), Some(9), Some(7)]),
            (15, [Some(30), Some(25), Some(19), Some(15)]),
            (20, [Some(60), Some(52), Some(43), Some(37)]),
            (25, [Some(100), Some(89), Some(76), Some(68)]),
            (30, [Some(151), Some(137), Some(120), Some(109)]),
            (40, [Some(286), Some(264), Some(238), Some(220)]),
            (50, [Some(466), Some(434), Some(397), Some(373)]),
        ];
        for (n, wanted) in cases {
            let found = [0.05, 0.025, 0.01, 0.005].map(|tail| critical(n, tail));
            assert_eq!(found, wanted, "{n}");
        }
    }

    #[test]
    fn an_interval_is_the_one_computed_by_hand() {
        // Of 21 averages of 6 values none may lie outside at 95 %; of 8 values three at either end:
        // 0, 0.5, 1, 1 | 1.5 ... 5.5 | 6, 6, 6.5, 7.
        let six = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0];
        assert_eq!(interval(&six, 0.95), Some((1.0, 9.0)));
        let eight = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        assert_eq!(interval(&eight, 0.95), Some((1.0, 6.0)));
        assert_eq!(interval(&eight[1..], 0.99), None);
        assert_eq!(interval(&eight, 0.99), Some((0.0, 7.0)));
    }

    #[test]
    fn there_is_none_for_too_few_values_and_for_too_many() {
        for n in [0, 1, 5, VALUES_MAX + 1] {
            assert_eq!(interval(&vec![1.0; n], 0.95), None, "{n}");
        }
        assert_eq!(interval(&[1.0; VALUES_MAX], 0.95), Some((1.0, 1.0)));
        assert_eq!(interval(&[1.0; 8], f64::NAN), None);
    }
}

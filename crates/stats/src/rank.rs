//! Which sample a quantile is, and whether there are enough samples to name it.
//!
//! Nearest rank: the p-quantile of N samples is the sample of rank `ceil(p * N)`, counted from 1,
//! so it is always a value that was seen (Hyndman and Fan, "Sample Quantiles in Statistical
//! Packages", 1996, definition 1).
//!
//! A p such as 0.55 has no exact binary form, and 0.55 * 100 comes out a little above 55; its
//! ceiling would name the 56th sample. A product within two rounding errors of a whole number is
//! therefore taken for that number.

/// Samples that must lie above a quantile before it is worth printing.
const ABOVE_MIN: u64 = 10;

/// True when `count` samples carry the quantile `p`: `count * (1 - p) >= 10`, so that at least ten
/// of them lie beyond it. Never true for a `p` outside 0 ..= 1.
///
/// ```
/// assert!(stats::carries(1_000, 0.99));
/// assert!(!stats::carries(999, 0.99));
/// ```
pub fn carries(count: u64, p: f64) -> bool {
    // count * (1 - p) >= 10 is p * count <= count - 10, and the right side is whole.
    rank(count, p).is_some_and(|rank| count - rank >= ABOVE_MIN)
}

/// The fewest samples that carry the quantile `p`; none where no number does: of the maximum, and outside 0 ..= 1.
///
/// ```
/// assert_eq!(stats::carried_from(0.999), Some(10_000));
/// ```
pub fn carried_from(p: f64) -> Option<u64> {
    let about = ABOVE_MIN as f64 / (1.0 - p);
    let is_number = (0.0..1.0).contains(&p) && about < 1e15;
    // The quotient is off by a rounding error at most, so one step to either side is enough to look at.
    let from = is_number.then(|| (about.round() as u64).saturating_sub(1))?;
    (from..from + 3).find(|count| carries(*count, p))
}

/// `ceil(p * count)`, at most `count`; none for a `p` outside 0 ..= 1.
pub fn rank(count: u64, p: f64) -> Option<u64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let exact = p * count as f64;
    let near = exact.round();
    let whole = (exact - near).abs() <= exact * 2.0 * f64::EPSILON;
    let rank = if whole { near } else { exact.ceil() };
    Some((rank as u64).min(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_decimal_arithmetic() {
        for count in [1_u64, 7, 10, 99, 100, 1_000, 12_345, 1_000_000, 123_456_789] {
            for thousandths in 0..=1_000_u64 {
                let wanted = (thousandths * count).div_ceil(1_000);
                let p = thousandths as f64 / 1_000.0;
                assert_eq!(rank(count, p), Some(wanted), "p {p} of {count}");
            }
        }
    }

    #[test]
    fn a_share_outside_zero_to_one_has_no_rank() {
        for p in [-0.001, 1.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(rank(1_000, p), None, "{p}");
            assert!(!carries(u64::MAX, p), "{p}");
            assert_eq!(carried_from(p), None, "{p}");
        }
    }

    #[test]
    fn ten_samples_beyond_carry_a_quantile_and_nine_do_not() {
        let cases: &[(f64, u64)] = &[
            (0.0, 10),
            (0.5, 20),
            (0.9, 100),
            (0.99, 1_000),
            (0.999, 10_000),
            (0.9999, 100_000),
        ];
        for (p, enough) in cases {
            assert!(carries(*enough, *p), "p {p} of {enough}");
            assert!(!carries(*enough - 1, *p), "p {p} of {}", enough - 1);
            assert_eq!(carried_from(*p), Some(*enough));
        }
        assert_eq!(carried_from(1.0), None);
        assert!(
            !carries(1_000_000_000, 1.0),
            "nothing lies beyond the maximum"
        );
    }
}

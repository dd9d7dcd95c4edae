//! Whether what was sent was sent as meant: how many, how evenly, how much at random.
//!
//! Instants are those at which the kernel received the requests, out of the server's log: what the generator believes of
//! itself is not asked. Statistics are this chore's own, since weigh's are not to vouch for themselves.

use super::case::Case;
use super::schedule::Schedule;
use plan::Arrivals;
use units::{Instant, Nanos};

/// How far counts and rates may be off.
const SHARE: f64 = 0.001;
/// Length of the spans in which arrivals are counted.
const BIN: Nanos = Nanos::from_millis(10);
/// Variance over mean of those counts is 1 where arrivals are independent; a comb has less, bursts have more.
const DISPERSION: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// Gaps that the law of gaps is tried on. More of them would find that no two requests can leave at the same time.
const GAPS: usize = 200;
/// The 1 % point of A² where the distribution is fully known (Stephens, "EDF Statistics for Goodness of Fit and Some
/// Comparisons", JASA 69 (1974), case 0).
const CRITICAL: f64 = 3.857;
/// From this rate on gaps are tried as they were meant: the mean gap is then not much longer than what sending takes,
/// and a serial sender cannot be exponential below that.
const SERIAL: u64 = 30_000;

/// How one run was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sending {
    /// What was due in the window.
    pub scheduled: u64,
    /// What of it the kernel received.
    pub sent: u64,
    /// Evenly spaced ones: their mean rate over the one that was asked for.
    pub rate: Option<f64>,
    /// Random ones: variance over mean of their counts in spans of 10 ms.
    pub dispersion: Option<f64>,
    /// Random ones: A² of the first 200 gaps against the exponential law with the mean that was asked for.
    pub anderson_darling: Option<f64>,
}

impl Sending {
    /// Of a run of `case`: `sent` are the instants of what of `schedule` was received, in any order.
    pub fn of(case: &Case, schedule: &Schedule, mut sent: Vec<Instant>) -> Sending {
        sent.sort_unstable();
        let is_random = case.arrivals == Arrivals::Poisson;
        let tried = match case.rate >= SERIAL {
            true => &schedule.due,
            false => &sent,
        };
        let mean = 1e9 / case.rate as f64;
        Sending {
            scheduled: schedule.due.len() as u64,
            sent: sent.len() as u64,
            rate: rate(&sent)
                .filter(|_| !is_random)
                .map(|rate| rate * mean / 1e9),
            dispersion: dispersion(&sent).filter(|_| is_random),
            anderson_darling: is_random.then(|| anderson_darling(&gaps(tried), mean)),
        }
    }

    /// What is wrong with it.
    pub fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        let off = |part: f64| (part - 1.0).abs() > SHARE;
        if off(self.sent as f64 / self.scheduled as f64) {
            wrongs.push(format!("{} sent of {} due", self.sent, self.scheduled));
        }
        if let Some(rate) = self.rate.filter(|rate| off(*rate)) {
            wrongs.push(format!("its mean rate is {rate:.5} of the one asked for"));
        }
        if let Some(index) = self.dispersion.filter(|index| !DISPERSION.contains(index)) {
            wrongs.push(format!("the dispersion of its counts is {index:.2}"));
        }
        if let Some(a2) = self.anderson_darling.filter(|a2| *a2 >= CRITICAL) {
            wrongs.push(format!("its gaps are not exponential: A² is {a2:.2}"));
        }
        wrongs
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{} sent of {} due", self.sent, self.scheduled);
        if let Some(rate) = self.rate {
            text += &format!(", mean rate {:+.4} %", (rate - 1.0) * 100.0);
        }
        if let Some(index) = self.dispersion {
            text += &format!(", dispersion {index:.2}");
        }
        if let Some(a2) = self.anderson_darling {
            text += &format!(", A² {a2:.2}");
        }
        text
    }
}

/// Arrivals a second between the first and the last; none of fewer than two.
fn rate(sorted: &[Instant]) -> Option<f64> {
    let span = (*sorted.last()? - *sorted.first()?).as_secs_f64();
    (span > 0.0).then(|| (sorted.len() - 1) as f64 / span)
}

/// Variance over mean of the counts in whole spans of [`BIN`] from the first on; none of fewer than two spans.
fn dispersion(sorted: &[Instant]) -> Option<f64> {
    let first = *sorted.first()?;
    let bin = |at: &Instant| ((*at - first).as_nanos() / BIN.as_nanos()) as usize;
    // The last span is cut off somewhere.
    let mut counts = vec![0.0_f64; bin(sorted.last()?)];
    for at in sorted {
        if let Some(count) = counts.get_mut(bin(at)) {
            *count += 1.0;
        }
    }
    let number = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / number;
    let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
    (counts.len() >= 2).then(|| squares / (number - 1.0) / mean)
}

/// The first gaps, in nanoseconds.
fn gaps(sorted: &[Instant]) -> Vec<f64> {
    let gap = |pair: &[Instant]| (pair[1] - pair[0]).as_nanos() as f64;
    sorted.windows(2).take(GAPS).map(gap).collect()
}

/// A² of `gaps` against the exponential law of that mean, fully known: -n - 1/n Σ (2i-1) (ln z_i + ln(1 - z_(n+1-i)))
/// with z the law's probabilities of the sorted gaps (Anderson and Darling, "A Test of Goodness of Fit", JASA 49
/// (1954)).
fn anderson_darling(gaps: &[f64], mean: f64) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let number = sorted.len();
    // A gap of nothing would have the logarithm of nothing; a nanosecond is the least that clocks can tell.
    let scaled = |place: usize| sorted[place].max(1.0) / mean;
    let term = |place: usize| {
        let below = (-(-scaled(place)).exp_m1()).ln();
        let above = -scaled(number - 1 - place);
        (2 * place + 1) as f64 * (below + above)
    };
    let sum: f64 = (0..number).map(term).sum();
    -(number as f64) - sum / number as f64
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;
    use plan::Pacing;

    fn even(count: u64, gap: Nanos) -> Vec<Instant> {
        (0..count)
            .map(|number| Instant::ZERO + gap * number)
            .collect()
    }

    fn random(count: usize, seed: u64) -> Vec<Instant> {
        let rate = "1000".parse().unwrap();
        let due = Pacing::new(Arrivals::Poisson, rate, seed, 0, 1);
        due.take(count)
            .map(|offset| Instant::ZERO + offset)
            .collect()
    }

    fn case(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    /// Computed apart from this program, by the formula and by integrating n (F_n - F)² / (F (1 - F)).
    #[test]
    fn the_statistic_is_the_one_that_others_compute() {
        let gaps = [0.1, 0.25, 0.4, 0.8, 1.0, 1.7, 3.1];
        let found = anderson_darling(&gaps.map(|gap| gap * 1e6), 1e6);
        assert!((found - 0.142_723_810).abs() < 1e-8, "{found}");
    }

    /// Stephens' table for a fully known distribution: 1.933 is passed by 10 %, 2.492 by 5 %, 3.857 by 1 %.
    #[test]
    fn the_published_points_are_passed_as_often_as_published() {
        const RUNS: u64 = 2000;
        let values: Vec<f64> = (0..RUNS)
            .map(|seed| anderson_darling(&gaps(&random(GAPS + 1, seed)), 1e6))
            .collect();
        for (point, share) in [(1.933, 0.10), (2.492, 0.05), (CRITICAL, 0.01)] {
            let above = values.iter().filter(|value| **value > point).count() as f64;
            let found = above / RUNS as f64;
            // Four standard deviations of a count among so many.
            let most = 4.0 * (share * (1.0 - share) / RUNS as f64).sqrt();
            assert!((found - share).abs() < most, "{point}: {found}");
        }
    }

    #[test]
    fn a_comb_is_neither_exponential_nor_dispersed() {
        let comb = even(5_000, Nanos::from_millis(1));
        assert!(anderson_darling(&gaps(&comb), 1e6) > 10.0 * CRITICAL);
        assert!(dispersion(&comb).unwrap() < 0.1);
        // wrk2's way: each of ten connections evenly, begun at random.
        let phases = random(10, 3);
        let mut staggered: Vec<Instant> = phases
            .iter()
            .flat_map(|phase| {
                even(500, Nanos::from_millis(10))
                    .into_iter()
                    .map(|at| at + (*phase - Instant::ZERO))
            })
            .collect();
        staggered.sort_unstable();
        assert!(dispersion(&staggered).unwrap() < 0.3);
    }

    #[test]
    fn random_arrivals_are_dispersed_as_they_should_be_and_bursts_more() {
        let index = dispersion(&random(20_000, 1)).unwrap();
        assert!((0.9..1.1).contains(&index), "{index}");
        let bursts: Vec<Instant> = random(5_000, 1).iter().flat_map(|at| [*at; 4]).collect();
        assert!(dispersion(&bursts).unwrap() > 3.0);
        assert_eq!(dispersion(&[]), None);
    }

    #[test]
    fn what_is_missing_slow_or_bunched_is_told() {
        let window = |due: Vec<Instant>| Schedule { first: 0, due };
        let due = even(10_000, Nanos::from_millis(1));
        let good = Sending::of(case("even-1k"), &window(due.clone()), due.clone());
        assert_eq!((good.wrongs(), good.dispersion), (Vec::new(), None));
        let short = Sending::of(case("even-1k"), &window(due.clone()), due[..9_989].to_vec());
        assert_eq!(short.wrongs(), ["9989 sent of 10000 due"]);
        let slow = even(10_000, Nanos::from_nanos(1_001_100));
        let slow = Sending::of(case("even-1k"), &window(due.clone()), slow);
        assert_eq!(
            slow.wrongs(),
            ["its mean rate is 0.99890 of the one asked for"]
        );
        let comb = Sending::of(case("random-1k"), &window(due.clone()), due);
        assert_eq!(comb.wrongs().len(), 2, "{:?}", comb.wrongs());
        let due = random(10_000, 5);
        let good = Sending::of(case("random-1k"), &window(due.clone()), due);
        assert_eq!(good.wrongs(), Vec::<String>::new(), "{}", good.text());
    }

    #[test]
    fn beyond_what_one_sender_can_do_gaps_are_tried_as_they_were_meant() {
        let due = random(10_000, 5);
        let comb = even(10_000, Nanos::from_micros(33));
        let schedule = Schedule {
            first: 0,
            due: due
                .iter()
                .map(|at| Instant::from_nanos(at.as_nanos() / 30))
                .collect(),
        };
        let sending = Sending::of(case("random-30k"), &schedule, comb);
        assert!(sending.anderson_darling.unwrap() < CRITICAL);
    }
}

//! How far off a figure may be, and which of several runs decides.
//!
//! The rule is fixed before any run: a case is carried out so many times, with other seeds, and the run with the median
//! error at p99 decides every figure, for weigh and for the others alike: figures of several runs would not be in order. No run is left out or repeated because of what it
//! showed; all of them are in the raw data. (A single run on a machine where others work may meet a moment in which the
//! host had taken the CPU away; the best of several would hide what happens every other time.)

use super::case::{FIGURES, Percentiles, TIMEOUT};
use std::fmt;
use units::Nanos;

/// The least that is ever allowed, where thousandths of a figure are less than what a wakeup takes.
const LEAST: Nanos = Nanos::from_micros(40);
const LEAST_OF_TAIL: Nanos = Nanos::from_micros(200);
/// Of a hundred parts of the truth.
const PERCENT: u64 = 2;
const PERCENT_OF_TAIL: u64 = 3;
/// Against packets, at the median, where weigh spins.
pub const BOUND_OF_PACKETS: Nanos = Nanos::from_micros(15);

/// One figure of one run, beside what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// What happened; none where the samples do not carry it.
    pub truth: Option<Nanos>,
    /// What the tool said; none where it does not say.
    pub reported: Option<Nanos>,
    /// Whether it said that it is at least that.
    pub is_least: bool,
    /// Whether it is in the record, and not shown by itself.
    pub is_withheld: bool,
    /// What it may be off by beyond the bound: what encryption takes, where there is any.
    pub allowance: Nanos,
}

impl Cell {
    /// What was reported less what is true, in nanoseconds; none where one of them is missing.
    pub fn error(&self) -> Option<i64> {
        Some(self.reported?.as_nanos() as i64 - self.truth?.as_nanos() as i64)
    }

    /// Its error's size; no report of what there is counts as the worst.
    fn size(&self) -> u64 {
        match self.error() {
            None if self.truth.is_none() => 0,
            None => u64::MAX,
            Some(_) if self.is_true_bound() => 0,
            Some(error) => error.unsigned_abs(),
        }
    }

    /// Whether it is a lower bound that holds, and not by reporting less than what was waited for.
    fn is_true_bound(&self) -> bool {
        self.is_least && self.reported >= Some(TIMEOUT) && self.reported <= self.truth
    }

    /// Whether it is not within the bound of the figure of that place in [`FIGURES`], or not reported. What has no bound,
    /// or too few samples, is not.
    pub fn is_outside(&self, figure: usize) -> bool {
        let bound = self.truth.and_then(|truth| bound(figure, truth));
        bound.is_some_and(|bound| self.size() > (bound + self.allowance).as_nanos())
    }
}

/// The truth, and in brackets by how much the tool is off, in microseconds.
impl fmt::Display for Cell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(truth) = self.truth.map(micros) else {
            return to.write_str("too few samples");
        };
        match (self.reported, self.error()) {
            (Some(reported), _) if self.is_least => {
                write!(to, "{truth} (said: at least {})", micros(reported))
            }
            (_, Some(error)) if self.is_withheld => {
                write!(to, "{truth} ({}, withheld)", signed(error))
            }
            (_, Some(error)) => write!(to, "{truth} ({})", signed(error)),
            (_, None) => write!(to, "{truth} (not said)"),
        }
    }
}

/// Microseconds with as many digits as are worth anything.
pub fn micros(span: Nanos) -> String {
    let us = span.as_micros_f64();
    match us {
        1000.0.. => format!("{us:.0}"),
        100.0.. => format!("{us:.1}"),
        _ => format!("{us:.2}"),
    }
}

/// An error in microseconds, with its sign.
pub fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", micros(Nanos::from_nanos(nanos.unsigned_abs())))
}

/// How far off the figure of that place in [`FIGURES`] may be; none where it may be anything.
fn bound(figure: usize, truth: Nanos) -> Option<Nanos> {
    let part = |percent| Nanos::from_nanos(truth.as_nanos() / 100 * percent);
    match FIGURES[figure] {
        "max" => None,
        "p99.9" => Some(part(PERCENT_OF_TAIL).max(LEAST_OF_TAIL)),
        _ => Some(part(PERCENT).max(LEAST)),
    }
}

/// The cells of one run, in the order of [`FIGURES`]; `least` says which of them are lower bounds, `withheld` which are not shown.
/// None has an allowance.
pub fn cells(
    truth: &Percentiles,
    reported: &Percentiles,
    least: [bool; 5],
    withheld: [bool; 5],
) -> [Cell; 5] {
    [0, 1, 2, 3, 4].map(|figure| Cell {
        truth: truth[figure],
        reported: reported[figure],
        is_least: least[figure],
        is_withheld: withheld[figure],
        allowance: Nanos::ZERO,
    })
}

/// What several runs are put in order by, to find the one in the middle: the error at p99, then that at p50.
pub fn order(cells: &[Cell; 5]) -> [u64; 2] {
    [cells[2].size(), cells[0].size()]
}

/// Whether a peer's cell is nearer to its truth than weigh's is to its own, by more than clocks can tell.
pub fn is_nearer(peer: &Cell, weigh: &Cell) -> bool {
    let known = peer.truth.is_some() && peer.reported.is_some() && weigh.truth.is_some();
    known && peer.size() < weigh.size()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(truth: u64, reported: u64) -> Cell {
        Cell {
            truth: Some(Nanos::from_micros(truth)),
            reported: Some(Nanos::from_micros(reported)),
            is_least: false,
            is_withheld: false,
            allowance: Nanos::ZERO,
        }
    }

    #[test]
    fn bounds_are_a_share_or_a_span_whichever_is_larger() {
        let cases = [
            (0, 100, 140, false),
            (0, 100, 141, true),
            (0, 100, 60, false),
            (1, 100, 59, true),
            (2, 10_000, 10_200, false),
            (2, 10_000, 10_201, true),
            (3, 1_000, 1_200, false),
            (3, 1_000, 1_201, true),
            (3, 10_000, 10_300, false),
            (3, 10_000, 9_699, true),
            (4, 10_000, 90_000, false),
        ];
        for (figure, truth, reported, is_outside) in cases {
            let judged = cell(truth, reported).is_outside(figure);
            assert_eq!(judged, is_outside, "{} {truth} {reported}", FIGURES[figure]);
        }
    }

    #[test]
    fn an_allowance_widens_the_bound_and_nothing_else() {
        let widened = |reported| Cell {
            allowance: Nanos::from_micros(10),
            ..cell(100, reported)
        };
        assert!(!widened(150).is_outside(0) && !widened(50).is_outside(0));
        assert!(widened(151).is_outside(0) && widened(49).is_outside(0));
        assert!(!widened(90_000).is_outside(4));
    }

    #[test]
    fn saying_nothing_of_what_there_is_is_outside_and_of_what_there_is_not_is_right() {
        let silent = Cell {
            reported: None,
            ..cell(100, 0)
        };
        assert!(silent.is_outside(0));
        let unknown = Cell {
            truth: None,
            ..cell(0, 100)
        };
        assert!(!unknown.is_outside(0));
        assert_eq!((silent.error(), unknown.error()), (None, None));
    }

    #[test]
    fn a_lower_bound_is_right_where_it_holds_and_not_below_what_was_waited_for() {
        let least = |truth, reported| Cell {
            is_least: true,
            ..cell(truth, reported)
        };
        assert!(!least(400_000, 103_000).is_outside(2));
        assert!(least(400_000, 99_000).is_outside(2));
        assert!(least(400_000, 500_000).is_outside(2));
        assert!(cell(400_000, 103_000).is_outside(2));
    }

    #[test]
    fn runs_are_ordered_by_their_error_at_p99_and_what_is_not_said_is_the_worst() {
        let run = |p50: Cell, p99: Cell| order(&[p50, cell(1, 1), p99, cell(1, 1), cell(1, 1)]);
        let silent = Cell {
            reported: None,
            ..cell(100, 0)
        };
        let runs = [
            run(cell(100, 900), cell(100, 101)),
            run(cell(100, 101), cell(100, 90)),
            run(cell(100, 102), cell(100, 90)),
            run(cell(100, 100), silent),
        ];
        assert!(runs.is_sorted(), "{runs:?}");
    }

    #[test]
    fn times_have_the_digits_that_they_are_worth() {
        let cases = [(1_234, "1.23"), (123_456, "123.5"), (12_345_678, "12346")];
        for (nanos, text) in cases {
            assert_eq!(micros(Nanos::from_nanos(nanos)), text);
        }
        assert_eq!(
            (signed(-1_500), signed(40_000)),
            ("-1.50".into(), "+40.00".into())
        );
    }

    #[test]
    fn a_lower_bound_is_shown_as_one() {
        let cell = Cell {
            is_least: true,
            ..cell(400_000, 103_000)
        };
        assert_eq!(cell.to_string(), "400000 (said: at least 103000)");
    }

    #[test]
    fn what_is_withheld_is_shown_as_such_and_judged_as_any_other() {
        let withheld = |reported| Cell {
            is_withheld: true,
            ..cell(100, reported)
        };
        assert_eq!(withheld(110).to_string(), "100.0 (+10.00, withheld)");
        assert!(!withheld(140).is_outside(0) && withheld(141).is_outside(0));
    }

    #[test]
    fn a_peer_is_nearer_only_where_it_says_something() {
        assert!(is_nearer(&cell(100, 101), &cell(200, 202)));
        assert!(!is_nearer(&cell(100, 102), &cell(200, 202)));
        let silent = Cell {
            reported: None,
            ..cell(100, 0)
        };
        assert!(!is_nearer(&silent, &cell(200, 900)));
    }
}

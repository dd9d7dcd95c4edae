//! Two servers compared, or more: which is more, by how much, and how sure.
//!
//! What is compared is one figure, such as CPU time per request. Both servers are started afresh several times; within
//! a *start* they are measured alternately in *cycles*. Cycles of one start share its accidents (addresses, placement,
//! page cache), so a start counts as one value: the median over its cycles of `ln B - ln A` ([`median_of_cycles`]).
//! [`Difference`] is the interval over starts (of two runs that were not measured together, over the values of either:
//! [`Difference::between`]), the answers ([`FixedBudget`], [`Sequential`], [`Regression`]) are said
//! of it, and [`Power`] says what so many starts can find.
//!
//! Logarithms, because figures of servers scatter by factors, and so that exchanging A and B changes the sign and
//! nothing else. What a caller passes or prints is a share: 0.02 is 2 %, a ratio of 1.02 or 1 / 1.02.
//!
//! The module knows nothing of servers, time or files, and never leaves a value out: which cycles and starts count is
//! the caller's to say, before it has seen them. (A mean over cycles would be shorter, but slices of 100 ms scatter
//! with a kurtosis of 42 to 80, so that one disturbed slice moves it more than the servers differ.)
//!
//! ```
//! use stats::comparison::{Answer, CONFIDENCE, Difference, FixedBudget};
//!
//! let starts = [0.021, 0.018, 0.024, 0.019, 0.022, 0.020, 0.017, 0.023]; // ln B - ln A, one a start
//! let difference = Difference::of(&starts, CONFIDENCE).unwrap();
//! let (low, high) = difference.ratio_interval();
//! assert!(1.018 < low && high < 1.023);
//! assert_eq!(FixedBudget::default().answer(&difference), Answer::More);
//! ```

mod cycles;
mod difference;
mod groups;
mod signed_rank;

mod answer;
mod sequential;

mod power;
mod ranks;

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod simulated;

pub use crate::interval::CONFIDENCE;
pub use answer::{Answer, FixedBudget, MARGIN, Regression, margin};
pub use cycles::{Scatter, cycles_per_start, median_of_cycles};
pub use difference::Difference;
pub use power::{Power, detectable};
pub use ranks::{rank_ranges, share_alpha, simultaneous_confidence};
pub use sequential::{Precision, Sequential};
